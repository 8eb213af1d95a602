//! The predictions for a topology as text.

use super::table::table;
use super::text::{Arithmetic, arithmetic_lines};
use crate::text;
use crate::width::LineWidth;
use caudal_core::prediction::{Method, Prediction};
use caudal_core::quantity::{Unit, rate, time};
use caudal_predict::topology_report::{PredictedFlow, TopologyReport};
use caudal_topology::Hop;
use std::time::Duration;

/// The columns by which the later lines of a paragraph are indented.
const INDENT: usize = 4;

/// The lines of the report.
#[must_use]
pub fn topology_lines(
    report: &TopologyReport<'_>,
    arithmetic: Arithmetic,
    width: LineWidth,
) -> Vec<String> {
    let fold = |line: &str| text::fold(line, INDENT, width);
    let question = report.question;
    let title = question.topology.title.as_deref();
    let title = title.unwrap_or(question.name);
    let simulated = format!(
        "{} of virtual time, {}",
        time(question.time),
        report.runs.seeds()
    );
    let mut lines = vec![fold(&format!(
        "Goodput of flows over {title}: by formula, and simulated for {simulated}"
    ))];
    for (index, flow) in report.flows.iter().enumerate() {
        lines.push(String::new());
        lines.extend(flow_lines(report, index, flow, width));
    }
    if !report.links.is_empty() {
        let first = format!("links, seed {}", report.runs.first.seed);
        lines.extend([String::new(), first]);
        lines.extend(indented_table(&report.links));
    }
    let result = &report.runs.first.result;
    if result.cut_short {
        let end = Duration::from_nanos(result.end.as_ns());
        let notice = format!(
            "the simulation was cut short after {} events, at {}",
            result.events,
            time(end)
        );
        lines.extend([String::new(), fold(&notice)]);
    }
    if report.runs.count() < question.seeds as usize {
        let notice = format!(
            "{} of {} seeds simulated: more would exceed the limit of events",
            report.runs.count(),
            question.seeds
        );
        lines.extend([String::new(), fold(&notice)]);
    }
    let predictions = report.predictions();
    let formulas = predictions.filter(|prediction| prediction.method == Method::Formula);
    lines.extend(arithmetic_lines(formulas, arithmetic, width));
    lines
}

/// The ends of a flow, its path, its predictions, and where its formulas and its simulation differ.
fn flow_lines(
    report: &TopologyReport<'_>,
    index: usize,
    flow: &PredictedFlow,
    width: LineWidth,
) -> Vec<String> {
    let fold = |line: &str| text::fold(line, INDENT, width);
    let [from, to] = report.ends(flow);
    let heading = format!(
        "flow {}: {from} > {to}, {}",
        index + 1,
        flow.flow.description
    );
    let path = flow.forecast.path.iter();
    let hops: Vec<String> = path.map(|hop| hop_text(report, *hop)).collect();
    let mut lines = vec![fold(&heading), fold(&format!("  over {}", hops.join(", ")))];
    lines.extend(indented_table(&flow.predictions));
    if let Some(reason) = &flow.forecast.not_covered {
        let notice = format!("  TCP goodput: the formula does not cover this: {reason}");
        lines.push(fold(&notice));
    }
    let spread = report.runs.goodput(index);
    if let Some(spread) = spread.filter(|spread| !spread.is_constant()) {
        let shown = spread.show(Unit::BitPerSecond);
        let notice = format!("  goodput simulated with {}: {shown}", report.runs.seeds());
        lines.push(fold(&notice));
    }
    let differences = flow.differences.iter();
    lines.extend(differences.map(|difference| fold(&format!("  {difference}"))));
    lines
}

fn indented_table(predictions: &[Prediction]) -> Vec<String> {
    let mut indented = predictions.to_vec();
    for prediction in &mut indented {
        prediction.title = format!("  {}", prediction.title);
    }
    table(&indented)
}

/// A link with its impairments in the direction of the hop.
fn hop_text(report: &TopologyReport<'_>, hop: Hop) -> String {
    let topology = report.question.topology;
    let link = &topology.links[hop.link];
    let impairments = topology.impairments(hop);
    let mut properties = vec![match &impairments.rate {
        Some(setup) => match setup.constant() {
            Some(constant) => rate(constant),
            None => format!("up to {}", rate(setup.max())),
        },
        None if impairments.paths.is_empty() => "no rate limit".to_owned(),
        None => format!("{} paths", impairments.paths.len()),
    }];
    if !impairments.delay.is_zero() {
        properties.push(time(impairments.delay));
    }
    if topology.is_half_duplex(hop) {
        properties.push("half duplex".to_owned());
    }
    if impairments.loss > 0.0 {
        properties.push(format!("loss {}", Unit::Share.show(impairments.loss)));
    }
    if impairments.policer.is_some() {
        properties.push("policer".to_owned());
    }
    if impairments.shaper.is_some() {
        properties.push("shaper".to_owned());
    }
    format!(
        "{} ({}, MTU {})",
        link.name,
        properties.join(", "),
        link.mtu
    )
}
