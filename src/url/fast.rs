//! The fast path: the shapes of reference that nearly all links have.
//!
//! It answers only where the answer is plain to see, and then exactly as the
//! slow path would (a property test holds it to that); everything else it
//! leaves alone. Shapes it knows: `/path`, `name`, `../name`, `?query`,
//! `#fragment`, nothing at all, `//host/path` and `http(s)://host/path`, in
//! ASCII, with nothing in them that a parser would have to encode.

use ::url::Url;

use super::parts::Parts;
use super::whatwg;

/// What the fast path knows of a page: its URL as requested, and where the parts of it end.
pub(super) struct Frame {
    page: String,
    parts: Parts,
    /// The end of the path.
    path_end: usize,
    /// The end of the path's last `/`.
    directory_end: usize,
    /// Where the first `%` is; the length of the page where there is none.
    percent: usize,
}

/// An answer of the fast path; the requested URL is in the caller's buffer.
pub(super) struct Answer<'r> {
    pub(super) parts: Parts,
    /// No `%` is in it.
    pub(super) plain: bool,
    /// The fragment as written; not one byte of it was looked at.
    pub(super) fragment: Option<&'r str>,
}

impl Frame {
    /// The frame of a page; none where its URL is not crawlable.
    pub(super) fn new(page: &Url) -> Option<Self> {
        let mut text = String::with_capacity(page.as_str().len());
        let parts = whatwg::write_requested(page, &mut text).ok()?;
        if !matches!(page.scheme(), "http" | "https") {
            return None;
        }
        let origin = usize::from(parts.origin_length);
        let path_end = text[origin..].find('?').map_or(text.len(), |at| origin + at);
        Some(Self {
            directory_end: text[..path_end].rfind('/')? + 1,
            percent: text.find('%').unwrap_or(text.len()),
            path_end,
            parts,
            page: text,
        })
    }

    /// Resolves a trimmed reference into `requested`, which is empty; none
    /// where that takes a real parser (`requested` may be left half written).
    pub(super) fn resolve<'r>(&self, reference: &'r str, requested: &mut String) -> Option<Answer<'r>> {
        let bytes = reference.as_bytes();
        match bytes {
            [] | [b'#', ..] => self.append(self.page.len(), reference, requested),
            [b'?', ..] => self.append(self.path_end, reference, requested),
            [b'/', b'/', ..] => {
                let scheme = ..self.parts.host.start - "//".len();
                elsewhere(&self.page[scheme], reference, 2, requested)
            }
            [b'/', ..] => self.append(self.origin(), reference, requested),
            [b'.', ..] => {
                let (rest, directory) = self.climb(reference)?;
                self.append(directory, rest, requested)
            }
            _ if reference.starts_with("http://") => self.absolute(reference, "http://".len(), requested),
            _ if reference.starts_with("https://") => self.absolute(reference, "https://".len(), requested),
            _ if has_early_colon(bytes) => None,
            _ => self.append(self.directory_end, reference, requested),
        }
    }

    fn origin(&self) -> usize {
        usize::from(self.parts.origin_length)
    }

    /// The first `prefix` bytes of the page, then the reference.
    fn append<'r>(&self, prefix: usize, reference: &'r str, requested: &mut String) -> Option<Answer<'r>> {
        let tail = Tail::scan(reference, 0)?;
        requested.push_str(&self.page[..prefix]);
        requested.push_str(&reference[..tail.end]);
        Some(Answer {
            parts: self.parts.clone(),
            plain: !tail.percent && self.percent >= prefix,
            fragment: tail.fragment(reference),
        })
    }

    /// A reference that begins with a scheme; on the page's own origin, ports and address literals are as easy as names.
    fn absolute<'r>(
        &self,
        reference: &'r str,
        host_start: usize,
        requested: &mut String,
    ) -> Option<Answer<'r>> {
        if let Some(rest) = reference.strip_prefix(&self.page[..self.origin()])
            && rest.starts_with('/')
        {
            return self.append(self.origin(), rest, requested);
        }
        elsewhere("", reference, host_start, requested)
    }

    /// Follows `./` and `../` at the start of a reference: the rest of it, and the directory it is in.
    fn climb<'r>(&self, reference: &'r str) -> Option<(&'r str, usize)> {
        let mut rest = reference;
        let mut directory = self.directory_end;
        loop {
            if let Some(below) = rest.strip_prefix("./") {
                rest = below;
            } else if let Some(above) = rest.strip_prefix("../") {
                rest = above;
                directory = self.parent(directory)?;
            } else {
                return Some((rest, directory));
            }
        }
    }

    /// The end of the directory above the one that ends at `end`; the root is above itself.
    fn parent(&self, end: usize) -> Option<usize> {
        let path = self.origin();
        let above = self.page[path..end - 1].rfind('/').map_or(end, |at| path + at + 1);
        // the `url` crate does not leave what looks like a drive (`C:`), whatever the scheme
        let drive = matches!(self.page.as_bytes()[above..end], [letter, b':' | b'|', b'/'] if letter.is_ascii_alphabetic());
        (!drive).then_some(above)
    }
}

