//! Sites without end, each of which is ended by a cap.

use crate::rough::row::{Row, Site, page, row};

/// The caps that these rows need, beside the host's; all other rows stay below them.
pub(in super::super) const CAPS: &[&str] = &[
    "--max-query-variants",
    "10",
    "--max-path-depth",
    "6",
    "--max-repeated-segments",
    "3",
    "--max-repeated-parameters",
    "4",
    "--max-subdomains",
    "8",
    "--max-pages-per-host",
    "250",
];
const QUERIES: usize = 10;
const DEPTH: usize = 6;
const SEGMENTS: usize = 3;
const PARAMETERS: usize = 4;
const SUBDOMAINS: usize = 8;
const PAGES: usize = 250;

/// Pages that each lead to the next one. `next` gives the URL after so many; those up to `last` are
/// fetched, and the one after is not. Behind that one there is a wall, for a crawl that goes on.
fn chain(
    site: Site,
    name: &'static str,
    next: fn(Site, &str, usize) -> String,
    last: usize,
    reason: &'static str,
) -> Row {
    let host = format!("{name}.test");
    let pages: Vec<String> = (0..=last + 1).map(|n| next(site, &host, n)).collect();
    let own = pages.clone();
    let chain = row(name, move |wire, asked| {
        let url = site.url(&asked.host, &asked.path);
        // the first page is the root, whatever leads on from there
        let number = own.iter().position(|one| *one == url).unwrap_or(0);
        let on: &[String] = own.get(number + 1..number + 2).unwrap_or_default();
        wire.whole("200 OK", page::HTML, &page::of(on))
    });
    let chain = pages[1..=last].iter().fold(chain, |row, url| row.further(url.clone(), 200));
    chain.skipping(pages[last + 1].clone(), reason)
}

pub(super) fn rows(site: Site) -> Vec<Row> {
    let queries = |site: Site, host: &str, n: usize| site.url(host, &format!("/calendar?month={n}"));
    let days = |site: Site, host: &str, n: usize| site.url(host, &format!("/2026/{n}"));
    let ids = |site: Site, host: &str, n: usize| {
        let id = (n as u128 + 1).wrapping_mul(0x2545_f491_4f6c_dd1d_9e37_79b9_7f4a_7c15);
        site.url(host, &format!("/shop?sid={id:032x}"))
    };
    let same = |site: Site, host: &str, n: usize| site.url(host, &"/www.other.test".repeat(n));
    let deeper = |site: Site, host: &str, n: usize| {
        let path: Vec<String> = (1..=n).map(|segment| format!("/{segment}")).collect();
        site.url(host, &path.concat())
    };
    let longer = |site: Site, host: &str, n: usize| {
        let query = vec!["q="; n].join("&");
        site.url(host, &if n == 0 { "/".to_owned() } else { format!("/?{query}") })
    };
    let below = |site: Site, host: &str, n: usize| site.url(&format!("h{n}.{host}"), "/");
    vec![
        chain(site, "calendar-by-query", queries, QUERIES, "query_variants"),
        chain(site, "calendar-by-path", days, PAGES - 1, "host_limit"),
        chain(site, "session-ids", ids, QUERIES, "query_variants"),
        chain(site, "path-repeats-itself", same, SEGMENTS, "repeated_segments"),
        chain(site, "path-grows", deeper, DEPTH, "path_too_deep"),
        chain(site, "query-repeats-itself", longer, PARAMETERS, "repeated_parameters"),
        chain(site, "subdomains", below, SUBDOMAINS, "too_many_subdomains"),
        thousand(site),
    ]
}

/// One page under a thousand URLs.
fn thousand(site: Site) -> Row {
    let urls: Vec<String> =
        (0..1000).map(|n| site.url("one-page-of-a-thousand-urls.test", &format!("/page?view={n}"))).collect();
    let links = page::of(&urls);
    let row = row("one-page-of-a-thousand-urls", move |wire, _| wire.whole("200 OK", page::HTML, &links));
    let row = urls[..QUERIES].iter().fold(row, |row, url| row.further(url.clone(), 200));
    urls[QUERIES..].iter().fold(row, |row, url| row.skipping(url.clone(), "query_variants"))
}
