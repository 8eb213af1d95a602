//! Archives that fit what a server takes at once.

use super::file_cell::FileCell;
use super::file_content::FileContent;
use caudal_core::plan::{FileArchive, TransferContent};
use caudal_core::units::ByteCount;
use caudal_engine::ArchiveMember;

/// The contents and the cells with each archive of more than `max_bytes` divided into as many as it takes. What is too large alone stays so.
pub(super) fn divided(
    contents: &[FileContent],
    cells: &[FileCell],
    max_bytes: u64,
) -> (Vec<FileContent>, Vec<FileCell>) {
    let mut all = Vec::new();
    let mut places = Vec::new();
    for content in contents {
        let first = all.len();
        all.extend(parts(content, max_bytes));
        places.push(first..all.len());
    }
    let mut new_cells = Vec::new();
    for cell in cells {
        for content in places.get(cell.content).cloned().unwrap_or_default() {
            let mut plan = cell.plan.clone();
            if let FileContent::Archive { archive, .. } = &all[content] {
                plan.content = TransferContent::Archive(archive.clone());
            }
            new_cells.push(FileCell { content, plan });
        }
    }
    (all, new_cells)
}

/// A content in as many parts as it takes.
fn parts(content: &FileContent, max_bytes: u64) -> Vec<FileContent> {
    let FileContent::Archive {
        title,
        members,
        archive,
    } = content
    else {
        return vec![content.clone()];
    };
    if archive.bytes.get() <= max_bytes {
        return vec![content.clone()];
    }
    let mut groups: Vec<(Vec<ArchiveMember>, u64)> = Vec::new();
    for member in members {
        let bytes = member.entry_bytes(member.content_bytes());
        match groups.last_mut() {
            Some((group, taken)) if *taken + bytes <= max_bytes => {
                group.push(member.clone());
                *taken += bytes;
            }
            _ => groups.push((vec![member.clone()], bytes)),
        }
    }
    let count = groups.len();
    let part =
        |(number, (members, bytes)): (usize, (Vec<ArchiveMember>, u64))| FileContent::Archive {
            title: format!("{title}, part {number} of {count}"),
            archive: FileArchive {
                entries: u32::try_from(members.len()).unwrap_or(u32::MAX),
                bytes: ByteCount::new(bytes),
            },
            members,
        };
    (1..).zip(groups).map(part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_takes_at_once_is_not_exceeded() {
        let link = |number: u32| ArchiveMember::Link {
            target: "x".repeat(100).into(),
            name: format!("tree/{number:03}"),
        };
        let members: Vec<ArchiveMember> = (0..10).map(link).collect();
        let entry = members[0].entry_bytes(100);
        let content = FileContent::Archive {
            title: "tree (10 links)".to_owned(),
            archive: FileArchive {
                entries: 10,
                bytes: ByteCount::new(10 * entry),
            },
            members,
        };
        assert_eq!(parts(&content, 10 * entry), std::slice::from_ref(&content));
        let found = parts(&content, 4 * entry);
        let titles: Vec<(&str, u32, u64)> = found
            .iter()
            .map(|part| match part {
                FileContent::Archive { title, archive, .. } => {
                    (title.as_str(), archive.entries, archive.bytes.get())
                }
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(
            titles,
            [
                ("tree (10 links), part 1 of 3", 4, 4 * entry),
                ("tree (10 links), part 2 of 3", 4, 4 * entry),
                ("tree (10 links), part 3 of 3", 2, 2 * entry),
            ]
        );
        // Nothing is lost where one alone is too large.
        assert_eq!(parts(&content, 10).len(), 10);
    }
}
