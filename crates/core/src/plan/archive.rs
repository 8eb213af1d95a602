//! Several small files that are sent as one content.

use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Maximum number of files and directories in an archive.
pub const MAX_ARCHIVE_ENTRIES: u32 = 10_000;
/// Maximum size of an archive, bytes.
pub const MAX_ARCHIVE_BYTES: u64 = 64 << 20;

/// Several small files and empty directories that are sent as one content (protocol.md, section 4.2): a transfer of its own would take
/// each of them more time than its bytes do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileArchive {
    /// The number of files and of empty directories.
    pub entries: u32,
    /// Its size, with the names and digests of the files.
    pub bytes: ByteCount,
}
