//! A regular file that is to be sent: opened, with its size and state.

use super::tree_digest::UNIT_BYTES;
use caudal_core::plan::FileIdentity;
use caudal_core::units::ByteCount;
use caudal_flow::TransferFileError;
use rustix::fs::{
    FileType, MemfdFlags, OFlags, Stat, fcntl_getfl, fcntl_setfl, fstat, memfd_create,
};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

/// Maximum size that the kernel reports of a file whose content it makes as it is read: one page of 64 KiB.
const MAX_UNTRUE_SIZE: i64 = 64 << 10;
/// Maximum content of such a file, bytes.
const MAX_CONTENT: u64 = 64 << 20;
/// The bits of a mode that are permissions; those that change the user or group are not passed on.
pub(super) const PERMISSIONS: u32 = 0o777;

/// The size and time of change of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct SourceState {
    /// Its size.
    pub(super) bytes: u64,
    /// The time of its last change, ns since 1970.
    pub(super) modified_ns: u64,
}

/// A regular file that is to be sent. Clones share it.
#[derive(Debug, Clone)]
pub struct SourceFile {
    file: Arc<File>,
    name: Arc<str>,
    state: SourceState,
    /// The lower nine bits of its mode.
    permissions: u32,
}

impl SourceFile {
    /// The file that was opened under this name. Where the kernel reports no size, as in /proc, its content at this moment.
    ///
    /// # Errors
    /// When it is not a regular file.
    pub(super) fn new(file: File, name: &str) -> Result<Self, TransferFileError> {
        let failed = |cause| TransferFileError::kernel("read", name, cause);
        let mut file = file;
        let stat = fstat(&file).map_err(failed)?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(TransferFileError::NotRegular {
                name: name.to_owned(),
            });
        }
        // It was opened without waiting, in case it was a pipe; reading it waits.
        if is_without_blocks(&stat)
            && let Some(content) = content_of_other_size(&file, stat.st_size as usize)
                .map_err(|cause| TransferFileError::kernel("read", name, cause))?
        {
            file = content;
        }
        let flags = fcntl_getfl(&file).map_err(failed)?;
        fcntl_setfl(&file, flags - OFlags::NONBLOCK).map_err(failed)?;
        Ok(Self {
            state: state_of(&file).map_err(failed)?,
            file: Arc::new(file),
            name: name.into(),
            permissions: stat.st_mode & PERMISSIONS,
        })
    }

    /// Its size and time of change as it was opened.
    pub(super) const fn state(&self) -> SourceState {
        self.state
    }

    /// Its name with its size, time of change and permissions.
    pub fn identity(&self) -> FileIdentity {
        FileIdentity {
            name: self.name.as_ref().to_owned(),
            bytes: Some(ByteCount::new(self.state.bytes)),
            modified_ns: Some(self.state.modified_ns),
            permissions: Some(self.permissions),
        }
    }

    /// Its descriptor.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// Reads the bytes at `offset`, all of `out`.
    ///
    /// # Errors
    /// When the file is shorter or otherwise not as it was opened, or cannot be read.
    pub(super) fn read_at(&self, offset: u64, out: &mut [u8]) -> Result<(), TransferFileError> {
        let result = self.file.read_exact_at(out, offset);
        // A file that shrank shows in its state.
        self.check()?;
        result.map_err(|cause| TransferFileError::kernel("read", &self.name, cause))
    }

    /// Checks that it has what it had as it was opened. One that has grown may have it: whether it has shows in the digest.
    ///
    /// # Errors
    /// When it has become smaller, or has changed with the same size.
    pub(super) fn check(&self) -> Result<(), TransferFileError> {
        match state_of(&self.file) {
            Ok(state) if state == self.state || state.bytes > self.state.bytes => Ok(()),
            Ok(_) => Err(self.changed()),
            Err(cause) => Err(TransferFileError::kernel("read", &self.name, cause)),
        }
    }

    /// The error of a file that has changed.
    pub(super) fn changed(&self) -> TransferFileError {
        TransferFileError::Changed {
            name: self.name.as_ref().to_owned(),
        }
    }

    /// `true` when it has more bytes than as it was opened.
    pub(super) fn has_grown(&self) -> bool {
        state_of(&self.file).is_ok_and(|state| state.bytes > self.state.bytes)
    }

    /// The digest of the whole file; `advance` is called with the bytes of each step, and ends the reading when it returns `false`.
    ///
    /// # Errors
    /// When it cannot be read or changes meanwhile, or the reading was ended.
    pub(super) fn digest(
        &self,
        advance: &mut dyn FnMut(u64) -> bool,
    ) -> Result<[u8; 32], TransferFileError> {
        let mut hasher = blake3::Hasher::new();
        let mut buffer = vec![0; UNIT_BYTES.min(self.state.bytes) as usize];
        let mut offset = 0;
        while offset < self.state.bytes {
            let count = (self.state.bytes - offset).min(UNIT_BYTES) as usize;
            self.read_at(offset, &mut buffer[..count])?;
            hasher.update(&buffer[..count]);
            offset += count as u64;
            if !advance(count as u64) {
                return Err(TransferFileError::Stopped {
                    name: self.name.as_ref().to_owned(),
                });
            }
        }
        Ok(hasher.finalize().into())
    }
}

