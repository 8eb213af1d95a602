//! A network as an SVG drawing.

use super::quantities::{count, delay, rate};
use caudal_link::lab_report::{DirectionState, LabReport, LinkState, NodeState};
use caudal_plot::escaped;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;

const MIN_COLUMN: f64 = 250.0;
const MIN_ROW: f64 = 110.0;
/// The distance between a label and the nodes beside it.
const LABEL_MARGIN: f64 = 12.0;
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
#[must_use]
pub fn lab_svg(report: &LabReport) -> String {
    let columns = columns(report);
    let rows = columns.iter().map(Vec::len).max().unwrap_or(1);
    let spacing = NodeSpacing::new(report);
    let mut positions: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for (column, nodes) in columns.iter().enumerate() {
        // Every column is centred vertically.
        let first = TOP + (rows - nodes.len()) as f64 * spacing.row / 2.0;
        for (row, node) in nodes.iter().enumerate() {
            let at = (
                MARGIN + column as f64 * spacing.column,
                first + row as f64 * spacing.row,
            );
            positions.insert(node, at);
        }
    }
    let width = MARGIN * 2.0 + (columns.len().max(1) - 1) as f64 * spacing.column + WIDTH;
    let height = TOP + rows as f64 * spacing.row + 30.0;
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
    let direction = ScreenDirection::between(from, to);
    // The label of a vertical link is beside the line.
    let (label_x, anchor) = if direction.is_vertical() {
        (mx + 8.0, "start")
    } else {
        (mx, "middle")
    };
    draw_label(svg, &label_lines(link, direction), (label_x, my), anchor);
}

/// The distances between nodes that leave room for the labels of links.
struct NodeSpacing {
    column: f64,
    row: f64,
}

impl NodeSpacing {
    fn new(report: &LabReport) -> Self {
        let mut spacing = Self {
            column: MIN_COLUMN,
            row: MIN_ROW,
        };
        for link in &report.links {
            let lines = label_lines(link, ScreenDirection::Right);
            let wide = WIDTH + label_width(&lines) + 2.0 * LABEL_MARGIN;
            spacing.column = spacing.column.max(wide);
            spacing.row = spacing.row.max(label_height(&lines) + LABEL_MARGIN);
        }
        spacing
    }
}

/// The direction in which a link leads from its first end to its second in the drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScreenDirection {
    Right,
    Left,
    Down,
    Up,
}

impl ScreenDirection {
    fn between(from: (f64, f64), to: (f64, f64)) -> Self {
        let is_vertical = (from.0 - to.0).abs() < 1.0;
        match (is_vertical, from.0 < to.0, from.1 < to.1) {
            (false, true, _) => Self::Right,
            (false, false, _) => Self::Left,
            (true, _, true) => Self::Down,
            (true, _, false) => Self::Up,
        }
    }

    const fn is_vertical(self) -> bool {
        matches!(self, Self::Down | Self::Up)
    }

