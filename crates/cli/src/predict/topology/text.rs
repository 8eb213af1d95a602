//! The predictions for a topology as text.

use super::report::{PredictedFlow, TopologyReport};
use crate::output::text::fold;
use crate::predict::output;
use caudal_core::prediction::{Method, Prediction};
use caudal_core::quantity::{Unit, rate, time};
use caudal_topology::Hop;
use std::time::Duration;

/// The columns by which the later lines of a paragraph are indented.
const INDENT: usize = 4;

/// The lines of the report.
pub(super) fn text(report: &TopologyReport<'_>) -> Vec<String> {
    let title = report.topology.title.as_deref();
    let title = title.unwrap_or(&report.args.what.what);
    let simulated = format!(
        "{} of virtual time, seed {}",
        time(report.args.time),
        report.seed
    );
    let mut lines = vec![fold(
        &format!("Goodput of flows over {title}: by formula, and simulated for {simulated}"),
        INDENT,
    )];
    for (index, flow) in report.flows.iter().enumerate() {
        lines.push(String::new());
        lines.extend(flow_lines(report, index, flow));
    }
    if !report.links.is_empty() {
        lines.extend([String::new(), "links".to_owned()]);
        lines.extend(indented_table(&report.links));
    }
    if report.result.cut_short {
        let end = Duration::from_nanos(report.result.end.as_ns());
        let notice = format!(
            "the simulation was cut short after {} events, at {}",
            report.result.events,
            time(end)
        );
        lines.extend([String::new(), fold(&notice, INDENT)]);
    }
    if report.args.output.explain {
        let formulas = report
            .predictions()
            .filter(|prediction| prediction.method == Method::Formula);
        lines.extend(formulas.flat_map(output::explanation));
    } else {
        lines.extend([String::new(), output::HINT.to_owned()]);
    }
    lines
}

/// The ends of a flow, its path, its predictions, and where its formulas and its simulation differ.
fn flow_lines(report: &TopologyReport<'_>, index: usize, flow: &PredictedFlow) -> Vec<String> {
    let [from, to] = report.ends(flow);
    let heading = format!(
        "flow {}: {from} > {to}, {}",
        index + 1,
        flow.spec.description
    );
    let path = flow.forecast.path.iter();
    let hops: Vec<String> = path.map(|hop| hop_text(report, *hop)).collect();
    let mut lines = vec![
        fold(&heading, INDENT),
        fold(&format!("  over {}", hops.join(", ")), INDENT),
    ];
    lines.extend(indented_table(&flow.predictions));
    let differences = flow.differences.iter();
    lines.extend(differences.map(|difference| fold(&format!("  {difference}"), INDENT)));
    lines
}

fn indented_table(predictions: &[Prediction]) -> Vec<String> {
    let mut indented = predictions.to_vec();
    for prediction in &mut indented {
        prediction.title = format!("  {}", prediction.title);
    }
    output::table(&indented)
}

/// A link with its impairments in the direction of the hop.
fn hop_text(report: &TopologyReport<'_>, hop: Hop) -> String {
    let link = &report.topology.links[hop.link];
    let impairments = report.topology.impairments(hop);
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
    if report.topology.is_half_duplex(hop) {
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
