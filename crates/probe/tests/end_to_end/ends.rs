//! Two ends of a network in virtual time that send each other trains.

use caudal_core::plan::{MAX_TIMED_DATAGRAMS, PlannedTrains, TrainSeries, TrainSpacing};
use caudal_link::frame::{Frame, MacAddress};
use caudal_link::model::{HostArrival, NetworkModel};
use caudal_link::time::SimTime;
use caudal_probe::end_to_end::{EndReading, TrainChannel, TrainsReadings};
use caudal_stats::random::SplitMix64;
use caudal_topology::{LinkEnd, Topology, TopologyFile};
use caudal_wire::trains::{DatagramTimes, ReceivedTrains, SentTrains, SeriesReadings};
use std::convert::Infallible;

/// The bytes of a frame besides the payload of its datagram: Ethernet with check sequence, IPv4 and UDP.
const HEADERS: u32 = 18 + 28;
/// The time for which cross traffic runs before and after a series, ns.
const MARGIN_NS: u64 = 100_000_000;
/// The offset of the receiver's clock, ns.
const OFFSET_NS: u64 = 3_000_000_000;

/// Frames of full size from one host to another at random times.
#[derive(Debug, Clone)]
pub struct CrossTraffic {
    pub from: &'static str,
    pub to: &'static str,
    /// Line rate, bit/s.
    pub bps: f64,
}

/// Two hosts of a network, h1 and h2.
pub struct SimulatedEnds {
    topology: Topology,
    model: NetworkModel,
    cross: Vec<CrossTraffic>,
    now_ns: u64,
    next_id: u64,
    random: SplitMix64,
    /// The mean of the noise of times of arrival, ns.
    pub noise_ns: f64,
    /// By how much hosts are late with all but the first two packets of a train, ns.
    pub host_ns: u64,
    /// The drift of h2's clock against that of h1, parts in a million.
    pub drift_ppm: f64,
    /// `true` where the frames of cross traffic have the same distance from one another.
    pub is_cross_even: bool,
    /// The time for which a sender is busy with each datagram that is sent back to back, ns.
    pub send_ns: u64,
    /// Payload sent so far, both ways.
    pub sent_bytes: u64,
}

/// A frame that is due.
struct Departure {
    at_ns: u64,
    from: LinkEnd,
    frame: Frame,
}

/// A series under way.
struct Way {
    series: TrainSeries,
    sender: LinkEnd,
    receiver: LinkEnd,
    first_id: u64,
    sent: DatagramTimes,
    arrived: DatagramTimes,
}

impl SimulatedEnds {
    pub fn new(topology: &str, cross: &[CrossTraffic], seed: u64) -> Self {
        let file: TopologyFile = toml::from_str(topology).unwrap();
        let topology = Topology::resolve(&TopologyFile {
            seed: Some(seed),
            ..file
        })
        .unwrap();
        Self {
            model: NetworkModel::build(&topology, |_| true).unwrap(),
            topology,
            cross: cross.to_vec(),
            now_ns: 1_000_000_000,
            next_id: 1,
            random: SplitMix64::new(seed),
            noise_ns: 1_500.0,
            host_ns: 0,
            drift_ppm: 0.0,
            is_cross_even: false,
            send_ns: 0,
            sent_bytes: 0,
        }
    }

    /// The virtual time, s.
    pub fn now_s(&self) -> f64 {
        self.now_ns as f64 / 1e9
    }

    fn end(&self, host: &str) -> LinkEnd {
        let node = self.topology.node(host).unwrap();
        self.topology.attachments(node).next().unwrap()
    }

    fn address(&self, host: &str) -> MacAddress {
        MacAddress::station(self.topology.node(host).unwrap() as u32)
    }

    fn uniform(&mut self) -> f64 {
        ((self.random.next_u64() >> 11) as f64 + 1.0) / (1_u64 << 53) as f64
    }

    fn exponential(&mut self, mean: f64) -> f64 {
        -self.uniform().ln() * mean
    }

    fn frame(&mut self, from: &str, to: &str, payload: u32) -> Frame {
        let id = self.next_id;
        self.next_id += 1;
        Frame::with_length(id, payload + HEADERS)
            .with_addresses(self.address(from), self.address(to))
    }

    /// The departures of a series from one host to the other, and its state.
    fn begin(
        &mut self,
        series: TrainSeries,
        (from, to): (&str, &str),
        begin_ns: u64,
        departures: &mut Vec<Departure>,
    ) -> Way {
        let mut way = Way {
            series,
            sender: self.end(from),
            receiver: self.end(to),
            first_id: self.next_id,
            sent: DatagramTimes::default(),
            arrived: DatagramTimes::default(),
        };
        for (number, after_ns) in (0..).zip(series.departures_ns()) {
            let within = u64::from(number % series.datagrams);
            let busy_ns = match series.spacing {
                TrainSpacing::BackToBack => within * self.send_ns,
                _ => 0,
            };
            let at_ns = begin_ns + after_ns + busy_ns;
            way.sent.push(number, self.clock(from, at_ns));
            self.sent_bytes += u64::from(series.length);
            departures.push(Departure {
                at_ns,
                from: way.sender,
                frame: self.frame(from, to, series.length),
            });
        }
        way
    }

