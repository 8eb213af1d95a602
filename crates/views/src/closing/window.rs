//! The window of a direction and its next step.

use crate::next_step::next_step_lines;
use crate::text::{bits, bytes};
use crate::width::LineWidth;
use crate::window_text;
use caudal_core::run::Run;
use caudal_core::summary::DirectionSummary;
use caudal_core::window::{Remedy, WindowReport, WindowSufficiency};

/// The window that was too small, and what to do next about what limited the direction, where that says something new.
pub(super) fn usual_lines(run: &Run, summary: &DirectionSummary, width: LineWidth) -> Vec<String> {
    let mut lines: Vec<String> = summary
        .window
        .as_deref()
        .and_then(small_window)
        .into_iter()
        .collect();
    if let Some(step) = &summary.next_step
        && is_news(&step.remedy)
    {
        lines.extend(next_step_lines(
            run,
            summary.direction,
            &step.remedy,
            "  next step",
            width,
        ));
    }
    lines
}

/// The window, what is behind it, and the next step.
pub(super) fn every_line(run: &Run, summary: &DirectionSummary, width: LineWidth) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(report) = summary.window.as_deref() {
        lines.push(whole_window(report));
        lines.push(sources(report));
        lines.extend(window_text::settings(report));
    }
    if let Some(step) = &summary.next_step {
        lines.extend(next_step_lines(
            run,
            summary.direction,
            &step.remedy,
            "  next step",
            width,
        ));
    }
    lines
}

/// `true` for a remedy that neither the bottleneck nor a warning has named already.
const fn is_news(remedy: &Remedy) -> bool {
    !matches!(
        remedy,
        Remedy::Nothing
            | Remedy::RaiseRate
            | Remedy::RelieveProcessor { .. }
            | Remedy::CheckProgram { .. }
            | Remedy::RunServer
            | Remedy::MeasureAgain
    )
}

/// The window that limited the direction beside the one that the path needs.
fn small_window(report: &WindowReport) -> Option<String> {
    let window = match report.sufficiency {
        WindowSufficiency::ReceiverTooSmall => {
            format!("{} advertised", bytes(report.advertised_bytes?))
        }
        WindowSufficiency::SenderTooSmall => {
            format!("{} in flight", bytes(report.in_flight_mean_bytes?))
        }
        WindowSufficiency::Sufficient | WindowSufficiency::Unknown => return None,
    };
    let (Some(needed), Some(product), false) =
        (report.needed_bytes, report.bdp_bytes, report.rate_at_least)
    else {
        let allowed = report
            .allowed_bps
            .map_or_else(String::new, |bps| format!(" allow {}", bits(bps as f64)));
        return Some(format!(
            "  window: {window}{allowed}; the link's rate is unknown"
        ));
    };
    Some(format!(
        "  window: {window}, {} needed (BDP {})",
        bytes(needed),
        bytes(product)
    ))
}

/// The window needed and those granted, with what they allow.
fn whole_window(report: &WindowReport) -> String {
    let need = window_text::need(report)
        .unwrap_or_else(|| "what it needs is unknown, as no rate is".to_owned());
    let granted = [
        (report.advertised_bytes, "advertised"),
        (report.cwnd_mean_bytes, "mean congestion window"),
        (report.in_flight_mean_bytes, "mean in flight"),
    ];
    let granted = granted.into_iter().filter_map(|(count, name)| {
        let count = bytes(count?);
        Some(format!("; {name} {count}"))
    });
    let allowed = report.allowed_bps.map_or_else(String::new, |bps| {
        format!("; {} allowed by the window", bits(bps as f64))
    });
    let flows = report.flows_needed.map_or_else(String::new, |flows| {
        format!("; {flows} flows would fill the path")
    });
    format!(
        "  window: {need}{}{allowed}{flows}",
        granted.collect::<String>()
    )
}

