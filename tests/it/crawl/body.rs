//! Bodies in every coding and in every state of decay.

use crate::harness::{Run, crawl};
use crate::server::{Answer, Body, Script, Server, brotli_stored, deflate, gzip, page, zstd};
use serde_json::Value;
use std::time::Duration;

const HTML: &[u8] = b"<title>coded</title><a href=/found>x</a>";

/// Crawls `/` of a server whose `/x` answers as given; returns the record of `/x`, and whether `/found` was.
fn ask(answer: Answer, further: &[&str]) -> (Value, bool, Run) {
    let server = Server::start(
        Script::new().on("/", page(&["/x"])).on("/x", answer).on("/found", Answer::html("found")),
    );
    let seed = server.url("/");
    let run = crawl(&[&[seed.as_str(), "--retries", "0"], further].concat());
    (run.page(&server.url("/x")).clone(), server.count("/found") == 1, run)
}

fn coded(coding: &str, content: Vec<u8>) -> Answer {
    Answer::html(content).header("Content-Encoding", coding)
}

#[test]
fn every_offered_coding_is_decoded() {
    for (coding, content) in [
        ("gzip", gzip(HTML)),
        ("x-gzip", gzip(HTML)),
        ("GZIP", gzip(HTML)),
        ("br", brotli_stored(HTML)),
        ("zstd", zstd(HTML)),
        ("deflate", deflate(HTML)),
        ("identity", HTML.to_vec()),
        ("gzip, br", brotli_stored(&gzip(HTML))),
        ("gzip, gzip", gzip(&gzip(HTML))),
    ] {
        let wire = content.len() as u64;
        let (page, found, _) = ask(coded(coding, content), &[]);
        assert!(found, "{coding}: {page}");
        assert_eq!(page["title"], "coded", "{coding}: {page}");
        assert_eq!(page["wire_bytes"], wire, "{coding}: {page}");
        assert_eq!(page["decoded_bytes"], HTML.len() as u64, "{coding}: {page}");
    }
}

#[test]
fn layers_of_coding_have_a_bound() {
    let layers = vec!["gzip"; 40];
    let content = layers.iter().fold(HTML.to_vec(), |content, _| gzip(&content));
    let (page, found, _) = ask(coded(&layers.join(", "), content), &[]);
    assert!(!found, "{page}");
    assert_eq!(page["error"]["kind"], "decode", "{page}");
}

#[test]
fn a_plain_body_labelled_as_coded_is_read_as_it_is() {
    for coding in ["gzip", "deflate"] {
        let (page, found, _) = ask(coded(coding, HTML.to_vec()), &[]);
        assert!(found, "{coding}: {page}");
        assert!(page["error"].is_null(), "{coding}: {page}");
    }
}

#[test]
fn a_coding_nobody_knows_is_an_error_of_its_page() {
    let (page, found, _) = ask(coded("rot13", HTML.to_vec()), &[]);
    assert!(!found, "{page}");
    assert_eq!(page["error"]["kind"], "decode", "{page}");
}

#[test]
fn a_damaged_coding_is_an_error_of_its_page() {
    for (coding, mut content) in [("gzip", gzip(&HTML.repeat(99))), ("zstd", zstd(&HTML.repeat(99)))] {
        for octet in content.iter_mut().skip(12) {
            *octet ^= 0x5a;
        }
        let (page, _, _) = ask(coded(coding, content), &[]);
        assert_eq!(page["error"]["kind"], "decode", "{coding}: {page}");
    }
}

#[test]
fn a_decompression_bomb_stops_at_the_limit() {
    let zeros = vec![b' '; 64 << 20];
    for (coding, content) in [("gzip", gzip(&zeros)), ("zstd", zstd(&zeros))] {
        let (page, _, _) = ask(coded(coding, content), &["--max-body", "1MiB"]);
        assert_eq!(page["truncated"], "length", "{coding}: {page}");
        assert!(page["decoded_bytes"].as_u64().unwrap() <= 1 << 20, "{coding}: {page}");
    }
}

#[test]
fn a_body_without_end_is_cut_and_its_links_up_to_there_are_followed() {
    let (page, found, _) = ask(Answer::html(HTML).body(Body::Gibibyte), &["--max-body", "100KiB"]);
    assert_eq!(page["truncated"], "length", "{page}");
    assert_eq!(page["decoded_bytes"], 100 << 10, "{page}");
    assert!(found);
}

#[test]
fn a_body_that_exactly_fits_is_not_cut() {
    let content = [HTML, &[b' '; 1000]].concat();
    for (limit, cut) in [(content.len(), false), (content.len() - 1, true)] {
        let (page, found, _) = ask(Answer::html(content.clone()), &["--max-body", &format!("{limit}B")]);
        assert_eq!(page["truncated"] == "length", cut, "{page}");
        assert_eq!(page["decoded_bytes"], limit as u64, "{page}");
        assert!(found, "{page}");
    }
}

#[test]
fn a_body_that_drips_past_the_time_limit_is_cut_there() {
    let answer = Answer::html([HTML, &[b' '; 400]].concat()).body(Body::Drip(40, Duration::from_millis(500)));
    let (page, found, _) = ask(answer, &["--timeout", "2s"]);
    assert_eq!(page["truncated"], "time", "{page}");
    assert!(found, "the links that came are followed");
}

#[test]
fn chunks_of_one_byte_are_a_body_like_any() {
    let (page, found, _) = ask(Answer::html(HTML).body(Body::ByteByByte), &[]);
    assert!(found && page["error"].is_null(), "{page}");
    assert_eq!(page["decoded_bytes"], HTML.len() as u64);
}

#[test]
fn an_answer_of_the_old_kind_ends_with_its_connection() {
    for version in ["1.0", "1.1"] {
        let head = format!("HTTP/{version} 200 OK\r\nContent-Type: text/html\r\n\r\n");
        let (page, found, _) = ask(Answer::raw([head.as_bytes(), HTML].concat()), &[]);
        assert!(found && page["truncated"].is_null() && page["error"].is_null(), "{page}");
    }
}

#[test]
fn what_is_no_html_is_fetched_and_not_read_for_links() {
    for kind in ["text/plain", "application/octet-stream", "image/png", "application/json"] {
        let answer = Answer::status(200).header("Content-Type", kind).content(HTML);
        let (page, found, _) = ask(answer, &[]);
        assert!(!found, "{kind}");
        assert_eq!((&page["status"], &page["links"]), (&200.into(), &0.into()), "{page}");
        assert_eq!(page["content_type"], kind);
    }
}

#[test]
fn any_bytes_are_a_record() {
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(1 << 18)
    .collect();
    let nested = "<div><a href=x>".repeat(40_000);
    for content in
        [noise, nested.into_bytes(), b"<a href=\"".repeat(9000), vec![0; 1 << 16], b"<!--".to_vec()]
    {
        let (page, _, _) = ask(Answer::html(content), &["-d", "1"]);
        assert_eq!(page["status"], 200, "{page}");
    }
}

#[test]
fn the_digest_is_of_the_content_however_it_travels() {
    let (whole, _, _) = ask(Answer::html(HTML), &[]);
    let (chunked, _, _) = ask(Answer::html(HTML).body(Body::ByteByByte), &[]);
    let (zipped, _, _) = ask(coded("gzip", gzip(HTML)), &[]);
    assert!(whole["digest"].is_string(), "{whole}");
    assert_eq!(whole["digest"], chunked["digest"]);
    assert_eq!(whole["digest"], zipped["digest"]);
}
