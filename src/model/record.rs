//! What is written of a page.

use std::sync::Arc;

use super::{PageError, Via};

/// Why a body was not read to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Truncation {
    /// `--max-body` was reached, or as much of a redirect's body was read as is worth it.
    Length,
    /// The connection ended early.
    Disconnect,
    /// `--timeout` passed in the middle of the body, or a redirect's body was not worth the wait.
    Time,
}

/// The name of an encoding, as the Encoding Standard spells it.
pub type CharsetName = &'static str;

/// What was found out in reading a sitemap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct SitemapNote {
    /// Entries, whatever became of them.
    pub entries: u64,
    /// It broke off, was cut, or is no sitemap.
    pub cut: bool,
    /// It has more entries or bytes than the protocol allows.
    pub too_large: bool,
}

/// One line of `pages.jsonl`: the outcome of one page, failures included.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Record {
    /// The URL as requested.
    pub url: String,
    /// Its canonical form, where that differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The status code, where an answer came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// What went wrong, where something did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<PageError>,
    /// Links followed from a seed.
    pub depth: u32,
    /// How it was found.
    pub via: Via,
    /// The page it was found on.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "shared_text",
        deserialize_with = "any_text"
    )]
    pub referrer: Option<Arc<str>>,
    /// Where it redirects to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_to: Option<String>,
    /// The `Content-Type` header.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The charset it was read in.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "charset_name")]
    pub charset: Option<CharsetName>,
    /// Bytes of body received, as coded.
    pub wire_bytes: u64,
    /// Bytes of body after decoding.
    pub decoded_bytes: u64,
    /// Why the body was not read to its end, where it was not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub truncated: Option<Truncation>,
    /// The document's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What the page's `rel=canonical` names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rel_canonical: Option<String>,
    /// Links found on it, before any was dropped.
    pub links: u64,
    /// What was found out in reading it as a sitemap, where it was, by this request or an earlier one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sitemap: Option<SitemapNote>,
    /// The SimHash of its visible text, in hexadecimal (16 digits), where there is enough of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub simhash: Option<String>,
    /// A bounded list of blocks of its visible text, six characters each, where it has a SimHash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocks: Option<String>,
    /// The XXH3-128 of the decoded body, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// When the last attempt began, in RFC 3339 form (UTC).
    pub fetched_at: String,
    /// Time of the last attempt until the head of its answer was there, where one came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_byte_ms: Option<u64>,
    /// Time of the last attempt.
    pub elapsed_ms: u64,
    /// Requests made for it, its own redirects to itself included.
    pub attempts: u32,
}

#[allow(clippy::ref_option, reason = "serde hands over a reference to the field")]
fn shared_text<S: serde::Serializer>(text: &Option<Arc<str>>, serializer: S) -> Result<S::Ok, S::Error> {
    match text {
        Some(text) => serializer.serialize_some(&**text),
        None => serializer.serialize_none(),
    }
}

fn any_text<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Arc<str>>, D::Error> {
    Ok(<Option<String> as serde::Deserialize>::deserialize(deserializer)?.map(Arc::from))
}

/// The name of an encoding of the Encoding Standard; another is not taken over.
fn charset_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<&'static str>, D::Error> {
    let name = <Option<String> as serde::Deserialize>::deserialize(deserializer)?;
    Ok(name
        .and_then(|name| encoding_rs::Encoding::for_label(name.as_bytes()))
        .map(encoding_rs::Encoding::name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ErrorKind;

    #[test]
    fn a_record_comes_back_from_its_line() {
        let record = Record {
            url: "http://a.test/".into(),
            canonical: None,
            status: Some(503),
            error: Some(PageError { kind: ErrorKind::Incomplete, detail: "short".into() }),
            depth: 1,
            via: Via::Link,
            referrer: Some("http://b.test/".into()),
            redirect_to: None,
            content_type: Some("text/html".into()),
            charset: Some(encoding_rs::SHIFT_JIS.name()),
            wire_bytes: 7,
            decoded_bytes: 8,
            truncated: Some(Truncation::Time),
            title: Some("é".into()),
            rel_canonical: None,
            links: 3,
            sitemap: None,
            simhash: Some("0123456789abcdef".into()),
            blocks: Some("AAAAAA".into()),
            digest: Some("00".into()),
            fetched_at: "2026-01-01T00:00:00Z".into(),
            first_byte_ms: Some(4),
            elapsed_ms: 5,
            attempts: 2,
        };
        let line = serde_json::to_string(&record).expect("serializable");
        assert_eq!(serde_json::from_str::<Record>(&line).expect("a record"), record);
        let least = r#"{"url":"http://a.test/","depth":0,"via":"seed","wire_bytes":0,"decoded_bytes":0,"links":0,"fetched_at":"","elapsed_ms":0,"attempts":1}"#;
        let least: Record = serde_json::from_str(least).expect("what may be absent may be absent");
        assert_eq!((least.status, least.referrer, least.charset), (None, None, None));
    }
}
