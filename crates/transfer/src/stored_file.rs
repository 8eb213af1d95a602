//! A file that arrives: written under another name, and renamed when it is complete.

use super::beneath::{MadeDirectories, os_name};
use super::holes::Holes;
use super::journal::{JournalContent, JournalHeader, JournalWriter};
use super::source_file::PERMISSIONS;
use super::store_quota::{QuotaUsedUp, StoredBytes};
use blake3::hazmat::ChainingValue;
use caudal_core::plan::FileIdentity;
use caudal_core::units::ByteCount;
use caudal_flow::TransferFileError;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, RenameFlags, Timespec, Timestamps, UTIME_OMIT,
    fchmod, flock, fstat, fstatvfs, fsync, ftruncate, futimens, linkat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::fs::File;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, PoisonError};

/// The permissions of new files, less those that the umask takes away.
const FILE_MODE: u32 = 0o666;

/// Whether an existing file is replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Replacement {
    /// It is.
    Allowed,
    /// It is not.
    Refused,
}

/// What a file keeps beside its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileAttributes {
    /// The lower nine bits of its mode, where they are known.
    pub(super) permissions: Option<u32>,
    /// The time of its last change, ns since 1970, where it is known.
    pub(super) modified_ns: Option<u64>,
}

impl FileAttributes {
    /// Gives them to a file or a directory. A file system that has no room for them keeps its own.
    pub(super) fn set(self, file: impl AsFd) {
        if let Some(permissions) = self.permissions {
            let _ = fchmod(&file, Mode::from_raw_mode(permissions & PERMISSIONS));
        }
        if let Some(modified_ns) = self.modified_ns {
            let last_modification = Timespec {
                tv_sec: i64::try_from(modified_ns / 1_000_000_000).unwrap_or(i64::MAX),
                tv_nsec: (modified_ns % 1_000_000_000) as _,
            };
            let last_access = Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            };
            let times = Timestamps {
                last_access,
                last_modification,
            };
            let _ = futimens(&file, &times);
        }
    }
}

/// What a file takes of the quota of clients, for those that write it; `None` where there is no quota.
pub(super) type SharedRoom = Option<Arc<Mutex<StoredBytes>>>;

/// A file that arrives, with the journal of what has arrived where its transfer can be continued.
#[derive(Debug)]
pub struct StoredFile {
    directory: OwnedFd,
    name: String,
    replacement: Replacement,
    part: Arc<File>,
    journal: Option<JournalWriter>,
    /// The units that were there before.
    units: Vec<ChainingValue>,
    /// Of these, how many were compared with their records.
    compared: usize,
    is_complete: bool,
    /// What it keeps of the sender's file, beside the content.
    attributes: Option<FileAttributes>,
    /// What becomes of blocks of zeros.
    holes: Holes,
    /// What it takes of the quota of clients.
    room: SharedRoom,
    /// The directories that were made for it.
    made: Option<MadeDirectories>,
}

impl StoredFile {
    /// The file `name` in `directory`, to receive `identity`, from an earlier transfer on when `resume`.
    ///
    /// # Errors
    /// When it exists, is being written or cannot be written, or there is no space.
    pub(super) fn create(
        directory: OwnedFd,
        name: &str,
        identity: &FileIdentity,
        replacement: Replacement,
        resume: bool,
    ) -> Result<Self, TransferFileError> {
        check_destination(&directory, name, replacement)?;
        // From here on what is not to be kept is removed when this is dropped.
        let mut stored = Self {
            part: Arc::new(open_part(&directory, name)?),
            directory,
            name: name.to_owned(),
            replacement,
            journal: None,
            units: Vec::new(),
            compared: 0,
            is_complete: false,
            attributes: None,
            holes: Holes::Written,
            room: None,
            made: None,
        };
        if let Some(header) = JournalHeader::of(identity) {
            stored.begin_journal(&header, resume)?;
        }
        stored.prepare(identity.bytes)?;
        Ok(stored)
    }

    /// Begins the journal, or goes on with that of an earlier transfer.
    fn begin_journal(
        &mut self,
        header: &JournalHeader,
        resume: bool,
    ) -> Result<(), TransferFileError> {
        let file = open_regular(&self.directory, &journal_name(&self.name))?;
        let name = self.name.as_str();
        let failed =
            |doing| move |cause: std::io::Error| TransferFileError::kernel(doing, name, cause);
        if resume {
            let known = known_units(&file, header, &self.part).map_err(failed("read"))?;
            (self.units, self.compared) = known;
        }
        let writer = JournalWriter::begin(file, header, &self.units).map_err(failed("write"))?;
        self.journal = Some(writer);
        Ok(())
    }

