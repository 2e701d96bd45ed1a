//! Sitemaps over the wire: where they are named, what comes of them, and what they may not do.

use crate::harness::{Run, crawl, crawl_into, dragline, finish, start};
use crate::server::{Answer, Body, Script, Server, gzip, page};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;
use tempfile::TempDir;

/// A list of URLs in XML, each with what is said of it beside.
fn urlset<Url: AsRef<str>>(urls: &[(Url, &str)]) -> String {
    let mut xml = String::from("<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>");
    for (url, more) in urls {
        let _infallible = write!(xml, "<url><loc>{}</loc>{more}</url>", url.as_ref());
    }
    xml + "</urlset>"
}

fn index<Url: AsRef<str>>(urls: &[(Url, &str)]) -> String {
    let mut xml = String::from("<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>");
    for (url, more) in urls {
        let _infallible = write!(xml, "<sitemap><loc>{}</loc>{more}</sitemap>", url.as_ref());
    }
    xml + "</sitemapindex>"
}

fn xml(content: impl Into<Vec<u8>>) -> Answer {
    Answer::status(200).header("Content-Type", "application/xml").content(content)
}

fn robots(sitemaps: &[&str]) -> Answer {
    let lines: Vec<String> = sitemaps.iter().map(|url| format!("Sitemap: {url}\n")).collect();
    Answer::text(lines.concat())
}

/// The notes on sitemaps: read, entries, cut, too large.
fn notes(run: &Run) -> [u64; 4] {
    ["sitemaps", "sitemap_entries", "sitemaps_cut", "sitemaps_too_large"]
        .map(|name| run.number(&format!("notes.{name}")))
}

/// The paths of one host that were asked for but for robots.txt, sorted.
fn asked(server: &Server, host: &str) -> Vec<String> {
    let of_host = server.log().into_iter().filter(|request| request.host == host);
    let mut paths: Vec<String> =
        of_host.map(|request| request.path).filter(|path| path != "/robots.txt").collect();
    paths.sort();
    paths
}

