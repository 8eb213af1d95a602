//! Answers by simulation, for questions that have one by formula as well.

use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::prediction::{Method, Prediction, Tolerance};
use caudal_core::quantity::Unit;
use caudal_core::units::{BitRate, ByteCount};
use caudal_predict::half_duplex::HalfDuplexParameters;
use caudal_predict::share::{ContentionPoint, SharingParameters};
use caudal_simulate::result::{FlowDetails, SimulationResult};
use caudal_simulate::scenario::{Pattern, Scenario, SimFlow, Traffic, UdpSource};
use caudal_simulate::simulate;
use caudal_simulate::tcp::TcpSettings;
use caudal_topology::{
    ByteValue, DuplexFile, HostFile, LinkFile, QueueFile, RateValue, SwitchFile, TimeValue,
    Topology, TopologyFile,
};

/// The most flows that are simulated beside a formula.
const MAX_FLOWS: usize = 16;
/// What a simulation beside a formula carries at most, in bits: well below a second of work.
const MOST_BITS: f64 = 4e8;
const LONGEST: f64 = 20.0;

/// A value of the simulation.
pub(super) fn value(name: &str, title: &str, value: f64, unit: Unit) -> Prediction {
    let mut it = Prediction::new(name, title, value, unit)
        .assumes("the hosts are as docs/simulation.md says: they cost no time, and have no queue of their own")
        .source("caudal-simulate: segments and frames in virtual time")
        .within(Tolerance::symmetric(0.05))
        .step(format!("simulated: {}", unit.show(value)));
    it.method = Method::Simulation;
    it
}

/// How long flows over a line are worth simulating.
fn length(line: BitRate) -> Duration {
    Duration::from_secs_f64((MOST_BITS / line.as_f64().max(1.0)).min(LONGEST))
}

fn host(name: &str) -> HostFile {
    HostFile {
        name: name.to_owned(),
        ..HostFile::default()
    }
}

fn tcp(framing: Framing) -> Traffic {
    Traffic::tcp(TcpSettings {
        framing,
        ..TcpSettings::default()
    })
}

fn outcome(file: &TopologyFile, flows: Vec<SimFlow>, line: BitRate) -> Option<SimulationResult> {
    let topology = Topology::resolve(file).ok()?;
    let outcome = simulate(&topology, &Scenario::new(flows, length(line))).ok()?;
    (!outcome.cut_short).then_some(outcome)
}

fn goodput(outcome: &SimulationResult, flow: usize) -> f64 {
    let goodput = outcome.flows.get(flow).and_then(|flow| flow.goodput);
    goodput.map_or(0.0, BitRate::as_f64)
}

/// TCP flows over one half-duplex link, where there is such an Ethernet; empty elsewhere.
pub(super) fn half_duplex(question: &HalfDuplexParameters) -> Vec<Prediction> {
    let flows = question.flows as usize;
    // The simulated receiver acknowledges as Linux does.
    if flows == 0 || flows > MAX_FLOWS || question.segments_per_ack != 2 {
        return Vec::new();
    }
    let file = TopologyFile {
        host: vec![host("a"), host("b")],
        link: vec![LinkFile {
            between: ["a".to_owned(), "b".to_owned()],
            rate: Some(RateValue(question.rate)),
            delay: Some(TimeValue(question.propagation)),
            duplex: Some(DuplexFile::Half),
            mtu: Some(question.framing.mtu),
            ..LinkFile::default()
        }],
        ..TopologyFile::default()
    };
    let all = vec![SimFlow::between("a", "b", tcp(question.framing)); flows];
    let Some(outcome) = outcome(&file, all, question.rate) else {
        return Vec::new();
    };
    let total: f64 = (0..flows).map(|flow| goodput(&outcome, flow)).sum();
    let collisions: u64 = outcome.links[0]
        .directions
        .iter()
        .filter_map(|direction| direction.collisions)
        .map(|station| station.all)
        .max()
        .unwrap_or(0);
    let mut answers = vec![
        value(
            "tcp_goodput",
            "TCP goodput, all flows",
            total,
            Unit::BitPerSecond,
        ),
        value(
            "collisions",
            "collisions of TCP",
            collisions as f64,
            Unit::Collisions,
        ),
    ];
    if flows > 1 {
        answers.push(value(
            "tcp_goodput_per_flow",
            "TCP goodput, each flow",
            total / flows as f64,
            Unit::BitPerSecond,
        ));
    }
    answers
}

