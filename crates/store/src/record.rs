//! Recording runs, studies and the events of studies.

use caudal_core::text::ExternalText;
use rusqlite::params;
use serde_json::Value;

use crate::document::PackedDocument;
use crate::environment::PackedEnvironment;
use crate::error::StoreError;
use crate::outline;
use crate::pack::Packed;
use crate::samples;
use crate::store::Store;
use crate::store::now_ns;
use crate::stored::{StoredRun, StoredStudy};

impl Store {
    /// Records a run in one transaction; it is durable when this returns.
    ///
    /// # Errors
    /// When it cannot be written, or its id is taken.
    pub fn record(&mut self, run: &StoredRun) -> Result<(), StoreError> {
        self.record_with_tags(run, &[])
    }

    /// Records a run and its tags in one transaction; both are durable when this returns.
    ///
    /// # Errors
    /// When it cannot be written, or its id is taken.
    pub fn record_with_tags(&mut self, run: &StoredRun, tags: &[String]) -> Result<(), StoreError> {
        // Everything slow is done before the file is locked.
        let document = PackedDocument::new(&run.document, &run.environment);
        let series: Vec<(u64, Vec<u8>)> = run.series.iter().map(samples::pack_series).collect();
        let environment = PackedEnvironment::new(&run.environment);
        let now = now_ns();
        self.write(|writer| {
            writer.enter(&run.id, run.started_ns)?;
            writer.environment(&environment)?;
            let trial = run.trial.as_ref();
            let headline = &run.headline;
            writer
                .execute(
                    "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        run.id,
                        run.kind.name(),
                        run.tool.as_received(),
                        run.peer.as_ref().map(ExternalText::as_received),
                        run.title.as_ref().map(ExternalText::as_received),
                        run.command.as_received(),
                        run.outcome.name(),
                        trial.map(|trial| &trial.study),
                        trial.map(|trial| &trial.case),
                        trial.map(|trial| trial.repeat),
                        trial.map(|trial| trial.position),
                        trial.map(|trial| trial.baseline),
                        headline.goodput_bps,
                        headline.loss,
                        headline.rtt_us,
                        headline.retransmits,
                        environment.digest,
                        environment.varying,
                        headline.up_bps,
                        headline.down_bps,
                        headline.episodes,
                        headline.result,
                        run.part_of,
                        headline.outline.as_deref().map(outline::to_text),
                    ],
                )
                .map_err(|error| match trial {
                    Some(trial) => error.about_study(&trial.study),
                    None => error,
                })?;
            writer.execute(
                "INSERT INTO document VALUES (?, ?, ?, ?)",
                params![
                    run.id,
                    document.machines,
                    document.packed.size as i64,
                    document.packed.bytes
                ],
            )?;
            writer.series(&run.id, run.series.iter().zip(&series))?;
            writer.tags(&run.id, tags, now)
        })
    }

    /// Records a study that starts, with its events so far.
    ///
    /// # Errors
    /// When it cannot be written, or its id is taken.
    pub fn record_study(&mut self, study: &StoredStudy) -> Result<(), StoreError> {
        let environment = PackedEnvironment::new(&study.environment);
        let experiment = Packed::from_json(&study.experiment);
        let campaign = Packed::from_json(&study.campaign);
        self.write(|writer| {
            writer.enter(&study.id, study.started_ns)?;
            writer.environment(&environment)?;
            writer.execute(
                "INSERT INTO study VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                params![
                    study.id,
                    study.name,
                    study.title,
                    study.seed.to_string(),
                    study.command,
                    environment.digest,
                    environment.varying,
                    experiment.size as i64,
                    experiment.bytes,
                    campaign.size as i64,
                    campaign.bytes,
                ],
            )?;
            for (at_ns, event, detail) in &study.events {
                writer.event(&study.id, *at_ns, event, detail)?;
            }
            Ok(())
        })
    }

    /// Records an event of a study at the current time: `interrupted`, `resumed`, `done`, `failed`, `findings` and the like.
    ///
    /// # Errors
    /// When it cannot be written, or no study has this id.
    pub fn record_event(
        &mut self,
        study: &str,
        event: &str,
        detail: &Value,
    ) -> Result<(), StoreError> {
        let now = now_ns();
        self.write(|writer| {
            writer
                .event(study, now, event, detail)
                .map_err(|error| error.about_study(study))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::StoredDocument;
    use crate::fixture::{TestDirectory, assert_integrity, count, found, id, run, study, trial};
    use caudal_core::run::{Environment, RunOutcome};

    #[test]
    fn a_recorded_run_is_found_unchanged() {
        let directory = TestDirectory::new("found");
        let mut store = directory.open();
        // Machines of its own in the document, no machines at all in the environment.
        let odd = StoredRun {
            environment: Environment::default(),
            peer: None,
            title: Some("β ∞ 'quoted' \"twice\"".into()),
            ..run(2)
        };
        let mut bare = run(3);
        let StoredDocument::Run(document) = &mut bare.document else {
            panic!("{bare:?}");
        };
        document.environment = None;
        for stored in [run(1), odd, bare] {
            store.record(&stored).unwrap();
            assert_eq!(found(&store, &stored.id), stored);
            assert_eq!(found(&directory.open(), &stored.id[..12]), stored);
        }
        assert_integrity(&directory.store_path());
    }

    #[test]
    fn a_document_that_cannot_be_read_is_an_error_that_names_it() {
        let directory = TestDirectory::new("unreadable");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        store.record(&run(2)).unwrap();
        for (nth, text) in [(1, "{\"schema\": \"caudal.run/1\"}"), (2, "no JSON")] {
            let triggers = "DROP TRIGGER IF EXISTS document_stays";
            store.connection.execute_batch(triggers).unwrap();
            store
                .connection
                .execute(
                    "UPDATE document SET size = ?, packed = ? WHERE run = ?",
                    params![text.len() as i64, text.as_bytes(), id(nth)],
                )
                .unwrap();
            let error = store.find(&id(nth)).unwrap_err();
            assert!(
                matches!(&error, StoreError::Unreadable { id: named, .. } if *named == id(nth)),
                "{error}"
            );
        }
    }

    #[test]
    fn an_id_is_recorded_once() {
        let directory = TestDirectory::new("exists");
        let mut store = directory.open();
        store.record(&run(1)).unwrap();
        let again = StoredRun {
            outcome: RunOutcome::Failed,
            ..run(1)
        };
        assert!(matches!(
            store.record(&again),
            Err(StoreError::Exists { .. })
        ));
        let same = study(1, "echo");
        assert!(matches!(
            store.record_study(&same),
            Err(StoreError::Exists { .. })
        ));
        assert_eq!(found(&store, &id(1)), run(1));
        for bad in [
            "",
            "12",
            "G0000000000000000000000000000000",
            "A0000000000000000000000000000000",
        ] {
            let stored = StoredRun {
                id: bad.into(),
                ..run(2)
            };
            assert!(
                matches!(store.record(&stored), Err(StoreError::InvalidId { .. })),
                "{bad}"
            );
        }
        assert_eq!(count(&store, "entry"), 1);
    }

    #[test]
    fn a_trial_or_event_of_an_unknown_study_is_rejected() {
        let directory = TestDirectory::new("orphan");
        let mut store = directory.open();
        assert!(matches!(
            store.record(&trial(1, 100, 0)),
            Err(StoreError::Unknown { .. })
        ));
        assert!(matches!(
            store.record_event(&id(100), "done", &Value::Null),
            Err(StoreError::Unknown { .. })
        ));
        assert_eq!((count(&store, "entry"), count(&store, "event")), (0, 0));
    }
}
