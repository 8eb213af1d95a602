//! The measurements of one phase of a test of latency under load, and the report on it.

use super::added::added_delay;
use super::by_protocol::{ProtocolTrips, protocol_increases};
use super::clock_track::ClockTrack;
use super::fill::{LoadEvidence, path_fill};
use super::one_way::{one_way_report, transits};
use super::probe::echo_trips;
use super::responsiveness::ProbeTimes;
use crate::echo::EchoSeries;
use crate::host_health::{BusyEvidence, busy_end};
use caudal_core::host::Usage;
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{
    AddedDelay, CallQuality, ConnectProbe, DelayIncrease, Grade, PathFill, PhaseDirection,
    PhaseReport, ProbeKind, ProbeSummary, ProtocolIncreases, SenderQueue,
};
use caudal_core::summary::DirectionSummary;
use caudal_core::text::ExternalText;
use caudal_stats::nearest_rank;

/// A kernel's smoothed round-trip time on a loaded connection.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SmoothedRtt {
    /// The time of the reading, s after the start of the phase.
    pub at_s: f64,
    /// The round-trip time, µs.
    pub rtt_us: f64,
}

/// The measurements of one phase.
#[derive(Debug, Clone)]
pub struct PhaseMeasurements {
    /// The load.
    pub load: PhaseLoad,
    /// The start of the phase, ns after that of the test.
    pub start_ns: u64,
    /// The duration of the phase, ns.
    pub duration_ns: u64,
    /// The part at its beginning that does not count, ns.
    pub ramp_ns: u64,
    /// `true` when TCP is ended in the middle: handshakes and the kernel's round-trip times are of a part of the path.
    pub is_behind_proxy: bool,
    /// The UDP echo.
    pub udp: EchoSeries,
    /// The TCP echo.
    pub tcp: EchoSeries,
    /// The requests on new connections.
    pub connects: Vec<ConnectProbe>,
    /// The round-trip times on the loaded connections.
    pub loaded: Vec<SmoothedRtt>,
    /// The goodput of each whole second of the phase, bit/s.
    pub goodput_bps: Vec<f64>,
    /// The load by direction.
    pub directions: Vec<DirectionSummary>,
    /// The backlog of the client's own interface.
    pub client_queue: Option<SenderQueue>,
    /// The backlog of the server's.
    pub server_queue: Option<SenderQueue>,
    /// The resources that the client used.
    pub client_usage: Usage,
    /// The resources that the server used.
    pub server_usage: Option<Usage>,
    /// The reason why the phase ended early.
    pub cut_short: Option<ExternalText>,
}

