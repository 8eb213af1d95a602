//! Predictions of formulas for a file that has its path to itself.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::plan::FileProtocol;
use caudal_core::units::BitRate;
use caudal_experiment::{FlowKindFile, FlowSpec};
use caudal_predict::file_transfer::{FileTransferParameters, file_transfer_time};
use caudal_predict::loss::LossResponse;

use super::tcp_settings::{congestion, flow_framing};
use crate::testbed::{LabNetwork, Testbed, line_rate, offered_rate, path_of_flow};

/// Adds the time and the goodput of a file, the only flow of its case, over links whose rates are known.
pub(super) fn add_file(
    flow: &FlowSpec,
    testbed: &Testbed,
    network: &LabNetwork,
    rtt_s: Option<f64>,
    all: &mut BTreeMap<String, f64>,
) {
    let Some(time) = parameters(flow, testbed, network, rtt_s)
        .as_ref()
        .and_then(file_transfer_time)
    else {
        return;
    };
    let bits = flow.bytes.map_or(0.0, |bytes| bytes.as_f64() * 8.0);
    all.insert(format!("{}.time", flow.name), time.total_s);
    all.insert(format!("{}.handshake", flow.name), time.handshake_s);
    all.insert(format!("{}.goodput", flow.name), bits / time.total_s);
}

fn parameters(
    flow: &FlowSpec,
    testbed: &Testbed,
    network: &LabNetwork,
    rtt_s: Option<f64>,
) -> Option<FileTransferParameters> {
    let (protocol, bytes) = (flow.via?, flow.bytes?);
    debug_assert_eq!(flow.kind, FlowKindFile::File);
    let links = || {
        path_of_flow(flow, network)
            .into_iter()
            .map(|hop| network.topology.impairments(hop))
    };
    let rate = links().filter_map(line_rate).min()?;
    let arrives: f64 = links().map(|link| 1.0 - link.loss).product();
    let congestion = match protocol {
        // What it takes where nothing is asked for.
        FileProtocol::Rbt | FileProtocol::Quic if flow.congestion.is_none() => {
            Some("cubic".to_owned())
        }
        _ => congestion(flow, network),
    };
    Some(FileTransferParameters {
        protocol,
        bytes,
        rate,
        rtt: Duration::try_from_secs_f64(rtt_s?).ok()?,
        loss: 1.0 - arrives,
        packet: flow.packet.or(flow.length),
        response: congestion.and_then(|name| LossResponse::for_congestion_control(&name)),
        max_rate: offered_rate(flow, testbed)
            .ok()
            .flatten()
            .and_then(BitRate::from_f64),
        framing: flow_framing(flow, testbed),
    })
}
