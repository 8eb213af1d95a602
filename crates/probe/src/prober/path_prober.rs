//! The phases of probing a path, and their result.

use super::capacity_readings::CapacityReadings;
use super::channel::ProbeChannel;
use super::exchange::ProbeExchange;
use super::hop_table::HopTable;
use super::outcome::{ProbeError, ProbedPath};
use super::probe::{AnswerKind, ProbeFate, ProbeOutcome};
use super::report::{link, narrow, refusal, warnings, with_limits};
use super::settings::PathSettings;
use crate::hop_capacity::{PathCapacities, VpsSettings};
use caudal_core::path::{
    HostAnswer, PathHop, PathLink, PathMtu, PathPhase, PathReport, PathRound, PathTarget,
    ProbingCost, ProbingMeans, RouteCount, RoutingLoop,
};
use caudal_core::units::ByteCount;
use caudal_stats::random::SplitMix64;
use std::time::Duration;

/// Maximum wait between two checks of the stop signal, ns.
const LOOK_NS: u64 = 100_000_000;
/// Minimum time for routes and path MTU, where the whole has more.
const MIN_BEFORE_CAPACITY: Duration = Duration::from_secs(10);
/// Time between two progress reports while hops are found, ns.
const SHOW_NS: u64 = 250_000_000;

/// Who is shown the state of a path and may end probing.
pub trait PathObserver {
    /// The state after a round of probes.
    fn round(&mut self, round: PathRound);

    /// `true` when probing is to end.
    fn is_stopped(&self) -> bool;
}

/// Probes a path: its hops, then other routes, the path MTU and capacities as far as `settings` ask for them.
///
/// What was found before `observer` ended it is returned, with the reason. The target's name and the names of hops are left to the caller.
///
/// # Errors
/// When this machine has no route, or its kernel refuses a call.
pub fn probe_path(
    channel: &mut dyn ProbeChannel,
    settings: &PathSettings,
    observer: &mut dyn PathObserver,
) -> Result<ProbedPath, ProbeError> {
    let mut prober = PathProber {
        exchange: ProbeExchange::new(channel, settings.seed),
        settings,
        observer,
        table: HopTable::default(),
        capacities: CapacityReadings::default(),
        vps: None,
        path: None,
        phase: PathPhase::Hops,
        shown_ns: 0,
        rng: SplitMix64::new(settings.seed ^ 0x70_61_74_68),
        is_neighbour_silent: false,
        failure: None,
        routing_loop: None,
    };
    prober.find_hops()?;
    if let Some(period) = settings.watch {
        prober.watch(period)?;
        return Ok(prober.finish(None, None));
    }
    let is_loop = prober.routing_loop.is_some();
    let routes = if settings.routes && !is_loop {
        prober.count_routes()?
    } else {
        None
    };
    let mtu = if settings.mtu && !is_loop {
        prober.path_mtu()?
    } else {
        None
    };
    let has_links = !prober.table.passing(settings.target).is_empty();
    if settings.capacity && has_links && !is_loop {
        let largest = mtu
            .as_ref()
            .map_or(u64::from(settings.local_mtu), |mtu| mtu.bytes.get());
        prober.measure_capacities(u32::try_from(largest).unwrap_or(u32::MAX))?;
    } else {
        prober.measure_round_trips()?;
    }
    Ok(prober.finish(routes, mtu))
}

/// A path while it is probed.
pub(super) struct PathProber<'a> {
    pub(super) exchange: ProbeExchange<'a>,
    pub(super) settings: &'a PathSettings,
    observer: &'a mut dyn PathObserver,
    pub(super) table: HopTable,
    pub(super) capacities: CapacityReadings,
    pub(super) vps: Option<VpsSettings>,
    pub(super) path: Option<PathCapacities>,
    pub(super) phase: PathPhase,
    shown_ns: u64,
    pub(super) rng: SplitMix64,
    /// `true` when this machine's neighbour on the way does not answer at the link layer.
    is_neighbour_silent: bool,
    /// Why no more probes can be sent.
    failure: Option<String>,
    /// The loop in which the path ends.
    pub(super) routing_loop: Option<RoutingLoop>,
}

