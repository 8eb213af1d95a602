//! The plan of a bulk transfer from its flags.

use crate::args::{OmitArg, OutputArgs, RateArg, TargetArgs, TrafficArgs};
use crate::exit::Failure;
use crate::plan_failure::plan_failure;
use caudal_core::dscp::Dscp;
use caudal_core::plan::{
    BulkPlan, Directions, MAX_DURATION, MAX_INTERVALS, Omit, Plan, Rate, TestEnd,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::LocalOptions;
use caudal_sys::affinity;
use std::time::Duration;

/// The default duration of a test.
const TIME: Duration = Duration::from_secs(10);
/// Maximum of `--repeat`.
const MAX_REPEAT: u32 = 10_000;

/// The settings of a throughput command beyond its plan.
pub(super) struct Settings<'a> {
    pub(super) target: &'a TargetArgs,
    pub(super) traffic: &'a TrafficArgs,
    pub(super) output: &'a OutputArgs,
    pub(super) local: LocalOptions,
}

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
    let available = affinity::available_cpus();
    if let Some(cpu) = traffic.affinity.iter().find(|cpu| !available.contains(cpu)) {
        return Err(Failure::usage(
            format!("--affinity names processor {cpu}, which this program may not use"),
            format!("it may use {available:?}"),
        ));
    }
    if traffic.repeat == 0 || traffic.repeat > MAX_REPEAT {
        return Err(Failure::usage(
            format!("--repeat is {}", traffic.repeat),
            format!("it must lie between 1 and {MAX_REPEAT}"),
        ));
    }
    Ok(())
}