#[test]
fn what_robots_txt_names_is_read_to_the_last_page() {
    let packed = gzip(urlset(&[("/packed", "")]).as_bytes());
    let script = Script::new()
        .on("/robots.txt", robots(&["/index.xml", "/feed", "/list.txt", "/gone.xml", "/index.xml"]))
        .on(
            "/index.xml",
            xml(index(&[("/index.xml", ""), ("/a.xml", ""), ("/raw.xml.gz", ""), ("/coded.xml.gz", "")])),
        )
        .on("/a.xml", xml(urlset(&[("/a?x=1&amp;y=2", ""), ("/linked", ""), ("/a?x=1&amp;y=2#again", "")])))
        // gzip as it is (C106 a), and as a coding of the transfer (b)
        .on(
            "/raw.xml.gz",
            Answer::status(200).header("Content-Type", "application/gzip").content(packed.clone()),
        )
        .on("/coded.xml.gz", xml(packed).header("Content-Encoding", "gzip"))
        .on("/feed", xml("<rss><channel><link>/no</link><item><link>/fed</link></item></channel></rss>"))
        .rule(|request| {
            let list = format!("http://{}/listed\nno URL\n", request.header("host").unwrap());
            (request.path == "/list.txt").then(|| Answer::text(list))
        })
        .on("/", page(&["/linked"]))
        .on("/linked", Answer::html("linked"))
        .on("/packed", Answer::html("packed"))
        .on("/fed", Answer::html("fed"))
        .on("/listed", Answer::html("listed"))
        .on("/a?x=1&y=2", page(&["/deeper"]))
        .on("/deeper", Answer::html("deeper"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let expected = [
        "/",
        "/a.xml",
        "/a?x=1&y=2",
        "/coded.xml.gz",
        "/deeper",
        "/fed",
        "/feed",
        "/gone.xml",
        "/index.xml",
        "/linked",
        "/list.txt",
        "/listed",
        "/packed",
        "/raw.xml.gz",
    ];
    assert_eq!(server.pages(), expected);
    assert_eq!(notes(&run), [6, 11, 0, 0]);
    let entry = run.page(&server.url("/a?x=1&y=2"));
    assert_eq!((&entry["via"], &entry["depth"]), (&"sitemap".into(), &0.into()));
    assert_eq!(entry["referrer"], server.url("/a.xml"));
    assert_eq!(run.page(&server.url("/deeper"))["depth"], 1);
    let file = run.page(&server.url("/index.xml"));
    assert_eq!(
        (&file["via"], &file["depth"], &file["links"]),
        (&"sitemap-file".into(), &0.into(), &4.into())
    );
    assert_eq!(file["referrer"], server.url("/robots.txt"));
    assert_eq!(run.page(&server.url("/gone.xml"))["status"], 404);
}

#[test]
fn off_reads_those_alone_that_the_user_names() {
    let script = Script::new()
        .on("/robots.txt", robots(&["/a.xml"]))
        .on("/", Answer::html("x"))
        .on("/a.xml", xml(urlset(&[("/a", "")])))
        .on("/b.xml", xml(urlset(&[("/b", "")])))
        .on("/b", Answer::html("b"));
    let server = Server::start(script);
    let (seed, named) = (server.url("/"), server.url("/b.xml"));
    let run = crawl(&[seed.as_str(), "--sitemaps", "off", "--sitemap", &named, "--depth", "0"]);
    assert_eq!(server.pages(), ["/", "/b", "/b.xml"], "entries are seeds, so a depth of 0 has them");
    assert_eq!((run.code, notes(&run)), (Some(0), [1, 1, 0, 0]));
}

#[test]
fn a_sitemap_alone_is_enough_and_its_host_is_the_scope() {
    let script = Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1.to_owned();
        let on = |host: &str, path: &str| format!("http://{host}:{port}{path}");
        match (request.host.as_str(), request.path.as_str()) {
            ("a.test", "/s.xml") => Some(Answer::redirect(301, &on("www.a.test", "/s.xml"))),
            ("www.a.test", "/s.xml") => Some(xml(urlset(&[
                ("/p".to_owned(), ""),
                (on("b.test", "/no"), ""),
                (on("a.test", "/q"), ""),
            ]))),
            (_, "/p" | "/q" | "/no") => Some(Answer::html("x")),
            _ => None,
        }
    });
    let server = Server::start(script);
    let url = server.url_of("a.test", "/s.xml");
    let arguments = ["--sitemap", url.as_str(), "--resolve", "*.test:127.0.0.1"];
    let run = crawl(&arguments);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(asked(&server, "a.test"), ["/q", "/s.xml"]);
    assert_eq!(asked(&server, "www.a.test"), ["/p", "/s.xml"], "a redirect moves the scope, as of a seed");
    assert_eq!(asked(&server, "b.test"), [""; 0]);
    assert_eq!((run.skips("out_of_scope"), run.number("notes.scope_moves")), (1, 1));
    // beside a seed it neither widens nor moves anything
    let seed = server.url_of("www.a.test", "/p");
    let run = crawl(&[&arguments[..], &[&seed]].concat());
    assert_eq!((run.skips("out_of_scope"), run.number("notes.scope_moves")), (2, 0));
}

#[test]
fn other_hosts_are_asked_only_where_one_in_scope_says_so() {
    // C111
    let script = Script::new().rule(|request| {
        let port = request.header("host")?.rsplit_once(':')?.1.to_owned();
        let on = |host: &str, path: &str| format!("http://{host}.test:{port}{path}");
        match (request.host.split('.').next()?, request.path.as_str()) {
            ("a", "/robots.txt") => Some(robots(&[&on("cdn", "/a.xml"), "/index.xml"])),
            ("a", "/index.xml") => {
                let entries = [(on("a", "/s.xml"), ""), (on("b", "/no.xml"), "")];
                Some(xml(index(&entries)))
            }
            ("a", "/s.xml") => Some(xml(urlset(&[("/2", "")]))),
            ("a", _) => Some(Answer::html("x")),
            ("cdn", "/robots.txt") => Some(robots(&["/no.xml", &on("c", "/no.xml")])),
            ("cdn", "/a.xml") => {
                Some(xml(urlset(&[(on("a", "/1"), ""), (on("cdn", "/no"), ""), (on("b", "/no"), "")])))
            }
            _ => None,
        }
    });
    let server = Server::start(script);
    let run = crawl(&[&server.url_of("a.test", "/"), "--resolve", "*.test:127.0.0.1"]);
    assert_eq!(asked(&server, "a.test"), ["/", "/1", "/2", "/index.xml", "/s.xml"]);
    assert_eq!(asked(&server, "cdn.test"), ["/a.xml"]);
    assert!(server.log().iter().all(|request| ["a.test", "cdn.test"].contains(&&*request.host)));
    // two that the host's robots.txt names, one sitemap of an index, two pages
    assert_eq!((run.skips("out_of_scope"), notes(&run)), (5, [3, 6, 0, 0]));
}

