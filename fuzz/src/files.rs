//! The files of a crawl directory as one input, and crawls that made some.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use dragline::Options;
use dragline::config::{Count, RobotsPolicy, ScopeKind, Sitemaps, Size, Span};
use dragline::engine::probe::{Answered, KeptProbe};

use crate::MemoryDisk;

/// Begins a file: its name follows, then a line feed, then what is in it.
const BEGIN: &[u8] = b"\xff\xfefile ";

/// Where a crawl directory has files.
const FOLDERS: [&str; 4] = ["", "state", "state/frontier", "state/visited"];

/// The files of a crawl directory, by their paths in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files(pub BTreeMap<PathBuf, Vec<u8>>);

impl Files {
    /// Takes an input apart. A name that no crawl gives is passed over with its file.
    pub fn parse(mut input: &[u8]) -> Self {
        let mut files = BTreeMap::new();
        while let Some(begin) = find(input, BEGIN) {
            let rest = &input[begin + BEGIN.len()..];
            let (file, next) = rest.split_at(find(rest, BEGIN).unwrap_or(rest.len()));
            input = next;
            let Some(end) = file.iter().position(|byte| *byte == b'\n') else { continue };
            if let Some(path) = std::str::from_utf8(&file[..end]).ok().and_then(known) {
                files.insert(path, file[end + 1..].to_vec());
            }
        }
        Self(files)
    }

    /// The input that holds them.
    pub fn to_input(&self) -> Vec<u8> {
        let mut input = Vec::new();
        for (path, content) in &self.0 {
            input.extend_from_slice(BEGIN);
            input.extend_from_slice(path.to_str().unwrap_or_default().as_bytes());
            input.push(b'\n');
            input.extend_from_slice(content);
        }
        input
    }

    /// A disk with them in a directory.
    pub fn on_disk(&self, directory: &Path) -> MemoryDisk {
        let disk = MemoryDisk::default();
        self.0.iter().for_each(|(path, content)| disk.put(&directory.join(path), content));
        disk
    }

    /// What is on a disk in this directory.
    pub fn of_disk(disk: &MemoryDisk, directory: &Path) -> Self {
        let files = disk.files().into_iter();
        let within =
            files.filter_map(|(path, content)| Some((path.strip_prefix(directory).ok()?.into(), content)));
        Self(within.collect())
    }
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

/// The path of a name, if a crawl may have given it.
fn known(name: &str) -> Option<PathBuf> {
    let path = Path::new(name);
    let file = path.file_name()?.to_str()?;
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
    let is_file = file.len() < 40 && !file.starts_with('.') && file.bytes().all(plain);
    let folder = path.parent()?.to_str()?;
    (is_file && FOLDERS.contains(&folder) && !FOLDERS.contains(&name)).then(|| Path::new(folder).join(file))
}

/// What all crawls here are made with: so little memory that a few pages get onto the disk, and a filter so
/// small that it doubts.
pub fn options() -> Options {
    Options {
        memory: Some(Size(24 << 20)),
        scope: Some(ScopeKind::Any),
        expected_urls: Some(Count(10)),
        bits_per_url: Some(2.0),
        robots: Some(RobotsPolicy::Ignore),
        sitemaps: Some(Sitemaps::Off),
        delay: Some(Span(std::time::Duration::ZERO)),
        log_skipped: Some(true),
        max_path_depth: Some(6),
        ..Options::default()
    }
}

/// The seeds of all crawls here.
pub fn seeds() -> Vec<String> {
    (0..3).map(|host| format!("http://h{host}.test/")).collect()
}

/// The links of the page that is answered as the so-manieth.
pub fn links(page: u64) -> Vec<String> {
    (0..6)
        .map(|step| match (page * 5 + step * 7) % 41 {
            40 => "http://h1.test/a/b/c/d/e/f/g/too-deep".to_owned(),
            n if n % 9 == 8 => format!("http://s{n}.other.test/?page={n}"),
            n => format!("http://h{}.test/{}/{n}.html", n % 3, ["news", "shop"][n as usize % 2]),
        })
        .collect()
}

/// Crawls that have come this far: pages before a checkpoint, and behind it.
const STAGES: [[u64; 2]; 5] = [[0, 0], [0, 3], [4, 5], [14, 6], [30, 1]];

/// Directories of crawls whose processes died.
pub fn crawls() -> Vec<Files> {
    STAGES.iter().map(|[before, behind]| crawl(*before, *behind)).collect()
}

fn crawl(before: u64, behind: u64) -> Files {
    let (directory, disk) = (Path::new("crawl"), MemoryDisk::default());
    let mut probe = KeptProbe::begin(Arc::new(disk.clone()), directory, &options(), &seeds()).expect("begun");
    let mut answer = |page: u64| {
        let answered = match page % 7 {
            5 => Answered::Badly,
            6 => Answered::Never,
            _ => Answered::Well,
        };
        probe.page(&links(page), answered).expect("answered");
        if page + 1 == before {
            probe.checkpoint().expect("a checkpoint");
        }
    };
    (0..before + behind).for_each(&mut answer);
    let mut files = Files::of_disk(&disk, directory);
    // each option more takes a millisecond to read
    files.0.insert("crawl.toml".into(), b"scope = 'any'\n# crc32 of the lines above: 00000000\n".to_vec());
    files.0.insert("state/seeds".into(), seeds().join("\n").into_bytes());
    files
}
