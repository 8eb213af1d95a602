//! The measurements of one phase of a test of latency under load, and the report on it.

use super::added::{added_delay, delay_increase};
use super::clock_track::ClockTrack;
use super::one_way::{one_way_report, transits};
use super::probe::{echo_trips, probe_summary};
use super::responsiveness::ProbeTimes;
use crate::echo::EchoSeries;
use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{
    AddedDelay, ConnectProbe, Grade, PhaseDirection, PhaseReport, ProbeKind, ProbeSummary,
    SenderQueue,
};
use caudal_core::summary::DirectionSummary;
use caudal_core::text::ExternalText;

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
    /// The reason why the phase ended early.
    pub cut_short: Option<ExternalText>,
}

impl PhaseMeasurements {
    /// The report on the phase, compared with the `idle` one.
    #[must_use]
    pub fn report(&self, idle: Option<&Self>, clock: &ClockTrack, confidence: f64) -> PhaseReport {
        let idle_rtt: Vec<f64> = idle.map_or_else(Vec::new, Self::udp_rtt);
        // Only round trips of one kind are compared.
        let has_udp = !idle_rtt.is_empty() && !self.udp_rtt().is_empty();
        let added_rtt = match (self.load, has_udp) {
            (PhaseLoad::Idle, _) => None,
            (_, true) => delay_increase(&idle_rtt, &self.udp_rtt()),
            (_, false) => {
                delay_increase(&idle.map_or_else(Vec::new, Self::tcp_rtt), &self.tcp_rtt())
            }
        };
        let idle_summary = probe_summary(
            ProbeKind::Udp,
            &idle_rtt.iter().copied().map(Some).collect::<Vec<_>>(),
            confidence,
        );
        let one_way = Direction::BOTH.map(|direction| {
            let delays = self.transits(direction, clock);
            let idle_rtt_us = idle_summary.map(|idle| idle.p50_us);
            one_way_report(direction, &delays, clock, idle_rtt_us)
        });
        PhaseReport {
            load: self.load,
            start_s: self.start_ns as f64 / 1e9,
            duration_s: self.duration_ns as f64 / 1e9,
            ramp_s: self.ramp_ns as f64 / 1e9,
            directions: self.loads(),
            probes: self.probe_summaries(confidence),
            one_way: one_way.to_vec(),
            grade: added_rtt.map(|added| Grade::of_increase_us(added.mean_us)),
            added_rtt,
            added: idle.map_or_else(Vec::new, |idle| self.added(idle, clock)),
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
            let increase = delay_increase(&before, &self.transits(*direction, clock))?;
            let mut loads = self.directions.iter();
            let load = loads.find(|load| load.direction == *direction);
            let goodput = load.and_then(DirectionSummary::goodput_mean);
            Some(added_delay(*direction, increase, goodput))
        });
        each.collect()
    }

    fn loads(&self) -> Vec<PhaseDirection> {
        let of = |summary: &DirectionSummary| PhaseDirection {
            retransmitted: summary.tcp.and_then(|tcp| {
                let (again, sent) = (tcp.retransmitted_bytes?, summary.bytes?);
                (sent > 0).then(|| again as f64 / (sent + again) as f64)
            }),
            sender_queue: match summary.direction {
                Direction::Up => self.client_queue,
                Direction::Down => self.server_queue,
            },
            summary: summary.clone(),
        };
        self.directions.iter().map(of).collect()
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
        .filter_map(|(probe, trips)| probe_summary(*probe, trips, confidence))
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
