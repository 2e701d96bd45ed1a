//! Starting, stopping and starting again: directories, signals and exit codes.

#[cfg(target_os = "linux")]
use crate::harness::wait;
use crate::harness::{
    crawl, crawl_into, dragline, finish, interrupt, rows, rows_so_far, start, telling, until,
};
use crate::server::{Answer, Body, Script, Server, page};
use std::path::Path;
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// A site that never ends.
fn endless() -> Server {
    Server::start(Script::new().rule(|request| {
        let n: u32 = request.path.strip_prefix("/c")?.parse().ok()?;
        Some(page(&[format!("/c{}", n + 1)]).after(Duration::from_millis(20)))
    }))
}

/// Waits until the site was asked for a few pages.
fn wait_for_pages(server: &Server) {
    until("the crawl asks for pages", || server.log().len() > 5);
}

#[test]
fn a_crawl_directory_is_not_overwritten_unless_told_so() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let first = crawl_into(&output, &[&seed, "--delay", "0s"]);
    assert_eq!(first.code, Some(0), "{}", first.stderr);
    let before = std::fs::read(output.join("pages.jsonl")).unwrap();
    let second = crawl_into(&output, &[&seed, "--delay", "0s"]);
    assert!(![Some(0), None].contains(&second.code), "{:?}", second.code);
    assert!(second.stderr.contains("--fresh"), "the remedy is named: {}", second.stderr);
    assert_eq!(std::fs::read(output.join("pages.jsonl")).unwrap(), before);
    assert_eq!(server.count("/"), 1, "nothing was fetched");
    let third = crawl_into(&output, &[&seed, "--delay", "0s", "--fresh"]);
    assert_eq!((third.code, third.pages.len()), (Some(0), 1), "{}", third.stderr);
}

#[test]
fn what_is_no_crawl_directory_is_never_deleted() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let precious = directory.path().join("thesis.txt");
    std::fs::write(&precious, "years of work").unwrap();
    let run = crawl_into(directory.path(), &[&server.url("/"), "--fresh"]);
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "years of work", "{}", run.stderr);
}

#[test]
fn an_interrupt_ends_in_order() {
    let server = endless();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s"]);
    wait_for_pages(&server);
    interrupt(&child);
    let run = finish(child, &output);
    assert!(![Some(0), None].contains(&run.code), "{:?}: {}", run.code, run.stderr);
    assert!(run.summary.is_object(), "no summary: {}", run.stderr);
    assert_eq!(server.pages().len(), run.pages.len(), "what was in flight was finished");
}

#[test]
fn an_interrupt_does_not_wait_for_a_delay() {
    let server = Server::start(Script::new().on("/", page(&["/a"])).on("/a", Answer::html("a")));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[server.url("/").as_str(), "--delay", "1h", "--robots", "ignore"]);
    until("there is a page", || !rows_so_far(&output.join("pages.jsonl")).is_empty());
    interrupt(&child);
    let run = finish(child, &output);
    assert_eq!((run.pages.len(), run.number("urls.queued")), (1, 1), "{}", run.summary);
    assert_eq!(run.code, Some(10), "{}", run.stderr);
}

