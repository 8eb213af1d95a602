//! The window that a path needs and the next step, in sentences.

use super::wording::{about, sentence};
use caudal_core::quantity::Unit;
use caudal_core::run::RoundTripSummary;
use caudal_core::summary::DirectionSummary;
use caudal_core::window::{WindowReport, WindowSufficiency};

/// The window that was too small for a direction, and what to do next.
pub(crate) fn of_direction(summary: &DirectionSummary) -> Vec<String> {
    let window = summary.window.as_deref().and_then(small_window);
    let step = summary.next_step.as_ref();
    let step = step.map(|step| sentence(&format!("next step: {}", step.text)));
    window.into_iter().chain(step).collect()
}

/// The window that was too small beside the one that the path needs; `None` where it sufficed.
fn small_window(report: &WindowReport) -> Option<String> {
    let (window, what) = match report.sufficiency {
        WindowSufficiency::ReceiverTooSmall => (report.advertised_bytes?, "advertised"),
        WindowSufficiency::SenderTooSmall => (report.in_flight_mean_bytes?, "in flight"),
        WindowSufficiency::Sufficient | WindowSufficiency::Unknown => return None,
    };
    let need = match report.needed_bytes.filter(|_| !report.rate_at_least) {
        Some(needed) => format!("of the {} that the path needs", size(needed)),
        None => "on a path whose rate is unknown".to_owned(),
    };
    Some(sentence(&format!("{} were {what} {need}", size(window))))
}

/// The window that each direction of the path of a round-trip test needs, and the one that the kernels allow.
pub(crate) fn of_round_trips(summary: &RoundTripSummary) -> Vec<String> {
    let directions = [
        ("from client to server", &summary.window_up),
        ("from server to client", &summary.window_down),
    ];
    let sentences = directions.into_iter().filter_map(|(way, window)| {
        let report = window.as_deref()?;
        let needed = size(report.needed_bytes?);
        let allowed = report
            .kernels_max_bytes()
            .map_or_else(String::new, |bytes| {
                format!("; the kernels allow about {}", size(bytes))
            });
        Some(sentence(&format!(
            "the path {way} needs a window of {needed}{allowed}"
        )))
    });
    sentences.collect()
}

fn size(bytes: u64) -> String {
    about(bytes as f64, Unit::Bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_small_window_and_its_remedy_are_sentences() {
        let document = json!({
            "direction": "up",
            "window": {
                "rtt_us": 50_090.0, "rtt_source": "tcp", "rate_bps": 100_000_000, "rate_source": "lab",
                "bdp_bytes": 626_125, "needed_bytes": 783_972, "advertised_bytes": 84_608,
                "sufficiency": "receiver_too_small",
            },
            "next_step": {"remedy": "more_flows", "flows": 8, "text": "use 8 flows at once"},
        });
        let summary: DirectionSummary = serde_json::from_value(document.clone()).unwrap();
        assert_eq!(
            of_direction(&summary),
            [
                "84 608 B were advertised of the 783 972 B that the path needs.",
                "Next step: use 8 flows at once."
            ]
        );
        let trips = json!({
            "sizes": [], "include_first": false, "messages": 1, "lost": 0, "elapsed_s": 1.0,
            "window_up": document["window"],
        });
        let trips: RoundTripSummary = serde_json::from_value(trips).unwrap();
        assert_eq!(
            of_round_trips(&trips),
            ["The path from client to server needs a window of 783 972 B."]
        );
    }
}
