//! The path MTU, and the link that makes it so.

use super::hop_table::SMALL_BYTES;
use super::outcome::ProbeError;
use super::path_prober::PathProber;
use super::probe::{AnswerKind, MEASURED_FLOW, ProbeFate, ProbeRequest};
use crate::hop_capacity::Priming;
use caudal_core::path::{MtuEvidence, PathMtu, PathPhase};
use caudal_core::units::ByteCount;

/// Probes of one size before it counts as lost.
const TRIES: u32 = 3;
/// Maximum routers in a row that report their MTU.
const MAX_ROUTERS: u32 = 16;

/// What became of a packet of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SizeFate {
    Arrived,
    /// A router says that the next link takes `mtu`, if it says; `at` is its TTL where it is known.
    TooLarge {
        mtu: u32,
        at: Option<u8>,
    },
    /// Nothing came back.
    Lost,
    /// This machine does not send it.
    TooLargeHere,
}

impl PathProber<'_> {
    /// Measures the path MTU to the last hop that answers; `None` where none does.
    ///
    /// Probes of the size in question are sent with DF to a hop, whose answer shows that they arrived: neither the host nor "fragmentation
    /// needed" messages are needed. Sources: RFC 1191, RFC 8201; RFC 8899 for the search without ICMP.
    pub(super) fn path_mtu(&mut self) -> Result<Option<PathMtu>, ProbeError> {
        let Some(last) = self.table.passing(self.settings.target).last().copied() else {
            return Ok(None);
        };
        self.enter(PathPhase::Mtu);
        let local = self.settings.local_mtu.max(SMALL_BYTES);
        let mut found = PathMtu {
            bytes: ByteCount::new(u64::from(local)),
            local_bytes: ByteCount::new(u64::from(local)),
            to_ttl: last,
            evidence: MtuEvidence::WholeMtu,
            shrinks_before_ttl: None,
        };
        let mut size = local;
        for _ in 0..MAX_ROUTERS {
            if self.is_over() {
                return Ok(None);
            }
            match self.fate_of_size(last, size)? {
                SizeFate::Arrived => {
                    found.bytes = ByteCount::new(u64::from(size));
                    return Ok(Some(found));
                }
                SizeFate::TooLarge { mtu, at } if (SMALL_BYTES..size).contains(&mtu) => {
                    size = mtu;
                    found.evidence = MtuEvidence::Icmp;
                    found.shrinks_before_ttl = at.map(|ttl| ttl + 1);
                }
                SizeFate::TooLarge { .. } | SizeFate::Lost | SizeFate::TooLargeHere => {
                    let Some(bytes) = self.search_size(last, size)? else {
                        return Ok(None);
                    };
                    found.bytes = ByteCount::new(u64::from(bytes));
                    found.evidence = MtuEvidence::Unanswered;
                    found.shrinks_before_ttl = self.shrinks_before(last, bytes + 1)?;
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }

    /// The largest size below `too_large` that arrives at a hop; `None` where probing was ended.
    fn search_size(&mut self, ttl: u8, too_large: u32) -> Result<Option<u32>, ProbeError> {
        let (mut arrives, mut too_large) = (SMALL_BYTES, too_large);
        // The size of most tunnels is met at once, as both of its sides are tried early.
        while too_large - arrives > 1 {
            if self.is_over() {
                return Ok(None);
            }
            let size = arrives.midpoint(too_large);
            match self.fate_of_size(ttl, size)? {
                SizeFate::Arrived => arrives = size,
                SizeFate::TooLarge { mtu, .. } if mtu > arrives && mtu < size => {
                    too_large = mtu + 1;
                }
                _ => too_large = size,
            }
        }
        Ok(Some(arrives))
    }

    /// The TTL of the first hop that packets of `size` bytes, which do not arrive at `last`, do not reach.
    fn shrinks_before(&mut self, last: u8, size: u32) -> Result<Option<u8>, ProbeError> {
        let hops = self.table.passing(self.settings.target);
        let hops: Vec<u8> = hops.into_iter().filter(|ttl| *ttl < last).collect();
        for ttl in hops {
            if self.is_over() {
                return Ok(None);
            }
            match self.fate_of_size(ttl, size)? {
                SizeFate::Arrived => {}
                SizeFate::TooLargeHere => return Ok(None),
                _ => return Ok(Some(ttl)),
            }
        }
        Ok(Some(last))
    }

    /// What becomes of a packet of `size` bytes on the way to a hop.
    fn fate_of_size(&mut self, ttl: u8, size: u32) -> Result<SizeFate, ProbeError> {
        for _ in 0..TRIES {
            self.exchange.ask(ProbeRequest {
                flow: MEASURED_FLOW,
                ttl,
                bytes: size,
                priming: Priming::Unprimed,
            });
            while !self.exchange.is_idle() && !self.is_over() {
                for outcome in self.advance()? {
                    match outcome.fate {
                        ProbeFate::Answered(answer) => {
                            return Ok(match answer.kind {
                                AnswerKind::TooLarge { mtu } => SizeFate::TooLarge {
                                    mtu,
                                    at: self.table.ttl_of(answer.from),
                                },
                                _ => SizeFate::Arrived,
                            });
                        }
                        ProbeFate::TooLargeHere => return Ok(SizeFate::TooLargeHere),
                        ProbeFate::Unanswered | ProbeFate::NotSent(_) => {}
                    }
                }
            }
        }
        Ok(SizeFate::Lost)
    }
}
