//! `caudal report show`: a run with its result and its machines; a study with its state, its verdict and its trials.

use super::answer::AnswerArgs;
use super::list;
use super::unknown_name::{list_tagged, unknown_id};
use crate::exit::Failure;
use crate::output::{fold, line_width};
use crate::recording::short;
use caudal_core::date::rfc3339;
use caudal_core::host::Host;
use caudal_core::run::{Environment, MachineLoad, Run};
use caudal_core::text::ExternalText;
use caudal_experiment::Trial;
use caudal_report::export::ExportError;
use caudal_report::{RunDocument, campaign_cases, conclusion_sentences, verdict_sentences};
use caudal_store::{Filter, Store, StoreEntry, StoredItem, StoredRun, StoredStudy};
use caudal_views::list::kind_view;
use caudal_views::search_table;
use caudal_views::text;
use serde_json::{Value, json};

/// Maximum number of rows for a study's cases and a run's flows; JSON has them all.
const MAX_ROWS: usize = 100;

/// `caudal report show`
#[derive(Debug, Clone, clap::Args)]
pub struct ShowArgs {
    /// The run or study
    #[arg(value_name = "ID", default_value = "last")]
    pub id: String,
    /// The form of the answer.
    #[command(flatten)]
    pub answer: AnswerArgs,
}

/// Shows a run or a study.
pub(super) fn show(store: &Store, args: &ShowArgs) -> Result<(), Failure> {
    let item = store
        .find(&args.id)
        .map_err(|error| unknown_id(store, error, list_tagged))?;
    let tags = store.tags(item.id())?;
    let (lines, data) = match &item {
        StoredItem::Run(run) => {
            let document = RunDocument::try_from(&run.document).map_err(ExportError::from)?;
            let data = match &document {
                RunDocument::Run(run) => serde_json::to_string_pretty(run),
                RunDocument::Trial(trial) => serde_json::to_string_pretty(trial),
            };
            (run_lines(run, &document, &tags), data)
        }
        StoredItem::Study(study) => {
            let trials = store.list(&Filter {
                study: Some(study.id.clone()),
                ..Filter::default()
            })?;
            let data = serde_json::to_string_pretty(&study_json(study, &trials, &tags));
            (study_lines(study, &trials, &tags), data)
        }
    };
    let data = args.answer.json.then(|| data.unwrap_or_default());
    args.answer.print(&lines, data.as_deref())
}

fn joined(tags: &[ExternalText]) -> String {
    let tags: Vec<String> = tags.iter().map(ToString::to_string).collect();
    tags.join(", ")
}

/// A time in UTC, for people.
fn utc(ns: i64) -> String {
    let text = rfc3339(ns.max(0).unsigned_abs());
    format!("{} UTC", text[..19].replace('T', " "))
}

/// The tags as the end of a line.
fn tag_list(tags: &[ExternalText]) -> String {
    if tags.is_empty() {
        String::new()
    } else {
        format!("; tags: {}", joined(tags))
    }
}

/// A run or a trial, with its result and its machines.
fn run_lines(run: &StoredRun, document: &RunDocument, tags: &[ExternalText]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4));
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
            short(&of.study)
        ));
    }
    match document {
        RunDocument::Run(run) => lines.extend(result_lines(run)),
        RunDocument::Trial(trial) => lines.extend(trial_lines(trial)),
    }
    lines.extend(machines(&run.environment));
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
fn result_lines(run: &Run) -> Vec<String> {
    let width = line_width();
    if run.search().is_some() {
        return search_table::closing_lines(run, width);
    }
    let lines = kind_view(run.kind()).recorded(run, width);
    lines.iter().map(|line| line.text(width)).collect()
}