impl PhaseMeasurements {
    /// The report on the phase, compared with the `idle` one.
    #[must_use]
    pub fn report(&self, idle: Option<&Self>, clock: &ClockTrack, confidence: f64) -> PhaseReport {
        let idle_rtt: Vec<f64> = idle.map_or_else(Vec::new, Self::udp_rtt);
        let by_protocol = idle
            .filter(|_| self.load != PhaseLoad::Idle)
            .map(|idle| protocol_increases(&idle.trips(), &self.trips()));
        // Only round trips of one kind are compared; where one protocol is served first, those of the other.
        let added_rtt = by_protocol.and_then(|both: ProtocolIncreases| match both.served_first {
            Some(ProbeKind::Udp) => both.tcp,
            _ => both.udp.or(both.tcp),
        });
        let idle_summary = ProbeSummary::of_trips(
            ProbeKind::Udp,
            &idle_rtt.iter().copied().map(Some).collect::<Vec<_>>(),
            confidence,
        );
        let one_way = Direction::BOTH.map(|direction| {
            let delays = self.transits(direction, clock);
            let idle_rtt_us = idle_summary.map(|idle| idle.p50_us);
            one_way_report(direction, &delays, clock, idle_rtt_us)
        });
        let added = idle.map_or_else(Vec::new, |idle| self.added(idle, clock));
        let spreads_us = Direction::BOTH.map(|direction| {
            let idle = idle.map_or_else(Vec::new, |idle| idle.transits(direction, clock));
            (direction, upper_spread_us(idle))
        });
        let directions = self.loads(&added, &spreads_us);
        // A phase whose flows all failed had no load.
        let mut fills = directions.iter().map(|load| load.fill.as_ref());
        let is_filled =
            !directions.is_empty() && fills.all(|fill| fill.is_some_and(PathFill::is_filled));
        let busy = self.busy_end().or_else(|| {
            let reason = idle.filter(|_| self.load != PhaseLoad::Idle)?.busy_end()?;
            Some(format!("{reason} in the idle phase"))
        });
        let probes = self.probe_summaries(confidence);
        let echo = [ProbeKind::Udp, ProbeKind::Tcp].into_iter();
        let echo = echo
            .filter_map(|kind| probes.iter().find(|one| one.probe == kind))
            .next();
        PhaseReport {
            call: echo.and_then(CallQuality::beside),
            load: self.load,
            start_s: self.start_ns as f64 / 1e9,
            duration_s: self.duration_ns as f64 / 1e9,
            ramp_s: self.ramp_ns as f64 / 1e9,
            directions,
            probes,
            one_way: one_way.to_vec(),
            grade: added_rtt
                .filter(|_| is_filled && busy.is_none())
                .map(|added| Grade::of_increase_us(added.mean_us)),
            added_rtt,
            by_protocol,
            added,
            busy: busy.map(Into::into),
            responsiveness: self
                .probe_times()
                .responsiveness(self.duration_ns as f64 / 1e9),
            cut_short: self.cut_short.clone(),
        }
    }

    fn udp_rtt(&self) -> Vec<f64> {
        let trips = echo_trips(&self.udp, self.ramp_ns);
        trips.into_iter().flatten().collect()
    }

    fn tcp_rtt(&self) -> Vec<f64> {
        let trips = echo_trips(&self.tcp, self.ramp_ns);
        trips.into_iter().flatten().collect()
    }

    fn transits(&self, direction: Direction, clock: &ClockTrack) -> Vec<f64> {
        transits(&self.udp, direction, self.ramp_ns, self.start_ns, clock)
    }

    fn added(&self, idle: &Self, clock: &ClockTrack) -> Vec<AddedDelay> {
        if self.load == PhaseLoad::Idle {
            return Vec::new();
        }
        let each = Direction::BOTH.iter().filter_map(|direction| {
            let before = idle.transits(*direction, clock);
            let increase = DelayIncrease::above(&before, &self.transits(*direction, clock))?;
            let mut loads = self.directions.iter();
            let load = loads.find(|load| load.direction == *direction);
            let goodput = load.and_then(DirectionSummary::goodput_mean);
            Some(added_delay(*direction, increase, goodput))
        });
        each.collect()
    }

    /// The load by direction: `added` by the phase, with the spread of the idle delays in each direction.
    fn loads(&self, added: &[AddedDelay], spreads_us: &[(Direction, f64)]) -> Vec<PhaseDirection> {
        let of = |summary: &DirectionSummary| {
            let retransmitted = summary.tcp.and_then(|tcp| {
                let (again, sent) = (tcp.retransmitted_bytes?, summary.bytes?);
                (sent > 0).then(|| again as f64 / (sent + again) as f64)
            });
            let added = added.iter().find(|one| one.direction == summary.direction);
            let spread_us = spreads_us.iter().find(|(one, _)| *one == summary.direction);
            PhaseDirection {
                retransmitted,
                sender_queue: match summary.direction {
                    Direction::Up => self.client_queue,
                    Direction::Down => self.server_queue,
                },
                fill: Some(path_fill(&LoadEvidence {
                    summary,
                    retransmitted,
                    added: added.map(|one| &one.increase),
                    idle_spread_us: spread_us.map_or(0.0, |(_, us)| *us),
                })),
                summary: summary.clone(),
            }
        };
        self.directions.iter().map(of).collect()
    }

