//! The directory in which files that arrive are stored.

use super::beneath::{
    OwnDirectories, make_parent, new_directory, open_beneath, open_directory, os_name,
};
use super::journal::JournalContent;
use super::nameless_file::{NamelessFile, nameless_file_at};
use super::store_quota::{QuotaUsedUp, StoreQuota, StoredBytes};
use super::stored_file::{
    FileAttributes, Replacement, StoredFile, check_destination, check_space, is_reserved,
    journal_name, open_part, part_name,
};
use caudal_core::plan::{FileIdentity, TransferContent, TransferPlan, check_file_name};
use caudal_core::units::ByteCount;
use caudal_flow::{ClientSource, TransferFileError};
use rustix::fs::{
    Access, AtFlags, Mode, OFlags, accessat, fstatvfs, readlinkat, renameat, symlinkat, syncfs,
    unlinkat,
};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

/// A file whose whole content is there.
#[derive(Debug, Clone, Copy)]
pub(super) struct FileToStore<'a> {
    pub(super) name: &'a str,
    pub(super) content: &'a [u8],
    /// `true` to replace one of that name.
    pub(super) overwrite: bool,
    /// What it keeps beside its content; `None` for nothing.
    pub(super) attributes: Option<FileAttributes>,
}

/// What becomes of a link, or a file, of the name of a link that arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExistingLink {
    /// The one that arrives takes its place.
    Replaced,
    /// It stays where it leads to the same place, and is an obstacle otherwise.
    KeptIfSame,
    /// It is an obstacle.
    Refused,
}

/// The directory in which files that arrive are stored, in it and below it. Clones share it.
#[derive(Debug, Clone)]
pub struct StoreDirectory {
    directory: Arc<OwnedFd>,
    /// The directories in it that were made on behalf of the client.
    own: OwnDirectories,
    /// What clients may store in it; `None` for a client's own directory.
    quota: Option<StoreQuota>,
}

impl StoreDirectory {
    /// The directory at `path`.
    ///
    /// # Errors
    /// When it cannot be opened or written to, or the kernel cannot keep paths below it.
    pub fn open(path: &Path) -> Result<Self, TransferFileError> {
        let directory = open_directory(path)?;
        accessat(
            &directory,
            ".",
            Access::WRITE_OK | Access::EXEC_OK,
            AtFlags::EACCESS,
        )
        .map_err(|cause| TransferFileError::Directory {
            path: path.to_owned(),
            cause: cause.into(),
        })?;
        Ok(Self {
            directory: Arc::new(directory),
            own: OwnDirectories::default(),
            quota: None,
        })
    }

    /// The same, in which clients may store `max`: half of what is free where nothing is given.
    #[must_use]
    pub fn with_quota(self, max: Option<ByteCount>) -> Self {
        let half_free = || {
            let space = fstatvfs(&*self.directory).ok()?;
            let free = space.f_bavail.saturating_mul(space.f_frsize);
            // A file system that does not tell shows when it is full.
            (space.f_blocks > 0).then_some(free / 2)
        };
        let max = max.map_or_else(half_free, |max| Some(max.get()));
        Self {
            quota: max.map(|max| StoreQuota::new(ByteCount::new(max))),
            ..self
        }
    }

    /// The same for the clients of one source, which may take a half of the quota.
    #[must_use]
    pub fn of_source(&self, source: ClientSource) -> Self {
        Self {
            quota: self.quota.as_ref().map(|quota| quota.of_source(source)),
            own: OwnDirectories::default(),
            ..self.clone()
        }
    }

    /// The room for a file of a size that is known or not.
    fn room(&self, bytes: Option<ByteCount>) -> Result<Option<StoredBytes>, TransferFileError> {
        let known = bytes.map_or(0, ByteCount::get);
        let room = self.quota.as_ref().map(|quota| quota.room_for_file(known));
        room.transpose()
            .map_err(|QuotaUsedUp { left }| TransferFileError::Quota {
                bytes: ByteCount::new(known),
                left: ByteCount::new(left),
            })
    }

