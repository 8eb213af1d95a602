//! The window that the path of a round-trip test needs.

use crate::output::next_step::next_step_lines;
use crate::output::text::{bits, bytes, fold};
use crate::output::window_text;
use caudal_core::plan::Direction;
use caudal_core::run::{RoundTripSummary, Run};
use caudal_core::window::{Remedy, WindowReport, WindowSufficiency};

/// A direction of the test with what is known of its window.
struct DirectionWindow<'a> {
    direction: Direction,
    window: &'a WindowReport,
    step: &'a Remedy,
}

/// The window of the path and the next step, of each direction where they differ; with `every` detail the settings of both kernels too.
pub(super) fn window_lines(run: &Run, summary: &RoundTripSummary, every: bool) -> Vec<String> {
    let directions = [
        (Direction::Up, &summary.window_up, &summary.next_step_up),
        (
            Direction::Down,
            &summary.window_down,
            &summary.next_step_down,
        ),
    ];
    let all: Vec<DirectionWindow<'_>> = directions
        .into_iter()
        .filter_map(|(direction, window, step)| {
            Some(DirectionWindow {
                direction,
                window: window.as_deref()?,
                step: &step.as_ref()?.remedy,
            })
        })
        .collect();
    let mut lines = Vec::new();
    if every {
        for one in &all {
            let name = one.direction.name();
            lines.push(format!("window {name}: {}", text(one.window)));
            lines.extend(window_text::settings(one.window));
        }
    } else {
        let texts = all.iter().map(|one| (one.direction, text(one.window)));
        let named = labelled("window", texts.collect());
        lines.extend(named.map(|(label, _, text)| format!("{label}: {text}")));
    }
    let steps = labelled("next step", steps(&all));
    lines.extend(
        steps.flat_map(|(label, direction, step)| next_step_lines(run, direction, step, &label)),
    );
    lines.iter().map(|line| fold(line, 4)).collect()
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
            format!("{label} {}", direction.name())
        };
        (label, direction, what)
    })
}

/// What the path needs and what the kernels allow by their own tuning.
fn text(report: &WindowReport) -> String {
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
            format!(
                "{need}; the receiver allows {}",
                size(report.receiver_max_bytes)
            )
        }
        WindowSufficiency::SenderTooSmall => {
            format!(
                "{need}; the sender allows {}",
                size(report.sender_max_bytes)
            )
        }
        WindowSufficiency::Unknown => need,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn lines(up: &(Value, Value), down: &(Value, Value)) -> Vec<String> {
        let document = json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"},
            "plan": {"kind": "rtt", "peer": "10.0.0.2:5201"},
            "summary": {"sizes": [], "include_first": false, "messages": 3, "lost": 0, "elapsed_s": 1.0,
                "window_up": up.0, "next_step_up": up.1, "window_down": down.0, "next_step_down": down.1},
        });
        let run: Run = serde_json::from_value(document).unwrap();
        window_lines(&run, run.round_trips().unwrap(), false)
    }

    fn window(sufficiency: &str, rate: Option<u64>, receiver_max_bytes: u64) -> Value {
        json!({
            "rtt_us": 50_200.0, "rtt_source": "messages", "rate_bps": rate, "rate_at_least": false,
            "bdp_bytes": rate.map(|_| 627_500), "needed_bytes": rate.map(|_| 785_400),
            "receiver_max_bytes": receiver_max_bytes, "sender_max_bytes": 2_097_152,
            "allowed_bps": 334_000_000, "sufficiency": sufficiency,
        })
    }

    const FAST: Option<u64> = Some(100_000_000);

    #[test]
    fn both_directions_are_one_line_where_they_are_alike() {
        let test = json!({"remedy": "measure_throughput", "text": ""});
        let enough = (window("sufficient", FAST, 3_145_728), test);
        assert_eq!(
            lines(&enough, &enough),
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
            lines(&small, &enough),
            [
                "window up: 785.4 kB needed (BDP 627.5 kB at 100 Mbit/s); the receiver allows 65.54 kB",
                "window down: 785.4 kB needed (BDP 627.5 kB at 100 Mbit/s); the kernels allow 2.097 MB",
                "next step up: at the receiver: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1570800\"",
            ]
        );
    }

    #[test]
    fn without_a_rate_the_kernels_maximum_is_the_answer() {
        let give = json!({"remedy": "give_link_rate", "text": ""});
        let unknown = (window("unknown", None, 3_145_728), give);
        assert_eq!(
            lines(&unknown, &unknown),
            [
                "window: the kernels allow 2.097 MB, which carry up to 334 Mbit/s",
                "next step: give the rate of the link, to know its window: --link-rate RATE",
            ]
        );
        assert_eq!(
            lines(&(json!(null), json!(null)), &(json!(null), json!(null))),
            [""; 0]
        );
    }
}
