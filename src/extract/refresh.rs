//! The target of a `meta` refresh.

/// The URL in the `content` of a refresh, as written; none where it only reloads the page or is no refresh.
///
/// Source: HTML standard 4.2.5.3, "shared declarative refresh steps".
pub(super) fn target(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let behind_digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    if behind_digits.len() == rest.len() && !rest.starts_with('.') {
        return None;
    }
    let rest = behind_digits.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    let separated = |c: char| matches!(c, ';' | ',') || c.is_ascii_whitespace();
    let rest = rest.strip_prefix(separated).map(|_| rest.trim_ascii_start())?;
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_ascii_start();
    (!rest.is_empty()).then(|| unquoted(behind_key(rest)))
}

/// What follows `url =`, or all of it where that is not how it begins.
fn behind_key(text: &str) -> &str {
    match text.get(..3) {
        Some(key) if key.eq_ignore_ascii_case("url") => {
            text[3..].trim_ascii_start().strip_prefix('=').map_or(text, str::trim_ascii_start)
        }
        _ => text,
    }
}

fn unquoted(text: &str) -> &str {
    match text.strip_prefix(['"', '\'']) {
        Some(quoted) => quoted.split(&text[..1]).next().unwrap_or(quoted),
        None => text,
    }
}