#[test]
fn robots_txt_and_exclude_hold_for_sitemaps_and_include_for_pages_alone() {
    let script = Script::new()
        .on(
            "/robots.txt",
            Answer::text("User-agent: *\nDisallow: /denied\nSitemap: /denied.xml\nSitemap: /excluded.xml\nSitemap: /s.xml\n"),
        )
        .on("/s.xml", xml(urlset(&[("/page/1", ""), ("/other", ""), ("/page/denied", ""), ("/denied/2", "")])))
        .on("/page/0", Answer::html("0"))
        .on("/page/1", Answer::html("1"));
    let server = Server::start(script);
    let seed = server.url("/page/0");
    let run = crawl(&[seed.as_str(), "--include", "/page/", "--exclude", "excluded|page/denied"]);
    assert_eq!(server.pages(), ["/page/0", "/page/1", "/s.xml"]);
    for (path, reason) in [
        ("/denied.xml", "robots_denied"),
        ("/excluded.xml", "excluded"),
        ("/other", "not_included"),
        ("/page/denied", "excluded"),
    ] {
        assert_eq!(run.skip_reason(&server.url(path)), Some(reason), "{path}");
    }
}

#[test]
fn indexes_without_end_have_an_end() {
    // C107
    let script =
        Script::new().on("/robots.txt", robots(&["/i/1"])).on("/", Answer::html("x")).rule(|request| {
            let number: u32 = request.path.strip_prefix("/i/")?.parse().ok()?;
            Some(xml(index(&[
                (format!("/i/{}", number + 1), ""),
                (format!("/i/{number}"), ""),
                ("/i/1".into(), ""),
            ])))
        });
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(server.pages(), ["/", "/i/1", "/i/2", "/i/3", "/i/4", "/i/5", "/i/6"]);
    assert_eq!(run.skips("too_deep"), 3, "whatever the last one names");
    assert_eq!(run.skip_reason(&server.url("/i/7")), Some("too_deep"));
}

/// As many as a robots.txt is allowed, whatever is said of pages.
#[test]
fn redirects_of_a_sitemap_are_steps_too() {
    let script = Script::new()
        .on("/robots.txt", robots(&["/long/1", "/r/1", "/index.xml"]))
        .on("/", Answer::html("x"))
        .on("/r/6", xml(urlset(&[("/page", "")])))
        .on("/i/5", xml(index(&[("/i/6.xml", "")])))
        .on("/index.xml", xml(index(&[("/i/1", "")])))
        .on("/page", Answer::html("page"))
        .rule(|request| {
            let mut parts = request.path.strip_prefix('/')?.split('/');
            let (kind, number): (&str, u32) = (parts.next()?, parts.next()?.parse().ok()?);
            let most = match kind {
                "r" => 6,
                "i" => 5,
                _ => u32::MAX,
            };
            (number < most).then(|| Answer::redirect(302, &format!("/{kind}/{}", number + 1)))
        });
    let server = Server::start(script);
    for most in ["0", "1", "20"] {
        let run = crawl(&[server.url("/").as_str(), "--max-redirects", most]);
        assert_eq!(run.code, Some(0), "{}", run.stderr);
        assert_eq!(
            run.page(&server.url("/page"))["referrer"],
            server.url("/r/6"),
            "five redirects are followed"
        );
        let last = run.page(&server.url("/long/6"));
        assert_eq!(last["error"]["kind"], "too_many_redirects", "{last}");
        assert_eq!(run.skip_reason(&server.url("/long/7")), Some("too_many_redirects"));
        assert!(run.skip_detail(&server.url("/long/7")).unwrap().contains("5 steps"), "{:?}", run.skipped);
        assert_eq!(run.skip_reason(&server.url("/i/6.xml")), Some("too_deep"), "an index and four redirects");
        assert_eq!((run.skips("too_many_redirects"), notes(&run)), (1, [3, 3, 0, 0]));
    }
}

