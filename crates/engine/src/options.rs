//! The settings of a test that concern this end alone.

use caudal_flow::ClientSource;
use caudal_sys::clock::{monotonic_ns, realtime_ns, sleep_until};
use caudal_transfer::{PreparedContent, ServedDirectory, StoreDirectory};
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The settings of a test that concern this end alone.
#[derive(Debug, Clone, Default)]
pub struct LocalOptions {
    /// Processors to pin the flows' threads to, in turn; empty for none.
    pub affinity: Vec<usize>,
    /// The time at which traffic is to begin, ns since 1970; at once when that is past, or `None`.
    pub start_at_ns: Option<u64>,
    /// `true` when a test is carried out with those of its flows that open, where others do not.
    pub partial: bool,
    /// Set while a test runs, it ends the test as an interrupt would.
    pub quit: Arc<AtomicBool>,
    /// The time that answers may take beyond the usual, where the path is known to be slow: a queue that the test fills holds them up.
    /// Where it is not zero, the queue is waited for after the test.
    pub patience: Duration,
    /// The local port of the first data socket, those of the others follow it; `None` for any.
    pub local_port: Option<u16>,
    /// The settings of a bulk transfer over TCP.
    pub tcp: TcpLocalOptions,
    /// The settings of a round-trip test.
    pub echo: EchoLocalOptions,
    /// The files of a file transfer.
    pub transfer: TransferLocalOptions,
}

impl LocalOptions {
    /// Waits until traffic is to begin, for a protocol that leaves no time between opening connections and the start.
    pub fn wait_for_start(&self) {
        if let Some(start_at_ns) = self.start_at_ns {
            sleep_until(monotonic_ns() + start_at_ns.saturating_sub(realtime_ns()));
        }
    }

    /// The processor for the thread of the flow at position `nth`.
    pub fn cpu(&self, nth: usize) -> Option<usize> {
        let position = nth % self.affinity.len().max(1);
        self.affinity.get(position).copied()
    }
}

/// The settings of a bulk transfer over TCP that concern this end alone.
#[derive(Debug, Clone, Default)]
pub struct TcpLocalOptions {
    /// The source of the payload instead of generated blocks; `-` for standard input.
    pub file: Option<PathBuf>,
}

/// The files of a file transfer at this end.
#[derive(Debug, Clone, Default)]
pub struct TransferLocalOptions {
    /// The content that a client sends. Generated content may be left out: it is made ready in each transfer then.
    pub content: Option<PreparedContent>,
    /// The directory for what arrives.
    pub store: Option<StoreDirectory>,
    /// The name of a file that a client gets; `None` for the last component of the name it has at the server.
    pub store_as: Option<String>,
    /// The directory whose files a server sends.
    pub served: Option<ServedDirectory>,
}

impl TransferLocalOptions {
    /// Those of a server for a client at `address`, whose source has its share of what is stored.
    #[must_use]
    pub fn of_client(&self, address: IpAddr) -> Self {
        let source = ClientSource::from(address);
        Self {
            store: self.store.as_ref().map(|store| store.of_source(source)),
            ..self.clone()
        }
    }
}

/// The settings of a round-trip test that concern this end alone.
#[derive(Debug, Clone)]
pub struct EchoLocalOptions {
    /// The seed of a random schedule: the same seed gives the same schedule.
    pub seed: u64,
    /// `true` when some more messages are sent that the kernel timestamps.
    pub kernel_timestamps: bool,
    /// The time after which no more messages are sent; `None` until all were.
    pub time: Option<Duration>,
    /// `true` when each reply on a schedule is an event.
    pub report_replies: bool,
    /// The interval at which the round trips of a test of one size are reported while it is under way; `None` for never.
    pub interval: Option<Duration>,
}

impl Default for EchoLocalOptions {
    fn default() -> Self {
        Self {
            seed: 0,
            kernel_timestamps: true,
            time: None,
            report_replies: false,
            interval: None,
        }
    }
}