    /// Checks that a file can be stored under this name.
    ///
    /// # Errors
    /// When the name is not allowed, or a file of that name exists and is not to be replaced.
    pub fn check_new(&self, name: &str, overwrite: bool) -> Result<(), TransferFileError> {
        check_file_name(name).map_err(|cause| TransferFileError::Name {
            name: name.to_owned(),
            cause,
        })?;
        let (parent, last) = match name.rsplit_once('/') {
            Some((parent, last)) => (parent, last),
            None => (".", name),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        match open_beneath(self.directory.as_fd(), parent, flags, Mode::empty()) {
            Ok(parent) => check_destination(&parent, last, replacement(overwrite)),
            Err(Errno::NOENT) => Ok(()),
            Err(cause) => Err(TransferFileError::kernel("write", name, cause)),
        }
    }

    /// A plan of a download continued behind what an earlier transfer left here, under the name `store_as` or else the last component of
    /// its own; the same plan where there is nothing to continue.
    #[must_use]
    pub fn resume(&self, plan: TransferPlan, store_as: Option<&str>) -> TransferPlan {
        let TransferContent::File(file) = &plan.content else {
            return plan;
        };
        let name = stored_name(&file.name, store_as);
        let Some((identity, resume_from)) = self.resumable(name) else {
            return TransferPlan {
                resume: true,
                ..plan
            };
        };
        TransferPlan {
            content: TransferContent::File(FileIdentity {
                name: file.name.clone(),
                ..identity
            }),
            resume_from: ByteCount::new(resume_from),
            resume: true,
            ..plan
        }
    }

    /// The file of which a part is stored, and the bytes that are.
    fn resumable(&self, name: &str) -> Option<(FileIdentity, u64)> {
        let open = |name: &str| {
            let flags = OFlags::RDONLY | OFlags::NONBLOCK;
            let file = open_beneath(self.directory.as_fd(), name, flags, Mode::empty());
            file.ok().map(File::from)
        };
        let mut journal = JournalContent::read(&open(&journal_name(name))?).ok()??;
        journal.compare(&open(&part_name(name))?);
        let resume_from = journal.units.len() as u64 * super::tree_digest::UNIT_BYTES;
        (resume_from > 0).then(|| (journal.header.identity(), resume_from))
    }

    /// A file to receive `identity`, under the name `name`.
    pub(super) fn stored_file(
        &self,
        name: &str,
        identity: &FileIdentity,
        overwrite: bool,
        resume: bool,
    ) -> Result<StoredFile, TransferFileError> {
        let room = self.room(identity.bytes)?;
        let (parent, last, made) = make_parent(&self.directory, &self.own, name)?;
        let mut stored =
            StoredFile::create(parent, last, identity, replacement(overwrite), resume)?;
        stored.set_room(room, made);
        Ok(stored)
    }

    /// Stores a file at once.
    ///
    /// # Errors
    /// When the name is not allowed, a file of that name exists and is not to be replaced, there is no room, or the kernel refuses.
    pub(super) fn store_whole(&self, file: &FileToStore<'_>) -> Result<(), TransferFileError> {
        let name = file.name;
        let bytes = file.content.len() as u64;
        let identity = FileIdentity {
            name: name.to_owned(),
            bytes: Some(ByteCount::new(bytes)),
            // Without it there is no journal: what is stored at once is not resumed.
            modified_ns: None,
            permissions: None,
        };
        let mut stored = self.stored_file(name, &identity, file.overwrite, false)?;
        stored.take_room(bytes)?;
        if let Some(attributes) = file.attributes {
            stored.preserve(attributes);
        }
        let part = stored.part();
        part.write_all_at(file.content, 0)
            .map_err(|cause| TransferFileError::kernel("write", name, cause))?;
        stored.complete()
    }

    /// Writes everything of its file system to the disk.
    ///
    /// # Errors
    /// When the kernel cannot.
    pub(super) fn sync(&self) -> Result<(), TransferFileError> {
        syncfs(&*self.directory)
            .map_err(|cause| TransferFileError::kernel("sync", "the directory", cause))
    }

    /// `true` when there is a file of this name with this content.
    pub(super) fn holds(&self, name: &str, content: &[u8]) -> bool {
        if check_file_name(name).is_err() {
            return false;
        }
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY;
        let Ok(file) = open_beneath(self.directory.as_fd(), name, flags, Mode::empty()) else {
            return false;
        };
        let file = File::from(file);
        let size = content.len() as u64;
        let is_of_size = file
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.len() == size);
        let mut stored = Vec::new();
        is_of_size && file.take(size + 1).read_to_end(&mut stored).is_ok() && stored == content
    }