/// What was read of it counts, once, although its record tells of a later failure.
#[test]
fn a_sitemap_that_broke_off_is_noted_whatever_comes_of_the_next_tries() {
    let broken = xml(urlset(&[("/1", ""), ("/2", "")])).body(Body::Short);
    let script = Script::new()
        .on("/", Answer::html("x"))
        .in_turn("/s.xml", vec![broken, Answer::status(0).body(Body::Close)])
        .rule(|request| (request.path.len() == 2).then(|| Answer::html("x")));
    let server = Server::start(script);
    let sitemap = server.url("/s.xml");
    let run = crawl(&[server.url("/").as_str(), "--sitemap", &sitemap, "--retries", "1"]);
    assert_eq!(server.pages(), ["/", "/1", "/2", "/s.xml", "/s.xml"]);
    let record = run.page(&sitemap);
    assert_eq!(
        (&record["error"]["kind"], &record["status"]),
        (&"disconnected".into(), &serde_json::Value::Null)
    );
    assert_eq!(record["sitemap"], serde_json::json!({"entries": 2, "cut": true, "too_large": false}));
    assert_eq!(notes(&run), [1, 2, 1, 0]);
}

#[test]
fn a_sitemap_that_broke_off_is_noted_where_its_host_is_given_up() {
    let broken = xml(urlset(&[("http://127.0.0.1:9/out", "")])).body(Body::Short);
    let going = Server::start_at([127, 0, 0, 2].into(), Script::new().on("/s.xml", broken));
    let staying = Server::start(Script::new().on("/", Answer::html("x")));
    let directory = TempDir::new().unwrap();
    let (output, sitemap) = (directory.path().join("crawl"), going.url("/s.xml"));
    let given = ["--sitemap", &sitemap, "--retries", "30", "--delay", "0s", "--allow-private"];
    let child = start(&output, &[&[staying.url("/").as_str()][..], &given].concat());
    while going.count("/s.xml") == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(going);
    let run = finish(child, &output);
    assert!(!run.page(&sitemap)["error"].is_null());
    assert_eq!(notes(&run), [1, 1, 1, 0], "{}", run.stderr);
}

