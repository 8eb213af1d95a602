//! The settings of flows, as formulas and the simulation need them.

use caudal_analysis::framing::Framing;
use caudal_core::plan::{FileProtocol, Transport};
use caudal_core::units::ByteCount;
use caudal_experiment::{FlowKindFile, FlowSpec};
use caudal_predict::window::advertised_window;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::NodeRole;

use crate::testbed::{LabNetwork, Testbed, framing, is_echo};

/// The congestion control of a flow.
pub(super) fn congestion(flow: &FlowSpec, network: &LabNetwork) -> Option<String> {
    let of_host = || {
        let node = network.topology.node(&flow.from)?;
        match &network.topology.nodes[node].role {
            NodeRole::Host(setup) | NodeRole::Router(setup) => setup.congestion.clone(),
            _ => None,
        }
    };
    flow.congestion
        .clone()
        .or_else(of_host)
        .or_else(|| caudal_sys::host::sysctl("net.ipv4.tcp_congestion_control"))
}

/// The framing of a flow's payload, with the maximum segment size that it asks for.
pub(super) fn flow_framing(flow: &FlowSpec, testbed: &Testbed) -> Framing {
    let framing = framing(flow, testbed);
    match flow.mss {
        // The maximum segment size asked for includes options; IPv4 and TCP add 40 bytes.
        Some(mss) if !is_echo(flow) => Framing {
            mtu: framing.mtu.min(mss + 40),
            ..framing
        },
        _ => framing,
    }
}

/// The receive window that the kernel of this machine grants for a socket buffer.
fn granted_window(requested: ByteCount, framing: &Framing) -> ByteCount {
    let release = caudal_sys::host::kernel_release().unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (6, 6) => {
            advertised_window(requested, framing)
        }
        _ => requested,
    }
}

/// The settings of a flow's TCP; `None` for a congestion control that the simulation lacks.
pub(super) fn tcp_settings(
    flow: &FlowSpec,
    testbed: &Testbed,
    network: &LabNetwork,
) -> Option<TcpSettings> {
    // The congestion control is set below, as that of the host may be one that is not modelled.
    let mut settings =
        TcpSettings::between(&network.topology, &flow.from, &flow.to).unwrap_or_default();
    settings.framing.mtu = flow_framing(flow, testbed).mtu;
    if let Some(window) = flow.window {
        // The kernel doubles the send buffer, nearly all of which holds payload.
        settings.send_window = ByteCount::new(window.get().saturating_mul(2));
        settings.receive_window = granted_window(window, &settings.framing);
    }
    settings.congestion = congestion(flow, network)?
        .parse::<CongestionControl>()
        .ok()?;
    Some(settings)
}

/// The transport protocol of a flow.
pub(super) const fn transport(flow: &FlowSpec) -> Transport {
    match flow.kind {
        FlowKindFile::Udp | FlowKindFile::RttUdp | FlowKindFile::Path => Transport::Udp,
        FlowKindFile::Tcp | FlowKindFile::Rtt => Transport::Tcp,
        FlowKindFile::File => match flow.via {
            Some(FileProtocol::Rbt | FileProtocol::Quic) => Transport::Udp,
            _ => Transport::Tcp,
        },
    }
}
