//! The time that processes need until they can all begin together.

use std::time::Duration;

use caudal_experiment::{Case, FlowKindFile, FlowSpec};
use caudal_topology::Impairments;

use crate::testbed::{LabNetwork, Testbed, path_of_flow};

/// Time that processes need before they can connect.
const LEAD: Duration = Duration::from_millis(400);
/// Further time per process and per connection.
const LEAD_EACH: Duration = Duration::from_millis(12);
/// Time for measuring a connection's clock and idle round-trip time, where round trips are slow.
const CLOCK_COMPARISON: Duration = Duration::from_millis(220);
/// Round trips until all connections of a flow are open, with a margin.
const ROUND_TRIPS_TO_CONNECT: u32 = 20;
/// The additional lead on a real network, whose round-trip times are not known.
const LEAD_BETWEEN_HOSTS: Duration = Duration::from_secs(2);

/// The time from the start of the processes to the start of the trial.
#[must_use]
pub(crate) fn lead_time(case: &Case, testbed: &Testbed) -> Duration {
    let connections: u32 = case.flows.iter().map(|flow| 1 + flow.count).sum();
    let base = LEAD + LEAD_EACH * connections;
    match testbed {
        Testbed::Lab(network) => {
            let longest = case
                .flows
                .iter()
                .map(|flow| round_trip(flow, network))
                .max();
            let longest = longest.unwrap_or_default();
            // Datagrams on a schedule carry times: their clocks are compared once more.
            let timed = case
                .flows
                .iter()
                .any(|flow| flow.kind == FlowKindFile::RttUdp && flow.every.is_some());
            let comparisons = if timed { 2 } else { 1 };
            let clocks = (longest * 20).min(CLOCK_COMPARISON) * comparisons;
            base + clocks + longest * ROUND_TRIPS_TO_CONNECT
        }
        Testbed::Hosts { .. } => base + LEAD_BETWEEN_HOSTS,
        Testbed::Loopback => base,
    }
}

/// The delay of the links of a flow's path, in both directions together.
fn round_trip(flow: &FlowSpec, network: &LabNetwork) -> Duration {
    let delays = path_of_flow(flow, network).into_iter().map(|hop| {
        let directions = &network.topology.links[hop.link].directions;
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
