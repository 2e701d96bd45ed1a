//! From the bytes of a body to characters, and on to the tokenizer.
//!
//! The charset comes from the byte order mark, the header, the first 1,024 bytes'
//! `meta`, or else from detection. Without a declaration nothing is held back as long
//! as the page is ASCII; from the first other byte on, up to 64 KiB are, and then a late
//! `meta` decides, or else what the bytes look like.

use super::collect::{CharsetProbe, Collector};
use super::mime::{Declared, Markup, SNIFF_BYTES};
use super::text::{Listening, NoText, TextSink};
use super::tokenizer::{TagSink, Tokenizer};
use super::{ExtractLimits, Extracted, charset, mime};
use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, Encoding, UTF_8};

/// Bytes that detection is given, from the first that is not ASCII.
const DETECTION_BYTES: usize = 64 << 10;

/// Bytes of characters decoded at a time.
const DECODED_BYTES: usize = 4 << 10;

/// What is known of a page besides its body.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageContext<'a> {
    /// The `Content-Type` header.
    pub content_type: Option<&'a str>,
    /// Every `X-Robots-Tag` header.
    pub x_robots_tag: &'a [&'a str],
    /// The product token that rules for robots may name.
    pub robots_agent: &'a str,
    /// The last label of the page's host name (`jp`), a hint where the charset must be guessed.
    pub top_level_domain: Option<&'a str>,
    /// Links that differ in their fragment are different ones; else fragments are cut.
    pub keep_fragments: bool,
    /// What the page embeds is wanted too: images, scripts, style sheets, media and their like.
    pub resources: bool,
    /// Bounds on what the page may yield.
    pub limits: ExtractLimits,
}

/// How far the charset is settled.
enum Stage {
    /// The first bytes are held back.
    Start,
    /// Nothing declared so far, nothing but ASCII met.
    Ascii,
    /// Bytes are held back for detection.
    Undecided,
    /// UTF-8 goes to the tokenizer as it is.
    Utf8,
    /// Another encoding.
    Decoding(Decoder),
    /// No HTML.
    Other,
}

/// Reads one page as it arrives.
///
/// ```
/// use dragline::extract::{PageContext, PageReader};
///
/// let mut reader = PageReader::new(&PageContext { content_type: Some("text/html"), ..PageContext::default() });
/// reader.feed(b"<title>A &amp; B</title><a hr");
/// reader.feed(b"ef='/x?a=1&amp;b=2'>x</a>");
/// let page = reader.finish();
/// assert_eq!(page.title.as_deref(), Some("A & B"));
/// assert_eq!(page.links().map(|(_, text)| text).collect::<Vec<_>>(), ["/x?a=1&b=2"]);
/// ```
pub struct PageReader {
    declared: Declared,
    header_encoding: Option<&'static Encoding>,
    top_level_domain: Option<String>,
    resources: bool,
    stage: Stage,
    held: Vec<u8>,
    encoding: &'static Encoding,
    tokenizer: Tokenizer,
    collector: Collector,
}

impl PageReader {
    /// A reader for one page.
    pub fn new(context: &PageContext<'_>) -> PageReader {
        let mut reader = PageReader {
            declared: Declared::Unknown,
            header_encoding: None,
            top_level_domain: None,
            resources: false,
            stage: Stage::Start,
            held: Vec::new(),
            encoding: UTF_8,
            tokenizer: Tokenizer::new(false, false),
            collector: Collector::default(),
        };
        reader.reset(context);
        reader
    }

    /// Makes it ready for another page; what was read of the last is dropped, buffers are kept.
    pub fn reset(&mut self, context: &PageContext<'_>) {
        let content_type = context.content_type.and_then(mime::extract);
        self.declared = mime::declared(content_type.as_ref());
        self.header_encoding = content_type.as_ref().and_then(charset::of_header);
        self.resources = context.resources;
        self.top_level_domain = context.top_level_domain.and_then(usable_domain);
        self.stage = if self.declared == Declared::Other { Stage::Other } else { Stage::Start };
        self.held.clear();
        self.encoding = self.header_encoding.unwrap_or(UTF_8);
        self.collector.reset(context);
        for value in context.x_robots_tag {
            self.collector.directives.add_header(value, context.robots_agent);
        }
    }

