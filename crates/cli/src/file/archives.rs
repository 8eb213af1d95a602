//! Small files, empty directories and links of a directory, sent together.

use super::local_files::{LocalContents, LocalDirectory, LocalLink};
use caudal_core::plan::FileArchive;
use caudal_core::units::ByteCount;
use caudal_measure::{ArchiveMember, FileContent};

/// Maximum size of a file that is sent together with others, bytes.
const MAX_SMALL: u64 = 256 << 10;
/// Maximum size of what is sent together, bytes.
const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of files that are sent together: so many are written to a disk well within the time that a receiver has for it.
const MAX_ENTRIES: u32 = 2000;

/// The contents with small files, empty directories and links joined, where that saves transfers.
pub(super) fn joined(contents: LocalContents) -> LocalContents {
    let is_small = |content: &&FileContent| small_member(content).is_some();
    let small = contents.files.iter().filter(is_small).count();
    let others = contents.directories.len() + contents.links.len() + contents.kept.len();
    if small < 2 && others == 0 {
        return contents;
    }
    let mut archives: Vec<Archive> = Vec::new();
    let mut large = Vec::new();
    for content in contents.files {
        match small_member(&content) {
            Some((member, bytes)) => add(&mut archives, member, bytes),
            None => large.push(content),
        }
    }
    for directory in contents.directories {
        let LocalDirectory { name, .. } = directory;
        let member = ArchiveMember::Directory { path: None, name };
        add(&mut archives, member, 0);
    }
    for LocalLink { target, name, .. } in contents.links {
        let bytes = target.as_os_str().len() as u64;
        add(&mut archives, ArchiveMember::Link { target, name }, bytes);
    }
    // What is put into a directory changes its time: their attributes come last.
    let mut attributes: Vec<Archive> = Vec::new();
    for LocalDirectory { path, name } in contents.kept {
        let path = Some(path);
        add(&mut attributes, ArchiveMember::Directory { path, name }, 0);
    }
    let count = archives.len();
    let titled = (1..).zip(archives).map(|(number, archive)| {
        let part = match count {
            1 => String::new(),
            _ => format!(", part {number} of {count}"),
        };
        let title = format!("{} ({}{part})", contents.top, archive.counts());
        archive.into_content(title)
    });
    let last = attributes.into_iter().map(|archive| {
        let title = format!("{} (attributes of {})", contents.top, archive.counts());
        archive.into_content(title)
    });
    LocalContents {
        files: titled.chain(large).chain(last).collect(),
        left_out: contents.left_out,
        ..LocalContents::default()
    }
}

/// What is sent together.
#[derive(Debug, Default)]
struct Archive {
    members: Vec<ArchiveMember>,
    bytes: u64,
}

impl Archive {
    fn entries(&self) -> u32 {
        u32::try_from(self.members.len()).unwrap_or(u32::MAX)
    }

    fn into_content(self, title: String) -> FileContent {
        FileContent::Archive {
            title,
            archive: FileArchive {
                entries: self.entries(),
                bytes: ByteCount::new(self.bytes),
            },
            members: self.members,
        }
    }

    /// The numbers of its files, directories and links, as text.
    fn counts(&self) -> String {
        let [mut files, mut empty, mut directories, mut links] = [0; 4];
        for member in &self.members {
            *match member {
                ArchiveMember::File { .. } => &mut files,
                ArchiveMember::Directory { path: None, .. } => &mut empty,
                ArchiveMember::Directory { .. } => &mut directories,
                ArchiveMember::Link { .. } => &mut links,
            } += 1;
        }
        let of = |count: usize, one: &str, many: &str| match count {
            0 => None,
            1 => Some(format!("1 {one}")),
            count => Some(format!("{count} {many}")),
        };
        let each = [
            of(files, "file", "files"),
            of(empty, "empty directory", "empty directories"),
            of(directories, "directory", "directories"),
            of(links, "link", "links"),
        ];
        each.into_iter().flatten().collect::<Vec<_>>().join(", ")
    }
}

fn add(archives: &mut Vec<Archive>, member: ArchiveMember, file_bytes: u64) {
    let bytes = member.entry_bytes(file_bytes);
    let has_room = |last: &Archive| last.bytes + bytes <= MAX_BYTES && last.entries() < MAX_ENTRIES;
    match archives.last_mut().filter(|last| has_room(last)) {
        Some(last) => {
            last.members.push(member);
            last.bytes += bytes;
        }
        None => archives.push(Archive {
            members: vec![member],
            bytes,
        }),
    }
}

/// A small file as part of an archive, and its size; `None` for anything else.
fn small_member(content: &FileContent) -> Option<(ArchiveMember, u64)> {
    let FileContent::Local { path, name, bytes } = content else {
        return None;
    };
    // A file whose size the kernel does not tell is empty, or made as it is read and hardly large.
    let bytes = bytes.map_or(0, ByteCount::get);
    let (path, name) = (path.clone(), name.clone());
    (bytes <= MAX_SMALL).then_some((ArchiveMember::File { path, name }, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(number: u64, bytes: u64) -> FileContent {
        FileContent::Local {
            path: format!("/tree/{number}").into(),
            name: format!("tree/{number}"),
            bytes: Some(ByteCount::new(bytes)),
        }
    }

    fn titles(files: Vec<FileContent>, directories: usize) -> Vec<String> {
        let directories = (0..directories).map(|number| LocalDirectory {
            path: format!("/tree/d{number}").into(),
            name: format!("tree/d{number}"),
        });
        let contents = LocalContents {
            files,
            directories: directories.collect(),
            top: "tree".to_owned(),
            ..LocalContents::default()
        };
        let joined = joined(contents);
        let titles = joined.files.iter().map(|content| match content {
            FileContent::Archive { title, archive, .. } => {
                assert!(archive.bytes.get() <= MAX_BYTES);
                title.clone()
            }
            FileContent::Local { name, .. } => name.clone(),
            other => panic!("{other:?}"),
        });
        titles.collect()
    }

    #[test]
    fn small_files_are_joined_and_large_ones_are_not() {
        let one = vec![file(1, 10), file(2, MAX_SMALL + 1)];
        assert_eq!(titles(one.clone(), 0), ["tree/1", "tree/2"]);
        assert_eq!(
            titles(one, 1),
            ["tree (1 file, 1 empty directory)", "tree/2"]
        );
        let two = vec![file(1, 10), file(2, 1 << 30), file(3, MAX_SMALL)];
        assert_eq!(titles(two, 0), ["tree (2 files)", "tree/2"]);
    }

    #[test]
    fn what_is_sent_together_is_limited_in_number_and_size() {
        let many: Vec<FileContent> = (0..4500).map(|number| file(number, 1)).collect();
        assert_eq!(
            titles(many, 0),
            [
                "tree (2000 files, part 1 of 3)",
                "tree (2000 files, part 2 of 3)",
                "tree (500 files, part 3 of 3)"
            ]
        );
        let heavy: Vec<FileContent> = (0..65).map(|number| file(number, MAX_SMALL)).collect();
        assert_eq!(titles(heavy, 0).len(), 2);
    }
}
