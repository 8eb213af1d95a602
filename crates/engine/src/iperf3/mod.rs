//! Tests in the way of iperf3, from either end, carried by the same loops as our own.

mod account;
mod client;
mod control;
mod desk;
mod event;
mod server;
mod streams;

pub use client::{Iperf3Client, Iperf3Error, Iperf3Run, Request};
pub(crate) use desk::{Delivery, Desk};
pub use event::{Ending, Gatekeeper, Iperf3Event, Output, Scribe, ScribeMaker, Stream};
pub(crate) use server::serve;

use std::time::Duration;

/// How a server is to treat clients of iperf3.
#[derive(Debug, Clone)]
pub struct Iperf3Options {
    /// Whether it answers them at all.
    pub enabled: bool,
    /// Whom it answers; `None` for everybody.
    pub gatekeeper: Option<Gatekeeper>,
    /// Who writes down what a test looks like, for clients that ask for the server's output.
    pub scribes: Option<ScribeMaker>,
    /// How often the scribes are told how the streams stand; `None` for never.
    pub interval: Option<Duration>,
    /// The most all streams of a test together may carry, bit/s, averaged over the given time.
    pub rate_limit: Option<(u64, Duration)>,
    /// How long a test in which the server receives may go on without a byte.
    pub receive_timeout: Duration,
}

impl Default for Iperf3Options {
    fn default() -> Self {
        Self {
            enabled: true,
            gatekeeper: None,
            scribes: None,
            interval: Some(Duration::from_secs(1)),
            rate_limit: None,
            receive_timeout: Duration::from_secs(120),
        }
    }
}
