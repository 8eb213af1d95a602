//! Reading runs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt::Display;
use std::str::FromStr;

use rusqlite::{OptionalExtension, Row};

use crate::document::{StoredDocument, with_machines};
use crate::environment::SharedEnvironment;
use crate::error::StoreError;
use crate::headline::Headline;
use crate::kind::RunKind;
use crate::outline;
use crate::samples;
use crate::store::Store;
use crate::stored::{SampleSeries, StoredRun, StudyTrial};

/// The columns of runs, as [`RunRow`] reads them.
const RUN: &str = "
SELECT run.id, entry.started_ns, run.kind, run.tool, run.peer, run.title, run.command, run.outcome,
    run.study, run.study_case, run.repeat, run.position, run.baseline,
    run.goodput_bps, run.loss, run.rtt_us, run.retransmits,
    run.environment, run.varying, document.machines, document.size, document.packed,
    run.up_bps, run.down_bps, run.episodes, run.result, run.part_of, run.outline
FROM run JOIN entry ON entry.id = run.id JOIN document ON document.run = run.id";

impl Store {
    /// The run with this id, without its samples.
    pub(super) fn run(&self, id: &str) -> Result<Option<StoredRun>, StoreError> {
        let row = self.read(|connection| {
            connection
                .prepare_cached(&format!("{RUN} WHERE run.id = ?"))?
                .query_row([id], RunRow::new)
                .optional()
        })?;
        row.map(|row| self.unpack_run(row, &mut BTreeMap::new()))
            .transpose()
    }

    /// The trials of the study with this id so far, in the order of execution, without their samples.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn trials(&self, study: &str) -> Result<Vec<StoredRun>, StoreError> {
        let rows: Vec<RunRow> = self.read(|connection| {
            let sql = format!("{RUN} WHERE run.study = ? ORDER BY entry.nth");
            connection
                .prepare_cached(&sql)?
                .query_map([study], RunRow::new)?
                .collect()
        })?;
        let mut machines = BTreeMap::new();
        rows.into_iter()
            .map(|row| self.unpack_run(row, &mut machines))
            .collect()
    }

    /// The raw samples of the run with this id.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn series(&self, run: &str) -> Result<Vec<SampleSeries>, StoreError> {
        let rows: Vec<(SampleSeries, u64, u64, Vec<u8>)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT flow, name, unit, count, size, packed FROM series WHERE run = ? ORDER BY nth",
                )?
                .query_map([run], |row| {
                    let series = SampleSeries {
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
                series.values = samples::unpack_series(&packed, size, count)
                    .ok_or_else(|| self.corrupt(&format!("samples of {run}")))?;
                Ok(series)
            })
            .collect()
    }

    /// Unpacks a run from its row; `machines` caches the shared environments.
    fn unpack_run(
        &self,
        row: RunRow,
        machines: &mut BTreeMap<String, SharedEnvironment>,
    ) -> Result<StoredRun, StoreError> {
        let shared = match machines.entry(row.digest.clone()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(self.shared_environment(&row.digest)?),
        };
        let environment = self.environment(shared, &row.varying)?;
        let kind = self.parsed(&row.kind, &row.id)?;
        let document = match (kind, &row.machines) {
            (RunKind::Trial, _) => {
                StoredDocument::Trial(self.unpacked_text(&row.packed, row.size, &row.id)?)
            }
            (_, machines) => {
                let run = self.unpacked(&row.packed, row.size, &row.id)?;
                let run = match machines {
                    None => run,
                    Some(keys) => with_machines(run, keys, &environment)
                        .ok_or_else(|| self.corrupt(&format!("the document of {}", row.id)))?,
                };
                StoredDocument::Run(Box::new(run))
            }
        };
        Ok(StoredRun {
            kind,
            outcome: self.parsed(&row.outcome, &row.id)?,
            id: row.id,
            started_ns: row.started_ns,
            tool: row.tool.into(),
            peer: row.peer.map(Into::into),
            title: row.title.map(Into::into),
            command: row.command.into(),
            trial: row.trial,
            part_of: row.part_of,
            headline: row.headline,
            environment,
            document,
            series: Vec::new(),
        })
    }

    /// The value of a name in the row of a run.
    fn parsed<T: FromStr<Err: Display>>(&self, name: &str, id: &str) -> Result<T, StoreError> {
        name.parse()
            .map_err(|error| self.corrupt(&format!("{name:?} of run {id}: {error}; it")))
    }
}

/// The row of a run, with its packed parts.
struct RunRow {
    id: String,
    started_ns: i64,
    kind: String,
    tool: String,
    peer: Option<String>,
    title: Option<String>,
    command: String,
    outcome: String,
    trial: Option<StudyTrial>,
    part_of: Option<String>,
    headline: Headline,
    digest: String,
    varying: String,
    machines: Option<String>,
    size: i64,
    packed: Vec<u8>,
}

impl RunRow {
    fn new(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            id: row.get(0)?,
            started_ns: row.get(1)?,
            kind: row.get(2)?,
            tool: row.get(3)?,
            peer: row.get(4)?,
            title: row.get(5)?,
            command: row.get(6)?,
            outcome: row.get(7)?,
            trial: study_trial(row)?,
            part_of: row.get("part_of")?,
            headline: headline(row)?,
            digest: row.get(17)?,
            varying: row.get(18)?,
            machines: row.get(19)?,
            size: row.get(20)?,
            packed: row.get(21)?,
        })
    }
}

pub(super) fn study_trial(row: &Row<'_>) -> rusqlite::Result<Option<StudyTrial>> {
    let Some(study) = row.get(8)? else {
        return Ok(None);
    };
    Ok(Some(StudyTrial {
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
        up_bps: row.get("up_bps")?,
        down_bps: row.get("down_bps")?,
        episodes: row.get("episodes")?,
        result: row.get("result")?,
        outline: row
            .get::<_, Option<String>>("outline")?
            .map(|text| outline::from_text(&text)),
    })
}
