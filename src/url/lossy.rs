//! The rules that may merge two pages, each asked for by name.
//!
//! They work on the path and the query of a canonical URL whose octets have
//! their one spelling already, and leave every URL that they have been through
//! as it is.

use std::borrow::Cow;

use super::canonical::Rules;
use super::{names, percent};

/// Applies the rules to path and query, which begin at `path_start` and reach to the end of `url`.
pub(super) fn edit(rules: &Rules, url: &mut String, path_start: usize) {
    let path_end = url[path_start..].find('?').map_or(url.len(), |at| path_start + at);
    if path_end < url.len() {
        edit_query(rules, url, path_end);
    }
    let mut path = Cow::Borrowed(&url[path_start..path_end]);
    if rules.strip_session_ids
        && let Some(stripped) = strip_sessions(&path)
    {
        path = Cow::Owned(stripped);
    }
    let mut length = path.len();
    if rules.strip_trailing_slash {
        // the root keeps its slash
        length = path.trim_end_matches('/').len().max(1);
    }
    if length < path_end - path_start {
        let mut path = path.into_owned();
        path.truncate(length);
        url.replace_range(path_start..path_end, &path);
    }
}

/// Drops and sorts the parameters of the query, whose `?` is at `mark`.
fn edit_query(rules: &Rules, url: &mut String, mark: usize) {
    let query = &url[mark + 1..];
    let all = query.split('&').count();
    let mut kept: Vec<&str> = query.split('&').filter(|parameter| !is_dropped(rules, parameter)).collect();
    let dropped = kept.len() < all;
    if rules.sort_query {
        // stable, so that parameters of one name keep their order
        kept.sort_by_key(|parameter| name_and_value(parameter).0);
    }
    if dropped && kept.iter().all(|parameter| parameter.is_empty()) {
        // the `?` goes with the last parameter
        url.truncate(mark);
    } else if dropped || rules.sort_query {
        let query = kept.join("&");
        url.truncate(mark + 1);
        url.push_str(&query);
    }
}

fn name_and_value(parameter: &str) -> (&str, &str) {
    parameter.split_once('=').unwrap_or((parameter, ""))
}

fn is_dropped(rules: &Rules, parameter: &str) -> bool {
    let (name, value) = name_and_value(parameter);
    !name.is_empty()
        && (is_listed(&rules.strip_params, name)
            || (rules.strip_tracking && names::is_tracking(name))
            || (rules.strip_session_ids && names::is_session(name, value)))
}

/// Whether a name of the query, decoded as forms are (`+` is a blank), is in the list.
fn is_listed(list: &[String], name: &str) -> bool {
    if list.is_empty() {
        return false;
    }
    if !name.contains(['%', '+']) {
        return list.iter().any(|listed| listed == name);
    }
    let decoded = percent::decode(&name.replace('+', " "));
    list.iter().any(|listed| listed.as_bytes() == decoded || listed == name)
}

/// The path without session ids; none where there is none to drop.
fn strip_sessions(path: &str) -> Option<String> {
    if !path.contains([';', '(']) {
        return None;
    }
    let mut stripped = String::with_capacity(path.len());
    // a path begins with a slash, so its first piece is empty
    for (index, segment) in path.split('/').enumerate() {
        let start = stripped.len();
        if index > 0 {
            stripped.push('/');
        }
        push_without_sessions(segment, &mut stripped);
        if names::is_session_segment(&stripped[(start + 1).min(stripped.len())..]) {
            stripped.truncate(start);
        }
    }
    if stripped.is_empty() {
        stripped.push('/');
    }
    (stripped.len() < path.len()).then_some(stripped)
}

/// Appends a path segment without those of its parameters (`;name=value`) that carry a session id.
fn push_without_sessions(segment: &str, out: &mut String) {
    let start = out.len();
    let mut pieces = segment.split(';');
    out.push_str(pieces.next().unwrap_or_default());
    for parameter in pieces {
        let (name, value) = name_and_value(parameter);
        if !names::is_session(name, value) {
            out.push(';');
            out.push_str(parameter);
        }
    }
    if matches!(&out[start..], "." | "..") && segment.len() > 2 {
        // `..;jsessionid=1` is a name; what would be left is none
        out.truncate(start);
        out.push_str(segment);
    }
}
