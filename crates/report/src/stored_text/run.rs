//! A recorded run or trial as text.

use super::entries::{tag_list, utc};
use crate::document::RunDocument;
use caudal_core::run::Run;
use caudal_core::text::ExternalText;
use caudal_experiment::Trial;
use caudal_store::{StoredRun, short_id};
use caudal_views::list::kind_view;
use caudal_views::machines::machine_lines;
use caudal_views::search_table;
use caudal_views::text::fold;
use caudal_views::width::LineWidth;

/// Maximum number of rows for a trial's metrics and flows; JSON has them all.
const MAX_ROWS: usize = 100;

/// A run or a trial, with its result and its machines.
#[must_use]
pub fn run_lines(
    run: &StoredRun,
    document: &RunDocument,
    tags: &[ExternalText],
    width: LineWidth,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4, width));
    let title = run
        .title
        .as_ref()
        .map_or_else(String::new, |title| format!(": {title}"));
    push(format!(
        "{} {} of {}, {}{title}{}",
        run.kind,
        run.id,
        utc(run.started_ns),
        run.outcome,
        tag_list(tags)
    ));
    let with = run
        .peer
        .as_ref()
        .map_or_else(String::new, |peer| format!(", with {peer}"));
    push(format!("  by {}{with}", run.tool));
    if !run.command.is_empty() {
        push(format!("  command: {}", run.command));
    }
    if let Some(of) = &run.trial {
        let baseline = if of.baseline { ", solo baseline" } else { "" };
        push(format!(
            "  case {}{baseline}, repetition {}, trial {} of study {}",
            of.case,
            of.repeat,
            of.position,
            short_id(&of.study)
        ));
    }
    match document {
        RunDocument::Run(run) => lines.extend(result_lines(run, width)),
        RunDocument::Trial(trial) => lines.extend(trial_lines(trial, width)),
    }
    lines.extend(machine_lines(&run.environment, width));
    if !run.series.is_empty() {
        let values: usize = run.series.iter().map(|series| series.values.len()).sum();
        lines.push(format!(
            "raw samples: {values} in {} series",
            run.series.len()
        ));
    }
    lines
}

/// The result of a run as its command closed with it, its flows and its warnings.
fn result_lines(run: &Run, width: LineWidth) -> Vec<String> {
    if run.search().is_some() {
        return search_table::closing_lines(run, width);
    }
    let lines = kind_view(run.kind()).recorded(run, width);
    lines.iter().map(|line| line.text(width)).collect()
}

/// The metrics of a trial, its flows and its warnings.
fn trial_lines(trial: &Trial, width: LineWidth) -> Vec<String> {
    let metrics = trial.metrics.iter().take(MAX_ROWS);
    let mut lines: Vec<String> = metrics
        .map(|(name, value)| format!("  {name} = {value}"))
        .collect();
    if trial.flows.len() > 1 {
        lines.push(format!("{} flows:", trial.flows.len()));
        let shown = trial.flows.iter().take(MAX_ROWS);
        lines.extend(shown.map(|flow| {
            let failure = flow.failure.clone().unwrap_or_default();
            fold(&format!("  {}: {failure}", flow.name), 4, width)
        }));
    }
    let discarded = trial.discarded.iter();
    lines.extend(discarded.map(|why| fold(&format!("discarded: {why}"), 4, width)));
    let warnings = trial.warnings.iter();
    lines.extend(warnings.map(|why| fold(&format!("warning: {why}"), 4, width)));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::run::RunOutcome;
    use serde_json::{Value, json};

    fn stored(document: Value) -> StoredRun {
        let mut run: Run = serde_json::from_value(document).unwrap();
        run.header.id = "1a2b3c4d5e6f708192a3b4c5d6e7f809".into();
        run.header.command =
            Some("iperf3 -c 192.0.2.1 -t 10 -P 4 --a-flag --another-flag --and-one-more".into());
        let environment = json!({
            "client": {"name": "evil\u{1b}[2J", "kernel": "6.1.0", "load_average": 0.5},
            "machine": {"meanwhile": {"load_average_before": [0.5, 0.0, 0.0], "load_average_after": [1.5, 0.0, 0.0],
                "cpu": {"idle": 0.9, "soft_irq": 0.01, "steal": 0.25}}},
        });
        StoredRun {
            title: Some(
                "A title that goes on and on, beyond what one line of a terminal holds".into(),
            ),
            environment: serde_json::from_value(environment).unwrap(),
            ..StoredRun::new(run, 1_795_295_439_123_000_000, RunOutcome::Done)
        }
    }

    fn shown(document: Value) -> String {
        let run = stored(document);
        let document = RunDocument::try_from(&run.document).unwrap();
        let lines = run_lines(&run, &document, &["golden".into()], LineWidth::UNLIMITED);
        lines.join("\n")
    }

    #[test]
    fn an_imported_run_is_shown_by_what_its_log_reports() {
        let text = shown(json!({
            "schema": "caudal.run/1", "id": "1a", "tool": {"name": "iperf3"},
            "plan": {"kind": "udp"},
            "flows": [
                {"id": 0, "direction": "up", "receiver": {"bytes": 1_000_000, "lost": 3}},
                {"id": 1, "direction": "up", "sender": {"tcp": {"retransmits": 7}}},
            ],
            "summary": {"goodput_bps": 1e9, "directions": [
                {"direction": "up", "goodput_bps": 941e6, "bytes": 1_000_000, "loss": {"lost": 3, "sent": 100}},
            ]},
            "warnings": [{"code": "x", "message": "the log ends in the middle", "remedy": "copy all of it"}],
        }));
        for expected in [
            "upload: 941 Mbit/s",
            "transferred: 1 MB received",
            "100 sent, unknown received, 3 lost",
            "2 flows:",
            "0: up, 1 MB received, 3 lost",
            "1: up, 7 retransmitted",
            "warning: the log ends in the middle; copy all of it",
            "tags: golden",
            "load 0.5 before and 1.5 after",
            "processors stolen 25 %",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing:\n{text}");
        }
        assert!(!text.contains('\u{1b}'), "{text:?}");
    }

    #[test]
    fn a_run_without_results_is_shown_by_what_is_known_of_it() {
        let text = shown(json!({
            "schema": "caudal.run/1", "id": "1a", "tool": {"name": "iperf3"}, "plan": {},
        }));
        assert!(text.contains("1a2b3c4d5e6f708192a3b4c5d6e7f809"), "{text}");
    }
}
