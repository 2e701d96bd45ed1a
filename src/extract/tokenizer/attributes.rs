//! The attributes of the tag at hand: those worth keeping, in one buffer that is used again and again.

/// Bytes of one attribute's value at most, as written; a longer one is passed over in constant memory.
///
/// No server takes a request line near this long.
pub(in crate::extract) const MAX_ATTRIBUTE_BYTES: usize = 64 << 10;

/// Capacity that the buffer may keep from one tag to the next.
const KEPT_BYTES: usize = 4 << 10;

/// The attributes that any element is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Attribute {
    Href,
    XlinkHref,
    Rel,
    Src,
    Name,
    Content,
    HttpEquiv,
    Charset,
    Encoding,
    Srcset,
    ImageSrcset,
    Poster,
    Data,
    Background,
    Type,
    /// `color`, `face` or `size` of `font`; only their presence counts.
    Presentation,
}

const ATTRIBUTES: usize = 16;

impl Attribute {
    pub(super) fn of(name: &[u8]) -> Option<Attribute> {
        Some(match name {
            b"href" => Attribute::Href,
            b"xlink:href" => Attribute::XlinkHref,
            b"rel" => Attribute::Rel,
            b"src" => Attribute::Src,
            b"name" => Attribute::Name,
            b"content" => Attribute::Content,
            b"http-equiv" => Attribute::HttpEquiv,
            b"charset" => Attribute::Charset,
            b"encoding" => Attribute::Encoding,
            b"srcset" => Attribute::Srcset,
            b"imagesrcset" => Attribute::ImageSrcset,
            b"poster" => Attribute::Poster,
            b"data" => Attribute::Data,
            b"background" => Attribute::Background,
            b"type" => Attribute::Type,
            b"color" | b"face" | b"size" => Attribute::Presentation,
            _ => return None,
        })
    }
}

/// A set of attributes, one bit each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct AttributeSet(u16);

impl AttributeSet {
    pub(super) const fn of(attributes: &[Attribute]) -> AttributeSet {
        let mut bits = 0;
        let mut index = 0;
        while index < attributes.len() {
            bits |= 1 << attributes[index] as u16;
            index += 1;
        }
        AttributeSet(bits)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    const fn contains(self, attribute: Attribute) -> bool {
        self.0 & (1 << attribute as u16) != 0
    }

    fn insert(&mut self, attribute: Attribute) {
        self.0 |= 1 << attribute as u16;
    }
}

/// The kept attributes of one tag, their values as written.
#[derive(Debug, Clone, Default)]
pub(in crate::extract) struct Attributes {
    present: AttributeSet,
    too_long: AttributeSet,
    ranges: [(u32, u32); ATTRIBUTES],
    text: Vec<u8>,
    current: Option<Attribute>,
}

impl Attributes {
    /// The value as written, character references included; none where it is absent or too long.
    pub(in crate::extract) fn get(&self, attribute: Attribute) -> Option<&[u8]> {
        if !self.present.contains(attribute) || self.too_long.contains(attribute) {
            return None;
        }
        let (start, end) = self.ranges[attribute as usize];
        self.text.get(start as usize..end as usize)
    }

    /// Whether it is there, whatever its length.
    pub(in crate::extract) fn has(&self, attribute: Attribute) -> bool {
        self.present.contains(attribute)
    }

    /// Whether it is there, with a value longer than [`MAX_ATTRIBUTE_BYTES`].
    pub(in crate::extract) fn is_too_long(&self, attribute: Attribute) -> bool {
        self.too_long.contains(attribute)
    }

    pub(super) fn clear(&mut self) {
        self.present = AttributeSet::default();
        self.too_long = AttributeSet::default();
        self.current = None;
        self.text.clear();
        self.text.shrink_to(KEPT_BYTES);
    }

    /// An attribute of this name begins; what is appended is its value, if it is wanted.
    ///
    /// Of two with one name the first counts.
    pub(super) fn begin(&mut self, name: &[u8], wanted: AttributeSet) {
        self.current = Attribute::of(name).filter(|&one| wanted.contains(one) && !self.present.contains(one));
        if let Some(attribute) = self.current {
            self.present.insert(attribute);
            let start = self.text.len() as u32;
            self.ranges[attribute as usize] = (start, start);
        }
    }

    /// More of the value of the attribute that began last.
    pub(super) fn append(&mut self, bytes: &[u8]) {
        let Some(attribute) = self.current else { return };
        let range = &mut self.ranges[attribute as usize];
        let length = self.text.len() - range.0 as usize + bytes.len();
        if length > MAX_ATTRIBUTE_BYTES {
            self.too_long.insert(attribute);
            self.text.truncate(range.0 as usize);
            self.current = None;
            return;
        }
        self.text.extend_from_slice(bytes);
        range.1 = self.text.len() as u32;
    }
}
