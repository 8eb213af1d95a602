//! A trial as a document, `caudal.trial/1`.

use std::collections::BTreeMap;

use caudal_core::run::Run;
use serde::{Deserialize, Serialize};

use crate::file::FlowKindFile;
use crate::scalar::Scalar;

/// The name and version of the format of a trial.
pub const TRIAL_SCHEMA: &str = "caudal.trial/1";

/// One execution of a case: its flows, what the lab counted, and the metrics they give.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// [`TRIAL_SCHEMA`].
    pub schema: String,
    /// Its id: 32 hexadecimal digits.
    pub id: String,
    /// The id of its study.
    pub study: String,
    /// The key of its case.
    pub case: String,
    /// The value of every parameter, in the order of the experiment.
    pub parameters: Vec<(String, Scalar)>,
    /// The flow of a solo baseline.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alone: Option<String>,
    /// The repetition of its case, from 1.
    pub repeat: u64,
    /// Its position among the trials of the study, from 1, in the order of execution.
    pub position: u64,
    /// The time of its start, RFC 3339, UTC.
    pub started: String,
    /// The start from which the times of flows and intervals are counted, seconds since 1970.
    pub zero_s: f64,
    /// The warm-up that is excluded, seconds.
    pub warm_up_s: f64,
    /// The duration of the measurement after the warm-up, seconds.
    pub measured_s: f64,
    /// Its flows, in the order of the experiment.
    pub flows: Vec<TrialFlow>,
    /// The report of the lab at the end of the measurement (`caudal.lab/1`), as it is printed again; absent without a lab.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lab: Option<serde_json::Value>,
    /// The byte counters of the interfaces of the lab's hosts and routers, over time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<InterfaceSeries>,
    /// The metrics, by their full names, as `tcp.goodput`, in base units; one that could not be measured is absent.
    pub metrics: BTreeMap<String, f64>,
    /// The predictions of formulas, by the same names.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub predicted: BTreeMap<String, f64>,
    /// The reason why the trial is discarded, as when the emulator stalled; absent for a valid trial.
    #[serde(default, alias = "spoiled", skip_serializing_if = "Option::is_none")]
    pub discarded: Option<String>,
    /// Warnings about the result.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Capture files, by host and interface.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub captures: BTreeMap<String, String>,
}

impl Trial {
    /// `true` unless the trial is discarded.
    #[must_use]
    pub const fn is_valid(&self) -> bool {
        self.discarded.is_none()
    }
}

/// A flow of a trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialFlow {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: FlowKindFile,
    /// The host that sends, or that sends echo requests.
    pub from: String,
    /// The host that receives, or that replies.
    pub to: String,
    /// `true` when it measures the latency under load, and is no load itself.
    pub probe: bool,
    /// The payload rate that each connection was to send at, bit/s; absent for as fast as possible.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offered_bps: Option<f64>,
    /// The start of its traffic, seconds after `zero_s`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset_s: Option<f64>,
    /// Its run (`caudal.run/1`); absent when it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<Run>,
    /// The reason why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// The byte counters of an interface, over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct InterfaceSeries {
    /// The host or router.
    pub node: String,
    /// The name of the interface.
    pub interface: String,
    /// The name of its link.
    pub link: String,
    /// The times of the readings, seconds after `zero_s`.
    pub at_s: Vec<f64>,
    /// Bytes sent until each reading.
    pub tx_bytes: Vec<u64>,
    /// Bytes received until each reading.
    pub rx_bytes: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trial_whose_reason_is_named_as_it_was_before_reads_as_discarded() {
        let text = r#"{"schema": "caudal.trial/1", "id": "1", "study": "2", "case": "-", "parameters": [], "repeat": 1, "position": 1,
            "started": "2026-11-22T00:00:00Z", "zero_s": 0.0, "warm_up_s": 1.0, "measured_s": 2.0, "flows": [],
            "metrics": {}, "spoiled": "the emulator stalled"}"#;
        let trial: Trial = serde_json::from_str(text).unwrap();
        assert_eq!(trial.discarded.as_deref(), Some("the emulator stalled"));
        assert!(
            serde_json::to_string(&trial)
                .unwrap()
                .contains("\"discarded\"")
        );
    }
}
