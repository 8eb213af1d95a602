//! Shares of TCP flows at a bottleneck by their round-trip times, and the cases that the formula does not cover.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use caudal_core::prediction::Tolerance;
use caudal_core::quantity::time;
use caudal_topology::{Discipline, QueueLimit};

use super::max_min::MaxMinShare;
use super::network::{FlowKind, FlowNetwork, SharedResource};
use super::round_trip::{queue_delay, round_trip};

/// Exponent of the bias by round-trip time: shares are in proportion to `rtt^-1.5`.
///
/// It is the middle of the range of 1 to 2 for drop-tail queues; 2 holds when all flows lose at the same time. CUBIC is nearly Reno at
/// rates where it loses at the queue of its own bottleneck.
///
/// Source: Lakshman and Madhow, "The Performance of TCP/IP for Networks with High Bandwidth-Delay Products and Random Loss", 1997; RFC
/// 9438 sections 4.3 and 5.1.
const RTT_BIAS: f64 = 1.5;
/// The part of a drop-tail queue that is full on average: the middle between half full and full.
const QUEUE_FILL: f64 = 0.75;
/// Maximum ratio of the longest to the shortest round-trip time for the times to count as equal.
const MAX_EQUAL_RATIO: f64 = 1.05;
/// Maximum ratio of the longest to the shortest round-trip time for formula and simulation to agree within 50 %.
const MAX_COVERED_RATIO: f64 = 1.5;
/// Minimum used share of its rate for a resource to count as saturated.
const MIN_SATURATED: f64 = 0.999;
/// For flows with equal round-trip times: the median simulation of 5 seeds lies within it.
const EQUAL_RTT: Tolerance = Tolerance::symmetric(0.3);
/// For flows whose round-trip times differ by up to [`MAX_COVERED_RATIO`].
const UNEQUAL_RTT: Tolerance = Tolerance::symmetric(0.5);

/// The reason why no formula predicts the share of a flow.
#[derive(Debug, Clone, PartialEq)]
pub enum NotCovered {
    /// Flows that share a bottleneck cross another one.
    SeveralBottlenecks(Vec<String>),
    /// The round-trip times at a bottleneck differ too much; they include the queue, three quarters full.
    RoundTripTimes {
        /// The name of the bottleneck.
        link: String,
        /// The shortest of its flows.
        min: Duration,
        /// The longest.
        max: Duration,
    },
    /// Round-trip times differ, and the queue of the bottleneck has no limit.
    UnlimitedQueue(String),
    /// Round-trip times differ, and the queue of the bottleneck is not drop-tail.
    Discipline(String),
    /// Different congestion controls share the bottleneck.
    CongestionControls(String),
}

impl fmt::Display for NotCovered {
    /// Writes the reason without the subject.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SeveralBottlenecks(names) => write!(
                f,
                "flows cross several bottlenecks that they share with others ({}), and the loss at each adds up",
                names.join(", ")
            ),
            Self::RoundTripTimes { link, min, max } => write!(
                f,
                "round-trip times at {link}, with its queue three quarters full, are {} to {}, and beyond a ratio of {MAX_COVERED_RATIO} no exponent of the bias fits within 50 %",
                time(*min),
                time(*max)
            ),
            Self::UnlimitedQueue(link) => write!(
                f,
                "round-trip times differ and the queue of {link} has no limit: windows and not losses determine the shares"
            ),
            Self::Discipline(link) => write!(
                f,
                "round-trip times differ, and the queue of {link} is not drop-tail"
            ),
            Self::CongestionControls(link) => write!(
                f,
                "flows with different congestion controls share {link}, or with one for which there is no model"
            ),
        }
    }
}

/// The share of a TCP flow at the resource that limits it.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum TcpShare {
    /// A rate, with its assumption and its tolerance.
    Covered {
        share: MaxMinShare,
        basis: ShareBasis,
    },
    /// No formula applies; the max-min fair share is for reference.
    NotCovered {
        max_min: MaxMinShare,
        reason: NotCovered,
    },
}

/// The assumption of a share.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum ShareBasis {
    /// No other TCP flow sends data through the bottleneck.
    OnlyTcpFlow,
    /// All have the same round-trip time.
    EqualRtt,
    /// Shares are in proportion to a power of the round-trip time, which is given with the queue.
    RttBias(Duration),
}

impl ShareBasis {
    pub(super) const fn tolerance(self) -> Tolerance {
        match self {
            Self::OnlyTcpFlow => Tolerance::SHARE,
            Self::EqualRtt => EQUAL_RTT,
            Self::RttBias(_) => UNEQUAL_RTT,
        }
    }
}

/// The flows that share bottlenecks with one another, directly or through others, and these bottlenecks.
struct BottleneckGroup {
    flows: BTreeSet<usize>,
    resources: Vec<SharedResource>,
}

/// The resources that are used up, one for each set of flows that send data through it.
type Bottlenecks = BTreeMap<Vec<usize>, SharedResource>;

