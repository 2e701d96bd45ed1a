//! Servers that go on for ever: they are noticed, told and ended by the caps, and nothing else is.

use crate::harness::{Run, crawl, crawl_into, dragline, finish, start};
use crate::server::{Answer, Request, Script, Server, page};
use dragline::config::{Options, Size, Span};
use dragline::{Crawl, Silent};
use std::time::Duration;
use tempfile::TempDir;

/// A page of plain text, and links.
fn text(words: &str, links: &[String]) -> Answer {
    use std::fmt::Write as _;
    let mut html = format!("<!doctype html><title>t</title><p>{words}</p>");
    for link in links {
        let _infallible = write!(html, "<a href=\"{link}\">on</a> ");
    }
    Answer::html(html)
}

/// Enough words for a fingerprint, the same for the same number.
fn words(of: u32) -> String {
    let word = |n: u32| {
        let mut bits = u64::from(of) << 32 | u64::from(n);
        let mut word = String::new();
        for _ in 0..6 {
            bits = bits.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29) ^ 0x55;
            word.push(char::from(b'a' + (bits % 26) as u8));
        }
        word
    };
    (0..60).map(word).collect::<Vec<_>>().join(" ")
}

/// A number that follows a prefix in the path asked for.
fn number(request: &Request, prefix: &str) -> Option<u32> {
    request.path.strip_prefix(prefix)?.parse().ok()
}

/// What the summary shows as an example of a reason.
fn example<'r>(run: &'r Run, reason: &str) -> Option<&'r str> {
    run.summary["urls"]["examples"][reason].as_str()
}

/// C143: a calendar in queries, each of whose pages leads to the next.
#[test]
fn a_calendar_in_queries_ends_by_its_cap_and_is_told() {
    let script = Script::new()
        .on("/", page(&["/cal?y=0", "/about"]))
        .on("/about", Answer::html("about"))
        .rule(|request| Some(page(&[format!("/cal?y={}", number(request, "/cal?y=")? + 1)])));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-query-variants", "20"]);
    assert_eq!((run.number("pages.fetched"), run.code), (22, Some(0)), "{}", run.summary);
    assert_eq!(run.skips("query_variants"), 1);
    let next = server.url("/cal?y=20");
    assert_eq!(example(&run, "query_variants"), Some(next.as_str()));
    assert_eq!(run.skip_detail(&next), Some("--max-query-variants 20"));
    assert_eq!(run.number("notes.traps"), 1);
    for part in ["a trap?", "/cal has 20 variants by query", "--max-query-variants", next.as_str()] {
        assert!(run.stderr.contains(part), "{part} is missing in {}", run.stderr);
    }
}

