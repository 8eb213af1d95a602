//! One trial as it is kept: document `caudal.trial/1`.

use std::collections::BTreeMap;

use caudal_experiment::{FlowKindFile, Scalar};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The name and version of the format.
pub const SCHEMA: &str = "caudal.trial/1";

/// A case carried out once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// [`SCHEMA`].
    pub schema: String,
    /// Names it: 32 hexadecimal digits.
    pub id: String,
    /// The study it is of.
    pub study: String,
    /// The key of its case.
    pub case: String,
    /// The value of every parameter, in the order of the experiment.
    pub parameters: Vec<(String, Scalar)>,
    /// The flow that is alone, for a solo baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// Which repetition of its case, from 1.
    pub repeat: u64,
    /// Which trial of the study, from 1, in the order they were carried out.
    pub position: u64,
    /// When it began, RFC 3339, UTC.
    pub started: String,
    /// The moment from which flows and intervals are counted, seconds since 1970.
    pub zero_s: f64,
    /// What was left out at its beginning, seconds.
    pub warm_up_s: f64,
    /// How long was measured after that, seconds.
    pub measured_s: f64,
    /// Its flows, in the order of the experiment.
    pub flows: Vec<TrialFlow>,
    /// What the lab counted during the trial (`caudal.lab/1`); absent without a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<Value>,
    /// Bytes each interface of the lab's hosts and routers had carried, over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceSeries>,
    /// Every metric that could be told, by its full name, as `tcp.goodput`, in base units.
    pub metrics: BTreeMap<String, f64>,
    /// What the formulas gave for the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted: BTreeMap<String, f64>,
    /// The emulator stood still, or the trial has another known fault: it does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spoiled: Option<String>,
    /// What to doubt.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Capture files, by host and interface.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub captures: BTreeMap<String, String>,
}

/// A flow of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialFlow {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: FlowKindFile,
    /// The host that sends or asks.
    pub from: String,
    /// The host that receives or answers.
    pub to: String,
    /// Whether it only measures latency beside the load.
    pub probe: bool,
    /// What each connection was to send per second, payload bits; absent for as fast as it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_bps: Option<f64>,
    /// When its traffic began, after `zero_s`, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_s: Option<f64>,
    /// The run as its command printed it (`caudal.run/1`); absent when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Value>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What an interface had carried, over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterfaceSeries {
    /// The host or router.
    pub node: String,
    /// The interface.
    pub interface: String,
    /// The link it is an end of.
    pub link: String,
    /// After `zero_s`, in seconds.
    pub at_s: Vec<f64>,
    /// Bytes sent until then.
    pub tx_bytes: Vec<u64>,
    /// Bytes received until then.
    pub rx_bytes: Vec<u64>,
}
