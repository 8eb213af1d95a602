//! A flow's process, from its start to what it came to.

use std::process::{ExitStatus, Stdio};
use std::thread::JoinHandle;

use caudal_core::run::Run;
use caudal_core::warning::WarningCode;
use caudal_experiment::FlowSpec;

use super::super::place::{self, Place};
use super::ground::Ground;
use super::process::{Process, cannot_start, read};
use super::{Carried, Raw, Stage, Times, nanos};
use crate::exit::Failure;
use caudal_experiment::TrialFlow;

/// A flow that begins later than this after its time is told.
const LATE_S: f64 = 0.1;

/// A flow's process and what it says.
pub(super) struct Running {
    pub(super) process: Process,
    said: Option<JoinHandle<String>>,
    complained: Option<JoinHandle<String>>,
    raw: Option<JoinHandle<Raw>>,
    pub(super) times: Times,
    /// How it ended, and whether because it was told to.
    pub(super) ended: Option<ExitStatus>,
    pub(super) told_to_end: bool,
}

impl Ground {
    /// Starts the process of a flow.
    pub(super) fn start(
        &self,
        stage: &Stage<'_>,
        flow: &FlowSpec,
        zero_ns: u64,
    ) -> Result<Running, Failure> {
        let times = Times::of(stage.case, flow);
        let mut words = self.words(stage, flow, &times)?;
        let at = zero_ns + nanos(times.start);
        words.extend([
            "--at".to_owned(),
            format!("{}.{:09}", at / 1_000_000_000, at % 1_000_000_000),
        ]);
        let is_echo = place::is_echo(flow);
        if is_echo {
            words.extend(["--raw".to_owned(), "/proc/self/fd/0".to_owned()]);
        }
        let mut command = self.command(&flow.from, &words)?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut raw = None;
        if is_echo {
            let pipe = std::io::pipe();
            let (reader, writer) =
                pipe.map_err(|cause| cannot_start("a flow", &flow.name, &cause))?;
            command.stdin(writer);
            raw = Some(reader);
        }
        let mut child = command
            .spawn()
            .map_err(|cause| cannot_start(&format!("flow {}", flow.name), &flow.from, &cause))?;
        // With it goes the end of the pipe that this process holds.
        drop(command);
        let said = child
            .stdout
            .take()
            .map(|pipe| std::thread::spawn(move || read(pipe)));
        let complained = child
            .stderr
            .take()
            .map(|pipe| std::thread::spawn(move || read(pipe)));
        Ok(Running {
            said,
            complained,
            raw: raw.map(|pipe| std::thread::spawn(move || Raw::read(pipe))),
            process: Process::of(child),
            times,
            ended: None,
            told_to_end: false,
        })
    }
}

impl Running {
    /// Whether it has ended.
    pub(super) fn is_over(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.process.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    /// What it came to.
    pub(super) fn finish(
        mut self,
        flow: &FlowSpec,
        place: &Place,
        carried: &mut Carried,
    ) -> (TrialFlow, Option<Raw>) {
        let in_time = self.is_over();
        if !in_time {
            let _ = self.process.child.kill();
        }
        let text = |thread: Option<JoinHandle<String>>| {
            thread
                .and_then(|thread| thread.join().ok())
                .unwrap_or_default()
        };
        let (said, complained) = (text(self.said.take()), text(self.complained.take()));
        let raw = self.raw.take().and_then(|thread| thread.join().ok());
        let run: Option<Run> = serde_json::from_str(&said).ok();
        let complaint = complained
            .lines()
            .last()
            .map(|line| line.trim_start_matches("caudal: ").to_owned());
        let cut_short = run.as_ref().and_then(|run| {
            let mut warnings = run.warnings.iter();
            let found = warnings.find(|warning| warning.code == WarningCode::CutShort)?;
            Some(found.message.clone())
        });
        let failure = match &run {
            None if !in_time => Some("it did not end in time".to_owned()),
            None => Some(complaint.unwrap_or_else(|| "it said nothing".to_owned())),
            Some(_) if self.told_to_end => None,
            Some(_) => cut_short,
        };
        let zero_s = carried.zero_ns as f64 / 1e9;
        let offset_s = run
            .as_ref()
            .and_then(|run| run.began_s)
            // To the microsecond: what is beyond it is the arithmetic's.
            .map(|began| ((began - zero_s) * 1e6).round() / 1e6);
        if let (Some(offset), None) = (offset_s, &failure) {
            let late = offset - self.times.start.as_secs_f64();
            if late > LATE_S {
                carried.warnings.push(format!(
                    "flow {} began {:.0} ms late: its connections took so long to open",
                    flow.name,
                    late * 1e3
                ));
            }
        }
        let told = TrialFlow {
            name: flow.name.clone(),
            kind: flow.kind,
            from: flow.from.clone(),
            to: flow.to.clone(),
            probe: flow.probe,
            offered_bps: place::offered(flow, place).ok().flatten(),
            offset_s,
            run: run.filter(|_| failure.is_none()),
            failure,
        };
        (told, raw)
    }
}
