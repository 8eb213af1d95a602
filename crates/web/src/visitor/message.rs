//! The messages of the dialogue with the page: JSON, one object a message.

use caudal_core::plan::PhaseLoad;
use serde::{Deserialize, Serialize};

/// A message to the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(super) enum ToPage {
    /// The test is admitted.
    Hello {
        /// The secret in the paths of its connections.
        session: String,
        /// How long it will take, ms.
        total_ms: u64,
    },
    /// A phase is next: the page makes its connections.
    Phase {
        /// Its number, from 0.
        number: u32,
        /// Its load.
        load: PhaseLoad,
        /// Connections in each direction of the load.
        streams: u32,
        /// Its duration, ms.
        time_ms: u64,
    },
    /// All connections are there: payload flows from now on.
    Go {
        /// The number of the phase.
        number: u32,
    },
    /// What was measured in the interval before.
    Progress {
        /// The number of the phase.
        number: u32,
        /// The time after the start of the test, s.
        at_s: f64,
        /// Payload to the browser, as its kernel acknowledged it, bit/s.
        #[serde(skip_serializing_if = "Option::is_none")]
        down_bps: Option<f64>,
        /// Payload from the browser, bit/s.
        #[serde(skip_serializing_if = "Option::is_none")]
        up_bps: Option<f64>,
        /// The median of its round trips, ms.
        #[serde(skip_serializing_if = "Option::is_none")]
        rtt_ms: Option<f64>,
    },
    /// The phase is over.
    Over {
        /// The number of the phase.
        number: u32,
    },
    /// The test is over.
    Result(Box<ResultMessage>),
    /// The test was not carried out.
    Failed {
        /// Why not.
        why: String,
    },
}

/// The result as the page shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct ResultMessage {
    /// The path of its page at the server, where it was recorded.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) link: Option<String>,
    /// Download alone, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) down_bps: Option<f64>,
    /// Upload alone, bit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) up_bps: Option<f64>,
    /// The median round trip without load, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) idle_ms: Option<f64>,
    /// The mean that a download and an upload add to it, ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) down_added_ms: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) up_added_ms: Option<f64>,
    /// The grade.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) grade: Option<&'static str>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) no_grade: Option<String>,
    /// What it is good for, in plain words.
    pub(super) words: Vec<String>,
    /// Doubts.
    pub(super) doubts: Vec<String>,
}

/// A message from the page.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(tag = "t", rename_all = "snake_case")]
pub(super) enum FromPage {
    /// What it has received in a phase.
    Count {
        /// The number of the phase.
        number: u32,
        /// The time after [`ToPage::Go`] by its clock, ms.
        ms: f64,
        /// Payload until then, bytes.
        bytes: u64,
    },
    /// Its sockets had nothing left to send, in a phase.
    Starved {
        /// The number of the phase.
        number: u32,
        /// The share of the time, by its timer.
        share: f64,
    },
    /// It was hidden.
    Hidden,
    /// Its user ended the test.
    Stop,
}