    /// Why an end was too busy to measure in this phase.
    #[must_use]
    pub fn busy_end(&self) -> Option<String> {
        let departures = self.udp.departures.iter().chain(&self.tcp.departures);
        busy_end(&BusyEvidence {
            late_ns: departures.map(|departure| departure.late_ns).collect(),
            client: Some(self.client_usage),
            server: self.server_usage,
        })
    }

    fn trips(&self) -> ProtocolTrips {
        let handshakes = self.connects.iter().filter(|_| !self.is_behind_proxy);
        let handshakes = handshakes.filter(|probe| probe.at_ns >= self.ramp_ns);
        ProtocolTrips {
            udp: self.udp_rtt(),
            tcp: self.tcp_rtt(),
            handshake: handshakes
                .filter_map(|probe| Some(probe.connect_ns? as f64 / 1e3))
                .collect(),
        }
    }

    fn probe_summaries(&self, confidence: f64) -> Vec<ProbeSummary> {
        let us = |ns: Option<u64>| ns.map(|ns| ns as f64 / 1e3);
        let counted = || {
            let mut all = self.connects.iter();
            std::iter::from_fn(move || all.find(|probe| probe.at_ns >= self.ramp_ns))
        };
        let handshakes = counted().filter(|_| !self.is_behind_proxy);
        let handshakes: Vec<_> = handshakes.map(|probe| us(probe.connect_ns)).collect();
        // A request needs a connection.
        let connected = counted().filter(|probe| probe.connect_ns.is_some());
        let requests: Vec<_> = connected.map(|probe| us(probe.answer_ns)).collect();
        let ramp_s = self.ramp_ns as f64 / 1e9;
        let loaded = self.loaded.iter().filter(|reading| reading.at_s >= ramp_s);
        let loaded = loaded.filter(|_| !self.is_behind_proxy);
        let loaded: Vec<_> = loaded.map(|reading| Some(reading.rtt_us)).collect();
        [
            (ProbeKind::Udp, echo_trips(&self.udp, self.ramp_ns)),
            (ProbeKind::Tcp, echo_trips(&self.tcp, self.ramp_ns)),
            (ProbeKind::Handshake, handshakes),
            (ProbeKind::Request, requests),
            (ProbeKind::Loaded, loaded),
        ]
        .iter()
        .filter_map(|(probe, trips)| ProbeSummary::of_trips(*probe, trips, confidence))
        .map(|summary| match summary.probe {
            // Some of them may have been refused in the ramp, which the others do not count.
            ProbeKind::Udp => ProbeSummary {
                refused: Some(self.udp.refused.refused.min(summary.lost))
                    .filter(|count| *count > 0),
                ..summary
            },
            _ => summary,
        })
        .collect()
    }

    fn probe_times(&self) -> ProbeTimes {
        let times = |ns: fn(&ConnectProbe) -> Option<u64>| {
            let timed = self
                .connects
                .iter()
                .filter_map(|probe| Some((probe.at_ns as f64 / 1e9, ns(probe)? as f64 / 1e3)));
            timed.collect()
        };
        let loaded = self
            .loaded
            .iter()
            .map(|reading| (reading.at_s, reading.rtt_us));
        if self.is_behind_proxy {
            return ProbeTimes::default();
        }
        ProbeTimes {
            handshake: times(|probe| probe.connect_ns),
            request: times(|probe| probe.answer_ns),
            loaded: loaded.collect(),
            goodput_bps: self.goodput_bps.clone(),
        }
    }
}

/// The spread of delays above their median: up to the 95th percentile, µs; 0 without any.
fn upper_spread_us(mut delays_us: Vec<f64>) -> f64 {
    delays_us.sort_unstable_by(f64::total_cmp);
    let at = |q| nearest_rank(&delays_us, q);
    at(0.95)
        .zip(at(0.5))
        .map_or(0.0, |(high, median)| high - median)
}
