//! `caudal predict loss`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::loss::{LossParameters, predict_loss};
use caudal_predict::question::{Parameter, ParameterValues, Sweep};
use clap::Args;
use std::time::Duration;

/// Minimum that Linux adds to the round-trip time for its retransmission timeout: TCP_RTO_MIN in include/net/tcp.h.
const MIN_RTO_MARGIN: Duration = Duration::from_millis(200);

/// `caudal predict loss`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict loss --rtt 50ms --loss 0.1%\n  \
    caudal predict loss --rtt 20ms --loss 1e-4 --rate 100M --explain\n  \
    caudal predict loss --rtt 20ms --loss 1e-5..1e-1 --svg loss.svg")]
pub struct LossArgs {
    /// The fraction of segments lost, as 0.1% or 1e-3
    #[arg(long, value_name = "LOSS", value_parser = values::share, allow_hyphen_values = true)]
    loss: Sweep,
    /// The round-trip time
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The line rate, as a further bound
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Option<Sweep>,
    /// The window, as a further bound
    #[arg(short, long, value_name = "SIZE", value_parser = values::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// Payload of a segment in bytes [default: what the MTU leaves]
    #[arg(short = 'M', long, value_name = "BYTES", value_parser = values::packet, allow_hyphen_values = true)]
    mss: Option<Sweep>,
    /// The retransmission timeout [default: the round-trip time plus 200 ms, as in Linux]
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    rto: Option<Sweep>,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for LossArgs {
    fn name(&self) -> &'static str {
        "loss"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("loss", Some(&self.loss)),
            ("rtt", Some(&self.rtt)),
            ("rate", self.rate.as_ref()),
            ("window", self.window.as_ref()),
            ("mss", self.mss.as_ref()),
            ("rto", self.rto.as_ref()),
            ("mtu", Some(&self.common.framing.mtu)),
        ])
    }

    fn subject(&self) -> String {
        format!("TCP goodput under random loss: {}", self.common.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        let rtt = values.time("rtt");
        if rtt.is_zero() {
            return Err(Failure::usage(
                "--rtt is 0",
                "give a round-trip time above 0, such as 20ms",
            ));
        }
        let timeout = match values.get("rto") {
            Some(_) => values.time("rto"),
            None => rtt.saturating_add(MIN_RTO_MARGIN),
        };
        Ok(predict_loss(&LossParameters {
            loss: values.number("loss"),
            rtt,
            timeout,
            mss: values.whole("mss"),
            rate: values.rate("rate"),
            window: values.bytes("window"),
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.rate.is_some() || self.window.is_some() {
            return &["tcp_goodput_reno", "tcp_goodput_cubic", "pftk_delayed_ack"];
        }
        &["mathis", "pftk", "pftk_delayed_ack", "cubic"]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
