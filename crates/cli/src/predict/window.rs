//! `caudal predict window`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::question::{Parameter, ParameterValues, Sweep};
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
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// The round-trip time without queues
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The window of each flow
    #[arg(short, long, value_name = "SIZE", value_parser = values::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// Number of parallel flows
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = values::count, allow_hyphen_values = true)]
    flows: Sweep,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for WindowArgs {
    fn name(&self) -> &'static str {
        "window"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("rate", Some(&self.rate)),
            ("rtt", Some(&self.rtt)),
            ("window", self.window.as_ref()),
            ("flows", Some(&self.flows)),
            ("mtu", Some(&self.common.framing.mtu)),
        ])
    }

    fn subject(&self) -> String {
        format!("Window that fills a path: {}", self.common.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        Ok(predict_window(&WindowParameters {
            rate: values.line_rate(),
            rtt: values.time("rtt"),
            window: values.bytes("window"),
            flows: values.whole("flows").unwrap_or(1),
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        &["tcp_goodput", "window_goodput", "bdp", "flows_needed"]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
