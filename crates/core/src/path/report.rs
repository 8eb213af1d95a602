//! The result of probing a path.

use super::between_ends::PathBetweenEnds;
use super::cost::{ProbingCost, ProbingMeans};
use super::direction::PathDirection;
use super::duplex::PathDuplex;
use super::flows::PathFlows;
use super::hop::PathHop;
use super::link::{NarrowPathLink, PathLink};
use super::marks::MarkTrace;
use super::mtu::PathMtu;
use super::route::{RouteChange, RouteCount};
use super::unreached::{PathRefusal, RoutingLoop};
use crate::plan::Direction;
use crate::quality::QualityReport;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;

/// Maximum relative difference between the capacities that hops and both ends show for them to be those of one link.
const MAX_DIFFERENCE: f64 = 0.1;

/// The host at the end of a path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathTarget {
    /// As it was named.
    pub host: ExternalText,
    /// Its address; absent where another tool's log has its name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// The UDP port that probes are addressed to.
    pub port: u16,
}

/// How the host at the end answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostAnswer {
    /// That nobody listens at the port of the probes.
    PortUnreachable,
    /// A router or firewall says that probes may not pass, or that the host or its network cannot be reached.
    Refused,
    /// Not at all.
    Nothing,
}

/// The result of probing a path from one end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PathReport {
    /// The host at its end.
    pub target: PathTarget,
    /// How that host answered.
    pub host_answer: HostAnswer,
    /// Who says that packets do not reach the host, and why; absent where nobody does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refusal: Option<PathRefusal>,
    /// The routing loop in which packets to the host end; absent where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing_loop: Option<RoutingLoop>,
    /// The hops, by TTL from 1 without gaps.
    pub hops: Vec<PathHop>,
    /// The links between those that answer.
    pub links: Vec<PathLink>,
    /// The link of the smallest capacity; absent where it cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrow: Option<NarrowPathLink>,
    /// Why the narrow link cannot be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub narrow_unknown: Option<ExternalText>,
    /// The path MTU; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<PathMtu>,
    /// The number of routes; absent where it was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routes: Option<RouteCount>,
    /// How it treats flows of several source ports, by transport protocol; empty where that was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<PathFlows>,
    /// What becomes of the marks of the IP header, for each kind of probe; empty where that was not asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub marks: Vec<MarkTrace>,
    /// The changes of the route while it was probed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<RouteChange>,
    /// What both ends measured together; absent without a server at the other end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub between_ends: Option<Box<PathBetweenEnds>>,
    /// The duplex mode of its links; absent where it was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<PathDuplex>,
    /// What it took, what both ends measured together left out.
    pub cost: ProbingCost,
    /// What there was to probe with.
    pub means: ProbingMeans,
    /// The confidence of the intervals.
    pub confidence: f64,
    /// The reason why probing ended early.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cut_short: Option<ExternalText>,
}

/// The result of probing a path, with the latency under load that was measured over it.
#[derive(Debug, Clone, PartialEq)]
pub struct PathResult {
    /// The path.
    pub report: PathReport,
    /// The latency under load; `None` where it was not measured.
    pub under_load: Option<Box<QualityReport>>,
}

impl PathTarget {
    /// The address, or the name where that is all there is.
    #[must_use]
    pub fn address_or_name(&self) -> String {
        let address = self.address.map(|address| address.to_string());
        address.unwrap_or_else(|| self.host.to_string())
    }
}

impl PathReport {
    /// The hop of this TTL.
    #[must_use]
    pub fn hop(&self, ttl: u8) -> Option<&PathHop> {
        self.hops.iter().find(|hop| hop.ttl == ttl)
    }

    /// The hop that is the host; `None` where the host does not answer.
    #[must_use]
    pub fn host(&self) -> Option<&PathHop> {
        let last = self.hops.last();
        let target = &self.target;
        last.filter(|hop| match target.address {
            Some(_) => hop.address == target.address,
            None => hop.name.as_ref() == Some(&target.host),
        })
    }

    /// `true` where the link whose far end has this TTL is the narrow link, or may be as narrow.
    #[must_use]
    pub fn may_be_narrow(&self, ttl: u8) -> bool {
        let narrow = self.narrow_hop_link();
        narrow.is_some_and(|narrow| narrow.ttl == ttl || narrow.contested_by.contains(&ttl))
    }

    /// The narrow link by the hops; `None` where none is known, or where both ends found another capacity to the host.
    ///
    /// What both ends found counts: hops are asked with single packets, which a policer or a shaper lets pass, and answers take time.
    #[must_use]
    pub fn narrow_hop_link(&self) -> Option<&NarrowPathLink> {
        let narrow = self.narrow.as_ref()?;
        let ends = self.between_ends.as_deref();
        let upload = ends.and_then(|ends| ends.direction(Direction::Up));
        let Some(upload) = upload.and_then(PathDirection::sustained_bps) else {
            return Some(narrow);
        };
        let hop = &narrow.capacity_bps;
        let overlaps = hop.low <= upload.high && upload.low <= hop.high;
        let is_near = (hop.mean / upload.mean - 1.0).abs() <= MAX_DIFFERENCE;
        (overlaps || is_near).then_some(narrow)
    }

    /// The link whose far end has this TTL.
    #[must_use]
    pub fn link(&self, ttl: u8) -> Option<&PathLink> {
        self.links.iter().find(|link| link.ttl == ttl)
    }
}
