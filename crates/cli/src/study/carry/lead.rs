//! What processes need until they can all begin together.

use std::time::Duration;

use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_topology::Impairments;

use super::super::place::{self, Net, Place};

/// What processes need until they can connect.
const LEAD: Duration = Duration::from_millis(400);
/// What each process and each connection adds to that.
const LEAD_EACH: Duration = Duration::from_millis(12);
/// For how long a connection's clock and idle round trip are looked at, where round trips are not quick.
const CLOCKS: Duration = Duration::from_millis(220);
/// Round trips until all connections of a flow are open, with some to spare.
const ROUND_TRIPS: u32 = 20;
/// The same on a real network, whose round trips nobody knows.
const LEAD_FAR: Duration = Duration::from_secs(2);

/// The lead before the trial's start.
#[must_use]
pub fn lead(case: &Case, place: &Place) -> Duration {
    let connections: u32 = case.flows.iter().map(|flow| 1 + flow.count).sum();
    let own = LEAD + LEAD_EACH * connections;
    match place {
        Place::Lab(net) => {
            let longest = case.flows.iter().map(|flow| round_trip(flow, net)).max();
            let longest = longest.unwrap_or_default();
            // Datagrams on a schedule carry times: their clock is looked at once more.
            let timed = case
                .flows
                .iter()
                .any(|flow| flow.kind == FlowKindFile::RttUdp && flow.every.is_some());
            let looks = if timed { 2 } else { 1 };
            let clocks = (longest * 20).min(CLOCKS) * looks;
            own + clocks + longest * ROUND_TRIPS
        }
        Place::Hosts { .. } => own + LEAD_FAR,
        Place::Loopback => own,
    }
}

/// The delay of the links on the way of a flow, there and back.
fn round_trip(flow: &FlowSpec, net: &Net) -> Duration {
    let delays = place::way(flow, net).into_iter().map(|hop| {
        let directions = &net.topology.links[hop.link].directions;
        let delay = |impairments: &Impairments| {
            impairments.delay
                + impairments
                    .paths
                    .iter()
                    .map(|path| path.delay)
                    .max()
                    .unwrap_or_default()
        };
        delay(&directions[0]) + delay(&directions[1])
    });
    delays.sum()
}
