//! `caudal report import`: logs of other tools become recorded runs.

use crate::args::tag_name;
use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use caudal_import::{ImportError, ImportedRun, MAX_LOG_BYTES, read};
use caudal_report::stored_import;
use caudal_store::{Store, StoreError, short_id};
use clap::Args;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// `caudal report import`
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
    The format is recognised by the content:\n  \
    throughput   iperf3 (text, -J, --json-stream), iperf 2 (text, -y C), netperf, nuttcp, nttcp\n  \
    speed tests  Ookla (--format=json), speedtest-cli and librespeed-cli (--json), ndt7-client (-format=json)\n  \
    round trips  ping, fping, irtt (-o); the hops of mtr (--json)\n  \
    under load   flent (.flent.gz)\n\
    Files may be packed with gzip. A file may hold many tests. A test that is recorded already stays as it is.\n\n\
    Examples:\n  \
    caudal report import *.log --tag before\n  \
    iperf3 -c 192.0.2.1 -J | caudal report import -")]
pub struct ImportArgs {
    /// The logs; - is standard input
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// Put a tag on the runs
    #[arg(long, value_name = "TAG", value_parser = tag_name)]
    pub tag: Vec<String>,
}

/// Records the tests of the logs in the store at `at`, which is created where there is none.
///
/// # Errors
/// When the store cannot be written, and when a file holds no test; the other files are imported all the same.
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
        let found = bytes(file).and_then(|(bytes, modified_ns)| {
            let runs = read(&bytes, &name);
            let runs = runs.map_err(|error| {
                let advice = match error {
                    ImportError::Unknown => {
                        "give it as the tool wrote it; caudal report import --help lists the formats"
                    }
                    ImportError::TooLarge | ImportError::TooMany => "divide it into parts",
                    _ => "",
                };
                Failure::new(
                    Exit::Failed,
                    format!("cannot import {name}: {error}"),
                    advice,
                )
            });
            Ok((runs?, modified_ns))
        });
        match found {
            Ok((runs, modified_ns)) => {
                for run in runs {
                    record(&mut store, run, modified_ns, args, &mut out)?;
                }
            }
            Err(failure) => failures.push(failure),
        }
    }
    out.finish()?;
    // All files were tried; the command ends with the last failure.
    let last = failures.pop();
    for failure in failures {
        failure.print();
    }
    last.map_or(Ok(()), Err)
}

/// Records a run and reports it in a line; one that is recorded already gets the tags only.
fn record(
    store: &mut Store,
    run: ImportedRun,
    modified_ns: i64,
    args: &ImportArgs,
    out: &mut Sink,
) -> Result<(), Failure> {
    let description = run.description.clone();
    let stored = stored_import(run, modified_ns);
    let word = match store.record(&stored) {
        Ok(()) => "saved",
        Err(StoreError::Exists { .. }) => "already saved",
        Err(error) => return Err(error.into()),
    };
    for tag in &args.tag {
        store.tag(&stored.id, tag)?;
    }
    out.line(&format!("{word} {}: {description}", short_id(&stored.id)));
    Ok(())
}

fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// The content of a file and the time of its last modification, ns since 1970.
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
    let limit = MAX_LOG_BYTES as u64 + 1;
    if is_input(file) {
        if io::stdin().is_terminal() {
            return Err(Failure::usage(
                "standard input is a terminal",
                "pipe a log into it",
            ));
        }
        let read = io::stdin().lock().take(limit).read_to_end(&mut bytes);
        read.map_err(|cause| reading(&cause))?;
        return Ok((bytes, since_1970(SystemTime::now())));
    }
    let open = File::open(file).map_err(|cause| reading(&cause))?;
    let about = open.metadata().map_err(|cause| reading(&cause))?;
    let read = open.take(limit).read_to_end(&mut bytes);
    read.map_err(|cause| reading(&cause))?;
    Ok((bytes, about.modified().map_or(0, since_1970)))
}

fn since_1970(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
