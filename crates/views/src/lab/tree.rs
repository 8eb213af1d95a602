//! A network as a tree of text.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::quantities::{count, delay, rate};
use caudal_link::lab_report::{DirectionState, LabReport, LinkState, NodeState};

/// The network from its first host on; a node that closes a ring is named a second time without its links.
#[must_use]
pub fn lab_tree(report: &LabReport) -> String {
    let title = report.title.as_deref().unwrap_or("a network");
    let mut text = format!("{}: {title}\n\n", report.name);
    let mut drawn = DrawnItems {
        nodes: BTreeSet::new(),
        links: BTreeSet::new(),
    };
    for node in &report.nodes {
        if !drawn.nodes.contains(&node.name) {
            text.push_str(&node_line(node));
            text.push('\n');
            branch(report, node, "", &mut drawn, &mut text);
        }
    }
    text
}

/// The nodes and links that are drawn already.
struct DrawnItems {
    nodes: BTreeSet<String>,
    links: BTreeSet<String>,
}

fn branch(
    report: &LabReport,
    node: &NodeState,
    margin: &str,
    drawn: &mut DrawnItems,
    text: &mut String,
) {
    drawn.nodes.insert(node.name.clone());
    let links: Vec<&LinkState> = report
        .links
        .iter()
        .filter(|link| link.between.contains(&node.name) && !drawn.links.contains(&link.name))
        .collect();
    for (place, link) in links.iter().enumerate() {
        // The link may have been drawn from its other end, as part of a ring.
        if !drawn.links.insert(link.name.clone()) {
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
        for line in impairment_lines(link, near) {
            let _ = writeln!(text, "{inner}{line}");
        }
        let _ = writeln!(text, "{inner}{}", traffic_line(link, near));
        let Some(other) = report.nodes.iter().find(|node| node.name == *far) else {
            continue;
        };
        if drawn.nodes.contains(far) {
            let _ = writeln!(text, "{inner}{far}  (above)");
        } else {
            let _ = writeln!(text, "{inner}{}", node_line(other));
            branch(report, other, &inner, drawn, text);
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
    let mut properties = vec![link.name.clone()];
    properties.push(match (rate(out), rate(back)) {
        (one, other) if one == other => one,
        (one, other) => format!("{one} →, {other} ←"),
    });
    properties.extend(match (delay(out), delay(back)) {
        (one, other) if one == other => one,
        (one, other) => Some(format!(
            "{} →, {} ←",
            one.unwrap_or_else(|| "0".to_owned()),
            other.unwrap_or_else(|| "0".to_owned())
        )),
    });
    if link.duplex != "full" {
        properties.push(format!("{} duplex", link.duplex));
    }
    properties.push(link.driver.clone());
    properties.join("  ")
}

/// The queue, loss, jitter and the like of a link, in one line where both directions have the same.
fn impairment_lines(link: &LinkState, near: usize) -> Vec<String> {
    let (out, back) = directions(link, near);
    let line = |direction: &DirectionState| direction.impairments.join(", ");
    let lines = if out.impairments == back.impairments {
        vec![line(out)]
    } else {
        vec![format!("→ {}", line(out)), format!("← {}", line(back))]
    };
    lines
        .into_iter()
        .filter(|line| !line.trim_matches(['→', '←', ' ']).is_empty())
        .collect()
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
