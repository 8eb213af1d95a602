//! Ids, and prefixes of ids.

use rusqlite::{OptionalExtension, params};

use crate::error::StoreError;

use crate::store::Store;

/// Minimum number of digits of a prefix.
const MIN_DIGITS: usize = 4;
/// The number of digits of an id.
pub(super) const DIGITS: usize = 32;
/// Maximum number of candidates named for an ambiguous prefix.
const MAX_CANDIDATES: usize = 4;

/// The newest run or study after some that are newer.
const LAST: &str = "
SELECT entry.id FROM entry LEFT JOIN run ON run.id = entry.id LEFT JOIN study ON study.id = entry.id
WHERE (run.id IS NOT NULL OR study.id IS NOT NULL) AND run.study IS NULL AND run.part_of IS NULL
ORDER BY entry.started_ns DESC, entry.nth DESC LIMIT 1 OFFSET ?";

/// The number of digits of an id shown to people: enough to distinguish all runs that a person makes.
const SHOWN_DIGITS: usize = 8;

/// The beginning of an id that people are shown.
#[must_use]
pub fn short_id(id: &str) -> &str {
    id.get(..SHOWN_DIGITS).unwrap_or(id)
}

impl Store {
    /// The full id that starts with these digits, or that `last` stands for; `last~1` is the one before, and so on.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn resolve(&self, id: &str) -> Result<String, StoreError> {
        let digits = id.to_ascii_lowercase();
        if let Some(newer) = newer_than_last(&digits) {
            let last = self.read(|connection| {
                connection
                    .query_row(LAST, [newer], |row| row.get(0))
                    .optional()
            })?;
            return last.ok_or_else(|| StoreError::Unknown { id: id.to_owned() });
        }
        if !(MIN_DIGITS..=DIGITS).contains(&digits.len()) || !is_hexadecimal(&digits) {
            return Err(StoreError::InvalidId { id: id.to_owned() });
        }
        let mut found: Vec<String> = self.read(|connection| {
            // Every id with this prefix lies between the prefix and the prefix followed by a letter after `f`.
            connection
                .prepare_cached(
                    "SELECT id FROM entry WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2",
                )?
                .query_map(params![digits, MAX_CANDIDATES as i64], |row| row.get(0))?
                .collect()
        })?;
        match (found.len(), found.pop()) {
            (1, Some(id)) => Ok(id),
            (_, None) => Err(StoreError::Unknown { id: id.to_owned() }),
            (_, Some(last)) => {
                found.push(last);
                let digits = distinguishing_digits(&found);
                Err(StoreError::Ambiguous {
                    id: id.to_owned(),
                    candidates: found.iter().map(|id| id[..digits].to_owned()).collect(),
                })
            }
        }
    }

    /// The id of the newest study with this name, or of the one whose id starts like this.
    ///
    /// # Errors
    /// When there is none, or the store cannot be read.
    pub fn newest_study(&self, study: &str) -> Result<String, StoreError> {
        let newest = self.studies(study)?.into_iter().next();
        newest.ok_or_else(|| StoreError::Unknown {
            id: study.to_owned(),
        })
    }

    /// The ids of the studies with this name, the newest first, or of the one whose id starts like this.
    pub(super) fn studies(&self, study: &str) -> Result<Vec<String>, StoreError> {
        let named: Vec<String> = self.read(|connection| {
            connection
                .prepare_cached("SELECT id FROM study JOIN entry USING (id) WHERE name = ? ORDER BY started_ns DESC, nth DESC")?
                .query_map([study], |row| row.get(0))?
                .collect()
        })?;
        if !named.is_empty() {
            return Ok(named);
        }
        match self.resolve(study) {
            Ok(id) => Ok(vec![id]),
            Err(StoreError::InvalidId { id }) => Err(StoreError::Unknown { id }),
            Err(error) => Err(error),
        }
    }
}

/// The number of newer runs and studies than the one that `last` or `last~N` stands for; `None` for another text.
fn newer_than_last(text: &str) -> Option<u32> {
    match text.strip_prefix("last")? {
        "" => Some(0),
        "~" => Some(1),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// `true` for lower-case hexadecimal digits.
pub(super) fn is_hexadecimal(digits: &str) -> bool {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The number of digits that distinguish these ids, which are sorted.
fn distinguishing_digits(ids: &[String]) -> usize {
    let shared = ids.windows(2).map(|pair| {
        let both = pair[0].bytes().zip(pair[1].bytes());
        both.take_while(|(a, b)| a == b).count()
    });
    (shared.max().unwrap_or(0) + 1).clamp(8, DIGITS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::{TestDirectory, run};
    use crate::stored::StoredRun;

    #[test]
    fn a_prefix_stands_for_the_only_id_that_starts_with_it() {
        let directory = TestDirectory::new("prefix");
        let mut store = directory.open();
        let ids = [
            "abcd0000000000000000000000000000",
            "abcd0000f00000000000000000000000",
            "abce0000000000000000000000000000",
            "ffff0000000000000000000000000000",
        ];
        for (nth, id) in ids.iter().enumerate() {
            store
                .record(&StoredRun {
                    id: (*id).into(),
                    ..run(nth as u64)
                })
                .unwrap();
        }
        assert_eq!(store.resolve("abce").unwrap(), ids[2]);
        assert_eq!(store.resolve("FFFF").unwrap(), ids[3]);
        assert_eq!(store.resolve(ids[0]).unwrap(), ids[0]);
        assert_eq!(store.resolve("last").unwrap(), ids[3]);
        assert_eq!(store.resolve("last~").unwrap(), ids[2]);
        assert_eq!(store.resolve("last~3").unwrap(), ids[0]);
        assert!(matches!(
            store.resolve("last~4"),
            Err(StoreError::Unknown { .. })
        ));
        match store.resolve("abcd") {
            Err(StoreError::Ambiguous { candidates, .. }) => {
                assert_eq!(candidates, ["abcd00000", "abcd0000f"]);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(
            store.resolve("1234"),
            Err(StoreError::Unknown { .. })
        ));
        for bad in [
            "abc",
            "",
            "abcg",
            "abcd0000000000000000000000000000a",
            "abc%",
            "last~x",
            "last 1",
            "ábcd",
        ] {
            assert!(
                matches!(store.resolve(bad), Err(StoreError::InvalidId { .. })),
                "{bad}"
            );
        }
    }
}
