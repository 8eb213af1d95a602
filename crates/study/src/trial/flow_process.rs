//! The process of a flow.

use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::thread::JoinHandle;

use caudal_core::run::Run;
use caudal_core::warning::WarningCode;
use caudal_experiment::{FlowSpec, TrialFlow};

use super::active_testbed::ActiveTestbed;
use super::child_process::{ChildProcess, read_all};
use super::measurements::TrialMeasurements;
use super::round_trip_samples::RoundTripSamples;
use super::setup::TrialSetup;
use crate::error::StudyError;
use crate::flow_times::{FlowTimes, nanoseconds};
use crate::testbed::{Testbed, is_echo, offered_rate};

/// Minimum delay of a flow's start for a warning, s.
const LATE_S: f64 = 0.1;

/// The file to which the process of an echo flow writes its samples: the pipe that is its standard input.
const SAMPLES: &str = "/proc/self/fd/0";

/// The process of a flow.
pub(super) struct FlowProcess {
    pub(super) process: ChildProcess,
    output: Option<JoinHandle<String>>,
    errors: Option<JoinHandle<String>>,
    samples: Option<JoinHandle<RoundTripSamples>>,
    pub(super) times: FlowTimes,
    /// Its exit status.
    pub(super) ended: Option<ExitStatus>,
    /// `true` when it was interrupted because there was nothing left to measure.
    pub(super) is_interrupted: bool,
}

impl ActiveTestbed {
    /// Starts the process of a flow.
    pub(super) fn start(
        &self,
        setup: &TrialSetup<'_>,
        flow: &FlowSpec,
        zero_ns: u64,
    ) -> Result<FlowProcess, StudyError> {
        let times = FlowTimes::new(setup.case, flow);
        let start_ns = zero_ns + nanoseconds(times.start);
        let task = self.flow_task(setup, flow, start_ns, Path::new(SAMPLES))?;
        let mut command = self.own_command(&flow.from, setup.program.flow(&task))?;
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut samples = None;
        if is_echo(flow) {
            let pipe = std::io::pipe();
            let (reader, writer) = pipe.map_err(|cause| StudyError::Start {
                process: "a flow".to_owned(),
                host: flow.name.clone(),
                cause,
            })?;
            command.stdin(writer);
            samples = Some(reader);
        }
        let mut child = command.spawn().map_err(|cause| StudyError::Start {
            process: format!("flow {}", flow.name),
            host: flow.from.clone(),
            cause,
        })?;
        // With it goes the end of the pipe that this process holds.
        drop(command);
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        Ok(FlowProcess {
            output: stdout.map(|pipe| std::thread::spawn(move || read_all(pipe))),
            errors: stderr.map(|pipe| std::thread::spawn(move || read_all(pipe))),
            samples: samples.map(|pipe| std::thread::spawn(move || RoundTripSamples::read(pipe))),
            process: ChildProcess::new(child),
            times,
            ended: None,
            is_interrupted: false,
        })
    }
}

impl FlowProcess {
    /// `true` when it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
        if self.ended.is_none() {
            self.ended = self.process.child.try_wait().ok().flatten();
        }
        self.ended.is_some()
    }

    /// The flow's result, with the samples of an echo flow; a process that still runs is killed.
    pub(super) fn finish(
        mut self,
        flow: &FlowSpec,
        testbed: &Testbed,
        measurements: &mut TrialMeasurements,
    ) -> (TrialFlow, Option<RoundTripSamples>) {
        let is_in_time = self.has_ended();
        if !is_in_time {
            let _ = self.process.child.kill();
        }
        let text = |thread: Option<JoinHandle<String>>| {
            thread
                .and_then(|thread| thread.join().ok())
                .unwrap_or_default()
        };
        let (output, errors) = (text(self.output.take()), text(self.errors.take()));
        let samples = self.samples.take().and_then(|thread| thread.join().ok());
        let run: Option<Run> = serde_json::from_str(&output).ok();
        let failure = match &run {
            None if !is_in_time => Some("it did not end in time".to_owned()),
            None => Some(last_error(&errors)),
            Some(_) if self.is_interrupted => None,
            Some(run) => cut_short(run),
        };
        let zero_s = measurements.zero_ns as f64 / 1e9;
        let offset_s = run
            .as_ref()
            .and_then(|run| run.began_s)
            // To the microsecond, the precision of the clocks.
            .map(|began| ((began - zero_s) * 1e6).round() / 1e6);
        if let (Some(offset), None) = (offset_s, &failure) {
            let late = offset - self.times.start.as_secs_f64();
            if late > LATE_S {
                measurements.warnings.push(format!(
                    "flow {} began {:.0} ms late, as its connections took that long to open",
                    flow.name,
                    late * 1e3
                ));
            }
        }
        let result = TrialFlow {
            name: flow.name.clone(),
            kind: flow.kind,
            from: flow.from.clone(),
            to: flow.to.clone(),
            probe: flow.probe,
            offered_bps: offered_rate(flow, testbed).ok().flatten(),
            offset_s,
            run: run.filter(|_| failure.is_none()),
            failure,
        };
        (result, samples)
    }
}

/// The last error message of a process.
fn last_error(errors: &str) -> String {
    let last = errors.lines().last();
    last.map_or_else(
        || "its process ended without a result".to_owned(),
        |line| line.trim_start_matches("caudal: ").to_owned(),
    )
}

/// The reason why a run ended before its time; `None` when it did not.
fn cut_short(run: &Run) -> Option<String> {
    let mut warnings = run.warnings.iter();
    let warning = warnings.find(|warning| warning.code == WarningCode::CutShort)?;
    Some(warning.message.to_string())
}
