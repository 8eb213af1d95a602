//! `caudal predict link`

use super::sweep::{self, Kind, Sweep};
use super::{FramingArgs, Parameter, Question, ShowArgs, Values};
use crate::exit::Failure;
use caudal_core::plan::MAX_DATAGRAM;
use caudal_core::prediction::Prediction;
use caudal_predict::link::{LinkParameters, QuicHeader, predict_link};
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
    #[arg(short = 'b', long, value_name = "RATE", value_parser = sweep::rate, allow_hyphen_values = true)]
    rate: Sweep,
    /// Payload bytes of the UDP datagrams; by default the largest that is not fragmented
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::packet, allow_hyphen_values = true)]
    length: Option<Sweep>,
    /// Bytes of messages that are each sent by themselves, over TCP and UDP
    #[arg(short, long, value_name = "SIZE", value_parser = sweep::packet, allow_hyphen_values = true)]
    message: Option<Sweep>,
    /// The share of frames lost, which loses whole datagrams where these are fragmented
    #[arg(long, value_name = "LOSS", value_parser = sweep::share, allow_hyphen_values = true)]
    loss: Option<Sweep>,
    #[command(flatten)]
    framing: FramingArgs,
    #[command(flatten)]
    show: ShowArgs,
}

impl Question for LinkArgs {
    fn name(&self) -> &'static str {
        "link"
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![
            Parameter::new("rate", Kind::Rate, Some(&self.rate)),
            Parameter::new("mtu", Kind::Packet, Some(&self.framing.mtu)),
            Parameter::new("length", Kind::Packet, self.length.as_ref()),
            Parameter::new("message", Kind::Packet, self.message.as_ref()),
            Parameter::new("loss", Kind::Share, self.loss.as_ref()),
        ]
    }

    fn words(&self) -> String {
        format!("What an Ethernet link carries: {}", self.framing.words())
    }

    fn answer(&self, values: &Values) -> Result<Vec<Prediction>, Failure> {
        let datagram = values.whole("length");
        if datagram.is_some_and(|bytes| bytes > MAX_DATAGRAM) {
            return Err(Failure::usage(
                "--length is more than a datagram can have",
                format!("it must lie between 1 and {MAX_DATAGRAM}"),
            ));
        }
        Ok(predict_link(&LinkParameters {
            rate: values.line(),
            framing: self.framing.at(values.number("mtu"))?,
            datagram,
            message: values.whole("message"),
            loss: values.get("loss"),
            quic: QuicHeader::default(),
        }))
    }

    fn columns(&self) -> &'static [&'static str] {
        if self
            .message
            .as_ref()
            .is_some_and(|sizes| sizes.only().is_none())
        {
            return &["tcp_message_goodput", "udp_message_goodput"];
        }
        if self
            .loss
            .as_ref()
            .is_some_and(|losses| losses.only().is_none())
        {
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

    fn show(&self) -> &ShowArgs {
        &self.show
    }
}
