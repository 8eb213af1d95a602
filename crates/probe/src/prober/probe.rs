//! A probe and what answers it.

use crate::hop_capacity::Priming;
use std::net::IpAddr;

/// The flow whose hops are measured. Others differ in their source port.
pub const MEASURED_FLOW: u16 = 0;
/// What a frame has on the wire besides its IP packet: preamble, Ethernet header, FCS and gap, bytes.
pub(super) const FRAME_OVERHEAD: u32 = 38;

/// A probe to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeRequest {
    /// The flow.
    pub flow: u16,
    /// The TTL, or hop limit.
    pub ttl: u8,
    /// The size of the packet, IP header included, bytes.
    pub bytes: u32,
    /// Whether primers come before it.
    pub priming: Priming,
}

/// What an answer says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerKind {
    /// The TTL ended at this hop.
    TimeExceeded,
    /// Nobody listens at the port: the probe has arrived.
    PortUnreachable,
    /// The probe may not pass, or there is no way on; with the code of the ICMP message.
    Unreachable {
        /// The code.
        code: u8,
    },
    /// The packet is too large for the next link.
    TooLarge {
        /// The MTU of that link; 0 where the router does not say.
        mtu: u32,
    },
}

/// The answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeAnswer {
    /// The address it came from.
    pub from: IpAddr,
    /// What it says.
    pub kind: AnswerKind,
    /// The time from the departure of the probe, or from before its primers where it has some, to the arrival of the answer, ns.
    pub rtt_ns: u64,
    /// The size of the answer on the wire, bytes.
    pub wire_bytes: u32,
    /// The TTL with which it arrived.
    pub ttl: Option<u8>,
}

impl ProbeAnswer {
    /// The hops that the answer took back, on the assumption that its TTL began at the next of 64, 128 and 255.
    #[must_use]
    pub fn return_hops(&self) -> Option<u8> {
        let ttl = self.ttl?;
        let began = [64, 128, 255].into_iter().find(|began| ttl <= *began)?;
        Some(began - ttl + 1)
    }
}

/// What became of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeFate {
    /// It was answered.
    Answered(ProbeAnswer),
    /// No answer came in time.
    Unanswered,
    /// This machine refused to send it as too large.
    TooLargeHere,
    /// This machine could not send it, or found no way: the error number.
    NotSent(i32),
}

/// A probe and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProbeOutcome {
    /// The probe.
    pub request: ProbeRequest,
    /// What became of it.
    pub fate: ProbeFate,
}

impl ProbeOutcome {
    /// The answer.
    #[must_use]
    pub const fn answer(&self) -> Option<&ProbeAnswer> {
        match &self.fate {
            ProbeFate::Answered(answer) => Some(answer),
            _ => None,
        }
    }
}
