//! A topology's links, switches and hubs, put together.

use std::collections::BTreeMap;
use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_topology::{
    BucketSetup, Course, Discipline, Distribution, Duplex, MeasureFile, QueueLimit, QueueSetup,
    RateSetup, Role, SwitchSetup, Topology,
};
use serde::Serialize;

use crate::balancer::{Balancer, Balancing};
use crate::bucket::{Measure, TokenBucket};
use crate::cell::{Cell, Setting};
use crate::chain::Chain;
use crate::codel::Codel;
use crate::corruption::{Corruption, Damage, Errors};
use crate::counters::{Collisions, Counters, DropReason, QueueReport, Report, Traffic};
use crate::delay::Delay;
use crate::dice::{Dice, Probability};
use crate::duplication::Duplication;
use crate::error::LinkError;
use crate::frame::{CHECK_SEQUENCE_BYTES, Frame};
use crate::hub;
use crate::jitter::{self, Jitter, Order};
use crate::link::Link;
use crate::loss::{GilbertElliott, Loss, LossModel};
use crate::medium::{self, LateCollision, Medium, MediumSetup, StationSetup};
use crate::moment::Moment;
use crate::network::{Arrival, Network, Place};
use crate::policer::Policer;
use crate::queue::{self, Limit, Queue};
use crate::rate::{After, RateTrace};
use crate::red::{Red, RedParameters};
use crate::reordering::Reordering;
use crate::serialiser::Serialiser;
use crate::shaper::Shaper;
use crate::switch::{PauseMarks, Switch, SwitchBehaviour, SwitchPort};

/// An end of a link: the link's number in the topology, and 0 for its first end or 1 for its second.
pub type LinkEnd = (usize, usize);

/// The links of a topology that are not left to somebody else, told the time together.
///
/// Frames enter and leave at the ends of links that are at hosts and routers.
#[derive(Debug)]
pub struct Assembly {
    network: Network,
    places: BTreeMap<LinkEnd, Place>,
    /// The same by link, and the ends by node and port, for every frame.
    at: Vec<[Option<Place>; 2]>,
    ends: Vec<Vec<Option<LinkEnd>>>,
    wires: BTreeMap<usize, Wire>,
    scratch: Vec<Arrival>,
}

/// A frame that reached a host or router.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reached {
    /// When its last bit arrived.
    pub at: Moment,
    /// Where.
    pub end: LinkEnd,
    /// The frame.
    pub frame: Frame,
}

/// Where the parts of one link are in the network.
#[derive(Debug, Clone, Copy)]
struct Wire {
    /// The node that holds both directions' cells.
    node: Option<usize>,
    /// For each end, the switch's port that sends from there: node, port, and its place among the lines of the switch.
    lines: [Option<(usize, usize, usize)>; 2],
    /// For each end, its station of the link's own medium.
    stations: [Option<(usize, usize)>; 2],
    /// For each end that is at a hub, the station of the hub's medium that the link is plugged into.
    hubs: [Option<(usize, usize)>; 2],
}

/// What one direction of a link counted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CourseReport {
    /// Frames in, out and dropped, by reason.
    #[serde(flatten)]
    pub counters: Counters,
    /// Frames still inside.
    pub held: Traffic,
    /// The queue in front of the line; missing without a rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueReport>,
    /// Present when the sending end is half duplex.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collisions: Option<Collisions>,
    /// The cells it is made of, each with its own counters.
    pub parts: Vec<Report>,
}

