//! One probe and its answer.

/// Whether primers were sent right before a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priming {
    /// The probe came alone.
    Unprimed,
    /// Primers, as [`Primers`](super::Primers) has them, were sent back to back before it.
    Primed,
}

/// The answer to a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopAnswer {
    /// The round-trip time, ns: from the departure of the probe, or, where it was primed, from when its primers were sent.
    pub rtt_ns: u64,
    /// The size of the ICMP message on the wire, bytes.
    ///
    /// Linux quotes up to 576 bytes (RFC 1812 section 4.3.2.3), so that replies grow with small probes.
    pub reply_bytes: u32,
}

/// A probe that was sent with a limited TTL, and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HopReading {
    /// The TTL it was sent with: the number of the hop.
    pub ttl: u8,
    /// Its size on the wire, bytes.
    pub probe_bytes: u32,
    /// Whether primers came before it.
    pub priming: Priming,
    /// Its answer; `None` when none came.
    pub answer: Option<HopAnswer>,
}
