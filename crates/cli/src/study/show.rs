//! `caudal study show`: the file of an experiment, or the cases it unfolds into.

use caudal_experiment::FlowSpec;
use caudal_study::{PreparedExperiment, offered_rate};
use caudal_views::study::case_text;

use super::args::ShowStudyArgs;
use super::source::find_experiment;
use crate::exit::{Exit, Failure};
use crate::output::line_width;

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
    let texts = cases.map(|(case, testbed)| {
        let offered_bps = |flow: &FlowSpec| offered_rate(flow, testbed).ok().flatten();
        case_text(case, offered_bps, line_width())
    });
    Ok(texts.collect())
}
