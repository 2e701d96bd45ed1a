//! The elements that are open, by their names, bounded whatever is nested.

/// Open elements whose names are kept.
const MOST: usize = 256;
/// Bytes that all their names may take.
const MOST_TEXT: usize = 16 << 10;

/// What an end tag did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Closed {
    /// It closed the innermost element.
    Innermost,
    /// It closed an outer one, and so those within, which lacked their end tags.
    Outer,
    /// It closed nothing: no such element is open.
    Nothing,
}

/// See the module's description.
#[derive(Debug, Default)]
pub(super) struct Elements {
    names: String,
    /// Where each name ends.
    ends: Vec<usize>,
    /// Elements that are open within those whose names are kept.
    beyond: u64,
}

impl Elements {
    /// How many are open.
    pub(super) fn depth(&self) -> u64 {
        self.ends.len() as u64 + self.beyond
    }

    pub(super) fn open(&mut self, name: &str) {
        if self.beyond > 0 || self.ends.len() >= MOST || self.names.len() + name.len() > MOST_TEXT {
            self.beyond += 1;
            return;
        }
        self.names.push_str(name);
        self.ends.push(self.names.len());
    }

    pub(super) fn close(&mut self, name: &str) -> Closed {
        if self.beyond > 0 {
            self.beyond -= 1;
            return Closed::Innermost;
        }
        for place in (0..self.ends.len()).rev() {
            let start = if place == 0 { 0 } else { self.ends[place - 1] };
            if &self.names[start..self.ends[place]] == name {
                let innermost = place + 1 == self.ends.len();
                self.names.truncate(start);
                self.ends.truncate(place);
                return if innermost { Closed::Innermost } else { Closed::Outer };
            }
        }
        Closed::Nothing
    }

    pub(super) fn held_bytes(&self) -> usize {
        self.names.capacity() + self.ends.capacity() * size_of::<usize>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_tag_closes_what_it_names() {
        let mut elements = Elements::default();
        for name in ["a", "b", "c", "d"] {
            elements.open(name);
        }
        assert_eq!((elements.close("d"), elements.depth()), (Closed::Innermost, 3));
        assert_eq!((elements.close("x"), elements.depth()), (Closed::Nothing, 3));
        assert_eq!((elements.close("b"), elements.depth()), (Closed::Outer, 1));
        assert_eq!((elements.close("a"), elements.depth()), (Closed::Innermost, 0));
        assert_eq!(elements.close("a"), Closed::Nothing);
    }

    #[test]
    fn names_are_bounded_and_depth_is_not_lost() {
        let mut elements = Elements::default();
        (0..1_000_000).for_each(|_| elements.open("a"));
        assert_eq!(elements.depth(), 1_000_000);
        assert!(elements.held_bytes() < 64 << 10);
        (0..1_000_000).for_each(|_| assert_eq!(elements.close("a"), Closed::Innermost));
        assert_eq!(elements.depth(), 0);
        let long = "x".repeat(MOST_TEXT + 1);
        elements.open(&long);
        assert_eq!((elements.depth(), elements.close("y"), elements.depth()), (1, Closed::Innermost, 0));
    }
}