impl Assembly {
    /// Puts together the links for which `is_ours` holds, with every switch and hub.
    ///
    /// Chance is drawn from the topology's seed, for each cell apart, so that one link's losses do not depend on another.
    ///
    /// # Errors
    /// When a value is none a cell can have. A resolved topology has none of those.
    pub fn of(topology: &Topology, is_ours: impl Fn(usize) -> bool) -> Result<Self, LinkError> {
        let mut builder = Builder {
            topology,
            network: Network::new(),
            sides: BTreeMap::new(),
            wires: BTreeMap::new(),
        };
        let ours: Vec<usize> = (0..topology.links.len())
            .filter(|link| is_ours(*link))
            .collect();
        for &link in &ours {
            builder.link(link)?;
        }
        for (number, node) in topology.nodes.iter().enumerate() {
            match &node.role {
                Role::Hub(rate) => builder.hub(number, *rate)?,
                Role::Host(_) | Role::Router(_) | Role::Switch(_) => {}
            }
        }
        for (number, node) in topology.nodes.iter().enumerate() {
            if let Role::Switch(setup) = &node.role {
                builder.switch(number, setup)?;
            }
        }
        let at_host = |(link, end): &LinkEnd| {
            topology.nodes[topology.links[*link].ends[*end].node].has_addresses()
        };
        let places: BTreeMap<LinkEnd, Place> = builder
            .sides
            .into_iter()
            .filter(|(end, _)| at_host(end))
            .collect();
        let mut at = vec![[None; 2]; topology.links.len()];
        let mut ends: Vec<Vec<Option<LinkEnd>>> = Vec::new();
        for (end, place) in &places {
            at[end.0][end.1] = Some(*place);
            if ends.len() <= place.node {
                ends.resize(place.node + 1, Vec::new());
            }
            let ports = &mut ends[place.node];
            if ports.len() <= place.port {
                ports.resize(place.port + 1, None);
            }
            ports[place.port] = Some(*end);
        }
        Ok(Self {
            network: builder.network,
            at,
            ends,
            places,
            wires: builder.wires,
            scratch: Vec::new(),
        })
    }

