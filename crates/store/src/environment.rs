//! The machines of a run: what they share with other runs is kept once.

use rusqlite::OptionalExtension;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use super::pack::Packed;
use super::{Store, StoreError};

/// What of a machine changes from run to run: kept with the run, so that the rest is kept once.
const VARYING: [&str; 4] = ["load", "load_average", "meanwhile", "steal"];

/// An environment ready for the store: what every run on these machines shares, and what only this one had.
pub(super) struct Environment {
    pub(super) digest: String,
    pub(super) packed: Packed,
    pub(super) varying: String,
}

impl Environment {
    pub(super) fn of(environment: &Value) -> Self {
        let mut shared = environment.clone();
        let mut varying = Map::new();
        if let Value::Object(machines) = &mut shared {
            for (machine, what) in machines {
                let Value::Object(map) = what else { continue };
                let moved: Map<String, Value> = VARYING
                    .iter()
                    .filter_map(|key| map.remove_entry(*key))
                    .collect();
                if !moved.is_empty() {
                    varying.insert(machine.clone(), Value::Object(moved));
                }
            }
        }
        // Keys are in order, so equal values are equal texts.
        let digest = Sha256::digest(shared.to_string().as_bytes());
        Self {
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            packed: Packed::of(&shared),
            varying: Value::Object(varying).to_string(),
        }
    }
}

/// The document without its machines, and which they were, where they are those of the environment beside it.
pub(super) fn without_machines(document: &Value, environment: &Value) -> (Option<String>, Value) {
    let same = match document.get("environment") {
        Some(Value::Object(machines)) => machines
            .iter()
            .all(|(machine, what)| environment.get(machine) == Some(what))
            .then(|| machines.keys().cloned().collect::<Vec<_>>()),
        _ => None,
    };
    let mut document = document.clone();
    let (Some(keys), Value::Object(map)) = (same, &mut document) else {
        return (None, document);
    };
    map.remove("environment");
    (Some(serde_json::json!(keys).to_string()), document)
}

/// The document with those machines again.
pub(super) fn with_machines(mut document: Value, keys: &str, environment: &Value) -> Option<Value> {
    let keys: Vec<String> = serde_json::from_str(keys).ok()?;
    let machines: Option<Map<String, Value>> = keys
        .into_iter()
        .map(|key| {
            let machine = environment.get(&key)?.clone();
            Some((key, machine))
        })
        .collect();
    document
        .as_object_mut()?
        .insert("environment".to_owned(), Value::Object(machines?));
    Some(document)
}

impl Store {
    /// The part of an environment that is kept once.
    pub(super) fn machines(&self, digest: &str) -> Result<Value, StoreError> {
        let row: Option<(i64, Vec<u8>)> = self.read(|connection| {
            connection
                .prepare_cached("SELECT size, packed FROM environment WHERE digest = ?")?
                .query_row([digest], |row| Ok((row.get(0)?, row.get(1)?)))
                .optional()
        })?;
        let (size, packed) =
            row.ok_or_else(|| self.corrupt(&format!("the environment {digest} is missing")))?;
        self.unpacked(&packed, size, digest)
    }

    pub(super) fn with_varying(
        &self,
        mut machines: Value,
        varying: &str,
    ) -> Result<Value, StoreError> {
        let varying: Map<String, Value> = serde_json::from_str(varying)
            .map_err(|error| self.corrupt(&format!("an environment: {error}")))?;
        for (machine, what) in varying {
            if let (Some(Value::Object(map)), Value::Object(what)) =
                (machines.get_mut(&machine), what)
            {
                map.extend(what);
            }
        }
        Ok(machines)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Place, count, found, id, run};
    use serde_json::json;

    #[test]
    fn machines_are_kept_once_whatever_their_load() {
        let place = Place::new("once");
        let mut store = place.store();
        for nth in 0..20 {
            store.keep(&run(nth)).unwrap();
        }
        assert_eq!(count(&store, "environment"), 1);
        let mut other = run(20);
        other.environment["client"]["kernel"] = json!("6.3.0");
        store.keep(&other).unwrap();
        assert_eq!(count(&store, "environment"), 2);
        assert_eq!(found(&store, &id(7)), run(7));
        assert_eq!(found(&store, &id(20)), other);
    }
}