impl PathProber<'_> {
    pub(super) fn is_stopped(&self) -> bool {
        self.failure.is_some() || self.observer.is_stopped()
    }

    /// `true` when this phase is to end: the time for all is divided among them.
    pub(super) fn is_over(&self) -> bool {
        let elapsed = Duration::from_nanos(self.exchange.elapsed_ns());
        let all = self.settings.time;
        let until = match self.phase {
            PathPhase::Routes => (all / 4).max(all.min(MIN_BEFORE_CAPACITY)),
            PathPhase::Mtu => (all / 2).max(all.min(MIN_BEFORE_CAPACITY)),
            _ => all,
        };
        self.is_stopped() || elapsed >= until
    }

    /// `true` where the path ends at a router or firewall that says so, or in a loop of routers.
    pub(super) fn ends_at_router(&self) -> bool {
        let is_refused = self
            .table
            .end
            .is_some_and(|end| end.from != self.settings.target);
        is_refused || self.routing_loop.is_some()
    }

    /// Begins a phase.
    pub(super) fn enter(&mut self, phase: PathPhase) {
        self.phase = phase;
        // Packets that are too large for the path are lost on any.
        self.exchange
            .take_losses_for_limits(phase != PathPhase::Mtu);
        self.show(None);
    }

    /// Waits for the next outcomes and takes them in.
    pub(super) fn advance(&mut self) -> Result<Vec<ProbeOutcome>, ProbeError> {
        self.advance_until(u64::MAX)
    }

    /// The same, no longer than until this time since the beginning, ns.
    pub(super) fn advance_until(&mut self, until_ns: u64) -> Result<Vec<ProbeOutcome>, ProbeError> {
        let look_ns = self.exchange.elapsed_ns() + LOOK_NS;
        if until_ns < u64::MAX && self.exchange.is_idle() {
            self.exchange.sleep_until(look_ns.min(until_ns))?;
        }
        let outcomes = self.exchange.advance(look_ns.min(until_ns))?;
        let at_s = self.exchange.elapsed_ns() as f64 / 1e9;
        for outcome in &outcomes {
            match outcome.fate {
                ProbeFate::NotSent(libc::EHOSTUNREACH) => self.is_neighbour_silent = true,
                ProbeFate::NotSent(errno) => {
                    let cause = std::io::Error::from_raw_os_error(errno);
                    // What was found is not lost with what could not be sent after it.
                    if self.table.last().is_none() {
                        return Err(cause.into());
                    }
                    self.failure = Some(format!("no more probes can be sent ({cause})"));
                }
                _ => {}
            }
            let is_answered = matches!(outcome.fate, ProbeFate::Answered(_));
            if self.phase == PathPhase::Mtu && !is_answered {
                continue;
            }
            if self.table.take(outcome, self.settings.target, at_s) {
                self.capacities.route_changed(outcome.request.ttl);
            }
        }
        if self.exchange.elapsed_ns() - self.shown_ns >= SHOW_NS && self.vps.is_none() {
            self.show(None);
        }
        Ok(outcomes)
    }

    /// Shows the state to the observer.
    pub(super) fn show(&mut self, remaining: Option<Duration>) {
        self.shown_ns = self.exchange.elapsed_ns();
        let round = PathRound {
            at_s: self.shown_ns as f64 / 1e9,
            phase: self.phase,
            remaining_s: remaining.map(|remaining| remaining.as_secs_f64()),
            hops: self.hops(),
            links: self.links(),
            changes: self.table.changes.clone(),
            between_ends: None,
        };
        self.observer.round(round);
    }

    fn hops(&self) -> Vec<PathHop> {
        // Of a router that refuses probes, answers to all TTLs are limited together.
        let is_shared = self.ends_at_router() && self.vps.is_none();
        let limited = |ttl| {
            let interval_ns = self.exchange.limited_interval_ns(ttl);
            interval_ns.filter(|_| !is_shared)
        };
        let mut hops = self.table.hops(self.settings.confidence, &limited);
        for hop in &mut hops {
            if hop.address.is_some() && self.exchange.is_loss_uncertain(hop.ttl) {
                // What may be a limit counts neither as sent nor as lost.
                hop.probes -= hop.unanswered;
                hop.unanswered = 0;
            }
        }
        hops
    }

    fn links(&self) -> Vec<PathLink> {
        let links = self.path.iter().flat_map(|path| &path.links);
        links.map(link).collect()
    }

    fn finish(mut self, routes: Option<RouteCount>, mtu: Option<PathMtu>) -> ProbedPath {
        if let Some(vps) = self.vps {
            self.path = Some(self.capacities.evaluate(&vps));
        }
        let (narrow, mut narrow_unknown) = self.path.as_ref().map_or((None, None), narrow);
        if self.routing_loop.is_some() {
            narrow_unknown = Some("packets to the host go round in a routing loop".into());
        }
        let settings = self.settings;
        let report = PathReport {
            target: PathTarget {
                host: settings.target.to_string().into(),
                address: Some(settings.target),
                port: 0,
            },
            host_answer: match self.table.end {
                Some(end) if end.from == settings.target => match end.kind {
                    AnswerKind::PortUnreachable => HostAnswer::PortUnreachable,
                    _ => HostAnswer::Refused,
                },
                Some(_) => HostAnswer::Refused,
                None => HostAnswer::Nothing,
            },
            refusal: refusal(self.table.end, settings.target, &self.table),
            routing_loop: self.routing_loop.clone(),
            flows: Vec::new(),
            marks: Vec::new(),
            hops: self.hops(),
            links: self.links(),
            narrow,
            narrow_unknown,
            mtu,
            routes,
            changes: self.table.changes.clone(),
            between_ends: None,
            duplex: None,
            cost: ProbingCost {
                packets: self.exchange.packets,
                bytes: ByteCount::new(self.exchange.bytes),
                answers: self.exchange.answers,
                elapsed_s: self.exchange.elapsed_ns() as f64 / 1e9,
            },
            means: ProbingMeans {
                kernel_timestamps: self.exchange.is_stamped && self.exchange.answers > 0,
                ..ProbingMeans::default()
            },
            confidence: settings.confidence,
            cut_short: match &self.failure {
                Some(why) => Some(why.into()),
                // The user ends what is watched.
                None if settings.watch.is_some() => None,
                None => self.is_stopped().then(|| "interrupted".into()),
            },
        };
        let report = with_limits(report, settings.time);
        let warnings = warnings(&report, self.table.end, self.is_neighbour_silent);
        ProbedPath { report, warnings }
    }
}