    /// The ends at which frames enter and leave.
    pub fn ends(&self) -> impl Iterator<Item = LinkEnd> + '_ {
        self.places.keys().copied()
    }

    /// The links that are here, by number.
    pub fn links(&self) -> impl Iterator<Item = usize> + '_ {
        self.wires.keys().copied()
    }

    /// Takes `frame`, which a host or router sends at `end` at `now`; an end that is not ours loses it.
    pub fn offer(&mut self, now: Moment, end: LinkEnd, frame: Frame, out: &mut Vec<Reached>) {
        let place = self.at.get(end.0).and_then(|ends| *ends.get(end.1)?);
        if let Some(place) = place
            && self
                .network
                .offer(now, place, frame, &mut self.scratch)
                .is_ok()
        {
            self.reach(out);
        }
    }

    /// When something will happen without another frame; `None` when nothing will.
    #[must_use]
    pub fn next_event(&self) -> Option<Moment> {
        self.network.next_event()
    }

    /// Does everything that is due until `now`, each at its own time.
    pub fn advance(&mut self, now: Moment, out: &mut Vec<Reached>) {
        self.network.advance(now, &mut self.scratch);
        self.reach(out);
    }

    fn reach(&mut self, out: &mut Vec<Reached>) {
        for Arrival { at, place, frame } in self.scratch.drain(..) {
            let ports = self.ends.get(place.node);
            if let Some(end) = ports.and_then(|ports| *ports.get(place.port)?) {
                out.push(Reached { at, end, frame });
            }
        }
    }

    /// Changes `setting` of what goes from `end` of a link to its other end; `false` when the link has no such thing.
    ///
    /// # Errors
    /// When the value is none it can have.
    pub fn set(
        &mut self,
        now: Moment,
        (link, end): LinkEnd,
        setting: Setting,
    ) -> Result<bool, LinkError> {
        let Some(wire) = self.wires.get(&link) else {
            return Ok(false);
        };
        let mut places = Vec::with_capacity(2);
        places.extend(wire.lines[end].map(|(node, port, _)| Place { node, port }));
        places.extend(wire.node.map(|node| Place { node, port: end }));
        for place in places {
            if self.network.set(now, place, setting)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// What `link` counted until `now`, from its first end to its second and back; `None` when it is not ours.
    ///
    /// `nodes` is what [`Self::report`] gave at that moment. On each course what was offered and added was delivered,
    /// was dropped, or is held. Towards a hub, delivered is what was sent to the end, once however many hear it; away from
    /// a hub, offered is what this one link heard of the others.
    #[must_use]
    pub fn link_report(&self, nodes: &[Report], link: usize) -> Option<[CourseReport; 2]> {
        let wire = self.wires.get(&link)?;
        Some([0, 1].map(|end| wire.course(end, nodes)))
    }

    /// Everything that was counted until `now`, by node of the network.
    #[must_use]
    pub fn report(&self, now: Moment) -> Vec<Report> {
        self.network.report(now)
    }
}

impl Wire {
    /// The way from `end` to the other one: out of a switch's line, a station or a hub, through the cells, and into a hub.
    fn course(&self, end: usize, nodes: &[Report]) -> CourseReport {
        let mut course = CourseReport {
            counters: Counters::default(),
            held: Traffic::default(),
            queue: None,
            collisions: None,
            parts: Vec::new(),
        };
        let mut stages: Vec<Report> = Vec::new();
        if let Some((node, _, line)) = self.lines[end] {
            stages.extend(nodes[node].parts.get(line).cloned());
        }
        let station =
            |at: Option<(usize, usize)>| at.and_then(|(node, port)| nodes[node].parts.get(port));
        if let Some(hears) = station(self.hubs[end]) {
            let mut stage = heard(hears);
            stage.counters.offered = stage.counters.delivered;
            stage.counters.offered += stage.counters.dropped.total();
            stages.push(stage);
        }
        let through = self
            .node
            .and_then(|node| nodes[node].parts.get(end))
            .cloned();
        // The cells of a half-duplex link are at its second end.
        let cells_first = end == 1;
        if cells_first {
            stages.extend(through.clone());
        }
        if let (Some(sends), Some(hears)) =
            (station(self.stations[end]), station(self.stations[1 - end]))
        {
            let mut stage = sent(sends);
            let heard = heard(hears);
            stage.counters.delivered = heard.counters.delivered;
            stage.counters.dropped += heard.counters.dropped;
            course.collisions = sends.collisions;
            stages.push(stage);
        }
        if !cells_first {
            stages.extend(through);
        }
        if let Some(sends) = station(self.hubs[1 - end]) {
            let mut stage = sent(sends);
            stage.counters.delivered = stage.counters.offered;
            stage.counters.delivered -= stage.counters.dropped.total();
            stage.counters.delivered -= stage.held;
            course.collisions = sends.collisions;
            stages.push(stage);
        }
        if let (Some(first), Some(last)) = (stages.first(), stages.last()) {
            course.counters.offered = first.counters.offered;
            course.counters.delivered = last.counters.delivered;
        }
        for stage in stages {
            course.counters.take_in(&stage.counters);
            course.held += stage.held;
            if course.queue.is_none() {
                course.queue = queue_of(&stage);
            }
            if stage.parts.is_empty() {
                course.parts.push(stage);
            } else {
                course.parts.extend(stage.parts);
            }
        }
        course
    }
}

/// What a station sends.
fn sent(station: &Report) -> Report {
    let mut stage = Report::of("station", Counters::default(), station.held);
    stage.counters.offered = station.counters.offered;
    stage.counters.dropped = station.counters.dropped.without(DropReason::Spoiled);
    stage.queue = station.queue.clone();
    stage
}

/// What a station hears.
fn heard(station: &Report) -> Report {
    let mut stage = Report::of("station", Counters::default(), Traffic::default());
    stage.counters.delivered = station.counters.delivered;
    stage.counters.dropped = station.counters.dropped.only(DropReason::Spoiled);
    stage
}

/// The first queue in `report` or its parts.
fn queue_of(report: &Report) -> Option<QueueReport> {
    report
        .queue
        .clone()
        .or_else(|| report.parts.iter().find_map(queue_of))
}

struct Builder<'a> {
    topology: &'a Topology,
    network: Network,
    /// Where each end of a link is open.
    sides: BTreeMap<LinkEnd, Place>,
    wires: BTreeMap<usize, Wire>,
}

