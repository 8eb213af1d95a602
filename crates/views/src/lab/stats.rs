//! The counters of a network as a table.

use std::fmt::Write;

use super::quantities::count;
use crate::aligned::Alignment::{Left, Right};
use crate::aligned::aligned;
use caudal_link::lab_report::{DeliveryLateness, DirectionState, LabReport, LinkState};

/// A row for each direction of each link, then collisions, drops by reason, and the lateness of the emulator.
#[must_use]
pub fn lab_stats(report: &LabReport) -> String {
    let heads = [
        "link",
        "direction",
        "offered",
        "delivered",
        "dropped",
        "queue max",
    ];
    let mut rows = vec![heads.map(str::to_owned)];
    for link in &report.links {
        rows.extend(directions(link).map(|(near, direction)| row(link, near, direction)));
    }
    // Names are aligned to the left, numbers to the right.
    let mut text = aligned(&rows, &[Left, Left, Right]).join("\n");
    text.push('\n');
    let collided: String = report.links.iter().map(collisions).collect();
    if !collided.is_empty() {
        text.push_str(
            "\nHalf duplex (frames sent after one collision, after several, given up, collided late)\n",
        );
        text.push_str(&collided);
    }
    let dropped: String = report.links.iter().map(reasons).collect();
    if !dropped.is_empty() {
        text.push_str("\nDropped, by reason\n");
        text.push_str(&dropped);
    }
    if let Some(emulator) = &report.emulator {
        let _ = writeln!(
            text,
            "\nThe emulator ({}, {}) read {} frames in {} packets and delivered {} in {}{}.",
            emulator.device,
            emulator.scheduling,
            count(emulator.frames_read),
            count(emulator.packets_read),
            count(emulator.frames_delivered),
            count(emulator.packets_delivered),
            emulator.cpu_s.map_or(String::new(), |cpu| format!(
                ": {cpu:.2} s of CPU in {:.0} s",
                report.up_s
            ))
        );
        let _ = writeln!(text, "{}", lateness(&emulator.whole));
    }
    for warning in &report.warnings {
        let _ = writeln!(text, "Warning: {warning}.");
    }
    for note in &report.notes {
        let _ = writeln!(text, "Note: {note}.");
    }
    text
}

fn row(link: &LinkState, near: usize, direction: &DirectionState) -> [String; 6] {
    [
        if near == 0 {
            link.name.clone()
        } else {
            String::new()
        },
        format!("{} → {}", link.between[near], link.between[1 - near]),
        count(direction.offered()),
        count(direction.delivered().frames),
        count(direction.dropped()),
        direction
            .max_queue_bytes()
            .map_or_else(|| "–".to_owned(), |bytes| format!("{} B", count(bytes))),
    ]
}

/// Both directions of a link, each with the end it begins at.
fn directions(link: &LinkState) -> [(usize, &DirectionState); 2] {
    [(0, &link.forward), (1, &link.backward)]
}

/// The collisions at both ends of a link.
fn collisions(link: &LinkState) -> String {
    let lines = directions(link)
        .into_iter()
        .filter_map(|(near, direction)| {
            let collisions = direction.collisions()?;
            Some(format!(
                "  {} at {}: {} collisions; {}, {}, {}, {}\n",
                link.name,
                link.between[near],
                count(collisions.all),
                count(collisions.single),
                count(collisions.multiple),
                count(collisions.excessive),
                count(collisions.late)
            ))
        });
    lines.collect()
}

/// The frames that both directions of a link dropped, by reason.
fn reasons(link: &LinkState) -> String {
    let lines = directions(link)
        .into_iter()
        .filter_map(|(near, direction)| {
            let dropped = direction.dropped_by_reason();
            let counts = dropped.iter();
            let counts: Vec<String> = counts
                .map(|(reason, frames)| format!("{} {reason}", count(*frames)))
                .collect();
            let (from, to) = (&link.between[near], &link.between[1 - near]);
            (!counts.is_empty()).then(|| format!("  {from} → {to}: {}\n", counts.join(", ")))
        });
    lines.collect()
}

fn lateness(lateness: &DeliveryLateness) -> String {
    let (Some(p50), Some(p99), Some(max)) = (lateness.p50_us, lateness.p99_us, lateness.max_us)
    else {
        return "It has not delivered a frame yet.".to_owned();
    };
    format!(
        "It was late by {p50:.0} us (p50), {p99:.0} us (p99), {max:.0} us (max); {} frames by more than 10 ms.",
        count(lateness.stalls)
    )
}
