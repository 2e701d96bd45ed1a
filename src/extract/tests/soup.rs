//! Tag soup: pieces of markup in any order, through both readers and in any cutting.

use super::*;
use proptest::prelude::*;
use proptest::strategy::ValueTree;

const LINKS: &[&str] = &[
    "<a href=/1>",
    "<a href=\"/2?a=1&amp;b\">",
    "<a href='/3' rel=nofollow>",
    "<a\thref = /4 class=x>",
    "<A HREF=/5/>",
    "<a href=/6 href=/no>",
    "<a title='>' href=\"/7>\">",
    "<a href>",
    "<a name=x>",
    "<a href=\"/8",
    "<a href='/9",
    "<a href=/10",
    "<area href=/11>",
    "<iframe src=/12>",
    "<link rel=next href=/13>",
    "<link rel=canonical href=/14>",
    "<link rel='alternate stylesheet' href=/15>",
    "<base href=/16/>",
    "<base>",
    "<meta name=robots content=nofollow>",
    "<meta name=dragline content='x, noindex'>",
    "<meta http-equiv=refresh content='0; url=/17'>",
    "<a href=/&copy&copy=&notit;&#65&#x110000;&bogus;>",
    "<a/href=/18>",
    "<a href=/19\0>",
    "<a =href=/20 href=/21>",
];

const MARKUP: &[&str] = &[
    "<p>",
    "</p>",
    "<p class=\"a>b\" title='<a href=/no>'>",
    "<div",
    "<div>",
    "</div>",
    "</a>",
    "<b>",
    "</b>",
    "<br/>",
    "<img src=x alt='\"'>",
    "<table>",
    "<tr>",
    "<td>",
    "</table>",
    "<ul>",
    "<li>",
    "</ul>",
    "<select>",
    "<option>",
    "</select>",
    "<form>",
    "<button>",
    "<h1>",
    "<head>",
    "</head>",
    "<body>",
    "</body>",
    "</html>",
    "<html>",
    "<noscript>",
    "</noscript>",
    "<nobr>",
    "<object>",
    "<dd>",
    "<pre>",
    "<p =\">\" x>",
    "<p a=b=\">\">",
    "<p x =\">\">",
    "<p a='1'=\"2>\">",
];

const PIECES: &[&str] = &[
    "<", ">", "/", "=", "\"", "'", " ", "\n", "\r\n", "\r", "\0", "&", "&amp", "-", "--", "!", "x", "é",
    "🦀", "</", "<!", "href=/22", "t]]>",
];

const HIDING: &[&str] = &[
    "<!--",
    "-->",
    "--!>",
    "<!-->",
    "<!--->",
    "<!->",
    "<!doctype html>",
    "<!DOCTYPE a \"b>",
    "<?",
    "?>",
    "</ ",
    "</>",
    "<![CDATA[",
    "]]>",
    "<script>",
    "</script>",
    "<script",
    "</script ",
    "</script/>",
    "<script src=x/>",
    "<style>",
    "</style>",
    "<title>",
    "</title>",
    "<title>a &lt; b</titl",
    "</TITLE\n>",
    "<textarea>",
    "</textarea>",
    "<xmp>",
    "</xmp>",
    "</iframe>",
    "<noembed>",
    "</noembed>",
    "<noframes>",
    "</noframes>",
    "<template>",
    "</template>",
    "<template/>",
];

const FOREIGN: &[&str] = &[
    "<svg>",
    "</svg>",
    "<svg/>",
    "<g>",
    "</g>",
    "<path/>",
    "<foreignObject>",
    "</foreignObject>",
    "<desc>",
    "</desc>",
    "<math>",
    "</math>",
    "<mi>",
    "</mi>",
    "<mglyph>",
    "<annotation-xml>",
    "</annotation-xml>",
    "<font size=1>",
    "<font>",
    "<a xlink:href=/23>",
    "<a href=/24 xlink:href=/no>",
    "<title/>",
    "<script/>",
    "<style/>",
];

fn piece() -> impl Strategy<Value = &'static str> {
    use prop::sample::select;
    prop_oneof![6 => select(LINKS), 4 => select(MARKUP), 3 => select(PIECES), 4 => select(HIDING)]
}

const EMBEDDING: &[&str] = &[
    "<img src=/30 srcset='/31 1x, /32,33 2x,/34'>",
    "<image src=/35>",
    "<script src=/36></script>",
    "<video src=/37 poster=/38><source src=/39><track src=/40></video>",
    "<audio src=/41></audio>",
    "<picture><source srcset=/42>",
    "<link rel=stylesheet href=/43>",
    "<link rel='preload NEXT' href=/44 imagesrcset=/45>",
    "<link rel=preload href=/46 imagesrcset='/47 1w'>",
    "<object data=/48>",
    "<embed src=/49>",
    "<input type=IMAGE src=/50>",
    "<input src=/no>",
    "<body background=/51>",
    "<body background=/52>",
    "<table background=/53>",
    "<img src=data:x,y>",
    "<img src=''>",
    "<svg><image href=/54 xlink:href=/no></svg>",
    "<svg><use xlink:href='/55#a'/><script href=/56></script></svg>",
    "<image href=/57>",
    "<feImage xlink:href=/58>",
    "<math><image href=/no>",
];

