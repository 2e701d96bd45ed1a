//! Owns the memory of large arrays of cache lines: zeroed lazily by the
//! operating system, so that resident memory follows use, and on huge pages
//! where the array is large, so that a random access does not also miss the
//! translation buffer.
//!
//! Knows nothing of filters or tables. One of the few modules with `unsafe`.
#![allow(unsafe_code)]

use std::io;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// One cache line: eight words, aligned to 64 bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Line(pub [u64; 8]);

/// Bytes of one [`Line`].
pub const LINE_BYTES: u64 = 64;

/// A huge page of the processors this is built for.
const HUGE_PAGE: usize = 2 << 20;

/// Arrays from this size on ask for huge pages.
const HUGE_FROM: usize = 2 * HUGE_PAGE;

/// An array of cache lines that begins as zeros and costs memory only where it was written.
#[derive(Debug)]
pub struct Lines {
    first: NonNull<Line>,
    count: usize,
    mapping: platform::Mapping,
}

// SAFETY: `Lines` owns its memory exclusively, like `Box<[Line]>`; `Line` is plain data.
unsafe impl Send for Lines {}
// SAFETY: as above; shared access only reads.
unsafe impl Sync for Lines {}

impl Lines {
    /// `count` zeroed lines; an error where the operating system has no address space for them.
    pub fn zeroed(count: usize) -> io::Result<Self> {
        let bytes = count
            .checked_mul(size_of::<Line>())
            .filter(|bytes| *bytes < isize::MAX as usize / 2)
            .ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
        if bytes == 0 {
            return Ok(Lines { first: NonNull::dangling(), count: 0, mapping: platform::Mapping::none() });
        }
        let align = if bytes >= HUGE_FROM { HUGE_PAGE } else { align_of::<Line>() };
        let mut mapping = platform::Mapping::zeroed(bytes, align)?;
        let first = mapping.aligned_start(align);
        if bytes >= HUGE_FROM {
            mapping.advise_huge_pages();
        }
        Ok(Lines { first: first.cast(), count, mapping })
    }

    /// Sets every line to zero.
    pub fn clear(&mut self) {
        self.fill(Line::default());
    }

    /// Gives the memory of `from..to` back where the platform can; these lines read as
    /// anything afterwards (zeros or what they were) and are not to be used again.
    pub fn release(&mut self, from: usize, to: usize) {
        let to = to.min(self.count);
        if from < to {
            self.mapping.release(
                self.first.as_ptr() as usize,
                from * size_of::<Line>(),
                to * size_of::<Line>(),
            );
        }
    }
}

impl Deref for Lines {
    type Target = [Line];

    fn deref(&self) -> &[Line] {
        // SAFETY: `first` is aligned and valid for `count` initialized lines (the mapping is
        // at least that long from `first` on, zeroed by the system) or dangling with count 0.
        unsafe { std::slice::from_raw_parts(self.first.as_ptr(), self.count) }
    }
}

impl DerefMut for Lines {
    fn deref_mut(&mut self) -> &mut [Line] {
        // SAFETY: as in `deref`; `&mut self` makes the access exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.first.as_ptr(), self.count) }
    }
}

#[cfg(unix)]
mod platform {
    use std::io;
    use std::ptr::NonNull;

    use super::HUGE_PAGE;

    /// Anonymous memory mapped for one array, unmapped on drop.
    #[derive(Debug)]
    pub(super) struct Mapping {
        start: NonNull<u8>,
        length: usize,
    }

    impl Mapping {
        pub(super) fn none() -> Self {
            Mapping { start: NonNull::dangling(), length: 0 }
        }

        /// At least `bytes` from the first multiple of `align` on; what lies before it is
        /// address space only and never becomes resident.
        pub(super) fn zeroed(bytes: usize, align: usize) -> io::Result<Self> {
            let length = bytes + align;
            // SAFETY: a fresh private anonymous mapping touches no existing memory.
            let start = unsafe {
                libc::mmap(
                    std::ptr::null_mut(),
                    length,
                    libc::PROT_READ | libc::PROT_WRITE,
                    libc::MAP_PRIVATE | libc::MAP_ANON,
                    -1,
                    0,
                )
            };
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let start =
                NonNull::new(start.cast()).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
            Ok(Mapping { start, length })
        }

