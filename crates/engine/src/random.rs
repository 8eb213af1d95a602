//! Numbers nobody can guess, from the kernel.

use std::fs::File;
use std::io::{self, Read};

/// Sixteen random bytes.
///
/// # Errors
/// When the kernel's source cannot be read.
pub(crate) fn random_bytes() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}
