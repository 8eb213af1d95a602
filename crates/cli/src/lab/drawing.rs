//! A network as an SVG drawing.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

use caudal_lab::{DirectionState, LabReport, LinkState, NodeState};

use super::text::{count, delay, rate};
use caudal_plot::escaped;

const COLUMN: f64 = 250.0;
const ROW: f64 = 110.0;
const MARGIN: f64 = 30.0;
const TOP: f64 = 60.0;
const WIDTH: f64 = 120.0;
const HEIGHT: f64 = 48.0;

const STYLE: &str = "
  svg { background: #ffffff; font-family: system-ui, 'DejaVu Sans', sans-serif; }
  text { fill: #1a1a1a; font-size: 12px; }
  .title { font-size: 15px; font-weight: 600; }
  .name { font-weight: 600; font-size: 13px; }
  .small { font-size: 11px; fill: #555555; }
  .lost { font-size: 11px; fill: #b3261e; }
  .node { fill: #eef3fa; stroke: #35618e; stroke-width: 1.4; }
  .switch, .hub { fill: #f6f0e2; stroke: #8a6d1f; }
  .link { stroke: #35618e; stroke-width: 2; }
  .half { stroke-dasharray: 6 4; }
  .kernel { stroke: #7a7a7a; }
  .plate { fill: #ffffff; }
  @media (prefers-color-scheme: dark) {
    svg { background: #16181c; }
    text { fill: #e8e8e8; }
    .small { fill: #a8a8a8; }
    .lost { fill: #ff8a80; }
    .node { fill: #20304a; stroke: #86b0dd; }
    .switch, .hub { fill: #3a3320; stroke: #d8b95a; }
    .link { stroke: #86b0dd; }
    .kernel { stroke: #9a9a9a; }
    .plate { fill: #16181c; }
  }";

/// The network from left to right, by distance in links from its first host.
pub(super) fn svg(report: &LabReport) -> String {
    let columns = columns(report);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(1);
    let mut positions: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (column, nodes) in columns.iter().enumerate() {
        // Every column is centred vertically.
        let first = TOP + (rows - nodes.len()) as f64 * ROW / 2.0;
        for (row, node) in nodes.iter().enumerate() {
            let at = (MARGIN + column as f64 * COLUMN, first + row as f64 * ROW);
            positions.insert(node, at);
        }
    }
    let width = MARGIN * 2.0 + (columns.len().max(1) - 1) as f64 * COLUMN + WIDTH;
    let height = TOP + rows as f64 * ROW + 30.0;
    let title = report.title.as_deref().unwrap_or("a network");
    let heading = format!("{}: {title}", report.name);
    // A long title widens the drawing.
    let width = width.max(MARGIN * 2.0 + heading.chars().count() as f64 * 8.2);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<style>{STYLE}\n</style>\n"
    );
    let _ = writeln!(svg, "<title>{}</title>", escaped(&heading));
    let _ = writeln!(
        svg,
        "<text class=\"title\" x=\"{MARGIN}\" y=\"28\">{}</text>",
        escaped(&heading)
    );
    let mut drawn_between: BTreeMap<[&str; 2], usize> = BTreeMap::new();
    for link in &report.links {
        let [one, other] = link.between.each_ref().map(String::as_str);
        let (Some(from), Some(to)) = (positions.get(one), positions.get(other)) else {
            continue;
        };
        let pair = if one < other {
            [one, other]
        } else {
            [other, one]
        };
        let parallel = drawn_between.entry(pair).or_insert(0);
        draw_link(&mut svg, link, *from, *to, *parallel);
        *parallel += 1;
    }
    for node in &report.nodes {
        if let Some(at) = positions.get(node.name.as_str()) {
            draw_node(&mut svg, node, *at);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// The nodes by their distance from the first one, in links.
fn columns(report: &LabReport) -> Vec<Vec<&str>> {
    let mut distance: BTreeMap<&str, usize> = BTreeMap::new();
    for start in &report.nodes {
        if distance.contains_key(start.name.as_str()) {
            continue;
        }
        distance.insert(&start.name, 0);
        let mut queue = VecDeque::from([start.name.as_str()]);
        while let Some(node) = queue.pop_front() {
            let next = distance.get(node).map_or(0, |distance| distance + 1);
            for link in &report.links {
                let [one, other] = link.between.each_ref().map(String::as_str);
                let neighbour = match node {
                    near if near == one => other,
                    near if near == other => one,
                    _ => continue,
                };
                if !distance.contains_key(neighbour) {
                    distance.insert(neighbour, next);
                    queue.push_back(neighbour);
                }
            }
        }
    }
    let count = distance.values().max().map_or(0, |max| max + 1);
    let mut columns = vec![Vec::new(); count];
    for node in &report.nodes {
        if let Some(distance) = distance.get(node.name.as_str()) {
            columns[*distance].push(node.name.as_str());
        }
    }
    columns
}

fn draw_link(
    svg: &mut String,
    link: &LinkState,
    from: (f64, f64),
    to: (f64, f64),
    parallel: usize,
) {
    let centre = |(x, y): (f64, f64)| (x + WIDTH / 2.0, y + HEIGHT / 2.0);
    let ((x1, y1), (x2, y2)) = (centre(from), centre(to));
    let half = if link.duplex == "full" { "" } else { " half" };
    // Parallel links between the same nodes are bent away from one another.
    let bend = if parallel == 0 {
        0.0
    } else {
        70.0 * parallel.div_ceil(2) as f64 * if parallel % 2 == 1 { 1.0 } else { -1.0 }
    };
    let (mx, my) = (f64::midpoint(x1, x2), f64::midpoint(y1, y2) + bend);
    let _ = writeln!(
        svg,
        "<path class=\"link {}{half}\" fill=\"none\" d=\"M{x1:.0} {y1:.0} Q{mx:.0} {:.0} {x2:.0} {y2:.0}\"/>",
        escaped(&link.driver),
        my + bend
    );
    // The label of a vertical link is beside the line.
    let (label_x, anchor) = if (x1 - x2).abs() < 1.0 {
        (mx + 8.0, "start")
    } else {
        (mx, "middle")
    };
    draw_label(svg, &LinkLabel::new(link), (label_x, my), anchor);
}

/// The four lines of text on a link; empty lines are not drawn.
struct LinkLabel<'a> {
    name: &'a str,
    properties: String,
    traffic: String,
    dropped: String,
}

impl<'a> LinkLabel<'a> {
    fn new(link: &'a LinkState) -> Self {
        let (forward, backward) = (rate(&link.forward), rate(&link.backward));
        let mut properties = if forward == backward {
            forward
        } else {
            format!("{forward} / {backward}")
        };
        if let Some(delay) = delay(&link.forward) {
            properties.push_str(&format!(", {delay}"));
        }
        if link.duplex != "full" {
            properties.push_str(&format!(", {}", link.duplex));
        }
        let directions = [&link.forward, &link.backward];
        let dropped: u64 = directions.into_iter().map(DirectionState::dropped).sum();
        let [forward, backward] = directions.map(|direction| direction.delivered().frames);
        Self {
            name: &link.name,
            properties,
            traffic: format!("→ {}  ← {}", count(forward), count(backward)),
            dropped: if dropped > 0 {
                format!("{} dropped", count(dropped))
            } else {
                String::new()
            },
        }
    }

    /// The width of the longest line, from the usual width of a letter in its font.
    fn width(&self) -> f64 {
        [
            (self.name, 7.6),
            (self.properties.as_str(), 6.8),
            (self.traffic.as_str(), 6.2),
            (self.dropped.as_str(), 6.2),
        ]
        .map(|(text, letter)| text.chars().count() as f64 * letter)
        .into_iter()
        .fold(0.0, f64::max)
    }
}

/// A label around `y`; one that is centred on the line hides it behind the text.
fn draw_label(svg: &mut String, label: &LinkLabel<'_>, (x, y): (f64, f64), anchor: &str) {
    if anchor == "middle" {
        let width = label.width();
        let height = if label.dropped.is_empty() { 50 } else { 64 };
        let _ = writeln!(
            svg,
            "<rect class=\"plate\" x=\"{:.0}\" y=\"{:.0}\" width=\"{width:.0}\" height=\"{height}\"/>",
            x - width / 2.0,
            y - 30.0
        );
    }
    for (class, text, dy) in [
        ("name", label.name, -18.0),
        ("", &label.properties, -4.0),
        ("small", &label.traffic, 14.0),
        ("lost", &label.dropped, 28.0),
    ] {
        if !text.is_empty() {
            let _ = writeln!(
                svg,
                "<text class=\"{class}\" x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
                y + dy,
                escaped(text)
            );
        }
    }
}

fn draw_node(svg: &mut String, node: &NodeState, (x, y): (f64, f64)) {
    let round = if node.kind == "host" { 8 } else { 2 };
    let _ = writeln!(
        svg,
        "<rect class=\"node {}\" x=\"{x:.0}\" y=\"{y:.0}\" width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"{round}\"/>",
        escaped(&node.kind)
    );
    let middle = x + WIDTH / 2.0;
    let below = node
        .interfaces
        .first()
        .and_then(|interface| interface.addresses.first())
        .map_or_else(
            || node.kind.clone(),
            |address| format!("{} {address}", node.kind),
        );
    let _ = writeln!(
        svg,
        "<text class=\"name\" x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        y + 20.0,
        escaped(&node.name)
    );
    let _ = writeln!(
        svg,
        "<text class=\"small\" x=\"{middle:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>",
        y + 37.0,
        escaped(&below)
    );
}
