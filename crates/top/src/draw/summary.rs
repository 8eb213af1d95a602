//! The test in two lines, and in one where there is no room for more.

use crate::model::{Model, TestPoint};
use crate::state::{ShownUnit, ViewState};
use caudal_core::date::rfc3339;
use caudal_views::text;

/// A rate in the unit asked for; a value without a unit's name where it is none.
pub(super) fn rate(bps: f64, unit: ShownUnit) -> String {
    match unit {
        ShownUnit::Bits => text::bits(bps),
        ShownUnit::Bytes => format!("{}/s", text::bytes((bps / 8.0) as u64)),
    }
}

/// A time of a test: seconds after its start, or the date and the time of day, UTC.
pub(super) fn time_text(time_s: f64, began_s: Option<f64>) -> String {
    let Some(began_s) = began_s else {
        return format!("{time_s:.1} s");
    };
    let date = rfc3339(((began_s + time_s).max(0.0) * 1e9) as u64);
    date.get(5..16).unwrap_or_default().replace('T', " ")
}

/// The time that is shown of how much, and what the view does.
pub(super) fn progress(model: &Model, state: &ViewState) -> String {
    let shown_s = state.shown_until_s(model);
    if model.began_s.is_some() {
        return format!("until {} UTC", time_text(shown_s, model.began_s));
    }
    let end = match (&model.run, model.planned_s) {
        (Some(_), _) => format!(" of {:.1} s", model.end_s()),
        (None, Some(planned_s)) => format!(" of {planned_s:.1} s"),
        (None, None) => " s".to_owned(),
    };
    let run = model
        .repeat
        .filter(|number| *number > 1)
        .map_or_else(String::new, |number| format!("run {number}  "));
    let what = match (state.is_playing, state.until_s, &model.run) {
        (true, ..) => "▶ replay  ",
        (false, Some(_), None) => "PAUSED  ",
        (false, Some(_), Some(_)) => "replay paused  ",
        (false, None, Some(_)) => "done  ",
        (false, None, None) => "",
    };
    format!("{run}{what}{shown_s:.1}{end}")
}

/// The numbers of the latest interval.
pub(super) fn numbers(model: &Model, state: &ViewState) -> String {
    let Some(point) = model.at(state.shown_until_s(model) + 1e-9) else {
        return path_numbers(model).unwrap_or_else(|| "waiting for the first interval".to_owned());
    };
    let mut parts = rates(point, state.unit);
    parts.extend(
        point
            .rtt_us
            .map(|band| format!("rtt {}", text::time_us(band.middle))),
    );
    parts.extend(loss(model, point));
    if let Some(limit) = limit(model, state) {
        parts.push(format!("limited by {limit}"));
    }
    if let Some((done, total)) = model
        .transfer
        .and_then(|transfer| Some((transfer.bytes, transfer.total_bytes?)))
    {
        parts.push(format!("{} of {}", text::bytes(done), text::bytes(total)));
    }
    parts.join("   ")
}

/// The test as one line, for a screen that has room for no more.
pub(super) fn one_line(model: &Model, state: &ViewState) -> String {
    format!("{}   {}", numbers(model, state), progress(model, state))
}

fn rates(point: &TestPoint, unit: ShownUnit) -> Vec<String> {
    let mut parts = Vec::new();
    parts.extend(
        point
            .down_bps
            .map(|bps| format!("download {}", rate(bps, unit))),
    );
    parts.extend(
        point
            .up_bps
            .map(|bps| format!("upload {}", rate(bps, unit))),
    );
    parts.extend(
        point
            .connections_per_s
            .map(|number| format!("{number:.0} connections/s")),
    );
    parts
}

/// The loss, or what TCP retransmitted.
fn loss(model: &Model, point: &TestPoint) -> Option<String> {
    let share = text::percent(point.loss?);
    let name = match loss_is_retransmission(model) {
        true => "retransmitted",
        false => "lost",
    };
    Some(format!("{share} {name}"))
}

/// `true` where the loss shown is what TCP sent again.
pub(super) fn loss_is_retransmission(model: &Model) -> bool {
    model.flows.iter().any(|flow| {
        flow.points
            .iter()
            .any(|point| point.retransmitted_bytes.is_some())
    })
}

/// What holds most flows back now.
fn limit(model: &Model, state: &ViewState) -> Option<&'static str> {
    let now_s = state.shown_until_s(model) + 1e-9;
    let limits: Vec<&str> = model
        .flows
        .iter()
        .filter_map(|flow| flow.at(now_s)?.limited_by)
        .collect();
    let count = |limit: &str| limits.iter().filter(|one| **one == limit).count();
    limits.iter().copied().max_by_key(|limit| count(limit))
}

fn path_numbers(model: &Model) -> Option<String> {
    let round = model.path.as_ref()?;
    let hops = text::counted(round.hops.len() as u64, "hop");
    Some(match round.remaining_s {
        Some(left_s) => format!("{hops}   at most {left_s:.0} s left"),
        None => hops,
    })
}
