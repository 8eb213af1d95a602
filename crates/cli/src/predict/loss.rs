//! `caudal predict loss`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values};
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_predict::loss::{LossParameters, predict_loss};
use clap::Args;
use std::time::Duration;

/// The least timeout Linux adds to a round trip: TCP_RTO_MIN in include/net/tcp.h.
const LEAST_TIMEOUT: Duration = Duration::from_millis(200);

/// `caudal predict loss`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict loss --rtt 50ms --loss 0.1%\n  \
    caudal predict loss --rtt 20ms --loss 1e-4 --rate 100M --explain\n  \
    caudal predict loss --rtt 20ms --loss 1e-5..1e-1 --svg loss.svg")]
pub struct LossArgs {
    /// The share of segments lost, as 0.1% or 1e-3
    #[arg(long, value_name = "LOSS", value_parser = sweep::share, allow_hyphen_values = true)]
    loss: Sweep,
    /// The round-trip time
    #[arg(long, value_name = "TIME", value_parser = sweep::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The line rate, where it bounds too
    #[arg(short = 'b', long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Option<Sweep>,
    /// The window, where it bounds too
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// Payload of a segment; by default what the MTU leaves
    #[arg(short = 'M', long, value_name = "BYTES", value_parser = sweep::packet, allow_hyphen_values = true)]
    mss: Option<Sweep>,
    /// The retransmission timeout [default: the round-trip time and 200 ms, as in Linux]
    #[arg(long, value_name = "TIME", value_parser = sweep::time, allow_hyphen_values = true)]
    rto: Option<Sweep>,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for LossArgs {
    fn name(&self) -> &'static str {
        "loss"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("loss", Kind::Share, Some(&self.loss)),
            Parameter::new("rtt", Kind::Time, Some(&self.rtt)),
            Parameter::new("rate", Kind::Rate, self.rate.as_ref()),
            Parameter::new("window", Kind::Amount, self.window.as_ref()),
            Parameter::new("mss", Kind::Packet, self.mss.as_ref()),
            Parameter::new("rto", Kind::Time, self.rto.as_ref()),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn words(&self) -> String {
        format!(
            "What congestion control makes of loss: {}",
            self.framing.words()
        )
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        let rtt = values.time("rtt");
        if rtt.is_zero() {
            return Err(Failure::usage(
                "--rtt is 0",
                "give the time of a round trip, such as 20ms",
            ));
        }
        let timeout = match values.get("rto") {
            Some(_) => values.time("rto"),
            None => rtt.saturating_add(LEAST_TIMEOUT),
        };
        Ok(predict_loss(&LossParameters {
            loss: values.number("loss"),
            rtt,
            timeout,
            mss: values.whole("mss"),
            rate: values.rate("rate"),
            window: values.bytes("window"),
            framing: self.framing.at(values.number("mtu"))?,
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.rate.is_some() || self.window.is_some() {
            return &["tcp_goodput_reno", "tcp_goodput_cubic", "pftk_delayed_ack"];
        }
        &["mathis", "pftk", "pftk_delayed_ack", "cubic"]
    }

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
