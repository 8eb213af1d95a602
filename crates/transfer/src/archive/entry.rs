//! The header of an entry of an archive.
//!
//! An archive is its entries, one behind the other. Each is a header of 51 bytes, the name, and the content of the file. The header has
//! the kind (1 byte: `F` a file, `D` a directory, `L` a symbolic link), the length of the name (2), the size of the content (4), the permissions (4), the time of
//! the last change, ns since 1970 (8), all little-endian, and the BLAKE3 digest of the content (32). A directory has a digest of zeros, and
//! zeros for the permissions and the time too where it keeps neither; the content of a link is where it leads, without permissions and time.

/// The bytes of a header.
pub(super) const HEADER_BYTES: usize = 51;
/// Maximum length of a name, bytes.
pub(super) const MAX_NAME_BYTES: usize = 1024;
/// Maximum size of a file in an archive, bytes.
pub(super) const MAX_FILE_BYTES: usize = 1 << 20;
/// Maximum length of where a link leads, bytes (PATH_MAX without the NUL).
pub(super) const MAX_TARGET_BYTES: usize = 4095;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Directory,
    Link,
}

/// The header of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct EntryHeader {
    pub(super) kind: EntryKind,
    pub(super) name_bytes: usize,
    pub(super) file_bytes: usize,
    /// The lower nine bits of the mode.
    pub(super) permissions: u32,
    /// The time of the last change, ns since 1970.
    pub(super) modified_ns: u64,
    pub(super) digest: [u8; 32],
}

impl EntryHeader {
    pub(super) fn encode(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0] = match self.kind {
            EntryKind::File => b'F',
            EntryKind::Directory => b'D',
            EntryKind::Link => b'L',
        };
        bytes[1..3].copy_from_slice(&(self.name_bytes as u16).to_le_bytes());
        bytes[3..7].copy_from_slice(&(self.file_bytes as u32).to_le_bytes());
        bytes[7..11].copy_from_slice(&self.permissions.to_le_bytes());
        bytes[11..19].copy_from_slice(&self.modified_ns.to_le_bytes());
        bytes[19..].copy_from_slice(&self.digest);
        bytes
    }

    /// The header in these bytes; `None` where they are none, or what they announce is too large.
    pub(super) fn decode(bytes: &[u8; HEADER_BYTES]) -> Option<Self> {
        let kind = match bytes[0] {
            b'F' => EntryKind::File,
            b'D' => EntryKind::Directory,
            b'L' => EntryKind::Link,
            _ => return None,
        };
        let name_bytes = usize::from(u16::from_le_bytes([bytes[1], bytes[2]]));
        let size = u32::from_le_bytes([bytes[3], bytes[4], bytes[5], bytes[6]]);
        let file_bytes = usize::try_from(size).ok()?;
        let max = match kind {
            EntryKind::File => MAX_FILE_BYTES,
            EntryKind::Directory => 0,
            EntryKind::Link => MAX_TARGET_BYTES,
        };
        let (mut modified, mut digest) = ([0; 8], [0; 32]);
        modified.copy_from_slice(&bytes[11..19]);
        digest.copy_from_slice(&bytes[19..]);
        (name_bytes <= MAX_NAME_BYTES && file_bytes <= max).then_some(Self {
            kind,
            name_bytes,
            file_bytes,
            permissions: u32::from_le_bytes([bytes[7], bytes[8], bytes[9], bytes[10]]),
            modified_ns: u64::from_le_bytes(modified),
            digest,
        })
    }
}
