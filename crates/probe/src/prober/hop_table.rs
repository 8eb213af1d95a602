//! What is known of each hop.

use super::probe::{AnswerKind, MEASURED_FLOW, ProbeAnswer, ProbeFate, ProbeOutcome};
use caudal_core::path::{HopAnswering, HopTimes, PathHop, RouteChange};
use caudal_stats::DistributionSummary;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

/// Size of the probes whose round-trip times are reported, bytes.
pub(super) const SMALL_BYTES: u32 = 100;
/// Minimum answers in a row from another address for a change of the route instead of a stray packet.
const CHANGE_ANSWERS: u32 = 2;
/// Maximum changes that are reported.
const MAX_CHANGES: usize = 16;
/// Maximum round-trip times of a hop that are kept while it is watched: a day, one a second.
const MAX_KEPT: usize = 86_400;

/// How the path ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PathEnd {
    /// The TTL at and above which everything ends there.
    pub(super) ttl: u8,
    /// The address that answers.
    pub(super) from: IpAddr,
    /// What it says.
    pub(super) kind: AnswerKind,
}

/// One hop.
#[derive(Debug, Clone, Default)]
struct HopRecord {
    address: Option<IpAddr>,
    others: BTreeSet<IpAddr>,
    other_than_known: u32,
    probes: u64,
    unanswered: u64,
    rtts_ms: Vec<f64>,
    /// All of them, where not each one is kept.
    watched: Option<WatchedTimes>,
    return_hops: Option<u8>,
    /// `true` where it has said that a TTL ended there: it passes packets on.
    has_expired: bool,
}

/// The round-trip times of a hop that is watched.
#[derive(Debug, Clone, Copy)]
struct WatchedTimes {
    times: HopTimes,
    n: u64,
}

impl WatchedTimes {
    const NONE: Self = Self {
        times: HopTimes {
            min: 0.0,
            mean: 0.0,
            max: 0.0,
        },
        n: 0,
    };
}

impl HopRecord {
    fn take_time(&mut self, ms: f64) {
        let Some(watched) = &mut self.watched else {
            self.rtts_ms.push(ms);
            return;
        };
        let n = watched.n + 1;
        let times = &mut watched.times;
        *times = match n {
            1 => HopTimes {
                min: ms,
                mean: ms,
                max: ms,
            },
            _ => HopTimes {
                min: times.min.min(ms),
                mean: times.mean + (ms - times.mean) / n as f64,
                max: times.max.max(ms),
            },
        };
        watched.n = n;
        // The newest are kept for the distribution.
        if self.rtts_ms.len() >= MAX_KEPT {
            self.rtts_ms.drain(..MAX_KEPT / 2);
        }
        self.rtts_ms.push(ms);
    }
}

/// The hops of a path.
#[derive(Debug, Clone, Default)]
pub(super) struct HopTable {
    /// `true` while hops are shown by what is known of all round trips; their distributions are for the end.
    is_watching: bool,
    hops: BTreeMap<u8, HopRecord>,
    pub(super) end: Option<PathEnd>,
    pub(super) changes: Vec<RouteChange>,
}

impl HopTable {
    /// Takes an outcome in; `true` when it shows that the route of the measured flow has changed from this hop on.
    pub(super) fn take(&mut self, outcome: &ProbeOutcome, target: IpAddr, at_s: f64) -> bool {
        let request = &outcome.request;
        if request.flow != MEASURED_FLOW {
            if let Some(answer) = outcome.answer()
                && answer.kind == AnswerKind::TimeExceeded
            {
                let hop = self.hops.entry(request.ttl).or_default();
                hop.others.insert(answer.from);
            }
            return false;
        }
        let answer = match &outcome.fate {
            ProbeFate::Answered(answer) => answer,
            ProbeFate::Unanswered => {
                let hop = self.hops.entry(request.ttl).or_default();
                hop.probes += 1;
                hop.unanswered += 1;
                return false;
            }
            ProbeFate::TooLargeHere | ProbeFate::NotSent(_) => return false,
        };
        if matches!(answer.kind, AnswerKind::TooLarge { .. }) {
            return false;
        }
        if answer.kind != AnswerKind::TimeExceeded {
            self.ends(request.ttl, answer, target);
        }
        let is_watching = self.is_watching;
        let hop = self.hops.entry(request.ttl).or_default();
        if is_watching && hop.watched.is_none() {
            hop.watched = Some(WatchedTimes::NONE);
        }
        hop.has_expired |= answer.kind == AnswerKind::TimeExceeded;
        hop.probes += 1;
        if request.bytes == SMALL_BYTES {
            hop.take_time(answer.rtt_ns as f64 / 1e6);
        }
        hop.return_hops = answer.return_hops().or(hop.return_hops);
        self.met(request.ttl, answer.from, at_s)
    }

