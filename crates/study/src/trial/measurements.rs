//! The measurements of a trial.

use std::collections::BTreeMap;

use caudal_experiment::{InterfaceSeries, TrialFlow};
use caudal_lab::LabReport;

use super::round_trip_samples::RoundTripSamples;

/// The measurements of a trial.
#[derive(Debug, Default)]
pub struct TrialMeasurements {
    /// The start from which the times of flows and intervals are counted, ns since 1970.
    pub zero_ns: u64,
    /// The duration of the measurement after the warm-up, seconds.
    pub measured_s: f64,
    /// The flows, in the order of the case.
    pub flows: Vec<TrialFlow>,
    /// The round-trip times of each message, by the number of the flow.
    pub round_trips: BTreeMap<usize, RoundTripSamples>,
    /// The report of the lab at the beginning of the measurement.
    pub before: Option<LabReport>,
    /// The report of the lab at the end of the measurement.
    pub after: Option<LabReport>,
    /// The byte counters of interfaces over time.
    pub interfaces: Vec<InterfaceSeries>,
    /// The reason why the trial is discarded.
    pub discarded: Option<String>,
    /// Warnings about the results.
    pub warnings: Vec<String>,
    /// Capture files, by host and interface.
    pub captures: BTreeMap<String, String>,
}
