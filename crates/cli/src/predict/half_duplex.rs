//! `caudal predict half-duplex`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::half_duplex::{HalfDuplexParameters, predict_half_duplex};
use caudal_predict::question::{Parameter, ParameterValues, Sweep, have_single_values};
use caudal_predict::simulated::simulate_half_duplex;
use clap::Args;

/// `caudal predict half-duplex`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict half-duplex --rate 10M --explain\n  \
    caudal predict half-duplex --rate 10M --segments-per-ack 1 --flows 2\n  \
    caudal predict half-duplex --rate 10M --stations 1..20 --svg stations.svg")]
pub struct HalfDuplexArgs {
    /// The line rate, 10M or 100M
    #[arg(short = 'b', long, value_name = "RATE", default_value = "10M", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// Segments per acknowledgement: 1 without delayed acknowledgements, 2 with them
    #[arg(short = 'k', long, value_name = "N", default_value = "2", value_parser = values::count, allow_hyphen_values = true)]
    segments_per_ack: Sweep,
    /// Number of flows that share the medium
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = values::count, allow_hyphen_values = true)]
    flows: Sweep,
    /// Number of stations that always have a frame to send, for the contention predictions
    #[arg(long, value_name = "N", default_value = "2", value_parser = values::count, allow_hyphen_values = true)]
    stations: Sweep,
    /// The propagation delay from one end of the medium to the other
    #[arg(long, value_name = "TIME", default_value = "2.5us", value_parser = values::time, allow_hyphen_values = true)]
    propagation: Sweep,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for HalfDuplexArgs {
    fn name(&self) -> &'static str {
        "half-duplex"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("rate", Some(&self.rate)),
            ("segments-per-ack", Some(&self.segments_per_ack)),
            ("flows", Some(&self.flows)),
            ("stations", Some(&self.stations)),
            ("propagation", Some(&self.propagation)),
            ("mtu", Some(&self.common.framing.mtu)),
        ])
    }

    fn subject(&self) -> String {
        format!("Goodput on a half-duplex Ethernet: {}", self.common.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        let parameters = HalfDuplexParameters {
            rate: values.line_rate(),
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
            segments_per_ack: values.whole("segments-per-ack").unwrap_or(1),
            flows: values.whole("flows").unwrap_or(1),
            stations: values.whole("stations").unwrap_or(1),
            propagation: values.time("propagation"),
        };
        let mut predictions = predict_half_duplex(&parameters);
        if have_single_values(&self.parameters()) {
            predictions.extend(simulate_half_duplex(&parameters));
        }
        Ok(predictions)
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.stations.is_swept() {
            return &["utilisation", "collision_contention"];
        }
        &[
            "tcp_goodput",
            "tcp_goodput_per_flow",
            "udp_goodput_per_flow",
        ]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
