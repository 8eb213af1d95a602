//! The values of one flow in one simulation.

use crate::simulated::simulated_value;
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_core::units::BitRate;
use caudal_simulate::result::{FlowDetails, FlowResult};
use std::time::Duration;

/// The values that one simulation gives for a flow, with the titles of the `formulas` for the same values.
pub(super) fn simulated_values(result: &FlowResult, formulas: &[Prediction]) -> Vec<Prediction> {
    let seconds = |time: Option<Duration>| time.map(|time| time.as_secs_f64());
    let fraction = |count: u64, total: u64| Some(count as f64 / total.max(1) as f64);
    let goodput = result.goodput.unwrap_or(BitRate::ZERO).as_f64();
    let mut simulated = vec![("goodput", "goodput", Some(goodput), Unit::BitPerSecond)];
    #[rustfmt::skip]
    let details = match &result.details {
        FlowDetails::Tcp { counts, rtt, cwnd } => vec![
            // Small segments have the minimum, which is not that of full ones.
            ("rtt_least", "minimum round trip", seconds(rtt.min()), Unit::Seconds),
            ("rtt_mean", "mean round trip", seconds(rtt.mean()), Unit::Seconds),
            // The formula assumes full queues, so it compares with the maximum.
            ("rtt_full", "maximum round trip", seconds(rtt.max()), Unit::Seconds),
            ("loss", "segments lost", fraction(counts.retransmits, counts.segments), Unit::Share),
            ("retransmits", "retransmitted", Some(counts.retransmits as f64), Unit::Segments),
            ("timeouts", "timeouts", Some(counts.timeouts as f64), Unit::Timeouts),
            ("cwnd", "maximum window", Some(cwnd.max as f64), Unit::Segments),
        ],
        FlowDetails::Udp { counts, delay, .. } => vec![
            ("rtt", "minimum one-way delay", seconds(delay.min()), Unit::Seconds),
            ("delay_mean", "mean one-way delay", seconds(delay.mean()), Unit::Seconds),
            ("delay_max", "maximum one-way delay", seconds(delay.max()), Unit::Seconds),
            ("loss", "datagrams lost", fraction(counts.lost, counts.expected), Unit::Share),
        ],
        FlowDetails::Echo { exchanges, lost, rtt } => vec![
            ("rtt", "round trip", seconds(rtt.min()), Unit::Seconds),
            ("rtt_mean", "mean round trip", seconds(rtt.mean()), Unit::Seconds),
            ("rtt_max", "maximum round trip", seconds(rtt.max()), Unit::Seconds),
            ("exchanges", "echoed", Some(*exchanges as f64), Unit::Messages),
            ("loss", "messages lost", fraction(*lost, *exchanges + *lost), Unit::Share),
        ],
    };
    simulated.extend(details);
    let mut predictions = Vec::new();
    for (name, default_title, value, unit) in simulated {
        let Some(value) = value else { continue };
        // A value that a formula predicts too has the title of the formula.
        let formula = formulas.iter().find(|formula| formula.name == name);
        let title = formula.map_or(default_title, |formula| &formula.title);
        predictions.push(simulated_value(name, title, value, unit));
    }
    predictions
}