    /// Cuts off what is not to be kept, and checks the space for the rest.
    fn prepare(&self, bytes: Option<ByteCount>) -> Result<(), TransferFileError> {
        let kept = self.resume_from();
        ftruncate(&*self.part, kept)
            .map_err(|cause| TransferFileError::kernel("write", &self.name, cause))?;
        match bytes {
            Some(bytes) => check_space(&self.part, kept, bytes),
            None => Ok(()),
        }
    }

    /// Has it keep these attributes.
    pub(super) const fn preserve(&mut self, attributes: FileAttributes) {
        self.attributes = Some(attributes);
    }

    /// Has it treat blocks of zeros so.
    pub(super) const fn set_holes(&mut self, holes: Holes) {
        self.holes = holes;
    }

    /// What becomes of blocks of zeros.
    pub(super) const fn holes(&self) -> Holes {
        self.holes
    }

    /// Takes what is written from now on out of this room; the directories that were made for it go with it.
    pub(super) fn set_room(&mut self, room: Option<StoredBytes>, made: MadeDirectories) {
        self.room = room.map(|room| Arc::new(Mutex::new(room)));
        self.made = Some(made);
    }

    /// The room for what is written.
    pub(super) fn room(&self) -> SharedRoom {
        self.room.clone()
    }

    /// Takes the room for this much more.
    pub(super) fn take_room(&self, bytes: u64) -> Result<(), TransferFileError> {
        let Some(room) = &self.room else {
            return Ok(());
        };
        let mut room = room.lock().unwrap_or_else(PoisonError::into_inner);
        room.grow(bytes)
            .map_err(|QuotaUsedUp { left }| TransferFileError::Quota {
                bytes: ByteCount::new(bytes),
                left: ByteCount::new(left),
            })
    }

    /// Leaves the room taken, as what was written stays.
    fn keep_room(&mut self) {
        if let Some(room) = &self.room {
            room.lock().unwrap_or_else(PoisonError::into_inner).keep();
        }
        if let Some(made) = &mut self.made {
            made.keep();
        }
    }

    /// The bytes that were there before.
    pub(super) fn resume_from(&self) -> u64 {
        self.units.len() as u64 * super::tree_digest::UNIT_BYTES
    }

    /// The file to write to.
    pub(super) fn part(&self) -> Arc<File> {
        Arc::clone(&self.part)
    }

    /// The units that were there before, and how many of them were compared with their records.
    pub(super) fn known_units(&self) -> (&[ChainingValue], usize) {
        (&self.units, self.compared)
    }

    /// Records the next unit, which was written.
    ///
    /// # Errors
    /// When the journal cannot be written.
    pub(super) fn record(&mut self, unit: &ChainingValue) -> Result<(), TransferFileError> {
        match &mut self.journal {
            Some(journal) => journal.record(unit).map_err(|cause| {
                TransferFileError::kernel("keep the journal of", &self.name, cause)
            }),
            None => Ok(()),
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// When a file of that name has appeared meanwhile, or the kernel refuses.
    pub(super) fn complete(&mut self) -> Result<(), TransferFileError> {
        if let Some(attributes) = self.attributes {
            attributes.set(&*self.part);
        }
        let part = part_name(&self.name);
        let renamed = match self.replacement {
            Replacement::Allowed => renameat(
                &self.directory,
                &*os_name(&part),
                &self.directory,
                &*os_name(&self.name),
            ),
            Replacement::Refused => self.rename_to_new(&part),
        };
        renamed.map_err(|cause| match cause {
            Errno::EXIST => TransferFileError::Exists {
                name: self.name.clone(),
            },
            cause => TransferFileError::kernel("rename", &self.name, cause),
        })?;
        self.is_complete = true;
        self.keep_room();
        // A journal without its file is overwritten by the next transfer of that name.
        let _ = unlinkat(
            &self.directory,
            &*os_name(&journal_name(&self.name)),
            AtFlags::empty(),
        );
        Ok(())
    }

    /// Renames the file unless one of that name exists.
    fn rename_to_new(&self, part: &str) -> rustix::io::Result<()> {
        let (part, name) = (os_name(part), os_name(&self.name));
        let (part, name, directory) = (&*part, &*name, &self.directory);
        match renameat_with(directory, part, directory, name, RenameFlags::NOREPLACE) {
            // A file system without the flag: a new name fails as well where it is taken.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(directory, part, directory, name, AtFlags::empty())?;
                unlinkat(directory, part, AtFlags::empty())
            }
            result => result,
        }
    }

    /// Makes the name of the file last, as its content does.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub(super) fn sync_directory(&self) -> Result<(), TransferFileError> {
        fsync(&self.directory).map_err(|cause| TransferFileError::kernel("sync", &self.name, cause))
    }