/// `true` of a file that takes no room on any disk, as those that the kernel makes when they are read: their size is 0 or that of a
/// page, whatever they have.
fn is_without_blocks(stat: &Stat) -> bool {
    stat.st_blocks == 0 && (0..=MAX_UNTRUE_SIZE).contains(&stat.st_size)
}

/// The content of a file in memory, where its size differs from the one that the kernel reports.
///
/// # Errors
/// When it cannot be read to its end.
fn content_of_other_size(file: &File, size: usize) -> io::Result<Option<File>> {
    let mut content = Vec::new();
    let mut whole = file.take(MAX_CONTENT + 1);
    whole.read_to_end(&mut content)?;
    if content.len() as u64 > MAX_CONTENT {
        let size = ByteCount::new(MAX_CONTENT);
        let error = format!(
            "the kernel does not tell its size, which is more than {size}; send it with --send - from standard input"
        );
        return Err(io::Error::other(error));
    }
    if content.len() == size {
        return Ok(None);
    }
    let mut copy = File::from(memfd_create("content", MemfdFlags::CLOEXEC)?);
    copy.write_all(&content)?;
    Ok(Some(copy))
}

fn state_of(file: &File) -> rustix::io::Result<SourceState> {
    let stat = fstat(file)?;
    let modified_ns = i128::from(stat.st_mtime) * 1_000_000_000 + i128::from(stat.st_mtime_nsec);
    Ok(SourceState {
        bytes: u64::try_from(stat.st_size).unwrap_or(0),
        modified_ns: u64::try_from(modified_ns).unwrap_or(0),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_file_whose_size_the_kernel_does_not_tell_is_what_can_be_read() {
        for path in ["/proc/self/limits", "/sys/class/net/lo/mtu"] {
            let Ok(content) = fs::read(path) else {
                continue;
            };
            let source = SourceFile::new(File::open(path).unwrap(), "made").unwrap();
            assert_eq!(source.state().bytes, content.len() as u64, "{path}");
            let digest = source.digest(&mut |_| true).unwrap();
            assert_eq!(digest, *blake3::hash(&content).as_bytes(), "{path}");
        }
    }

    #[test]
    fn a_file_that_grows_is_what_it_was_and_one_that_changes_otherwise_is_not() {
        use std::io::Write;
        let path = std::env::temp_dir().join(format!("caudal-grows-{}", std::process::id()));
        fs::write(&path, b"before").unwrap();
        let source = SourceFile::new(File::open(&path).unwrap(), "file").unwrap();
        assert!(source.check().is_ok() && !source.has_grown());
        let mut log = fs::OpenOptions::new().append(true).open(&path).unwrap();
        log.write_all(b", after").unwrap();
        assert!(source.check().is_ok() && source.has_grown());
        let digest = source.digest(&mut |_| true).unwrap();
        assert_eq!(digest, *blake3::hash(b"before").as_bytes());
        fs::write(&path, b"BEFORE").unwrap();
        let later = fs::File::options().write(true).open(&path).unwrap();
        later
            .set_modified(std::time::SystemTime::UNIX_EPOCH)
            .unwrap();
        assert!(source.check().is_err());
        fs::write(&path, b"bef").unwrap();
        assert!(source.check().is_err());
        fs::remove_file(path).unwrap();
    }

    #[test]
    fn an_empty_and_a_sparse_file_are_themselves() {
        let path = std::env::temp_dir().join(format!("caudal-sparse-{}", std::process::id()));
        let file = File::create_new(&path).unwrap();
        let bytes = || {
            SourceFile::new(File::open(&path).unwrap(), "file")
                .unwrap()
                .state()
                .bytes
        };
        assert_eq!(bytes(), 0);
        file.set_len(5000).unwrap();
        assert_eq!(bytes(), 5000);
        fs::remove_file(path).unwrap();
    }
}
