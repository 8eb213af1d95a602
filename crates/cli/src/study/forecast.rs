//! What theory and simulation expect of a case, worked out before anything is sent.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::framing::Framing;
use caudal_core::plan::Transport;
use caudal_core::prediction::Prediction;
use caudal_core::units::{BitRate, ByteCount};
use caudal_experiment::{Case, FlowKindFile, FlowSpec, RateSpec};
use caudal_predict::loss::LossResponse;
use caudal_predict::topology::{FlowKind, FlowParameters, predict_flows};
use caudal_predict::window::advertised_window;
use caudal_simulate::result::{FlowDetails, FlowResult, LinkResult};
use caudal_simulate::scenario::{
    EchoClient, EchoTransport, Pattern, Scenario, SimFlow, Traffic, UdpSource,
};
use caudal_simulate::simulate;
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_stats::contention::jain;

use super::carry::Times;
use super::place::{self, Net, Place};
use caudal_experiment::CasePredictions;

/// Frames and timers of one simulated case at most: about two seconds of work.
const EVENTS_PER_CASE: u64 = 6_000_000;
/// Of all cases of a quick study together.
const EVENTS_QUICK: u64 = 30_000_000;
/// Of all cases of a full one.
const EVENTS_FULL: u64 = 300_000_000;
/// The share of a rate that its rounding to whole bits per second is, at most: rates of 1 Mbit/s and more.
const WHOLE_BITS: f64 = 1e-6;
/// What the hosts add to a message and its echo: system calls, wake-ups, the emulator's own delay.
const HOSTS: Duration = Duration::from_micros(300);
/// Connections of a case at most that are simulated.
const MOST_CONNECTIONS: u32 = 64;

/// The expectations of all cases, by key, and what could not be simulated.
#[must_use]
pub fn of(
    cases: &[Case],
    places: &[Place],
    quick: bool,
) -> (BTreeMap<String, CasePredictions>, Vec<String>) {
    let mut all = BTreeMap::new();
    let mut left = if quick { EVENTS_QUICK } else { EVENTS_FULL };
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    for (case, place) in cases.iter().zip(places) {
        // Of a real network no more is known than that it may be like this one.
        let Some(net) = place.net() else { continue };
        let predicted = formulas(case, place, net);
        let simulated = match simulation(case, place, net, left.min(EVENTS_PER_CASE)) {
            Ok((values, events)) => {
                left = left.saturating_sub(events);
                values
            }
            Err((why, events)) => {
                left = left.saturating_sub(events);
                *reasons.entry(why).or_insert(0) += 1;
                BTreeMap::new()
            }
        };
        let expected = CasePredictions {
            predicted,
            simulated,
        };
        all.insert(case.key.clone(), expected);
    }
    let told = reasons.into_iter().map(|(why, count)| {
        let cases = if count == 1 { "case was" } else { "cases were" };
        format!("{count} {cases} not simulated: {why}")
    });
    (all, told.collect())
}

/// What formulas expect of all cases, by key.
#[must_use]
pub fn formulas_of(cases: &[Case], places: &[Place]) -> BTreeMap<String, CasePredictions> {
    let known = cases.iter().zip(places);
    known
        .filter_map(|(case, place)| {
            let predicted = formulas(case, place, place.net()?);
            let expected = CasePredictions {
                predicted,
                simulated: BTreeMap::new(),
            };
            Some((case.key.clone(), expected))
        })
        .collect()
}

/// The congestion control that a flow will have.
#[must_use]
pub fn congestion(flow: &FlowSpec, net: &Net) -> Option<String> {
    use caudal_topology::NodeRole;
    let of_host = || {
        let node = net.topology.node(&flow.from)?;
        match &net.topology.nodes[node].role {
            NodeRole::Host(setup) | NodeRole::Router(setup) => setup.congestion.clone(),
            _ => None,
        }
    };
    flow.congestion
        .clone()
        .or_else(of_host)
        .or_else(|| caudal_sys::host::sysctl("net.ipv4.tcp_congestion_control"))
}

