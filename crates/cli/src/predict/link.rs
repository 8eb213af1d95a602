//! `caudal predict link`

use super::question::{PredictCommonArgs, Question};
use super::values;
use crate::exit::Failure;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::prediction::Prediction;
use caudal_predict::link::{LinkParameters, QuicHeader, predict_link};
use caudal_predict::question::{Parameter, ParameterValues, Sweep};
use clap::Args;

/// `caudal predict link`
#[derive(Debug, Clone, Args)]
#[command(after_help = "Examples:\n  \
    caudal predict link --rate 10M --mtu 1500\n  \
    caudal predict link --rate 1G --ipv6 --vlan --explain\n  \
    caudal predict link --rate 1G --length 1473 --loss 0.1%\n  \
    caudal predict link --rate 1G --mtu 576..9000 --svg mtu.svg")]
pub struct LinkArgs {
    /// The line rate
    #[arg(short = 'b', long, value_name = "RATE", value_parser = values::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// Payload of a UDP datagram in bytes [default: the largest that is not fragmented]
    #[arg(short, long, value_name = "SIZE", value_parser = values::packet, allow_hyphen_values = true)]
    length: Option<Sweep>,
    /// Size of messages that are each sent on their own, over TCP and UDP
    #[arg(short, long, value_name = "SIZE", value_parser = values::packet, allow_hyphen_values = true)]
    message: Option<Sweep>,
    /// The fraction of frames lost; a fragmented datagram is lost with any of its fragments
    #[arg(long, value_name = "LOSS", value_parser = values::share, allow_hyphen_values = true)]
    loss: Option<Sweep>,
    #[command(flatten)]
    common: PredictCommonArgs,
}

impl Question for LinkArgs {
    fn name(&self) -> &'static str {
        "link"
    }

    fn parameters(&self) -> Vec<Parameter> {
        Parameter::given([
            ("rate", Some(&self.rate)),
            ("mtu", Some(&self.common.framing.mtu)),
            ("length", self.length.as_ref()),
            ("message", self.message.as_ref()),
            ("loss", self.loss.as_ref()),
        ])
    }

    fn subject(&self) -> String {
        format!("Goodput of an Ethernet link: {}", self.common.framing)
    }

    fn predict(&self, values: &ParameterValues) -> Result<Vec<Prediction>, Failure> {
        let datagram = values.whole("length");
        if datagram.is_some_and(|bytes| bytes > MAX_DATAGRAM) {
            return Err(Failure::usage(
                "--length is more than a datagram can carry",
                format!("it must lie between 1 and {MAX_DATAGRAM}"),
            ));
        }
        Ok(predict_link(&LinkParameters {
            rate: values.line_rate(),
            framing: self.common.framing.at_mtu(values.number("mtu"))?,
            datagram,
            message: values.whole("message"),
            loss: values.get("loss"),
            quic: QuicHeader::default(),
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self.message.as_ref().is_some_and(Sweep::is_swept) {
            return &["tcp_message_goodput", "udp_message_goodput"];
        }
        if self.loss.as_ref().is_some_and(Sweep::is_swept) {
            return &["datagram_loss"];
        }
        &[
            "tcp_goodput",
            "udp_goodput",
            "quic_goodput",
            "transfer_goodput",
            "frame_rate",
        ]
    }

    fn common(&self) -> &PredictCommonArgs {
        &self.common
    }
}
