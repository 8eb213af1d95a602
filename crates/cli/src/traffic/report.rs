//! What one or more runs add up to, as text and as JSON, and how the command ends.

use super::{Done, Wanted, why};
use crate::exit::{Exit, Failure};
use crate::output::json::{self, Header};
use crate::output::sink::Sinks;
use crate::output::text;
use crate::peer::Peer;
use caudal_core::interval::Interval;
use caudal_core::plan::Plan;
use caudal_core::summary::over_repeats;
use caudal_core::warning::Warning;
use caudal_engine::CutShort;
use caudal_stats::{Estimate, Verdict};
use serde_json::{Value, json};

/// The mean goodput of each run so far, a direction.
pub(super) fn goodputs(all: &[Done]) -> Vec<(caudal_core::plan::Direction, Vec<f64>)> {
    let Some(first) = all.first() else {
        return Vec::new();
    };
    first
        .summary
        .directions
        .iter()
        .enumerate()
        .map(|(at, direction)| {
            let means = all
                .iter()
                .filter(|done| done.run.cut_short.is_none())
                .filter_map(|done| Some(done.summary.directions.get(at)?.goodput_bps?.mean))
                .collect();
            (direction.direction, means)
        })
        .collect()
}

pub(super) struct Report {
    pub(super) all: Vec<Done>,
    pub(super) over_runs: Vec<(caudal_core::plan::Direction, Option<Estimate>)>,
    pub(super) warnings: Vec<Warning>,
    pub(super) json: Value,
}

pub(super) fn report(
    peer: &Peer,
    wanted: &Wanted<'_>,
    header: &Header,
    all: Vec<Done>,
    gave_up: Option<&[Verdict]>,
) -> Report {
    let confidence = wanted.output.confidence;
    let over_runs: Vec<_> = if all.len() > 1 {
        goodputs(&all)
            .into_iter()
            .map(|(direction, means)| (direction, over_repeats(&means, confidence)))
            .collect()
    } else {
        Vec::new()
    };
    let mut warnings: Vec<Warning> = Vec::new();
    for done in &all {
        for warning in &done.summary.warnings {
            if !warnings
                .iter()
                .any(|known| known.code == warning.code && known.message == warning.message)
            {
                warnings.push(warning.clone());
            }
        }
    }
    if all.len() > 1 {
        // One of a kind is enough: the runs differ in their figures only.
        let mut seen = std::collections::BTreeSet::new();
        warnings.retain(|warning| {
            seen.insert((
                warning.code,
                warning.message.split(':').next().unwrap_or("").to_owned(),
            ))
        });
    }
    if let Some(verdicts) = gave_up {
        let widest = verdicts
            .iter()
            .filter_map(|verdict| match verdict {
                Verdict::GaveUp {
                    half_width_relative,
                } => *half_width_relative,
                _ => None,
            })
            .fold(0.0, f64::max);
        warnings.push(Warning::new(
            "few_repeats",
            format!(
                "after {} runs the interval is still ±{} of the mean, not the {} asked for",
                all.len(),
                text::percent(widest),
                text::percent(wanted.traffic.until.unwrap_or(0.0))
            ),
            "allow more with --repeat, or measure longer each time",
        ));
    }
    let mut report = Report {
        all,
        over_runs,
        warnings,
        json: Value::Null,
    };
    report.json = report.to_json(peer, header);
    report
}

impl Report {
    fn last(&self) -> Option<&Done> {
        self.all.last()
    }

    pub(super) fn exit(&self, lost: Option<&Failure>) -> Exit {
        if let Some(failure) = lost {
            return failure.exit;
        }
        match self.last().map(|done| (&done.run.cut_short, done)) {
            Some((Some(CutShort::Lost(_)), _)) => Exit::Peer,
            Some((Some(_), _)) | None => Exit::Failed,
            Some((None, done)) => {
                let failed = done.run.flows.iter().all(|record| {
                    [&record.sender, &record.receiver]
                        .into_iter()
                        .flatten()
                        .any(|end| end.failure.is_some())
                });
                let incomplete = self
                    .warnings
                    .iter()
                    .any(|warning| warning.code == "not_all_arrived");
                if failed || incomplete {
                    Exit::Failed
                } else {
                    Exit::Done
                }
            }
        }
    }

    /// Whether the last of the runs ended before its time.
    pub(super) fn is_cut_short(&self) -> bool {
        self.last().is_none_or(|done| done.run.cut_short.is_some())
    }