fn of_flow(flow: &FlowSpec, place: &Place) -> Framing {
    let framing = place::framing(flow, place);
    match flow.mss {
        // What is asked for counts no options; IPv4 and TCP add 40 bytes.
        Some(mss) if !place::is_echo(flow) => Framing {
            mtu: framing.mtu.min(mss + 40),
            ..framing
        },
        _ => framing,
    }
}

/// The receive window that this machine's kernel gives for what is asked.
fn granted(asked: ByteCount, framing: &Framing) -> ByteCount {
    let release = caudal_sys::host::kernel_release().unwrap_or_default();
    let mut numbers = release
        .split(['.', '-'])
        .map(|part| part.parse::<u32>().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) if (major, minor) >= (6, 6) => advertised_window(asked, framing),
        _ => asked,
    }
}

fn settings(flow: &FlowSpec, place: &Place, net: &Net) -> Option<TcpSettings> {
    // The congestion control of the host is looked at apart, for one that is not modelled.
    let mut settings =
        TcpSettings::between(&net.topology, &flow.from, &flow.to).unwrap_or_default();
    settings.framing.mtu = of_flow(flow, place).mtu;
    if let Some(window) = flow.window {
        // The send buffer is doubled as well, and little of it is not payload.
        settings.send_window = ByteCount::new(window.get().saturating_mul(2));
        settings.receive_window = granted(window, &settings.framing);
    }
    settings.congestion = congestion(flow, net)?.parse::<CongestionControl>().ok()?;
    Some(settings)
}

/// Sizes of the messages of an echo flow.
fn sizes(flow: &FlowSpec) -> Vec<u32> {
    let told = flow
        .sizes
        .as_deref()
        .and_then(|sizes| crate::rtt::sizes(sizes).ok());
    told.map_or_else(
        || vec![flow.length.unwrap_or(64)],
        |sizes| sizes.list().to_vec(),
    )
}

const fn transport(flow: &FlowSpec) -> Transport {
    match flow.kind {
        FlowKindFile::Udp | FlowKindFile::RttUdp => Transport::Udp,
        FlowKindFile::Tcp | FlowKindFile::Rtt => Transport::Tcp,
    }
}

/// Whether a flow sends in all of the time measured, as formulas take for granted.
fn is_there_throughout(case: &Case, flow: &FlowSpec) -> bool {
    let times = Times::of(case, flow);
    let whole = case.warm_up + case.measure;
    times.start <= case.warm_up && times.end().is_none_or(|end| end >= whole)
}

fn formulas(case: &Case, place: &Place, net: &Net) -> BTreeMap<String, f64> {
    let mut all = BTreeMap::new();
    let loads: Vec<&FlowSpec> = case
        .flows
        .iter()
        .filter(|flow| !place::is_echo(flow))
        .collect();
    let echoes: Vec<&FlowSpec> = case
        .flows
        .iter()
        .filter(|flow| place::is_echo(flow))
        .collect();
    let limited = |flow: &FlowSpec| flow.kind == FlowKindFile::Tcp && flow.rate != RateSpec::Max;
    let unlimited = |flow: &FlowSpec| flow.kind == FlowKindFile::Udp && flow.rate == RateSpec::Max;
    // What a limited TCP leaves to others, and what a sender without a limit offers, no formula here says.
    let apply = loads
        .iter()
        .all(|flow| is_there_throughout(case, flow) && !unlimited(flow))
        && (loads.len() < 2 || !loads.iter().any(|flow| limited(flow)));
    if apply && !loads.is_empty() {
        loads_by_formula(&loads, place, net, &mut all);
        total_loss(case, place, &mut all);
    }
    // With empty queues only.
    if loads.is_empty() {
        for flow in echoes.into_iter().filter(|flow| flow.count == 1) {
            let times = round_trips(flow, place, net);
            if let Some(times) = times.filter(|times| !times.is_empty()) {
                let mean = times.iter().sum::<f64>() / times.len() as f64;
                all.insert(format!("{}.rtt", flow.name), mean);
            }
        }
    }
    all
}

