//! One trial carried out: a network made for it, a process for each flow, all begun together, and everything counted.

mod capture;
mod command;
mod ground;
mod lead;
mod process;
mod raw;
mod running;
mod samples;
mod spoiled;
mod times;
mod watch;

pub use lead::lead;
pub use raw::Raw;
pub use times::{Times, length};

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use caudal_experiment::Case;
use caudal_lab::LabReport;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::signal::Interrupt;

use super::place::Place;
use crate::exit::Failure;
use caudal_experiment::{InterfaceSeries, TrialFlow};
use ground::Ground;
use spoiled::judge;
use watch::watch;

/// What is to be carried out.
pub struct Stage<'a> {
    /// The case.
    pub case: &'a Case,
    /// Where.
    pub place: &'a Place,
    /// Where chance begins in the lab.
    pub seed: u64,
    /// What its lab is called, unlike any other.
    pub name: String,
    /// Where capture files go; `None` for none.
    pub captures: Option<PathBuf>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Carried {
    /// The moment from which flows and intervals are counted, ns since 1970.
    pub zero_ns: u64,
    /// How long was measured after the warm-up, seconds.
    pub measured_s: f64,
    /// The flows, in the order of the case.
    pub flows: Vec<TrialFlow>,
    /// Raw round-trip times, by the number of the flow.
    pub raw: BTreeMap<usize, Raw>,
    /// What the lab had counted when measuring began.
    pub before: Option<LabReport>,
    /// What it had counted when measuring ended.
    pub after: Option<LabReport>,
    /// Bytes at interfaces over time.
    pub interfaces: Vec<InterfaceSeries>,
    /// Why it does not count.
    pub discarded: Option<String>,
    /// What to doubt.
    pub warnings: Vec<String>,
    /// Capture files, by host and interface.
    pub captures: BTreeMap<String, String>,
}

/// Why there is no trial.
#[derive(Debug)]
pub enum Trouble {
    /// The user ended it.
    Interrupted,
    /// It cannot be carried out.
    Failed(Failure),
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// Carries a case out once.
///
/// # Errors
/// When the network cannot be built, nobody answers, or the user ends it.
pub fn carry(stage: &Stage<'_>, interrupt: &'static Interrupt) -> Result<Carried, Trouble> {
    let mut carried = Carried::default();
    let ground = Ground::build(stage, &mut carried.warnings)?;
    let captures = ground.capture(stage, &mut carried)?;
    if interrupt.count() > 0 {
        return Err(Trouble::Interrupted);
    }
    let lead = lead(stage.case, stage.place);
    let zero_ns = realtime_ns() + nanos(lead);
    // To the microsecond, as it is written.
    let zero_ns = zero_ns - zero_ns % 1000;
    carried.zero_ns = zero_ns;
    let zero = monotonic_ns() + zero_ns.saturating_sub(realtime_ns());
    let mut flows = Vec::with_capacity(stage.case.flows.len());
    for flow in &stage.case.flows {
        flows.push(ground.start(stage, flow, zero_ns)?);
    }
    let watched = watch(stage, &ground, &mut flows, zero, &mut carried, interrupt);
    if watched.is_ok() {
        for (nth, (flow, running)) in stage.case.flows.iter().zip(flows).enumerate() {
            let (told, raw) = running.finish(flow, stage.place, &mut carried);
            carried.flows.push(told);
            if let Some(raw) = raw {
                carried.raw.insert(nth, raw);
            }
        }
    }
    for mut capture in captures {
        caudal_sys::process::interrupt(capture.child.id());
        let _ = capture.child.wait();
    }
    drop(ground);
    watched?;
    judge(&mut carried);
    Ok(carried)
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
