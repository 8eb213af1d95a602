//! What limited the rate at which connections opened, by what was observed.

use caudal_core::connect::{ConnectLimit, ConnectLimitReport, ConnectReport};
use caudal_core::host::Usage;
use caudal_core::quantity::Unit;

/// Share of a processor, or of the time of a connection, from which it is the limit.
const MOST: f64 = 0.8;
/// Share of connections that waited for a SYN sent again, or were not answered, from which that is the limit.
const LOST_SYNS: f64 = 0.01;
/// Share of the time of a test, spent on those, from which they are the limit.
const LOST_TIME: f64 = 0.1;
/// The initial retransmission timeout of a SYN, s (RFC 6298, section 2).
const SYN_TIMEOUT_S: f64 = 1.0;
/// Share of the connections of a schedule that may be missing where it was kept.
const MISSED: f64 = 0.02;

/// Where the ends of a test run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConnectEnds {
    /// On a host each.
    Apart,
    /// On one host.
    OneHost,
    /// In one process.
    OneProcess,
}

/// The conditions of a test beside its attempts.
#[derive(Debug, Clone, Copy)]
pub struct ConnectConditions {
    /// Connections being opened at once.
    pub parallel: u32,
    /// The round trips that each waits for.
    pub round_trips: u32,
    /// Connections started each second on a schedule; `None` without one.
    pub scheduled_per_s: Option<f64>,
    /// Processors that this program may use.
    pub client_cpus: u32,
    /// The time allowed for each step, s.
    pub timeout_s: f64,
    /// Where the ends run.
    pub ends: ConnectEnds,
    /// The local ports that the kernel chooses from; `None` where it does not report them.
    pub local_ports: Option<u32>,
    /// Sockets of this host in TIME_WAIT after the test; `None` where the kernel does not report them.
    pub time_wait: Option<u64>,
}

/// What limited a test with this result under these conditions; the parts of `report` that tell it are complete.
#[must_use]
pub fn find_limit(report: &ConnectReport, conditions: &ConnectConditions) -> ConnectLimitReport {
    let found = [
        ports(report, conditions),
        schedule(report, conditions),
        lost_syns(report, conditions),
        processors(report, conditions),
        round_trips(report, conditions),
        one_at_a_time(report, conditions),
    ];
    found.into_iter().flatten().next().unwrap_or_else(|| {
        limited(
            ConnectLimit::Unknown,
            "cannot tell: neither end is short of processor time, no SYN was sent again, and connections take longer than \
             their round trips"
                .to_owned(),
        )
    })
}

const fn limited(limit: ConnectLimit, reason: String) -> ConnectLimitReport {
    ConnectLimitReport { limit, reason }
}

fn ports(report: &ConnectReport, conditions: &ConnectConditions) -> Option<ConnectLimitReport> {
    let without = report.failures.no_local_port;
    if without == 0 {
        return None;
    }
    let range = conditions
        .local_ports
        .map_or_else(String::new, |ports| format!(" of {ports}"));
    let held = conditions.time_wait.map_or_else(String::new, |held| {
        format!("; {held} sockets are in TIME_WAIT")
    });
    Some(limited(
        ConnectLimit::EphemeralPorts,
        format!("no local port{range} was left for {without} connections{held}"),
    ))
}

fn schedule(report: &ConnectReport, conditions: &ConnectConditions) -> Option<ConnectLimitReport> {
    let per_s = conditions.scheduled_per_s?;
    let due = per_s * report.elapsed_s;
    let is_kept = report.attempts as f64 + 1.0 >= (1.0 - MISSED) * due;
    is_kept.then(|| {
        limited(
            ConnectLimit::Schedule,
            format!("the schedule of {} a second was kept", short(per_s)),
        )
    })
}

fn lost_syns(report: &ConnectReport, conditions: &ConnectConditions) -> Option<ConnectLimitReport> {
    let (waited, timed_out) = (report.syn_retransmitted, report.failures.timed_out);
    let lost = (waited + timed_out) as f64;
    let waited_s = waited as f64 * SYN_TIMEOUT_S + timed_out as f64 * conditions.timeout_s;
    let all_s = f64::from(conditions.parallel) * report.elapsed_s;
    // A few of many may have taken most of the time.
    let is_limit =
        lost > 0.0 && (lost >= LOST_SYNS * report.attempts as f64 || waited_s >= LOST_TIME * all_s);
    is_limit.then(|| {
        limited(
            ConnectLimit::LostSyns,
            format!(
                "{waited} connections took 1 s or longer to open, as after a lost SYN, and {} timed out: packets are lost, \
                 or the server's listen queue overflows",
                report.failures.timed_out
            ),
        )
    })
}

