//! A recorded study as text, and as a JSON document.

use super::entries::{EntryRecord, document, entry_result, tag_list, utc};
use crate::list::{campaign_cases, conclusion_sentences, verdict_sentences};
use caudal_core::date::rfc3339;
use caudal_core::run::Environment;
use caudal_core::text::ExternalText;
use caudal_store::{StoreEntry, StoredStudy, short_id};
use caudal_views::machines::machine_lines;
use caudal_views::text::{counted, fold};
use caudal_views::width::LineWidth;
use serde::Serialize;
use serde_json::Value;

/// Maximum number of rows for a study's cases; JSON has them all.
const MAX_ROWS: usize = 100;

/// A study with its cases, its events and its machines.
#[must_use]
pub fn study_lines(
    study: &StoredStudy,
    trials: &[StoreEntry],
    tags: &[ExternalText],
    width: LineWidth,
) -> Vec<String> {
    let mut lines = Vec::new();
    let mut push = |text: String| lines.push(fold(&text, 4, width));
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
            short_id(&study.id)
        ));
    }
    let verdict = verdict_sentences(study);
    let conclusions = conclusion_sentences(study);
    let sentences = verdict.iter().chain(&conclusions);
    lines.extend(sentences.map(|sentence| fold(sentence, 4, width)));
    // The cases of the campaign in its order, then others that have trials.
    let mut cases = campaign_cases(study);
    for trial in trials.iter().rev().filter_map(|entry| entry.trial.as_ref()) {
        if !cases.contains(&trial.case) {
            cases.push(trial.case.clone());
        }
    }
    lines.push(format!(
        "{}, {} so far:",
        counted(cases.len() as u64, "case"),
        counted(trials.len() as u64, "trial")
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
            |entry| format!("{}×, last {}", done.len(), entry_result(entry)),
        );
        lines.push(fold(&format!("  {case}: {last}"), 4, width));
    }
    if cases.len() > MAX_ROWS {
        lines.push(format!("  and {} more (--json)", cases.len() - MAX_ROWS));
    }
    for (at, event, detail) in &study.events {
        let detail = match detail {
            Value::String(text) => format!(": {text}"),
            _ => String::new(),
        };
        lines.push(fold(&format!("{}: {event}{detail}", utc(*at)), 4, width));
    }
    lines.extend(machine_lines(&study.environment, width));
    lines
}

/// The document of a study, `caudal.kept-study/1`.
#[derive(Debug, Serialize)]
struct StudyRecord<'a> {
    schema: &'static str,
    id: &'a str,
    name: &'a str,
    title: &'a str,
    started: String,
    started_ns: i64,
    seed: u64,
    command: &'a str,
    state: &'a str,
    tags: &'a [ExternalText],
    experiment: &'a Value,
    campaign: &'a Value,
    environment: &'a Environment,
    events: Vec<StudyEventRecord<'a>>,
    trials: Vec<EntryRecord<'a>>,
}

/// An event of a study.
#[derive(Debug, Serialize)]
struct StudyEventRecord<'a> {
    at_ns: i64,
    event: &'a str,
    detail: &'a Value,
}

/// The document of a study; `trials` are listed from the newest, as the store does.
#[must_use]
pub fn study_document(study: &StoredStudy, trials: &[StoreEntry], tags: &[ExternalText]) -> Value {
    let events = study.events.iter();
    document(&StudyRecord {
        schema: "caudal.kept-study/1",
        id: &study.id,
        name: &study.name,
        title: &study.title,
        started: rfc3339(study.started_ns.max(0).unsigned_abs()),
        started_ns: study.started_ns,
        seed: study.seed,
        command: &study.command,
        state: study.state(),
        tags,
        experiment: &study.experiment,
        campaign: &study.campaign,
        environment: &study.environment,
        events: events
            .map(|(at_ns, event, detail)| StudyEventRecord {
                at_ns: *at_ns,
                event,
                detail,
            })
            .collect(),
        trials: trials.iter().rev().map(EntryRecord::from).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_store::{Headline, StudyTrial};
    use serde_json::json;

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
            trial: Some(StudyTrial {
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
        let text = study_lines(&study, &[trial], &[], LineWidth::UNLIMITED).join("\n");
        let text: Vec<&str> = text.split_whitespace().collect();
        let text = text.join(" ");
        for expected in [
            "2026-11-21 21:10:39 UTC, interrupted",
            "caudal study resume 55555555",
            "TCP starves.",
            "2 cases, 1 trial so far",
            "udp=0: 1×, last 240 Mbit/s",
            "udp=100: no trial yet",
            "interrupted: after 1 trial",
        ] {
            assert!(text.contains(expected), "{expected:?} is missing:\n{text}");
        }
    }
}