        pub(super) fn aligned_start(&self, align: usize) -> NonNull<u8> {
            let skip = self.start.as_ptr().align_offset(align);
            // SAFETY: the mapping is `align` bytes longer than asked for and `skip` is below `align`.
            unsafe { self.start.add(skip) }
        }

        /// A wish: the array works the same without.
        pub(super) fn advise_huge_pages(&mut self) {
            #[cfg(target_os = "linux")]
            // SAFETY: the range is exactly this mapping; the advice changes no content.
            unsafe {
                libc::madvise(self.start.as_ptr().cast(), self.length, libc::MADV_HUGEPAGE);
            }
        }

        /// Only whole huge pages inside the range are given back, so that none is split.
        pub(super) fn release(&mut self, first: usize, from: usize, to: usize) {
            let begin = (first + from).next_multiple_of(HUGE_PAGE);
            let end = (first + to).min(self.start.as_ptr() as usize + self.length) / HUGE_PAGE * HUGE_PAGE;
            if begin < end {
                // SAFETY: the range lies inside this mapping, which the caller holds exclusively;
                // private anonymous memory stays valid and reads as zeros afterwards.
                unsafe {
                    libc::madvise(begin as *mut libc::c_void, end - begin, libc::MADV_DONTNEED);
                }
            }
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            if self.length > 0 {
                // SAFETY: start and length are those of one successful `mmap`, unmapped only here.
                unsafe {
                    libc::munmap(self.start.as_ptr().cast(), self.length);
                }
            }
        }
    }
}

#[cfg(not(unix))]
mod platform {
    use std::alloc::Layout;
    use std::io;
    use std::ptr::NonNull;

    /// Zeroed memory from the global allocator.
    #[derive(Debug)]
    pub(super) struct Mapping {
        start: NonNull<u8>,
        layout: Option<Layout>,
    }

    impl Mapping {
        pub(super) fn none() -> Self {
            Mapping { start: NonNull::dangling(), layout: None }
        }

        pub(super) fn zeroed(bytes: usize, align: usize) -> io::Result<Self> {
            let layout = Layout::from_size_align(bytes, align).map_err(io::Error::other)?;
            // SAFETY: the layout has a size above zero (an empty array never comes here).
            let start = unsafe { std::alloc::alloc_zeroed(layout) };
            let start = NonNull::new(start).ok_or_else(|| io::Error::from(io::ErrorKind::OutOfMemory))?;
            Ok(Mapping { start, layout: Some(layout) })
        }

        pub(super) fn aligned_start(&self, _align: usize) -> NonNull<u8> {
            self.start
        }

        pub(super) fn advise_huge_pages(&mut self) {}

        pub(super) fn release(&mut self, _first: usize, _from: usize, _to: usize) {}
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            if let Some(layout) = self.layout {
                // SAFETY: allocated with this very layout in `zeroed`, freed only here.
                unsafe { std::alloc::dealloc(self.start.as_ptr(), layout) }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn lines_begin_as_aligned_zeros_whatever_the_size() {
        for count in [0, 1, 63, 4096, HUGE_FROM / 64, HUGE_FROM / 64 + 1] {
            let mut lines = Lines::zeroed(count).unwrap();
            assert_eq!(lines.len(), count);
            assert_eq!(lines.as_ptr() as usize % 64, 0);
            assert!(lines.iter().all(|line| *line == Line::default()));
            if let Some(last) = lines.last_mut() {
                last.0[7] = 1;
            }
            lines.clear();
            assert!(lines.iter().all(|line| *line == Line::default()));
        }
    }

    #[test]
    fn what_no_machine_has_is_an_error() {
        assert!(Lines::zeroed(usize::MAX).is_err());
        assert!(Lines::zeroed(usize::MAX / 256).is_err());
    }

    #[test]
    fn releasing_a_part_leaves_the_rest() {
        let mut lines = Lines::zeroed(HUGE_FROM / 16).unwrap();
        lines.fill(Line([7; 8]));
        lines.release(0, HUGE_FROM / 32);
        assert!(lines[HUGE_FROM / 32..].iter().all(|line| *line == Line([7; 8])));
        lines.release(5, 3);
        lines.release(0, usize::MAX);
    }
}
