//! The directory whose files clients may get.

use super::beneath::{open_beneath, open_directory};
use super::source_file::SourceFile;
use caudal_core::plan::check_file_name;
use caudal_flow::TransferFileError;
use rustix::fs::{Mode, OFlags};
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;

/// The directory whose files clients may get: regular files in it and below it, without following a symbolic link. Clones share it.
#[derive(Debug, Clone)]
pub struct ServedDirectory(Arc<OwnedFd>);

impl ServedDirectory {
    /// The directory at `path`.
    ///
    /// # Errors
    /// When it cannot be opened, or the kernel cannot keep paths below it.
    pub fn open(path: &Path) -> Result<Self, TransferFileError> {
        Ok(Self(Arc::new(open_directory(path)?)))
    }

    /// Opens a file to be sent.
    pub fn file(&self, name: &str) -> Result<SourceFile, TransferFileError> {
        check_file_name(name).map_err(|cause| TransferFileError::Name {
            name: name.to_owned(),
            cause,
        })?;
        // A pipe is not waited for, and a terminal does not become this process's.
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let file = open_beneath(self.0.as_fd(), name, flags, Mode::empty())
            .map_err(|cause| TransferFileError::kernel("open", name, cause))?;
        SourceFile::new(File::from(file), name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::ScratchDirectory;
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn only_regular_files_below_the_directory_are_served() {
        let outside = ScratchDirectory::new("outside");
        outside.write("secret", b"x");
        let scratch = ScratchDirectory::new("served");
        std::fs::create_dir(scratch.path().join("sub")).unwrap();
        scratch.write("sub/file", b"abc");
        symlink(outside.path(), scratch.path().join("link")).unwrap();
        symlink("sub/file", scratch.path().join("alias")).unwrap();
        let pipe = scratch.path().join("pipe");
        let made = std::process::Command::new("mkfifo").arg(&pipe).status();
        let served = ServedDirectory::open(scratch.path()).unwrap();
        assert_eq!(served.file("sub/file").unwrap().state().bytes, 3);
        let refusal = |name: &str| served.file(name).unwrap_err().to_string();
        for (name, reason) in [
            ("missing", "there is no file \"missing\""),
            ("sub", "\"sub\" is not a regular file"),
            ("../secret", "must not have the component . or .."),
            ("/etc/passwd", "it must be relative"),
            ("a\nb", "must not have control characters"),
            ("link/secret", "symbolic link"),
            ("alias", "symbolic link"),
        ] {
            let message = refusal(name);
            assert!(message.contains(reason), "{message}");
            assert!(!message.contains('\n'), "{message}");
        }
        if made.is_ok_and(|status| status.success()) {
            assert!(refusal("pipe").contains("not a regular file"));
        }
    }

    #[test]
    fn a_directory_that_cannot_be_used_is_named() {
        let error = ServedDirectory::open(Path::new("/no/such/directory")).unwrap_err();
        assert!(error.to_string().contains("/no/such/directory"), "{error}");
        assert!(ServedDirectory::open(Path::new("/etc/passwd")).is_err());
    }
}
