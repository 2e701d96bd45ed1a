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

/// The lowest memory limit along the groups that `/proc/self/cgroup` names.
fn group_limit(root: &Path, groups: &str) -> Option<u64> {
    groups.lines().filter_map(|line| line_limit(root, line)).min()
}

/// The limit for one line `number:controllers:path`; version 2 names no controller.
fn line_limit(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let controllers = fields.next()?;
    let path = fields.next()?.trim_start_matches('/');
    if controllers.is_empty() {
        return lowest_along(root, path, "memory.max");
    }
    let of_memory = controllers.split(',').any(|name| name == "memory");
    of_memory.then(|| lowest_along(&root.join("memory"), path, "memory.limit_in_bytes")).flatten()
}

/// The lowest limit from a group up to its root: a parent's limit binds its
/// children. Inside a container the path is often the host's and does not
/// exist; then what does exist above it counts.
fn lowest_along(root: &Path, path: &str, file: &str) -> Option<u64> {
    let mut folder: PathBuf = root.join(path);
    let mut lowest: Option<u64> = None;
    loop {
        let limit =
            fs::read_to_string(folder.join(file)).ok().and_then(|text| text.trim().parse::<u64>().ok());
        if let Some(limit) = limit {
            lowest = Some(lowest.map_or(limit, |so_far| so_far.min(limit)));
        }
        if folder == root || !folder.pop() {
            return lowest;
        }
    }
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
    fn nonsense_is_no_limit() {
        let root = tempfile::tempdir().expect("a folder");
        write(root.path(), "memory.max", "many\n");
        for groups in ["", "0", "0:", "::", "0::/\n", "1:memory", "\u{0}"] {
            assert_eq!(group_limit(root.path(), groups), None);
        }
    }
}
