//! How much memory there is to be had: the machine's, or what a control group allows.
//!
//! Reads `/proc/meminfo` and the files of control groups, version 2 and version 1;
//! nothing is known where those do not exist.

use std::fs;
use std::path::{Path, PathBuf};

use super::process::kibibytes_of;

/// Memory this process may use at all, in bytes: the machine's, or the lowest
/// limit of the control groups it runs in. `None` where the system does not tell.
pub fn available_memory() -> Option<u64> {
    let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| kibibytes_of(&text, "MemTotal:"));
    let group = fs::read_to_string("/proc/self/cgroup")
        .ok()
        .and_then(|text| group_limit(Path::new("/sys/fs/cgroup"), &text));
    match (machine, group) {
        (Some(machine), Some(group)) => Some(machine.min(group)),
        (machine, group) => machine.or(group),
    }
}

/// Usage and limit of a control group, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupReading {
    /// What its processes use, without what the system holds of files and can give up at once.
    pub used: u64,
    /// What they may use.
    pub limit: u64,
}

/// The control group of this process that is nearest to its limit. `None` where none has a limit.
pub fn group_reading() -> Option<GroupReading> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    nearest_group(Path::new("/sys/fs/cgroup"), &groups)
}

fn nearest_group(root: &Path, groups: &str) -> Option<GroupReading> {
    let levels = groups.lines().filter_map(|line| memory_group(root, line)).flat_map(|group| {
        group
            .levels()
            .into_iter()
            .filter_map(move |folder| group.version.reading(&folder))
            .collect::<Vec<_>>()
    });
    levels.max_by(|one, other| {
        let crossed =
            |one: &GroupReading, other: &GroupReading| u128::from(one.used) * u128::from(other.limit);
        crossed(one, other).cmp(&crossed(other, one))
    })
}

/// The lowest memory limit along the groups that `/proc/self/cgroup` names.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    let groups = groups.lines().filter_map(|line| memory_group(root, line));
    groups
        .flat_map(|group| {
            group
                .levels()
                .into_iter()
                .filter_map(move |folder| group.version.limit(&folder))
                .collect::<Vec<_>>()
        })
        .min()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    /// The limit of a group itself. `memory.high` is one as well: above it, processes are slowed to a crawl.
    fn limit(self, folder: &Path) -> Option<u64> {
        let files: &[&str] = match self {
            Version::One => &["memory.limit_in_bytes"],
            Version::Two => &["memory.max", "memory.high"],
        };
        files.iter().filter_map(|file| number_in(&folder.join(file))).min()
    }

    fn reading(self, folder: &Path) -> Option<GroupReading> {
        let limit = self.limit(folder)?;
        let (usage, files) = match self {
            Version::One => ("memory.usage_in_bytes", ["total_inactive_file", "total_active_file"]),
            Version::Two => ("memory.current", ["inactive_file", "active_file"]),
        };
        let used = number_in(&folder.join(usage))?;
        let statistics = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
        let of_files = files.iter().filter_map(|name| statistic(&statistics, name)).sum();
        Some(GroupReading { used: used.saturating_sub(of_files), limit })
    }
}

/// A group that bounds memory.
struct Group {
    version: Version,
    root: PathBuf,
    folder: PathBuf,
}

impl Group {
    /// The group's folder and those above it, up to the root: a parent's limit binds its children.
    /// Inside a container the path is often the host's and does not exist; then what does exist
    /// above it counts.
    fn levels(&self) -> Vec<PathBuf> {
        let above = self.folder.ancestors().take_while(|folder| folder.starts_with(&self.root));
        above.map(Path::to_owned).collect()
    }
}

/// The group of one line `number:controllers:path`, if it bounds memory; version 2 names no controller.
fn memory_group(root: &Path, line: &str) -> Option<Group> {
    let mut fields = line.splitn(3, ':').skip(1);
    let controllers = fields.next()?;
    let path = fields.next()?.trim_start_matches('/');
    let (version, root) = if controllers.is_empty() {
        // beside version 1, version 2 has a folder of its own
        let unified = root.join("unified");
        (Version::Two, if unified.is_dir() { unified } else { root.to_owned() })
    } else if controllers.split(',').any(|name| name == "memory") {
        (Version::One, root.join("memory"))
    } else {
        return None;
    };
    Some(Group { version, folder: root.join(path), root })
}

fn number_in(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

/// The figure of a line `name figure`.
fn statistic(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(root: &Path, path: &str, text: &str) {
        let file = root.join(path);
        fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        fs::write(file, text).expect("written");
    }

    #[test]
    fn version_2_takes_the_lowest_on_the_way_up() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "a/memory.max", "1000\n");
        write(root.path(), "a/b/memory.max", "max\n");
        write(root.path(), "a/b/c/memory.max", "4000\n");
        assert_eq!(group_limit(root.path(), "0::/a/b/c\n"), Some(1000));
    }

    #[test]
    fn version_1_reads_the_memory_controller_only() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "memory/x/memory.limit_in_bytes", "5000\n");
        write(root.path(), "cpu/x/memory.limit_in_bytes", "1\n");
        let groups = "9:cpu,cpuacct:/x\n4:memory:/x\n";
        assert_eq!(group_limit(root.path(), groups), Some(5000));
    }

    #[test]
    fn a_path_of_the_host_falls_back_to_what_exists() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "memory.max", "7000\n");
        assert_eq!(group_limit(root.path(), "0::/system.slice/docker-1\n"), Some(7000));
    }

    #[test]
    fn memory_high_is_a_limit_and_version_2_may_stand_beside_version_1() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "unified/a/memory.max", "9000\n");
        write(root.path(), "unified/a/memory.high", "6000\n");
        write(root.path(), "memory/a/memory.limit_in_bytes", "8000\n");
        assert_eq!(group_limit(root.path(), "0::/a\n"), Some(6000));
        assert_eq!(group_limit(root.path(), "3:memory:/a\n0::/a\n"), Some(6000));
    }

    #[test]
    fn the_group_nearest_to_its_limit_is_read() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "a/memory.max", "1000\n");
        write(root.path(), "a/memory.current", "950\n");
        write(root.path(), "a/memory.stat", "anon 500\ninactive_file 300\nactive_file 100\n");
        write(root.path(), "a/b/memory.max", "600\n");
        write(root.path(), "a/b/memory.current", "480\n");
        write(root.path(), "a/b/c/memory.max", "max\n");
        write(root.path(), "a/b/c/memory.current", "400\n");
        assert_eq!(nearest_group(root.path(), "0::/a/b/c\n"), Some(GroupReading { used: 480, limit: 600 }));
        assert_eq!(nearest_group(root.path(), "0::/a\n"), Some(GroupReading { used: 550, limit: 1000 }));
        assert_eq!(nearest_group(root.path(), "0::/\n"), None);
        write(root.path(), "memory/x/memory.limit_in_bytes", "5000\n");
        write(root.path(), "memory/x/memory.usage_in_bytes", "4000\n");
        write(root.path(), "memory/x/memory.stat", "inactive_file 1\ntotal_inactive_file 1500\n");
        assert_eq!(
            nearest_group(root.path(), "4:memory:/x\n"),
            Some(GroupReading { used: 2500, limit: 5000 })
        );
    }

    #[test]
    fn nonsense_is_no_limit() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "memory.max", "many\n");
        for groups in ["", "0", "0:", "::", "0::/\n", "1:memory", "\u{0}"] {
            assert_eq!(group_limit(root.path(), groups), None);
        }
    }
}
