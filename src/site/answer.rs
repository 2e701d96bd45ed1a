//! What the site answers to a request, as a pure function.
//!
//! It must not know of sockets or counters.

use super::listing::Naming;
use super::{Kind, Place, Site, html};

/// The type of every document of the site.
const HTML: &str = "text/html; charset=utf-8";

/// The type of robots.txt and of the listings.
pub(super) const TEXT: &str = "text/plain; charset=utf-8";

/// An answer of the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The `Content-Type` header.
    pub content_type: &'static str,
    /// The `Location` header of a redirect.
    pub location: Option<String>,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Answer {
    fn html(status: u16, body: Vec<u8>) -> Answer {
        Answer { status, content_type: HTML, location: None, body }
    }

    /// The answer to any URL that the site does not have.
    pub(super) fn not_found() -> Answer {
        Answer::html(404, html::notice("Not found"))
    }
}

impl Site {
    /// The answer to a request, by its `Host` header and its path; 404 for all that the site does not have.
    ///
    /// The listings (`/_truth` and its like) are not part of the site; [`serve`](super::serve) adds them.
    pub fn respond(&self, authority: &str, path: &str) -> Answer {
        let (host, naming) = self.read_authority(authority);
        match host.and_then(|host| self.locate(host, path)) {
            Some(place) => self.answer(place, &naming),
            None => Answer::not_found(),
        }
    }

    /// The answer that stands at a place; `naming` says how hosts are written in it.
    pub(super) fn answer(&self, place: Place, naming: &Naming) -> Answer {
        match place.kind {
            Kind::Page => Answer::html(200, html::page(self, place, naming)),
            Kind::Robots => Answer {
                status: 200,
                content_type: TEXT,
                location: None,
                body: b"User-agent: *\nDisallow: /private/\n".to_vec(),
            },
            Kind::Redirect => self.redirect(place, naming),
            Kind::Missing => Answer::not_found(),
            Kind::Disallowed => Answer::html(200, html::notice("Not meant for crawlers")),
        }
    }

    /// All four forms in turn: 301 and 302, with a `Location` that is a path or a whole URL.
    fn redirect(&self, place: Place, naming: &Naming) -> Answer {
        let mut location = Vec::with_capacity(128);
        if place.index / 2 % 2 == 1 {
            naming.write_origin(place.host, &mut location);
        }
        self.write_path(self.redirect_target(place), &mut location);
        Answer {
            location: Some(String::from_utf8_lossy(&location).into_owned()),
            ..Answer::html(if place.index.is_multiple_of(2) { 301 } else { 302 }, html::notice("Moved"))
        }
    }
}
