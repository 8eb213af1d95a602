//! The window that a path needs which no connection has tried.

use crate::interval_table::Detail;
use crate::next_step::next_step_lines;
use crate::text::{bits, bytes, fold};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use crate::window_text;
use caudal_core::plan::Direction;
use caudal_core::run::Run;
use caudal_core::window::{Remedy, WindowReport, WindowSufficiency};

/// A direction with what is known of its window.
#[derive(Clone, Copy)]
pub struct DirectionWindow<'a> {
    pub direction: Direction,
    pub window: &'a WindowReport,
    pub step: &'a Remedy,
}

/// The window of the path and the next step, of each direction where they differ; with every detail the settings of both kernels too.
#[must_use]
pub fn window_lines(run: &Run, all: &[DirectionWindow<'_>], form: TextForm) -> Vec<String> {
    let mut lines = Vec::new();
    if form.detail == Detail::Every {
        for one in all {
            let name = one.direction.in_text();
            lines.push(format!("window, {name}: {}", text(one.window)));
            lines.extend(window_text::settings(one.window));
        }
    } else {
        let texts = all.iter().map(|one| (one.direction, text(one.window)));
        let named = labelled("window", texts.collect());
        lines.extend(named.map(|(label, _, text)| format!("{label}: {text}")));
    }
    let lines = lines.iter().map(|line| fold(line, 4, form.width));
    lines.chain(step_lines(run, all, form.width)).collect()
}

/// The next step, of each direction where they differ.
#[must_use]
pub fn step_lines(run: &Run, all: &[DirectionWindow<'_>], width: LineWidth) -> Vec<String> {
    labelled("next step", steps(all))
        .flat_map(|(label, direction, step)| next_step_lines(run, direction, step, &label, width))
        .map(|line| fold(&line, 4, width))
        .collect()
}

/// The next step, of each direction where they differ, where it is to change something.
#[must_use]
pub fn change_lines(run: &Run, all: &[DirectionWindow<'_>], width: LineWidth) -> Vec<String> {
    let is_test = |one: &DirectionWindow<'_>| *one.step == Remedy::MeasureThroughput;
    if all.iter().all(is_test) {
        return Vec::new();
    }
    step_lines(run, all, width)
}

/// The next steps: a test only where no direction needs a change before it.
fn steps<'a>(all: &[DirectionWindow<'a>]) -> Vec<(Direction, &'a Remedy)> {
    let is_test = |step: &Remedy| *step == Remedy::MeasureThroughput;
    let has_change = all.iter().any(|one| !is_test(one.step));
    let steps = all.iter().map(|one| (one.direction, one.step));
    steps
        .filter(|(_, step)| !has_change || !is_test(step))
        .collect()
}

/// What is said of each direction with its label: once, without the direction's name, where both are the same.
fn labelled<T: PartialEq>(
    label: &str,
    mut each: Vec<(Direction, T)>,
) -> impl Iterator<Item = (String, Direction, T)> {
    let is_same = each.len() > 1 && each.iter().all(|(_, what)| *what == each[0].1);
    if is_same {
        each.truncate(1);
    }
    each.into_iter().map(move |(direction, what)| {
        let label = if is_same {
            label.to_owned()
        } else {
            format!("{label}, {}", direction.in_text())
        };
        (label, direction, what)
    })
}

/// What the path needs and what the kernels allow by their own tuning.
#[must_use]
pub fn text(report: &WindowReport) -> String {
    let size = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), bytes);
    let both = size(report.kernels_max_bytes());
    let Some(need) = window_text::short_need(report) else {
        return match report.allowed_bps {
            Some(bps) => format!(
                "the kernels allow {both}, which carry up to {}",
                bits(bps as f64)
            ),
            None => "unknown".to_owned(),
        };
    };
    match report.sufficiency {
        WindowSufficiency::Sufficient => format!("{need}; the kernels allow {both}"),
        WindowSufficiency::ReceiverTooSmall => {
            let allowed = size(report.receiver_max_bytes);
            format!("{need}; the receiver allows {allowed}{}", flows(report))
        }
        WindowSufficiency::SenderTooSmall => {
            let allowed = size(report.sender_max_bytes);
            format!("{need}; the sender allows {allowed}{}", flows(report))
        }
        WindowSufficiency::Unknown => need,
    }
}