    /// Notes the address that a hop answers from.
    fn met(&mut self, ttl: u8, from: IpAddr, at_s: f64) -> bool {
        let hop = self.hops.entry(ttl).or_default();
        match hop.address {
            None => hop.address = Some(from),
            Some(known) if known == from => hop.other_than_known = 0,
            Some(known) => {
                hop.other_than_known += 1;
                if hop.other_than_known >= CHANGE_ANSWERS {
                    hop.other_than_known = 0;
                    hop.address = Some(from);
                    // Of a path that is watched the newest are kept.
                    if self.is_watching && self.changes.len() >= MAX_CHANGES {
                        self.changes.remove(0);
                    }
                    if self.changes.len() < MAX_CHANGES {
                        self.changes.push(RouteChange {
                            at_s,
                            ttl,
                            from: known,
                            to: from,
                        });
                    }
                    return true;
                }
            }
        }
        false
    }

    fn ends(&mut self, ttl: u8, answer: &ProbeAnswer, target: IpAddr) {
        let end = PathEnd {
            ttl,
            from: answer.from,
            kind: answer.kind,
        };
        let is_host = |end: &PathEnd| end.from == target;
        let is_better = self.end.is_none_or(|known| {
            (is_host(&end), u8::MAX - ttl) > (is_host(&known), u8::MAX - known.ttl)
        });
        if is_better {
            self.end = Some(end);
        }
    }

    /// The TTL of the last hop that answers, and not beyond the end of the path.
    pub(super) fn last(&self) -> Option<u8> {
        self.answering().last().copied()
    }

    /// The hops that answer, up to the end of the path. A router that answers for the host is the hop before, and no hop of its own.
    pub(super) fn answering(&self) -> Vec<u8> {
        let end = self.end.map_or(u8::MAX, |end| {
            let before = self.address(end.ttl.saturating_sub(1));
            end.ttl - u8::from(before == Some(end.from))
        });
        let hops = self.hops.range(..=end);
        hops.filter(|(_, hop)| hop.address.is_some())
            .map(|(ttl, _)| *ttl)
            .collect()
    }

    /// The hops that answer and pass packets on, and the host: what a router says instead of passing them on says nothing of links.
    pub(super) fn passing(&self, target: IpAddr) -> Vec<u8> {
        let is_host = |ttl| {
            self.end
                .is_some_and(|end| end.ttl == ttl && end.from == target)
        };
        let mut hops = self.answering();
        hops.retain(|ttl| is_host(*ttl) || self.hops.get(ttl).is_some_and(|hop| hop.has_expired));
        hops
    }

    /// The hops before the end of the path that have not answered, where it ends at another address than the host's.
    pub(super) fn silent_before_refusal(&self, target: IpAddr) -> Vec<u8> {
        let end = self.end.filter(|end| end.from != target);
        let before = end.map_or(0, |end| end.ttl);
        (1..before)
            .filter(|ttl| self.address(*ttl).is_none())
            .collect()
    }

    /// Counts all hops anew, and goes on without limit.
    pub(super) fn begin_watching(&mut self) {
        self.is_watching = true;
        for hop in self.hops.values_mut() {
            (hop.probes, hop.unanswered) = (0, 0);
            hop.rtts_ms.clear();
        }
    }

