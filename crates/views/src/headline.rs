//! A test in a line before it begins: what is sent, to whom, how and how often, a function for each workload. `peer` is the other end as people are shown it.

use super::text::{counted, fold, listed, percent};
use super::width::LineWidth;
use caudal_core::plan::{
    ConnectPlan, Direction, Directions, EchoPlan, EchoSchedule, Omit, Plan, QualityPlan, Rate,
    StampPlan, TestEnd, Transport,
};
use caudal_core::transfer::TransferCell;
use caudal_core::units::format_duration;
use std::time::Duration;

/// Maximum number of names in a list.
const MAX_NAMES: usize = 6;

/// What ends a bulk transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BulkEnding {
    /// What its plan says.
    Planned,
    /// The user.
    Interrupt,
}

/// A bulk transfer.
#[must_use]
pub fn bulk_headline(peer: &str, plan: &Plan, ending: BulkEnding, width: LineWidth) -> String {
    let Some(bulk) = plan.bulk() else {
        return String::new();
    };
    let directions = match bulk.directions {
        Directions::Up => "upload",
        Directions::Down => "download",
        Directions::Both => "both directions",
    };
    let end = match bulk.end {
        TestEnd::Time(_) if ending == BulkEnding::Interrupt => " until ^C".to_owned(),
        TestEnd::Time(time) => format!(" for {}", format_duration(time)),
        TestEnd::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => {
            ", to the end of the input".to_owned()
        }
        TestEnd::Bytes(bytes) => format!(", {bytes} a direction"),
    };
    let warm_up = match bulk.omit {
        Omit::Time(time) => format!(" after a warm-up (*) of {}", format_duration(time)),
        Omit::Nothing | Omit::Auto => String::new(),
    };
    let rate = match bulk.rate {
        Rate::Max => String::new(),
        Rate::Limit(rate) => format!(", {rate} a flow"),
    };
    let transport = plan.transport();
    let unit = match transport {
        Transport::Tcp => "blocks",
        Transport::Udp => "datagrams",
    };
    let flows = counted(u64::from(bulk.parallel), "flow");
    let length = bulk.length;
    let line = format!(
        "{transport} with {peer}, {directions}, {flows}{end}{warm_up}{rate}, {unit} of {length} B"
    );
    fold(&line, 4, width)
}

/// Round trips; `time` and `count` are those asked for. The line is not folded.
#[must_use]
pub fn rtt_headline(
    peer: &str,
    plan: &EchoPlan,
    (time, count): (Option<Duration>, Option<u64>),
) -> String {
    let number = match (time, count) {
        (Some(time), None) => format!("for {}, messages", format_duration(time)),
        (Some(time), Some(count)) => format!(
            "for up to {}, {}",
            format_duration(time),
            counted(count, "message")
        ),
        (None, _) => counted(plan.count, "message"),
    };
    let sizes = match plan.sizes.as_slice() {
        [size] => format!("{size} B"),
        sizes => format!("each of {} sizes", sizes.len()),
    };
    let schedule = match plan.schedule {
        EchoSchedule::StopAndWait => "one after another".to_owned(),
        EchoSchedule::Every { period, poisson } => {
            let gaps = if poisson {
                " on average (exponential gaps)"
            } else {
                ""
            };
            format!("one every {}{gaps}", format_duration(period))
        }
    };
    let clients = counted(u64::from(plan.clients), "client");
    let transport = plan.transport;
    format!("{transport} round trips with {peer}: {clients}, {number} of {sizes}, {schedule}")
}

/// Connections that are opened one after another or on a schedule.
#[must_use]
pub fn connect_headline(peer: &str, plan: &ConnectPlan, width: LineWidth) -> String {
    let schedule = match (plan.scheduled_per_s(), plan.parallel) {
        (Some(per_s), 1) => format!("{per_s} a second, one at a time"),
        (Some(per_s), parallel) => format!("{per_s} a second, up to {parallel} at a time"),
        (None, 1) => "one after another".to_owned(),
        (None, parallel) => format!("{parallel} at a time"),
    };
    let kind = if plan.tls { "TCP and TLS 1.3" } else { "TCP" };
    let count = plan
        .count
        .map_or_else(String::new, |count| format!(" or {count} connections"));
    let time = format_duration(plan.time);
    let line = format!("{kind} connections to {peer}: {schedule}, for {time}{count}");
    fold(&line, 4, width)
}

/// Packets that a reflector of STAMP sends back.
#[must_use]
pub fn stamp_headline(peer: &str, plan: &StampPlan, width: LineWidth) -> String {
    let gaps = match plan.poisson {
        true => " on average (exponential gaps)",
        false => "",
    };
    let mode = match plan.is_authenticated {
        true => ", authenticated",
        false => "",
    };
    let line = format!(
        "STAMP with {peer}: {} of {} B, one every {}{gaps}{mode}",
        counted(plan.count, "packet"),
        plan.length,
        format_duration(plan.period)
    );
    fold(&line, 4, width)
}

/// Latency under load: the phases and their flows.
#[must_use]
pub fn quality_headline(peer: &str, phases: &[QualityPlan], width: LineWidth) -> String {
    let each: Vec<String> = phases
        .iter()
        .map(|phase| format!("{} {}", phase.load.name(), format_duration(phase.time)))
        .collect();
    let flows = phases.first().map_or(0, |phase| phase.parallel);
    let line = format!(
        "latency under load with {peer}: {}; {} a direction, probes over UDP and TCP",
        each.join(", "),
        counted(u64::from(flows), "TCP flow"),
    );
    fold(&line, 4, width)
}

/// How often each transfer of a campaign is made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TransferRuns {
    /// Once.
    One,
    /// So often, in random order after one that is discarded.
    Several(u32),
    /// So often in a pilot, then as often as an error takes that is this part of the mean time.
    Pilot(u32, f64),
}

/// File transfers: what is transferred by what, and how often. The line is not folded.
#[must_use]
pub fn file_headline(
    peer: &str,
    direction: Direction,
    cells: &[TransferCell],
    runs: TransferRuns,
) -> String {
    let direction = match direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    };
    let contents = list(cells.iter().map(TransferCell::content));
    let names = list(cells.iter().map(TransferCell::name));
    let repeated = match runs {
        TransferRuns::One => String::new(),
        TransferRuns::Several(1) => "; one run of each after one that is discarded".to_owned(),
        TransferRuns::Several(runs) => format!("; {runs} runs of each in random order"),
        TransferRuns::Pilot(runs, error) => format!(
            "; a pilot of {runs} runs of each, then as many as an error of {} takes",
            percent(error)
        ),
    };
    format!("file transfer with {peer}, {direction}: {contents} by {names}{repeated}")
}

/// Each name once, in words.
fn list(names: impl Iterator<Item = String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for name in names {
        if !distinct.contains(&name) {
            distinct.push(name);
        }
    }
    let more = distinct.len().saturating_sub(MAX_NAMES);
    if more > 0 {
        distinct.truncate(MAX_NAMES);
        distinct.push(format!("{more} more"));
    }
    listed(&distinct)
}
