//! What sends probes and receives answers.

use super::probe::{AnswerKind, ProbeRequest};
use std::io;
use std::net::IpAddr;

/// Something that happened to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChannelEvent {
    /// A probe was handed to the device.
    Departed {
        /// Its number.
        id: u32,
        /// The time, ns on the wall clock.
        at_ns: u64,
    },
    /// An answer arrived.
    Answered {
        /// The number of the probe; `None` where the answer quotes too little of it.
        id: Option<u32>,
        /// The flow.
        flow: u16,
        /// The address it came from.
        from: IpAddr,
        /// What it says.
        kind: AnswerKind,
        /// The time of its arrival, ns on the wall clock.
        at_ns: u64,
        /// Its size on the wire, bytes.
        wire_bytes: u32,
        /// The TTL with which it arrived.
        ttl: Option<u8>,
    },
    /// This machine found no way for a probe: the error number.
    Failed {
        /// The flow.
        flow: u16,
        /// The error number.
        errno: i32,
    },
}

/// What sends probes and receives answers.
pub trait ProbeChannel {
    /// The time, ns on a clock that is never set.
    fn now_ns(&self) -> u64;

    /// Sends a probe with this number, and primers before it where it is primed.
    ///
    /// # Errors
    /// `EMSGSIZE` where the device does not take the packet; any other error of the kernel.
    fn send(&mut self, id: u32, request: &ProbeRequest) -> io::Result<SentProbe>;

    /// Waits until something happened or the time is `until_ns`, and returns what happened.
    ///
    /// # Errors
    /// Any error of the kernel.
    fn wait(&mut self, until_ns: u64) -> io::Result<Vec<ChannelEvent>>;
}

/// A probe that was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentProbe {
    /// The packets sent, primers included.
    pub packets: u32,
    /// The bytes sent, IP headers included.
    pub bytes: u64,
    /// The wall-clock time right before the first of them, ns.
    pub before_ns: u64,
}
