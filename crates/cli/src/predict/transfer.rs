//! `caudal predict transfer`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::prediction::Prediction;
use caudal_core::units::{ByteCount, parse_duration};
use caudal_predict::question::{Parameter, ParameterValues, Sweep};
use caudal_predict::rfc6349::TransferObservation;
use caudal_predict::transfer::{TransferParameters, predict_transfer};
use clap::Args;
use std::time::Duration;

/// `caudal predict transfer`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict transfer --bytes 1M --rate 100M --rtt 40ms --explain\n  \
    caudal predict transfer --bytes 1G --rate 1G --rtt 1ms --length 100,500,1000,1400\n  \
    caudal predict transfer --bytes 100M --rate 100M --rtt 25ms --took 10.2s --loaded-rtt 32ms\n  \
    caudal predict transfer --bytes 10k..1G --rate 100M --rtt 40ms --svg transfer.svg")]
pub struct TransferArgs {
    /// The amount of data
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = values::amount, allow_hyphen_values = true)]
    bytes: Sweep,
    /// The line rate of the bottleneck
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// The round-trip time without queues
    #[arg(long, value_name = "TIME", value_parser = values::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The initial window, in segments
    #[arg(long, value_name = "N", default_value = "10", value_parser = values::count, allow_hyphen_values = true)]
    iw: Sweep,
    /// The window, as a further bound
    #[arg(short, long, value_name = "SIZE", value_parser = values::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// The fraction of segments lost, as a further bound
    #[arg(long, value_name = "LOSS", value_parser = values::share, allow_hyphen_values = true)]
    loss: Option<Sweep>,
    /// Payload of a UDP datagram in bytes [default: the largest that is not fragmented]
    #[arg(short, long, value_name = "SIZE", value_parser = values::packet, allow_hyphen_values = true)]
    length: Option<Sweep>,
    /// The measured duration of such a transfer, for the transfer time ratio of RFC 6349
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Measured", allow_hyphen_values = true)]
    took: Option<Duration>,
    /// The amount it retransmitted, for the TCP efficiency of RFC 6349
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Measured",
        allow_hyphen_values = true
    )]
    retransmitted: Option<ByteCount>,
    /// The round-trip time during the transfer, for the buffer delay of RFC 6349
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Measured", allow_hyphen_values = true)]
    loaded_rtt: Option<Duration>,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for TransferArgs {
    fn name(&self) -> &'static str {
        "transfer"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("bytes", Some(&self.bytes)),
            ("rate", Some(&self.rate)),
            ("rtt", Some(&self.rtt)),
            ("iw", Some(&self.iw)),
            ("window", self.window.as_ref()),
            ("loss", self.loss.as_ref()),
            ("length", self.length.as_ref()),
            ("mtu", Some(&self.common.framing.mtu)),
        ])
    }

    fn subject(&self) -> String {
        format!("Duration of a transfer: {}", self.common.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        let datagram = values.whole("length");
        if datagram.is_some_and(|bytes| bytes > MAX_DATAGRAM) {
            return Err(Failure::usage(
                "--length is more than a datagram can carry",
                format!("it must lie between 1 and {MAX_DATAGRAM}"),
            ));
        }
        Ok(predict_transfer(&TransferParameters {
            bytes: values.bytes("bytes").unwrap_or_default(),
            rate: values.line_rate(),
            rtt: values.time("rtt"),
            initial: values.whole("iw").unwrap_or(1),
            window: values.bytes("window"),
            loss: values.get("loss"),
            datagram,
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
            observed: TransferObservation {
                duration: self.took,
                retransmitted: self.retransmitted,
                loaded_rtt: self.loaded_rtt,
            },
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.length.as_ref().is_some_and(Sweep::is_swept) {
            return &["udp_time", "tcp_time", "transfer_time"];
        }
        &["tcp_time", "udp_time", "transfer_time", "tcp_mean_goodput"]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