/// Where the round-trip time and the rate come from.
fn sources(report: &WindowReport) -> String {
    let rate = report
        .rate_source
        .map_or_else(String::new, |source| format!("; rate: {source}"));
    format!("  baseline: {}{rate}", report.rtt_source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    /// The lines on a direction with this window and this step, of the usual text and of all there is.
    fn lines(window: &Value, step: &Value) -> (Vec<String>, Vec<String>) {
        let document = json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"},
            "plan": {"kind": "tcp", "peer": "10.0.0.2:5201"},
            "summary": {"directions": [{"direction": "up", "window": window, "next_step": step}]},
        });
        let run: Run = serde_json::from_value(document).unwrap();
        let direction = &run.directions()[0];
        (
            usual_lines(&run, direction, LineWidth::UNLIMITED),
            every_line(&run, direction, LineWidth::UNLIMITED),
        )
    }

    fn window(sufficiency: &str, rate_at_least: bool) -> Value {
        json!({
            "rtt_us": 50_090.0, "rtt_source": "tcp", "rate_bps": 100_000_000, "rate_source": "lab",
            "rate_at_least": rate_at_least, "bdp_bytes": 626_125, "bdp_segments": 439, "needed_bytes": 783_972,
            "advertised_bytes": 84_608, "cwnd_mean_bytes": 158_400, "in_flight_mean_bytes": 81_100,
            "allowed_bps": 13_512_877, "flows_needed": 8, "sufficiency": sufficiency,
            "settings": [
                {"end": "receiver", "name": "net.ipv4.tcp_rmem", "effect": "tuned_window", "value": "4096 131072 131072",
                 "needed": "a third value of at least 1567944", "suffices": false, "command": "sysctl -w a=\"1\""},
                {"end": "receiver", "name": "net.ipv4.tcp_sack", "effect": "recovery", "needed": "1", "suffices": true},
                {"end": "sender", "name": "net.ipv4.tcp_sack", "effect": "recovery", "needed": "1"},
            ],
        })
    }

    fn set_kernel() -> Value {
        let command = "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1567944\"";
        json!({"remedy": "set_kernel", "end": "receiver", "command": command, "text": ""})
    }

    #[test]
    fn a_small_window_is_two_lines_that_fit_a_terminal() {
        let (usual, every) = lines(&window("receiver_too_small", false), &set_kernel());
        assert_eq!(
            usual,
            [
                "  window: 84.61 kB advertised, 784.0 kB needed (BDP 626.1 kB)",
                "  next step: at the receiver: sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1567944\"",
            ]
        );
        assert!(usual.iter().all(|line| line.chars().count() <= 80));
        assert_eq!(
            every[..5],
            [
                "  window: 784.0 kB needed (BDP 626.1 kB, 439 segments: 100 Mbit/s × 50.09 ms); advertised 84.61 kB; mean \
                 congestion window 158.4 kB; mean in flight 81.10 kB; 13.51 Mbit/s allowed by the window; 8 flows would fill \
                 the path",
                "  baseline: TCP's minimum; rate: the lab's link",
                "  settings: at the receiver net.ipv4.tcp_rmem is 4096 131072 131072; a third value of at least 1567944 is \
                 needed",
                "    sysctl -w a=\"1\"",
                "  settings: 1 of both kernels suffice, 1 unknown",
            ]
        );
        let (usual, _) = lines(&window("sender_too_small", false), &json!(null));
        assert_eq!(
            usual,
            ["  window: 81.10 kB in flight, 784.0 kB needed (BDP 626.1 kB)"]
        );
        let (usual, _) = lines(&window("receiver_too_small", true), &json!(null));
        assert_eq!(
            usual,
            ["  window: 84.61 kB advertised allow 13.51 Mbit/s; the link's rate is unknown"]
        );
    }

    #[test]
    fn what_is_known_already_is_not_said_again() {
        let nothing = json!({"remedy": "nothing", "text": ""});
        let (usual, every) = lines(&window("sufficient", false), &nothing);
        assert_eq!(usual, [""; 0]);
        assert_eq!(
            every.last().unwrap(),
            "  next step: nothing to do: the link is full"
        );
        // A loopback has no path.
        let (usual, every) = lines(&json!(null), &json!(null));
        assert!(usual.is_empty() && every.is_empty());
    }
}
