//! `--find-rate`: trials at one rate after another, each shown as it is decided.

use super::{Wanted, headline, one_run, why};
use crate::args::{OutputArgs, RateArg};
use crate::exit::{Exit, Failure};
use crate::output::json::{self, Header, Tool};
use crate::output::sink::{Sink, Sinks};
use crate::output::text;
use crate::peer::Peer;
use caudal_core::plan::{End, Omit, Plan, Rate, TrafficPlan};
use caudal_core::search::{Outcome, Search};
use caudal_core::units::BitRate;
use caudal_core::warning::Warning;
use caudal_engine::CutShort;
use caudal_sys::signal::Interrupt;
use serde_json::json;
use std::time::Duration;

/// How long each trial of a search measures unless told otherwise.
pub(super) const TRIAL: Duration = Duration::from_secs(2);

pub(super) fn find_rate(
    peer: &mut Peer,
    plan: &TrafficPlan,
    wanted: &Wanted<'_>,
    limit: f64,
    rate: RateArg,
    mut sinks: Sinks,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let header = Header::now();
    let confidence = wanted.output.confidence;
    let quiet = Wanted {
        traffic: wanted.traffic,
        output: &OutputArgs {
            quiet: true,
            csv: false,
            json_stream: false,
            ..wanted.output.clone()
        },
        manner: wanted.manner.clone(),
    };
    let most = match rate {
        RateArg::Limit(rate) => rate,
        RateArg::Max => unbounded(peer, plan, &quiet)?,
    };
    if !wanted.output.quiet {
        sinks.text.line(&headline(
            peer,
            &TrafficPlan {
                rate: Rate::Limit(most),
                ..plan.clone()
            },
        ));
        sinks.text.line(&format!(
            "the highest rate with at most {} of the datagrams lost:",
            text::percent(limit)
        ));
        sinks.text.line(&format!(
            "{:>14} {:>11} {:>9} {:>11}  {:<22} {}",
            "rate", "sent", "lost", "loss", "interval", "verdict"
        ));
    }
    if wanted.output.csv {
        sinks
            .data
            .line("rate_bps,sent,lost,loss,loss_low,loss_high,outcome");
    }
    let mut search = Search::new(limit, most, confidence);
    let mut cut = None;
    let mut last = None;
    while let Some(rate) = search.next_rate() {
        if interrupt.count() > 0 {
            cut = Some(CutShort::Interrupted);
            break;
        }
        let trial_plan = TrafficPlan {
            rate: Rate::Limit(rate),
            ..plan.clone()
        };
        let done = match one_run(peer, &trial_plan, &quiet, 1, &mut Sinks::silent()) {
            Ok(done) => done,
            Err(error) if search.trials().is_empty() => return Err(error.into()),
            Err(error) => {
                cut = Some(CutShort::Lost(error.to_string()));
                break;
            }
        };
        if done.run.cut_short.is_some() {
            cut.clone_from(&done.run.cut_short);
            break;
        }
        let Some(direction) = done.summary.directions.first() else {
            break;
        };
        let Some(loss) = &direction.loss else { break };
        let flows = done.run.flows.len().max(1) as f64;
        let reached = direction.sent_bytes.unwrap_or(0) as f64 * 8.0
            / plan.duration().map_or(1.0, |time| time.as_secs_f64())
            / flows;
        let Some(trial) = search.tell(loss.sent, loss.lost, reached) else {
            break;
        };
        if !wanted.output.quiet {
            sinks.text.line(&format!(
                "{:>14} {:>11} {:>9} {:>11}  {:<22} {}",
                text::bits(trial.rate_bps as f64),
                trial.sent,
                trial.lost,
                text::percent(trial.loss),
                format!(
                    "{} to {}",
                    text::percent(trial.low),
                    text::percent(trial.high)
                ),
                match trial.outcome {
                    Outcome::Held => "held",
                    Outcome::Failed => "failed",
                    Outcome::Unreached => "not reached",
                    Outcome::Undecided => "again",
                }
            ));
        }
        if wanted.output.json_stream {
            sinks
                .data
                .line(&json!({"event": "trial", "trial": trial}).to_string());
        }
        if wanted.output.csv {
            sinks.data.line(&format!(
                "{},{},{},{:.9},{:.9},{:.9},{}",
                trial.rate_bps,
                trial.sent,
                trial.lost,
                trial.loss,
                trial.low,
                trial.high,
                json!(trial.outcome).as_str().unwrap_or("")
            ));
        }
        last = Some(done);
    }
    let found = search.found();
    let mut warnings: Vec<Warning> = last.map_or_else(Vec::new, |done| done.summary.warnings);
    warnings.retain(|warning| {
        !matches!(
            warning.code,
            "too_short" | "not_steady" | "rate_not_reached"
        )
    });
    if let Some(cut) = &cut {
        warnings.push(Warning::new(
            "cut_short",
            format!("the search ended early: {}", why(cut)),
            "run it again",
        ));
    }
    let verdict = match (found.rate_bps, found.failed_bps) {
        (Some(rate), _) if found.sender_bound => format!(
            "found: {}, the most the sender reached; the path may carry more",
            text::bits(rate as f64)
        ),
        (Some(rate), None) => format!(
            "found: {} holds, and no more was asked for (--rate bounds the search)",
            text::bits(rate as f64)
        ),
        (Some(rate), Some(failed)) => format!(
            "found: {} of payload a flow; {} was too much{}",
            text::bits(rate as f64),
            text::bits(failed as f64),
            if found.undecided {
                " (decided by point estimates: trials too short to be sure)"
            } else {
                ""
            }
        ),
        (None, _) => format!(
            "found: no rate down to 1 kbit/s loses at most {}",
            text::percent(limit)
        ),
    };
    sinks.text.line(&text::fold(&verdict, 4));
    for warning in &warnings {
        sinks.text.line(&text::warning(warning));
    }
    let result = json!({
        "schema": json::SCHEMA,
        "id": header.id,
        "started": header.started,
        "tool": Tool::this(),
        "command": header.command,
        "plan": json::plan(&Plan::Traffic(TrafficPlan { rate: Rate::Limit(most), ..plan.clone() }), &peer.client.peer().to_string()),
        "environment": json::Environment { client: &peer.client.here, server: &peer.client.server },
        "search": {
            "loss_limit": limit,
            "confidence": confidence,
            "rate_bps": found.rate_bps,
            "failed_bps": found.failed_bps,
            "sender_bound": found.sender_bound,
            "undecided": found.undecided,
            "trials": search.trials(),
        },
        "warnings": warnings,
    });
    if wanted.output.json {
        sinks
            .data
            .line(&serde_json::to_string_pretty(&result).unwrap_or_default());
    } else if wanted.output.json_stream {
        sinks
            .data
            .line(&json!({"event": "finished", "run": result}).to_string());
    }
    sinks.finish(&verdict)?;
    Ok(match cut {
        None => Exit::Done,
        Some(CutShort::Lost(_)) => Exit::Peer,
        Some(_) => Exit::Failed,
    })
}

/// How fast the sender goes when nothing holds it: the upper bound of a search without `--rate`.
fn unbounded(peer: &mut Peer, plan: &TrafficPlan, wanted: &Wanted<'_>) -> Result<BitRate, Failure> {
    let plan = TrafficPlan {
        rate: Rate::Max,
        end: End::Time(Duration::from_secs(1)),
        omit: Omit::Nothing,
        ..plan.clone()
    };
    let done = one_run(peer, &plan, wanted, 0, &mut Sinks::silent())?;
    let sent: u64 = done
        .run
        .flows
        .iter()
        .filter_map(|record| Some(record.sent()?.bytes))
        .sum();
    let each = sent as f64 * 8.0 / done.run.flows.len().max(1) as f64;
    Ok(BitRate::from_f64(each).unwrap_or(BitRate::from_bps(1_000_000)))
}

impl Sinks {
    /// Nothing is shown anywhere.
    fn silent() -> Self {
        Self {
            data: Sink::nowhere(),
            text: Sink::nowhere(),
            data_in_file: false,
        }
    }
}