#[test]
fn sitemaps_past_their_number_are_dropped_and_counted() {
    let mut lines: Vec<String> = (0..2003).map(|n| format!("/s/{n}.xml")).collect();
    lines.insert(0, "/page.xml".to_owned());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let script = Script::new()
        .on("/robots.txt", robots(&lines))
        .on("/", Answer::html("x"))
        .on("/page.xml", xml(urlset(&[("/page", "")])))
        .on("/page", Answer::html("x"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--exclude", "/s/"]);
    assert_eq!(server.pages(), ["/", "/page", "/page.xml"]);
    assert_eq!((run.skips("excluded"), run.skips("too_many_links")), (1999, 4), "{}", run.summary);
    assert_eq!(run.skip_reason(&server.url("/robots.txt")), Some("too_many_links"));
}

/// Its entries come in parts, each of which the owner takes in between others' outcomes.
#[test]
fn pages_and_other_sitemaps_get_on_while_a_long_one_is_read() {
    let many: Vec<(String, &str)> = (0..6000).map(|n| (format!("/long/{n}"), "")).collect();
    let few: Vec<(String, &str)> = (0..40).map(|n| (format!("/few/{n}"), "")).collect();
    let links: Vec<String> = (0..40).map(|n| format!("/linked/{n}")).collect();
    let long = xml(urlset(&many)).body(Body::Drip(16 << 10, Duration::from_millis(400)));
    let script = Script::new()
        .on("/robots.txt", robots(&["/long.xml", "/few.xml"]))
        .on("/", page(&links))
        .on("/long.xml", long)
        .on("/few.xml", xml(urlset(&few)))
        .rule(|request| {
            let leaf = ["/long/", "/few/", "/linked/"].iter().any(|part| request.path.starts_with(part));
            leaf.then(|| Answer::html("x"))
        });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--per-host", "4"]);
    assert_eq!(run.number("pages.ok"), 6000 + 40 + 40 + 3, "{}", run.stderr);
    let end = server.requests("/long.xml")[0].finished.unwrap();
    let before = |part: &str| {
        let requests = server.log();
        requests.iter().filter(|request| request.path.starts_with(part) && request.at < end).count()
    };
    assert_eq!((before("/few/"), before("/linked/")), (40, 40));
    assert!(before("/long/") > 0, "its first entries are asked for before its last ones are read");
}

#[test]
fn of_what_is_broken_the_beginning_counts() {
    // C109
    let good: Vec<(String, &str)> = (0..3).map(|n| (format!("/good/{n}"), "")).collect();
    let cut = urlset(&good).replace("</urlset>", "<url><loc>/good/9");
    // of little redundancy, so that half of it packed is much of it
    let noise = |n: u32| (format!("/noise/{:x}", n.wrapping_mul(2_654_435_761)), "");
    let mut many = vec![("/packed".to_owned(), "")];
    many.extend((0..4000).map(noise));
    let packed = gzip(urlset(&many).as_bytes());
    let script = Script::new()
        .on("/robots.txt", robots(&["/cut", "/html", "/packed.gz", "/lost", "/short", "/busy", "/whole"]))
        .on("/cut", xml(cut))
        // a page that is called a sitemap is read as the page it is
        .on("/html", Answer::html("<!doctype html><a href='/good/6'>x</a><url><loc>/no</loc></url>"))
        .on("/packed.gz", xml(&packed[..packed.len() / 2]))
        .on("/short", xml(urlset(&[("/good/3", "")])).body(Body::Short))
        .in_turn(
            "/busy",
            vec![Answer::status(503).header("Retry-After", "1"), xml(urlset(&[("/good/4", "")]))],
        )
        .on("/whole", xml(urlset(&[("/good/5", "")])))
        .rule(|request| request.path.starts_with("/good/").then(|| Answer::html("good")))
        .on("/packed", Answer::html("packed"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/good/0").as_str(), "--retries", "1", "--exclude", "/noise/"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for n in 0..7 {
        assert_eq!(server.count(&format!("/good/{n}")), 1, "/good/{n}");
    }
    assert_eq!((server.count("/packed"), server.count("/no"), server.count("/busy")), (1, 0, 2));
    let [read, _, broken, large] = notes(&run);
    // cut, html, packed.gz and short are broken; busy and whole are not, lost is none
    assert_eq!((read, broken, large), (6, 4, 0));
    assert_eq!(run.page(&server.url("/cut"))["error"], serde_json::Value::Null);
    assert_eq!(run.page(&server.url("/short"))["error"]["kind"], "incomplete");
}

#[test]
fn what_is_larger_than_the_protocol_allows_is_told_and_read() {
    // C108; with the smallest memory for so many connections
    let elsewhere = |n: u32| (format!("http://b.test/{n}"), "");
    let mut many: Vec<(String, &str)> = (0..60_000).map(elsewhere).collect();
    many.push(("/last".into(), ""));
    let allowed: Vec<(String, &str)> = (0..50_000).map(elsewhere).collect();
    let mut bomb = urlset(&[("/bomb", "")]).replace("</urlset>", "<!--");
    bomb.extend(std::iter::repeat_n(' ', 60 << 20));
    let bomb = gzip(bomb.as_bytes());
    let script = Script::new()
        .on("/robots.txt", robots(&["/many", "/allowed", "/bomb.gz", "/coded", "/endless"]))
        .on("/many", xml(urlset(&many)))
        .on("/allowed", xml(urlset(&allowed)))
        .on("/bomb.gz", xml(bomb.clone()))
        .on("/coded", xml(bomb).header("Content-Encoding", "gzip"))
        .rule(|request| {
            let begin = format!("http://{}/endless/page\n", request.header("host").unwrap());
            let body = Body::Filled(80 << 20);
            (request.path == "/endless").then(|| Answer::text(begin).body(body))
        })
        .rule(|request| {
            (!request.path.contains('.'))
                .then(|| Answer::html("x"))
                .filter(|_| ["/", "/last", "/bomb", "/endless/page"].contains(&request.path.as_str()))
        });
    let server = Server::start(script);
    let seed = server.url("/");
    let run = crawl(&[seed.as_str(), "--memory", "17MiB", "--concurrency", "32"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    for path in ["/", "/last", "/bomb", "/endless/page"] {
        assert_eq!(server.count(path), 1, "{path}");
    }
    assert_eq!(notes(&run), [5, 60_001 + 50_000 + 3, 3, 4]);
    let (peak, budget) = (run.number("memory.peak_rss_bytes"), run.number("memory.budget_bytes"));
    assert!(peak <= budget, "{peak} bytes of {budget}");
    assert_eq!(run.skips("out_of_scope"), 110_000);
    for path in ["/bomb.gz", "/coded", "/endless"] {
        assert_eq!(run.page(&server.url(path))["truncated"], "length", "{path}");
    }
    assert_eq!(run.page(&server.url("/many"))["truncated"], serde_json::Value::Null);
}

#[test]
fn what_has_not_changed_since_is_left_out() {
    let today = "<lastmod>2999-01-01</lastmod>";
    let script = Script::new()
        .on("/robots.txt", robots(&["/index.xml", "/feed.xml"]))
        .on(
            "/index.xml",
            xml(index(&[
                ("/old.xml", "<lastmod>2025-12</lastmod>"),
                ("/new.xml", "<lastmod>2026</lastmod>"),
            ])),
        )
        .on(
            "/new.xml",
            xml(urlset(&[
                ("/1", ""),
                ("/2", today),
                ("/3", "<lastmod>2026-01-31T00:00:00Z</lastmod>"),
                ("/4", "<lastmod>2026-01-30T23:59:59Z</lastmod>"),
                ("/5", "<lastmod>2026-01-31T00:59:59+01:00</lastmod>"),
                ("/6", "<lastmod>lately</lastmod>"),
            ])),
        )
        .on(
            "/feed.xml",
            xml("<rss><item><link>/7</link><pubDate>Sat, 31 Jan 2026 12:00:00 GMT</pubDate></item>\
            <item><link>/8</link><pubDate>Thu, 01 Jan 2026 00:00:00 GMT</pubDate></item></rss>"),
        )
        .rule(|request| (request.path.len() <= 2).then(|| Answer::html("x")));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--sitemap-since", "2026-01-31"]);
    assert_eq!(server.pages(), ["/", "/1", "/2", "/3", "/6", "/7", "/feed.xml", "/index.xml", "/new.xml"]);
    assert_eq!(run.skips("sitemap_stale"), 4);
    let row = run.skipped.iter().find(|row| row["url"] == server.url("/old.xml")).unwrap();
    assert_eq!(
        (&row["reason"], &row["detail"]),
        (&"sitemap_stale".into(), &"--sitemap-since 2026-01-31".into())
    );
    // a time ago is a moment once and for all
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    crawl_into(&output, &[server.url("/1").as_str(), "--delay", "0s", "--sitemap-since", "30d"]);
    let frozen = std::fs::read_to_string(output.join("crawl.toml")).unwrap();
    assert!(frozen.contains("sitemap-since = \"20") && frozen.contains("Z\""), "{frozen}");
}

#[test]
fn a_sitemap_that_was_first_met_as_a_page_is_read_as_one() {
    let script = Script::new()
        .on("/robots.txt", robots(&["/s.xml"]))
        .on("/s.xml", xml(urlset(&[("/p", "")])))
        .on("/p", Answer::html("p"));
    let server = Server::start(script);
    let run = crawl(&[server.url("/s.xml")]);
    assert_eq!((server.pages(), notes(&run)), (vec!["/p".to_owned(), "/s.xml".to_owned()], [1, 1, 0, 0]));
}

#[test]
fn sitemaps_count_as_pages() {
    let script = Script::new()
        .on("/robots.txt", robots(&["/s.xml"]))
        .on("/", Answer::html("x"))
        .on("/s.xml", xml(urlset(&[("/1", ""), ("/2", ""), ("/3", "")])))
        .rule(|request| (request.path.len() == 2).then(|| Answer::html("x")));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-pages", "3", "--concurrency", "1"]);
    assert_eq!((run.code, run.pages.len()), (Some(11), 3), "{}", run.stderr);
    assert_eq!(server.count("/s.xml"), 1);
}

#[test]
fn mistakes_are_told_before_anything_is_done() {
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    for (arguments, part) in [
        (["--sitemap", "s.xml"], "--sitemap s.xml: no scheme; write it as https://host/sitemap.xml"),
        (["--sitemap", "ftp://a.test/s.xml"], "only http and https"),
        (["--sitemap", "http://u:secret@a.test/s.xml"], "--sitemap ***@a.test/s.xml"),
        (["--sitemap-since", "soon"], "--sitemap-since soon: neither a date"),
    ] {
        let run = crawl_into(&output, &[&["http://127.0.0.1:9/"], &arguments[..]].concat());
        assert_eq!(run.code, Some(3), "{}", run.stderr);
        assert!(run.stderr.contains(part) && !run.stderr.contains("secret"), "{}", run.stderr);
        assert!(!output.exists());
    }
    let run = crawl_into(&output, &["--sitemaps", "auto"]);
    assert_eq!(run.code, Some(2), "{}", run.stderr);
}

/// Entries of the large sitemap: as many as make some forty parts.
const MANY: u32 = 20_000;

#[test]
fn killed_in_the_middle_of_a_sitemap_each_page_has_one_record() {
    let many: Vec<(String, &str)> = (0..MANY).map(|n| (format!("/p/{n}"), "")).collect();
    let many = urlset(&many);
    // twice so slow that it cannot end before the kill
    let slow = xml(many.clone()).body(Body::Drip(16 << 10, Duration::from_secs(1)));
    let script = Script::new()
        .in_turn("/s.xml", vec![slow.clone(), slow, xml(many)])
        .rule(|request| request.path.starts_with("/p/").then(|| Answer::html("p")));
    let server = Server::start(script);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    // no seeds: the scope must come back from the sitemap's own URL
    let url = server.url("/s.xml");
    let mut child = start(&output, &["--sitemap", url.as_str(), "--delay", "0s", "--concurrency", "8"]);
    for least in [200, 1000] {
        while server.log().len() < least {
            std::thread::sleep(Duration::from_millis(5));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let lines = std::fs::read_to_string(output.join("pages.jsonl")).unwrap();
        assert!(!lines.contains(&format!("{{\"url\":\"{url}\"")), "the sitemap is not read to its end yet");
        child = dragline().arg("resume").arg(&output).spawn().unwrap();
    }
    let run = finish(child, &output);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let mut records: BTreeMap<&str, u32> = BTreeMap::new();
    for url in run.urls() {
        *records.entry(url).or_default() += 1;
    }
    assert!(records.values().all(|times| *times == 1));
    assert_eq!(records.len(), MANY as usize + 1);
    assert_eq!(server.count("/s.xml"), 3);
    let pages = server.log().iter().filter(|request| request.path.starts_with("/p/")).count();
    assert!(pages <= MANY as usize + 2 * 8, "only what was in flight is asked for again: {pages}");
    assert_eq!(notes(&run), [1, u64::from(MANY), 0, 0], "counted once, with the record");
    assert_eq!(run.number("urls.unique"), u64::from(MANY) + 1);
}