impl FlowNetwork<'_> {
    /// The share of each flow of `capacities`, none above its own maximum in `max_wire_bps`.
    pub(super) fn tcp_shares(
        &self,
        capacities: &BTreeMap<SharedResource, f64>,
        max_wire_bps: &[f64],
    ) -> Vec<TcpShare> {
        let equal = self.max_min_shares(capacities, max_wire_bps, &vec![1.0; self.flows.len()]);
        let bottlenecks = self.bottlenecks(capacities, &equal);
        let bases: Vec<Result<ShareBasis, NotCovered>> = (0..self.flows.len())
            .map(|flow| self.basis(flow, &bottlenecks))
            .collect();
        let weights: Vec<f64> = bases
            .iter()
            .map(|basis| match basis {
                Ok(ShareBasis::RttBias(rtt)) => rtt.as_secs_f64().max(1e-9).powf(-RTT_BIAS),
                _ => 1.0,
            })
            .collect();
        // Only flows of one group share a bottleneck, so weights of different groups do not meet.
        let weighted = self.max_min_shares(capacities, max_wire_bps, &weights);
        bases
            .into_iter()
            .zip(equal.into_iter().zip(weighted))
            .map(|(basis, (max_min, share))| match basis {
                Ok(basis) => TcpShare::Covered { share, basis },
                Err(reason) => TcpShare::NotCovered { max_min, reason },
            })
            .collect()
    }

    /// The TCP flows that send data through a resource.
    fn tcp_data_through(&self, resource: SharedResource) -> Vec<usize> {
        let uses = |flow: usize| {
            let flow = &self.flows[flow];
            matches!(flow.parameters.kind, FlowKind::Tcp { .. })
                && flow.path.iter().any(|hop| self.resource(*hop) == resource)
        };
        (0..self.flows.len()).filter(|flow| uses(*flow)).collect()
    }

    /// The resources that the shares use up. Of those with the same flows only the first can have a queue.
    fn bottlenecks(
        &self,
        capacities: &BTreeMap<SharedResource, f64>,
        shares: &[MaxMinShare],
    ) -> Bottlenecks {
        let loads = self.loads(shares);
        let mut bottlenecks = Bottlenecks::new();
        for flow in &self.flows {
            for hop in &flow.path {
                let resource = self.resource(*hop);
                let users = self.tcp_data_through(resource);
                let load = loads.get(&resource).copied().unwrap_or(0.0);
                let saturated = capacities
                    .get(&resource)
                    .is_some_and(|capacity| load >= capacity * MIN_SATURATED);
                if saturated && !users.is_empty() {
                    bottlenecks.entry(users).or_insert(resource);
                }
            }
        }
        bottlenecks
    }

    /// The bottlenecks and flows that are connected with one flow.
    fn group(flow: usize, bottlenecks: &Bottlenecks) -> BottleneckGroup {
        let mut flows = BTreeSet::from([flow]);
        // Each iteration but the last adds a flow.
        loop {
            let connected: Vec<_> = bottlenecks
                .iter()
                .filter(|(users, _)| users.iter().any(|user| flows.contains(user)))
                .collect();
            let before = flows.len();
            flows.extend(
                connected
                    .iter()
                    .flat_map(|(users, _)| users.iter().copied()),
            );
            if flows.len() == before {
                let resources = connected.into_iter().map(|(_, resource)| *resource);
                return BottleneckGroup {
                    resources: resources.collect(),
                    flows,
                };
            }
        }
    }

    /// The assumption under which the share of a flow is predicted.
    fn basis(&self, flow: usize, bottlenecks: &Bottlenecks) -> Result<ShareBasis, NotCovered> {
        let group = Self::group(flow, bottlenecks);
        if group.flows.len() == 1 {
            return Ok(ShareBasis::OnlyTcpFlow);
        }
        let &[resource] = &group.resources[..] else {
            let names = group.resources.iter();
            let names = names.map(|resource| self.resource_name(*resource).to_owned());
            return Err(NotCovered::SeveralBottlenecks(names.collect()));
        };
        let link = self.resource_name(resource).to_owned();
        let responses: Vec<_> = group
            .flows
            .iter()
            .map(|flow| match self.flows[*flow].parameters.kind {
                FlowKind::Tcp { loss_response, .. } => loss_response,
                _ => None,
            })
            .collect();
        if responses.windows(2).any(|pair| pair[0] != pair[1]) {
            return Err(NotCovered::CongestionControls(link));
        }
        let times = group
            .flows
            .iter()
            .map(|flow| self.loaded_rtt(*flow, resource));
        let min = times.clone().min().unwrap_or_default();
        let max = times.max().unwrap_or_default();
        let ratio = max.as_secs_f64() / min.as_secs_f64().max(1e-9);
        if ratio <= MAX_EQUAL_RATIO {
            return Ok(ShareBasis::EqualRtt);
        }
        if responses.contains(&None) {
            return Err(NotCovered::CongestionControls(link));
        }
        let hops = group.flows.iter().flat_map(|flow| &self.flows[*flow].path);
        for hop in hops.filter(|hop| self.resource(**hop) == resource) {
            let queue = &self.topology.impairments(*hop).queue;
            if !matches!(queue.discipline, Discipline::DropTail) {
                return Err(NotCovered::Discipline(link));
            }
            if matches!(queue.limit, QueueLimit::None) {
                return Err(NotCovered::UnlimitedQueue(link));
            }
        }
        if ratio > MAX_COVERED_RATIO {
            return Err(NotCovered::RoundTripTimes { link, min, max });
        }
        Ok(ShareBasis::RttBias(self.loaded_rtt(flow, resource)))
    }

    /// The round-trip time of a flow with the queue of a resource as full as it is on average.
    fn loaded_rtt(&self, flow: usize, resource: SharedResource) -> Duration {
        let flow = &self.flows[flow];
        let queues = flow
            .path
            .iter()
            .filter(|hop| self.resource(**hop) == resource)
            .filter_map(|hop| queue_delay(self.topology.impairments(*hop), flow.full_frame()));
        let queued: Duration = queues.sum();
        round_trip(self, flow).saturating_add(queued.mul_f64(QUEUE_FILL))
    }
}
