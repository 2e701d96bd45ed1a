//! Kinds of errors that users of other crawlers reported.

use super::RobotsRules;

/// Checks that a body, for a robot that it does not name, lets exactly these paths through.
fn check(body: &[u8], allowed: &[&str], disallowed: &[&str]) {
    let rules = RobotsRules::parse(body, "ourbot");
    for path in allowed {
        assert!(rules.allowed(path), "{path} should be allowed: {:?}", rules.verdict(path));
    }
    for path in disallowed {
        assert!(!rules.allowed(path), "{path} should not be allowed: {:?}", rules.verdict(path));
    }
}

#[test]
fn a_byte_order_mark_does_not_hide_the_first_group() {
    check(b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n", &[], &["/", "/x"]);
    check(b"\xff\xfeU\0s\0e\0r\0-\0a\0g\0e\0n\0t\0:\0*\0\n\0D\0i\0s\0a\0l\0l\0o\0w\0:\0/\0", &[], &["/x"]);
}

#[test]
fn groups() {
    check(b"User-agent: *\nUser-agent: otherbot\nDisallow: /private\n", &["/"], &["/private"]);
    check(b"User-agent: otherbot\nUser-agent: *\nDisallow: /private\n", &["/"], &["/private"]);
    let several = b"User-agent: ourbot\nDisallow: /a\n\nUser-agent: x\nDisallow: /\n\nUser-agent: OurBot\nDisallow: /b\n";
    check(several, &["/"], &["/a", "/b"]);
    check(b"User-agent: *\nAllow: /\n\nUser-agent: ads\nDisallow: /\n", &["/", "/x"], &[]);
    check(b"User-agent: *\n\nDisallow: /x\n", &["/"], &["/x"]);
}

#[test]
fn allow_and_disallow() {
    let body = b"User-agent: *\nDisallow: /\nAllow: /public/\nAllow: /x\nDisallow: /x\n";
    check(body, &["/public/a", "/x"], &["/", "/public"]);
}

#[test]
fn operators() {
    check(b"User-agent: *\nDisallow: */test\n", &["/tes"], &["/test", "/a/test"]);
    check(b"User-agent: *\nDisallow: /*.json$\nDisallow: /*?\n", &["/d.jsonx"], &["/d.json", "/p?x"]);
}

#[test]
fn escapes() {
    check("User-agent: *\nDisallow: /foo/ツ\n".as_bytes(), &["/foo/"], &["/foo/%E3%83%84", "/foo/ツ"]);
    check(b"User-agent: *\nDisallow: /*%2F*\n", &["/a/b"], &["/a%2Fb", "/a%2fb"]);
    let star = b"User-agent: *\nDisallow: /f-%2A.html\n";
    check(star, &["/f-x.html"], &["/f-*.html", "/f-%2A.html", "/f-%2a.html"]);
    let dollar = b"User-agent: *\nDisallow: /a%24\nDisallow: /b$\n";
    check(dollar, &["/a", "/b$"], &["/a$", "/a%24c", "/b"]);
}

#[test]
fn long_files_and_long_lines() {
    let comment = "# nothing of note\n".repeat(22_000);
    let long = "y".repeat(5_000);
    let body = format!("User-agent: *\nDisallow: /{long}\n{comment}Disallow: /z\n{comment}");
    assert!(body.len() > super::MAX_BYTES);
    check(body.as_bytes(), &["/", "/y", &format!("/{}", &long[1..])], &["/z", &format!("/{long}/x")]);
}

#[test]
fn delays() {
    let delay = |value: &str| {
        RobotsRules::parse(format!("User-agent: *\nCrawl-delay: {value}\n").as_bytes(), "ourbot")
            .crawl_delay()
    };
    assert_eq!(delay("86400"), Some(86_400.0));
    assert_eq!(delay("abc"), None);
    assert_eq!(delay("0.5"), Some(0.5));
}