/// The round trip of a message of each size of an echo flow over empty links, in seconds.
fn round_trips(flow: &FlowSpec, place: &Place, net: &Net) -> Option<Vec<f64>> {
    let of = |message| {
        let kind = FlowKind::Echo {
            transport: transport(flow),
            message,
        };
        let question = question(flow, place, net, kind)?;
        value(
            &predict_flows(&net.topology, &[question])
                .first()?
                .predictions,
            "rtt",
        )
    };
    sizes(flow).into_iter().map(of).collect()
}

/// How long one message of each size of an echo flow takes, roughly: what the links need when its clients meet on them, and
/// the time of the hosts.
#[must_use]
pub fn round(flow: &FlowSpec, place: &Place) -> Option<Duration> {
    // Clients share the way there and the way back, and one message is on one of them at a time.
    let crowd = (f64::from(flow.count) / 2.0).max(1.0);
    let times = round_trips(flow, place, place.net()?)?;
    let on_links: f64 = times.iter().map(|time| time * crowd).sum();
    let in_hosts = HOSTS * u32::try_from(times.len()).ok()?;
    Some(in_hosts + Duration::try_from_secs_f64(on_links).ok()?)
}

fn question(flow: &FlowSpec, place: &Place, net: &Net, kind: FlowKind) -> Option<FlowParameters> {
    Some(FlowParameters {
        from: net.topology.node(&flow.from)?,
        to: net.topology.node(&flow.to)?,
        framing: of_flow(flow, place),
        kind,
    })
}

fn value(predictions: &[Prediction], name: &str) -> Option<f64> {
    predictions
        .iter()
        .find(|one| one.name == name)
        .map(|one| one.value)
}

fn loads_by_formula(
    loads: &[&FlowSpec],
    place: &Place,
    net: &Net,
    all: &mut BTreeMap<String, f64>,
) {
    let mut questions = Vec::new();
    let mut whose = Vec::new();
    for (nth, flow) in loads.iter().enumerate() {
        let offered = place::offered(flow, place).ok().flatten();
        let kind = match flow.kind {
            FlowKindFile::Udp => FlowKind::Udp {
                rate: BitRate::from_f64(offered.unwrap_or(0.0)).unwrap_or(BitRate::ZERO),
                payload: place::datagram(flow, place),
            },
            _ => {
                let usual = settings(flow, place, net).unwrap_or_default();
                FlowKind::Tcp {
                    loss_response: congestion(flow, net)
                        .and_then(|name| LossResponse::for_congestion_control(&name)),
                    window: usual.send_window.min(usual.receive_window),
                }
            }
        };
        let Some(question) = question(flow, place, net, kind) else {
            return;
        };
        for _ in 0..flow.count {
            questions.push(question);
            whose.push(nth);
        }
    }
    let forecasts = predict_flows(&net.topology, &questions);
    let mut goodputs = Vec::new();
    for (nth, flow) in loads.iter().enumerate() {
        let offered = place::offered(flow, place).ok().flatten();
        let mut sum = Some(0.0);
        let mut rtt = None;
        for (_, forecast) in whose
            .iter()
            .zip(&forecasts)
            .filter(|(whose, _)| **whose == nth)
        {
            let one = value(&forecast.predictions, "goodput")
                .map(|goodput| offered.map_or(goodput, |offered| goodput.min(offered)));
            sum = sum.zip(one).map(|(sum, one)| sum + one);
            if let Some(one) = one {
                goodputs.push((flow.probe, one));
            }
            rtt = value(&forecast.predictions, "rtt");
        }
        let Some(sum) = sum else { continue };
        all.insert(format!("{}.goodput", flow.name), sum);
        match (flow.kind, offered) {
            (FlowKindFile::Udp, Some(offered)) if offered > 0.0 => {
                let lost = 1.0 - sum / (offered * f64::from(flow.count));
                // Rates are whole bits per second, which is no loss.
                let lost = if lost < WHOLE_BITS { 0.0 } else { lost };
                all.insert(format!("{}.loss", flow.name), lost);
            }
            (FlowKindFile::Tcp, _) => {
                all.extend(rtt.map(|rtt| (format!("{}.rtt_min", flow.name), rtt)));
            }
            _ => {}
        }
    }
    totals(&goodputs, all);
}

