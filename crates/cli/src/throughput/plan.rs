//! The plan of a bulk transfer from its flags.

use crate::args::{OmitArg, OutputArgs, RateArg, TrafficArgs};
use crate::exit::Failure;
use crate::machine_checks::{check_affinity, check_local_ports};
use crate::measure_failure::plan_failure;
use caudal_core::marks::Dscp;
use caudal_core::plan::{
    BulkPlan, Directions, MAX_DURATION, MAX_INTERVALS, Omit, Plan, Rate, TestEnd,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::LocalOptions;
use caudal_measure::{MAX_RUNS, Repetitions, SummaryOptions};
use std::time::Duration;

/// The default duration of a test.
const TIME: Duration = Duration::from_secs(10);
/// Maximum of `--repeat`.
const MAX_REPEAT: u32 = 10_000;

/// The settings TCP and UDP share, as the flags give them.
pub(super) fn bulk_plan(traffic: &TrafficArgs, length: u32, rate: RateArg) -> BulkPlan {
    BulkPlan {
        directions: match (traffic.reverse, traffic.bidir) {
            (_, true) => Directions::Both,
            (true, _) => Directions::Down,
            _ => Directions::Up,
        },
        parallel: traffic.parallel,
        end: match (traffic.bytes, traffic.time) {
            (Some(bytes), _) => TestEnd::Bytes(bytes),
            (None, Some(Duration::ZERO)) => TestEnd::Time(endless(traffic)),
            (None, time) => TestEnd::Time(time.unwrap_or(TIME)),
        },
        interval: traffic.interval,
        omit: match traffic.omit {
            None => Omit::Nothing,
            Some(OmitArg::Auto) => Omit::Auto,
            Some(OmitArg::Time(time)) => Omit::Time(time),
        },
        rate: match rate {
            RateArg::Max => Rate::Max,
            RateArg::Limit(rate) => Rate::Limit(rate),
        },
        length,
        window: traffic.window,
        dscp: traffic.dscp.map(Dscp::get),
        same_machine: false,
    }
}

/// The settings that concern this end alone, as the flags give them.
pub(super) fn local_options(traffic: &TrafficArgs) -> LocalOptions {
    LocalOptions {
        affinity: traffic.affinity.clone(),
        partial: traffic.partial,
        local_port: traffic.local_port,
        start_at_ns: traffic.at.map(|at| at.0),
        ..LocalOptions::default()
    }
}

/// How often the test is carried out.
pub(super) const fn repetitions(traffic: &TrafficArgs) -> Repetitions {
    match traffic.until {
        Some(relative_error) => Repetitions::UntilPrecise {
            relative_error,
            max: if traffic.repeat > 1 {
                traffic.repeat
            } else {
                MAX_RUNS
            },
        },
        None => Repetitions::Count(traffic.repeat),
    }
}

/// What the summary is made with.
pub(super) const fn summary_options(traffic: &TrafficArgs, output: &OutputArgs) -> SummaryOptions {
    SummaryOptions {
        link_rate: traffic.link_rate,
        confidence: output.confidence,
    }
}

/// `true` for a test that goes on until the user ends it: `--time 0`, as iperf3 has it.
pub(super) fn is_endless(traffic: &TrafficArgs) -> bool {
    traffic.bytes.is_none() && traffic.time == Some(Duration::ZERO)
}

/// The longest test that its intervals leave room for.
fn endless(traffic: &TrafficArgs) -> Duration {
    let intervals = u32::try_from(MAX_INTERVALS).unwrap_or(u32::MAX);
    let reported = traffic.interval.saturating_mul(intervals);
    let omitted = match traffic.omit {
        Some(OmitArg::Time(time)) => time,
        Some(OmitArg::Auto) | None => Duration::ZERO,
    };
    reported.saturating_sub(omitted).min(MAX_DURATION)
}

/// Checks a plan.
///
/// # Errors
/// Names the flag that is out of range.
pub(super) fn check(plan: &Plan) -> Result<(), Failure> {
    plan.check().map_err(|error| plan_failure(&error))
}

/// The bytes of a block or datagram.
pub(super) fn length(size: ByteCount) -> Result<u32, Failure> {
    u32::try_from(size.get()).map_err(|_| {
        Failure::usage(
            format!("--length {size} is too large"),
            "at most 4Mi for TCP, 65507 for UDP",
        )
    })
}

/// Checks the rate of a link.
///
/// # Errors
/// When it is too low for any.
pub fn check_link_rate(rate: Option<BitRate>) -> Result<(), Failure> {
    match rate.filter(|rate| rate.bps() < 1000) {
        Some(rate) => Err(Failure::usage(
            format!("--link-rate is {rate}"),
            "it must be at least 1 kbit/s",
        )),
        None => Ok(()),
    }
}

/// Checks the flags that concern this end alone.
pub(super) fn check_local(traffic: &TrafficArgs) -> Result<(), Failure> {
    check_link_rate(traffic.link_rate)?;
    if is_endless(traffic) && (traffic.repeat > 1 || traffic.until.is_some()) {
        return Err(Failure::usage(
            "--time 0 is a test until ^C, and --repeat and --until need one that ends by itself",
            "give --time 10s, or leave them out",
        ));
    }
    check_affinity(&traffic.affinity)?;
    let directions = if traffic.bidir { 2 } else { 1 };
    let flows = traffic.parallel.saturating_mul(directions);
    check_local_ports(traffic.local_port, flows)?;
    if traffic.repeat == 0 || traffic.repeat > MAX_REPEAT {
        return Err(Failure::usage(
            format!("--repeat is {}", traffic.repeat),
            format!("it must lie between 1 and {MAX_REPEAT}"),
        ));
    }
    Ok(())
}