/// HTML alone.
fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(piece(), 0..40).prop_map(|pieces| pieces.concat())
}

/// HTML with SVG and MathML.
fn foreign_soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![3 => piece(), 2 => prop::sample::select(FOREIGN)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// HTML with SVG and MathML, and with what pages embed.
fn embedding_soup() -> impl Strategy<Value = String> {
    use prop::sample::select;
    let piece = prop_oneof![3 => piece(), 2 => select(FOREIGN), 4 => select(EMBEDDING)];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

/// Reads it; none where the reader had to guess about foreign content, which the module says when it does.
fn read_surely(context: &PageContext<'_>, html: &str) -> Option<Extracted> {
    let mut reader = PageReader::new(context);
    reader.feed(html.as_bytes());
    let page = reader.finish();
    (reader.guesses() == 0).then_some(page)
}

fn both_readers_agree(context: &PageContext<'_>, html: &str) -> Result<(), TestCaseError> {
    let Some(page) = read_surely(context, html) else {
        return Err(TestCaseError::reject("guessed"));
    };
    agrees_with_reference(context, &comparable(&page), html)
}

/// Equality, but for copies that the standard makes of links inside a `template`.
fn agrees_with_reference(
    context: &PageContext<'_>,
    ours: &Comparable<'_>,
    html: &str,
) -> Result<(), TestCaseError> {
    let page = reference::read(context, html.as_bytes(), encoding_rs::UTF_8);
    let mut reference = comparable(&page);
    if html.contains("<template") {
        let inert = reference::inert_targets(html);
        let is_copy = |text: &str| inert.iter().any(|one| one.split('#').next() == Some(text));
        reference.links.retain(|link| ours.links.contains(link) || !is_copy(link.0));
    }
    prop_assert_eq!(ours, &reference);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, max_global_rejects: 30_000, ..ProptestConfig::default() })]

    #[test]
    fn both_readers_agree_on_html(html in soup()) {
        both_readers_agree(&utf8_html(), &html)?;
    }

    #[test]
    fn both_readers_agree_on_html_with_foreign_content(html in foreign_soup()) {
        both_readers_agree(&utf8_html(), &html)?;
    }

    #[test]
    fn both_readers_agree_on_what_is_embedded(html in embedding_soup()) {
        both_readers_agree(&with_resources(utf8_html()), &html)?;
    }

    /// The one exception: a browser takes a `frame` only in a `frameset`, this reader takes any.
    #[test]
    fn both_readers_agree_but_for_frames(before in soup(), after in soup()) {
        let html = format!("{before}<frame src=/frame>{after}");
        let page = read(&utf8_html(), html.as_bytes());
        let mut ours = comparable(&page);
        ours.links.remove(&("/frame", "Frame".to_owned(), false));
        agrees_with_reference(&utf8_html(), &ours, &html)?;
    }

    #[test]
    fn pieces_make_no_difference(html in embedding_soup(), size in 1_usize..9, resources: bool) {
        let context = PageContext { resources, ..utf8_html() };
        let whole = read(&context, html.as_bytes());
        prop_assert_eq!(read_in_pieces(&context, html.as_bytes(), size), whole);
    }

    /// Asking for what is embedded adds that and changes nothing else.
    #[test]
    fn links_are_the_same_with_and_without_resources(html in embedding_soup()) {
        let with = read(&with_resources(utf8_html()), html.as_bytes());
        let without = read(&utf8_html(), html.as_bytes());
        let mut links = comparable(&with);
        links.links.retain(|link| link.1 != "Resource");
        prop_assert_eq!(links, comparable(&without));
    }

    #[test]
    fn pieces_make_no_difference_whatever_the_bytes(
        body in prop::collection::vec(any::<u8>(), 0..3000),
        size in 1_usize..2000,
        declared in prop::sample::select(vec![None, Some("text/html"), Some("text/html; charset=shift_jis"), Some("application/xhtml+xml"), Some("text/html; charset=utf-16le")]),
    ) {
        let whole = read(&context(declared), &body);
        prop_assert_eq!(read_in_pieces(&context(declared), &body, size), whole);
    }
}

/// The comparison would mean little if the reader could call most pages a guess.
#[test]
fn most_pages_are_read_without_a_guess() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut sure = 0;
    let mut with_links = 0;
    for _ in 0..1000 {
        let html = foreign_soup().new_tree(&mut runner).unwrap().current();
        let page = read_surely(&utf8_html(), &html);
        sure += u32::from(page.is_some());
        with_links += u32::from(page.is_some_and(|page| !page.references.is_empty()));
    }
    assert!(sure > 400 && with_links > 200, "{sure} sure, {with_links} with links");
}