    /// Removes what has arrived.
    pub(super) fn discard(&mut self) {
        self.is_complete = true;
        // What cannot be removed is overwritten by the next transfer of that name.
        let _ = unlinkat(
            &self.directory,
            &*os_name(&part_name(&self.name)),
            AtFlags::empty(),
        );
        let _ = unlinkat(
            &self.directory,
            &*os_name(&journal_name(&self.name)),
            AtFlags::empty(),
        );
    }
}

impl Drop for StoredFile {
    /// Keeps a part of the file only where a later transfer can go on behind it.
    fn drop(&mut self) {
        let has_units = self
            .journal
            .as_ref()
            .is_some_and(|journal| journal.records() > 0);
        match (self.is_complete, has_units) {
            (false, false) => self.discard(),
            (false, true) => self.keep_room(),
            (true, _) => {}
        }
    }
}

/// The name of the partial file.
pub(super) fn part_name(name: &str) -> String {
    format!("{name}.part")
}

/// The name of its journal.
pub(super) fn journal_name(name: &str) -> String {
    format!("{name}.part.journal")
}

/// `true` for a name that files have while they arrive.
pub(super) fn is_reserved(name: &str) -> bool {
    name.ends_with(".part") || name.ends_with(".part.journal")
}

/// Checks that a file can have this name in the end.
pub(super) fn check_destination(
    directory: &OwnedFd,
    name: &str,
    replacement: Replacement,
) -> Result<(), TransferFileError> {
    if is_reserved(name) {
        return Err(TransferFileError::Reserved {
            name: name.to_owned(),
        });
    }
    match statat(directory, &*os_name(name), AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => Ok(()),
        Err(cause) => Err(TransferFileError::kernel("write", name, cause)),
        Ok(stat) => match (FileType::from_raw_mode(stat.st_mode), replacement) {
            (FileType::RegularFile, Replacement::Allowed) => Ok(()),
            (_, Replacement::Refused) => Err(TransferFileError::Exists {
                name: name.to_owned(),
            }),
            _ => Err(TransferFileError::NotRegular {
                name: name.to_owned(),
            }),
        },
    }
}

/// Opens the partial file for this transfer alone.
pub(super) fn open_part(directory: &OwnedFd, name: &str) -> Result<File, TransferFileError> {
    let part = part_name(name);
    let file = open_regular(directory, &part)?;
    let busy = || TransferFileError::Busy {
        name: name.to_owned(),
    };
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(Errno::WOULDBLOCK) => return Err(busy()),
        Err(cause) => return Err(TransferFileError::kernel("lock", &part, cause)),
    }
    // Another transfer may have renamed or removed it before the lock was had.
    let failed = |cause| TransferFileError::kernel("write", &part, cause);
    let own = fstat(&file).map_err(failed)?;
    match statat(directory, &*os_name(&part), AtFlags::SYMLINK_NOFOLLOW) {
        Ok(named) if (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino) => Ok(file),
        _ => Err(busy()),
    }
}

fn open_regular(directory: &OwnedFd, name: &str) -> Result<File, TransferFileError> {
    let flags = OFlags::RDWR
        | OFlags::CREATE
        | OFlags::NOFOLLOW
        | OFlags::NONBLOCK
        | OFlags::NOCTTY
        | OFlags::CLOEXEC;
    let failed = |cause| TransferFileError::kernel("write", name, cause);
    let mode = Mode::from_raw_mode(FILE_MODE);
    let file = openat(directory.as_fd(), &*os_name(name), flags, mode).map_err(failed)?;
    let stat = fstat(&file).map_err(failed)?;
    if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
        return Err(TransferFileError::NotRegular {
            name: name.to_owned(),
        });
    }
    Ok(File::from(file))
}

/// The units of a partial file that belong to the file that is to arrive, and how many of them were compared with their records.
fn known_units(
    journal: &File,
    header: &JournalHeader,
    part: &File,
) -> std::io::Result<(Vec<ChainingValue>, usize)> {
    let read = JournalContent::read(journal)?.filter(|read| {
        (read.header.bytes, read.header.modified_ns) == (header.bytes, header.modified_ns)
    });
    Ok(read.map_or_else(Default::default, |mut read| {
        let compared = read.compare(part);
        (read.units, compared)
    }))
}