    /// Makes a directory, unless there is one, and gives it these attributes where it was made on behalf of this client.
    ///
    /// # Errors
    /// When the name is not allowed, there is something else of that name, there is no room, or the kernel refuses.
    pub(super) fn make_directory(
        &self,
        name: &str,
        attributes: Option<FileAttributes>,
    ) -> Result<(), TransferFileError> {
        let room = self.room(None)?;
        let (parent, last, mut made) = make_parent(&self.directory, &self.own, name)?;
        let failed = |cause| TransferFileError::kernel("make the directory", name, cause);
        let is_new = new_directory(&parent, last).map_err(failed)?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let directory = open_beneath(parent.as_fd(), last, flags, Mode::empty()).map_err(failed)?;
        if is_new {
            made.add(&directory);
            if let Some(mut room) = room {
                room.keep();
            }
        }
        made.keep();
        // What another client has made stays as it is: its permissions decide what can be stored there.
        if let Some(attributes) = attributes
            && self.own.has(&directory)
        {
            attributes.set(&directory);
        }
        Ok(())
    }

    /// Makes a symbolic link. Where it leads is for the caller to check.
    ///
    /// # Errors
    /// When the name is not allowed, there is something of that name that is to stay, there is no room, or the kernel refuses.
    pub(super) fn make_link(
        &self,
        name: &str,
        target: &OsStr,
        existing: ExistingLink,
    ) -> Result<(), TransferFileError> {
        let room = self.room(None)?;
        let (parent, last, mut made) = make_parent(&self.directory, &self.own, name)?;
        if is_reserved(last) {
            return Err(TransferFileError::Reserved {
                name: name.to_owned(),
            });
        }
        let failed = |cause| TransferFileError::kernel("make the link", name, cause);
        let exists = || TransferFileError::Exists {
            name: name.to_owned(),
        };
        let is_new = match symlinkat(target, &parent, &*os_name(last)) {
            Ok(()) => true,
            Err(Errno::EXIST) if existing == ExistingLink::Replaced => {
                replace_by_link(&parent, last, target)?;
                true
            }
            Err(Errno::EXIST) if existing == ExistingLink::KeptIfSame => {
                let found = readlinkat(&parent, &*os_name(last), Vec::new());
                let is_same = found.is_ok_and(|found| found.as_bytes() == target.as_bytes());
                if !is_same {
                    return Err(exists());
                }
                false
            }
            Err(Errno::EXIST) => return Err(exists()),
            Err(cause) => return Err(failed(cause)),
        };
        // What was there already has its room.
        if let Some(mut room) = room
            && is_new
        {
            room.keep();
        }
        made.keep();
        Ok(())
    }

    /// A file without a name, where there is room for this much.
    pub(super) fn nameless(&self, bytes: ByteCount) -> Result<NamelessFile, TransferFileError> {
        let room = self.room(Some(bytes))?;
        let file = nameless_file_at(self.directory.as_fd())
            .map_err(|cause| TransferFileError::kernel("write", "generated content", cause))?;
        check_space(&file, 0, bytes)?;
        Ok(NamelessFile { file, room })
    }
}

/// Puts a link in the place of a file or of another link, at once for everyone who looks. A directory stays, and so does what arrives under
/// that name at the moment.
fn replace_by_link(parent: &OwnedFd, name: &str, target: &OsStr) -> Result<(), TransferFileError> {
    let _locked = open_part(parent, name)?;
    let failed = |cause| TransferFileError::kernel("make the link", name, cause);
    let part = part_name(name);
    let (part, own) = (os_name(&part), os_name(name));
    unlinkat(parent, &*part, AtFlags::empty()).map_err(failed)?;
    symlinkat(target, parent, &*part).map_err(failed)?;
    let renamed = renameat(parent, &*part, parent, &*own);
    if renamed.is_err() {
        let _ = unlinkat(parent, &*part, AtFlags::empty());
    }
    renamed.map_err(failed)
}

const fn replacement(overwrite: bool) -> Replacement {
    match overwrite {
        true => Replacement::Allowed,
        false => Replacement::Refused,
    }
}

/// The name under which a file that is got is stored.
pub fn stored_name<'a>(name: &'a str, store_as: Option<&'a str>) -> &'a str {
    store_as.unwrap_or_else(|| name.rsplit('/').next().unwrap_or(name))
}
