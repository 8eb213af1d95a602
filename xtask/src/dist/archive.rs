//! Archives of files: tar, compressed, with nothing in them that differs between two builds.

use flate2::{Compression, GzBuilder};
use std::collections::BTreeSet;
use std::io::{self, Write};
use tar::{Builder, EntryType, Header};

/// The time of all files where `SOURCE_DATE_EPOCH` names none: 1980-01-01, before which some formats have no times.
const DEFAULT_TIME: u64 = 315_532_800;

/// A file of a package.
pub(super) struct PackagedFile {
    /// Its path within the package, without a slash before it.
    pub(super) path: String,
    mode: u32,
    pub(super) content: Vec<u8>,
}

impl PackagedFile {
    /// A file that can be executed.
    pub(super) fn program(path: &str, content: Vec<u8>) -> Self {
        Self {
            path: path.to_owned(),
            mode: 0o755,
            content,
        }
    }

    /// Any other file.
    pub(super) fn data(path: &str, content: Vec<u8>) -> Self {
        Self {
            path: path.to_owned(),
            mode: 0o644,
            content,
        }
    }
}

/// The time that files have (<https://reproducible-builds.org/specs/source-date-epoch/>).
pub(super) fn source_date() -> io::Result<Option<u64>> {
    match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text.parse().map(Some).map_err(|_| {
            io::Error::other(format!(
                "SOURCE_DATE_EPOCH is {text:?}, not a number of seconds"
            ))
        }),
        Err(_) => Ok(None),
    }
}

/// Files with the directories above them as a compressed tar archive; all belong to root.
pub(super) fn tar_gz(files: &[PackagedFile]) -> io::Result<Vec<u8>> {
    let time = source_date()?.unwrap_or(DEFAULT_TIME);
    let mut files: Vec<&PackagedFile> = files.iter().collect();
    files.sort_by(|one, other| one.path.cmp(&other.path));
    let mut builder = Builder::new(Vec::new());
    let mut directories = BTreeSet::new();
    for file in files {
        for (at, _) in file.path.match_indices('/') {
            let directory = &file.path[..at];
            if directories.insert(directory) {
                let mut header = header(EntryType::Directory, 0o755, 0, time);
                builder.append_data(&mut header, format!("{directory}/"), io::empty())?;
            }
        }
        let size = file.content.len() as u64;
        let mut header = header(EntryType::Regular, file.mode, size, time);
        builder.append_data(&mut header, &file.path, &*file.content)?;
    }
    gz(&builder.into_inner()?)
}

fn header(entry_type: EntryType, mode: u32, size: u64, time: u64) -> Header {
    let mut header = Header::new_gnu();
    header.set_entry_type(entry_type);
    header.set_mode(mode);
    header.set_size(size);
    header.set_mtime(time);
    header.set_uid(0);
    header.set_gid(0);
    // Eight characters fit.
    let _ = header.set_username("root");
    let _ = header.set_groupname("root");
    header
}

/// Content compressed by gzip, without a name and a time.
pub(super) fn gz(content: &[u8]) -> io::Result<Vec<u8>> {
    let mut encoder = GzBuilder::new()
        .mtime(0)
        .write(Vec::new(), Compression::best());
    encoder.write_all(content)?;
    encoder.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    #[test]
    fn an_archive_has_its_directories_before_their_files_and_no_trace_of_the_build() {
        let files = [
            PackagedFile::data("usr/share/b", b"two".to_vec()),
            PackagedFile::program("usr/bin/a", b"one".to_vec()),
        ];
        let archive = tar_gz(&files).unwrap();
        let reversed: Vec<PackagedFile> = files.into_iter().rev().collect();
        assert_eq!(archive, tar_gz(&reversed).unwrap());
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(&*archive));
        let mut found = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let mut content = String::new();
            entry.read_to_string(&mut content).unwrap();
            let header = entry.header();
            assert_eq!((header.uid().unwrap(), header.gid().unwrap()), (0, 0));
            let path = entry.path().unwrap().display().to_string();
            found.push((path, header.mode().unwrap(), content));
        }
        let entry = |path: &str, mode, content: &str| (path.to_owned(), mode, content.to_owned());
        assert_eq!(
            found,
            [
                entry("usr/", 0o755, ""),
                entry("usr/bin/", 0o755, ""),
                entry("usr/bin/a", 0o755, "one"),
                entry("usr/share/", 0o755, ""),
                entry("usr/share/b", 0o644, "two"),
            ]
        );
    }
}
