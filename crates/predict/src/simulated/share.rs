//! Flows of several senders through a switch into one receiver.

use super::network::{MAX_SIMULATED_FLOWS, goodput, host, run_simulation, simulated_value, tcp};
use crate::share::{ContentionPoint, SharingParameters};
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_core::units::{BitRate, ByteCount};
use caudal_simulate::result::{FlowDetails, SimulationResult};
use caudal_simulate::scenario::{Pattern, SimFlow, Traffic, UdpSource};
use caudal_topology::{ByteValue, LinkFile, QueueFile, RateValue, SwitchFile, TopologyFile};
use std::ops::Range;

/// The name of the host that all flows lead to.
const RECEIVER: &str = "receiver";
/// The length of every queue, in full frames.
const QUEUE_FRAMES: u64 = 100;
/// Maximum ratio of the offered UDP to the line rate: each lost datagram costs CPU time.
const MAX_OVERLOAD: f64 = 4.0;

/// The goodput and the loss of flows through a switch; empty where that cannot be simulated.
#[must_use]
pub fn simulate_sharing(parameters: &SharingParameters) -> Vec<Prediction> {
    let flows = parameters.tcp as usize + parameters.udp.len();
    let offered: f64 = parameters.udp.iter().map(|rate| rate.as_f64()).sum();
    let is_simulated = parameters.contention_point == ContentionPoint::Receiver
        && parameters.rtts.is_empty()
        && parameters.policer.is_none()
        && parameters.paths.is_none()
        && (1..=MAX_SIMULATED_FLOWS).contains(&flows)
        && offered <= MAX_OVERLOAD * parameters.rate.as_f64();
    if !is_simulated {
        return Vec::new();
    }
    let file = switched_network(parameters, flows);
    let transfers = transfers(parameters);
    let Some(result) = run_simulation(&file, transfers, parameters.rate) else {
        return Vec::new();
    };
    let mut predictions = udp_predictions(&result, parameters.udp.len());
    predictions.extend(tcp_predictions(&result, parameters.udp.len()..flows));
    predictions
}

fn sender(number: usize) -> String {
    format!("s{number}")
}

/// A receiver and so many senders, all linked to one switch.
fn switched_network(parameters: &SharingParameters, senders: usize) -> TopologyFile {
    let link = |host: String, rate: u64| LinkFile {
        between: [host, "switch".to_owned()],
        rate: Some(RateValue(BitRate::from_bps(rate))),
        mtu: Some(parameters.framing.mtu),
        queue: Some(QueueFile {
            bytes: Some(ByteValue(ByteCount::new(
                QUEUE_FRAMES * u64::from(parameters.framing.mtu + 18),
            ))),
            ..QueueFile::default()
        }),
        ..LinkFile::default()
    };
    // The links of the senders must not be the bottleneck.
    let sender_rate = parameters.rate.bps().saturating_mul(4);
    let mut file = TopologyFile {
        host: vec![host(RECEIVER)],
        switch: vec![SwitchFile {
            name: "switch".to_owned(),
            ..SwitchFile::default()
        }],
        link: vec![link(RECEIVER.to_owned(), parameters.rate.bps())],
        ..TopologyFile::default()
    };
    for number in 0..senders {
        file.host.push(host(&sender(number)));
        file.link.push(link(sender(number), sender_rate));
    }
    file
}

/// A flow from each sender to the receiver, those of UDP first.
fn transfers(parameters: &SharingParameters) -> Vec<SimFlow> {
    let framing = parameters.framing;
    let datagrams = |rate: &BitRate| {
        Traffic::Udp(UdpSource {
            framing,
            payload: framing.udp_payload_per_frame(),
            pattern: Pattern::Constant(*rate),
        })
    };
    parameters
        .udp
        .iter()
        .map(datagrams)
        .chain(vec![tcp(framing); parameters.tcp as usize])
        .enumerate()
        .map(|(number, traffic)| SimFlow::between(sender(number), RECEIVER, traffic))
        .collect()
}

fn udp_predictions(result: &SimulationResult, flows: usize) -> Vec<Prediction> {
    if flows == 0 {
        return Vec::new();
    }
    let (mut lost, mut expected) = (0, 0);
    for flow in &result.flows {
        if let FlowDetails::Udp { counts, .. } = &flow.details {
            lost += counts.lost;
            expected += counts.expected;
        }
    }
    let fraction = lost as f64 / expected.max(1) as f64;
    let mut predictions = vec![simulated_value(
        "udp_loss",
        "UDP lost",
        fraction,
        Unit::Share,
    )];
    predictions.extend((0..flows).map(|flow| {
        let number = flow + 1;
        simulated_value(
            &format!("udp_goodput_{number}"),
            &format!("UDP flow {number}"),
            goodput(result, flow),
            Unit::BitPerSecond,
        )
    }));
    predictions
}

fn tcp_predictions(result: &SimulationResult, flows: Range<usize>) -> Vec<Prediction> {
    let count = flows.len();
    if count == 0 {
        return Vec::new();
    }
    let total: f64 = flows.map(|flow| goodput(result, flow)).sum();
    let mut predictions = vec![simulated_value(
        "tcp_goodput",
        "TCP, all flows",
        total,
        Unit::BitPerSecond,
    )];
    if count > 1 {
        predictions.push(simulated_value(
            "tcp_goodput_per_flow",
            "TCP, each flow",
            total / count as f64,
            Unit::BitPerSecond,
        ));
    }
    predictions
}
