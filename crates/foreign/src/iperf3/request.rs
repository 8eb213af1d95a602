//! The request for a test that a client sends to a server of iperf3.

use caudal_core::plan::Pacing;
use caudal_engine::LocalOptions;
use caudal_flow::Target;
use caudal_wire::iperf3::Parameters;
use std::time::Duration;

/// A test that a server of iperf3 is asked for.
#[derive(Debug, Clone)]
pub struct Iperf3Request {
    /// The server.
    pub target: Target,
    /// The parameters; their length counts only where `length` is given.
    pub parameters: Parameters,
    /// Bytes in a block or datagram; `None` for the default.
    pub length: Option<u32>,
    /// The duration of the measured part, where that is no whole number of seconds.
    pub time: Option<Duration>,
    /// The first local port of the data connections; the others follow.
    pub client_port: Option<u16>,
    /// The interval at which the streams are read; `None` for the end only.
    pub interval: Option<Duration>,
    /// The time connecting may take.
    pub connect_timeout: Option<Duration>,
    /// The time a test in which only the server sends may go on without a byte.
    pub receive_timeout: Duration,
    /// The time sent data may stay unacknowledged.
    pub send_timeout: Option<Duration>,
    /// The way UDP streams with a rate wait for the next departure.
    pub pacing: Pacing,
    /// Whether connections ask for ECN; `None` leaves it to the kernel.
    pub ask_ecn: Option<bool>,
    /// The settings that concern this end alone.
    pub options: LocalOptions,
}

impl Iperf3Request {
    /// A request to `target` with iperf3's default parameters.
    #[must_use]
    pub fn new(target: Target) -> Self {
        Self {
            target,
            parameters: Parameters::default(),
            length: None,
            time: None,
            client_port: None,
            interval: None,
            connect_timeout: None,
            receive_timeout: Duration::from_secs(120),
            send_timeout: None,
            pacing: Pacing::Balanced,
            ask_ecn: None,
            options: LocalOptions::default(),
        }
    }
}
