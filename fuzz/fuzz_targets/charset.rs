//! Any bytes as a page in any encoding: title and links are those of the same page in UTF-8, and queries are sent in the
//! page's encoding as the URL standard's parser would.
#![no_main]

use std::borrow::Cow;

use dragline::extract::{Extracted, PageContext, PageReader};
use dragline::url::{Canonicalizer, Rules};
use dragline_fuzz::{Input, input, lay, reports, rows};
use encoding_rs::Encoding;
use libfuzzer_sys::fuzz_target;
use url::Url;

const LABELS: &[&str] = &[
    "utf-8",
    "utf-16le",
    "utf-16be",
    "windows-1252",
    "iso-8859-2",
    "koi8-r",
    "shift_jis",
    "euc-jp",
    "iso-2022-jp",
    "gbk",
    "gb18030",
    "big5",
    "euc-kr",
    "x-user-defined",
    "macintosh",
    "windows-874",
    "replacement",
];

fn read(content_type: &str, domain: Option<&str>, body: &[u8]) -> Extracted {
    let context = PageContext {
        content_type: Some(content_type),
        robots_agent: "dragline",
        top_level_domain: domain,
        resources: true,
        ..PageContext::default()
    };
    let mut reader = PageReader::new(&context);
    reader.feed(body);
    reader.finish()
}

/// How a query's characters become bytes.
fn encoder(encoding: &'static Encoding) -> impl Fn(&str) -> Cow<'_, [u8]> {
    move |text| encoding.output_encoding().encode(text).0
}

fn seeds() -> Vec<Vec<u8>> {
    let page =
        "<title>Ünïcödé 日本語 漢字 한국어 русский</title><a href='/ö?q=日本&x=é'>x</a><p>テキスト текст";
    let in_each = LABELS.iter().flat_map(|label| {
        let coded =
            Encoding::for_label(label.as_bytes()).map(|encoding| encoding.encode(page).0.into_owned());
        let declared = format!("<meta charset={label}>").into_bytes();
        let coded = coded.unwrap_or_default();
        [
            input(&[], &[&format!("text/html; charset={label}"), "jp"], &coded),
            input(&[], &["text/html", ""], &[declared, coded.clone()].concat()),
            input(&[], &["text/html", "ru"], &coded),
        ]
    });
    let cases = rows("html_links.jsonl");
    let of_case = cases.iter().map(|row| input(&[], &[row.header("content-type"), ""], &row.body("html")));
    let of_report =
        reports(&["charset"]).into_iter().map(|text| input(&[], &["text/html", ""], text.as_bytes()));
    in_each.chain(of_case).chain(of_report).collect()
}

fuzz_target!(init: lay(seeds), |bytes: &[u8]| {
    let mut input = Input(bytes);
    let (content_type, domain, body) = (input.text(), input.text(), input.0);
    let page = read(content_type, (!domain.is_empty()).then_some(domain), body);
    if !page.is_html {
        return;
    }
    let (text, _) = page.encoding.decode_with_bom_removal(body);
    let is_xhtml = content_type.trim().to_ascii_lowercase().starts_with("application/xhtml+xml");
    let utf8 = if is_xhtml { "application/xhtml+xml; charset=utf-8" } else { "text/html; charset=utf-8" };
    // an encoding that is not UTF-8 keeps a second mark, and what follows here would take it for the first
    if !text.starts_with('\u{feff}') && !content_type.contains(',') {
        let again = read(utf8, None, text.as_bytes());
        assert_eq!(Extracted { encoding: page.encoding, ..again }, page);
    }
    let canonicalizer = Canonicalizer::new(Rules::default());
    let base = page.base_url(&Url::parse("http://a.test/b/c?d").expect("a URL"));
    let encode = encoder(page.encoding);
    let options = Url::options().base_url(Some(&base)).encoding_override(Some(&encode));
    let resolver = canonicalizer.resolver(&base, Some(page.encoding));
    // what cannot be encoded is written by the parser as `&#233;`, and by the standard as `%26%23233%3B`
    let is_encoded = |text: &str| !page.encoding.output_encoding().encode(text).2;
    for (_, text) in page.links().filter(|(_, text)| is_encoded(text)) {
        // some that the standard allows the parser refuses
        if let Ok(url) = options.parse(text) {
            assert_eq!(resolver.target(text), canonicalizer.parse(url.as_str()));
        }
    }
});