/// Flows of several senders through a switch into one receiver; empty for what is not simulated.
pub(super) fn share(question: &SharingParameters) -> Vec<Prediction> {
    let (tcps, udps) = (question.tcp as usize, question.udp.len());
    let total = tcps + udps;
    let plain = question.contention_point == ContentionPoint::Receiver
        && question.rtts.is_empty()
        && question.policer.is_none()
        && question.paths.is_none();
    let offered: f64 = question.udp.iter().map(|rate| rate.as_f64()).sum();
    if !plain || total == 0 || total > MAX_FLOWS || offered > 4.0 * question.rate.as_f64() {
        return Vec::new();
    }
    let framing = question.framing;
    let name = |number: usize| format!("s{number}");
    let link = |name: String, rate: u64| LinkFile {
        between: [name, "switch".to_owned()],
        rate: Some(RateValue(BitRate::from_bps(rate))),
        mtu: Some(framing.mtu),
        // A queue of 100 full frames.
        queue: Some(QueueFile {
            bytes: Some(ByteValue(ByteCount::new(100 * u64::from(framing.mtu + 18)))),
            ..QueueFile::default()
        }),
        ..LinkFile::default()
    };
    // The senders' own links are no bottleneck.
    let fast = question.rate.bps().saturating_mul(4);
    let mut file = TopologyFile {
        host: vec![host("receiver")],
        switch: vec![SwitchFile {
            name: "switch".to_owned(),
            ..SwitchFile::default()
        }],
        link: vec![link("receiver".to_owned(), question.rate.bps())],
        ..TopologyFile::default()
    };
    for number in 0..total {
        file.host.push(host(&name(number)));
        file.link.push(link(name(number), fast));
    }
    let datagrams = |rate: &BitRate| {
        Traffic::Udp(UdpSource {
            framing,
            payload: framing.udp_payload_per_frame(),
            pattern: Pattern::Constant(*rate),
        })
    };
    let traffic = question
        .udp
        .iter()
        .map(datagrams)
        .chain(vec![tcp(framing); tcps]);
    let flows = traffic
        .enumerate()
        .map(|(number, traffic)| SimFlow::between(name(number), "receiver", traffic))
        .collect();
    let Some(outcome) = outcome(&file, flows, question.rate) else {
        return Vec::new();
    };
    let mut answers = Vec::new();
    if udps > 0 {
        let (mut lost, mut expected) = (0, 0);
        for flow in &outcome.flows {
            if let FlowDetails::Udp { counts, .. } = &flow.details {
                lost += counts.lost;
                expected += counts.expected;
            }
        }
        let part = lost as f64 / expected.max(1) as f64;
        answers.push(value("udp_loss", "UDP lost", part, Unit::Share));
        answers.extend((0..udps).map(|flow| {
            let number = flow + 1;
            value(
                &format!("udp_goodput_{number}"),
                &format!("UDP flow {number}"),
                goodput(&outcome, flow),
                Unit::BitPerSecond,
            )
        }));
    }
    if tcps > 0 {
        let all: f64 = (udps..total).map(|flow| goodput(&outcome, flow)).sum();
        answers.push(value(
            "tcp_goodput",
            "TCP, all flows",
            all,
            Unit::BitPerSecond,
        ));
        if tcps > 1 {
            let each = all / tcps as f64;
            let title = "TCP, each flow";
            answers.push(value(
                "tcp_goodput_per_flow",
                title,
                each,
                Unit::BitPerSecond,
            ));
        }
    }
    answers
}
