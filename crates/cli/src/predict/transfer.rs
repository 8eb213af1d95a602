//! `caudal predict transfer`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values};
use crate::exit::Failure;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::prediction::Prediction;
use caudal_core::units::{ByteCount, parse_duration};
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
    /// The amount
    #[arg(short = 'n', long, value_name = "SIZE", value_parser = sweep::amount, allow_hyphen_values = true)]
    bytes: Sweep,
    /// The line rate of the bottleneck
    #[arg(short = 'b', long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// The round-trip time without queues
    #[arg(long, value_name = "TIME", value_parser = sweep::time, allow_hyphen_values = true)]
    rtt: Sweep,
    /// The initial window, in segments
    #[arg(long, value_name = "N", default_value = "10", value_parser = sweep::count, allow_hyphen_values = true)]
    iw: Sweep,
    /// The window, where it bounds
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::amount, allow_hyphen_values = true)]
    window: Option<Sweep>,
    /// The share of segments lost, where it bounds
    #[arg(long, value_name = "LOSS", value_parser = sweep::share, allow_hyphen_values = true)]
    loss: Option<Sweep>,
    /// Payload bytes of the UDP datagrams; by default the largest that is not fragmented
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::packet, allow_hyphen_values = true)]
    length: Option<Sweep>,
    /// How long such a transfer took, for the transfer time ratio of RFC 6349
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Seen", allow_hyphen_values = true)]
    took: Option<Duration>,
    /// What it sent again, for its TCP efficiency
    #[arg(
        long,
        value_name = "SIZE",
        help_heading = "Seen",
        allow_hyphen_values = true
    )]
    retransmitted: Option<ByteCount>,
    /// The round-trip time meanwhile, for its buffer delay
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Seen", allow_hyphen_values = true)]
    loaded_rtt: Option<Duration>,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for TransferArgs {
    fn name(&self) -> &'static str {
        "transfer"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("bytes", Kind::Amount, Some(&self.bytes)),
            Parameter::new("rate", Kind::Rate, Some(&self.rate)),
            Parameter::new("rtt", Kind::Time, Some(&self.rtt)),
            Parameter::new("iw", Kind::Count, Some(&self.iw)),
            Parameter::new("window", Kind::Amount, self.window.as_ref()),
            Parameter::new("loss", Kind::Share, self.loss.as_ref()),
            Parameter::new("length", Kind::Packet, self.length.as_ref()),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
        ]
    }

    fn words(&self) -> String {
        format!("How long an amount takes: {}", self.framing.words())
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        let datagram = values.whole("length");
        if datagram.is_some_and(|bytes| bytes > MAX_DATAGRAM) {
            return Err(Failure::usage(
                "--length is more than a datagram can have",
                format!("it must lie between 1 and {MAX_DATAGRAM}"),
            ));
        }
        Ok(predict_transfer(&TransferParameters {
            bytes: values.bytes("bytes").unwrap_or_default(),
            rate: values.line(),
            rtt: values.time("rtt"),
            initial: values.whole("iw").unwrap_or(1),
            window: values.bytes("window"),
            loss: values.get("loss"),
            datagram,
            framing: self.framing.at(values.number("mtu"))?,
            observed: TransferObservation {
                duration: self.took,
                retransmitted: self.retransmitted,
                loaded_rtt: self.loaded_rtt,
            },
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self
            .length
            .as_ref()
            .is_some_and(|lengths| lengths.only().is_none())
        {
            return &["udp_time", "tcp_time", "transfer_time"];
        }
        &["tcp_time", "udp_time", "transfer_time", "tcp_mean_goodput"]
    }

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
