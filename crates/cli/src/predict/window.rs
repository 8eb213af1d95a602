//! `caudal predict window`

use super::framing_args::FramingArgs;
use super::output_args::PredictOutputArgs;
use super::parameter::{Parameter, ParameterValues};
use super::parameter_kind::ParameterKind;
use super::question::Question;
use super::sweep::{self, Sweep};
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::window::{WindowParameters, predict_window};
use clap::Args;

/// `caudal predict window`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict window --rate 60M --rtt 50ms\n  \
    caudal predict window --rate 60M --rtt 50ms --window 65535 --explain\n  \
    caudal predict window --rate 1G --window 64Ki --rtt 100us..100ms --svg window.svg")]
pub struct WindowArgs {
    /// The line rate of the bottleneck
    #[arg(short = 'b', long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// The round-trip time without queues
    #[arg(long, value_name = "TIME", value_parser = sweep::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The window of each flow
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// Number of parallel flows
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = sweep::count, allow_hyphen_values = true)]
    flows: Sweep,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    output: PredictOutputArgs,
}

impl Question for WindowArgs {
    fn name(&self) -> &'static str {
        "window"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rate", ParameterKind::Rate, Some(&self.rate)),
            Parameter::new("rtt", ParameterKind::Time, Some(&self.rtt)),
            Parameter::new("window", ParameterKind::Amount, self.window.as_ref()),
            Parameter::new("flows", ParameterKind::Count, Some(&self.flows)),
            Parameter::new("mtu", ParameterKind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn subject(&self) -> String {
        format!("Window that fills a path: {}", self.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        Ok(predict_window(&WindowParameters {
            rate: values.line_rate(),
            rtt: values.time("rtt"),
            window: values.bytes("window"),
            flows: values.whole("flows").unwrap_or(1),
            framing: self.framing.at_mtu(values.number("mtu"))?,
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        &["tcp_goodput", "window_goodput", "bdp", "flows_needed"]
    }

    fn output(&self) -> &PredictOutputArgs {
        &self.output
    }
}
