//! The shape of a URL: the template of its path, and the names of its parameters.

use crate::url::Parts;

/// Hexadecimal digits in a row, some of them decimal ones, that are taken for an identifier.
const LEAST_HEXADECIMAL: usize = 8;

/// Writes the template of a URL, `host/item/<n>` of `http://host/item/7?page=2`, in place of what is in `template`.
/// Runs of digits become `<n>`; a segment of hexadecimal digits (and dashes) becomes `<hex>`.
pub(super) fn template(url: &str, template: &mut String) {
    template.clear();
    let parts = Parts::of(url);
    template.push_str(&url[parts.host.clone()]);
    let path = url.get(usize::from(parts.origin_length)..).unwrap_or_default();
    let path = path.split(['?', '#']).next().unwrap_or_default();
    for segment in path.split('/').skip(1) {
        template.push('/');
        segment_template(segment, template);
    }
}

fn segment_template(segment: &str, template: &mut String) {
    let is_hexadecimal = segment.len() >= LEAST_HEXADECIMAL
        && segment.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
        && segment.bytes().any(|byte| byte.is_ascii_digit())
        && segment.bytes().any(|byte| byte.is_ascii_alphabetic());
    if is_hexadecimal {
        template.push_str("<hex>");
        return;
    }
    let mut rest = segment;
    while let Some(start) = next_number(rest) {
        template.push_str(&rest[..start]);
        template.push_str("<n>");
        rest = rest[start..].trim_start_matches(|letter: char| letter.is_ascii_digit());
    }
    template.push_str(rest);
}

/// Where the next run of digits begins that is no part of an escape (`%2F`).
fn next_number(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        match bytes[at] {
            b'%' => at += 3,
            byte if byte.is_ascii_digit() => return Some(at),
            _ => at += 1,
        }
    }
    None
}

/// The names of the parameters in the query of a URL.
pub(super) fn parameters(url: &str) -> impl Iterator<Item = &str> {
    let query = url.split('#').next().unwrap_or_default().split_once('?').map_or("", |(_, query)| query);
    query.split('&').filter(|pair| !pair.is_empty()).map(|pair| pair.split('=').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_identifiers_are_left_open() {
        for (url, expected) in [
            ("http://a.test/item/7?page=2", "a.test/item/<n>"),
            ("https://a.test:8443/", "a.test/"),
            ("http://a.test", "a.test"),
            ("http://a.test/2026/01/news-17.html#x", "a.test/<n>/<n>/news-<n>.html"),
            ("http://a.test/x%20y/%2F1", "a.test/x%20y/%2F<n>"),
            ("http://a.test/0a1b2c3d4e/defaced", "a.test/<hex>/defaced"),
            ("http://a.test/é/1é2", "a.test/é/<n>é<n>"),
            ("http://a.test/%", "a.test/%"),
        ] {
            let mut told = "old".to_owned();
            template(url, &mut told);
            assert_eq!(told, expected, "{url}");
        }
    }

    #[test]
    fn parameters_are_named_once_for_each_time() {
        let names = |url| parameters(url).collect::<Vec<_>>();
        assert_eq!(names("http://a.test/?a=1&b&&c=d=e#?f=1"), ["a", "b", "c"]);
        assert!(names("http://a.test/a=1").is_empty());
    }
}
