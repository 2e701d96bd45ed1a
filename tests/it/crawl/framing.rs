//! Answers that are framed wrong, and statuses that are no class of their own.

use crate::harness::crawl;
use crate::server::{Answer, Script, Server, page};

#[test]
fn what_breaks_the_protocol_is_told_and_asked_once() {
    let wrong = [
        ("/101", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"),
        ("/length", "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\nx"),
        ("/gzip", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
        ("/twice", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
    ];
    let interim = "HTTP/1.1 103 Early Hints\r\n\r\n".repeat(40_000);
    let zeros = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{}", "0".repeat(1 << 20));
    let paths: Vec<&str> = wrong.iter().map(|row| row.0).chain(["/interim", "/zeros"]).collect();
    let mut script = Script::new().on("/", page(&paths));
    for (path, bytes) in wrong.iter().copied().chain([("/interim", &*interim), ("/zeros", &*zeros)]) {
        script = script.on(path, Answer::raw(bytes));
    }
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(run.code, Some(0));
    for path in paths {
        let record = run.page(&server.url(path));
        assert_eq!(record["error"]["kind"], "protocol", "{record}");
        assert_eq!((server.count(path), &record["attempts"]), (1, &1.into()), "{record}");
    }
}

#[test]
fn a_status_of_no_class_is_tried_again_as_a_500() {
    let script = Script::new()
        .on("/", page(&["/mends", "/stays"]))
        .in_turn("/mends", vec![Answer::status(600), page::<&str>(&[])])
        .on("/stays", Answer::status(999));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--retries", "1"]);
    assert_eq!(run.page(&server.url("/mends"))["status"], 200);
    let record = run.page(&server.url("/stays"));
    assert_eq!((&record["status"], &record["attempts"]), (&999.into(), &2.into()), "{record}");
}