/// Checks that there is space for a file of which the first `kept` bytes are there. None is reserved: its size is only what a peer says.
pub(super) fn check_space(
    file: &File,
    kept: u64,
    bytes: ByteCount,
) -> Result<(), TransferFileError> {
    let missing = bytes.get().saturating_sub(kept);
    // A file system that does not tell shows when it is full.
    let Ok(space) = fstatvfs(file) else {
        return Ok(());
    };
    let is_told = space.f_blocks > 0;
    let free = space.f_bfree.saturating_mul(space.f_frsize);
    if is_told && missing > free || bytes.get() > i64::MAX as u64 {
        return Err(TransferFileError::NoSpace { bytes });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::testing::ScratchDirectory;
    use super::super::tree_digest::{UNIT_BYTES, unit_digest};
    use super::*;
    use std::os::unix::fs::FileExt;

    fn identity(bytes: u64) -> FileIdentity {
        FileIdentity {
            name: "file".to_owned(),
            bytes: Some(ByteCount::new(bytes)),
            modified_ns: Some(7),
            permissions: None,
        }
    }

    fn stored(
        scratch: &ScratchDirectory,
        identity: &FileIdentity,
        resume: bool,
    ) -> Result<StoredFile, TransferFileError> {
        let directory = OwnedFd::from(File::open(scratch.path()).unwrap());
        StoredFile::create(directory, "file", identity, Replacement::Refused, resume)
    }

    /// Writes and records this many units.
    fn write_units(file: &mut StoredFile, units: u64) {
        for number in 0..units {
            let unit = vec![number as u8; UNIT_BYTES as usize];
            let part = file.part();
            part.write_all_at(&unit, number * UNIT_BYTES).unwrap();
            file.record(&unit_digest(number, &unit)).unwrap();
        }
    }

    #[test]
    fn a_claimed_size_takes_no_space_and_one_beyond_what_is_free_is_refused() {
        use std::os::unix::fs::MetadataExt;
        let scratch = ScratchDirectory::new("claimed");
        let mut file = stored(&scratch, &identity(55 << 20), false).unwrap();
        write_units(&mut file, 1);
        let allocated = file.part().metadata().unwrap().blocks() * 512;
        assert!(allocated <= 2 << 20, "{allocated}");
        drop(file);
        for bytes in [1 << 60, u64::MAX] {
            let refused = stored(&scratch, &identity(bytes), false);
            assert!(
                matches!(refused, Err(TransferFileError::NoSpace { .. })),
                "{bytes}"
            );
        }
    }

    #[test]
    fn a_part_with_units_is_kept_for_the_same_file_and_for_no_other() {
        let scratch = ScratchDirectory::new("stored");
        let same = identity(5 << 20);
        let mut first = stored(&scratch, &same, false).unwrap();
        assert!(
            stored(&scratch, &same, true).is_err(),
            "it is being written"
        );
        write_units(&mut first, 2);
        drop(first);
        assert_eq!(scratch.names(), ["file.part", "file.part.journal"]);
        let resumed = stored(&scratch, &same, true).unwrap();
        assert_eq!(resumed.resume_from(), 2 << 20);
        drop(resumed);
        let other = FileIdentity {
            modified_ns: Some(8),
            permissions: None,
            ..same
        };
        assert_eq!(stored(&scratch, &other, true).unwrap().resume_from(), 0);
        assert_eq!(scratch.names(), [""; 0], "nothing to resume is kept");
    }

    #[test]
    fn a_file_that_appears_meanwhile_is_not_replaced() {
        let scratch = ScratchDirectory::new("stored");
        let mut file = stored(&scratch, &identity(5 << 20), false).unwrap();
        write_units(&mut file, 1);
        scratch.write("file", b"theirs");
        let error = file.complete().unwrap_err();
        assert_eq!(error.to_string(), "\"file\" exists already");
        drop(file);
        assert_eq!(scratch.read("file"), b"theirs");
    }

    #[test]
    fn a_complete_file_has_its_name_and_nothing_beside_it() {
        let scratch = ScratchDirectory::new("stored");
        let mut file = stored(&scratch, &identity(3), false).unwrap();
        file.part().write_all_at(b"abc", 0).unwrap();
        file.complete().unwrap();
        file.sync_directory().unwrap();
        drop(file);
        assert_eq!(scratch.names(), ["file"]);
        assert_eq!(scratch.read("file"), b"abc");
    }

    #[test]
    fn a_file_that_does_not_fit_is_refused_at_once() {
        let scratch = ScratchDirectory::new("stored");
        let error = stored(&scratch, &identity(1 << 60), false).unwrap_err();
        assert!(error.to_string().contains("no space for"), "{error}");
        assert_eq!(scratch.names(), [""; 0]);
    }
}
