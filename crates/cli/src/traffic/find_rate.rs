//! `--find-rate`: trials at one rate after another, each shown as it is decided.

use super::{Wanted, headline, one_run, why};
use crate::args::{OutputArgs, RateArg};
use crate::exit::{Exit, Failure};
use crate::keeping::{self, Keeping};
use crate::output::json::{self, Header, Tool};
use crate::output::sink::{Sink, Sinks};
use crate::output::text;
use crate::peer::Peer;
use caudal_core::plan::{End, Omit, Plan, Rate, SHORTEST_INTERVAL, TrafficPlan};
use caudal_core::search::{Observed, Outcome, Search, Trial, left_behind};
use caudal_core::units::BitRate;
use caudal_core::warning::Warning;
use caudal_engine::CutShort;
use caudal_sys::signal::Interrupt;
use serde_json::json;
use std::time::Duration;

/// How long each trial of a search measures unless told otherwise.
pub(super) const TRIAL: Duration = Duration::from_secs(2);

/// Readings of each end in a trial.
const READINGS: u32 = 20;

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
    let keeping = Keeping::start(&wanted.output.store);
    // Enough readings to see in the second half of a trial whether what arrives keeps up.
    let each = plan.duration().unwrap_or(TRIAL) / READINGS;
    let plan = &TrafficPlan {
        interval: each.max(SHORTEST_INTERVAL),
        ..plan.clone()
    };
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
        sinks.text.line(&row([
            "rate", "sent", "lost", "loss", "interval", "verdict",
        ]));
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
        if !loss.complete {
            let why = "the receiver's last account did not come".to_owned();
            cut = Some(CutShort::Lost(why));
            break;
        }
        let flows = done.run.flows.len().max(1) as f64;
        let reached = direction.sent_bytes.unwrap_or(0) as f64 * 8.0
            / plan.duration().map_or(1.0, |time| time.as_secs_f64())
            / flows;
        let observed = Observed {
            sent: loss.sent,
            lost: loss.lost,
            reached_bps: reached,
            behind: left_behind(&done.run.samples, plan.length),
        };
        let Some(trial) = search.tell(observed) else {
            break;
        };
        if !wanted.output.quiet {
            sinks.text.line(&shown(&trial));
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
        if sinks.is_unread() {
            return Err(Failure::unread("the search was ended"));
        }
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
    let verdict = verdict(&search, limit);
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
        "plan": json::plan(&Plan::Traffic(TrafficPlan { rate: Rate::Limit(most), ..plan.clone() }), &peer.address().to_string()),
        "environment": json::Environment { client: peer.here(), server: peer.there() },
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
    let exit = match cut {
        None => Exit::Done,
        Some(CutShort::Lost(_)) => Exit::Peer,
        Some(_) => Exit::Failed,
    };
    let outcome = keeping::Outcome::of(exit, cut.is_some());
    let kept = keeping.keep(peer, &header, &result, outcome, Vec::new);
    if let (Some(note), false) = (kept, wanted.output.quiet) {
        sinks.text.line(&note);
    }
    sinks.finish(&verdict)?;
    Ok(exit)
}

/// A line of the table of trials, in 80 columns.
fn row(cells: [&str; 6]) -> String {
    let [rate, sent, lost, loss, interval, verdict] = cells;
    format!("{rate:>12} {sent:>10} {lost:>9} {loss:>8}  {interval:<20} {verdict}")
}

fn shown(trial: &Trial) -> String {
    let (low, high) = (text::percent(trial.low), text::percent(trial.high));
    row([
        &text::bits(trial.rate_bps as f64),
        &trial.sent.to_string(),
        &trial.lost.to_string(),
        &text::percent(trial.loss),
        &format!("{low} to {high}"),
        match trial.outcome {
            Outcome::Held => "held",
            Outcome::Failed => "failed",
            Outcome::Queueing => "filled a queue",
            Outcome::Unreached => "not reached",
            Outcome::Undecided => "again",
        },
    ])
}

/// What the search has come to, in words.
fn verdict(search: &Search, limit: f64) -> String {
    let found = search.found();
    let failed = found.failed_bps.map(|rate| {
        let trials = search.trials().iter().rev();
        let outcome = trials
            .filter(|trial| trial.rate_bps == rate)
            .map(|trial| trial.outcome)
            .next();
        let why = if outcome == Some(Outcome::Queueing) {
            "was more than arrived: it was still filling a queue"
        } else {
            "was too much"
        };
        format!("; {} {why}", text::bits(rate as f64))
    });
    let Some(rate) = found.rate_bps else {
        return format!(
            "found: no rate down to 1 kbit/s loses at most {}{}",
            text::percent(limit),
            failed.unwrap_or_default()
        );
    };
    let rate = text::bits(rate as f64);
    let unsure = if found.undecided {
        " (decided by point estimates: trials too short to be sure)"
    } else {
        ""
    };
    match (found.sender_bound, failed) {
        (true, failed) => format!(
            "found: {rate}, the most the sender reached; the path may carry more{}{unsure}",
            failed.unwrap_or_default()
        ),
        (false, Some(failed)) => format!("found: {rate} of payload a flow{failed}{unsure}"),
        (false, None) => {
            format!(
                "found: {rate} holds, and no more was asked for (--rate bounds the search){unsure}"
            )
        }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn search(limit: f64, most: u64, says: impl Fn(f64) -> Observed) -> Search {
        let mut search = Search::new(limit, BitRate::from_bps(most), 0.95);
        while let Some(rate) = search.next_rate() {
            search.tell(says(rate.as_f64()));
        }
        search
    }

    #[test]
    fn the_table_of_trials_fits_the_terminal() {
        let trial = Trial {
            rate_bps: 98_760_000,
            sent: 4_000_000_000,
            lost: 100_000_000,
            loss: 0.000_012_3,
            low: 0.000_011,
            high: 0.000_014,
            outcome: Outcome::Queueing,
        };
        let line = shown(&trial);
        assert!(line.chars().count() <= text::WIDTH, "{line}");
    }

    #[test]
    fn the_verdict_says_of_each_rate_what_was_seen_of_it() {
        let good = |rate| Observed {
            sent: 100_000,
            lost: 0,
            reached_bps: rate,
            behind: Some(0.0),
        };
        let queue = search(0.0, 98_000_000, |rate| Observed {
            behind: Some((1.0 - 50e6 / rate).max(0.0)),
            ..good(rate)
        });
        assert!(verdict(&queue, 0.0).contains("still filling a queue"));
        let slow = search(0.0, 100_000_000, |rate| Observed {
            lost: if rate > 90e6 { 10 } else { 0 },
            reached_bps: if rate > 90e6 { rate } else { rate.min(40e6) },
            ..good(rate)
        });
        let said = verdict(&slow, 0.0);
        assert!(
            said.contains("the most the sender reached") && said.contains("100.0 Mbit/s was too"),
            "{said}"
        );
        let held = search(0.0, 5_000_000, good);
        assert!(verdict(&held, 0.0).contains("no more was asked for"));
    }
}
