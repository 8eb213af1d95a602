//! The events of a test, in the order they happen, and the views that show them.
//!
//! Engines of every protocol emit them, the stream of JSON lines prints them, and a recorded run can be turned back into them.

use crate::interval::FlowInterval;
use crate::plan::{Plan, PlanRecord};
use crate::run::Run;
use crate::sample::Sample;
use crate::search::SearchTrial;
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;

/// One event of a test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// Both ends hold this plan.
    Agreed(Agreement),
    /// Payload begins to flow.
    Started {
        /// The number of the run, from 1, where a command makes several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        repeat: Option<u32>,
    },
    /// The counters of one end of one flow were read.
    Sampled(Sample),
    /// Both ends of all flows were read at the same tick: the interval since the tick before.
    Interval {
        /// The number of the run, from 1.
        repeat: u32,
        /// The interval of each flow.
        flows: Vec<FlowInterval>,
    },
    /// One message size of a round-trip test is complete for one client.
    Size(SizeProgress),
    /// A trial of a search for the highest rate is complete.
    Trial {
        /// The trial.
        trial: SearchTrial,
    },
    /// All payload was sent; the final reports are being exchanged.
    Ending,
    /// The test is over.
    Finished {
        /// The whole run.
        run: Box<Run>,
    },
}

/// A plan that both ends hold.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Agreement {
    /// The number of the run, from 1, where a command makes several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u32>,
    /// The plan within the server's limits.
    pub plan: PlanRecord,
    /// The changes the server made, in words.
    pub changed: Vec<String>,
}

impl Agreement {
    /// The agreement with this peer on a plan.
    #[must_use]
    pub fn new(plan: &Plan, peer: SocketAddr, changed: &[String]) -> Self {
        Self {
            repeat: None,
            plan: PlanRecord {
                peer: Some(peer.to_string()),
                ..PlanRecord::from(plan)
            },
            changed: changed.to_vec(),
        }
    }
}

/// The progress of a round-trip test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SizeProgress {
    /// The client's number, from 0.
    pub client: u32,
    /// Bytes in each message.
    pub size_bytes: u32,
    /// Messages that were answered in time.
    pub replies: usize,
    /// Their mean round-trip time, µs.
    pub mean_us: f64,
}

/// A consumer of a test's events: a text table, JSON lines, CSV, a progress bar, the store.
pub trait View {
    /// Takes the next event.
    fn event(&mut self, event: &Event);
}