impl Builder<'_> {
    fn role(&self, (link, end): LinkEnd) -> &Role {
        &self.topology.nodes[self.topology.links[link].ends[end].node].role
    }

    fn link(&mut self, link: usize) -> Result<(), LinkError> {
        let it = &self.topology.links[link];
        let seed = self.topology.seed;
        // What sends into the link by itself: a switch's line, a station.
        let half = it.duplex != Duplex::Full;
        let chains = [0, 1].map(|end| {
            let by_itself = half || matches!(self.role((link, end)), Role::Switch(_));
            let dice = Streams { seed, link, end };
            chain(&it.courses[end], it.mtu, by_itself, half, dice)
        });
        let [forward, backward] = chains;
        let (forward, backward) = (forward?, backward?);
        let mut wire = Wire {
            node: None,
            lines: [None; 2],
            stations: [None; 2],
            hubs: [None; 2],
        };
        let node = self.network.add(Link::new(forward, backward));
        wire.node = Some(node);
        self.sides.insert((link, 0), Place { node, port: 0 });
        self.sides.insert((link, 1), Place { node, port: 1 });
        if let Duplex::Half { ends, retries_late } = it.duplex
            && !(0..2).any(|end| matches!(self.role((link, end)), Role::Hub(_)))
        {
            let rate = it.courses[0].rate().unwrap_or(BitRate::ZERO);
            let setup = MediumSetup {
                rate,
                repeater: Duration::ZERO,
                late: if retries_late {
                    LateCollision::Retry
                } else {
                    LateCollision::Drop
                },
            };
            let mut stations = Vec::with_capacity(2);
            for (end, is_half) in ends.into_iter().enumerate() {
                stations.push(StationSetup {
                    duplex: if is_half {
                        medium::Duplex::Half
                    } else {
                        medium::Duplex::Full
                    },
                    distance: it.courses[0].delay / 2,
                    queue: self.queue(link, end)?,
                });
            }
            let dice = Streams { seed, link, end: 0 }.dice(MAC);
            let medium = self.network.add(Medium::new(setup, stations, dice)?);
            // First end, medium, cells, second end.
            let inner = Place { node, port: 0 };
            self.network.join(
                Place {
                    node: medium,
                    port: 1,
                },
                inner,
            )?;
            self.sides.insert(
                (link, 0),
                Place {
                    node: medium,
                    port: 0,
                },
            );
            wire.stations = [Some((medium, 0)), Some((medium, 1))];
        }
        self.wires.insert(link, wire);
        Ok(())
    }

    fn queue(&self, link: usize, end: usize) -> Result<Queue, LinkError> {
        let it = &self.topology.links[link];
        let course = &it.courses[end];
        let seed = self.topology.seed;
        let rate = course
            .rate
            .as_ref()
            .map_or(BitRate::ZERO, RateSetup::highest);
        queue(&course.queue, rate, it.mtu, Streams { seed, link, end })
    }

    /// The repeater `node`, with a station for every link.
    fn hub(&mut self, node: usize, rate: BitRate) -> Result<(), LinkError> {
        let attached: Vec<LinkEnd> = self.topology.attachments(node).collect();
        if attached.len() < 2 {
            // A hub with one link repeats to nobody.
            for end in attached {
                self.sides.remove(&end);
            }
            return Ok(());
        }
        let mut stations = Vec::with_capacity(attached.len());
        for &(link, end) in &attached {
            // The station is at the far end of the link: what it sends goes towards the hub.
            let distance = self.topology.links[link].courses[1 - end].delay;
            stations.push((distance, self.queue(link, 1 - end)?));
        }
        let seed = self.topology.seed;
        let dice = Streams {
            seed,
            link: node,
            end: 1,
        }
        .dice(MAC);
        let medium = self.network.add(hub::with_queues(rate, stations, dice)?);
        for (port, (link, end)) in attached.into_iter().enumerate() {
            if let Some(open) = self.sides.remove(&(link, end)) {
                self.network.join(Place { node: medium, port }, open)?;
            }
            if let Some(wire) = self.wires.get_mut(&link) {
                wire.hubs[end] = Some((medium, port));
            }
        }
        Ok(())
    }

    fn switch(&mut self, node: usize, setup: &SwitchSetup) -> Result<(), LinkError> {
        let attached: Vec<LinkEnd> = self.topology.attachments(node).collect();
        if attached.len() < 2 {
            for end in attached {
                self.sides.remove(&end);
            }
            return Ok(());
        }
        let mut ports = Vec::with_capacity(attached.len());
        for &(link, end) in &attached {
            let it = &self.topology.links[link];
            ports.push(match &it.courses[end].rate {
                Some(rate) if it.duplex == Duplex::Full => {
                    let line = Serialiser::new(trace(rate)?, self.queue(link, end)?);
                    SwitchPort::Line(Box::new(line))
                }
                _ => SwitchPort::Through,
            });
        }
        let is_line: Vec<bool> = ports
            .iter()
            .map(|port| matches!(port, SwitchPort::Line(_)))
            .collect();
        let behaviour = SwitchBehaviour {
            latency: setup.latency,
            memory: setup.memory,
            pause: setup.pause.map(|(high, low)| PauseMarks { high, low }),
        };
        let switch = self.network.add(Switch::new(behaviour, ports)?);
        let mut lines = 0;
        for (port, (link, end)) in attached.into_iter().enumerate() {
            if let Some(open) = self.sides.remove(&(link, end)) {
                self.network.join(Place { node: switch, port }, open)?;
            }
            if is_line[port] {
                if let Some(wire) = self.wires.get_mut(&link) {
                    wire.lines[end] = Some((switch, port, lines));
                }
                lines += 1;
            }
        }
        Ok(())
    }
}

