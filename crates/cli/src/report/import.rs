//! `caudal report import`: logs of other tools become kept runs.

use crate::exit::{Exit, Failure};
use crate::import::{self, Imported, MOST_BYTES};
use crate::output::sink::Sink;
use caudal_core::run::Environment;
use caudal_store::{Headline, RunKind, RunOutcome, Store, StoreError, StoredDocument, StoredRun};
use clap::Args;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `caudal report import`
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
    What a file is, is seen by what is in it: iperf3 (text, -J, --json-stream), iperf 2 (text, -y C), rows of nttcp.\n\
    A file may hold many tests. What is kept already stays as it is.\n\n\
    Examples:\n  \
    caudal report import *.log --tag before\n  \
    iperf3 -c 192.0.2.1 -J | caudal report import -")]
pub struct ImportArgs {
    /// The logs; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Put a tag on what is kept
    #[arg(long, value_name = "TAG")]
    pub tag: Vec<String>,
}

impl From<Imported> for StoredRun {
    /// A run as it is kept; it must have been given a date.
    fn from(run: Imported) -> Self {
        Self {
            id: run.id,
            kind: run.kind.parse().unwrap_or(RunKind::Tcp),
            started_ns: run.started_ns.unwrap_or(0),
            tool: run.tool,
            peer: run.peer,
            title: run.title,
            command: run.command,
            outcome: run.outcome.parse().unwrap_or(RunOutcome::Done),
            trial: None,
            headline: Headline {
                goodput_bps: run.goodput_bps,
                loss: run.loss,
                rtt_us: run.rtt_us,
                retransmits: run.retransmits,
            },
            environment: Environment::default(),
            document: StoredDocument::Run(Box::new(run.run)),
            series: Vec::new(),
        }
    }
}

/// Keeps what the logs tell in the store at `at`, which is made where there is none.
///
/// # Errors
/// When the store cannot be written, and when a file holds nothing that can be kept; the others are kept all the same.
pub fn import(at: &Path, args: &ImportArgs) -> Result<(), Failure> {
    let mut store = Store::open(at)?;
    let mut out = Sink::stdout();
    let mut failures: Vec<Failure> = Vec::new();
    for file in &args.files {
        let name = if is_input(file) {
            "standard input".to_owned()
        } else {
            file.display().to_string()
        };
        let found = bytes(file).and_then(|(bytes, dated)| {
            let runs = import::read(&bytes, &name);
            let runs = runs.map_err(|error| {
                let advice = match error {
                    import::ImportError::Unknown => {
                        "give a log of iperf3, iperf or nttcp as the tool printed it"
                    }
                    import::ImportError::TooLarge | import::ImportError::TooMany => {
                        "cut it in parts"
                    }
                    _ => "",
                };
                Failure::new(
                    Exit::Failed,
                    format!("cannot import {name}: {error}"),
                    advice,
                )
            });
            Ok((runs?, dated))
        });
        match found {
            Ok((runs, dated)) => {
                for run in runs {
                    keep(&mut store, run.starting(dated), args, &mut out)?;
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    out.finish()?;
    // All files were tried; the last complaint is the one the command ends with.
    let last = failures.pop();
    for failure in failures {
        crate::complain(&failure);
    }
    last.map_or(Ok(()), Err)
}

fn keep(
    store: &mut Store,
    run: Imported,
    args: &ImportArgs,
    out: &mut Sink,
) -> Result<(), Failure> {
    let (short, line) = (run.id[..8].to_owned(), run.line.clone());
    let kept = StoredRun::from(run);
    let word = match store.record(&kept) {
        Ok(()) => "kept",
        Err(StoreError::Exists { .. }) => "already kept",
        Err(error) => return Err(error.into()),
    };
    for tag in &args.tag {
        store.tag(&kept.id, tag)?;
    }
    out.line(&format!("{word} {short}: {line}"));
    Ok(())
}

fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// A file's content, and when it was last written, in nanoseconds since 1970.
fn bytes(file: &Path) -> Result<(Vec<u8>, i64), Failure> {
    let reading = |cause: &io::Error| {
        let exit = match cause.kind() {
            io::ErrorKind::PermissionDenied => Exit::NotPermitted,
            _ => Exit::Failed,
        };
        let message = format!("cannot read {}: {cause}", file.display());
        Failure::new(exit, message, "")
    };
    let mut bytes = Vec::new();
    let most = MOST_BYTES as u64 + 1;
    if is_input(file) {
        if io::stdin().is_terminal() {
            return Err(Failure::usage(
                "standard input is a terminal",
                "pipe a log into it",
            ));
        }
        let read = io::stdin().lock().take(most).read_to_end(&mut bytes);
        read.map_err(|cause| reading(&cause))?;
        return Ok((bytes, since_1970(SystemTime::now())));
    }
    let open = File::open(file).map_err(|cause| reading(&cause))?;
    let about = open.metadata().map_err(|cause| reading(&cause))?;
    let read = open.take(most).read_to_end(&mut bytes);
    read.map_err(|cause| reading(&cause))?;
    Ok((bytes, about.modified().map_or(0, since_1970)))
}

fn since_1970(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
