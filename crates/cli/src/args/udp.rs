//! `caudal udp`

use super::output::OutputArgs;
use super::target::TargetArgs;
use super::traffic::{RateArg, TrafficArgs, rate};
use caudal_core::marks::Ecn;
use caudal_core::plan::Pacing;
use caudal_core::units::{BitRate, ByteCount, parse_fraction};
use clap::{Args, ValueEnum};

const EXAMPLES_UDP: &str = "Examples:\n  \
    caudal udp server.example -b 100M -l 1448\n  \
    caudal udp server.example --find-rate 0.1% -b 1G   the highest rate with at most 0.1 % loss\n  \
    caudal udp --rate max -l 1448       this machine's own UDP";
/// The payload rate of a flow that is given none.
const DEFAULT_RATE: BitRate = BitRate::from_bps(1_000_000);

/// `caudal udp`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_UDP)]
pub struct UdpArgs {
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The arguments of all throughput tests.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// Payload rate of each flow, as 100M, 10mbit or 1.5Gbit/s; `max` or 0 for as fast as possible [default: 1M; max with
    /// --find-rate]
    #[arg(short = 'b', long, value_name = "RATE", value_parser = rate, help_heading = "UDP", allow_hyphen_values = true)]
    rate: Option<RateArg>,
    /// Payload bytes in a datagram, 32 to 65507 [default: the largest that fits the path MTU; on loopback that of 1500 bytes, 1472
    /// with IPv4 and 1452 with IPv6]
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "UDP",
        allow_hyphen_values = true
    )]
    pub length: Option<ByteCount>,
    /// Compare every payload byte at the receiver
    #[arg(long, help_heading = "UDP")]
    pub verify: bool,
    /// The ECN field to send with: not, ect0, ect1 or ce
    #[arg(
        long,
        value_name = "FIELD",
        default_value = "not",
        hide_default_value = true,
        help_heading = "UDP"
    )]
    pub ecn: Ecn,
    /// How to wait for the next departure at a rate: precise is more even and takes more processor time
    #[arg(
        long,
        value_name = "HOW",
        value_enum,
        default_value = "balanced",
        help_heading = "UDP"
    )]
    pub pacing: PacingArg,
    /// Search for the highest rate with at most this loss, as 0.1% (0 for none); --rate bounds the search
    #[arg(long, value_name = "LOSS", value_parser = loss, conflicts_with_all = ["bytes", "bidir", "repeat", "until"], help_heading = "UDP", allow_hyphen_values = true)]
    pub find_rate: Option<f64>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl UdpArgs {
    /// The payload rate of each flow: a search that is given none begins with as much as the sender can send.
    #[must_use]
    pub const fn rate(&self) -> RateArg {
        match (self.rate, self.find_rate) {
            (Some(rate), _) => rate,
            (None, Some(_)) => RateArg::Max,
            (None, None) => RateArg::Limit(DEFAULT_RATE),
        }
    }
}

/// The way to wait for departures, on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PacingArg {
    /// Awake for the last part of each wait
    Precise,
    /// Asleep until the learnt wake-up error before a departure
    Balanced,
}

impl From<PacingArg> for Pacing {
    fn from(arg: PacingArg) -> Self {
        match arg {
            PacingArg::Precise => Self::Precise,
            PacingArg::Balanced => Self::Balanced,
        }
    }
}

fn loss(text: &str) -> Result<f64, String> {
    if matches!(text.trim(), "0" | "0%" | "0.0" | "0 %") {
        return Ok(0.0);
    }
    parse_fraction(text)
        .ok()
        .filter(|loss| *loss <= 0.5)
        .ok_or_else(|| format!("{text:?} is not a loss between 0 and 50%, such as 0.1%"))
}