/// The numbers of the cells' streams of chance.
const MAC: u64 = 0;
const RED: u64 = 1;
const JITTER: u64 = 2;
const LOSS: u64 = 3;
const BURSTS: u64 = 4;
const CORRUPT: u64 = 5;
const SILENT: u64 = 6;
const DUPLICATE: u64 = 7;
const REORDER: u64 = 8;
const BALANCE: u64 = 9;
/// From here on the cells of the paths, 16 numbers each.
const PATHS: u64 = 16;

/// Where the cells of one direction draw from.
#[derive(Clone, Copy)]
struct Streams {
    seed: u64,
    link: usize,
    end: usize,
}

impl Streams {
    fn number(self, cell: u64) -> u64 {
        ((self.link as u64) << 16) | ((self.end as u64) << 15) | cell
    }

    fn dice(self, cell: u64) -> Dice {
        Dice::new(self.seed, self.number(cell))
    }
}

/// The cells from one end to the other; without rate and queue when what is in front sends by itself.
fn chain(
    course: &Course,
    mtu: u32,
    by_itself: bool,
    half: bool,
    streams: Streams,
) -> Result<Chain, LinkError> {
    let mut cells = Chain::new();
    if let Some(bucket) = &course.shaper {
        let waiting = queue(&course.queue, bucket.rate, mtu, streams)?;
        cells.push(Box::new(Shaper::new(token_bucket(bucket)?, waiting)));
    }
    if course.paths.is_empty() {
        line(course, mtu, by_itself, half, streams, 0, &mut cells)?;
    } else {
        let mut branches: Vec<Box<dyn Cell>> = Vec::with_capacity(course.paths.len());
        for (number, path) in course.paths.iter().enumerate() {
            let mut branch = Chain::new();
            let base = PATHS + 16 * number as u64;
            line(path, mtu, false, false, streams, base, &mut branch)?;
            branches.push(Box::new(branch));
        }
        let balancing = if course.per_frame {
            Balancing::PerFrame
        } else {
            Balancing::PerFlow {
                salt: streams.dice(BALANCE).bits(),
            }
        };
        cells.push(Box::new(Balancer::new(balancing, branches)?));
    }
    let probability = |share: f64| Probability::new(share);
    if let Some(burst) = &course.burst_loss {
        let model = GilbertElliott {
            worsens: probability(burst.worsens)?,
            recovers: probability(burst.recovers)?,
            loss_in_good: probability(burst.loss_in_good)?,
            loss_in_bad: probability(burst.loss_in_bad)?,
        };
        let model = LossModel::Bursts(model);
        cells.push(Box::new(Loss::new(model, streams.dice(BURSTS))));
    }
    if !course.lose.is_empty() {
        let model = LossModel::At(course.lose.iter().copied().collect());
        cells.push(Box::new(Loss::new(model, streams.dice(LOSS))));
    }
    for (share, damage, stream) in [
        (course.corrupt, Damage::Detected, CORRUPT),
        (course.corrupt_silently, Damage::Silent, SILENT),
    ] {
        if share > 0.0 {
            let errors = Errors::PerFrame(probability(share)?);
            let cell = Corruption::new(errors, damage, streams.dice(stream));
            cells.push(Box::new(cell));
        }
    }
    if course.duplicate > 0.0 {
        let cell = Duplication::new(probability(course.duplicate)?, streams.dice(DUPLICATE));
        cells.push(Box::new(cell));
    }
    if let Some(reorder) = &course.reorder {
        let share = probability(reorder.share)?;
        let dice = streams.dice(REORDER);
        let cell = Reordering::new(share, reorder.places, reorder.patience, dice);
        cells.push(Box::new(cell));
    }
    if let Some(bucket) = &course.policer {
        cells.push(Box::new(Policer::new(token_bucket(bucket)?)));
    }
    Ok(cells)
}

