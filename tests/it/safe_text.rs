//! Text from the network, end to end: nothing of it acts on whoever reads a file or a terminal, and
//! no password that stood in a URL is sent or kept.

use crate::harness::{crawl_into, dragline};
use crate::server::{Answer, Script, Server};
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Clears a terminal, in both spellings; ends a line for some; turns text around.
const ACTS: &str = "\u{1b}[2J\u{9b}2J\u{85}\u{7f}\u{2028}\u{2029}\u{202e}\u{2066}\u{200f}";

fn acts(character: char) -> bool {
    (character.is_control() && character != '\n')
        || matches!(character, '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[track_caller]
fn quiet(what: &str, bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let found: Vec<char> = text.chars().filter(|character| acts(*character)).collect();
    assert!(found.is_empty(), "{what}: {found:?} in {text:?}");
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn nothing_from_the_network_acts_on_its_reader() {
    let html = format!(
        "<title>title {ACTS} end</title><a href='http://a{ACTS}b.test/x'>a</a><a href='http://[{ACTS}/'>b</a>\
         <a href='x{ACTS}:y'>c</a><a href='foo:{ACTS}'>d</a><a href='/moved'>e</a><a href='/lost'>f</a>\
         <a href='/denied{ACTS}'>g</a><a href='/odd'>h</a><a href='/type'>i</a><a href='/{ACTS}'>j</a>"
    );
    let robots = format!("User-agent: *\nDisallow: /denied{ACTS}\nSitemap: http://{ACTS}/\n");
    let c1 = "\u{9b}2J\u{202e}\u{2028}";
    let at = Server::start(
        Script::new()
            .on("/", Answer::html(html))
            .on("/robots.txt", Answer::text(robots))
            .on("/moved", Answer::redirect(302, &format!("/to{c1}")))
            .on("/lost", Answer::redirect(302, &format!("http://[{c1}/")))
            .on("/type", Answer::status(200).header("Content-Type", &format!("text/html; charset={c1}")))
            .on("/odd", Answer::raw(format!("HTTP/1.1 200 {ACTS}\r\nX-{ACTS}: {ACTS}\r\n\r\n"))),
    );
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let seed = at.url("/");
    let odd = format!("http://b{ACTS}.test/");
    let arguments = [&seed, &odd, "--allow-private", "--delay", "0s", "--log-skipped", "--retries", "0"];
    let run = crawl_into(&output, &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    quiet("standard error", run.stderr.as_bytes());
    for name in ["pages", "skipped", "robots", "stats"] {
        quiet(name, &std::fs::read(output.join(format!("{name}.jsonl"))).unwrap());
    }
    quiet("summary", &std::fs::read(output.join("summary.json")).unwrap());
    // It came all the way, and comes back as it was.
    let title = run.page(&seed)["title"].as_str().unwrap();
    assert!(
        title.contains("\u{9b}2J") && title.contains('\u{202e}') && title.contains('\u{7f}'),
        "{title:?}"
    );
    assert!(
        run.skipped.iter().any(|row| row["url"].as_str().unwrap().contains('\u{202e}')),
        "{:?}",
        run.skipped
    );
    for arguments in [
        vec!["status", output.to_str().unwrap()],
        vec!["status", "--json", output.to_str().unwrap()],
        vec!["explain", &seed, "-o", output.to_str().unwrap()],
        vec!["explain", &seed, "--json", "-o", output.to_str().unwrap()],
        vec!["explain", &odd, "-o", output.to_str().unwrap()],
        vec!["explain", &odd, "--json", "-o", output.to_str().unwrap()],
        vec!["near-duplicates", "--distance=10", output.to_str().unwrap()],
        vec!["near-duplicates", "--json", output.to_str().unwrap()],
        vec!["normalize", &odd],
    ] {
        let run = dragline().args(&arguments).output().unwrap();
        quiet(&format!("{arguments:?}"), &[run.stdout, run.stderr].concat());
    }
}

#[test]
fn passwords_in_urls_are_neither_sent_nor_kept_nor_shown() {
    let at = Server::start(Script::new().rule(|request| {
        let authority = request.header("host")?.to_owned();
        let to = |rest: &str| Some(Answer::redirect(302, rest));
        match request.path.as_str() {
            "/" => Some(Answer::html(format!(
                "<a href='http://u:SECRET@{authority}/x'>a</a><a href='ftp://u:SECRET@h/'>b</a>\
                 <a href='http://u:SECRET@ho st/'>c</a><a href='//u:SECRET@h:99999/'>d</a>\
                 <a href='http://u:SEC/SECRET@h/'>e</a><a href='/1'>f</a><a href='/2'>g</a><a href='/3'>h</a>\
                 <a href='/4'>i</a><link rel=canonical href='http://u:SECRET@{authority}/'>\
                 <a href='http://u:SECRET@out.test/'>j</a>"
            ))),
            "/robots.txt" => Some(Answer::text(format!(
                "Sitemap: http://u:SECRET@{authority}/named.xml\nSitemap: ftp://u:SECRET@h/\n\
                 Sitemap: http://u:SECRET@ho st/"
            ))),
            "/named.xml" => {
                Some(Answer::text("http://u:SECRET@ho st/\nftp://u:SECRET@h/\nhttp://u:SECRET@h:99999/\n"))
            }
            "/x" => Some(Answer::html("x")),
            "/1" => to(&format!("http://u:SECRET@{authority}/y")),
            "/2" => to("http://u:SECRET@h:99999/"),
            "/3" => to("ftp://u:SECRET@h/"),
            "/4" => to("http://u:SECRET@out.test/z"),
            "/y" => Some(Answer::html("y")),
            _ => None,
        }
    }));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("c");
    let authority = at.authority();
    let list = directory.path().join("list.txt");
    std::fs::write(&list, format!("http://u:SECRET@{authority}/seed\nhttp://u:SECRET@h:99999/\n")).unwrap();
    let seed = format!("http://u:SECRET@{authority}/");
    let bad = "ftp://u:SECRET@h/";
    let common = ["--allow-private", "--delay", "0s", "--log-skipped", "--retries", "0"];
    let arguments = [&[&*seed, bad, "-i", list.to_str().unwrap()], &common[..]].concat();
    let run = crawl_into(&output, &arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(
        run.urls().contains(&&*at.url("/y")) && run.urls().contains(&&*at.url("/seed")),
        "{:?}",
        run.urls()
    );
    assert!(run.skipped.len() >= 5, "{:?}", run.skipped);
    assert!(run.skipped.iter().any(|row| row["url"] == "ftp://h/"), "{:?}", run.skipped);
    assert!(run.stderr.contains("'ftp://h/'"), "{}", run.stderr);
    let kept = files(&output);
    assert!(kept.iter().any(|path| path.ends_with("state/seeds")), "{kept:?}");
    for path in kept {
        let bytes = std::fs::read(&path).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("SECRET"), "{} holds it", path.display());
    }
    assert!(!run.stderr.contains("SECRET"), "{}", run.stderr);
    for request in at.log() {
        let told =
            request.headers.iter().any(|(name, value)| name == "authorization" || value.contains("SECRET"));
        assert!(!told && !request.path.contains("SECRET"), "{request:?}");
    }
    for arguments in [["explain", &seed], ["explain", bad], ["normalize", bad], ["robots", bad]] {
        let mut command = dragline();
        command.args(arguments);
        if arguments[0] == "explain" {
            command.arg("-o").arg(&output);
        }
        let told = command.output().unwrap();
        let text = String::from_utf8([told.stdout, told.stderr].concat()).unwrap();
        assert!(
            !text.contains("SECRET") && text.contains("h/") || text.contains(&authority),
            "{arguments:?}: {text}"
        );
    }
}
