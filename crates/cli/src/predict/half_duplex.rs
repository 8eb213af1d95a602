//! `caudal predict half-duplex`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values, is_single, simulated};
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::half_duplex::{HalfDuplexParameters, predict_half_duplex};
use clap::Args;

/// `caudal predict half-duplex`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict half-duplex --rate 10M --explain\n  \
    caudal predict half-duplex --rate 10M --segments-per-ack 1 --flows 2\n  \
    caudal predict half-duplex --rate 10M --stations 1..20 --svg stations.svg")]
pub struct HalfDuplexArgs {
    /// The line rate, 10M or 100M
    #[arg(short = 'b', long, value_name = "RATE", default_value = "10M", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// Segments for each acknowledgement: 1 for all, 2 as most receivers do
    #[arg(short = 'k', long, value_name = "N", default_value = "2", value_parser = sweep::count, allow_hyphen_values = true)]
    segments_per_ack: Sweep,
    /// Flows that share the medium
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = sweep::count, allow_hyphen_values = true)]
    flows: Sweep,
    /// Stations that always have a frame to send, for the contention figures
    #[arg(long, value_name = "N", default_value = "2", value_parser = sweep::count, allow_hyphen_values = true)]
    stations: Sweep,
    /// The time a signal takes from end to end
    #[arg(long, value_name = "TIME", default_value = "2.5us", value_parser = sweep::time, allow_hyphen_values = true)]
    propagation: Sweep,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for HalfDuplexArgs {
    fn name(&self) -> &'static str {
        "half-duplex"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rate", Kind::Rate, Some(&self.rate)),
            Parameter::new(
                "segments-per-ack",
                Kind::Count,
                Some(&self.segments_per_ack),
            ),
            Parameter::new("flows", Kind::Count, Some(&self.flows)),
            Parameter::new("stations", Kind::Count, Some(&self.stations)),
            Parameter::new("propagation", Kind::Time, Some(&self.propagation)),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn words(&self) -> String {
        format!("What half duplex leaves: {}", self.framing.words())
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        let question = HalfDuplexParameters {
            rate: values.line(),
            framing: self.framing.at(values.number("mtu"))?,
            segments_per_ack: values.whole("segments-per-ack").unwrap_or(1),
            flows: values.whole("flows").unwrap_or(1),
            stations: values.whole("stations").unwrap_or(1),
            propagation: values.time("propagation"),
        };
        let mut answers = predict_half_duplex(&question);
        if is_single(&self.parameters()) {
            answers.extend(simulated::half_duplex(&question));
        }
        Ok(answers)
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.stations.only().is_none() {
            return &["utilisation", "collision_contention"];
        }
        &[
            "tcp_goodput",
            "tcp_goodput_per_flow",
            "udp_goodput_per_flow",
        ]
    }

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
