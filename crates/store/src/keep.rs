//! Keeping runs, studies and what happens to them.

use rusqlite::params;
use serde_json::Value;

use super::environment::{Environment, without_machines};
use super::pack::{self, Packed};
use super::{KeptRun, KeptStudy, Store, StoreError};

impl Store {
    /// Keeps a run, in one transaction; it is on the disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written, or something is kept under its id already.
    pub fn keep(&mut self, run: &KeptRun) -> Result<(), StoreError> {
        // All that takes time comes before the file is taken from others.
        let (machines, document) = without_machines(&run.document, &run.environment);
        let document = Packed::of(&document);
        let series: Vec<(u64, Vec<u8>)> = run.series.iter().map(pack::pack_series).collect();
        let environment = Environment::of(&run.environment);
        self.write(|store| {
            store.enter(&run.id, run.started_ns)?;
            store.environment(&environment)?;
            let of = run.of.as_ref();
            let headline = &run.headline;
            store
                .run(
                    "INSERT INTO run VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        run.id,
                        run.kind,
                        run.tool,
                        run.peer,
                        run.title,
                        run.command,
                        run.outcome,
                        of.map(|of| &of.study),
                        of.map(|of| &of.case),
                        of.map(|of| of.repeat),
                        of.map(|of| of.position),
                        of.map(|of| of.baseline),
                        headline.goodput_bps,
                        headline.loss,
                        headline.rtt_us,
                        headline.retransmits,
                        environment.digest,
                        environment.varying,
                    ],
                )
                .map_err(|trouble| match of {
                    Some(of) => trouble.about_study(&of.study),
                    None => trouble,
                })?;
            store.run(
                "INSERT INTO document VALUES (?, ?, ?, ?)",
                params![run.id, machines, document.size as i64, document.bytes],
            )?;
            for (nth, (series, (size, packed))) in run.series.iter().zip(&series).enumerate() {
                store.run(
                    "INSERT INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    params![
                        run.id,
                        nth as i64,
                        series.flow,
                        series.name,
                        series.unit,
                        series.values.len() as i64,
                        *size as i64,
                        packed,
                    ],
                )?;
            }
            Ok(())
        })
    }

    /// Keeps a study that begins, with what has happened to it so far.
    ///
    /// # Errors
    /// When it cannot be written, or something is kept under its id already.
    pub fn begin_study(&mut self, study: &KeptStudy) -> Result<(), StoreError> {
        let environment = Environment::of(&study.environment);
        let experiment = Packed::of(&study.experiment);
        let campaign = Packed::of(&study.campaign);
        self.write(|store| {
            store.enter(&study.id, study.started_ns)?;
            store.environment(&environment)?;
            store.run(
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
                store.event(&study.id, *at_ns, event, detail)?;
            }
            Ok(())
        })
    }

    /// Keeps what happened to a study just now: `interrupted`, `resumed`, `done`, `failed`, `findings` and the like.
    ///
    /// # Errors
    /// When it cannot be written, or no study has this id.
    pub fn note(&mut self, study: &str, event: &str, detail: &Value) -> Result<(), StoreError> {
        let now = now_ns();
        self.write(|store| {
            store
                .event(study, now, event, detail)
                .map_err(|trouble| trouble.about_study(study))
        })
    }
}

pub(super) fn now_ns() -> i64 {
    i64::try_from(caudal_sys::clock::realtime_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{Place, count, found, id, is_whole, run, study, trial};
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_kept_is_found_as_it_was() {
        let place = Place::new("found");
        let mut store = place.store();
        let mut odd = run(2);
        // Machines of its own in the document, no machines at all in the environment.
        odd.environment = Value::Null;
        odd.peer = None;
        odd.title = Some("β ∞ 'quoted' \"twice\"".into());
        let mut bare = run(3);
        bare.document = json!("no object");
        bare.environment = json!({"machine": {"steal": 1, "load": 2, "load_average": 3}});
        for kept in [run(1), odd, bare] {
            store.keep(&kept).unwrap();
            assert_eq!(found(&store, &kept.id), kept);
            assert_eq!(found(&place.store(), &kept.id[..12]), kept);
        }
        is_whole(&place.file());
    }

    #[test]
    fn an_id_is_kept_once() {
        let place = Place::new("exists");
        let mut store = place.store();
        store.keep(&run(1)).unwrap();
        let again = KeptRun {
            outcome: "failed".into(),
            ..run(1)
        };
        assert!(matches!(store.keep(&again), Err(StoreError::Exists { .. })));
        let same = study(1, "echo");
        assert!(matches!(
            store.begin_study(&same),
            Err(StoreError::Exists { .. })
        ));
        assert_eq!(found(&store, &id(1)), run(1));
        for bad in [
            "",
            "12",
            "G0000000000000000000000000000000",
            "A0000000000000000000000000000000",
        ] {
            let kept = KeptRun {
                id: bad.into(),
                ..run(2)
            };
            assert!(
                matches!(store.keep(&kept), Err(StoreError::NoId { .. })),
                "{bad}"
            );
        }
        assert_eq!(count(&store, "entry"), 1);
    }

    #[test]
    fn what_belongs_to_a_study_that_is_not_there_is_refused() {
        let place = Place::new("orphan");
        let mut store = place.store();
        assert!(matches!(
            store.keep(&trial(1, 100, 0)),
            Err(StoreError::Unknown { .. })
        ));
        assert!(matches!(
            store.note(&id(100), "done", &Value::Null),
            Err(StoreError::Unknown { .. })
        ));
        assert_eq!((count(&store, "entry"), count(&store, "event")), (0, 0));
    }
}
