//! Which encoding a page is read in, and that its links come out as text.

use super::*;
use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, Encoding, GBK, ISO_2022_JP, SHIFT_JIS, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1251,
    WINDOWS_1252,
};

fn encoding_of(content_type: Option<&str>, body: &[u8]) -> &'static Encoding {
    let page = read(&context(content_type), body);
    assert_eq!(read_in_pieces(&context(content_type), body, 1), page);
    page.encoding
}

fn utf16(text: &str, big_endian: bool) -> Vec<u8> {
    text.encode_utf16()
        .flat_map(|unit| if big_endian { unit.to_be_bytes() } else { unit.to_le_bytes() })
        .collect()
}

#[test]
fn the_mark_beats_the_header_and_the_header_beats_meta() {
    let html = Some("text/html");
    assert_eq!(encoding_of(Some("text/html; charset=gbk"), b"\xEF\xBB\xBF<meta charset=big5>"), UTF_8);
    assert_eq!(encoding_of(Some("text/html; charset=gbk"), b"<meta charset=big5>"), GBK);
    assert_eq!(encoding_of(html, b"<meta charset=big5>"), BIG5);
    assert_eq!(encoding_of(Some("text/html; charset=nonsense"), b"<meta charset=big5>"), BIG5);
    assert_eq!(encoding_of(Some("text/html; Charset=\"EUC-JP\""), b"x"), EUC_JP);
    assert_eq!(encoding_of(Some("text/html;x=y;charset=euc-kr"), b"x"), EUC_KR);
}

#[test]
fn utf_16_is_read_by_its_mark_and_by_the_header() {
    for (big_endian, encoding) in [(false, UTF_16LE), (true, UTF_16BE)] {
        let body = utf16("\u{FEFF}<a href='/ü'>x</a>", big_endian);
        for size in [1, 2, 7, usize::MAX] {
            let page = read_in_pieces(&context(Some("text/html")), &body, size);
            assert_eq!((page.encoding, page.text.as_str()), (encoding, "/ü"));
        }
    }
    let page = read(&context(Some("text/html; charset=utf-16le")), &utf16("<a href='/ü'>x</a>", false));
    assert_eq!(page.text, "/ü");
}

#[test]
fn meta_is_found_by_the_rules_of_the_prescan() {
    let declared: &[(&str, &Encoding)] = &[
        ("<!-- <meta charset=gbk> --><meta charset=big5>", BIG5),
        ("<!--><meta charset=big5>", BIG5),
        ("<a title='<meta charset=gbk>'><META CHARSET='big5'>", BIG5),
        ("<meta/charset=big5>", BIG5),
        ("<metax charset=gbk><meta charset=big5>", BIG5),
        ("<meta content='text/html; charset=gbk'><meta charset=big5>", BIG5),
        ("<meta content='text/html; charset = \"big5\"' http-equiv=content-type>", BIG5),
        ("<meta http-equiv=content-type content='charset charset=big5;x'>", BIG5),
        ("<meta charset=nonsense><meta charset=big5>", BIG5),
        ("<meta charset=x-user-defined>", WINDOWS_1252),
        ("<?xml version='1.0' encoding='euc-jp'?><html>", EUC_JP),
        ("<?xml version='1.0' encoding='euc-jp'?><meta charset=big5>", BIG5),
        ("<?xml version='1.0'?><meta charset=big5>", BIG5),
    ];
    for (html, encoding) in declared {
        assert_eq!(encoding_of(Some("text/html"), html.as_bytes()), *encoding, "{html}");
    }
}

#[test]
fn a_late_meta_counts_where_nothing_was_read_otherwise() {
    let padding = " ".repeat(5000);
    let after_ascii = format!("{padding}<meta charset=windows-1251>");
    let after_other = format!("{padding}<p>\u{e9}<title>x</title><meta charset=windows-1251><script>");
    let hidden = format!("{padding}<script>'<meta charset=windows-1251>'</script>");
    for (page, encoding) in [(after_ascii, WINDOWS_1251), (after_other, WINDOWS_1251), (hidden, UTF_8)] {
        let body = [page.as_bytes(), "<a href='/é'>".as_bytes()].concat();
        assert_eq!(encoding_of(Some("text/html"), &body), encoding, "{}", page.trim());
    }
}

#[test]
fn what_is_not_declared_is_detected() {
    let samples: &[(&Encoding, &str)] = &[
        (UTF_8, "Größe, café, naïve, 日本語"),
        (WINDOWS_1251, "Это страница на русском языке, и никто не сказал, в какой она кодировке"),
        (SHIFT_JIS, "このページは日本語で書かれていますが、文字コードは宣言されていません"),
        (EUC_KR, "이 페이지는 한국어로 작성되었지만 문자 인코딩이 선언되지 않았습니다"),
        (ISO_2022_JP, "このページは日本語で書かれています"),
        (WINDOWS_1252, "Über die Größe der Bäume und die Schönheit süßer Früchte"),
    ];
    for (encoding, text) in samples {
        let (body, _, _) = encoding.encode(text);
        let body = [b"<p>".as_slice(), &body, b"<a href='/", &body, b"'>"].concat();
        let page = read(&context(Some("text/html")), &body);
        assert_eq!((page.encoding, page.text.as_str()), (*encoding, format!("/{text}").as_str()));
        assert_eq!(encoding_of(Some("text/html"), &body), *encoding);
    }
    assert_eq!(encoding_of(Some("text/html"), b"<p>plain"), UTF_8);
}

#[test]
fn detection_holds_back_no_more_than_its_share() {
    let body = [b"<a href=/1>\xe9".as_slice(), "x".repeat(200_000).as_bytes(), b"<a href='/\xe9'>"].concat();
    for size in [1000, usize::MAX] {
        let page = read_in_pieces(&context(Some("text/html")), &body, size);
        assert_eq!(page.text, "/1/é");
    }
}

#[test]
fn labels_that_only_replace_a_page_are_passed_over() {
    assert_eq!(read(&context(Some("text/html; charset=hz-gb-2312")), b"<a href=/x>").text, "/x");
}
