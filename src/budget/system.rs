//! What only the operating system can do about resident memory: an allocator
//! that keeps little, and code that is resident only where it runs.
//!
//! Process-wide, so it is for a program to ask for, never done by the library
//! of itself. Knows nothing of budgets. One of the few modules with `unsafe`;
//! where the system is not Linux (or its allocator not glibc's) nothing happens.
#![allow(unsafe_code)]

/// Makes this process thrifty; to be called first thing in a program, before any thread exists.
///
/// - glibc's allocator gets one arena and gives large blocks back at once: with one arena per
///   thread, what one thread freed is no use to another.
/// - Program code becomes resident page by page. Linux maps 64 KiB around each page of a file that
///   is touched, so that of 10 MiB of code and constants nearly all is resident as soon as a
///   crawl runs, while 1.5 MiB are in use.
pub fn economize() {
    allocator::keep_little();
    code::map_by_page();
    signals::let_writes_fail();
}

/// Lets glibc's allocator have up to `most` arenas, so that threads wait less for each other; each may
/// keep some memory that no other can use. To be called before the threads exist.
pub fn allow_arenas(most: u64) {
    allocator::allow_arenas(libc::c_int::try_from(most).unwrap_or(libc::c_int::MAX).max(1));
}

/// Gives back what is not in use: free blocks inside the allocator, and code that has not run
/// lately. What is still needed comes back by itself, at a microsecond or less a page.
pub fn release_unused() {
    allocator::release_free();
    code::let_go();
}

/// A file that may not grow any more (`ulimit -f`) is an error of the write, like a full disk, and
/// no reason to die.
#[cfg(unix)]
mod signals {
    pub(super) fn let_writes_fail() {
        // SAFETY: sets how one signal is treated; no handler of ours runs.
        unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
    }
}

#[cfg(not(unix))]
mod signals {
    pub(super) fn let_writes_fail() {}
}