    /// Shows distributions from now on.
    pub(super) fn end_watching(&mut self) {
        self.is_watching = false;
    }

    /// Leaves out what was counted of a hop so far.
    pub(super) fn count_anew(&mut self, ttl: u8) {
        if let Some(hop) = self.hops.get_mut(&ttl) {
            (hop.probes, hop.unanswered) = (0, 0);
        }
    }

    /// The hops that say that a TTL ended there, by TTL.
    pub(super) fn expiries(&self) -> BTreeMap<u8, IpAddr> {
        let hops = self.hops.iter().filter(|(_, hop)| hop.has_expired);
        hops.filter_map(|(ttl, hop)| Some((*ttl, hop.address?)))
            .collect()
    }

    /// Leaves out the hops beyond this one.
    pub(super) fn end_at(&mut self, ttl: u8) {
        self.hops.retain(|known, _| *known <= ttl);
    }

    /// The address that a hop answers from.
    pub(super) fn address(&self, ttl: u8) -> Option<IpAddr> {
        self.hops.get(&ttl)?.address
    }

    /// The hop that answers from an address.
    pub(super) fn ttl_of(&self, address: IpAddr) -> Option<u8> {
        let met = |hop: &HopRecord| hop.address == Some(address) || hop.others.contains(&address);
        self.hops
            .iter()
            .find(|(_, hop)| met(hop))
            .map(|(ttl, _)| *ttl)
    }

    /// The hop that answers from an address, among those that are reported.
    pub(super) fn answering_ttl_of(&self, address: IpAddr) -> Option<u8> {
        let last = self.last()?;
        self.ttl_of(address).filter(|ttl| *ttl <= last)
    }

    /// The hops as they are reported; of those that limit their answers the time between two.
    pub(super) fn hops(
        &self,
        confidence: f64,
        limited_ns: &dyn Fn(u8) -> Option<u64>,
    ) -> Vec<PathHop> {
        let Some(last) = self.last() else {
            return self.nothing();
        };
        let mut hops: Vec<PathHop> = (1..=last)
            .map(|ttl| self.hop(ttl, confidence, limited_ns(ttl)))
            .collect();
        if self.end.is_none() {
            hops.extend(
                self.hops
                    .range(last + 1..)
                    .next()
                    .map(|(ttl, hop)| PathHop {
                        probes: hop.probes,
                        unanswered: hop.unanswered,
                        ..PathHop::unknown(*ttl)
                    }),
            );
        }
        hops
    }

    /// The first hop of a path on which nothing answers.
    fn nothing(&self) -> Vec<PathHop> {
        let first = self.hops.iter().next();
        first
            .map(|(ttl, hop)| PathHop {
                probes: hop.probes,
                unanswered: hop.unanswered,
                ..PathHop::unknown(*ttl)
            })
            .into_iter()
            .collect()
    }

    fn hop(&self, ttl: u8, confidence: f64, limited_ns: Option<u64>) -> PathHop {
        let Some(record) = self.hops.get(&ttl) else {
            return PathHop {
                answering: HopAnswering::Silent,
                ..PathHop::unknown(ttl)
            };
        };
        let limited_ns = limited_ns.filter(|_| record.address.is_some());
        PathHop {
            answering: match (record.address, limited_ns) {
                (None, _) => HopAnswering::Silent,
                (Some(_), Some(_)) => HopAnswering::RateLimited,
                (Some(_), None) => HopAnswering::Answers,
            },
            address: record.address,
            other_addresses: record
                .others
                .iter()
                .copied()
                .filter(|other| Some(*other) != record.address)
                .collect(),
            probes: record.probes,
            unanswered: record.unanswered,
            answer_interval_ms: limited_ns.map(|interval| interval as f64 / 1e6),
            rtt_ms: match self.is_watching {
                true => None,
                false => DistributionSummary::from_series(&record.rtts_ms, confidence),
            },
            reported_rtt_ms: record
                .watched
                .filter(|watched| self.is_watching && watched.n > 0)
                .map(|watched| watched.times),
            return_hops: record.return_hops,
            ..PathHop::unknown(ttl)
        }
    }
}