    /// The directions of `link` with their arrows: first the one to the right or down.
    const fn arrows(self, link: &LinkState) -> [(&'static str, &DirectionState); 2] {
        match self {
            Self::Right => [("→", &link.forward), ("←", &link.backward)],
            Self::Left => [("→", &link.backward), ("←", &link.forward)],
            Self::Down => [("↓", &link.forward), ("↑", &link.backward)],
            Self::Up => [("↓", &link.backward), ("↑", &link.forward)],
        }
    }
}

/// A line of text on a link.
struct LabelLine {
    class: &'static str,
    text: String,
    /// The usual width of a letter in its font.
    letter: f64,
}

impl LabelLine {
    fn new(class: &'static str, text: String) -> Self {
        let letter = match class {
            "name" => 7.6,
            "" => 6.8,
            _ => 6.2,
        };
        Self {
            class,
            text,
            letter,
        }
    }
}

/// The name of a link, its rate and delay, its other effects on frames, what it delivered and what it dropped.
fn label_lines(link: &LinkState, direction: ScreenDirection) -> Vec<LabelLine> {
    let arrows = direction.arrows(link);
    let [(first_arrow, first), (second_arrow, second)] = arrows;
    let mut lines = vec![LabelLine::new("name", link.name.clone())];
    let properties = |direction: &DirectionState| {
        let mut properties = vec![rate(direction)];
        properties.extend(delay(direction));
        if link.duplex != "full" {
            properties.push(link.duplex.clone());
        }
        properties.join(", ")
    };
    let both_alike = first.impairments == second.impairments;
    if both_alike && properties(first) == properties(second) {
        lines.push(LabelLine::new("", properties(first)));
    } else {
        lines.extend(arrows.map(|(arrow, direction)| {
            LabelLine::new("", format!("{arrow} {}", properties(direction)))
        }));
    }
    for (arrow, direction) in arrows.iter().take(if both_alike { 1 } else { 2 }) {
        let lead = if both_alike {
            String::new()
        } else {
            format!("{arrow} ")
        };
        let shown = direction.impairments.iter();
        lines.extend(shown.map(|text| LabelLine::new("small", format!("{lead}{text}"))));
    }
    let [one, other] = arrows.map(|(_, direction)| count(direction.delivered().frames));
    lines.push(LabelLine::new(
        "small",
        format!("{first_arrow} {one}  {second_arrow} {other}"),
    ));
    let dropped = first.dropped() + second.dropped();
    if dropped > 0 {
        lines.push(LabelLine::new(
            "lost",
            format!("{} dropped", count(dropped)),
        ));
    }
    lines
}

/// The height of a line of a label.
const LINE: f64 = 14.0;

fn label_width(lines: &[LabelLine]) -> f64 {
    let widths = lines
        .iter()
        .map(|line| line.text.chars().count() as f64 * line.letter);
    widths.fold(0.0, f64::max)
}

fn label_height(lines: &[LabelLine]) -> f64 {
    lines.len() as f64 * LINE + 6.0
}

/// A label centred on `y`; one that is centred on the line hides it behind the text.
fn draw_label(svg: &mut String, lines: &[LabelLine], (x, y): (f64, f64), anchor: &str) {
    let height = label_height(lines);
    let top = y - height / 2.0;
    if anchor == "middle" {
        let width = label_width(lines);
        let _ = writeln!(
            svg,
            "<rect class=\"plate\" x=\"{:.0}\" y=\"{top:.0}\" width=\"{width:.0}\" height=\"{height:.0}\"/>",
            x - width / 2.0,
        );
    }
    for (nth, line) in lines.iter().enumerate() {
        let _ = writeln!(
            svg,
            "<text class=\"{}\" x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"{anchor}\">{}</text>",
            line.class,
            top + LINE * (nth as f64 + 1.0) - 1.0,
            escaped(&line.text)
        );
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

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_link::counters::FrameTotals;
    use caudal_link::lab_report::{KernelCounters, LinkCounters};
    use std::collections::BTreeMap;

    fn direction(rate: u64, frames: u64) -> DirectionState {
        let totals = |frames| FrameTotals { frames, bytes: 0 };
        DirectionState {
            rate_bps: Some(rate),
            delay_us: 0.0,
            impairments: vec![],
            counters: LinkCounters::Kernel(KernelCounters {
                offered: totals(frames),
                delivered: totals(frames),
                held: totals(0),
                dropped: BTreeMap::new(),
            }),
        }
    }

    #[test]
    fn arrows_point_where_the_frames_go_in_the_drawing() {
        let link = LinkState {
            name: "line".to_owned(),
            between: ["a", "b"].map(str::to_owned),
            devices: ["eth0", "eth0"].map(str::to_owned),
            driver: "kernel".to_owned(),
            duplex: "full".to_owned(),
            mtu: 1500,
            segmentation: true,
            forward: direction(1_000_000, 7),
            backward: direction(2_000_000, 9),
        };
        let table = [
            (
                (0.0, 0.0),
                (9.0, 0.0),
                ["→ 1 Mbit/s", "← 2 Mbit/s", "→ 7  ← 9"],
            ),
            (
                (9.0, 5.0),
                (0.0, 0.0),
                ["→ 2 Mbit/s", "← 1 Mbit/s", "→ 9  ← 7"],
            ),
            (
                (0.0, 0.0),
                (0.0, 9.0),
                ["↓ 1 Mbit/s", "↑ 2 Mbit/s", "↓ 7  ↑ 9"],
            ),
            (
                (0.0, 9.0),
                (0.0, 0.0),
                ["↓ 2 Mbit/s", "↑ 1 Mbit/s", "↓ 9  ↑ 7"],
            ),
        ];
        for (from, to, texts) in table {
            let lines = label_lines(&link, ScreenDirection::between(from, to));
            let shown: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(shown[1..], texts, "{from:?} to {to:?}");
        }
    }
}
