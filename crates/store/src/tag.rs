//! Tags of runs and studies.

use caudal_core::text::{ExternalText, printable};
use rusqlite::params;

use crate::error::StoreError;
use crate::store::Store;
use crate::store::now_ns;

/// Maximum length of a tag, characters: a list has room for it.
pub const MAX_TAG_LENGTH: usize = 40;

/// The reason why a text is not a valid tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidTag {
    /// It is empty.
    #[error("it is empty")]
    Empty,
    /// It has a character that separates tags or is not printable.
    #[error("it has a comma or a character in it that is not printable")]
    Separator,
    /// It is too long.
    #[error("it has more than {MAX_TAG_LENGTH} characters")]
    TooLong,
}

/// Checks that a tag is not empty, fits a list and has no separator.
///
/// # Errors
/// The reason why it is not valid.
pub fn check_tag(tag: &str) -> Result<(), InvalidTag> {
    if tag.trim().is_empty() {
        return Err(InvalidTag::Empty);
    }
    if printable(tag) != tag || tag.contains(['\n', '\t', ',']) {
        return Err(InvalidTag::Separator);
    }
    if tag.chars().count() > MAX_TAG_LENGTH {
        return Err(InvalidTag::TooLong);
    }
    Ok(())
}

impl Store {
    /// Adds a tag to a run or study, whose id is as in [`find`](Self::find).
    ///
    /// # Errors
    /// When it cannot be written, or there is no such run or study.
    pub fn tag(&mut self, id: &str, tag: &str) -> Result<(), StoreError> {
        self.set_tag(id, tag, true)
    }

    /// Removes a tag.
    ///
    /// # Errors
    /// When it cannot be written, or there is no such run or study.
    pub fn untag(&mut self, id: &str, tag: &str) -> Result<(), StoreError> {
        self.set_tag(id, tag, false)
    }

    fn set_tag(&mut self, id: &str, tag: &str, present: bool) -> Result<(), StoreError> {
        let id = self.resolve(id)?;
        let now = now_ns();
        self.write(|writer| {
            let was_present: bool = writer.0.query_row(
                "SELECT EXISTS (SELECT 1 FROM tagged WHERE id = ? AND tag = ?)",
                params![id, tag],
                |row| row.get(0),
            )?;
            if was_present != present {
                writer.execute(
                    "INSERT INTO tag (id, tag, at_ns, held) VALUES (?, ?, ?, ?)",
                    params![id, tag, now, present],
                )?;
            }
            Ok(())
        })
    }

    /// Every tag that something has, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn known_tags(&self) -> Result<Vec<ExternalText>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT DISTINCT tag FROM tagged ORDER BY tag")?
                .query_map([], |row| Ok(ExternalText::from(row.get::<_, String>(0)?)))?
                .collect()
        })
    }

    /// The tags of the run or study with this full id, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tags(&self, id: &str) -> Result<Vec<ExternalText>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT tag FROM tagged WHERE id = ? ORDER BY tag")?
                .query_map([id], |row| Ok(ExternalText::from(row.get::<_, String>(0)?)))?
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::fixture::{TestDirectory, id, run};

    #[test]
    fn a_tag_is_a_word_that_a_list_has_room_for() {
        for good in ["golden", "before upgrade", "β-7", "-x"] {
            assert_eq!(check_tag(good), Ok(()), "{good}");
        }
        for bad in ["", "  ", "a,b", "a\nb", &"x".repeat(41)] {
            assert!(check_tag(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_tag_is_added_removed_and_added_again() {
        let directory = TestDirectory::new("tag");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        let of = id(1);
        store.tag(&of[..8], "b").unwrap();
        store.tag(&of, "a").unwrap();
        store.tag(&of, "a").unwrap();
        assert_eq!(store.tags(&of).unwrap(), ["a", "b"]);
        assert_eq!(store.known_tags().unwrap(), ["a", "b"]);
        store.untag(&of, "a").unwrap();
        assert_eq!(store.known_tags().unwrap(), ["b"]);
        store.untag(&of, "never there").unwrap();
        assert_eq!(store.tags(&of).unwrap(), ["b"]);
        store.tag(&of, "a").unwrap();
        assert_eq!(store.tags(&of).unwrap(), ["a", "b"]);
        assert_eq!(store.list(&Filter::default()).unwrap()[0].tags, ["a", "b"]);
        assert!(matches!(
            store.tag("ffff", "a"),
            Err(StoreError::Unknown { .. })
        ));
    }
}