/// All links of one page are new at once: the cap holds to the one.
#[test]
fn a_cap_of_queries_is_exact_and_for_each_path() {
    let links: Vec<String> =
        (0..50).flat_map(|n| [format!("/a?n={n}"), format!("/b?n={n}"), format!("/c{n}")]).collect();
    let script = Script::new().on("/", page(&links)).rule(|r| {
        (r.path.starts_with("/a?") || r.path.starts_with("/b?") || r.path.starts_with("/c"))
            .then(|| Answer::html("x"))
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-query-variants", "7"]);
    assert_eq!(run.number("pages.fetched"), 1 + 7 + 7 + 50, "{}", run.summary);
    assert_eq!((run.skips("query_variants"), run.number("notes.traps")), (86, 2));
}

/// C144: a query that grows by one more of the same parameter; the cap is the default one.
#[test]
fn a_query_that_grows_is_cut() {
    let script = Script::new().rule(|request| {
        let query = request.path.strip_prefix("/?")?;
        Some(page(&[format!("/?{query}&q=")]))
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/?q=")]);
    assert_eq!((run.number("pages.fetched"), run.code), (8, Some(0)), "{}", run.summary);
    assert_eq!(run.skips("repeated_parameters"), 1);
    let detail = run.skip_detail(example(&run, "repeated_parameters").unwrap());
    assert_eq!(detail, Some("--max-repeated-parameters 8"));
}

/// C145: a link without its scheme nests the path; the cap is the default one.
#[test]
fn a_path_that_repeats_itself_is_cut() {
    let script =
        Script::new().rule(|r| (r.path != "/robots.txt").then(|| page(&["www.b.test/", "www.b.test/x"])));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    assert!(run.code == Some(0) && run.number("pages.fetched") < 20, "{}", run.summary);
    assert!(run.skips("repeated_segments") > 0);
    let detail = run.skip_detail(example(&run, "repeated_segments").unwrap());
    assert_eq!(detail, Some("--max-repeated-segments 5"));
}

/// C146: a rule against loops must not drop good pages.
#[test]
fn a_list_that_is_paged_by_query_is_fetched_whole() {
    let links: Vec<String> = (1..=100).map(|n| format!("/news?start={}", 7 * n)).collect();
    let all = links.clone();
    let script = Script::new()
        .on("/", page(&links))
        .rule(move |request| Some(text(&words(number(request, "/news?start=")?), &all)));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--stop-traps"]);
    assert_eq!(run.number("pages.fetched"), 101, "{}", run.summary);
    run.check_no_traps();
}

#[test]
fn session_ids_end_by_the_cap_of_queries() {
    let script = Script::new().rule(|request| {
        let path = request.path.split('?').next().filter(|path| *path == "/" || *path == "/shop")?;
        let id = words(request.path.bytes().fold(7, |sum: u32, byte| sum.wrapping_mul(31) ^ u32::from(byte)));
        let links: Vec<String> = id
            .split(' ')
            .take(3)
            .flat_map(|id| [format!("/shop?sid={id}"), format!("{path}?sid={id}x")])
            .collect();
        Some(page(&links))
    });
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-query-variants", "30"]);
    assert_eq!((run.number("pages.fetched"), run.code), (61, Some(0)), "{}", run.summary);
    assert_eq!(run.number("notes.traps"), 2);
}

#[test]
fn a_path_that_grows_ends_by_its_depth() {
    let script = Script::new()
        .rule(|r| (r.path != "/robots.txt").then(|| page(&[format!("{}d{}/", r.path, r.path.len())])));
    let server = Server::start(script);
    let run = crawl(&[server.url("/").as_str(), "--max-path-depth", "12"]);
    assert_eq!((run.number("pages.fetched"), run.code), (13, Some(0)), "{}", run.summary);
    assert_eq!(run.skip_detail(example(&run, "path_too_deep").unwrap()), Some("--max-path-depth 12"));
}

#[test]
fn a_redirect_is_held_to_the_shape_too() {
    let script = Script::new()
        .on("/", page(&["/r", "/s"]))
        .on("/r", Answer::redirect(302, "/a/b/c/d"))
        .on("/s", Answer::redirect(302, "/t?n=1&n=2&n=3"));
    let server = Server::start(script);
    let given = ["--max-path-depth", "3", "--max-repeated-parameters", "2"];
    let run = crawl(&[&[server.url("/").as_str()][..], &given].concat());
    assert_eq!(server.pages(), ["/", "/r", "/s"]);
    assert_eq!((run.skips("path_too_deep"), run.skips("repeated_parameters")), (1, 1), "{}", run.summary);
}

#[test]
fn a_seed_of_such_a_shape_is_refused_by_name() {
    let server = Server::start(Script::new());
    let directory = TempDir::new().unwrap();
    let seed = server.url("/a/b/c/d");
    let run = crawl_into(&directory.path().join("crawl"), &[seed.as_str(), "--max-path-depth", "3"]);
    assert_eq!((run.code, server.log().len()), (Some(2), 0), "{}", run.stderr);
    assert!(run.stderr.contains("--max-path-depth 3"), "{}", run.stderr);
}

#[test]
fn a_seed_given_to_the_library_is_held_to_the_shape_too() {
    let server = Server::start(Script::new().on("/", Answer::html("x")));
    let options = Options {
        max_path_depth: Some(3),
        max_url_length: Some(Size(100)),
        allow_private: Some(true),
        delay: Some(Span(Duration::ZERO)),
        ..Options::default()
    };
    let refused = [server.url("/a/b/c/d"), server.url(&"x".repeat(100)), "ftp://a.test/".to_owned()];
    let directory = TempDir::new().unwrap();
    for output in [None, Some(directory.path().join("crawl"))] {
        let build = |seeds: &[String]| {
            let builder = Crawl::builder().options(options.clone()).seeds(seeds.to_vec());
            match &output {
                Some(path) => builder.output(path).fresh(true).build(),
                None => builder.build(),
            }
        };
        let before = server.log().len();
        let crawl = build(&[&refused[..], &[String::new(), server.url("/")]].concat()).unwrap();
        let notes: Vec<String> = crawl.notes().map(str::to_owned).collect();
        assert!(notes[0].contains("3 seeds") && notes[0].contains("--max-path-depth 3"), "{notes:?}");
        let summary = crawl.run(&mut Silent).unwrap();
        assert_eq!((summary.totals.pages.fetched, summary.totals.urls.discovered), (1, 1));
        assert_eq!(server.log().len(), before + 2, "robots.txt and one page");
        let error = build(&refused).err().expect("nothing to begin with").to_string();
        assert!(error.contains("no seed is left") && error.contains("--max-path-depth 3"), "{error}");
    }
}

#[test]
fn endless_subdomains_end_by_their_cap() {
    let script = Script::new().rule(|request| {
        let n: u32 = request.host.strip_suffix("trap.test")?.trim_matches(['n', '.']).parse().unwrap_or(0);
        let port = request.header("host")?.rsplit_once(':')?.1;
        let on = |n: u32, path: &str| format!("http://n{n}.trap.test:{port}{path}");
        (request.path != "/robots.txt").then(|| page(&[on(n + 1, "/"), on(n + 1, "/x"), on(n, "/y")]))
    });
    let server = Server::start(script);
    let seed = server.url_of("trap.test", "/");
    let given =
        ["--resolve", "*.trap.test:127.0.0.1", "--resolve", "trap.test:127.0.0.1", "--scope", "domain"];
    let run = crawl(&[&[seed.as_str(), "--max-subdomains", "6"][..], &given].concat());
    let hosts: std::collections::BTreeSet<String> = server.log().into_iter().map(|r| r.host).collect();
    assert_eq!(hosts.len(), 1 + 6, "{hosts:?}");
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(run.number("notes.traps"), 1, "{}", run.stderr);
    assert!(run.skips("too_many_subdomains") >= 2, "{}", run.summary);
    let detail = run.skip_detail(example(&run, "too_many_subdomains").unwrap());
    assert_eq!(detail, Some("--max-subdomains 6"));
    assert!(run.stderr.contains("trap.test has 6 hosts"), "{}", run.stderr);
}

#[test]
fn links_past_their_number_are_dropped_and_counted() {
    let links: Vec<String> = (0..50).map(|n| format!("/leaf{n}")).collect();
    let script =
        Script::new().on("/", page(&links)).rule(|r| r.path.starts_with("/leaf").then(|| Answer::html("x")));
    let server = Server::start(script);
    let seed = server.url("/");
    let run = crawl(&[seed.as_str(), "--max-links-per-page", "12"]);
    assert_eq!((run.number("pages.fetched"), run.skips("too_many_links")), (13, 38), "{}", run.summary);
    assert_eq!(example(&run, "too_many_links"), Some(seed.as_str()));
    assert!(run.skip_detail(&seed).is_some_and(|detail| detail.contains("--max-links-per-page")));
}

/// A calendar in paths that is the same on every day, and a chain of pages beside it that are
/// not; its last page leads to a day that nobody else names.
fn calendar(days_of: u32, chain: u32, pause: Duration) -> Server {
    let script = Script::new()
        .on("/", page(&["/cal/0/0", "/chain/0"]))
        .rule(move |request| {
            let (year, day) = request.path.strip_prefix("/cal/")?.split_once('/')?;
            let n = year.parse::<u32>().ok()? * days_of + day.parse::<u32>().ok()?;
            let on = |n: u32| format!("/cal/{}/{}", n / days_of, n % days_of);
            let says = format!("On day {n} {}", words(0));
            Some(text(&says, &[on(2 * n + 1), on(2 * n + 2)]))
        })
        .rule(move |request| {
            let n = number(request, "/chain/")?;
            let next = if n < chain { format!("/chain/{}", n + 1) } else { "/cal/90000/1".to_owned() };
            Some(text(&words(n + 1), &[next]).after(pause))
        });
    Server::start(script)
}

fn calendar_days(server: &Server) -> usize {
    server.log().iter().filter(|request| request.path.starts_with("/cal/")).count()
}

#[test]
fn a_calendar_in_paths_is_told() {
    let server = calendar(12, 3, Duration::ZERO);
    let run = crawl(&[server.url("/").as_str(), "--max-pages", "1300"]);
    assert_eq!(run.code, Some(11), "it goes on: {}", run.stderr);
    assert_eq!((run.number("notes.traps"), run.skips("trap")), (1, 0), "{}", run.summary);
    for part in
        ["a trap? 127.0.0.1/cal/#/# has 1,000 pages that are nearly the same", "--stop-traps would end it"]
    {
        assert!(run.stderr.contains(part), "{part} is missing in {}", run.stderr);
    }
}

/// What was ended stays so after a kill: in the log or in the manifest, as it happens.
#[test]
fn a_calendar_in_paths_is_ended_for_good() {
    let chain = 150;
    let server = calendar(12, chain, Duration::from_millis(40));
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/");
    let given = [
        seed.as_str(),
        "--stop-traps",
        "--allow-private",
        "--delay",
        "0s",
        "--log-skipped",
        "--per-host",
        "8",
    ];
    let mut child = start(&output, &given);
    // what is nearer to the seed comes first: with this page due, no nearer day is left
    while server.count("/chain/13") == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the crawl ended early");
        std::thread::sleep(Duration::from_millis(20));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let asked = calendar_days(&server);
    let resumed = dragline().arg("resume").arg(&output).spawn().unwrap();
    let run = finish(resumed, &output);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(calendar_days(&server), asked, "not one more is asked for");
    assert!((1000..1100).contains(&asked), "{asked} days were asked for");
    let chained = run.pages.iter().filter(|page| page["url"].as_str().unwrap().contains("/chain/")).count();
    assert_eq!(chained as u32, chain + 1, "what is beside it is fetched whole");
    assert_eq!(run.number("notes.traps"), 1, "{}", run.summary);
    assert!(run.number("urls.skipped_before_queue.trap") > 0, "{}", run.summary);
    assert!(run.number("urls.skipped_after_queue.trap") > 0, "{}", run.summary);
    assert!(example(&run, "trap").unwrap().contains("/cal/"), "{}", run.summary);
    let last = server.url("/cal/90000/1");
    assert_eq!(run.skip_detail(&last), Some("--stop-traps: 127.0.0.1/cal/#/#"));
}

/// Counts of queries and hosts go on where they stood.
#[test]
fn caps_hold_over_a_kill() {
    let script = Script::new().rule(|request| {
        let n = number(request, "/cal?y=")?;
        Some(page(&[format!("/cal?y={}", n + 1)]).after(Duration::from_millis(20)))
    });
    let server = Server::start(script);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let seed = server.url("/cal?y=0");
    let given =
        [seed.as_str(), "--max-query-variants", "60", "--allow-private", "--delay", "0s", "--log-skipped"];
    let mut child = start(&output, &given);
    for killed in 1..3 {
        while server.pages().len() < killed * 20 {
            assert!(child.try_wait().unwrap().is_none(), "the crawl ended early");
            std::thread::sleep(Duration::from_millis(10));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        child = dragline().arg("resume").arg(&output).spawn().unwrap();
    }
    let run = finish(child, &output);
    assert_eq!((run.number("pages.fetched"), run.code), (61, Some(0)), "{}", run.summary);
    assert_eq!((run.skips("query_variants"), run.number("notes.traps")), (1, 1), "{}", run.summary);
}

#[test]
fn examples_survive_a_kill_and_cannot_act_on_a_terminal() {
    let links = ["mailto:joe@a.test", "http://[\u{1b}]2J/\u{202e}", "/slow", "http://other.test/"];
    let script = Script::new()
        .on("/", page(&links))
        .on("/slow", page(&["/end"]).after(Duration::from_millis(1500)))
        .on("/end", Answer::html("x"));
    let server = Server::start(script);
    let directory = TempDir::new().unwrap();
    let output = directory.path().join("crawl");
    let mut child = start(&output, &[server.url("/").as_str(), "--allow-private", "--delay", "0s"]);
    while server.count("/slow") == 0 {
        assert!(child.try_wait().unwrap().is_none(), "the crawl ended early");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let run = finish(dragline().arg("resume").arg(&output).spawn().unwrap(), &output);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert_eq!(example(&run, "other_scheme"), Some("mailto:joe@a.test"));
    assert_eq!(example(&run, "out_of_scope"), Some("http://other.test/"));
    assert!(example(&run, "bad_url").is_some_and(|url| url.starts_with("http://[")), "{}", run.summary);
    for part in [
        "such as",
        "other_scheme: mailto:joe@a.test",
        "out_of_scope: http://other.test/",
        "bad_url: http://[",
    ] {
        assert!(run.stderr.contains(part), "{part} is missing in {}", run.stderr);
    }
    assert!(!run.stderr.contains(['\u{1b}', '\u{202e}']), "{:?}", run.stderr);
}

#[test]
fn records_tell_what_pages_look_like() {
    let html = |says: &str| {
        Answer::html(format!("<title>t</title><script>var {};</script><p>{says}</p>", says.len()))
    };
    let latin = Answer::status(200).header("Content-Type", "text/html; charset=iso-8859-1").content(
        format!("<p>caf\u{e9} {}</p>", words(1))
            .chars()
            .map(|character| character as u8)
            .collect::<Vec<u8>>(),
    );
    let script = Script::new()
        .on("/", page(&["/day1", "/day22", "/other", "/short", "/latin", "/utf8", "/plain"]))
        .on("/day1", html(&format!("Day 1. {}", words(1))))
        .on("/day22", html(&format!("Day 22. {}", words(1))))
        .on("/other", html(&words(2)))
        .on("/short", html("too few words for that"))
        .on("/latin", latin)
        .on("/utf8", Answer::html(format!("<p>caf\u{e9} {}</p>", words(1))))
        .on("/plain", Answer::text(words(1)));
    let server = Server::start(script);
    let run = crawl(&[server.url("/")]);
    let simhash = |path: &str| run.page(&server.url(path))["simhash"].as_str().map(str::to_owned);
    let day = simhash("/day1").unwrap();
    assert!(day.len() == 16 && day.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')), "{day}");
    assert_eq!(simhash("/day22"), Some(day.clone()));
    let far = u64::from_str_radix(&day, 16).unwrap()
        ^ u64::from_str_radix(&simhash("/other").unwrap(), 16).unwrap();
    assert!(far.count_ones() > 10);
    assert_eq!((simhash("/short"), simhash("/plain")), (None, None));
    assert_eq!(simhash("/latin"), simhash("/utf8"));
}
