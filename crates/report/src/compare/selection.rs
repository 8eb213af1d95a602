//! The parts of a side as they are written: files, tags, studies, and ids.

use std::path::PathBuf;

/// A part of a side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SidePart {
    /// A file with the document of a run, or a log of another tool.
    File(PathBuf),
    /// Everything with a tag.
    Tag(String),
    /// The newest study of an experiment's name.
    Study(String),
    /// The id of a run or a study, `last` or `last~N`.
    Id(String),
}

impl SidePart {
    /// `true` for a part that is in the store.
    #[must_use]
    pub const fn is_stored(&self) -> bool {
        !matches!(self, Self::File(_))
    }
}

/// The parts of a side, which commas separate. A dot or a slash is in the names of files alone.
#[must_use]
pub fn side_parts(given: &str) -> Vec<SidePart> {
    let parts = given.split(',').filter(|part| !part.is_empty());
    parts
        .map(|part| {
            if let Some(tag) = part.strip_prefix("tag:") {
                SidePart::Tag(tag.to_owned())
            } else if let Some(study) = part.strip_prefix("study:") {
                SidePart::Study(study.to_owned())
            } else if let Some(path) = part.strip_prefix("file:") {
                SidePart::File(path.into())
            } else if part.contains(['.', '/']) {
                SidePart::File(part.into())
            } else {
                SidePart::Id(part.to_owned())
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_read_by_its_form() {
        let parts =
            side_parts("1a2b,last~1,tag:before 1.2,study:starvation,base.json,/tmp/x,file:x,");
        let text = str::to_owned;
        assert_eq!(
            parts,
            [
                SidePart::Id(text("1a2b")),
                SidePart::Id(text("last~1")),
                SidePart::Tag(text("before 1.2")),
                SidePart::Study(text("starvation")),
                SidePart::File("base.json".into()),
                SidePart::File("/tmp/x".into()),
                SidePart::File("x".into()),
            ]
        );
        assert_eq!(parts.iter().filter(|part| part.is_stored()).count(), 4);
    }
}
