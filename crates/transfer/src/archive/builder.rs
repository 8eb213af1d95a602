//! An archive as its sender makes it, in memory.

use super::entry::{EntryHeader, EntryKind, HEADER_BYTES, MAX_FILE_BYTES};
use crate::source_file::PERMISSIONS;
use caudal_core::plan::{FileArchive, MAX_ARCHIVE_BYTES, MAX_ARCHIVE_ENTRIES};
use caudal_core::units::ByteCount;
use std::fs::{Metadata, OpenOptions, symlink_metadata};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What an archive is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ArchiveMember {
    /// A small file.
    File {
        /// Its path.
        path: PathBuf,
        /// Its name at the receiver.
        name: String,
    },
    /// A directory.
    Directory {
        /// Its path, where its permissions and the time of its last change go with it.
        path: Option<PathBuf>,
        /// Its name at the receiver.
        name: String,
    },
    /// A symbolic link.
    Link {
        /// Where it leads.
        target: PathBuf,
        /// Its name at the receiver.
        name: String,
    },
}

impl ArchiveMember {
    /// The size of an archive's entry for it, where it has this many bytes.
    #[must_use]
    pub const fn entry_bytes(&self, file_bytes: u64) -> u64 {
        let (Self::File { name, .. } | Self::Directory { name, .. } | Self::Link { name, .. }) =
            self;
        (HEADER_BYTES + name.len()) as u64 + file_bytes
    }

    /// The size of its content as it is now; 0 where nobody can tell.
    #[must_use]
    pub fn content_bytes(&self) -> u64 {
        match self {
            Self::File { path, .. } => symlink_metadata(path).map_or(0, |meta| meta.len()),
            Self::Directory { .. } => 0,
            Self::Link { target, .. } => target.as_os_str().len() as u64,
        }
    }
}

/// A file that could not be read, and is not in the archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadMember {
    /// Its path.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

/// An archive in memory.
#[derive(Debug, Default)]
pub(crate) struct BuiltArchive {
    pub(crate) bytes: Vec<u8>,
    entries: u32,
    /// What could not be read.
    pub(crate) unread: Vec<UnreadMember>,
}

impl BuiltArchive {
    /// The archive of these members, as they are now. One that cannot be read is left out.
    pub(crate) fn of(members: &[ArchiveMember]) -> Self {
        let mut archive = Self::default();
        for member in members {
            match member {
                ArchiveMember::Directory { path, name } => {
                    let meta = path.as_ref().and_then(|path| symlink_metadata(path).ok());
                    let attributes = meta.filter(Metadata::is_dir).map(|meta| ReadFile {
                        content: Vec::new(),
                        permissions: meta.mode() & PERMISSIONS,
                        modified_ns: modified_ns(&meta),
                    });
                    archive.add(EntryKind::Directory, name, &attributes.unwrap_or_default());
                }
                ArchiveMember::Link { target, name } => {
                    let target = ReadFile {
                        content: target.as_os_str().as_bytes().to_vec(),
                        ..ReadFile::default()
                    };
                    archive.add(EntryKind::Link, name, &target);
                }
                ArchiveMember::File { path, name } => match read(path) {
                    Ok(file) if archive.has_room(member, file.content.len()) => {
                        archive.add(EntryKind::File, name, &file);
                    }
                    Ok(_) => archive.leave_out(path, "it, or one sent with it, has grown"),
                    Err(reason) => archive.leave_out(path, &reason),
                },
            }
        }
        archive
    }

    /// The archive as a plan describes it.
    pub(crate) fn describe(&self) -> FileArchive {
        FileArchive {
            entries: self.entries,
            bytes: ByteCount::new(self.bytes.len() as u64),
        }
    }

    fn has_room(&self, member: &ArchiveMember, file_bytes: usize) -> bool {
        let size = self.bytes.len() as u64 + member.entry_bytes(file_bytes as u64);
        size <= MAX_ARCHIVE_BYTES && self.entries < MAX_ARCHIVE_ENTRIES
    }

    fn add(&mut self, kind: EntryKind, name: &str, file: &ReadFile) {
        let content = file.content.as_slice();
        let digest = match kind {
            EntryKind::File | EntryKind::Link => blake3::hash(content).into(),
            EntryKind::Directory => [0; 32],
        };
        let header = EntryHeader {
            kind,
            name_bytes: name.len(),
            file_bytes: content.len(),
            permissions: file.permissions,
            modified_ns: file.modified_ns,
            digest,
        };
        self.bytes.extend_from_slice(&header.encode());
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.extend_from_slice(content);
        self.entries += 1;
    }

    fn leave_out(&mut self, path: &Path, reason: &str) {
        self.unread.push(UnreadMember {
            path: path.to_owned(),
            reason: reason.to_owned(),
        });
    }
}

/// A small file that was read.
#[derive(Debug, Default)]
struct ReadFile {
    content: Vec<u8>,
    permissions: u32,
    modified_ns: u64,
}

/// A small file as it is now.
fn read(path: &Path) -> Result<ReadFile, String> {
    let unreadable = |cause: std::io::Error| format!("unreadable: {cause}");
    // What has become a pipe or a link meanwhile is neither waited for nor followed.
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY | libc::O_NOFOLLOW)
        .open(path)
        .map_err(unreadable)?;
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err("no regular file any more".to_owned());
    }
    let mut content = Vec::new();
    let mut limited = file.take(MAX_FILE_BYTES as u64 + 1);
    limited.read_to_end(&mut content).map_err(unreadable)?;
    match content.len() {
        0..=MAX_FILE_BYTES => Ok(ReadFile {
            content,
            permissions: meta.mode() & PERMISSIONS,
            modified_ns: modified_ns(&meta),
        }),
        _ => Err("larger than it was said to be".to_owned()),
    }
}

/// The time of the last change of a file, ns since 1970; 0 before.
fn modified_ns(meta: &Metadata) -> u64 {
    let at_ns = i128::from(meta.mtime()) * 1_000_000_000 + i128::from(meta.mtime_nsec());
    u64::try_from(at_ns).unwrap_or(0)
}
