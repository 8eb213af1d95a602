//! Tags, which are put on and taken off again.

use rusqlite::params;

use super::keep::now_ns;
use super::{Store, StoreError};

impl Store {
    /// Puts a tag on what has this id, as [`find`](Self::find) takes it.
    ///
    /// # Errors
    /// When it cannot be written, or nothing is kept under that id.
    pub fn tag(&mut self, id: &str, tag: &str) -> Result<(), StoreError> {
        self.set_tag(id, tag, true)
    }

    /// Takes a tag off again.
    ///
    /// # Errors
    /// When it cannot be written, or nothing is kept under that id.
    pub fn untag(&mut self, id: &str, tag: &str) -> Result<(), StoreError> {
        self.set_tag(id, tag, false)
    }

    fn set_tag(&mut self, id: &str, tag: &str, held: bool) -> Result<(), StoreError> {
        let id = self.resolve(id)?;
        let now = now_ns();
        self.write(|store| {
            let is_so: bool = store.0.query_row(
                "SELECT EXISTS (SELECT 1 FROM tagged WHERE id = ? AND tag = ?)",
                params![id, tag],
                |row| row.get(0),
            )?;
            if is_so != held {
                store.run(
                    "INSERT INTO tag (id, tag, at_ns, held) VALUES (?, ?, ?, ?)",
                    params![id, tag, now, held],
                )?;
            }
            Ok(())
        })
    }

    /// The tags of what has this id, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tags(&self, id: &str) -> Result<Vec<String>, StoreError> {
        self.read(|connection| {
            connection
                .prepare_cached("SELECT tag FROM tagged WHERE id = ? ORDER BY tag")?
                .query_map([id], |row| row.get(0))?
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::Filter;
    use super::super::fixture::{Place, id, run};
    use super::*;

    #[test]
    fn a_tag_is_put_on_taken_off_and_put_on_again() {
        let place = Place::new("tag");
        let mut store = place.store();
        store.keep(&run(1)).unwrap();
        let of = id(1);
        store.tag(&of[..8], "b").unwrap();
        store.tag(&of, "a").unwrap();
        store.tag(&of, "a").unwrap();
        assert_eq!(store.tags(&of).unwrap(), ["a", "b"]);
        store.untag(&of, "a").unwrap();
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