    /// Takes the next bytes of the body, content coding removed.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.feed_with(bytes, &mut NoText);
    }

    /// The same, and hands the visible text over: the same listener must be given at each piece
    /// of a page, and to [`finish_with`](Self::finish_with).
    pub fn feed_with<Text: TextSink>(&mut self, bytes: &[u8], text: &mut Text) {
        if !matches!(self.stage, Stage::Start) {
            self.push(bytes, text);
            return;
        }
        let needed = self.bytes_to_begin();
        if self.held.is_empty() && bytes.len() >= needed {
            self.begin(bytes, text);
            return;
        }
        let (first, rest) = bytes.split_at(bytes.len().min(needed.saturating_sub(self.held.len())));
        self.held.extend_from_slice(first);
        if self.held.len() >= needed {
            self.begin_with_held(text);
            self.push(rest, text);
        }
    }

    /// The body has ended (or no more of it is wanted).
    ///
    /// The reader must be [`reset`](PageReader::reset) before it takes another page.
    pub fn finish(&mut self) -> Extracted {
        self.finish_with(&mut NoText)
    }

    /// The same, and hands over what visible text is left.
    pub fn finish_with<Text: TextSink>(&mut self, text: &mut Text) -> Extracted {
        if matches!(self.stage, Stage::Start) {
            self.begin_with_held(text);
        }
        match &mut self.stage {
            Stage::Undecided => self.decide_by_held(true, text),
            Stage::Ascii => self.encoding = self.detect(b"", true),
            _ => {}
        }
        if let Stage::Decoding(decoder) = &mut self.stage {
            let mut sink = Listening { collector: &mut self.collector, text };
            decode(decoder, b"", true, &mut self.tokenizer, &mut sink);
        }
        self.tokenizer.finish(&mut self.collector);
        let is_html = !matches!(self.stage, Stage::Other);
        self.stage = Stage::Other;
        self.extracted(is_html)
    }

    /// Takes back the buffers of a page that is done with, so that the next one need not allocate.
    pub fn recycle(&mut self, page: Extracted) {
        self.collector.links.references = page.references;
        self.collector.links.text = page.text;
    }

    /// Bytes of the largest buffer it holds on to: whoever keeps readers lets go of a large one.
    pub fn largest_buffer(&self) -> usize {
        self.held.capacity().max(self.collector.links.largest_buffer())
    }

    /// Bytes that all its buffers take.
    pub fn held_bytes(&self) -> usize {
        self.held.capacity() + self.collector.links.held_bytes()
    }

    /// How often the tokenizer had to guess.
    #[cfg(test)]
    pub(super) fn guesses(&self) -> u32 {
        self.tokenizer.guesses()
    }

    fn extracted(&mut self, is_html: bool) -> Extracted {
        let collector = &mut self.collector;
        Extracted {
            is_html,
            encoding: self.encoding,
            title: collector.title(),
            references: std::mem::take(&mut collector.links.references),
            text: std::mem::take(&mut collector.links.text),
            base: collector.base.take(),
            rel_canonical: collector.canonical.take(),
            page_nofollow: collector.directives.nofollow,
            links_dropped: collector.links.dropped,
            repeated_references: collector.links.repeated,
        }
    }

    /// First bytes that must be there before anything can be decided.
    fn bytes_to_begin(&self) -> usize {
        match (self.declared, self.header_encoding) {
            (Declared::Unknown, _) => SNIFF_BYTES,
            (_, None) => charset::PRESCAN_BYTES,
            (_, Some(_)) => 3,
        }
    }

    fn begin_with_held<Text: TextSink>(&mut self, text: &mut Text) {
        let mut held = std::mem::take(&mut self.held);
        self.begin(&held, text);
        held.clear();
        if self.held.is_empty() {
            self.held = held;
        }
    }

    /// Decides by the first bytes what this is, and reads them.
    fn begin<Text: TextSink>(&mut self, first: &[u8], text: &mut Text) {
        let markup = match self.declared {
            Declared::Markup(markup) => markup,
            Declared::Unknown if mime::looks_like_html(first) => Markup::Html,
            Declared::Unknown | Declared::Other => {
                self.stage = Stage::Other;
                return;
            }
        };
        self.tokenizer.reset(markup == Markup::Xhtml, self.resources);
        let mark = Encoding::for_bom(first);
        let encoding = mark.map(|(encoding, _)| encoding).or(self.header_encoding);
        match encoding.or_else(|| charset::prescan(first)) {
            Some(encoding) => self.decide(encoding),
            None => self.stage = Stage::Ascii,
        }
        self.push(&first[mark.map_or(0, |(_, length)| length)..], text);
    }

    fn decide(&mut self, encoding: &'static Encoding) {
        self.encoding = encoding;
        self.stage = if encoding == UTF_8 {
            Stage::Utf8
        } else {
            Stage::Decoding(encoding.new_decoder_without_bom_handling())
        };
    }

    fn push<Text: TextSink>(&mut self, bytes: &[u8], text: &mut Text) {
        let mut sink = Listening { collector: &mut self.collector, text };
        match &mut self.stage {
            Stage::Utf8 => self.tokenizer.feed(bytes, &mut sink),
            Stage::Decoding(decoder) => decode(decoder, bytes, false, &mut self.tokenizer, &mut sink),
            Stage::Ascii => self.push_ascii(bytes, text),
            Stage::Undecided => self.push_undecided(bytes, text),
            Stage::Start | Stage::Other => {}
        }
    }

    /// Reads on up to the first byte that is not plain ASCII in every encoding.
    fn push_ascii<Text: TextSink>(&mut self, bytes: &[u8], text: &mut Text) {
        let (ascii, rest) = bytes.split_at(Encoding::iso_2022_jp_ascii_valid_up_to(bytes));
        self.tokenizer.feed(ascii, &mut Listening { collector: &mut self.collector, text });
        if let Some(encoding) = self.collector.charset {
            self.decide(encoding);
        } else if !rest.is_empty() {
            self.stage = Stage::Undecided;
        }
        if !rest.is_empty() {
            self.push(rest, text);
        }
    }

    fn push_undecided<Text: TextSink>(&mut self, bytes: &[u8], text: &mut Text) {
        let (held, rest) = bytes.split_at(bytes.len().min(DETECTION_BYTES - self.held.len()));
        self.held.extend_from_slice(held);
        if self.held.len() == DETECTION_BYTES {
            self.decide_by_held(false, text);
            self.push(rest, text);
        }
    }

    fn decide_by_held<Text: TextSink>(&mut self, is_all: bool, text: &mut Text) {
        let held = std::mem::take(&mut self.held);
        let mut probe = CharsetProbe::default();
        self.tokenizer.clone().feed(&held, &mut probe);
        let encoding = probe.charset.unwrap_or_else(|| self.detect(&held, is_all));
        self.decide(encoding);
        self.push(&held, text);
    }

    fn detect(&self, bytes: &[u8], is_all: bool) -> &'static Encoding {
        let mut detector = EncodingDetector::new(Iso2022JpDetection::Allow);
        detector.feed(bytes, is_all);
        detector.guess(self.top_level_domain.as_deref().map(str::as_bytes), Utf8Detection::Allow)
    }
}

/// The detector takes labels in lower case only, internationalized ones in their ASCII form.
fn usable_domain(label: &str) -> Option<String> {
    let usable = !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    usable.then(|| label.to_ascii_lowercase())
}

/// Decodes and tokenizes, a few KiB at a time.
fn decode<Sink: TagSink>(
    decoder: &mut Decoder,
    mut bytes: &[u8],
    last: bool,
    tokenizer: &mut Tokenizer,
    sink: &mut Sink,
) {
    let mut characters = [0; DECODED_BYTES];
    loop {
        let (result, read, written, _) = decoder.decode_to_utf8(bytes, &mut characters, last);
        tokenizer.feed(&characters[..written], sink);
        bytes = &bytes[read..];
        if result == encoding_rs::CoderResult::InputEmpty {
            return;
        }
    }
}