fn processors(
    report: &ConnectReport,
    conditions: &ConnectConditions,
) -> Option<ConnectLimitReport> {
    let cpu = report.cpu.as_ref()?;
    let busy = |usage: Option<Usage>| {
        usage.map_or(0.0, |usage| {
            usage.cpu_ns as f64 / usage.wall_ns.max(1) as f64
        })
    };
    let (client, server) = (busy(cpu.client), busy(cpu.server));
    let together = match conditions.ends {
        ConnectEnds::Apart => 0.0,
        ConnectEnds::OneHost => client + server,
        ConnectEnds::OneProcess => client.max(server),
    };
    let cpus = f64::from(conditions.client_cpus.max(1));
    if together >= MOST * cpus {
        let reason =
            format!("both ends, on one host, used {together:.1} of its {cpus:.0} processors");
        return Some(limited(ConnectLimit::HostProcessor, reason));
    }
    if conditions.ends == ConnectEnds::OneProcess {
        return None;
    }
    let usable = f64::from(conditions.parallel.min(conditions.client_cpus).max(1));
    if client >= MOST * usable {
        let reason = format!("the client used {client:.1} of {usable:.0} processors");
        return Some(limited(ConnectLimit::ClientProcessor, reason));
    }
    // One thread accepts all connections.
    (server >= MOST).then(|| {
        limited(
            ConnectLimit::ServerProcessor,
            format!("the server used {server:.1} processors"),
        )
    })
}

/// The time from the start of one connection to that of the next on the same thread, µs.
fn cycle_us(report: &ConnectReport, conditions: &ConnectConditions) -> Option<f64> {
    let per_s = report.per_s?.mean;
    (per_s > 0.0).then(|| f64::from(conditions.parallel) * 1e6 / per_s)
}

fn round_trips(
    report: &ConnectReport,
    conditions: &ConnectConditions,
) -> Option<ConnectLimitReport> {
    let rtt_us = report.connect?.min_us;
    let times = match report.first_byte {
        Some(_) => conditions.round_trips,
        None => conditions.round_trips - 1,
    };
    let cycle_us = cycle_us(report, conditions)?;
    // On a path this short the work of both hosts is most of a round trip.
    let is_path = rtt_us >= 500.0;
    (is_path && f64::from(times) * rtt_us >= MOST * cycle_us).then(|| {
        limited(
            ConnectLimit::RoundTrips,
            format!(
                "each connection waits for {times} round trips of {}; more at once (-P) open more",
                time(rtt_us)
            ),
        )
    })
}

fn one_at_a_time(
    report: &ConnectReport,
    conditions: &ConnectConditions,
) -> Option<ConnectLimitReport> {
    let cycle_us = cycle_us(report, conditions)?;
    (conditions.parallel == 1 && conditions.scheduled_per_s.is_none()).then(|| {
        limited(
            ConnectLimit::OneAtATime,
            format!(
                "each connection waits for the one before it, which takes {}; more at once (-P) may open more",
                time(cycle_us)
            ),
        )
    })
}

fn time(us: f64) -> String {
    Unit::Seconds.show(us / 1e6)
}

