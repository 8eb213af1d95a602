//! Cases: the points of an experiment's matrix, with their flows.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use caudal_core::plan::FileProtocol;
use caudal_core::units::{BitRate, ByteCount};

use crate::file::{FlowKindFile, TestbedFile};
use crate::scalar::Scalar;

/// A case: one point of the matrix, or the solo baseline of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// The unique key, the same whenever the same file is unfolded: `B2`, `udp_load=80% congestion=bbr`, `B2 transport=tcp`,
    /// and for a baseline `alone: tcp (congestion=bbr)`.
    pub key: String,
    /// The name of a named case.
    pub name: Option<String>,
    /// The title of a named case, one line.
    pub title: Option<String>,
    /// The value of every parameter, in the order of the file.
    pub parameters: Vec<(String, Scalar)>,
    /// The network, with the parameters filled in.
    #[serde(rename = "place")]
    pub testbed: TestbedFile,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// The duration of the measurement.
    pub measure: Duration,
    /// The warm-up before the measurement, which is excluded.
    pub warm_up: Duration,
    /// The interval between readings of the counters.
    pub interval: Duration,
    /// The flow of a solo baseline.
    pub alone: Option<String>,
    /// The keys of the solo baselines of the flows, by flow.
    pub baselines: BTreeMap<String, String>,
    /// `true` when the interfaces of the hosts are captured.
    pub capture: bool,
    /// `true` where the offloads of the hosts' interfaces are to be on, `false` where off; as they are without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offload: Option<bool>,
    /// `true` when the processors are kept from going idle.
    #[serde(default)]
    pub awake: bool,
}

impl Case {
    /// `true` when it probes a path: the trial ends with that.
    #[must_use]
    pub fn probes_a_path(&self) -> bool {
        let mut flows = self.flows.iter();
        flows.any(|flow| flow.kind == FlowKindFile::Path)
    }
}

/// A flow of a case, with the parameters filled in.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// The name.
    pub name: String,
    /// The kind.
    pub kind: FlowKindFile,
    /// The host that sends, or that sends echo requests.
    pub from: String,
    /// The host that receives, or that replies.
    pub to: String,
    /// The number of parallel connections.
    pub count: u32,
    /// The sending rate of each connection.
    pub rate: RateSpec,
    /// The bytes in a datagram or a block.
    pub length: Option<u32>,
    /// The sizes of echo messages, as `64` or `1..64Ki`.
    pub sizes: Option<String>,
    /// The protocol of a file; `None` for every other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<FileProtocol>,
    /// File bytes in each datagram of RBT.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<u32>,
    /// `true` when Nagle's algorithm is on for a file over TCP or TLS.
    #[serde(default)]
    pub nagle: bool,
    /// The congestion control.
    pub congestion: Option<String>,
    /// The size of the socket buffers.
    pub window: Option<ByteCount>,
    /// The maximum segment size.
    pub mss: Option<u32>,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// The start, relative to that of the trial.
    pub start: Duration,
    /// The stop, relative to the start of the trial; `None` for the end of the trial.
    pub stop: Option<Duration>,
    /// The amount of payload after which it stops instead.
    pub bytes: Option<ByteCount>,
    /// The number of echo messages of each size.
    pub messages: Option<u64>,
    /// The period of scheduled echo messages.
    pub every: Option<Duration>,
    /// What is probed of a path, and how; `None` for every other kind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<PathProbing>,
    /// `true` when it measures the latency under load, and is no load itself.
    pub probe: bool,
}

/// What is measured of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PathScope {
    /// Each link, from one end.
    Links,
    /// The capacity each way, between both ends.
    Ends,
    /// That and the available bandwidth.
    Available,
    /// The duplex mode of the links.
    Duplex,
    /// All of it.
    All,
}

impl PathScope {
    /// `true` where each link is measured from one end.
    #[must_use]
    pub const fn has_links(self) -> bool {
        matches!(self, Self::Links | Self::All)
    }

    /// `true` where the capacity each way is a result.
    #[must_use]
    pub const fn has_ends(self) -> bool {
        matches!(self, Self::Ends | Self::Available | Self::All)
    }

    /// `true` where the available bandwidth is measured.
    #[must_use]
    pub const fn has_available(self) -> bool {
        matches!(self, Self::Available | Self::All)
    }

    /// `true` where the duplex mode is to be found.
    #[must_use]
    pub const fn has_duplex(self) -> bool {
        matches!(self, Self::Duplex | Self::All)
    }
}

/// What is probed of a path, and how.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PathProbing {
    /// What is measured.
    pub measure: PathScope,
    /// The time after which probing from one end ends; `None` for the time measured.
    pub time: Option<Duration>,
    /// Half the width of a capacity's interval, as a part of the capacity, at which no more is probed.
    pub accuracy: Option<f64>,
    /// The packets sent right before a probe that looks for shapers.
    pub primers: Option<u32>,
    /// `true` to count the routes that other flows take.
    pub routes: bool,
}

/// The sending rate of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSpec {
    /// As fast as possible.
    Max,
    /// This rate of payload.
    Payload(BitRate),
    /// A share of the payload rate that a link carries; above 1 it exceeds it.
    #[serde(rename = "part")]
    Share {
        /// The share, 1 for all.
        #[serde(rename = "of_one")]
        fraction: f64,
        /// The link; `None` for the narrowest on the path.
        link: Option<String>,
    },
}

/// `true` when `text` names the case with this key, name and parameters: by its key, its name, or words `parameter=value`, alone
/// or after the name.
pub(crate) fn is_named_by(
    text: &str,
    key: &str,
    name: Option<&str>,
    parameters: &[(String, Scalar)],
) -> bool {
    if text == key || name == Some(text) {
        return true;
    }
    let words = match name.and_then(|name| text.strip_prefix(name)) {
        Some(rest) if rest.starts_with(char::is_whitespace) => rest,
        _ => text,
    };
    let mut has_words = false;
    words.split_whitespace().all(|word| {
        has_words = true;
        word.split_once('=').is_some_and(|(parameter, value)| {
            parameters
                .iter()
                .any(|(known, written)| known == parameter && written.to_string() == value)
        })
    }) && has_words
}