/// A reference whose host name begins at `host_start`, with `scheme` before it where it has none.
fn elsewhere<'r>(
    scheme: &str,
    reference: &'r str,
    host_start: usize,
    requested: &mut String,
) -> Option<Answer<'r>> {
    let host_end = plain_host(reference, host_start)?;
    let tail = Tail::scan(reference, host_end)?;
    let host = scheme.len() + host_start..scheme.len() + host_end;
    requested.push_str(scheme);
    requested.push_str(&reference[..host_end]);
    if !reference[host_end..].starts_with('/') {
        requested.push('/');
    }
    requested.push_str(&reference[host_end..tail.end]);
    Some(Answer {
        parts: Parts { origin_length: u16::try_from(host.end).ok()?, host },
        plain: !tail.percent,
        fragment: tail.fragment(reference),
    })
}

/// Path, query and fragment of a reference, all in characters that stand for themselves.
struct Tail {
    /// Where the fragment, or the reference, ends.
    end: usize,
    percent: bool,
}

/// The byte stands for itself in a path.
const PATH: u8 = 1;
/// The byte stands for itself in a query.
const QUERY: u8 = 2;

/// What each byte is: printable ASCII stands for itself, but for what the
/// standard's percent-encode sets hold (WHATWG URL, section 1.3), and for what
/// ends or divides a part or begins a percent-encoded octet.
static CLASSES: [u8; 256] = {
    let mut classes = [0; 256];
    let mut byte = 0x21;
    while byte < 0x7F {
        classes[byte] = match byte as u8 {
            b'"' | b'#' | b'<' | b'>' | b'%' => 0,
            b'/' | b'?' | b'`' | b'{' | b'}' | b'^' | b'\\' => QUERY,
            b'\'' => PATH,
            _ => PATH | QUERY,
        };
        byte += 1;
    }
    classes
};

impl Tail {
    /// Reads on from `start`, which is where a segment, a query or a fragment begins.
    fn scan(reference: &str, start: usize) -> Option<Self> {
        let bytes = reference.as_bytes();
        if may_be_dots(bytes, start) {
            return None;
        }
        let mut percent = false;
        let mut at = start;
        let mut class = PATH;
        while let Some(&byte) = bytes.get(at) {
            if CLASSES[usize::from(byte)] & class == 0 {
                match byte {
                    b'/' if !may_be_dots(bytes, at + 1) => {}
                    b'#' => break,
                    b'%' => percent = true,
                    b'?' => class = QUERY,
                    _ => return None,
                }
            }
            at += 1;
        }
        Some(Self { end: at, percent })
    }

    fn fragment<'r>(&self, reference: &'r str) -> Option<&'r str> {
        reference.get(self.end + 1..)
    }
}

/// Whether the segment at `start` begins with a dot, encoded or not, and so may be no name.
fn may_be_dots(bytes: &[u8], start: usize) -> bool {
    match bytes.get(start) {
        Some(b'.') => true,
        Some(b'%') => bytes.get(start + 1) == Some(&b'2'),
        _ => false,
    }
}

/// Whether a `:` comes before the first `/`, `?` or `#`, so that there may be a scheme.
fn has_early_colon(bytes: &[u8]) -> bool {
    bytes.iter().find(|byte| matches!(byte, b':' | b'/' | b'?' | b'#')).is_some_and(|byte| *byte == b':')
}

/// Where a host name ends that begins at `start` and is its own ASCII form: small
/// letters, digits, `-`, `_`, no Punycode, no empty label, no number at the end.
fn plain_host(reference: &str, start: usize) -> Option<usize> {
    let bytes = reference.as_bytes();
    let mut label = start;
    let mut at = start;
    loop {
        match bytes.get(at) {
            Some(b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_') => {}
            Some(b'.') if at > label => label = at + 1,
            Some(b'/' | b'?' | b'#') | None => break,
            _ => return None,
        }
        if at == label && bytes[at..].starts_with(b"xn--") {
            return None;
        }
        at += 1;
    }
    // a letter at its start tells the last label from the end of an IPv4 address
    bytes.get(label).is_some_and(u8::is_ascii_lowercase).then_some(at)
}

/// A reference without the blanks and controls around it, which the parser ignores.
pub(super) fn trim(reference: &str) -> &str {
    reference.trim_matches(|character| character <= ' ')
}
