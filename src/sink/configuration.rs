//! The frozen configuration of a crawl, `crawl.toml`, and the checksum in its last line.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::store::{StateError, sync_directory};

/// The frozen configuration, which marks a crawl that has begun.
pub(super) const CONFIGURATION: &str = "crawl.toml";

/// What the last line of a configuration begins with; the CRC-32 of all above it follows.
const SEAL: &str = "# crc32 of the lines above: ";

/// A configuration with its checksum.
fn sealed(configuration: &str) -> String {
    format!("{configuration}{SEAL}{:08x}\n", crc32fast::hash(configuration.as_bytes()))
}

/// Holds the configuration of a crawl against its checksum: a crawl goes on with the very configuration
/// that it began with, or not at all.
///
/// # Errors
/// [`StateError::Damaged`] where it is another one, or no text.
pub fn check_configuration(directory: &Path) -> Result<(), StateError> {
    let path = directory.join(CONFIGURATION);
    let bytes = fs::read(&path).map_err(StateError::io(&path))?;
    let text = String::from_utf8(bytes).map_err(|error| {
        StateError::damaged(&path, error.utf8_error().valid_up_to() as u64, "it is not UTF-8")
    })?;
    let place = text.rfind(SEAL).unwrap_or(text.len());
    if sealed(&text[..place]) == text {
        return Ok(());
    }
    let problem = "it is not as it was written when the crawl began; put it back as it was";
    Err(StateError::damaged(&path, place as u64, problem))
}

/// Puts a configuration with its checksum in its place, whole: it may hold cookies and passwords, so only
/// its owner may read it.
pub(super) fn write_configuration(path: &Path, configuration: &str) -> io::Result<()> {
    let aside = path.with_extension("toml.new");
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&aside)?;
    file.write_all(sealed(configuration).as_bytes())?;
    file.sync_all()?;
    fs::rename(&aside, path)?;
    sync_directory(path.parent().unwrap_or(Path::new(".")))
}
