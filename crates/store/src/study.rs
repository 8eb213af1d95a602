//! Reading studies.

use caudal_core::run::Environment;
use rusqlite::OptionalExtension;
use serde_json::Value;

use crate::error::StoreError;
use crate::store::Store;
use crate::stored::StoredStudy;

impl Store {
    /// The study with this id, without its trials.
    pub(super) fn study(&self, id: &str) -> Result<Option<StoredStudy>, StoreError> {
        type Packs = (String, String, String, [(i64, Vec<u8>); 2]);
        let row: Option<(StoredStudy, Packs)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT name, title, seed, command, environment, varying, experiment_size, experiment,
                        campaign_size, campaign, started_ns
                     FROM study JOIN entry USING (id) WHERE id = ?",
                )?
                .query_row([id], |row| {
                    let study = StoredStudy {
                        id: id.to_owned(),
                        name: row.get(0)?,
                        title: row.get(1)?,
                        started_ns: row.get(10)?,
                        seed: 0,
                        command: row.get(3)?,
                        experiment: Value::Null,
                        campaign: Value::Null,
                        environment: Environment::default(),
                        events: Vec::new(),
                    };
                    let experiment = (row.get(6)?, row.get(7)?);
                    let campaign = (row.get(8)?, row.get(9)?);
                    let packs = (row.get(2)?, row.get(4)?, row.get(5)?, [experiment, campaign]);
                    Ok((study, packs))
                })
                .optional()
        })?;
        let Some((mut study, (seed, digest, varying, [experiment, campaign]))) = row else {
            return Ok(None);
        };
        study.seed = seed
            .parse()
            .map_err(|_| self.corrupt(&format!("the seed of {id}")))?;
        study.experiment = self.unpacked(&experiment.1, experiment.0, id)?;
        study.campaign = self.unpacked(&campaign.1, campaign.0, id)?;
        study.environment = self.environment(&self.shared_environment(&digest)?, &varying)?;
        let events: Vec<(i64, String, i64, Vec<u8>)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT at_ns, event, size, packed FROM event WHERE study = ? ORDER BY nth",
                )?
                .query_map([id], |row| {
                    Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                })?
                .collect()
        })?;
        for (at_ns, event, size, packed) in events {
            let detail = self.unpacked(&packed, size, id)?;
            study.events.push((at_ns, event, detail));
        }
        Ok(Some(study))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::Filter;
    use crate::fixture::{TestDirectory, id, study, trial};
    use crate::stored::StoredItem;
    use serde_json::json;

    #[test]
    fn a_study_collects_its_trials_and_events() {
        let directory = TestDirectory::new("study");
        let mut store = directory.open();
        let first = study(100, "starvation");
        store.record_study(&first).unwrap();
        assert_eq!(
            store.find(&id(100)).unwrap(),
            StoredItem::Study(Box::new(first))
        );
        // Trials are in the order of execution, whatever their clocks.
        for (nth, position) in [(9, 0), (3, 1), (5, 2)] {
            store.record(&trial(nth, 100, position)).unwrap();
        }
        store.record_study(&study(200, "echo")).unwrap();
        store.record(&trial(50, 200, 0)).unwrap();
        store
            .record_event(&id(100), "interrupted", &json!({"after": 3}))
            .unwrap();
        store
            .record_event(&id(100), "resumed", &Value::Null)
            .unwrap();
        let trials = store.trials(&id(100)).unwrap();
        assert_eq!(
            trials,
            [trial(9, 100, 0), trial(3, 100, 1), trial(5, 100, 2)]
        );
        let StoredItem::Study(found) = store.find(&id(100)).unwrap() else {
            panic!("no study");
        };
        let events: Vec<&str> = found
            .events
            .iter()
            .map(|(_, event, _)| event.as_str())
            .collect();
        assert_eq!(events, ["begun", "interrupted", "resumed"]);
        assert_eq!(found.events[1].2, json!({"after": 3}));
        assert_eq!(found.state(), "unfinished");
        store.record_event(&id(100), "done", &Value::Null).unwrap();
        store
            .record_event(&id(100), "findings", &json!({"schema": "caudal.study/1"}))
            .unwrap();
        let listed = store.list(&Filter::default()).unwrap();
        assert_eq!(
            listed
                .iter()
                .map(|entry| (entry.kind.as_str(), entry.outcome.as_str(), entry.trials))
                .collect::<Vec<_>>(),
            [("study", "unfinished", Some(1)), ("study", "done", Some(3))]
        );
    }
}
