//! Any bytes in the head of an answer: types, cookies, rules for robots, pauses, transfer codings and lengths.
#![no_main]

use dragline::engine::probe::retry_after;
use dragline::extract::{PageContext, PageReader, is_html};
use dragline::fetch::decode::{MAX_LAYERS, parse_codings};
use dragline::fetch::probe::{Jar, header_text, length_overflows, refused_transfer_coding};
use dragline::sitemap::SitemapReader;
use dragline_fuzz::{END, Input, Pieces, input, lay, peak_of, reports, rows};
use libfuzzer_sys::fuzz_target;
use url::Url;

/// Bytes of one `Cookie` header at most.
const MOST_COOKIES: usize = 16 << 10;

/// What a browser may send from one of these hosts reaches none of the others.
const HOSTS: [&str; 4] =
    ["http://a.b.example.co.uk/d/e", "http://other.example/", "http://192.0.2.1/", "https://github.io/d/"];

fn cookies(host: u8, values: &[&[u8]]) {
    let from = Url::parse(HOSTS[usize::from(host & 3)]).expect("a URL");
    let jar = Jar::new(4 << 10);
    jar.store(&from, values.iter().copied());
    for other in HOSTS {
        let to = Url::parse(other).expect("a URL");
        let header = jar.header(&to);
        if to.host_str() != from.host_str() {
            assert_eq!(header, None, "{other}");
        }
        let Some(header) = header else { continue };
        assert!(header.len() <= MOST_COOKIES);
        assert!(!header.contains(|character: char| character.is_ascii_control()), "{header:?}");
    }
}

fn types(value: &str) {
    // what the header says holds for every body
    assert!(!is_html(Some(value), b"plain") || is_html(Some(value), b"<a href=/>"));
    let [one, other] = [",", ", "].map(|end| is_html(Some(&format!("{value}{end}")), b"plain"));
    assert_eq!(one, other);
    let mut reader = SitemapReader::new(Some(value));
    reader.feed(b"<urlset><url><loc>/a</loc></url></urlset>");
    assert!(reader.finish().entries <= 1);
}

fn robots_tags(values: &[&str]) {
    let read = |values: &[&str]| {
        let context = PageContext {
            content_type: Some("text/html"),
            x_robots_tag: values,
            robots_agent: "dragline",
            ..PageContext::default()
        };
        PageReader::new(&context).finish().page_nofollow
    };
    let all = read(values);
    // a rule that one of them gives is there, whatever the others say
    if let Some(one) = values.iter().find_map(|value| read(&[value])) {
        assert!(all.is_some(), "{one:?} is lost");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let kinds = [
        "text/html; charset=utf-8",
        "application/xhtml+xml",
        "a/b, text/html;charset=\"x\\\"y\"",
        "text/html;a=b;charset=gbk",
        "120",
        "Wed, 21 Oct 2065 07:28:00 GMT",
        "99999999999999999999",
        "none",
        "dragline: nofollow, noarchive",
        "otherbot: none",
        "unavailable_after: 25 Jun 2010 15:00:00 PST, nofollow",
        "gzip, br",
        "chunked, chunked",
        "identity",
        "x-gzip",
        "k=v; Path=/d; Domain=example.co.uk; Max-Age=60; Secure; HttpOnly; SameSite=Lax",
        "a=b; expires=Wed, 21 Oct 2065 07:28:00 GMT",
        "k=v; Domain=co.uk",
        "=x",
        "k=\"a b\"; Path=",
        "HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551615\r\n\r\n",
        "HTTP/1.1 200 OK\r\ncontent-length : 5, 99999999999999999999999\n\n",
    ];
    let plain = kinds.iter().map(|text| input(&[0, 1, 0], &[text], b""));
    let cases = rows("html_links.jsonl");
    let of_case = cases
        .iter()
        .map(|row| input(&[1, 3, 0], &[row.header("content-type"), row.header("x-robots-tag")], b""));
    let of_report =
        reports(&["cookies", "politeness", "body"]).into_iter().map(|text| input(&[3, 5, 0], &[&text], b""));
    plain.chain(of_case).chain(of_report).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (host, cuts) = (input.byte(), input.number());
    let values: Vec<&[u8]> = input.0.split(|byte| *byte == END).collect();
    let ((), peak) = peak_of(|| {
        cookies(host, &values);
        let texts: Vec<_> = values.iter().map(|value| header_text(value)).collect();
        let texts: Vec<&str> = texts.iter().map(AsRef::as_ref).collect();
        texts.iter().for_each(|text| types(text));
        robots_tags(&texts);
        for text in &texts {
            let digits = text.trim();
            let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
            assert!(!is_number || retry_after(text).is_some(), "{text}");
        }
        if let Ok(codings) = parse_codings(values.iter().copied()) {
            assert!(codings.len() <= MAX_LAYERS);
        }
        if let Some(refused) = refused_transfer_coding(&values) {
            assert!(refused_transfer_coding(&[b"chunked"]).is_none() && !refused.detail.is_empty());
        }
        assert_eq!(length_overflows(Pieces::new(cuts).of(input.0)), length_overflows(std::iter::once(input.0)));
    });
    assert!(peak <= (1 << 20) + 64 * bytes.len(), "{peak} bytes for a head of {}", bytes.len());
});
