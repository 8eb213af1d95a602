//! Runs as they are read again.

use std::collections::BTreeMap;

use rusqlite::{OptionalExtension, Row};
use serde_json::Value;

use super::environment::with_machines;
use super::{Headline, KeptRun, Series, Store, StoreError, TrialOf, pack};

/// Runs, as [`RunRow`] reads them.
const RUN: &str = "
SELECT run.id, entry.started_ns, run.kind, run.tool, run.peer, run.title, run.command, run.outcome,
    run.study, run.study_case, run.repeat, run.position, run.baseline,
    run.goodput_bps, run.loss, run.rtt_us, run.retransmits,
    run.environment, run.varying, document.machines, document.size, document.packed
FROM run JOIN entry ON entry.id = run.id JOIN document ON document.run = run.id";

impl Store {
    pub(super) fn run_of(&self, id: &str) -> Result<Option<KeptRun>, StoreError> {
        let row = self.read(|connection| {
            connection
                .prepare_cached(&format!("{RUN} WHERE run.id = ?"))?
                .query_row([id], RunRow::of)
                .optional()
        })?;
        row.map(|row| self.whole(row, &mut BTreeMap::new()))
            .transpose()
    }

    /// The trials of the study with this id so far, in the order they were carried out, without their samples.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn trials(&self, study: &str) -> Result<Vec<KeptRun>, StoreError> {
        let rows: Vec<RunRow> = self.read(|connection| {
            let sql = format!("{RUN} WHERE run.study = ? ORDER BY entry.nth");
            connection
                .prepare_cached(&sql)?
                .query_map([study], RunRow::of)?
                .collect()
        })?;
        let mut machines = BTreeMap::new();
        rows.into_iter()
            .map(|row| self.whole(row, &mut machines))
            .collect()
    }

    /// The raw samples of the run with this id.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn series(&self, run: &str) -> Result<Vec<Series>, StoreError> {
        let rows: Vec<(Series, u64, u64, Vec<u8>)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT flow, name, unit, count, size, packed FROM series WHERE run = ? ORDER BY nth",
                )?
                .query_map([run], |row| {
                    let series = Series {
                        flow: row.get(0)?,
                        name: row.get(1)?,
                        unit: row.get(2)?,
                        values: Vec::new(),
                    };
                    let (count, size): (i64, i64) = (row.get(3)?, row.get(4)?);
                    Ok((series, count as u64, size as u64, row.get(5)?))
                })?
                .collect()
        })?;
        rows.into_iter()
            .map(|(mut series, count, size, packed)| {
                series.values = pack::unpack_series(&packed, size, count)
                    .ok_or_else(|| self.corrupt(&format!("samples of {run}")))?;
                Ok(series)
            })
            .collect()
    }

    /// A run from its row, unpacked; `machines` are those unpacked before.
    fn whole(
        &self,
        row: RunRow,
        machines: &mut BTreeMap<String, Value>,
    ) -> Result<KeptRun, StoreError> {
        let mut run = row.run;
        if !machines.contains_key(&row.digest) {
            machines.insert(row.digest.clone(), self.machines(&row.digest)?);
        }
        let base = machines.get(&row.digest).cloned().unwrap_or_default();
        run.environment = self.with_varying(base, &row.varying)?;
        let document = self.unpacked(&row.packed, row.size, &run.id)?;
        run.document = match &row.machines {
            None => document,
            Some(keys) => with_machines(document, keys, &run.environment)
                .ok_or_else(|| self.corrupt(&format!("the document of {}", run.id)))?,
        };
        Ok(run)
    }
}

/// A run as its row has it, with what is still to be unpacked.
struct RunRow {
    run: KeptRun,
    digest: String,
    varying: String,
    machines: Option<String>,
    size: i64,
    packed: Vec<u8>,
}

impl RunRow {
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            run: KeptRun {
                id: row.get(0)?,
                started_ns: row.get(1)?,
                kind: row.get(2)?,
                tool: row.get(3)?,
                peer: row.get(4)?,
                title: row.get(5)?,
                command: row.get(6)?,
                outcome: row.get(7)?,
                of: trial_of(row)?,
                headline: headline(row)?,
                environment: Value::Null,
                document: Value::Null,
                series: Vec::new(),
            },
            digest: row.get(17)?,
            varying: row.get(18)?,
            machines: row.get(19)?,
            size: row.get(20)?,
            packed: row.get(21)?,
        })
    }
}

pub(super) fn trial_of(row: &Row<'_>) -> rusqlite::Result<Option<TrialOf>> {
    let Some(study) = row.get(8)? else {
        return Ok(None);
    };
    Ok(Some(TrialOf {
        study,
        case: row.get::<_, Option<String>>(9)?.unwrap_or_default(),
        repeat: row.get::<_, Option<u32>>(10)?.unwrap_or_default(),
        position: row.get::<_, Option<u32>>(11)?.unwrap_or_default(),
        baseline: row.get::<_, Option<bool>>(12)?.unwrap_or_default(),
    }))
}

pub(super) fn headline(row: &Row<'_>) -> rusqlite::Result<Headline> {
    Ok(Headline {
        goodput_bps: row.get(13)?,
        loss: row.get(14)?,
        rtt_us: row.get(15)?,
        retransmits: row.get(16)?,
    })
}