/// What all load flows come to, from the goodput of each connection and whether it only looks on.
fn totals(goodputs: &[(bool, f64)], all: &mut BTreeMap<String, f64>) {
    let loads: Vec<f64> = goodputs
        .iter()
        .filter(|(probe, _)| !probe)
        .map(|(_, one)| *one)
        .collect();
    if loads.is_empty() {
        return;
    }
    let sum: f64 = loads.iter().sum();
    all.insert("total.goodput".to_owned(), sum);
    all.insert("total.goodput_each".to_owned(), sum / loads.len() as f64);
    if let Some(index) = jain(&loads).filter(|_| loads.len() > 1) {
        all.insert("total.jain".to_owned(), index);
    }
}

/// The loss of all load flows over UDP together, from that of each.
fn total_loss(case: &Case, place: &Place, all: &mut BTreeMap<String, f64>) {
    let (mut lost, mut sent) = (0.0, 0.0);
    for flow in case
        .flows
        .iter()
        .filter(|flow| flow.kind == FlowKindFile::Udp && !flow.probe)
    {
        let loss = all.get(&format!("{}.loss", flow.name));
        let offered = place::offered(flow, place).ok().flatten();
        let Some((loss, offered)) = loss.zip(offered) else {
            return;
        };
        let offered = offered * f64::from(flow.count);
        lost += loss * offered;
        sent += offered;
    }
    if sent > 0.0 {
        all.insert("total.loss".to_owned(), lost / sent);
    }
}