/// The flows that fill the path with windows too small for one.
fn flows(report: &WindowReport) -> String {
    report.flows_needed.map_or_else(String::new, |flows| {
        format!(", so that it takes {flows} flows")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::window::NextStep;
    use serde_json::{Value, json};

    fn lines(each: &[&(Value, Value)]) -> Vec<String> {
        let document = json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"},
            "plan": {"kind": "rtt", "peer": "10.0.0.2:5201"},
        });
        let run: Run = serde_json::from_value(document).unwrap();
        let known: Vec<(WindowReport, NextStep)> = each
            .iter()
            .map(|(window, step)| {
                let step = serde_json::from_value(step.clone()).unwrap();
                (serde_json::from_value(window.clone()).unwrap(), step)
            })
            .collect();
        let all: Vec<DirectionWindow<'_>> = Direction::BOTH
            .into_iter()
            .zip(&known)
            .map(|(direction, (window, step))| DirectionWindow {
                direction,
                window,
                step: &step.remedy,
            })
            .collect();
        let form = TextForm {
            quiet: false,
            detail: Detail::Usual,
            size_columns: false,
            width: LineWidth::UNLIMITED,
        };
        window_lines(&run, &all, form)
    }

    fn window(sufficiency: &str, rate: Option<u64>, receiver_max_bytes: u64) -> Value {
        json!({
            "rtt_us": 50_200.0, "rtt_source": "messages", "rate_bps": rate, "rate_at_least": false,
            "bdp_bytes": rate.map(|_| 627_500), "needed_bytes": rate.map(|_| 785_400),
            "receiver_max_bytes": receiver_max_bytes, "sender_max_bytes": 2_097_152,
            "allowed_bps": 334_000_000, "sufficiency": sufficiency,
            "flows_needed": sufficiency.ends_with("too_small").then_some(10),
        })
    }

    const FAST: Option<u64> = Some(100_000_000);

    #[test]
    fn both_directions_are_one_line_where_they_are_alike() {
        let test = json!({"remedy": "measure_throughput", "text": ""});
        let enough = (window("sufficient", FAST, 3_145_728), test);
        assert_eq!(
            lines(&[&enough, &enough]),
            [
                "window: 785.4 kB needed (BDP 627.5 kB at 100 Mbit/s); the kernels allow 2.097 MB",
                "next step: see whether a connection fills the path: caudal tcp 10.0.0.2",
            ]
        );
        let command = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1570800\"";
        let set =
            json!({"remedy": "set_kernel", "end": "receiver", "command": command, "text": ""});
        let small = (window("receiver_too_small", FAST, 65_536), set);
        assert_eq!(
            lines(&[&small, &enough]),
            [
                "window, upload: 785.4 kB needed (BDP 627.5 kB at 100 Mbit/s); the receiver allows 65.54 kB, so that it takes 10 flows",
                "window, download: 785.4 kB needed (BDP 627.5 kB at 100 Mbit/s); the kernels allow 2.097 MB",
                "next step, upload: at the receiver: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1570800\"",
            ]
        );
    }

    #[test]
    fn without_a_rate_the_kernels_maximum_is_the_answer() {
        let give = json!({"remedy": "give_link_rate", "text": ""});
        let unknown = (window("unknown", None, 3_145_728), give);
        assert_eq!(
            lines(&[&unknown, &unknown]),
            [
                "window: the kernels allow 2.097 MB, which carry up to 334 Mbit/s",
                "next step: give the rate of the link, to know its window: --link-rate RATE",
            ]
        );
        assert_eq!(lines(&[]), [""; 0]);
    }
}
