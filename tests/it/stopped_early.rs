//! A signal before the first request: while seeds are read, and while they are taken in.

use crate::harness::{dragline, interrupt, resumed, rows_so_far, until, wait};
use crate::server::{Answer, Script, Server};
use std::io::Write;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

fn send(signal: &str, child: &Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.unwrap().success());
}

/// A crawl that reads seeds from a pipe which nobody closes.
fn waiting(server: &Server, output: &Path, further: &[&str]) -> Child {
    let mut command = dragline();
    command.args(["crawl", "-i", "-", "--delay", "0s", "--allow-private"]).args(further);
    let mut child = command.arg("-o").arg(output).stdin(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.as_mut().unwrap(), "{}", server.url("/")).unwrap();
    until("seeds are read", || output.join("state/seeds.new").exists());
    child
}

#[test]
fn a_signal_while_seeds_come_from_a_pipe_leaves_nothing_behind() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    for signal in ["-INT", "-TERM", "-HUP"] {
        let output = directory.path().join("new/crawl");
        let mut child = waiting(&server, &output, &[]);
        send(signal, &child);
        assert_eq!(wait(&mut child), Some(10), "{signal}");
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0, "nothing is left behind");
    }
    assert_eq!(server.asked(), 0, "nothing was fetched");
}

#[test]
fn a_signal_while_seeds_are_read_spares_the_crawl_that_was_to_be_replaced() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let run = crate::harness::crawl_into(&output, &[&server.url("/"), "--delay", "0s"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut child = waiting(&server, &output, &["--fresh"]);
    interrupt(&child);
    assert_eq!(wait(&mut child), Some(10));
    assert_eq!(rows_so_far(&output.join("pages.jsonl")).len(), 1);
    assert!(output.join("summary.json").exists() && !output.join("state/seeds.new").exists());
}

#[cfg(unix)]
#[test]
fn a_signal_while_nobody_writes_to_a_named_pipe_leaves_nothing_behind() {
    let directory = TempDir::new().unwrap();
    let (pipe, output) = (directory.path().join("pipe"), directory.path().join("crawl"));
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let mut command = dragline();
    let mut child = command.arg("crawl").arg("-i").arg(&pipe).arg("-o").arg(&output).spawn().unwrap();
    until("seeds are read", || output.join("state/seeds.new").exists());
    interrupt(&child);
    assert_eq!(wait(&mut child), Some(10));
    assert!(!output.exists(), "nothing is left behind");
}

/// Whenever it comes, either nothing has begun, or all seeds are there once the crawl goes on.
#[test]
fn a_signal_while_many_seeds_are_taken_in_loses_none() {
    let seeds = 20_000;
    let server = Server::start(
        Script::new().rule(|request| (request.path != "/robots.txt").then(|| Answer::html("x"))),
    );
    let directory = TempDir::new().unwrap();
    let list = directory.path().join("seeds");
    let lines: Vec<String> = (0..seeds).map(|n| server.url(&format!("/{n}"))).collect();
    std::fs::write(&list, lines.join("\n")).unwrap();
    let output = directory.path().join("crawl");
    // in turn: when the first are read, when the crawl has begun, and when there is a log with something in it
    let log = || {
        let log = crate::chain::log(&output);
        std::fs::metadata(log).is_ok_and(|file| file.len() > 10_000)
    };
    let moments: [(&str, bool, &dyn Fn() -> bool); 3] = [
        ("seeds are read", false, &|| output.join("state/seeds.new").exists()),
        ("the crawl has begun", true, &|| output.join("crawl.toml").exists()),
        ("seeds are taken in", true, &log),
    ];
    for (what, begun, so) in moments {
        let mut command = dragline();
        command.args(["crawl", "--delay", "0s", "--allow-private", "-i"]).arg(&list).arg("-o").arg(&output);
        let mut child = command.spawn().unwrap();
        until(what, so);
        interrupt(&child);
        assert_eq!(wait(&mut child), Some(10), "{what}");
        assert!(output.exists() || !begun, "{what}: what has begun is kept");
        if output.exists() {
            let run = resumed(&output, &["--max-pages", "1"]);
            assert_eq!(run.code, Some(11), "{what}: {}", run.stderr);
            assert_eq!(run.number("urls.discovered"), seeds, "{what}: {}", run.summary);
            std::fs::remove_dir_all(&output).unwrap();
        }
    }
}
