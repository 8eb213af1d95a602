//! Flows on their testbeds: paths, framing and rates.

use caudal_analysis::framing::Framing;
use caudal_core::units::BitRate;
use caudal_experiment::{FlowKindFile, FlowSpec, RateSpec};
use caudal_topology::{Balancing, Hop, Impairments, RateSetup};

use super::network::LabNetwork;
use super::testbed::Testbed;

/// `true` for a flow of messages that are echoed.
#[must_use]
pub fn is_echo(flow: &FlowSpec) -> bool {
    matches!(flow.kind, FlowKindFile::Rtt | FlowKindFile::RttUdp)
}

/// `true` for a flow of as much payload as it can or may send, which is load to others.
#[must_use]
pub(crate) fn is_throughput(flow: &FlowSpec) -> bool {
    matches!(flow.kind, FlowKindFile::Tcp | FlowKindFile::Udp)
}

/// The highest rate of one direction of a link; `None` without a limit.
#[must_use]
pub(crate) fn line_rate(impairments: &Impairments) -> Option<BitRate> {
    if impairments.paths.is_empty() {
        return impairments.rate.as_ref().map(RateSetup::max);
    }
    let rates: Option<Vec<BitRate>> = impairments.paths.iter().map(line_rate).collect();
    let rates = rates?;
    if impairments.balancing == Balancing::PerFrame {
        Some(rates.into_iter().sum())
    } else {
        rates.into_iter().max()
    }
}

/// The framing of a flow's payload, for the smallest MTU of its path.
#[must_use]
pub(crate) fn framing(flow: &FlowSpec, testbed: &Testbed) -> Framing {
    let usual = Framing::default();
    let Some(network) = testbed.network() else {
        return usual;
    };
    let mtu = path_of_flow(flow, network)
        .iter()
        .map(|hop| network.topology.links[hop.link].mtu)
        .min();
    Framing {
        mtu: mtu.unwrap_or(usual.mtu),
        ..usual
    }
}

/// The links of a flow's path.
#[must_use]
pub(crate) fn path_of_flow(flow: &FlowSpec, network: &LabNetwork) -> Vec<Hop> {
    let (from, to) = (
        network.topology.node(&flow.from),
        network.topology.node(&flow.to),
    );
    from.zip(to)
        .and_then(|(from, to)| network.topology.path(from, to))
        .unwrap_or_default()
}

/// Payload bytes of a datagram of a flow.
#[must_use]
pub(crate) fn datagram_payload(flow: &FlowSpec, testbed: &Testbed) -> u32 {
    flow.length
        .unwrap_or_else(|| framing(flow, testbed).udp_payload_per_frame())
}

/// The payload rate at which each connection of a flow is to send, bit/s; `None` for as fast as possible.
///
/// # Errors
/// When it is a share of the rate of a link, and that is not known.
pub fn offered_rate(flow: &FlowSpec, testbed: &Testbed) -> Result<Option<f64>, String> {
    let (fraction, link) = match &flow.rate {
        RateSpec::Max => return Ok(None),
        RateSpec::Payload(rate) => return Ok(Some(rate.as_f64())),
        RateSpec::Share { fraction, link } => (*fraction, link.as_deref()),
    };
    let unknown = || {
        format!(
            "flow {:?} is to send at a share of the rate of a link, which is not known",
            flow.name
        )
    };
    let line = match testbed {
        Testbed::Loopback => return Err(unknown()),
        Testbed::Hosts {
            link_rate: Some(rate),
            ..
        } => *rate,
        _ => {
            let network = testbed.network().ok_or_else(unknown)?;
            let topology = &network.topology;
            let hops = path_of_flow(flow, network);
            match link {
                Some(name) => {
                    let at = topology.link(name).ok_or_else(unknown)?;
                    // A link that the flow does not cross counts from its first end.
                    let from = hops
                        .iter()
                        .find(|hop| hop.link == at)
                        .map_or(0, |hop| hop.from);
                    line_rate(&topology.links[at].directions[from]).ok_or_else(unknown)?
                }
                None => hops
                    .iter()
                    .filter_map(|hop| line_rate(topology.impairments(*hop)))
                    .min()
                    .ok_or_else(unknown)?,
            }
        }
    };
    let framing = framing(flow, testbed);
    let max_payload = match flow.kind {
        FlowKindFile::Udp => framing.udp_ceiling(line, datagram_payload(flow, testbed)),
        _ => framing.tcp_ceiling(line),
    };
    Ok(Some((max_payload.as_f64() * fraction).round()))
}
