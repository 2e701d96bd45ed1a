//! The second pass: on each host the blocks that repeat over its pages are left out.
//!
//! Hosts are taken as many at a time as there is room to count.

use std::ops::Range;

use super::pages::Pages;
use super::{HOST_BYTES, LEAST_BYTES};
use crate::sketch::{
    Block, BlockCounter, MOST_BLOCKS, MOST_PLACES, REPEATED_LEAST, RepeatedBlocks, counting_step,
    decode_blocks,
};
use crate::store::StateError;

/// Gives every page the fingerprints that it is compared by.
///
/// # Errors
/// Where the pages cannot be read again.
pub(super) fn leave_out_repeated(pages: &mut Pages, memory: u64) -> Result<(), StateError> {
    let held = size_of_val(&pages.list[..]) + pages.of_host.len() * HOST_BYTES;
    let free = memory.saturating_sub(held as u64).saturating_sub(LEAST_BYTES / 2);
    within(pages, free.max(LEAST_BYTES / 2) as usize / BlockCounter::TEXT_BYTES)
}

/// The same, with room to count the blocks of so many pages.
fn within(pages: &mut Pages, room: usize) -> Result<(), StateError> {
    let mut from = 0;
    while from < pages.of_host.len() {
        let (batch, texts) = next_hosts(&pages.of_host, from, room);
        from = batch.end;
        let repeated = count(pages, &batch, texts)?;
        pages.compared.repeated_blocks += repeated.count();
        compare_without(pages, &batch, &repeated)?;
    }
    Ok(())
}

/// Pages of a host on which blocks are counted: none where too few have it to repeat.
fn counted(pages: u32) -> u32 {
    if pages < REPEATED_LEAST { 0 } else { pages.div_ceil(counting_step(pages)) }
}

/// The next hosts whose pages have room together, and how many of their pages are counted.
fn next_hosts(of_host: &[u32], from: usize, room: usize) -> (Range<usize>, usize) {
    let (mut end, mut texts) = (from, 0);
    while end < of_host.len() && end - from < MOST_PLACES as usize {
        let of_this = counted(of_host[end]) as usize;
        if end > from && texts + of_this > room {
            break;
        }
        texts += of_this;
        end += 1;
    }
    (from..end, texts)
}

/// Counts the blocks of some hosts.
fn count(pages: &mut Pages, batch: &Range<usize>, texts: usize) -> Result<RepeatedBlocks, StateError> {
    if texts == 0 {
        return Ok(RepeatedBlocks::default());
    }
    let mut counter = BlockCounter::with_capacity(texts);
    let mut met = vec![0_u32; batch.len()];
    let mut listed = Vec::with_capacity(MOST_BLOCKS);
    let of_host = std::mem::take(&mut pages.of_host);
    let read = pages.each_again(|page, text| {
        let host = page.host as usize;
        if !batch.contains(&host) || counted(of_host[host]) == 0 {
            return;
        }
        let met = &mut met[host - batch.start];
        let is_counted = met.is_multiple_of(counting_step(of_host[host]));
        *met += 1;
        if is_counted && text.is_some_and(|text| decode_blocks(text, &mut listed)) {
            counter.meet((host - batch.start) as u32, &listed);
        }
    });
    pages.of_host = of_host;
    read.map(|()| counter.finish())
}

/// Has the pages of some hosts compared by what does not repeat.
fn compare_without(
    pages: &mut Pages,
    batch: &Range<usize>,
    repeated: &RepeatedBlocks,
) -> Result<(), StateError> {
    let mut compared = pages.compared;
    let mut listed: Vec<Block> = Vec::with_capacity(MOST_BLOCKS);
    pages.each_again(|page, text| {
        if !batch.contains(&(page.host as usize)) {
            return;
        }
        match text.filter(|text| decode_blocks(text, &mut listed)) {
            None => compared.without_blocks += 1,
            Some(_) if page.leave_out(&listed, page.host - batch.start as u32, repeated) => {
                compared.by_own_text += 1;
            }
            Some(_) => compared.by_whole_text += 1,
        }
    })?;
    pages.compared = compared;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::pages::Page;
    use super::*;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    proptest! {
        #[test]
        fn every_host_has_its_turn_and_no_turn_is_too_large(
            of_host in proptest::collection::vec(1..2000_u32, 1..60), room in 1..2000_usize,
        ) {
            let mut from = 0;
            while from < of_host.len() {
                let (batch, texts) = next_hosts(&of_host, from, room);
                prop_assert!(batch.start == from && batch.end > from);
                prop_assert!(texts <= room || batch.len() == 1);
                let all: u32 = of_host[batch.clone()].iter().map(|pages| counted(*pages)).sum();
                prop_assert_eq!(texts, all as usize);
                from = batch.end;
            }
        }
    }

    /// Pages of a few hosts, each with a menu of its host and text of its own.
    fn written(folder: &std::path::Path) -> std::path::PathBuf {
        let words = |of: u32, count: u32| {
            let word = |n| format!("{:x}", u128::from(of * 1000 + n) * 0x9E37_79B9_7F4A_7C15_F39C);
            (0..count)
                .map(word)
                .map(|word| word.replace(|c: char| c.is_ascii_digit(), "g"))
                .collect::<Vec<_>>()
                .join(" ")
        };
        let mut lines = String::new();
        for n in 0..300_u32 {
            let host = n % 7;
            let text = format!("{} {}", words(host, 60), words(100 + n, if n % 5 == 0 { 3 } else { 40 }));
            let mut hasher = crate::sketch::SimHasher::default();
            hasher.feed(text.as_bytes());
            let (simhash, blocks) = hasher.finish_with_blocks().expect("words enough");
            let blocks = crate::sketch::encode_blocks(&blocks);
            let _infallible = writeln!(
                lines,
                "{{\"url\":\"http://h{host}.test/{n}\",\"simhash\":\"{simhash:016x}\",\"blocks\":\"{blocks}\"}}"
            );
        }
        let path = folder.join("pages.jsonl");
        std::fs::write(&path, lines).expect("written");
        path
    }

    #[test]
    fn little_room_changes_nothing_but_the_time() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = written(folder.path());
        let [one, other] = [1, usize::MAX / 2].map(|room| {
            let mut pages = Pages::read(&path, 64 << 20).expect("readable");
            within(&mut pages, room.min(1 << 20)).expect("readable");
            let fingerprints: Vec<_> = pages.list.iter().map(Page::fingerprint).collect();
            (fingerprints, pages.compared)
        });
        assert_eq!(one, other);
        assert!(
            one.1.repeated_blocks > 7 * 20 && one.1.by_whole_text > 20 && one.1.by_own_text >= 240,
            "{:?}",
            one.1
        );
    }
}