/// What a simulation gives, or why there is none; with the events it took.
fn simulation(
    case: &Case,
    place: &Place,
    net: &Net,
    most: u64,
) -> Result<(BTreeMap<String, f64>, u64), (String, u64)> {
    let not = |why: &str| Err((why.to_owned(), 0));
    let connections: u32 = case.flows.iter().map(|flow| flow.count).sum();
    if connections > MOST_CONNECTIONS {
        return Err((format!("more than {MOST_CONNECTIONS} connections"), 0));
    }
    if most == 0 {
        return not("the study's share of simulated frames was used up");
    }
    let mut flows = Vec::new();
    let mut whose = Vec::new();
    let whole = case.warm_up + case.measure;
    for (nth, flow) in case.flows.iter().enumerate() {
        let times = Times::of(case, flow);
        let is_tcp = transport(flow) == Transport::Tcp;
        let tcp = settings(flow, place, net);
        if is_tcp && tcp.is_none() {
            let name = congestion(flow, net).unwrap_or_default();
            return Err((
                format!("its TCP is {name}, which the simulation does not have"),
                0,
            ));
        }
        let tcp = tcp.unwrap_or_default();
        let traffic = match flow.kind {
            FlowKindFile::Tcp if flow.rate != RateSpec::Max => {
                return not("the simulation has no TCP that is held to a rate");
            }
            FlowKindFile::Tcp => Traffic::Tcp {
                settings: tcp,
                bytes: flow
                    .bytes
                    .map(|bytes| ByteCount::new(bytes.get() / u64::from(flow.count.max(1)))),
            },
            FlowKindFile::Udp => {
                let Some(rate) = place::offered(flow, place).ok().flatten() else {
                    return not("UDP without a rate is as fast as the machine");
                };
                Traffic::Udp(UdpSource {
                    framing: of_flow(flow, place),
                    payload: place::datagram(flow, place),
                    pattern: Pattern::Constant(BitRate::from_f64(rate).unwrap_or(BitRate::ZERO)),
                })
            }
            FlowKindFile::Rtt | FlowKindFile::RttUdp => {
                let sizes = sizes(flow);
                let [message] = sizes[..] else {
                    return not("echo of several sizes takes turns, which the simulation does not");
                };
                Traffic::Echo(EchoClient {
                    transport: if is_tcp {
                        EchoTransport::Tcp(tcp)
                    } else {
                        EchoTransport::Udp(of_flow(flow, place))
                    },
                    message,
                    exchanges: times.time.is_none().then(|| flow.messages.unwrap_or(1000)),
                    pause: flow.every.unwrap_or(Duration::ZERO),
                })
            }
        };
        for _ in 0..flow.count {
            let mut one =
                SimFlow::between(&flow.from, &flow.to, traffic.clone()).starting(times.start);
            if let Some(end) = times.end().or_else(|| sent_by(flow, place, times.start)) {
                one = one.stopping(end);
            }
            flows.push(one);
            whose.push(nth);
        }
    }
    let ends = case.flows.iter().map(|flow| Times::of(case, flow).end());
    let longest = ends
        .flatten()
        .max()
        .unwrap_or(whole)
        .max(whole)
        .max(carried_by(case, place, net));
    let scenario = Scenario {
        interval: case.interval,
        event_limit: most,
        ..Scenario::new(flows, longest)
    };
    let outcome = simulate(&net.topology, &scenario).map_err(|error| (error.to_string(), 0))?;
    if outcome.cut_short {
        return Err(("it has too many frames".to_owned(), outcome.events));
    }
    let mut all = BTreeMap::new();
    let mut goodputs = Vec::new();
    for (nth, flow) in case.flows.iter().enumerate() {
        let of: Vec<&FlowResult> = whose
            .iter()
            .zip(&outcome.flows)
            .filter(|(whose, _)| **whose == nth)
            .map(|(_, outcome)| outcome)
            .collect();
        let times = Times::of(case, flow);
        flow_simulated(flow, &times, &of, &mut all, &mut goodputs);
    }
    totals(&goodputs, &mut all);
    total_loss(case, place, &mut all);
    let (mut collided, mut sent) = (0, 0);
    for link in &outcome.links {
        if let Some((of_link, frames)) = link_simulated(link, &mut all) {
            collided += of_link;
            sent += frames;
        }
    }
    let share = if sent > 0 {
        collided as f64 / sent as f64
    } else {
        0.0
    };
    all.insert("total.collisions".to_owned(), share);
    Ok((all, outcome.events))
}

/// When UDP that ends by bytes has sent them.
fn sent_by(flow: &FlowSpec, place: &Place, start: Duration) -> Option<Duration> {
    let rate = place::offered(flow, place)
        .ok()
        .flatten()
        .filter(|rate| *rate > 0.0)?;
    let bytes = flow
        .bytes
        .filter(|_| flow.kind == FlowKindFile::Udp)?
        .as_f64()
        / f64::from(flow.count.max(1));
    Duration::try_from_secs_f64(bytes * 8.0 / rate)
        .ok()
        .map(|takes| start + takes)
}

/// The time in which flows that end by bytes have been carried, one after another and at half the rate of the slowest link.
fn carried_by(case: &Case, place: &Place, net: &Net) -> Duration {
    let seconds = case.flows.iter().filter_map(|flow| {
        let bits = flow.bytes?.as_f64() * 8.0;
        let lines = place::way(flow, net)
            .into_iter()
            .filter_map(|hop| place::line_rate(net.topology.impairments(hop)));
        let line = lines.map(BitRate::as_f64).reduce(f64::min)?;
        let offered = place::offered(flow, place).ok().flatten().unwrap_or(line);
        Some(2.0 * bits / line.min(offered))
    });
    Duration::try_from_secs_f64(seconds.sum()).unwrap_or_default()
}

