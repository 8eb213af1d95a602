//! `caudal study show`: the file of an experiment, or the cases it unfolds into.

use caudal_core::quantity::Unit;
use caudal_experiment::{Case, FlowKindFile};
use caudal_study::{PreparedExperiment, Testbed, offered_rate};

use super::args::ShowStudyArgs;
use super::progress::within;
use super::source::find_experiment;
use crate::exit::{Exit, Failure};
use crate::output::fold;

/// The file of an experiment, or its cases, as text.
pub(super) fn show(args: &ShowStudyArgs) -> Result<String, Failure> {
    let source = find_experiment(&args.what, &args.change.changes())?;
    let is_as_written =
        args.change.set.is_empty() && !args.change.quick && args.change.seed.is_none();
    if is_as_written && !args.cases {
        // A file with errors can be shown as well.
        return Ok(source.text);
    }
    let prepared = PreparedExperiment::new(source, None)?;
    if !args.cases {
        return toml::to_string(&prepared.campaign.experiment).map_err(|error| {
            Failure::new(
                Exit::Failed,
                format!("cannot write the experiment: {error}"),
                "",
            )
        });
    }
    let cases = prepared.campaign.cases.iter().zip(&prepared.testbeds);
    Ok(cases
        .map(|(case, testbed)| case_text(case, testbed))
        .collect())
}

/// A case with its flows.
fn case_text(case: &Case, testbed: &Testbed) -> String {
    let title = case
        .title
        .as_ref()
        .map_or(String::new(), |title| format!(": {title}"));
    let mut text = format!("{}\n", fold(&format!("{}{title}", case.key), 2));
    for flow in &case.flows {
        let rate = match offered_rate(flow, testbed) {
            Ok(Some(bps)) => format!(", {}", Unit::BitPerSecond.show(bps)),
            _ => String::new(),
        };
        let count = if flow.count > 1 {
            format!("{} × ", flow.count)
        } else {
            String::new()
        };
        let kind = match flow.kind {
            FlowKindFile::Tcp => "TCP",
            FlowKindFile::Udp => "UDP",
            FlowKindFile::Rtt => "echo over TCP",
            FlowKindFile::RttUdp => "echo over UDP",
            FlowKindFile::File => "file",
            FlowKindFile::Path => "path",
        };
        let congestion = flow
            .congestion
            .as_ref()
            .map_or(String::new(), |name| format!(", {name}"));
        let line = format!(
            "  {}: {count}{kind} {} > {}{congestion}{rate}",
            flow.name, flow.from, flow.to
        );
        text.push_str(&within(&line, 6));
        text.push('\n');
    }
    text
}