    /// What a host's clock shows.
    fn clock(&self, host: &str, at_ns: u64) -> u64 {
        match host {
            "h2" => OFFSET_NS + at_ns + (at_ns as f64 * self.drift_ppm / 1e6) as u64,
            _ => at_ns,
        }
    }

    fn cross_traffic(&mut self, until_ns: u64, departures: &mut Vec<Departure>) {
        for CrossTraffic { from, to, bps } in self.cross.clone() {
            let gap_ns = 1538.0 * 8e9 / bps;
            let mut at_ns = self.now_ns as f64;
            loop {
                at_ns += match (self.is_cross_even, at_ns > self.now_ns as f64) {
                    (true, true) => gap_ns,
                    (true, false) => gap_ns * self.uniform(),
                    (false, _) => self.exponential(gap_ns),
                };
                if at_ns >= until_ns as f64 {
                    break;
                }
                departures.push(Departure {
                    at_ns: at_ns as u64,
                    from: self.end(from),
                    frame: self.frame(from, to, 1472),
                });
            }
        }
    }

    /// Every switch learns where hosts are.
    fn announce(&mut self, arrivals: &mut Vec<HostArrival>) {
        let hosts: Vec<String> = ["h1", "h2", "c1", "c2"]
            .into_iter()
            .filter(|name| self.topology.node(name).is_some())
            .map(str::to_owned)
            .collect();
        for host in &hosts {
            let id = self.next_id;
            self.next_id += 1;
            let frame = Frame::with_length(id, 64)
                .with_addresses(self.address(host), MacAddress::BROADCAST);
            self.now_ns += 1_000_000;
            let now = SimTime::from_ns(self.now_ns);
            self.model.advance(now, arrivals);
            self.model.offer(now, self.end(host), frame, arrivals);
        }
        self.now_ns += 10_000_000;
    }

    fn take(&mut self, ways: &mut [Way], arrivals: &mut Vec<HostArrival>) {
        for HostArrival { at, end, frame } in arrivals.drain(..) {
            for way in ways.iter_mut() {
                let number = frame.id.wrapping_sub(way.first_id);
                if end != way.receiver || number >= way.series.total() {
                    continue;
                }
                let is_later = number % u64::from(way.series.datagrams) >= 2;
                let host_ns = if is_later { self.host_ns } else { 0 };
                let noise_ns = host_ns + self.exponential(self.noise_ns) as u64;
                let host = if way.sender == self.end("h1") {
                    "h2"
                } else {
                    "h1"
                };
                let seen_ns = self.clock(host, at.as_ns() + noise_ns);
                // The kernel's times of one socket do not go back.
                let last_ns = way
                    .arrived
                    .after_ns
                    .last()
                    .map(|last| way.arrived.base_ns + last);
                way.arrived
                    .push(number as u32, seen_ns.max(last_ns.unwrap_or(0)));
            }
        }
    }
}

impl TrainChannel for SimulatedEnds {
    type Error = Infallible;

    fn run(&mut self, trains: &PlannedTrains) -> Result<TrainsReadings, Infallible> {
        for series in [trains.up, trains.down].into_iter().flatten() {
            assert!(!series.timed || series.total() <= MAX_TIMED_DATAGRAMS);
        }
        let mut arrivals = Vec::new();
        self.announce(&mut arrivals);
        arrivals.clear();
        let begin_ns = self.now_ns + MARGIN_NS;
        let mut departures = Vec::new();
        let mut ways = Vec::new();
        if let Some(series) = trains.up {
            ways.push(self.begin(series, ("h1", "h2"), begin_ns, &mut departures));
        }
        if let Some(series) = trains.down {
            ways.push(self.begin(series, ("h2", "h1"), begin_ns, &mut departures));
        }
        let last_ns = departures
            .iter()
            .map(|one| one.at_ns)
            .max()
            .unwrap_or(begin_ns);
        let until_ns = last_ns + 3 * MARGIN_NS;
        self.cross_traffic(until_ns, &mut departures);
        departures.sort_by_key(|one| one.at_ns);
        for Departure { at_ns, from, frame } in departures {
            let now = SimTime::from_ns(at_ns);
            self.model.advance(now, &mut arrivals);
            self.model.offer(now, from, frame, &mut arrivals);
            self.take(&mut ways, &mut arrivals);
        }
        self.model
            .advance(SimTime::from_ns(until_ns), &mut arrivals);
        self.take(&mut ways, &mut arrivals);
        self.now_ns = until_ns;
        let mut readings = ways.into_iter().map(Way::readings);
        Ok(TrainsReadings {
            up: trains.up.and_then(|_| readings.next()),
            down: trains.down.and_then(|_| readings.next()),
            near: EndReading::default(),
            far: EndReading::default(),
        })
    }
}

impl Way {
    fn readings(self) -> SeriesReadings {
        let elapsed_ns = self.arrived.after_ns.last().copied().unwrap_or(0);
        SeriesReadings {
            sent: Some(SentTrains {
                datagrams: self.series.total(),
                times: self.series.timed.then_some(self.sent),
                ..SentTrains::default()
            }),
            received: Some(ReceivedTrains {
                datagrams: self.arrived.numbers.len() as u64,
                elapsed_ns,
                kernel_times: true,
                times: self.series.timed.then_some(self.arrived),
                ..ReceivedTrains::default()
            }),
            series: self.series,
        }
    }
}
