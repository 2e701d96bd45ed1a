//! Bodies: framings, codings, limits, and what is left when they break off.

use std::io::Write as _;
use std::time::Duration;

use super::server::{Server, Step, answer, send};
use super::{Fetched, config, fetch, fetch_url, fetcher};
use crate::fetch::FetchRequest;
use crate::model::{ErrorKind, Truncation};

async fn fetch_script(script: Vec<Step>) -> Fetched {
    let server = Server::start(script).await;
    fetch_url(&fetcher(&config()), &server.url("/")).await.expect("an answer")
}

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(data).expect("memory");
    encoder.finish().expect("memory")
}

#[tokio::test]
async fn framings_of_all_kinds_are_read() {
    let one_by_one = "1\r\nh\r\n1\r\ne\r\n1\r\nl\r\n1\r\nl\r\n1\r\no\r\n";
    let scripts = [
        vec![answer("", b"hello")],
        vec![send("HTTP/1.0 200 OK\r\n\r\nhello")],
        vec![send("HTTP/1.1 200\r\nContent-Length: 5\r\n\r\nhello")],
        vec![send("HTTP/1.1 200 \r\nConnection: close\r\n\r\nhello")],
        vec![send(format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n{one_by_one}0\r\n\r\n"))],
        vec![send(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nTrailer: 1\r\n\r\n",
        )],
        vec![
            send("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 100 Continue\r\n\r\n"),
            answer("", b"hello"),
        ],
        vec![
            send("HTTP/1.1 200 OK\r\nContent-"),
            Step::Wait(Duration::from_millis(30)),
            send("Length: 5\r\n\r\nhello"),
        ],
    ];
    for script in scripts {
        let outcome = fetch_script(script.clone()).await;
        assert_eq!((outcome.status, outcome.error), (200, None), "{script:?}");
        assert_eq!(outcome.body, b"hello", "{script:?}");
        assert!(outcome.report.complete && outcome.report.truncated.is_none());
        assert_eq!((outcome.report.wire_bytes, outcome.report.decoded_bytes), (5, 5));
    }
}

#[tokio::test]
async fn codings_of_the_transfer_that_nobody_asked_for_are_refused() {
    let coded = String::from_utf8_lossy(&gzip(b"hello")).into_owned();
    for (coding, body) in [
        ("gzip, chunked", format!("5\r\nhello\r\n0\r\n\r\n{coded}")),
        ("chunked, chunked", "5\r\nhello\r\n0\r\n\r\n".to_owned()),
        ("chunked, gzip", "5\r\nhello\r\n0\r\n\r\n".to_owned()),
    ] {
        let head = format!("HTTP/1.1 200 OK\r\nTransfer-Encoding: {coding}\r\n\r\n");
        let outcome = fetch_script(vec![send(head), send(body)]).await;
        assert_eq!((outcome.status, outcome.body.len()), (200, 0), "{coding}");
        let error = outcome.error.expect("refused");
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
        assert!(error.detail.starts_with("transfer coding"), "{error}");
    }
}

#[tokio::test]
async fn framing_without_content_ends_early() {
    for endless in [&b"00000000"[..], b"1;ext=", b"0\r\nTrailer: x\r\n"] {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n";
        let server = Server::start(vec![send(head), Step::SendForever(endless)]).await;
        let outcome = fetch_url(&fetcher(&config()), &server.url("/")).await.expect("an answer");
        assert_eq!((outcome.status, &outcome.body[..]), (200, &b"hello"[..]));
        let error = outcome.error.expect("no end");
        assert_eq!(error.kind, ErrorKind::Protocol, "{error}");
        server.wait_for_close().await;
    }
}

#[tokio::test]
async fn a_long_body_in_chunks_of_a_byte_is_read() {
    let chunks = "1\r\nx\r\n".repeat(300_000);
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    let outcome = fetch_script(vec![send(head), send(chunks), send("0\r\n\r\n")]).await;
    assert_eq!((outcome.body.len(), outcome.error), (300_000, None));
}

#[tokio::test]
async fn a_connection_on_which_the_end_was_in_doubt_is_not_used_again() {
    let chunked = "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let forged = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged";
    for answer in [
        format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n{chunked}"),
        format!("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello{forged}"),
        format!("HTTP/1.1 204 No Content\r\n\r\n{forged}"),
    ] {
        let server = Server::start(vec![send(&answer), Step::Again]).await;
        let fetcher = fetcher(&config());
        for _ in 0..3 {
            let outcome = fetch_url(&fetcher, &server.url("/")).await.expect("an answer");
            assert_ne!(outcome.body, b"forged", "{answer}");
        }
        assert_eq!(server.connections(), 3, "{answer}");
    }
}

#[tokio::test]
async fn answers_without_a_body_have_none() {
    for head in ["204 No Content\r\n", "304 Not Modified\r\nContent-Length: 10\r\nContent-Encoding: gzip\r\n"]
    {
        let server = Server::start(vec![send(format!("HTTP/1.1 {head}\r\n")), Step::Again]).await;
        let fetcher = fetcher(&config());
        for _ in 0..2 {
            let outcome = fetch_url(&fetcher, &server.url("/")).await.expect("an answer");
            assert!(outcome.body.is_empty() && outcome.error.is_none() && outcome.report.complete);
        }
        assert_eq!(server.connections(), 1);
    }
}

#[tokio::test]
async fn codings_are_undone() {
    let text = b"some text that is coded ".repeat(1000);
    let once = gzip(&text);
    let zstd = zstd::encode_all(text.as_slice(), 3).expect("memory");
    let cases: [(&str, Vec<u8>, bool); 7] = [
        ("gzip", once.clone(), false),
        ("x-gzip", [once.as_slice(), b"\0\0junk"].concat(), false),
        ("zstd", zstd.clone(), false),
        ("zstd, gzip", gzip(&zstd), false),
        ("identity", text.clone(), false),
        ("gzip", text.clone(), true),
        ("br", text.clone(), true),
    ];
    for (name, wire, mislabelled) in cases {
        let server =
            Server::start(vec![answer(&format!("Content-Encoding: {name}\r\n"), &wire), Step::Again]).await;
        let fetcher = fetcher(&config());
        for _ in 0..2 {
            let outcome = fetch_url(&fetcher, &server.url("/")).await.expect("an answer");
            assert!(outcome.body == text && outcome.error.is_none(), "{name}");
            assert_eq!(outcome.report.wire_bytes, wire.len() as u64);
            assert_eq!(outcome.report.decoded_bytes, text.len() as u64);
            assert_eq!(outcome.report.mislabelled_encoding, mislabelled, "{name}");
            assert!(outcome.report.complete);
        }
        assert_eq!(server.connections(), 1, "{name}: a body read to its end leaves its connection usable");
    }
}

#[tokio::test]
async fn an_unknown_or_damaged_coding_is_an_error_of_its_own() {
    for (name, body) in [
        ("compress", &b"x"[..]),
        ("gzip, gzip, gzip, gzip", b"x"),
        ("gzip", b"\x1f\x8b\x08\0\0\0\0\0\0\x03\xff\xff\xff"),
    ] {
        let outcome = fetch_script(vec![answer(&format!("Content-Encoding: {name}\r\n"), body)]).await;
        assert_eq!(outcome.status, 200);
        assert_eq!(outcome.error.map(|error| error.kind), Some(ErrorKind::Decode), "{name}");
        assert_eq!(outcome.report.truncated, None);
    }
    let empty = fetch_script(vec![answer("Content-Encoding: compress\r\n", b"")]).await;
    assert!(empty.error.is_none() && empty.report.complete);
}

#[tokio::test]
async fn a_limit_cuts_and_closes() {
    let scripts = [
        vec![send("HTTP/1.1 200 OK\r\n\r\n"), Step::SendForever(b"0123456789")],
        vec![
            send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
            Step::SendForever(b"a\r\n0123456789\r\n"),
        ],
        vec![
            send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"),
            Step::SendForever(b"0123456789"),
        ],
    ];
    for script in scripts {
        let server = Server::start(script).await;
        let url = server.url("/");
        let request = FetchRequest { max_body: Some(100_003), ..FetchRequest::new(&url) };
        let outcome = fetch(&fetcher(&config()), &request).await.expect("an answer");
        assert_eq!(outcome.body.len(), 100_003);
        assert_eq!(outcome.error, None);
        assert_eq!(outcome.report.truncated, Some(Truncation::Length));
        assert!(!outcome.report.complete);
        server.wait_for_close().await;
    }
}

#[tokio::test]
async fn a_body_of_just_the_limit_is_whole() {
    let wires = [("", vec![b'x'; 1000]), ("Content-Encoding: gzip\r\n", gzip(&[b'x'; 1000]))];
    for (headers, wire) in wires {
        let server = Server::start(vec![answer(headers, &wire), Step::Again]).await;
        for (limit, truncated) in
            [(1000, None), (999, Some(Truncation::Length)), (0, Some(Truncation::Length))]
        {
            let url = server.url("/");
            let request = FetchRequest { max_body: Some(limit), ..FetchRequest::new(&url) };
            let outcome = fetch(&fetcher(&config()), &request).await.expect("an answer");
            assert_eq!(outcome.body.len() as u64, limit.min(1000));
            assert_eq!(outcome.report.truncated, truncated, "{headers}{limit}");
            assert_eq!(outcome.report.decoded_bytes, limit);
        }
    }
}

#[tokio::test]
async fn a_bomb_is_cut_at_the_limit() {
    let bomb = gzip(&vec![0; 64 << 20]);
    let outcome = fetch_script(vec![answer("Content-Encoding: gzip\r\n", &bomb)]).await;
    assert_eq!(outcome.body.len() as u64, config().max_body);
    assert_eq!(outcome.report.truncated, Some(Truncation::Length));
}

#[tokio::test]
async fn a_flood_that_decodes_to_nothing_is_cut() {
    let frames: &'static [u8] = Vec::leak(b"\x50\x2a\x4d\x18\x00\0\0\0".repeat(1000));
    let script = vec![send("HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n"), Step::SendForever(frames)];
    let server = Server::start(script).await;
    let url = server.url("/");
    let request = FetchRequest { max_body: Some(1000), ..FetchRequest::new(&url) };
    let outcome = fetch(&fetcher(&config()), &request).await.expect("an answer");
    assert_eq!(outcome.report.truncated, Some(Truncation::Length));
    assert!(outcome.report.wire_bytes < 3 << 20);
}

#[tokio::test]
async fn what_came_before_the_break_is_kept() {
    let coded = gzip(&b"text and more text. ".repeat(5000));
    let cut = format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", coded.len());
    let whole =
        format!("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: {}\r\n\r\n", coded.len() - 9);
    let pause = || Step::Wait(Duration::from_millis(100));
    let scripts = [
        vec![send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ntext")],
        vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\n")],
        vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\ntext")],
        vec![send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ntext"), pause(), Step::Reset],
        vec![send(cut), send(&coded[..coded.len() - 9])],
        vec![send(whole), send(&coded[..coded.len() - 9])],
    ];
    for script in scripts {
        let outcome = fetch_script(script.clone()).await;
        assert_eq!(outcome.error.map(|error| error.kind), Some(ErrorKind::Incomplete), "{script:?}");
        assert!(outcome.body.starts_with(b"text"));
        assert_eq!(outcome.report.truncated, Some(Truncation::Disconnect));
        assert!(!outcome.report.complete);
    }
    let outcome =
        fetch_script(vec![send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\ntext\r\nzz\r\n")])
            .await;
    assert_eq!(outcome.error.map(|error| error.kind), Some(ErrorKind::Protocol));
    assert_eq!(outcome.body, b"text");
}

#[tokio::test]
async fn a_missing_end_does_not_matter_where_the_coding_has_its_own() {
    let wrong_length = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 9999\r\n\r\n";
    let outcome = fetch_script(vec![send(wrong_length), send(gzip(b"whole"))]).await;
    assert!(outcome.error.is_none() && outcome.body == b"whole" && outcome.report.truncated.is_none());
    let coded = zstd::encode_all(&b"whole"[..], 3).expect("memory");
    let chunk = [format!("{:x}\r\n", coded.len()).as_bytes(), &coded, b"\r\n"].concat();
    let script = vec![
        send("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nTransfer-Encoding: chunked\r\n\r\n"),
        send(b"1\r\n\x06\r\n"),
    ];
    let outcome = fetch_script(script).await;
    assert!(outcome.error.is_none() && outcome.report.complete, "{outcome:?}");
    let script = vec![
        send("HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\nTransfer-Encoding: chunked\r\n\r\n"),
        send(chunk),
    ];
    assert_eq!(fetch_script(script).await.body, b"whole");
}

#[tokio::test]
async fn time_may_run_out_within_a_body() {
    let server =
        Server::start(vec![send("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\ntext"), Step::Hang]).await;
    let url = server.url("/");
    let request = FetchRequest { timeout: Some(Duration::from_millis(300)), ..FetchRequest::new(&url) };
    let outcome = fetch(&fetcher(&config()), &request).await.expect("an answer");
    assert_eq!(outcome.error.map(|error| error.kind), Some(ErrorKind::Timeout));
    assert_eq!(outcome.body, b"text");
    assert_eq!(outcome.report.truncated, Some(Truncation::Time));
    server.wait_for_close().await;
}
