//! The environment of a run: the part that runs share is stored once.

use rusqlite::OptionalExtension;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::pack::Packed;
use crate::store::Store;

/// The keys of a machine that change from run to run, which are stored with the run.
const VARYING: [&str; 4] = ["load", "load_average", "meanwhile", "steal"];

/// An environment ready to be stored: the shared part, packed, and the part of this run.
pub(super) struct PackedEnvironment {
    pub(super) digest: String,
    pub(super) packed: Packed,
    pub(super) varying: String,
}

impl PackedEnvironment {
    pub(super) fn new(environment: &Value) -> Self {
        let mut shared = environment.clone();
        let mut varying = Map::new();
        if let Value::Object(machines) = &mut shared {
            for (machine, properties) in machines {
                let Value::Object(map) = properties else {
                    continue;
                };
                let moved: Map<String, Value> = VARYING
                    .iter()
                    .filter_map(|key| map.remove_entry(*key))
                    .collect();
                if !moved.is_empty() {
                    varying.insert(machine.clone(), Value::Object(moved));
                }
            }
        }
        // Keys are sorted, so that equal values have equal texts.
        let digest = Sha256::digest(shared.to_string().as_bytes());
        Self {
            digest: hex::encode(digest),
            packed: Packed::from_json(&shared),
            varying: Value::Object(varying).to_string(),
        }
    }
}

/// Removes the machines from a document where they are those of its environment; returns their keys and the document.
pub(super) fn without_machines(document: &Value, environment: &Value) -> (Option<String>, Value) {
    let same = match document.get("environment") {
        Some(Value::Object(machines)) => machines
            .iter()
            .all(|(machine, properties)| environment.get(machine) == Some(properties))
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

/// Inserts the machines of an environment into a document again.
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
    /// The shared part of an environment.
    pub(super) fn shared_environment(&self, digest: &str) -> Result<Value, StoreError> {
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

    /// The shared part of an environment with the part of a run.
    pub(super) fn with_varying(
        &self,
        mut machines: Value,
        varying: &str,
    ) -> Result<Value, StoreError> {
        let varying: Map<String, Value> = serde_json::from_str(varying)
            .map_err(|error| self.corrupt(&format!("an environment: {error}")))?;
        for (machine, properties) in varying {
            if let (Some(Value::Object(map)), Value::Object(properties)) =
                (machines.get_mut(&machine), properties)
            {
                map.extend(properties);
            }
        }
        Ok(machines)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{TestDirectory, count, found, id, run};
    use serde_json::json;

    #[test]
    fn machines_are_stored_once_whatever_their_load() {
        let directory = TestDirectory::new("once");
        let mut store = directory.open();
        for nth in 0..20 {
            store.record(&run(nth)).unwrap();
        }
        assert_eq!(count(&store, "environment"), 1);
        let mut other = run(20);
        other.environment["client"]["kernel"] = json!("6.3.0");
        store.record(&other).unwrap();
        assert_eq!(count(&store, "environment"), 2);
        assert_eq!(found(&store, &id(7)), run(7));
        assert_eq!(found(&store, &id(20)), other);
    }
}
