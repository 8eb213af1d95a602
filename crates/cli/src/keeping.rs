//! A command's run on its way to the store: after its result was shown, and without ever costing it.

use crate::args::StoreArgs;
use crate::exit::{Exit, Failure};
use crate::import::{self, log::Log};
use crate::machine::Watch;
use crate::output::json::{Header, new_id};
use crate::peer::{Peer, TOOL};
use caudal_engine::describe;
use caudal_store::{Headline, KeptRun, Series, Store, StoreError};
use serde_json::{Value, json};
use std::io::Write;
use std::net::IpAddr;
use std::path::PathBuf;

/// Digits of an id that people are shown: enough to tell any runs of a lifetime apart.
pub const SHOWN: usize = 8;

/// The beginning of an id that people are shown.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..SHOWN).unwrap_or(id)
}

/// How a run ended, as the store has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It went its whole way.
    Done,
    /// It ended before its time.
    CutShort,
    /// It went its whole way, and nothing came of it.
    Failed,
}

impl Outcome {
    /// How a run ended whose command ends like this.
    #[must_use]
    pub fn of(exit: Exit, cut_short: bool) -> Self {
        match exit {
            _ if cut_short => Self::CutShort,
            Exit::Done => Self::Done,
            _ => Self::Failed,
        }
    }

    /// Its word.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::CutShort => "cut short",
            Self::Failed => "failed",
        }
    }
}

/// Where a command's run will be kept, and the machine from before it on.
#[derive(Debug)]
pub struct Keeping {
    place: Place,
    /// Whether the command has flags that say where.
    has_flags: bool,
    watch: Watch,
}

#[derive(Debug)]
enum Place {
    /// It was asked for that nothing be kept.
    Nowhere,
    /// Nobody knows where.
    Unknown,
    /// Here; because of the flag, or not.
    At(PathBuf, bool),
}

impl Keeping {
    /// Prepares to keep the run that begins now.
    #[must_use]
    pub fn start(args: &StoreArgs) -> Self {
        let flag = args.store.as_deref();
        let place = if args.no_store {
            Place::Nowhere
        } else {
            match Store::path(flag) {
                Some(at) => Place::At(at, flag.is_some()),
                None if std::env::var_os("CAUDAL_STORE").is_some() => Place::Nowhere,
                None => Place::Unknown,
            }
        };
        Self {
            place,
            has_flags: true,
            watch: Watch::start(),
        }
    }

    /// Prepares to keep the run of a command whose flags are another program's: the environment alone says where.
    #[must_use]
    pub fn by_environment() -> Self {
        Self {
            has_flags: false,
            ..Self::start(&StoreArgs::default())
        }
    }

    /// Whether the run is to be kept.
    #[must_use]
    pub const fn is_wanted(&self) -> bool {
        matches!(self.place, Place::At(..))
    }

    /// Keeps a run that has been shown. What goes wrong is one line on standard error.
    ///
    /// The line that tells people under which id; `None` when the run is not kept.
    pub fn keep(
        &self,
        peer: &Peer,
        header: &Header,
        document: &Value,
        outcome: Outcome,
        samples: impl FnOnce() -> Vec<Series>,
    ) -> Option<String> {
        // Nothing was measured, or nobody wants it.
        if !document.is_object() || matches!(self.place, Place::Nowhere) {
            return None;
        }
        let machine = self.watch.read(Some(peer.address().ip()));
        let mut environment = document.get("environment").cloned().unwrap_or_default();
        if let Value::Object(map) = &mut environment {
            map.insert("machine".to_owned(), machine);
        } else {
            environment = json!({ "machine": machine });
        }
        let kind = if document.get("search").is_some() {
            "find-rate"
        } else {
            let kind = document.pointer("/plan/kind").and_then(Value::as_str);
            kind.unwrap_or("run")
        };
        let run = KeptRun {
            id: header.id.clone(),
            kind: kind.to_owned(),
            started_ns: i64::try_from(header.started_ns).unwrap_or(i64::MAX),
            tool: TOOL.to_owned(),
            peer: Some(peer.address().to_string()),
            title: None,
            command: header.command.clone(),
            outcome: outcome.word().to_owned(),
            of: None,
            headline: Headline::of(document),
            environment,
            document: document.clone(),
            series: samples(),
        };
        let by_flag = self.put(&run)?;
        let id = short(&run.id);
        Some(if by_flag {
            format!("kept as {id}")
        } else {
            format!("kept as {id} (caudal report show {id})")
        })
    }

    /// Keeps a test that was made in the ways of another program, and has been shown in its. What goes wrong is one line
    /// on standard error, and there is no other.
    ///
    /// `towards` is the address of the other end. A test in which nothing was measured is not kept, as it is not in our
    /// own ways.
    pub fn keep_made(&self, log: Log, towards: Option<IpAddr>) {
        if matches!(self.place, Place::Nowhere) {
            return;
        }
        let Some(mut made) = import::made_here(log, &new_id()) else {
            return;
        };
        let client = json!(describe(TOOL, towards));
        if let Value::Object(document) = &mut made.document {
            document.insert("environment".to_owned(), json!({"client": client}));
        }
        self.put(&KeptRun {
            environment: json!({"client": client, "machine": self.watch.read(towards)}),
            ..made.into()
        });
    }

    /// Puts a run into the store, and says so when that cannot be; whether a flag has named it.
    fn put(&self, run: &KeptRun) -> Option<bool> {
        let (at, by_flag) = match &self.place {
            Place::Nowhere => return None,
            Place::Unknown => {
                let remedy = if self.has_flags {
                    "name a file with --store FILE, or use --no-store"
                } else {
                    BY_ENVIRONMENT
                };
                let what = "the run is not kept: this user has no home directory";
                warn(&Failure::new(Exit::Done, what, remedy));
                return None;
            }
            Place::At(at, by_flag) => (at, *by_flag),
        };
        match Store::open(at).and_then(|mut store| store.keep(run)) {
            Ok(()) => Some(by_flag),
            Err(error) => {
                warn(&not_kept(&error, self.has_flags));
                None
            }
        }
    }
}

/// What there is to do where no flag is.
const BY_ENVIRONMENT: &str = "name a file with CAUDAL_STORE=FILE, or say CAUDAL_STORE=none";

fn not_kept(error: &StoreError, has_flags: bool) -> Failure {
    let remedy = match (error, has_flags) {
        (StoreError::Open { .. }, true) => {
            "name another place with --store FILE, or use --no-store".to_owned()
        }
        (StoreError::Open { .. }, false) => BY_ENVIRONMENT.to_owned(),
        (other, true) => other.advice().to_owned(),
        (other, false) => other.advice().replace("--store FILE", "CAUDAL_STORE=FILE"),
    };
    Failure::new(Exit::Done, format!("the run is not kept: {error}"), remedy)
}

fn warn(failure: &Failure) {
    let line = failure.to_string();
    let line = line.replacen("caudal: ", "caudal: warning: ", 1);
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_that_was_cut_short_is_not_taken_for_one_that_failed() {
        assert_eq!(Outcome::of(Exit::Done, false).word(), "done");
        assert_eq!(Outcome::of(Exit::Failed, false).word(), "failed");
        assert_eq!(Outcome::of(Exit::Failed, true).word(), "cut short");
        assert_eq!(Outcome::of(Exit::Peer, true).word(), "cut short");
    }
}
