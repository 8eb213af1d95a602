//! `caudal predict window`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values};
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
    /// The window each flow has
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// Flows at once
    #[arg(short = 'P', long, value_name = "N", default_value = "1", value_parser = sweep::count, allow_hyphen_values = true)]
    flows: Sweep,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for WindowArgs {
    fn name(&self) -> &'static str {
        "window"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rate", Kind::Rate, Some(&self.rate)),
            Parameter::new("rtt", Kind::Time, Some(&self.rtt)),
            Parameter::new("window", Kind::Amount, self.window.as_ref()),
            Parameter::new("flows", Kind::Count, Some(&self.flows)),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn words(&self) -> String {
        format!(
            "What must be under way to fill a path: {}",
            self.framing.words()
        )
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        Ok(predict_window(&WindowParameters {
            rate: values.line(),
            rtt: values.time("rtt"),
            window: values.bytes("window"),
            flows: values.whole("flows").unwrap_or(1),
            framing: self.framing.at(values.number("mtu"))?,
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        &["tcp_goodput", "window_goodput", "bdp", "flows_needed"]
    }

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
