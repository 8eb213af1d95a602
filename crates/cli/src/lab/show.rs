//! A network drawn as a tree of text.

use std::collections::BTreeSet;
use std::fmt::Write;

use caudal_core::quantity::Unit;
use caudal_lab::{DirectionState, LabReport, LinkState, NodeState};

/// The network as seen from its first host; what closes a ring is named again and drawn once.
pub(super) fn text(report: &LabReport) -> String {
    let title = report.title.as_deref().unwrap_or("a network");
    let mut text = format!("{}: {title}\n\n", report.name);
    let mut seen = Seen {
        nodes: BTreeSet::new(),
        links: BTreeSet::new(),
    };
    for node in &report.nodes {
        if !seen.nodes.contains(&node.name) {
            text.push_str(&node_line(node));
            text.push('\n');
            branch(report, node, "", &mut seen, &mut text);
        }
    }
    text
}

struct Seen {
    nodes: BTreeSet<String>,
    links: BTreeSet<String>,
}

fn branch(report: &LabReport, node: &NodeState, margin: &str, seen: &mut Seen, text: &mut String) {
    seen.nodes.insert(node.name.clone());
    let links: Vec<&LinkState> = report
        .links
        .iter()
        .filter(|link| link.between.contains(&node.name) && !seen.links.contains(&link.name))
        .collect();
    for (place, link) in links.iter().enumerate() {
        // A ring may have led here meanwhile.
        if !seen.links.insert(link.name.clone()) {
            continue;
        }
        let is_last = place + 1 == links.len();
        let (corner, below) = if is_last {
            ("└─", "   ")
        } else {
            ("├─", "│  ")
        };
        let near = usize::from(link.between[0] != node.name);
        let far = &link.between[1 - near];
        let _ = writeln!(text, "{margin}{corner} {}", link_line(link, near));
        let inner = format!("{margin}{below}");
        let _ = writeln!(text, "{inner}{}", traffic_line(link, near));
        let Some(other) = report.nodes.iter().find(|node| node.name == *far) else {
            continue;
        };
        if seen.nodes.contains(far) {
            let _ = writeln!(text, "{inner}{far}  (above)");
        } else {
            let _ = writeln!(text, "{inner}{}", node_line(other));
            branch(report, other, &inner, seen, text);
        }
    }
}

fn node_line(node: &NodeState) -> String {
    let addresses: Vec<&str> = node
        .interfaces
        .iter()
        .filter_map(|interface| interface.addresses.first().map(String::as_str))
        .collect();
    let shown = match addresses.len() {
        0..=3 => addresses.join(" "),
        more => format!("{} and {} more", addresses[..2].join(" "), more - 2),
    };
    format!("{}  {}  {shown}", node.name, node.kind)
        .trim_end()
        .to_owned()
}

fn link_line(link: &LinkState, near: usize) -> String {
    let (out, back) = directions(link, near);
    let mut words = vec![link.name.clone()];
    words.push(match (rate(out), rate(back)) {
        (one, other) if one == other => one,
        (one, other) => format!("{one} →, {other} ←"),
    });
    words.extend(match (delay(out), delay(back)) {
        (one, other) if one == other => one,
        (one, other) => Some(format!(
            "{} →, {} ←",
            one.unwrap_or_else(|| "0".to_owned()),
            other.unwrap_or_else(|| "0".to_owned())
        )),
    });
    if link.duplex != "full" {
        words.push(format!("{} duplex", link.duplex));
    }
    words.push(link.driver.clone());
    words.join("  ")
}

fn traffic_line(link: &LinkState, near: usize) -> String {
    let (out, back) = directions(link, near);
    let one = |arrow: &str, direction: &DirectionState| {
        let dropped = direction.dropped();
        let lost = if dropped > 0 {
            format!(" ({} dropped)", count(dropped))
        } else {
            String::new()
        };
        let delivered = direction.delivered().frames;
        // One frame, two frames.
        let unit = if delivered == 1 {
            direction.counters.unit().trim_end_matches('s')
        } else {
            direction.counters.unit()
        };
        format!("{arrow} {} {unit}{lost}", count(delivered))
    };
    format!("{}   {}", one("→", out), one("←", back))
}

fn directions(link: &LinkState, near: usize) -> (&DirectionState, &DirectionState) {
    match near {
        0 => (&link.forward, &link.backward),
        _ => (&link.backward, &link.forward),
    }
}

/// A rate as predictions show it: `10 Mbit/s`.
pub(super) fn rate(direction: &DirectionState) -> String {
    direction.rate_bps.map_or_else(
        || "no rate limit".to_owned(),
        |bps| Unit::BitPerSecond.show(bps as f64),
    )
}

/// A delay as predictions show it, when there is one.
pub(super) fn delay(direction: &DirectionState) -> Option<String> {
    (direction.delay_us > 0.0).then(|| Unit::Seconds.show(direction.delay_us / 1e6))
}

/// A count in groups of three digits.
pub(super) fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(' ');
        }
        grouped.push(digit);
    }
    grouped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_read_in_groups_of_three() {
        let table = [
            (0, "0"),
            (999, "999"),
            (1000, "1 000"),
            (1_234_567, "1 234 567"),
        ];
        for (number, text) in table {
            assert_eq!(count(number), text);
        }
    }
}
