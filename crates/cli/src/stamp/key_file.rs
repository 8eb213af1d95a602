//! The file with the key that authenticates packets of STAMP.

use crate::exit::Failure;
use crate::token_file::read_private;
use caudal_wire::stamp::StampKey;
use std::path::Path;

/// The key in the file of `flag`: its bytes without the last line break.
///
/// # Errors
/// When it cannot be read, every user may read or write it, or it is too short or too long for a key.
pub(crate) fn read_stamp_key(path: &Path, flag: &str) -> Result<StampKey, Failure> {
    let text = read_private(path, flag)?;
    let key = text.strip_suffix('\n').unwrap_or(&text);
    StampKey::new(key.as_bytes()).ok_or_else(|| {
        Failure::usage(
            format!(
                "the {flag} {} does not have 16 to 1024 bytes",
                path.display()
            ),
            "make one with `openssl rand -hex 32`, and give both ends the same",
        )
    })
}