/// The metrics of a trial, its flows and its warnings.
fn trial_lines(trial: &Trial) -> Vec<String> {
    let metrics = trial.metrics.iter().take(MAX_ROWS);
    let mut lines: Vec<String> = metrics
        .map(|(name, value)| format!("  {name} = {value}"))
        .collect();
    if trial.flows.len() > 1 {
        lines.push(format!("{} flows:", trial.flows.len()));
        let shown = trial.flows.iter().take(MAX_ROWS);
        lines.extend(shown.map(|flow| {
            let failure = flow.failure.clone().unwrap_or_default();
            fold(&format!("  {}: {failure}", flow.name), 4)
        }));
    }
    let discarded = trial.discarded.iter();
    lines.extend(discarded.map(|why| fold(&format!("discarded: {why}"), 4)));
    let warnings = trial.warnings.iter();
    lines.extend(warnings.map(|why| fold(&format!("warning: {why}"), 4)));
    lines
}

/// The machines in a line or two each, and the load during the run.
fn machines(environment: &Environment) -> Vec<String> {
    let hosts = [
        ("client", &environment.client),
        ("server", &environment.server),
    ];
    let mut lines: Vec<String> = hosts
        .into_iter()
        .filter_map(|(name, host)| host_line(name, host.as_ref()?))
        .collect();
    let machine = environment.machine.as_ref();
    lines.extend(machine.and_then(|machine| load_line(machine.meanwhile.as_ref()?)));
    lines
}

/// A host: its name, kernel, processors and interface.
fn host_line(name: &str, host: &Host) -> Option<String> {
    let given = |text: &ExternalText| Some(text.to_string()).filter(|text| !text.is_empty());
    let kernel = given(&host.kernel).map(|kernel| format!("Linux {kernel}"));
    let cpu = given(&host.cpu).filter(|_| host.cpus > 0);
    let parts = [
        given(&host.name),
        kernel,
        cpu.map(|cpu| format!("{} × {cpu}", host.cpus)),
        host.interface
            .as_ref()
            .map(|interface| interface_text(interface, host)),
        host.congestion_control.as_ref().map(ToString::to_string),
        host.load_average.map(|load| format!("load {load}")),
        given(&host.tool),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let line = || fold(&format!("{name}: {}", parts.join(", ")), 4);
    (!parts.is_empty()).then(line)
}

/// The interface of a host with its properties.
fn interface_text(name: &ExternalText, host: &Host) -> String {
    let parts = [
        Some(name.to_string()),
        host.mtu.map(|mtu| format!("MTU {mtu}")),
        host.speed_mbps
            .map(|speed| text::bits(f64::from(speed) * 1e6)),
        host.driver.as_ref().map(ToString::to_string),
        host.qdisc.as_ref().map(ToString::to_string),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// The load of the machine during the run.
fn load_line(load: &MachineLoad) -> Option<String> {
    let averages = load.load_average_before.zip(load.load_average_after);
    let averages = averages
        .map(|([before, ..], [after, ..])| format!("load {before} before and {after} after"));
    let shares = load.cpu.map(|cpu| {
        [
            ("idle", cpu.idle),
            ("in interrupts", cpu.soft_irq),
            ("stolen", cpu.steal),
        ]
    });
    let shares = shares.into_iter().flatten();
    let shares = shares.map(|(name, share)| format!("processors {name} {}", text::percent(share)));
    let parts: Vec<String> = averages.into_iter().chain(shares).collect();
    let line = || fold(&format!("during the run: {}", parts.join(", ")), 4);
    (!parts.is_empty()).then(line)
}

/// A study with its cases, its events and its machines.
fn study_lines(study: &StoredStudy, trials: &[StoreEntry], tags: &[ExternalText]) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4));
    push(format!(
        "study {} {} of {}, {}: {}{}",
        study.name,
        study.id,
        utc(study.started_ns),
        study.state(),
        study.title,
        tag_list(tags)
    ));
    push(format!("  command: {}", study.command));
    push(format!("  seed: {}", study.seed));
    if study.state() != "done" {
        push(format!(
            "  resume with: caudal study resume {}",
            short(&study.id)
        ));
    }
    let verdict = verdict_sentences(study);
    let conclusions = conclusion_sentences(study);
    let sentences = verdict.iter().chain(&conclusions);
    lines.extend(sentences.map(|sentence| fold(sentence, 4)));
    // The cases of the campaign in its order, then others that have trials.
    let mut cases = campaign_cases(study);
    for trial in trials.iter().rev().filter_map(|entry| entry.trial.as_ref()) {
        if !cases.contains(&trial.case) {
            cases.push(trial.case.clone());
        }
    }
    lines.push(format!(
        "{} cases, {} trials so far:",
        cases.len(),
        trials.len()
    ));
    for case in cases.iter().take(MAX_ROWS) {
        let of_case = |entry: &&StoreEntry| {
            entry
                .trial
                .as_ref()
                .is_some_and(|trial| trial.case == *case)
        };
        let done: Vec<&StoreEntry> = trials.iter().filter(of_case).collect();
        let last = done.first().map_or_else(
            || "no trial yet".to_owned(),
            |entry| format!("{}×, last {}", done.len(), list::result(entry)),
        );
        lines.push(fold(&format!("  {case}: {last}"), 4));
    }
    if cases.len() > MAX_ROWS {
        lines.push(format!("  and {} more (--json)", cases.len() - MAX_ROWS));
    }
    for (at, event, detail) in &study.events {
        let detail = match detail {
            Value::String(text) => format!(": {text}"),
            _ => String::new(),
        };
        lines.push(fold(&format!("{}: {event}{detail}", utc(*at)), 4));
    }
    lines.extend(machines(&study.environment));
    lines
}

