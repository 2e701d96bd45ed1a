//! Clearing away files that no manifest names.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::io;
use std::path::Path;

use super::{StateError, Storage};

/// Deletes every file of a directory whose name is not among those given, and gives the names of
/// the deleted. Directories in it are left alone.
///
/// The names must include all that is to stay, such as the manifest itself and the lock. What is
/// deleted may be there again after a power cut; it is garbage then as it is now, so nothing is
/// synced.
///
/// # Errors
/// [`StateError::Io`], with part of the files deleted.
pub fn remove_unnamed<S: BuildHasher>(
    storage: &dyn Storage,
    directory: &Path,
    named: &HashSet<String, S>,
) -> Result<Vec<String>, StateError> {
    let mut garbage = storage.names(directory).map_err(StateError::io(directory))?;
    garbage.retain(|name| !named.contains(name));
    for name in &garbage {
        let path = directory.join(name);
        match storage.remove(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(StateError::io(&path)(error));
            }
            _ => {}
        }
    }
    Ok(garbage)
}
