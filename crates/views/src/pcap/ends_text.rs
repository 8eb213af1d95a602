//! What two captures of one flow tell together, for people.

use super::tcp_text::rtt_text;
use crate::text::{indented_within, percent, time_us};
use crate::width::LineWidth;
use caudal_capture::{
    ClockBetweenEnds, EndsComparison, EndsDirection, MiddleChange, MiddleChangeKind,
};
use caudal_core::quantity::{short, size};

/// The lines of a comparison of the captures with these names.
#[must_use]
pub fn ends_lines(
    comparison: &EndsComparison,
    sender: &str,
    receiver: &str,
    width: LineWidth,
) -> Vec<String> {
    let mut texts = vec![
        format!("{} > {}", comparison.client, comparison.server),
        way("sender to receiver", &comparison.there),
        way("receiver to sender", &comparison.back),
    ];
    texts.extend(clock(&comparison.clock));
    if comparison.changes.is_empty() {
        texts.push("nothing else differs between the two captures".to_owned());
    }
    texts.extend(comparison.changes.iter().map(change));
    texts.push(format!("sender: {sender}; receiver: {receiver}"));
    let lines = texts
        .iter()
        .flat_map(|text| indented_within(text, "", "    ", width));
    lines.collect()
}

fn way(name: &str, way: &EndsDirection) -> String {
    let share = if way.sent > 0 {
        format!(" ({})", percent(way.lost as f64 / way.sent as f64))
    } else {
        String::new()
    };
    let delay = way.delay.as_ref().map_or_else(
        || "delay: cannot tell".to_owned(),
        |delay| format!("delay {} (min/avg/max)", rtt_text(delay)),
    );
    let duplicated = if way.duplicated > 0 {
        format!("; {} duplicated", short(way.duplicated as f64))
    } else {
        String::new()
    };
    let unsent = if way.unsent > 0 {
        format!(
            "; {} arrived that were not seen leaving",
            short(way.unsent as f64)
        )
    } else {
        String::new()
    };
    let beyond = if way.not_compared > 0 {
        format!(
            "; {} packets after these were not compared: give --filter \"time 0s..10s\" for a part of the flow",
            short(way.not_compared as f64)
        )
    } else {
        String::new()
    };
    format!(
        "{name}: {} of {} lost{share}, {}{duplicated}; {delay}{unsent}{beyond}",
        short(way.lost as f64),
        short(way.sent as f64),
        size(way.lost_bytes)
    )
}

fn clock(clock: &ClockBetweenEnds) -> Vec<String> {
    let Some(offset) = clock.offset_us else {
        let why = clock.cannot_tell.as_ref();
        let why = why.map_or_else(String::new, |why| format!(", because {why}"));
        return vec![format!("clocks: cannot tell their offset{why}")];
    };
    let side = if offset < 0.0 { "behind" } else { "ahead of" };
    let error = clock.min_rtt_us.map_or_else(String::new, |rtt| {
        format!(
            ", wrong by at most {}: half the shortest round trip, which is taken to be the same each way",
            time_us(rtt / 2.0)
        )
    });
    let skew = match clock.skew_ppm {
        Some(skew) => format!(
            "skew of the clocks: {} ppm",
            short((skew * 10.0).round() / 10.0)
        ),
        None => "skew of the clocks: cannot tell, the time is too short".to_owned(),
    };
    vec![
        format!(
            "the receiver's clock is {} {side} the sender's{error}",
            time_us(offset.abs())
        ),
        skew,
    ]
}

fn change(change: &MiddleChange) -> String {
    let what = match change.kind {
        MiddleChangeKind::Mss => "MSS",
        MiddleChangeKind::Options => "options of the SYN",
        MiddleChangeKind::Ttl => "TTL",
        MiddleChangeKind::Dscp => "DSCP",
        MiddleChangeKind::Ecn => "ECN",
        MiddleChangeKind::Segmentation => "largest frame",
        MiddleChangeKind::Addresses => "addresses",
        MiddleChangeKind::SequenceNumbers => "sequence numbers",
    };
    let of = if change.of_client { "client" } else { "server" };
    format!(
        "changed: {what} of the {of}'s packets: {} where they leave, {} where they arrive",
        change.sent, change.arrived
    )
}