fn flow_simulated(
    flow: &FlowSpec,
    times: &Times,
    of: &[&FlowResult],
    all: &mut BTreeMap<String, f64>,
    goodputs: &mut Vec<(bool, f64)>,
) {
    let mut put = |metric: &str, value: Option<f64>| {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            all.insert(format!("{}.{metric}", flow.name), value);
        }
    };
    if !place::is_echo(flow) {
        let each: Vec<f64> = of.iter().map(|one| measured(one, times)).collect();
        goodputs.extend(each.iter().map(|one| (flow.probe, *one)));
        put("goodput", Some(each.iter().sum()));
    }
    let (mut lost, mut expected, mut reordered, mut received) = (0, 0, 0, 0);
    let (mut retransmits, mut segments, mut timeouts) = (0, 0, 0);
    let mut rtts = Vec::new();
    let mut least = None;
    for one in of {
        match &one.details {
            FlowDetails::Tcp { counts, rtt, .. } => {
                retransmits += counts.retransmits;
                segments += counts.segments;
                timeouts += counts.timeouts;
                rtts.extend(rtt.mean().map(|time| time.as_secs_f64()));
                least = rtt.min().into_iter().chain(least).min();
            }
            FlowDetails::Udp { counts, .. } => {
                lost += counts.lost;
                expected += counts.expected;
                reordered += counts.reordered;
                received += counts.received;
            }
            FlowDetails::Echo {
                exchanges,
                lost: gone,
                rtt,
            } => {
                lost += gone;
                expected += exchanges + gone;
                rtts.extend(rtt.mean().map(|time| time.as_secs_f64()));
            }
        }
    }
    let part = |part: u64, of: u64| (of > 0).then(|| part as f64 / of as f64);
    let mean = (!rtts.is_empty()).then(|| rtts.iter().sum::<f64>() / rtts.len() as f64);
    match flow.kind {
        FlowKindFile::Tcp => {
            put("retransmits", Some(retransmits as f64));
            put("retransmitted", part(retransmits, segments));
            put("timeouts", Some(timeouts as f64));
            put("rtt", mean);
            put("rtt_min", least.map(|time| time.as_secs_f64()));
        }
        FlowKindFile::Udp => {
            put("loss", part(lost, expected));
            put("reordered", part(reordered, received));
        }
        FlowKindFile::Rtt | FlowKindFile::RttUdp => {
            put("rtt", mean);
            put("lost", part(lost, expected));
        }
    }
}

/// Payload bits per second in the measured part; of a flow that ends by bytes in all of it.
fn measured(flow: &FlowResult, times: &Times) -> f64 {
    let Some(end) = times.end() else {
        return flow.goodput.unwrap_or(BitRate::ZERO).as_f64();
    };
    let begin = (times.start + times.omit).as_secs_f64();
    let end = end.as_secs_f64();
    let mut bytes = 0.0;
    for interval in &flow.intervals {
        let (from, to) = (
            interval.start.as_ns() as f64 / 1e9,
            interval.end.as_ns() as f64 / 1e9,
        );
        let inside = to.min(end) - from.max(begin);
        if inside > 0.0 && to > from {
            bytes += interval.bytes.as_f64() * inside / (to - from);
        }
    }
    bytes * 8.0 / (end - begin).max(f64::MIN_POSITIVE)
}

/// Frames that collided and frames that were sent, on a link with collisions.
fn link_simulated(link: &LinkResult, all: &mut BTreeMap<String, f64>) -> Option<(u64, u64)> {
    let (mut offered, mut dropped, mut sent, mut collided) = (0, 0, 0, None);
    for direction in &link.directions {
        offered += direction.counters.offered.frames;
        dropped += direction.counters.dropped.total().frames;
        sent += direction.counters.delivered.frames;
        if let Some(collisions) = direction.collisions {
            *collided.get_or_insert(0) +=
                collisions.single + collisions.multiple + collisions.excessive;
        }
    }
    let mut put = |metric: &str, part: u64, of: u64| {
        if of > 0 {
            all.insert(
                format!("links.{}.{metric}", link.name),
                part as f64 / of as f64,
            );
        }
    };
    put("drops", dropped, offered);
    if let Some(collided) = collided {
        put("collisions", collided, sent);
    }
    collided.map(|collided| (collided, sent))
}
