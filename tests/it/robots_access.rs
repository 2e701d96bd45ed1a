//! robots.txt as servers really answer it: each row of `cases/robots_access.jsonl`, crawled.

use crate::harness::crawl;
use crate::server::{Answer, Body, Script, Server, gzip};
use serde_json::Value;
use std::sync::Mutex;
use std::time::Duration;

const ROWS: &str = include_str!("../cases/robots_access.jsonl");
/// Crawls at one time; most of their time is waiting.
const CRAWLS: usize = 6;

#[test]
fn every_row_is_crawled_as_it_must_be() {
    let rows: Vec<Value> = ROWS.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(!rows.is_empty());
    let queue = Mutex::new(rows.iter());
    let failures = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..CRAWLS {
            scope.spawn(|| {
                loop {
                    let Some(row) = queue.lock().unwrap().next() else {
                        break;
                    };
                    if let Err(failure) = run(row) {
                        failures.lock().unwrap().push(format!("{}: {failure} ({})", row["id"], row["why"]));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(
        failures.is_empty(),
        "{} of {} rows failed:\n{}",
        failures.len(),
        rows.len(),
        failures.join("\n")
    );
}

fn run(row: &Value) -> Result<(), String> {
    let other = Server::start_at([127, 0, 0, 2].into(), other_host(row));
    let server = Server::start(site(row, &other.authority()));
    let seed = server.url("/page");
    let limits = ["--timeout", "2s", "--connect-timeout", "2s", "--retries", "1", "--max-retry-after", "1s"];
    let run = crawl(&[&[seed.as_str(), "--scope", "host"][..], &limits[..]].concat());
    let requests = server.count("/page");
    let log: Vec<String> = server.log().into_iter().map(|request| request.path).collect();
    let told = || format!("log {log:?}, summary {}, stderr {}", run.summary, run.stderr);
    match row["expect_page"].as_str() {
        Some("requested") if requests != 1 => {
            return Err(format!("/page requested {requests} times; {}", told()));
        }
        Some("not-requested") if requests != 0 => return Err(format!("/page was requested; {}", told())),
        Some("requested" | "not-requested" | "either") => {}
        other => return Err(format!("unknown expectation {other:?}")),
    }
    if log.first().is_none_or(|path| path != "/robots.txt") {
        return Err(format!("robots.txt was not the first request; {}", told()));
    }
    if requests == 0 && run.skips("robots_denied") + run.skips("robots_unreachable") == 0 {
        return Err(format!("/page vanished without a reason; {}", told()));
    }
    if requests == 0 && row["expect_page"] == "requested" {
        return Err(told());
    }
    row["note"].as_str().map_or(Ok(()), |note| check_note(note, &log))
}

/// The answers of the site's own host.
fn site(row: &Value, other: &str) -> Script {
    let mut page = &row["page"];
    let mut script = Script::new();
    for entry in row["robots"].as_array().unwrap() {
        let path = entry["path"].as_str().unwrap();
        script = script.on(path, answer(entry, other));
        if !entry["page"].is_null() {
            page = &entry["page"];
        }
    }
    let of_page = if page.is_null() { Answer::html("<title>page</title>") } else { answer(page, other) };
    script.on(page["path"].as_str().unwrap_or("/page"), of_page).on("/landing", Answer::html("landed"))
}

/// The answers of OTHERHOST: its body wherever a location names it.
fn other_host(row: &Value) -> Script {
    row["robots"].as_array().unwrap().iter().fold(Script::new(), |script, entry| {
        let path = entry["location"].as_str().and_then(|location| location.strip_prefix("http://OTHERHOST"));
        match (path, entry["other_body"].as_str()) {
            (Some(path), Some(body)) => script.on(path, Answer::text(body)),
            _ => script,
        }
    })
}

/// What one entry of a row answers.
fn answer(entry: &Value, other: &str) -> Answer {
    let status = entry["status"].as_u64().unwrap_or(200) as u16;
    let mut answer = Answer::status(status);
    if status < 300 {
        answer = answer.header("Content-Type", entry["content_type"].as_str().unwrap_or("text/plain"));
    }
    if let Some(location) = entry["location"].as_str() {
        answer = answer.header("Location", &location.replace("OTHERHOST", other));
    }
    let body = entry["body"].as_str().unwrap_or_default();
    let content = match entry["content_encoding"].as_str() {
        Some("gzip") => gzip(body.as_bytes()),
        Some(coding) => panic!("the server cannot code {coding}"),
        None => body.into(),
    };
    if let Some(coding) = entry["content_encoding"].as_str() {
        answer = answer.header("Content-Encoding", coding);
    }
    let travels = match entry["kind"].as_str() {
        None => Body::Whole,
        Some("never-answers") => Body::Never,
        Some("reset-mid-body") => Body::Reset,
        Some("chunked-1-byte") => Body::ByteByByte,
        Some("body-1GB") => Body::Gibibyte,
        Some(kind) => panic!("the server knows no fault {kind}"),
    };
    let pause = Duration::from_secs_f64(entry["slow_seconds"].as_f64().unwrap_or(0.0));
    answer.content(content).body(travels).after(pause)
}

/// `count of requests for PATH <= N`, `PATH never in the log`.
fn check_note(note: &str, log: &[String]) -> Result<(), String> {
    if let Some(path) = note.strip_suffix(" never in the log") {
        return if log.iter().any(|one| one == path) { Err(format!("{path} is in the log")) } else { Ok(()) };
    }
    let (path, most) = note
        .strip_prefix("count of requests for ")
        .and_then(|rest| rest.split_once(" <= "))
        .ok_or_else(|| format!("a note that no check knows: {note}"))?;
    let count = log.iter().filter(|one| *one == path).count();
    let most: usize = most.parse().map_err(|_| format!("no number in the note: {note}"))?;
    if count <= most { Ok(()) } else { Err(format!("{path} requested {count} times")) }
}