    /// The run that is shown, with its number: the last that was not cut short, where one was not.
    fn shown(&self) -> Option<(usize, &Done)> {
        let whole = |done: &Done| done.run.cut_short.is_none();
        let at = self.all.iter().rposition(whole);
        let at = at.or_else(|| self.all.len().checked_sub(1))?;
        Some((at + 1, self.all.get(at)?))
    }

    fn to_json(&self, peer: &Peer, header: &Header) -> Value {
        let Some((_, done)) = self.shown() else {
            return Value::Null;
        };
        let intervals: Vec<Vec<Interval>> = done
            .run
            .flows
            .iter()
            .map(|record| done.timeline.intervals(record.flow.id))
            .collect();
        let goodput = match self.over_runs.as_slice() {
            [(_, one)] => *one,
            _ => match done.summary.directions.as_slice() {
                [one] if self.over_runs.is_empty() => one.goodput_bps,
                _ => None,
            },
        };
        let repeats = if self.all.len() > 1 {
            self.all
                .iter()
                .enumerate()
                .map(|(nth, done)| {
                    json!({
                        "run": nth + 1,
                        "cut_short": done.run.cut_short.as_ref().map(why),
                        "directions": done.summary.directions.iter().map(|direction| json!({
                            "direction": direction.direction,
                            "goodput_bps": direction.goodput_bps,
                            "bytes": direction.bytes,
                            "measured_s": direction.measured_s,
                            "loss": direction.loss,
                        })).collect::<Vec<_>>(),
                    })
                })
                .collect()
        } else {
            Vec::new()
        };
        let mut value = json!(json::Run {
            header,
            plan: json::plan(
                &Plan::Traffic(done.run.plan.clone()),
                &peer.address().to_string()
            ),
            environment: json::Environment {
                client: peer.here(),
                server: peer.there()
            },
            flows: done
                .run
                .flows
                .iter()
                .zip(&intervals)
                .map(|(record, intervals)| json::Flow::new(
                    record,
                    intervals,
                    done.timeline.foreign()
                ))
                .collect(),
            summary: json::Summary {
                goodput_bps: goodput,
                directions: &done.summary.directions,
                idle_rtt_us: peer.idle_rtt_us(),
                connect_us: peer.connect_us(),
                cpu: json::Cpu {
                    client: &done.run.client_usage,
                    server: done.run.server_usage.as_ref(),
                },
            },
            predictions: &done.predictions,
            warnings: &self.warnings,
            repeats,
        });
        if let Value::Object(map) = &mut value {
            map.extend(done.began_ns.map(json::began));
        }
        if let (Value::Object(map), false) = (&mut value, self.over_runs.is_empty()) {
            let over: Vec<Value> = self
                .over_runs
                .iter()
                .map(|(direction, estimate)| json!({"direction": direction, "goodput_bps": estimate}))
                .collect();
            map.insert("over_repeats".to_owned(), json!(over));
        }
        value
    }

    pub(super) fn closing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let Some((number, done)) = self.shown() else {
            return lines;
        };
        let cut = (number < self.all.len()).then_some(self.all.len());
        for direction in &done.summary.directions {
            let name = direction.direction.name();
            match cut {
                Some(_) => lines.push(format!("run {number}, the last whole one, {name}:")),
                None if number > 1 => lines.push(format!("the last run, {name}:")),
                None => {}
            }
            lines.extend(text::closing(
                direction,
                &done.run.flows,
                &done.predictions,
                done.run.plan.transport,
            ));
        }
        for (direction, estimate) in &self.over_runs {
            let shown = estimate.map_or_else(
                || "no run was finished".to_owned(),
                |estimate| text::estimate(&estimate, text::bits),
            );
            lines.push(text::fold(
                &format!("over all runs, {}: {shown}", direction.name()),
                4,
            ));
        }
        if let Some(number) = cut {
            lines.push(format!(
                "run {number} was cut short: nothing above counts it"
            ));
        }
        for warning in &self.warnings {
            lines.push(text::warning(warning));
        }
        lines
    }
}

pub(super) fn show(report: &Report, wanted: &Wanted<'_>, sinks: &mut Sinks) {
    for line in report.closing() {
        sinks.text.line(&line);
    }
    if wanted.output.json {
        let pretty = serde_json::to_string_pretty(&report.json).unwrap_or_default();
        sinks.data.line(&pretty);
    } else if wanted.output.json_stream {
        sinks
            .data
            .line(&json!({"event": "finished", "run": report.json}).to_string());
    }
}
