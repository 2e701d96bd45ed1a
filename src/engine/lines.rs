//! The lines of a file that grows meanwhile, one at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::store::StateError;

/// Bytes of a line that is looked at; no line of ours is longer.
const LONGEST: usize = 16 << 20;

/// Shows each whole line of the first `length` bytes of a file, without its end; of a file that is
/// not there, none. What follows the last line break is not whole, and is left out.
///
/// # Errors
/// Where it cannot be read.
pub(super) fn each_line(path: &Path, length: u64, mut visit: impl FnMut(&[u8])) -> Result<(), StateError> {
    try_each_line(path, length, |_, line| {
        visit(line);
        Ok(())
    })
}

/// The same, with the place where each line begins, up to the first line at which `visit` fails.
///
/// # Errors
/// Where the file cannot be read, and whatever `visit` says.
pub(super) fn try_each_line<E: From<StateError>>(
    path: &Path,
    length: u64,
    mut visit: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        opened => opened.map_err(StateError::io(path))?,
    };
    let mut reader = BufReader::with_capacity(64 << 10, file.take(length));
    let (mut line, mut too_long) = (Vec::new(), false);
    let (mut at, mut begin) = (0, 0);
    loop {
        let piece = reader.fill_buf().map_err(StateError::io(path))?;
        if piece.is_empty() {
            return Ok(());
        }
        let end = memchr::memchr(b'\n', piece);
        let part = &piece[..end.unwrap_or(piece.len())];
        too_long |= line.len() + part.len() > LONGEST;
        match end {
            // Most lines lie in one piece.
            Some(_) if line.is_empty() && !too_long => visit(begin, part)?,
            _ if !too_long => line.extend_from_slice(part),
            _ => {}
        }
        if end.is_some() {
            if !line.is_empty() && !too_long {
                visit(begin, &line)?;
            }
            line.clear();
            too_long = false;
        }
        let consumed = part.len() + usize::from(end.is_some());
        at += consumed as u64;
        if end.is_some() {
            begin = at;
        }
        reader.consume(consumed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whole_lines_and_nothing_else(
            lines in proptest::collection::vec("[a-z]{1,9}", 0..9), length in 0..99_u64, long in 0..3_usize,
        ) {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join("lines");
            let long = "x".repeat(long * 50_000);
            let lines: Vec<String> = lines.iter().map(|line| format!("{line}\n")).collect();
            let text = format!("{long}y\n{}", lines.concat());
            std::fs::write(&path, &text).expect("written");
            let end = (length as usize + long.len()).min(text.len());
            let mut seen = Vec::new();
            each_line(&path, end as u64, |line| seen.push(String::from_utf8_lossy(line).into_owned()))
                .expect("readable");
            let whole = text[..end].rfind('\n').map_or("", |last| &text[..last]);
            let expected: Vec<&str> = whole.split('\n').filter(|line| !line.is_empty()).collect();
            prop_assert_eq!(&seen, &expected);
            let mut places = Vec::new();
            try_each_line::<StateError>(&path, end as u64, |place, line| {
                places.push((place as usize, line.len()));
                Ok(())
            })
            .expect("readable");
            let there: Vec<&str> = places.iter().map(|(place, length)| &text[*place..place + length]).collect();
            prop_assert_eq!(there, expected);
            each_line(&folder.path().join("none"), 9, |_| panic!("there is no file")).expect("nothing");
        }
    }
}
