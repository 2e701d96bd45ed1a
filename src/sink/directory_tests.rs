//! A crawl directory is claimed by one, overwritten by none, and left as it was where nothing began.

use super::*;

fn begun(path: &Path, fresh: bool) -> CrawlDirectory {
    let mut directory = CrawlDirectory::claim(path, fresh).expect("claimed");
    fs::write(directory.incoming_seeds(), "http://a.test/\n").expect("written");
    directory.begin().expect("begun");
    directory.seal("depth = 1\n").expect("sealed");
    directory
}

#[test]
fn one_process_at_a_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("new/crawl");
    let directory = CrawlDirectory::claim(&path, false).expect("claimed");
    let refused = CrawlDirectory::claim(&path, true).expect_err("in use");
    assert!(matches!(refused, DirectoryError::InUse { .. }));
    drop(directory);
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 0);
}

#[test]
fn a_crawl_that_does_not_begin_leaves_all_as_it_was() {
    let folder = tempfile::tempdir().expect("a folder");
    let there = folder.path().join("there");
    fs::create_dir(&there).expect("made");
    for path in ["there", "there/new/deep/crawl"] {
        let directory = CrawlDirectory::claim(&folder.path().join(path), false).expect("claimed");
        fs::write(directory.incoming_seeds(), "http://a.test/\n").expect("written");
        drop(directory);
        assert_eq!(fs::read_dir(&there).expect("readable").count(), 0, "{path}");
    }
}

#[test]
fn a_crawl_is_kept_unless_fresh_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("crawl");
    drop(begun(&path, false));
    fs::write(path.join("pages.jsonl"), "{}").expect("written");
    fs::write(path.join("notes.txt"), "mine").expect("written");
    fs::create_dir(path.join("state/runs")).expect("made");
    let refused = CrawlDirectory::claim(&path, false).expect_err("holds a crawl");
    assert!(matches!(refused, DirectoryError::Unfinished(_)));
    fs::write(path.join("summary.json"), r#"{"end_reason":"done"}"#).expect("written");
    let refused = CrawlDirectory::claim(&path, false).expect_err("complete");
    assert!(matches!(refused, DirectoryError::Complete(_)));
    drop(begun(&path, true));
    assert!(
        !path.join("pages.jsonl").exists()
            && !path.join("summary.json").exists()
            && !path.join("state/runs").exists()
    );
    assert!(path.join("notes.txt").exists() && path.join("state/seeds").exists());
}

#[test]
fn a_strangers_directory_is_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("thesis.txt"), "mine").expect("written");
    for (path, fresh) in [("", true), ("thesis.txt", false)] {
        let refused = CrawlDirectory::claim(&folder.path().join(path), fresh).expect_err("not ours");
        assert!(matches!(refused, DirectoryError::Foreign { .. }));
    }
    let below = CrawlDirectory::claim(&folder.path().join("thesis.txt/x"), false).expect_err("a file");
    assert!(matches!(below, DirectoryError::Io { .. }));
}

#[test]
fn what_a_deletion_cut_short_leaves_is_told_of_with_the_remedy() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("crawl");
    drop(begun(&path, false));
    fs::write(path.join("pages.jsonl"), "{}\n").expect("written");
    fs::remove_file(path.join(CONFIGURATION)).expect("removed");
    let errors = [
        holds_crawl(&path).expect_err("half a crawl").to_string(),
        CrawlDirectory::reopen(&path).expect_err("half a crawl").to_string(),
        CrawlDirectory::claim(&path, false).expect_err("half a crawl").to_string(),
    ];
    assert!(errors.iter().all(|error| error.contains("--fresh")), "{errors:?}");
    drop(begun(&path, true));
    assert!(holds_crawl(&path).expect("whole") && !path.join("pages.jsonl").exists());
}

#[test]
fn results_without_a_state_are_no_crawl() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("summary.json"), "{}").expect("written");
    assert!(!holds_crawl(folder.path()).expect("readable"));
    let refused = CrawlDirectory::reopen(folder.path()).expect_err("no crawl");
    assert!(matches!(refused, DirectoryError::NoCrawl(_)), "{refused}");
    for fresh in [false, true] {
        let refused = CrawlDirectory::claim(folder.path(), fresh).expect_err("not ours");
        assert!(matches!(refused, DirectoryError::Foreign { .. }), "{refused}");
    }
    assert_eq!(fs::read_dir(folder.path()).expect("readable").count(), 1, "it is left alone");
}

#[test]
fn statistics_are_counted_those_of_earlier_processes_too() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("crawl");
    let bytes = || fs::metadata(path.join("stats.jsonl")).expect("there").len();
    let mut directory = begun(&path, false);
    assert_eq!(directory.statistics_bytes(), 0);
    for _ in 0..2 {
        directory.statistics(&"a line").expect("written");
        assert_eq!(directory.statistics_bytes(), bytes());
        drop(directory);
        directory = CrawlDirectory::reopen(&path).expect("reopened");
        assert_eq!(directory.statistics_bytes(), bytes());
    }
    assert_eq!(bytes(), 2 * "\"a line\"\n".len() as u64);
}