fn study_json(study: &StoredStudy, trials: &[StoreEntry], tags: &[ExternalText]) -> Value {
    let events: Vec<Value> = study
        .events
        .iter()
        .map(|(at, event, detail)| json!({"at_ns": at, "event": event, "detail": detail}))
        .collect();
    let trials: Vec<Value> = trials.iter().rev().map(list::to_json).collect();
    json!({
        "schema": "caudal.kept-study/1",
        "id": study.id,
        "name": study.name,
        "title": study.title,
        "started": rfc3339(study.started_ns.max(0) as u64),
        "started_ns": study.started_ns,
        "seed": study.seed,
        "command": study.command,
        "state": study.state(),
        "tags": tags,
        "experiment": study.experiment,
        "campaign": study.campaign,
        "environment": study.environment,
        "events": events,
        "trials": trials,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::run::RunOutcome;
    use caudal_store::Headline;

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
        let lines = run_lines(&run, &document, &["golden".into()]);
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

    #[test]
    fn a_study_is_shown_with_its_cases_and_its_state() {
        let study = StoredStudy {
            id: "5".repeat(32),
            name: "starvation".into(),
            title: "Who starves".into(),
            started_ns: 1_795_295_439_123_000_000,
            seed: 7,
            command: "caudal study run starvation".into(),
            experiment: Value::Null,
            campaign: json!({"cases": [{"key": "udp=0"}, {"key": "udp=100"}]}),
            environment: Environment::default(),
            events: vec![
                (1_795_295_439_123_000_000, "begun".into(), Value::Null),
                (
                    1_795_295_539_123_000_000,
                    "interrupted".into(),
                    json!("after 1 trial"),
                ),
                (
                    1_795_295_539_123_000_001,
                    "findings".into(),
                    json!({"verdict": ["TCP starves."]}),
                ),
            ],
        };
        let trial = StoreEntry {
            id: "7".repeat(32),
            kind: "trial".into(),
            started_ns: 0,
            tool: String::new().into(),
            peer: None,
            title: None,
            name: None,
            command: String::new().into(),
            outcome: "done".into(),
            trial: Some(caudal_store::StudyTrial {
                study: study.id.clone(),
                case: "udp=0".into(),
                repeat: 1,
                position: 1,
                baseline: false,
            }),
            headline: Headline {
                goodput_bps: Some(240e6),
                ..Headline::default()
            },
            trials: None,
            tags: Vec::new(),
        };
        let text = study_lines(&study, &[trial], &[]).join("\n");
        let text: Vec<&str> = text.split_whitespace().collect();
        let text = text.join(" ");
        for expected in [
            "2026-11-21 21:10:39 UTC, interrupted",
            "caudal study resume 55555555",
            "TCP starves.",
            "2 cases, 1 trials so far",
            "udp=0: 1×, last 240 Mbit/s",
            "udp=100: no trial yet",
            "interrupted: after 1 trial",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing:\n{text}");
        }
    }
}