/// Rate, queue, delay, jitter and independent loss: what a path has as well as a link.
///
/// The delay and loss are there even when they are zero, so that they can be set while frames flow.
fn line(
    course: &Course,
    mtu: u32,
    by_itself: bool,
    half: bool,
    streams: Streams,
    base: u64,
    cells: &mut Chain,
) -> Result<(), LinkError> {
    if !by_itself && let Some(rate) = &course.rate {
        let waiting = queue(&course.queue, rate.highest(), mtu, streams)?;
        cells.push(Box::new(Serialiser::new(trace(rate)?, waiting)));
    }
    if !half {
        cells.push(Box::new(Delay::new(course.delay)));
    }
    if let Some(jitter) = &course.jitter {
        let distribution = match jitter.distribution {
            Distribution::Constant(delay) => jitter::Distribution::constant(delay),
            Distribution::Uniform(low, high) => jitter::Distribution::uniform(low, high),
            Distribution::Normal(mean, deviation) => jitter::Distribution::normal(mean, deviation),
            Distribution::Pareto(least, exponent) => jitter::Distribution::pareto(least, exponent)?,
        };
        let order = if jitter.keeps_order {
            Order::Kept
        } else {
            Order::Free
        };
        let dice = streams.dice(base + JITTER);
        cells.push(Box::new(Jitter::new(distribution, order, dice)));
    }
    let model = LossModel::Independent(Probability::new(course.loss)?);
    let dice = streams.dice(base + LOSS);
    cells.push(Box::new(Loss::new(model, dice)));
    Ok(())
}

fn trace(setup: &RateSetup) -> Result<RateTrace, LinkError> {
    match setup.constant() {
        Some(rate) => RateTrace::constant(rate),
        None => RateTrace::steps(
            &setup.steps,
            setup.repeat.map_or(After::Hold, After::Repeat),
        ),
    }
}

fn queue(
    setup: &QueueSetup,
    rate: BitRate,
    mtu: u32,
    streams: Streams,
) -> Result<Queue, LinkError> {
    let limit = match setup.limit {
        QueueLimit::Frames(frames) => Limit::Frames(frames),
        QueueLimit::Bytes(bytes) => Limit::Bytes(bytes.get()),
        QueueLimit::None => Limit::None,
    };
    let discipline = match setup.discipline {
        Discipline::DropTail => queue::Discipline::DropTail,
        Discipline::Codel { target, interval } => {
            queue::Discipline::Codel(Codel::new(target, interval))
        }
        Discipline::Red { low, high, most } => {
            let bits = Frame::of_length(0, mtu + 14 + CHECK_SEQUENCE_BYTES).sent_bits();
            let frame_ns = bits * 1_000_000_000 / rate.bps().max(1);
            let parameters = RedParameters {
                low: low.get(),
                high: high.get(),
                most: Probability::new(most)?,
                weight: 9,
                frame_time: Duration::from_nanos(frame_ns),
            };
            queue::Discipline::Red(Red::new(parameters, streams.dice(RED))?)
        }
    };
    Ok(Queue::new(limit, discipline))
}

fn token_bucket(setup: &BucketSetup) -> Result<TokenBucket, LinkError> {
    let measure = match setup.measure {
        MeasureFile::Wire => Measure::Wire,
        MeasureFile::Frame => Measure::Frame,
        MeasureFile::Packet => Measure::Packet,
    };
    TokenBucket::new(setup.rate, setup.burst, measure)
}
