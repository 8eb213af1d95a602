//! What can be said of an experiment without carrying it out.

use caudal_core::quantity::Unit;
use caudal_experiment::Case;
use serde_json::json;

use super::args::{ChangeArgs, CheckArgs, ShowArgs};
use super::forecast;
use super::place::{self, HERE, Place};
use super::prepare::Prepared;
use super::print;
use super::progress::{about, within};
use super::shipped::SHIPPED;
use super::source::{Changes, Source};
use crate::exit::{Exit, Failure};
use crate::output::text::fold;

/// `caudal study list`
pub fn list(json: bool) -> Result<Exit, Failure> {
    let ready = |name: &str, quick: bool| {
        let changes = Changes {
            quick,
            ..Changes::default()
        };
        Prepared::of(Source::find(name, &changes)?, None)
    };
    let mut rows = Vec::new();
    for shipped in SHIPPED {
        rows.push((
            shipped.name,
            ready(shipped.name, false)?,
            ready(shipped.name, true)?,
        ));
    }
    if json {
        let all: Vec<_> = rows
            .iter()
            .map(|(name, full, quick)| {
                let of = |prepared: &Prepared| {
                    json!({
                        "cases": prepared.campaign.cases.len(),
                        "trials": {"least": prepared.trials().0, "most": prepared.trials().1},
                        "time_s": {"least": prepared.time().0.as_secs_f64(), "most": prepared.time().1.as_secs_f64()},
                    })
                };
                json!({"name": name, "title": full.campaign.experiment.title, "full": of(full), "quick": of(quick)})
            })
            .collect();
        let text = serde_json::to_string_pretty(&all).unwrap_or_default();
        return print(&format!("{text}\n"));
    }
    if rows.is_empty() {
        return print("no experiment comes with this program\n");
    }
    let mut text = String::new();
    for (name, full, quick) in &rows {
        let of = |prepared: &Prepared| {
            let cases = prepared.campaign.cases.len();
            let plural = if cases == 1 { "" } else { "s" };
            format!("{cases} case{plural}, {}", about(prepared.time().0))
        };
        text.push_str(&fold(
            &format!("{name}: {}", full.campaign.experiment.title),
            4,
        ));
        text.push_str(&format!("\n    {}; --quick: {}\n", of(full), of(quick)));
    }
    print(&text)
}

/// `caudal study show`
pub fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let source = Source::find(&args.what, &args.change.changes())?;
    let is_as_written =
        args.change.set.is_empty() && !args.change.quick && args.change.seed.is_none();
    if is_as_written && !args.cases {
        // A file that is wrong can be shown, too.
        return print(&source.text);
    }
    let prepared = Prepared::of(source, None)?;
    if !args.cases {
        let text = toml::to_string(&prepared.campaign.experiment).map_err(|error| {
            Failure::new(
                Exit::Failed,
                format!("cannot write the experiment: {error}"),
                "",
            )
        })?;
        return print(&text);
    }
    let mut text = String::new();
    for (case, place) in prepared.campaign.cases.iter().zip(&prepared.places) {
        text.push_str(&of_case(case, place));
    }
    print(&text)
}

fn of_case(case: &Case, place: &Place) -> String {
    let title = case
        .title
        .as_ref()
        .map_or(String::new(), |title| format!(": {title}"));
    let mut text = format!("{}\n", fold(&format!("{}{title}", case.key), 2));
    for flow in &case.flows {
        let rate = match place::offered(flow, place) {
            Ok(Some(bps)) => format!(", {}", Unit::BitPerSecond.show(bps)),
            _ => String::new(),
        };
        let count = if flow.count > 1 {
            format!("{} × ", flow.count)
        } else {
            String::new()
        };
        let kind = match flow.kind {
            caudal_experiment::FlowKindFile::Tcp => "TCP",
            caudal_experiment::FlowKindFile::Udp => "UDP",
            caudal_experiment::FlowKindFile::Rtt => "echo over TCP",
            caudal_experiment::FlowKindFile::RttUdp => "echo over UDP",
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

/// `caudal study check`
pub fn check(args: &CheckArgs) -> Result<Exit, Failure> {
    let ChangeArgs { hosts, .. } = &args.change;
    let source = Source::find(&args.what, &args.change.changes())?;
    let prepared = Prepared::of(source, hosts.as_ref().map(|hosts| hosts.0.clone()))?;
    let expected = forecast::formulas_of(&prepared.campaign.cases, &prepared.places);
    let campaign = &prepared.campaign;
    let baselines = campaign
        .cases
        .iter()
        .filter(|case| case.alone.is_some())
        .count();
    let (fewest, most) = prepared.trials();
    let (least, longest) = prepared.time();
    let range = |low: String, high: String| {
        if low == high {
            low
        } else {
            format!("{low} to {high}")
        }
    };
    let mut lines = vec![
        format!("{}: {}", prepared.source.name, campaign.experiment.title),
        format!("place:    {}", where_it_runs(&prepared)),
        format!(
            "cases:    {}, {} of them a flow alone",
            campaign.cases.len(),
            baselines
        ),
        format!("trials:   {}", range(fewest.to_string(), most.to_string())),
        format!("time:     {}", range(about(least), about(longest))),
        format!(
            "payload:  about {} in the fewest trials",
            Unit::Bytes.show(prepared.bytes(&expected))
        ),
        format!("seed:     {}", campaign.seed),
    ];
    lines.extend(
        prepared
            .doubts()
            .iter()
            .map(|doubt| format!("note: {doubt}")),
    );
    let folded: Vec<String> = lines.iter().map(|line| within(line, 10)).collect();
    print(&format!("{}\n", folded.join("\n")))?;
    prepared.can_run()?;
    print("It can run here.\n")
}

fn where_it_runs(prepared: &Prepared) -> String {
    let labs = prepared
        .places
        .iter()
        .filter(|place| matches!(place, Place::Lab(_)))
        .count();
    match prepared.places.first() {
        Some(Place::Hosts { at, .. }) => {
            let names: Vec<String> = at
                .iter()
                .map(|(name, address)| format!("{name} at {}", address.host))
                .collect();
            format!("{HERE} and {}", names.join(", "))
        }
        Some(Place::Loopback) if labs == 0 => format!("{HERE}, over its loopback interface"),
        _ => "a lab on this machine, built anew for each trial".to_owned(),
    }
}
