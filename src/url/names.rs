//! Names of parameters that say nothing about the page: clicks, campaigns, sessions.
//!
//! Both lists are kept short on purpose. A name stands here only where it is
//! peculiar to one tool; names that sites also use for their own ends (`ref`,
//! `source`, `cid`, `s`, `id`) do not.

/// Families of tracking parameters, by their first letters.
const TRACKING_PREFIXES: [&str; 5] = [
    "utm_",    // Urchin, Google Analytics
    "mtm_",    // Matomo
    "matomo_", // Matomo
    "piwik_",  // Matomo under its old name
    "pk_",     // the same
];

/// Tracking parameters by their whole name, in lower case, sorted.
const TRACKING: [&str; 62] = [
    "__hsfp",
    "__hssc",
    "__hstc",
    "_branch_match_id",
    "_branch_referrer",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_kx",
    "_openstat",
    "cjevent",
    "dclid",
    "ef_id",
    "elqtrack",
    "elqtrackid",
    "epik",
    "fb_action_ids",
    "fb_action_types",
    "fb_ref",
    "fb_source",
    "fbclid",
    "gad_campaignid",
    "gad_source",
    "gbraid",
    "gclid",
    "gclsrc",
    "guccounter",
    "guce_referrer",
    "guce_referrer_sig",
    "hsctatracking",
    "igsh",
    "igshid",
    "irclickid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "ml_subscriber",
    "ml_subscriber_hash",
    "msclkid",
    "oly_anon_id",
    "oly_enc_id",
    "rb_clickid",
    "rdt_cid",
    "s_kwcid",
    "sccid",
    "srsltid",
    "ttclid",
    "twclid",
    "vero_conv",
    "vero_id",
    "wbraid",
    "wickedid",
    "wt_mc",
    "wt_zmc",
    "xtor",
    "yadclid",
    "yadordid",
    "yclid",
    "ymclid",
    "ysclid",
];

/// Session parameters of one platform each; whatever their value, they are a session's. In lower case, sorted.
const SESSION: [&str; 10] = [
    "asp.net_sessionid",
    "bv_engineid",
    "bv_sessionid",
    "cfid",
    "cftoken",
    "jsessionid",
    "oscsid",
    "phpsessid",
    "phpsessionid",
    "zenid",
];

/// Names that some sites use for a session and others for a section, a story
/// or a talk; the value decides. In lower case, sorted.
const PERHAPS_SESSION: [&str; 5] = ["sessid", "session", "session_id", "sessionid", "sid"];

/// Whether a parameter only tracks a click or a campaign. Letter case is ignored.
pub(super) fn is_tracking(name: &str) -> bool {
    TRACKING_PREFIXES.iter().any(|prefix| name.len() > prefix.len() && has_prefix(name, prefix))
        || contains(&TRACKING, name)
}

/// Whether a parameter carries a session id. Letter case is ignored.
pub(super) fn is_session(name: &str, value: &str) -> bool {
    contains(&SESSION, name)
        || is_asp_session_cookie(name)
        || (contains(&PERHAPS_SESSION, name) && looks_random(value))
}

/// Whether a path segment is the cookieless session of ASP.NET: `(S(24 letters and digits))`.
pub(super) fn is_session_segment(segment: &str) -> bool {
    let inner = segment
        .strip_prefix("(S(")
        .or_else(|| segment.strip_prefix("(s("))
        .and_then(|rest| rest.strip_suffix("))"));
    inner.is_some_and(|id| id.len() == 24 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// `ASPSESSIONID` and eight letters that differ by server.
fn is_asp_session_cookie(name: &str) -> bool {
    const PREFIX: &str = "aspsessionid";
    name.len() == PREFIX.len() + 8
        && has_prefix(name, PREFIX)
        && name.as_bytes()[PREFIX.len()..].iter().all(u8::is_ascii_alphabetic)
}

/// Whether a value could hardly be a number or a word that a person chose.
fn looks_random(value: &str) -> bool {
    let mixed = value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic());
    value.bytes().all(|byte| byte.is_ascii_graphic()) && (value.len() >= 16 || (value.len() >= 6 && mixed))
}

fn has_prefix(name: &str, prefix: &str) -> bool {
    name.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// Whether a sorted list of names in lower case holds a name, whatever its letter case.
fn contains(names: &[&str], name: &str) -> bool {
    let lower = || name.bytes().map(|byte| byte.to_ascii_lowercase());
    names.binary_search_by(|known| known.bytes().cmp(lower())).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_names_in_any_letter_case_track() {
        for name in
            ["utm_source", "UTM_Medium", "utm_x", "gclid", "GCLID", "fbclid", "ScCid", "mc_eid", "_ga"]
        {
            assert!(is_tracking(name), "{name}");
        }
        for name in ["", "utm_", "xutm_source", "utm", "ref", "source", "gclid2", "id", "page", "utmé"] {
            assert!(!is_tracking(name), "{name}");
        }
    }

    #[test]
    fn sessions_are_told_from_sections() {
        for (name, value) in [
            ("jsessionid", "1"),
            ("PHPSESSID", "0123abcd"),
            ("ASPSESSIONIDQQABCDEF", "X"),
            ("CFTOKEN", "123"),
            ("sid", "9f86d081884c7d65"),
            ("SID", "abc123"),
            ("session_id", "0123456789012345678"),
        ] {
            assert!(is_session(name, value), "{name}={value}");
        }
        for (name, value) in [
            ("sid", "42"),
            ("sid", "news"),
            ("session_id", "7"),
            ("side", "9f86d081884c7d65"),
            ("aspsessionid", "1"),
            ("id", "9f86d081884c7d65"),
            ("", ""),
        ] {
            assert!(!is_session(name, value), "{name}={value}");
        }
        assert!(is_session_segment("(S(lit3py55t21z5v55vlm25s55))"));
        assert!(!is_session_segment("(S(short))"));
    }

    #[test]
    fn lists_are_sorted_and_in_lower_case() {
        for list in [&TRACKING[..], &SESSION[..], &PERHAPS_SESSION[..]] {
            assert!(list.is_sorted());
            assert!(list.iter().all(|name| *name == name.to_ascii_lowercase()));
        }
    }
}