fn short(per_s: f64) -> String {
    if per_s >= 10.0 || per_s.fract() == 0.0 {
        format!("{per_s:.0}")
    } else {
        format!("{per_s:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::connect::{ConnectFailures, ConnectTimes};
    use caudal_core::run::CpuReport;
    use caudal_stats::Estimate;

    const CONDITIONS: ConnectConditions = ConnectConditions {
        parallel: 1,
        round_trips: 2,
        scheduled_per_s: None,
        client_cpus: 2,
        timeout_s: 5.0,
        ends: ConnectEnds::Apart,
        local_ports: Some(28_232),
        time_wait: Some(28_000),
    };

    fn usage(busy: f64) -> Option<Usage> {
        Some(Usage {
            cpu_ns: (busy * 1e10) as u64,
            wall_ns: 10_000_000_000,
            ..Usage::default()
        })
    }

    fn report(per_s: f64, rtt_us: f64, busy: (f64, f64)) -> ConnectReport {
        let times = ConnectTimes {
            n: 1000,
            min_us: rtt_us,
            mean_us: rtt_us,
            p50_us: rtt_us,
            p90_us: None,
            p99_us: None,
            p99_9_us: None,
            max_us: rtt_us,
        };
        ConnectReport {
            elapsed_s: 10.0,
            attempts: (per_s * 10.0) as u64,
            completed: (per_s * 10.0) as u64,
            per_s: Some(Estimate::single(per_s)),
            connect: Some(times),
            first_byte: Some(times),
            cpu: Some(CpuReport {
                client: usage(busy.0),
                server: usage(busy.1),
            }),
            ..ConnectReport::default()
        }
    }

    fn limit(report: &ConnectReport, conditions: &ConnectConditions) -> ConnectLimit {
        find_limit(report, conditions).limit
    }

    #[test]
    fn each_limit_is_named_over_a_grid_of_paths_and_numbers() {
        for rtt_ms in [1.0, 10.0, 75.0, 300.0] {
            for parallel in [1, 8, 64] {
                let conditions = ConnectConditions {
                    parallel,
                    ..CONDITIONS
                };
                let rtt_us = rtt_ms * 1e3;
                let per_s = f64::from(parallel) * 1e6 / (2.0 * rtt_us + 40.0);
                let found = report(per_s, rtt_us, (0.1, 0.1));
                assert_eq!(limit(&found, &conditions), ConnectLimit::RoundTrips);
            }
        }
    }

    #[test]
    fn processors_ports_and_losses_are_told_apart() {
        let local = |busy| report(18_000.0, 20.0, busy);
        assert_eq!(
            limit(&local((0.5, 0.4)), &CONDITIONS),
            ConnectLimit::OneAtATime
        );
        assert_eq!(
            limit(&local((0.9, 0.4)), &CONDITIONS),
            ConnectLimit::ClientProcessor
        );
        assert_eq!(
            limit(&local((0.5, 0.9)), &CONDITIONS),
            ConnectLimit::ServerProcessor
        );
        let eight = ConnectConditions {
            parallel: 8,
            ..CONDITIONS
        };
        assert_eq!(limit(&local((1.0, 0.4)), &eight), ConnectLimit::Unknown);
        let mut lossy = local((0.1, 0.1));
        lossy.syn_retransmitted = lossy.attempts / 50;
        assert_eq!(limit(&lossy, &CONDITIONS), ConnectLimit::LostSyns);
        // Two that took all but the first of ten seconds.
        let mut silent = local((0.1, 0.1));
        silent.failures.timed_out = 2;
        assert_eq!(limit(&silent, &CONDITIONS), ConnectLimit::LostSyns);
        let mut short_of_ports = local((0.9, 0.9));
        short_of_ports.failures = ConnectFailures {
            no_local_port: 3,
            ..ConnectFailures::default()
        };
        let found = find_limit(&short_of_ports, &CONDITIONS);
        assert_eq!(found.limit, ConnectLimit::EphemeralPorts);
        assert!(found.reason.contains("28232") && found.reason.contains("TIME_WAIT"));
    }

    #[test]
    fn ends_on_one_host_share_its_processors() {
        let busy = |ends, client, server| {
            let conditions = ConnectConditions { ends, ..CONDITIONS };
            limit(&report(18_000.0, 20.0, (client, server)), &conditions)
        };
        let both = ConnectLimit::HostProcessor;
        assert_eq!(busy(ConnectEnds::OneHost, 0.9, 0.8), both);
        assert_eq!(busy(ConnectEnds::OneProcess, 1.8, 1.8), both);
        let one = ConnectLimit::OneAtATime;
        assert_eq!(busy(ConnectEnds::OneProcess, 1.0, 1.0), one);
        assert_eq!(busy(ConnectEnds::OneHost, 0.5, 0.4), one);
    }

    #[test]
    fn a_schedule_is_the_limit_only_where_it_was_kept() {
        let conditions = ConnectConditions {
            scheduled_per_s: Some(100.0),
            parallel: 4,
            ..CONDITIONS
        };
        let mut found = report(100.0, 20.0, (0.1, 0.1));
        assert_eq!(limit(&found, &conditions), ConnectLimit::Schedule);
        found.attempts /= 2;
        assert_ne!(limit(&found, &conditions), ConnectLimit::Schedule);
    }
}
