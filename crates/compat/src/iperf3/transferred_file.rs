//! The file whose content a test sends, or into which it writes what it receives.

use std::fs;
use std::path::PathBuf;

/// A file that a test sends or writes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferredFile {
    /// Its name, as it was given.
    pub path: PathBuf,
    /// Its size at the end of the test, bytes.
    pub size: u64,
}

impl TransferredFile {
    /// The file with its present size; `None` where it has none, such as standard input.
    #[must_use]
    pub fn measured(path: &PathBuf) -> Option<Self> {
        let size = fs::metadata(path).ok()?.len();
        Some(Self {
            path: path.clone(),
            size,
        })
    }

    /// The part of the file that `bytes` are, %, rounded down; all of an empty file.
    #[must_use]
    pub fn percent(&self, bytes: u64) -> u64 {
        let percent = u128::from(bytes) * 100;
        percent
            .checked_div(u128::from(self.size))
            .map_or(100, |percent| u64::try_from(percent).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_part_of_a_file_is_rounded_down_and_that_of_an_empty_one_is_all() {
        let file = |size| TransferredFile {
            path: "f".into(),
            size,
        };
        assert_eq!(file(3).percent(2), 66);
        assert_eq!(file(0).percent(0), 100);
        assert_eq!(file(1).percent(u64::MAX), u64::MAX);
    }
}
