//! `caudal study check`: the size of an experiment, and whether it can run here.

use caudal_core::quantity::Unit;
use caudal_study::predictions::predict_cases_by_formulas;
use caudal_study::{PreparedExperiment, THIS_MACHINE, Testbed};

use super::args::{ChangeArgs, CheckArgs};
use super::execute::report_removed_labs;
use super::program::ThisProgram;
use super::source::find_experiment;
use crate::exit::{Exit, Failure};
use crate::output::line_width;
use crate::output::sink::print;
use caudal_views::text::{about, within};

/// Prints the size of an experiment and checks that it can run here.
pub(super) fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let ChangeArgs { hosts, .. } = &args.change;
    let source = find_experiment(&args.what, &args.change.changes())?;
    let prepared = PreparedExperiment::new(source, hosts.as_ref().map(|hosts| hosts.0.clone()))?;
    let predictions = predict_cases_by_formulas(&prepared.campaign.cases, &prepared.testbeds);
    let campaign = &prepared.campaign;
    let baselines = campaign
        .cases
        .iter()
        .filter(|case| case.alone.is_some())
        .count();
    let (min_trials, max_trials) = prepared.trials();
    let (min_time, max_time) = prepared.time();
    let range = |low: String, high: String| {
        if low == high {
            low
        } else {
            format!("{low} to {high}")
        }
    };
    let lines = [
        format!("{}: {}", prepared.source.name, campaign.experiment.title),
        format!("testbed:  {}", testbed_text(&prepared)),
        format!(
            "cases:    {}, {} of them a flow alone",
            campaign.cases.len(),
            baselines
        ),
        format!(
            "trials:   {}",
            range(min_trials.to_string(), max_trials.to_string())
        ),
        format!("time:     {}", range(about(min_time), about(max_time))),
        format!(
            "payload:  about {} in the minimum number of trials",
            Unit::Bytes.show(prepared.payload_bytes(&predictions))
        ),
        format!("seed:     {}", campaign.seed),
    ];
    let folded: Vec<String> = lines
        .iter()
        .map(|line| within(line, 10, line_width()))
        .collect();
    print(&format!("{}\n", folded.join("\n")))?;
    report_removed_labs(&prepared.check_requirements(&ThisProgram)?);
    print("It can run here.\n")
}

/// The testbeds of an experiment.
fn testbed_text(prepared: &PreparedExperiment) -> String {
    let labs = prepared
        .testbeds
        .iter()
        .filter(|testbed| matches!(testbed, Testbed::Lab(_)))
        .count();
    match prepared.testbeds.first() {
        Some(Testbed::Hosts { at, .. }) => {
            let names: Vec<String> = at
                .iter()
                .map(|(name, address)| format!("{name} at {}", address.host))
                .collect();
            format!("{THIS_MACHINE} and {}", names.join(", "))
        }
        Some(Testbed::Loopback) if labs == 0 => {
            format!("{THIS_MACHINE}, over its loopback interface")
        }
        _ => "a lab on this machine, built for each trial".to_owned(),
    }
}
