//! Studies: an experiment carried out trial by trial, and what its trials add up to.

mod archive;
pub mod args;
pub mod carry;
mod check;
mod findings_text;
pub mod forecast;
pub mod metrics;
pub mod place;
pub mod prepare;
mod progress;
mod report;
mod resume;
pub mod run;
pub mod shipped;
pub mod source;

use std::path::Path;
use std::time::Duration;

use caudal_sys::poll::poll_readable;
use caudal_sys::signal::Interrupt;

use crate::exit::{Exit, Failure};
use crate::output::sink::Sink;
use args::{RunArgs, StudyArgs, StudyCommand};
use prepare::Prepared;
use run::Study;
use source::Source;

/// Does what `caudal study` was asked to.
///
/// # Errors
/// What is wrong with the words or the file (2), missing here (4) or on the way (3), or ended a study (1).
pub fn study(args: &StudyArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    match &args.command {
        StudyCommand::List { json } => check::list(*json),
        StudyCommand::Show(args) => check::show(args),
        StudyCommand::Check(args) => check::check(args),
        StudyCommand::Run(args) => run_all(args, interrupt),
        StudyCommand::Resume(args) => {
            heed_second_interrupt(interrupt);
            resume::resume(args, interrupt)
        }
        StudyCommand::Schema => {
            let text = serde_json::to_string_pretty(&caudal_experiment::schema());
            print(&format!("{}\n", text.unwrap_or_default()))
        }
    }
}

/// The JSON Schema of experiments' files, as it is published.
#[must_use]
pub fn schema() -> String {
    let text = serde_json::to_string_pretty(&caudal_experiment::schema());
    format!("{}\n", text.unwrap_or_default())
}

fn run_all(args: &RunArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let mut what: Vec<&str> = Vec::new();
    for word in &args.what {
        if word == "all" && !Path::new(word).is_file() {
            what.extend(shipped::SHIPPED.iter().map(|shipped| shipped.name));
        } else {
            what.push(word);
        }
    }
    let hosts = args.change.hosts.as_ref().map(|hosts| hosts.0.clone());
    // What is wrong with one is said before any of them takes its time.
    let mut all = Vec::with_capacity(what.len());
    for one in &what {
        let source = Source::find(one, &args.change.changes())?;
        let prepared = Prepared::of(source, hosts.clone())?;
        prepared.can_run()?;
        all.push(prepared);
    }
    heed_second_interrupt(interrupt);
    let many = all.len() > 1;
    let mut worst = Exit::Done;
    for (nth, prepared) in all.into_iter().enumerate() {
        if nth > 0 && !args.output.json {
            print("\n")?;
        }
        let out = args.output.out.as_ref().map(|out| {
            if many {
                out.join(&prepared.source.name)
            } else {
                out.clone()
            }
        });
        let mut study = Study::begin(prepared, &args.output);
        match study.go(&args.output, out.as_deref(), interrupt)? {
            Exit::Done => {}
            other => worst = other,
        }
    }
    Ok(worst)
}

/// Lets a second ^C end this process at once: labs and flows go with it.
fn heed_second_interrupt(interrupt: &'static Interrupt) {
    std::thread::spawn(move || {
        loop {
            // The first one stays readable; from then on the second is looked for.
            let waited = poll_readable(&[interrupt.fd()], None);
            if interrupt.count() > 1 || waited.is_err() {
                std::process::exit(i32::from(Exit::Failed.code()));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    });
}

/// Prints text; a reader that has gone is told by the exit code.
fn print(text: &str) -> Result<Exit, Failure> {
    let mut sink = Sink::stdout();
    sink.write(text);
    sink.finish()?;
    Ok(Exit::Done)
}