/// glibc's allocator.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod allocator {
    /// Blocks from this size on are mapped one by one, and unmapped when freed.
    const MAPPED_FROM: libc::c_int = 64 << 10;
    /// Free memory at the end of the heap that is kept.
    const KEPT_AT_END: libc::c_int = 128 << 10;

    pub(super) fn keep_little() {
        // a setting that is refused leaves the default, which works too
        for (parameter, value) in [
            (libc::M_ARENA_MAX, 1),
            (libc::M_MMAP_THRESHOLD, MAPPED_FROM),
            (libc::M_TRIM_THRESHOLD, KEPT_AT_END),
            (libc::M_TOP_PAD, KEPT_AT_END / 2),
        ] {
            // SAFETY: takes two numbers and sets a field of the allocator under its own lock.
            unsafe { libc::mallopt(parameter, value) };
        }
    }

    pub(super) fn allow_arenas(most: libc::c_int) {
        // SAFETY: as above.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, most) };
    }

    pub(super) fn release_free() {
        // SAFETY: looks for free pages under the allocator's own locks; no block in use is touched.
        unsafe { libc::malloc_trim(0) };
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod allocator {
    pub(super) fn keep_little() {}
    pub(super) fn allow_arenas(_: libc::c_int) {}
    pub(super) fn release_free() {}
}

/// The mappings of program files.
#[cfg(target_os = "linux")]
mod code {
    use std::ops::Range;
    use std::sync::OnceLock;

    /// Pages a process may split its mappings into with the kernel's default limit of 65,530
    /// mappings, half of which is left to others.
    const MOST_PAGES: usize = 32 << 10;

    /// Addresses of code and constants of this program and its libraries, as they were at the start.
    static MAPPED: OnceLock<Vec<Range<usize>>> = OnceLock::new();

    pub(super) fn map_by_page() {
        let (Some(page), Ok(text)) = (page_size(), std::fs::read_to_string("/proc/self/smaps")) else {
            return;
        };
        let ranges = unchanged_files(&text);
        if ranges.iter().map(|range| range.len() / page).sum::<usize>() > MOST_PAGES {
            return;
        }
        for range in &ranges {
            // Neighbours that differ in an attribute are mappings of their own, and the kernel
            // reads ahead within one mapping only. This attribute leaves a page of code out of
            // a core dump, where it is not wanted: debuggers read it from its file.
            for start in range.clone().step_by(page).skip(1).step_by(2) {
                // SAFETY: the page lies inside a mapping of this process, and the advice concerns core dumps only.
                unsafe { libc::madvise(std::ptr::without_provenance_mut(start), page, libc::MADV_DONTDUMP) };
            }
        }
        let _ = MAPPED.set(ranges);
        let_go();
    }

    pub(super) fn let_go() {
        for range in MAPPED.get().into_iter().flatten() {
            let start = std::ptr::without_provenance_mut(range.start);
            // SAFETY: a private mapping of a file that cannot be written through and held no page
            // of its own; what is touched next is read from the file again, with the same content.
            unsafe { libc::madvise(start, range.len(), libc::MADV_DONTNEED) };
        }
    }

    fn page_size() -> Option<usize> {
        // SAFETY: reads a constant of the system.
        usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).ok().filter(|size| *size > 0)
    }

    /// The mappings in the text of `/proc/self/smaps` that show files unchanged: private, not
    /// writable, and without a page that differs from its file (as relocated constants do, which
    /// would be lost, and a debugger's breakpoints).
    fn unchanged_files(smaps: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut current = None;
        for line in smaps.lines() {
            if let Some((range, is_candidate)) = mapping(line) {
                current = is_candidate.then_some(range);
            } else if line.strip_prefix("Anonymous:").is_some_and(|rest| rest.trim() == "0 kB") {
                found.extend(current.take());
            }
        }
        found
    }

    /// For the first line of a mapping: its addresses, and whether it shows a file that cannot be written to.
    fn mapping(line: &str) -> Option<(Range<usize>, bool)> {
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let addresses = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        let readable = matches!(fields.next()?, "r-xp" | "r--p");
        let of_file = fields.nth(3).is_some_and(|name| name.starts_with('/'));
        Some((addresses, readable && of_file))
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        const SMAPS: &str = "\
5000-7000 r--p 00000000 fe:00 12                         /usr/bin/program
Size:                  8 kB
Rss:                   8 kB
Anonymous:             0 kB
VmFlags: rd mr mw me
7000-9000 r-xp 00002000 fe:00 12                         /usr/bin/program with a space
Anonymous:             0 kB
9000-a000 r--p 00004000 fe:00 12                         /usr/bin/program
Anonymous:             4 kB
a000-b000 rw-p 00005000 fe:00 12                         /usr/bin/program
Anonymous:             0 kB
b000-c000 rw-p 00000000 00:00 0                          [heap]
Anonymous:             0 kB
c000-d000 r-xp 00000000 00:00 0                          [vdso]
Anonymous:             0 kB
d000-e000 r--s 00000000 fe:00 13                         /var/cache/shared
Anonymous:             0 kB
e000-f000 r--p 00000000 00:00 0
Anonymous:             0 kB
";

        #[test]
        fn only_unchanged_files_are_let_go() {
            assert_eq!(unchanged_files(SMAPS), [0x5000..0x7000, 0x7000..0x9000]);
            assert!(unchanged_files("nonsense\n-\nr-xp\nAnonymous: 0 kB\n").is_empty());
        }

        #[test]
        fn this_process_goes_on_without_its_code() {
            super::super::economize();
            let ranges = MAPPED.get().map_or(0, Vec::len);
            assert!(ranges > 0, "no mapping was found");
            for round in 0..20_usize {
                super::super::release_unused();
                let text: String = (0..round).map(|number| char::from(b'a' + number as u8)).collect();
                assert_eq!(text.len(), round);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod code {
    pub(super) fn map_by_page() {}
    pub(super) fn let_go() {}
}
