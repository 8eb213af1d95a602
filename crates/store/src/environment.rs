//! The environment of a run: the part that runs share is stored once.

use caudal_core::run::Environment;
use rusqlite::OptionalExtension;
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::error::StoreError;
use crate::pack::Packed;
use crate::store::Store;

/// The part of an environment that runs share: its machines, each without what varies, as JSON.
pub(super) type SharedEnvironment = Map<String, Value>;

/// The keys of a machine that change from run to run, which are stored with the run.
const VARYING: [&str; 4] = ["load", "load_average", "meanwhile", "steal"];

/// An environment ready to be stored: the shared part, packed, and the part of this run.
pub(super) struct PackedEnvironment {
    pub(super) digest: String,
    pub(super) packed: Packed,
    pub(super) varying: String,
}

impl PackedEnvironment {
    pub(super) fn new(environment: &Environment) -> Self {
        let mut shared = serde_json::json!(environment);
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

impl Store {
    /// The shared part of an environment.
    pub(super) fn shared_environment(&self, digest: &str) -> Result<SharedEnvironment, StoreError> {
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

    /// The environment with this shared part and the part of a run.
    pub(super) fn environment(
        &self,
        shared: &SharedEnvironment,
        varying: &str,
    ) -> Result<Environment, StoreError> {
        let unreadable = |error| self.corrupt(&format!("an environment: {error}"));
        let varying: Map<String, Value> = serde_json::from_str(varying).map_err(unreadable)?;
        let mut machines = shared.clone();
        for (machine, properties) in varying {
            if let (Some(Value::Object(map)), Value::Object(properties)) =
                (machines.get_mut(&machine), properties)
            {
                map.extend(properties);
            }
        }
        serde_json::from_value(Value::Object(machines)).map_err(unreadable)
    }
}

#[cfg(test)]
mod tests {
    use crate::fixture::{TestDirectory, count, found, id, run};
    #[test]
    fn machines_are_stored_once_whatever_their_load() {
        let directory = TestDirectory::new("once");
        let mut store = directory.open();
        for nth in 0..20 {
            store.record(&run(nth)).unwrap();
        }
        assert_eq!(count(&store, "environment"), 1);
        let mut other = run(20);
        other.environment.client.as_mut().unwrap().kernel = "6.3.0".into();
        store.record(&other).unwrap();
        assert_eq!(count(&store, "environment"), 2);
        assert_eq!(found(&store, &id(7)), run(7));
        assert_eq!(found(&store, &id(20)), other);
    }
}
