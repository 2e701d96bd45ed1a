//! `--strategy best-first`: of what is equally near to a seed, what many pages link to comes first.

use crate::harness::{Run, crawl};
use crate::server::{Script, Server, page};

/// Pages that the front page links to; the last quarter of them links to the hub.
const PAGES: usize = 300;

/// `/` links to `/a/*`, each of which to its own `/b/*`; the later ones of them to `/hub` as well.
fn site() -> Server {
    let near: Vec<String> = (0..PAGES).map(|number| format!("/a/{number}")).collect();
    let script = Script::new().on("/", page(&near)).on("/hub", page(&["/deep"])).rule(|request| {
        let number: usize = request.path.strip_prefix("/a/")?.parse().ok()?;
        let own = format!("/b/{number}");
        let is_late = number >= PAGES / 4 * 3;
        Some(if is_late { page(&[own.as_str(), "/hub"]) } else { page(&[own]) })
    });
    Server::start(script.rule(|request| request.path.starts_with("/b/").then(|| page::<&str>(&[]))))
}

/// How many pages were asked for before the hub, and after the last page near the seed.
fn waited(strategy: &str, further: &[&str]) -> (usize, Run) {
    let server = site();
    let seed = server.url("/");
    let usual = [seed.as_str(), "--strategy", strategy, "--concurrency", "1"];
    let run = crawl(&[&usual[..], further].concat());
    let asked: Vec<String> = server.log().into_iter().map(|request| request.path).collect();
    let place = |path: &str| asked.iter().position(|asked| asked == path).expect("it was asked for");
    let last_near = asked.iter().rposition(|path| path.starts_with("/a/")).expect("some were");
    let first_far = asked.iter().position(|path| path.starts_with("/b/")).expect("some were");
    assert!(last_near < first_far, "what is nearer to the seed comes first");
    assert!(place("/deep") > place("/hub"));
    assert_eq!(server.pages().len(), 2 * PAGES + 3);
    assert_eq!(run.number("pages.fetched"), 2 * PAGES as u64 + 3);
    (place("/hub") - last_near, run)
}

#[test]
fn what_many_pages_link_to_comes_first_among_what_is_as_near() {
    let (in_order, _) = waited("bfs", &[]);
    assert!(in_order > PAGES / 2, "it came after {in_order} pages");
    let (best_first, _) = waited("best-first", &[]);
    assert!(best_first < PAGES / 20, "it came after {best_first} pages");
}

/// Where there is hardly any room the order is worse, and nothing is lost.
#[test]
fn in_the_smallest_budget_every_page_is_asked_for_once() {
    let (_, run) = waited("best-first", &["--memory", "14MiB"]);
    assert_eq!(run.summary["end_reason"], "done");
}
