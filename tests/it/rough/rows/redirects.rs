//! Redirects in circles, without end, to where nobody should go, and to where one should.

use crate::rough::row::{Row, Site, Witness, answers, row};

/// Redirects in one chain at most, as the crawl is told.
pub(in super::super) const MOST_REDIRECTS: u32 = 5;

fn to(name: &'static str, location: &str) -> Row {
    answers(name, "302 Found", &format!("Location: {location}\r\n"), b"").status(302)
}

pub(super) fn rows(site: Site) -> Vec<Row> {
    let target = |name| site.witness(name, Witness::Target);
    let two = format!("Location: {}\r\nLocation: {}\r\n", target("redirect-two"), target("redirect-second"));
    let several = format!("Location: {}\r\n", target("redirect-300"));
    vec![
        to("redirect-to-itself", "/").error("redirect_loop"),
        to("redirect-to-nothing", "").error("redirect_loop"),
        to("redirect-to-file", "file:///etc/passwd").error("bad_redirect"),
        to("redirect-to-script", "javascript:alert(1)").error("bad_redirect"),
        to("redirect-to-data", "data:text/html,<a href=x>").error("bad_redirect"),
        to("redirect-with-control", "/a\u{1}b").error("bad_redirect"),
        to("redirect-to-no-host", "http://").error("bad_redirect"),
        answers("redirect-nowhere", "302 Found", "", b"").status(302).error("bad_redirect"),
        to("redirect-elsewhere", &target("redirect-elsewhere")).target(),
        to("redirect-to-visited", &site.seed(false)),
        answers("redirect-two", "302 Found", &two, b"").status(302).target(),
        // a choice is not made for a reader who was not asked
        answers("redirect-300", "300 Multiple Choices", &several, b"").status(300),
        pair(site),
        chain(site),
    ]
}

fn pair(site: Site) -> Row {
    row("redirect-pair", |wire, asked| {
        let other = if asked.path == "/" { "/b" } else { "/" };
        wire.whole("302 Found", &format!("Location: {other}\r\n"), b"")
    })
    .status(302)
    .further(site.url("redirect-pair.test", "/b"), 302)
}

fn chain(site: Site) -> Row {
    let page = |hop: u32| site.url("redirect-chain.test", &format!("/{hop}"));
    let chain = row("redirect-chain", |wire, asked| {
        let next = asked.path[1..].parse().unwrap_or(0) + 1;
        wire.whole("302 Found", &format!("Location: /{next}\r\n"), b"")
    })
    .status(302);
    (1..=MOST_REDIRECTS)
        .fold(chain, |row, hop| row.further(page(hop), 302))
        .further_error("too_many_redirects")
        .skipping(page(MOST_REDIRECTS + 1), "too_many_redirects")
}

/// To addresses that a crawl without permission leaves alone.
pub(super) fn guarded(site: Site) -> Vec<Row> {
    let to = |name, location: &str| {
        let url = location.parse::<url::Url>().unwrap();
        to(name, location).skipping(url.into(), "private_address").guarded()
    };
    vec![
        to("redirect-to-link-local", "http://169.254.169.254/latest/meta-data/"),
        to("redirect-to-private", "http://10.0.0.1/"),
        to("redirect-to-mapped", &site.url("[::ffff:127.0.0.2]", "/")),
        to("redirect-to-loopback", &site.url("127.0.0.2", "/")),
        to("redirect-to-octal", &site.url("0177.0.0.3", "/")),
        to("redirect-to-name", &site.url("inside.test", "/")),
    ]
}