#[test]
fn a_second_interrupt_does_not_wait() {
    let server = Server::start(Script::new().rule(|request| match request.path.as_str() {
        "/robots.txt" => None,
        "/" => Some(page(&["/never", "/1", "/2", "/3", "/4", "/5"])),
        "/never" => Some(Answer::html("").body(Body::Never)),
        _ => Some(Answer::html("x")),
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let (said, told) = telling(&directory);
    let mut command = dragline();
    command.arg("crawl").arg(server.url("/")).args(["--delay", "0s", "--timeout", "10m", "-o"]).arg(&output);
    let child = command.stderr(said).spawn().unwrap();
    wait_for_pages(&server);
    interrupt(&child);
    // two at once may be taken for one
    until("it has heard", || told().contains("stopping"));
    interrupt(&child);
    let run = finish(child, &output);
    assert!(run.summary.is_object(), "no summary: {}", run.stderr);
    assert!(run.code.is_some(), "it saved and left by itself");
}

/// Bytes that a pipe holds on Linux, so that one more has to wait for a reader.
#[cfg(target_os = "linux")]
const PIPE_BYTES: usize = 64 << 10;

#[cfg(target_os = "linux")]
#[test]
fn a_third_interrupt_leaves_at_once() {
    let server = endless();
    let directory = TempDir::new().unwrap();
    // Whoever writes there waits for ever, and so the crawl can end in no other way.
    let (_reader, mut writer) = std::io::pipe().unwrap();
    std::io::Write::write_all(&mut writer, &vec![b'x'; PIPE_BYTES]).unwrap();
    let mut command = dragline();
    command.arg("crawl").arg(server.url("/c0")).args(["--delay", "0s", "-o"]);
    let mut child = command.arg(directory.path().join("crawl")).stderr(writer).spawn().unwrap();
    wait_for_pages(&server);
    // different ones are never taken for one
    for signal in ["-INT", "-TERM", "-HUP"] {
        assert!(Command::new("kill").args([signal, &child.id().to_string()]).status().unwrap().success());
    }
    assert_eq!(wait(&mut child), Some(130));
}

#[test]
fn a_directory_in_use_is_refused() {
    let server = endless();
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let child = start(&output, &[&server.url("/c0"), "--delay", "0s"]);
    wait_for_pages(&server);
    for further in [&[][..], &["--fresh"]] {
        let seed = server.url("/c0");
        let second =
            finish(start(&output, &[&[seed.as_str()], further].concat()), &directory.path().join("none"));
        assert!(![Some(0), None].contains(&second.code), "{:?}", second.code);
        assert!(second.stderr.contains("in use"), "{}", second.stderr);
    }
    interrupt(&child);
    let run = finish(child, &output);
    assert!(run.pages.len() > 3, "the first goes on undisturbed: {}", run.stderr);
}

/// The exit code and stderr of a crawl that must fail before anything is fetched.
#[track_caller]
fn refused(output: &Path, arguments: &[&str]) -> (i32, String) {
    let run = crawl_into(output, arguments);
    let code = run.code.expect("it ends by itself");
    assert_ne!(code, 0, "{arguments:?} was accepted");
    assert!(run.pages.is_empty());
    assert!(!run.stderr.contains("panicked"), "{}", run.stderr);
    (code, run.stderr)
}

#[test]
fn bad_input_is_refused_before_anything_is_fetched() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    for (arguments, named) in [
        (&[][..], "seed"),
        (&["-i", "/nonexistent/seeds.txt"], "/nonexistent/seeds.txt"),
        (&["ftp://a.test/"], "ftp"),
        (&[&seed, "--memory", "1KiB"], "memory"),
        (&[&seed, "--bits-per-url", "10", "--fp-rate", "0.01"], "fp-rate"),
        (&[&seed, "--include", "("], "include"),
        (&[&seed, "--no-such-flag"], "no-such-flag"),
        (&[&seed, "--delay", "soon"], "delay"),
        (&[&seed, "--delay", "1s", "--per-host", "2"], "per-host"),
        (&[&seed, "--config", "/nonexistent.toml"], "/nonexistent.toml"),
    ] {
        let (_, stderr) = refused(&output, arguments);
        assert!(stderr.contains(named), "{arguments:?} does not name {named}: {stderr}");
    }
    let unwritable = directory.path().join("file");
    std::fs::write(&unwritable, "x").unwrap();
    refused(&unwritable.join("below"), &[&seed]);
    assert_eq!(server.log().len(), 0);
}

#[test]
fn a_crawl_that_could_fetch_nothing_says_so() {
    let server = Server::start(Script::new().rule(|_| Some(Answer::html("").body(Body::Close))));
    let run = crawl(&[server.url("/").as_str(), "--retries", "0"]);
    assert!(![Some(0), None].contains(&run.code), "{:?} {}", run.code, run.stderr);
    assert!(run.summary.is_object());
}

#[test]
fn seeds_come_from_files_and_bad_lines_are_told_and_passed_over() {
    let server = Server::start(Script::new().on("/a", Answer::html("a")).on("/b", Answer::html("b")));
    let directory = TempDir::new().unwrap();
    let (list, zipped) = (directory.path().join("seeds.txt"), directory.path().join("more.txt.gz"));
    let text =
        format!("\u{feff}# seeds\r\n{}\r\n\r\nhttp://[::1/\r\n{}\r\n", server.url("/a"), server.url("/a#x"));
    std::fs::write(&list, text).unwrap();
    std::fs::write(&zipped, crate::server::gzip(server.url("/b").as_bytes())).unwrap();
    let run = crawl(&["-i", list.to_str().unwrap(), "-i", zipped.to_str().unwrap()]);
    assert_eq!(server.pages(), ["/a", "/b"]);
    assert!(run.stderr.contains("seeds.txt") && run.stderr.contains('4'), "line 4 is told: {}", run.stderr);
}

#[test]
fn the_frozen_configuration_holds_for_another_crawl() {
    let server = Server::start(Script::new().on("/", page(&["/a"])).on("/a", Answer::html("a")));
    let directory = TempDir::new().unwrap();
    let (first, second) = (directory.path().join("first"), directory.path().join("second"));
    crawl_into(&first, &[&server.url("/"), "--delay", "0s", "-d", "0"]);
    let frozen = first.join("crawl.toml");
    let run = crawl_into(&second, &[&server.url("/"), "--config", frozen.to_str().unwrap()]);
    assert_eq!((run.code, run.pages.len()), (Some(0), 1), "{}", run.stderr);
    assert_eq!(rows(&second.join("pages.jsonl")).len(), 1);
}

#[test]
fn help_and_version_are_there() {
    for arguments in [&["--help"][..], &["crawl", "--help"], &["--version"]] {
        let output = dragline().args(arguments).output().unwrap();
        assert!(output.status.success() && !output.stdout.is_empty(), "{arguments:?}");
    }
}
