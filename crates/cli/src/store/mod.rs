//! Where runs are kept: one SQLite file that any number of processes add to and none ever changes.
//!
//! What is kept is durable when [`Store::keep`] returns. A process that is killed meanwhile loses what it was
//! about to keep and nothing else.

mod error;
mod kept;
mod pack;
mod place;
mod schema;

pub use error::StoreError;
pub use kept::{Amounts, Entry, Filter, Headline, Kept, KeptRun, KeptStudy, Series, TrialOf};

use pack::{pack, unpack};
use rusqlite::{
    Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params,
};
use schema::{Found, STEPS, look, migrate};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long others may hold the file before one gives up. Each holds it for one short transaction.
const PATIENCE: Duration = Duration::from_secs(10);
/// The fewest digits that may stand for an id.
const FEWEST_DIGITS: usize = 4;
/// Digits of an id.
const DIGITS: usize = 32;
/// Candidates named when digits stand for several.
const CANDIDATES: usize = 4;
/// What of a machine changes from run to run: kept with the run, so that the rest is kept once.
const VARYING: [&str; 4] = ["load", "load_average", "meanwhile", "steal"];

/// One file of runs and studies.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    at: PathBuf,
}

impl Store {
    /// Where the store is: as the flag says, else `CAUDAL_STORE`, else `caudal/store.db` in the user's data
    /// directory. `None` when `CAUDAL_STORE` is empty or `none`, and when the user has no home.
    #[must_use]
    pub fn path(flag: Option<&Path>) -> Option<PathBuf> {
        place::path(flag, |name| std::env::var_os(name), std::env::home_dir)
    }

    /// Opens the store at `at`; makes it, and the directories above it, where there is none, and brings one of an
    /// earlier version up to this.
    ///
    /// # Errors
    /// When it cannot be made or read, is no store of ours or a later version's: it is left as it is then.
    pub fn open(at: &Path) -> Result<Self, StoreError> {
        place::make(at).map_err(|cause| StoreError::Open {
            at: at.to_owned(),
            cause,
        })?;
        let connection = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        Self::prepare(connection, at)
    }

    /// Opens a store that exists, to look at it; also one that may only be read.
    ///
    /// # Errors
    /// [`StoreError::Missing`] where there is none; otherwise as [`open`](Self::open).
    pub fn open_to_read(at: &Path) -> Result<Self, StoreError> {
        match std::fs::metadata(at) {
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
                return Err(StoreError::Missing { at: at.to_owned() });
            }
            Err(cause) => {
                let at = at.to_owned();
                return Err(StoreError::Open { at, cause });
            }
            Ok(_) => {}
        }
        let opened = connect(at, OpenFlags::SQLITE_OPEN_READ_WRITE)
            .and_then(|connection| Self::prepare(connection, at));
        match opened {
            Err(StoreError::ReadOnly { .. } | StoreError::Sqlite { .. }) if place::is_whole(at) => {
                // Where nothing can be written, what is shared between processes cannot be made either. Nobody
                // can change the file meanwhile, and nothing waits beside it, so it can be read as it is.
                let connection = connect_immutable(at)?;
                let store = Self {
                    connection,
                    at: at.to_owned(),
                };
                match store.look()? {
                    Found::Version(version) if version == STEPS.len() as i64 => Ok(store),
                    _ => Err(StoreError::ReadOnly { at: at.to_owned() }),
                }
            }
            other => other,
        }
    }

    /// Opens a store to add to it, by the file's own rules of caution.
    fn prepare(connection: Connection, at: &Path) -> Result<Self, StoreError> {
        let mut store = Self {
            connection,
            at: at.to_owned(),
        };
        let known = STEPS.len() as i64;
        let found = store.look()?;
        match found {
            Found::Version(theirs) if theirs > known => {
                return Err(StoreError::Newer {
                    at: at.to_owned(),
                    theirs,
                    ours: known,
                });
            }
            Found::Foreign => return Err(StoreError::Foreign { at: at.to_owned() }),
            Found::Empty | Found::Version(_) => {}
        }
        let settings = store.settle();
        store.told(settings)?;
        if found != Found::Version(known) {
            let migrated = migrate(&mut store.connection, &STEPS);
            store.told(migrated)?;
            // Somebody else may have made something else of an empty file meanwhile.
            match store.look()? {
                Found::Version(version) if version >= known => {}
                _ => return Err(StoreError::Foreign { at: at.to_owned() }),
            }
        }
        Ok(store)
    }

    /// How the file is written: readers and one writer at once, each transaction on the disk when it ends.
    fn settle(&self) -> rusqlite::Result<()> {
        let connection = &self.connection;
        let mode: String = connection.query_row("PRAGMA journal_mode", [], |row| row.get(0))?;
        if mode != "wal" {
            // Whoever changes the mode wants the file alone, and SQLite does not wait for that by itself. On a file
            // system without shared memory the mode stays as it was, which is slower and as safe.
            let until = std::time::Instant::now() + PATIENCE;
            loop {
                let changed = connection.query_row("PRAGMA journal_mode = WAL", [], |_| Ok(()));
                match changed {
                    Err(error) if is_busy(&error) && std::time::Instant::now() < until => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    other => break other?,
                }
            }
        }
        connection.pragma_update(None, "synchronous", "FULL")?;
        connection.pragma_update(None, "foreign_keys", true)
    }

    /// Where the store is.
    #[must_use]
    pub fn at(&self) -> &Path {
        &self.at
    }

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
                .map_err(|error| match (error, of) {
                    (Trouble::Sqlite(cause), Some(of)) if is_reference(&cause) => {
                        let id = of.study.clone();
                        Trouble::Store(StoreError::Unknown { id })
                    }
                    (error, _) => error,
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
                .map_err(|error| match error {
                    Trouble::Sqlite(cause) if is_reference(&cause) => {
                        let id = study.to_owned();
                        Trouble::Store(StoreError::Unknown { id })
                    }
                    other => other,
                })
        })
    }

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

    /// Runs and studies, the newest first.
    ///
    /// # Errors
    /// When the store cannot be read, or there is no such study as the filter names.
    pub fn list(&self, filter: &Filter) -> Result<Vec<Entry>, StoreError> {
        let studies = match &filter.study {
            Some(study) => Some(self.studies(study)?),
            None => None,
        };
        let trials = filter.trials || studies.is_some() || filter.kind.as_deref() == Some("trial");
        let words: Vec<String> = filter
            .words
            .iter()
            .map(|word| word.to_lowercase())
            .collect();
        let wanted = |entry: &Entry| {
            let of = entry.of.as_ref().map(|of| of.study.as_str());
            let in_study = studies
                .as_ref()
                .is_none_or(|ids| of.is_some_and(|of| ids.iter().any(|id| id == of)));
            let has_tag = filter
                .tag
                .as_ref()
                .is_none_or(|tag| entry.tags.iter().any(|has| has == tag));
            let has_peer = filter
                .peer
                .as_ref()
                .is_none_or(|peer| entry.peer.as_ref().is_some_and(|has| has.contains(peer)));
            in_study && has_tag && has_peer && has_words(entry, &words)
        };
        self.read(|connection| {
            let mut statement = connection.prepare_cached(LIST)?;
            let mut rows = statement.query(params![
                filter.since_ns.unwrap_or(i64::MIN),
                filter.kind,
                trials
            ])?;
            let mut entries = Vec::new();
            while let Some(row) = rows.next()? {
                if filter.limit.is_some_and(|limit| entries.len() >= limit) {
                    break;
                }
                let entry = entry(row)?;
                if wanted(&entry) {
                    entries.push(entry);
                }
            }
            Ok(entries)
        })
    }

    /// What is kept under an id, or the only one that begins with these 4 digits or more; `last` is the newest
    /// that is not part of a study.
    ///
    /// # Errors
    /// When nothing or more than one thing is, or what is there cannot be read.
    pub fn find(&self, id: &str) -> Result<Kept, StoreError> {
        let id = self.resolve(id)?;
        if let Some(mut run) = self.run_of(&id)? {
            run.series = self.series(&id)?;
            return Ok(Kept::Run(Box::new(run)));
        }
        match self.study_of(&id)? {
            Some(study) => Ok(Kept::Study(Box::new(study))),
            None => Err(StoreError::Unknown { id }),
        }
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

    /// How much the store holds.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn amounts(&self) -> Result<Amounts, StoreError> {
        let mut amounts = self.read(|connection| {
            let count = |sql| {
                connection
                    .query_row(sql, [], |row| row.get::<_, i64>(0))
                    .map(|count| count as u64)
            };
            Ok(Amounts {
                runs: count("SELECT count(*) FROM run WHERE study IS NULL")?,
                studies: count("SELECT count(*) FROM study")?,
                trials: count("SELECT count(*) FROM run WHERE study IS NOT NULL")?,
                samples: count("SELECT coalesce(sum(count), 0) FROM series")?,
                version: connection.query_row("PRAGMA user_version", [], |row| row.get(0))?,
                bytes: 0,
            })
        })?;
        amounts.bytes = place::bytes(&self.at);
        Ok(amounts)
    }

    /// The whole id that these digits stand for.
    ///
    /// # Errors
    /// When they stand for none, or for several.
    pub fn resolve(&self, id: &str) -> Result<String, StoreError> {
        let digits = id.to_ascii_lowercase();
        if digits == "last" {
            let last = self
                .read(|connection| connection.query_row(LAST, [], |row| row.get(0)).optional())?;
            return last.ok_or_else(|| StoreError::Unknown { id: id.to_owned() });
        }
        if !(FEWEST_DIGITS..=DIGITS).contains(&digits.len()) || !is_hexadecimal(&digits) {
            return Err(StoreError::NoId { id: id.to_owned() });
        }
        let mut found: Vec<String> = self.read(|connection| {
            // Every id that begins like this lies between it and the same with a letter after `f`.
            connection
                .prepare_cached(
                    "SELECT id FROM entry WHERE id >= ?1 AND id < ?1 || 'g' ORDER BY id LIMIT ?2",
                )?
                .query_map(params![digits, CANDIDATES as i64], |row| row.get(0))?
                .collect()
        })?;
        match (found.len(), found.pop()) {
            (1, Some(id)) => Ok(id),
            (_, None) => Err(StoreError::Unknown { id: id.to_owned() }),
            (_, Some(last)) => {
                found.push(last);
                let telling = distinct(&found);
                Err(StoreError::Ambiguous {
                    id: id.to_owned(),
                    of: found.iter().map(|id| id[..telling].to_owned()).collect(),
                })
            }
        }
    }

    /// The ids of the studies with this name, or the one whose id begins like this.
    fn studies(&self, study: &str) -> Result<Vec<String>, StoreError> {
        let named: Vec<String> = self.read(|connection| {
            connection
                .prepare_cached("SELECT id FROM study WHERE name = ?")?
                .query_map([study], |row| row.get(0))?
                .collect()
        })?;
        if !named.is_empty() {
            return Ok(named);
        }
        match self.resolve(study) {
            Ok(id) => Ok(vec![id]),
            Err(StoreError::NoId { id }) => Err(StoreError::Unknown { id }),
            Err(error) => Err(error),
        }
    }

    fn run_of(&self, id: &str) -> Result<Option<KeptRun>, StoreError> {
        let row = self.read(|connection| {
            connection
                .prepare_cached(&format!("{RUN} WHERE run.id = ?"))?
                .query_row([id], RunRow::of)
                .optional()
        })?;
        row.map(|row| self.whole(row, &mut BTreeMap::new()))
            .transpose()
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

    fn study_of(&self, id: &str) -> Result<Option<KeptStudy>, StoreError> {
        type Packs = (String, String, String, [(i64, Vec<u8>); 2]);
        let row: Option<(KeptStudy, Packs)> = self.read(|connection| {
            connection
                .prepare_cached(
                    "SELECT name, title, seed, command, environment, varying, experiment_size, experiment,
                        campaign_size, campaign, started_ns
                     FROM study JOIN entry USING (id) WHERE id = ?",
                )?
                .query_row([id], |row| {
                    let study = KeptStudy {
                        id: id.to_owned(),
                        name: row.get(0)?,
                        title: row.get(1)?,
                        started_ns: row.get(10)?,
                        seed: 0,
                        command: row.get(3)?,
                        experiment: Value::Null,
                        campaign: Value::Null,
                        environment: Value::Null,
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
        study.environment = self.with_varying(self.machines(&digest)?, &varying)?;
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

    /// The part of an environment that is kept once.
    fn machines(&self, digest: &str) -> Result<Value, StoreError> {
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

    fn with_varying(&self, mut machines: Value, varying: &str) -> Result<Value, StoreError> {
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

    fn unpacked(&self, packed: &[u8], size: i64, of: &str) -> Result<Value, StoreError> {
        u64::try_from(size)
            .ok()
            .and_then(|size| unpack(packed, size))
            .and_then(|text| serde_json::from_slice(&text).ok())
            .ok_or_else(|| self.corrupt(&format!("the document of {of}")))
    }

    fn look(&self) -> Result<Found, StoreError> {
        self.read(look)
    }

    fn read<T>(
        &self,
        what: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        self.told(what(&self.connection))
    }

    fn told<T>(&self, result: rusqlite::Result<T>) -> Result<T, StoreError> {
        result.map_err(|cause| StoreError::of(&self.at, cause))
    }

    fn corrupt(&self, what: &str) -> StoreError {
        StoreError::Corrupt {
            at: self.at.clone(),
            what: format!("{what} cannot be read"),
        }
    }

    /// Adds in one transaction: all of it or nothing, and nobody sees a part.
    fn write(
        &mut self,
        what: impl FnOnce(&Writer<'_>) -> Result<(), Trouble>,
    ) -> Result<(), StoreError> {
        let at = &self.at;
        let told = |cause| StoreError::of(at, cause);
        let transaction = self
            .connection
            .transaction_with_behavior(TransactionBehavior::Immediate)
            .map_err(told)?;
        let writer = Writer(transaction);
        what(&writer).map_err(|trouble| match trouble {
            Trouble::Sqlite(cause) => told(cause),
            Trouble::Store(error) => error,
        })?;
        writer.0.commit().map_err(told)
    }
}

/// What went wrong inside a transaction.
enum Trouble {
    Sqlite(rusqlite::Error),
    Store(StoreError),
}

impl From<rusqlite::Error> for Trouble {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}

/// A transaction under way.
struct Writer<'a>(Transaction<'a>);

impl Writer<'_> {
    fn run(&self, sql: &str, values: &[&dyn rusqlite::ToSql]) -> Result<(), Trouble> {
        self.0.prepare_cached(sql)?.execute(values)?;
        Ok(())
    }

    /// Takes an id, which nothing else may have.
    fn enter(&self, id: &str, started_ns: i64) -> Result<(), Trouble> {
        if id.len() != DIGITS || !is_hexadecimal(id) {
            let id = id.to_owned();
            return Err(Trouble::Store(StoreError::NoId { id }));
        }
        let added = self
            .0
            .prepare_cached("INSERT OR IGNORE INTO entry (id, started_ns) VALUES (?, ?)")?
            .execute(params![id, started_ns])?;
        if added == 0 {
            let id = id.to_owned();
            return Err(Trouble::Store(StoreError::Exists { id }));
        }
        Ok(())
    }

    fn environment(&self, environment: &Environment) -> Result<(), Trouble> {
        let packed = &environment.packed;
        self.run(
            "INSERT OR IGNORE INTO environment VALUES (?, ?, ?)",
            params![environment.digest, packed.size as i64, packed.bytes],
        )
    }

    fn event(&self, study: &str, at_ns: i64, event: &str, detail: &Value) -> Result<(), Trouble> {
        let packed = Packed::of(detail);
        self.run(
            "INSERT INTO event (study, at_ns, event, size, packed) VALUES (?, ?, ?, ?, ?)",
            params![study, at_ns, event, packed.size as i64, packed.bytes],
        )
    }
}

/// A document ready for the store.
struct Packed {
    size: u64,
    bytes: Vec<u8>,
}

impl Packed {
    fn of(value: &Value) -> Self {
        let text = value.to_string();
        Self {
            size: text.len() as u64,
            bytes: pack(text.as_bytes()),
        }
    }
}

/// An environment ready for the store: what every run on these machines shares, and what only this one had.
struct Environment {
    digest: String,
    packed: Packed,
    varying: String,
}

impl Environment {
    fn of(environment: &Value) -> Self {
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
fn without_machines(document: &Value, environment: &Value) -> (Option<String>, Value) {
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
fn with_machines(mut document: Value, keys: &str, environment: &Value) -> Option<Value> {
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

/// Everything kept that began at ?1 or later, is of kind ?2 and, unless ?3, no trial.
const LIST: &str = "
SELECT entry.id, entry.started_ns, run.kind, run.tool, run.peer, run.title, run.command, run.outcome,
    run.study, run.study_case, run.repeat, run.position, run.baseline,
    run.goodput_bps, run.loss, run.rtt_us, run.retransmits,
    study.name, study.title, study.command,
    CASE WHEN study.id IS NOT NULL THEN (SELECT count(*) FROM run WHERE run.study = study.id) END,
    CASE WHEN study.id IS NOT NULL THEN (
        SELECT event FROM event WHERE event.study = study.id
            AND event IN ('begun', 'resumed', 'done', 'interrupted', 'failed')
        ORDER BY event.nth DESC LIMIT 1) END,
    (SELECT json_group_array(tag) FROM (SELECT tag FROM tagged WHERE tagged.id = entry.id ORDER BY tag))
FROM entry LEFT JOIN run ON run.id = entry.id LEFT JOIN study ON study.id = entry.id
WHERE entry.started_ns >= ?1
    AND (run.id IS NOT NULL OR study.id IS NOT NULL)
    AND (?2 IS NULL OR coalesce(run.kind, 'study') = ?2)
    AND (?3 OR run.study IS NULL)
ORDER BY entry.started_ns DESC, entry.nth DESC";

/// The newest run or study.
const LAST: &str = "
SELECT entry.id FROM entry LEFT JOIN run ON run.id = entry.id LEFT JOIN study ON study.id = entry.id
WHERE (run.id IS NOT NULL OR study.id IS NOT NULL) AND run.study IS NULL
ORDER BY entry.started_ns DESC, entry.nth DESC LIMIT 1";

/// Runs, as [`RunRow`] reads them.
const RUN: &str = "
SELECT run.id, entry.started_ns, run.kind, run.tool, run.peer, run.title, run.command, run.outcome,
    run.study, run.study_case, run.repeat, run.position, run.baseline,
    run.goodput_bps, run.loss, run.rtt_us, run.retransmits,
    run.environment, run.varying, document.machines, document.size, document.packed
FROM run JOIN entry ON entry.id = run.id JOIN document ON document.run = run.id";

fn trial_of(row: &Row<'_>) -> rusqlite::Result<Option<TrialOf>> {
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

fn headline(row: &Row<'_>) -> rusqlite::Result<Headline> {
    Ok(Headline {
        goodput_bps: row.get(13)?,
        loss: row.get(14)?,
        rtt_us: row.get(15)?,
        retransmits: row.get(16)?,
    })
}

fn entry(row: &Row<'_>) -> rusqlite::Result<Entry> {
    let tags: String = row.get(22)?;
    let common = Entry {
        id: row.get(0)?,
        kind: row
            .get::<_, Option<String>>(2)?
            .unwrap_or_else(|| "study".to_owned()),
        started_ns: row.get(1)?,
        tool: row.get::<_, Option<String>>(3)?.unwrap_or_default(),
        peer: row.get(4)?,
        title: row.get(5)?,
        name: row.get(17)?,
        command: row.get::<_, Option<String>>(6)?.unwrap_or_default(),
        outcome: row.get::<_, Option<String>>(7)?.unwrap_or_default(),
        of: trial_of(row)?,
        headline: headline(row)?,
        trials: row.get::<_, Option<i64>>(20)?.map(|count| count as u64),
        tags: serde_json::from_str(&tags).unwrap_or_default(),
    };
    if common.name.is_none() {
        return Ok(common);
    }
    let event: Option<String> = row.get(21)?;
    Ok(Entry {
        title: row.get(18)?,
        command: row.get(19)?,
        outcome: kept::state(event.as_deref().into_iter()).to_owned(),
        ..common
    })
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

/// Whether each of the words, in small letters, is somewhere in what a list tells of an entry.
fn has_words(entry: &Entry, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let optional = [&entry.peer, &entry.title, &entry.name];
    let told = [&entry.id, &entry.kind, &entry.tool, &entry.command];
    let text = told
        .into_iter()
        .chain(optional.into_iter().flatten())
        .chain(&entry.tags)
        .map(|part| part.to_lowercase())
        .collect::<Vec<_>>();
    words
        .iter()
        .all(|word| text.iter().any(|part| part.contains(word)))
}

fn connect(at: &Path, flags: OpenFlags) -> Result<Connection, StoreError> {
    let connection = Connection::open_with_flags(at, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)
        .map_err(|cause| opening(at, cause))?;
    connection
        .busy_timeout(PATIENCE)
        .map_err(|cause| StoreError::of(at, cause))?;
    Ok(connection)
}

/// Why the file could not be opened: what the system says of it tells more than SQLite does.
fn opening(at: &Path, cause: rusqlite::Error) -> StoreError {
    match std::fs::OpenOptions::new().read(true).open(at) {
        Err(cause) => StoreError::Open {
            at: at.to_owned(),
            cause,
        },
        Ok(file) if file.metadata().is_ok_and(|meta| meta.is_dir()) => StoreError::Open {
            at: at.to_owned(),
            cause: std::io::ErrorKind::IsADirectory.into(),
        },
        Ok(_) => StoreError::of(at, cause),
    }
}

/// A connection that takes the file for one that nobody changes.
fn connect_immutable(at: &Path) -> Result<Connection, StoreError> {
    use std::os::unix::ffi::OsStrExt;
    let escaped: String = at
        .as_os_str()
        .as_bytes()
        .iter()
        .map(|byte| match byte {
            b'/' | b'.' | b'-' | b'_' => char::from(*byte).to_string(),
            _ if byte.is_ascii_alphanumeric() => char::from(*byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags(format!("file:{escaped}?immutable=1"), flags)
        .map_err(|cause| opening(at, cause))
}

fn is_busy(error: &rusqlite::Error) -> bool {
    use rusqlite::ErrorCode::{DatabaseBusy, DatabaseLocked};
    matches!(
        error.sqlite_error_code(),
        Some(DatabaseBusy | DatabaseLocked)
    )
}

/// Whether a row refers to another that is not there.
fn is_reference(error: &rusqlite::Error) -> bool {
    error.sqlite_error().map(|error| error.extended_code)
        == Some(rusqlite::ffi::SQLITE_CONSTRAINT_FOREIGNKEY)
}

fn is_hexadecimal(digits: &str) -> bool {
    digits
        .bytes()
        .all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// How many digits tell these ids, in order, apart.
fn distinct(ids: &[String]) -> usize {
    let shared = ids.windows(2).map(|pair| {
        let both = pair[0].bytes().zip(pair[1].bytes());
        both.take_while(|(a, b)| a == b).count()
    });
    (shared.max().unwrap_or(0) + 1).clamp(8, DIGITS)
}

fn now_ns() -> i64 {
    i64::try_from(caudal_sys::clock::realtime_ns()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
