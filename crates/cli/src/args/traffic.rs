//! The arguments that the throughput tests share.

use super::protocol::named;
use super::start_time::{StartTime, start_time};
use crate::capture::CaptureArgs;
use caudal_core::marks::Dscp;
use caudal_core::units::{BitRate, ByteCount, ParseUnitError, parse_duration, parse_fraction};
use caudal_engine::Protocol;
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use std::time::Duration;

/// The arguments that the throughput tests share.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Test")]
pub struct TrafficArgs {
    /// Duration of the measurement, 0 until ^C; a warm-up left out with --omit comes before [default: 10s; 2s for each trial of
    /// --find-rate]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "bytes", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// End after exactly this many payload bytes in each direction instead
    #[arg(short = 'n', long, value_name = "SIZE", allow_hyphen_values = true)]
    pub bytes: Option<ByteCount>,
    /// Time between reports
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub interval: Duration,
    /// Leave a warm-up out: a time, or `auto` to find it by MSER
    #[arg(short = 'O', long, value_name = "TIME|auto", value_parser = omit, allow_hyphen_values = true)]
    pub omit: Option<OmitArg>,
    /// Measure from the server to here
    #[arg(short = 'R', long, conflicts_with = "bidir")]
    pub reverse: bool,
    /// Measure both directions at once
    #[arg(long)]
    pub bidir: bool,
    /// Flows in each direction, a thread each
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub parallel: u32,
    /// Measure with those flows that open where others do not, instead of failing
    #[arg(long)]
    pub partial: bool,
    /// Size of the socket buffers, instead of the kernel's own choice (TCP) or 4 MiB (UDP); 256K is 256 000 bytes, 256Ki is
    /// iperf3's 256K
    #[arg(short, long, value_name = "SIZE", allow_hyphen_values = true)]
    pub window: Option<ByteCount>,
    /// The DSCP to send with: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(long, value_name = "NAME|N", allow_negative_numbers = true)]
    pub dscp: Option<Dscp>,
    /// Pin the flows' threads of this end to these processors, in turn, as 0,2
    #[arg(short = 'A', long, value_name = "CPU,…", value_delimiter = ',')]
    pub affinity: Vec<usize>,
    /// The local port of the first data flow, those of the others follow it, as for a firewall that knows them
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Peer", allow_negative_numbers = true)]
    pub local_port: Option<u16>,
    /// Use the protocol of another program's server; without it a server of iperf3 is recognised
    #[arg(long = "as", value_name = "PROGRAM", value_parser = foreign_protocol())]
    pub protocol: Option<Protocol>,
    /// Begin to send at this time: seconds since 1970, or from now on as +2s; at once when it is past
    #[arg(long, value_name = "TIME", value_parser = start_time, conflicts_with_all = ["repeat", "until"])]
    pub at: Option<StartTime>,
    /// The rate of the link, to compare with, where the interface does not report it
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub link_rate: Option<BitRate>,
    /// Run the test N times, each with new connections, and summarise over the runs
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        allow_negative_numbers = true
    )]
    pub repeat: u32,
    /// Repeat until the interval of the mean is within this fraction of it, as 5% (10 to 100 runs unless --repeat allows more)
    #[arg(long, value_name = "PART", value_parser = parse_fraction, allow_hyphen_values = true)]
    pub until: Option<f64>,
    /// The capture of the test.
    #[command(flatten)]
    pub capture: CaptureArgs,
}

/// The warm-up to leave out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmitArg {
    /// A fixed time.
    Time(Duration),
    /// The warm-up that MSER finds.
    Auto,
}

/// A rate, or no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateArg {
    /// As fast as possible.
    Max,
    /// This rate.
    Limit(BitRate),
}

/// Parses the name of another program as its protocol.
fn foreign_protocol() -> impl TypedValueParser<Value = Protocol> {
    let names = [
        PossibleValue::new("iperf2").help("iperf 2's, on port 5001 unless another is given"),
        PossibleValue::new("iperf3").help("iperf3's"),
        PossibleValue::new("nttcp").help("nttcp's, on port 5037 unless another is given"),
    ];
    PossibleValuesParser::new(names).map(|name| named(&name))
}

fn omit(text: &str) -> Result<OmitArg, String> {
    if text == "auto" {
        return Ok(OmitArg::Auto);
    }
    parse_duration(text)
        .map(OmitArg::Time)
        .map_err(|error| error.to_string())
}

/// Parses a rate; `max` and 0 are no limit.
///
/// # Errors
/// The values that are accepted.
pub fn rate(text: &str) -> Result<RateArg, String> {
    if text == "max" {
        return Ok(RateArg::Max);
    }
    match text.parse() {
        Ok(BitRate::ZERO) => Ok(RateArg::Max),
        Ok(rate) => Ok(RateArg::Limit(rate)),
        Err(error) => {
            let error: ParseUnitError = error;
            Err(match text.split_once('/') {
                Some((_, burst)) if burst.parse::<u32>().is_ok() => {
                    format!("{error}; bursts are not set here, `caudal iperf3` takes RATE/BURST")
                }
                _ => error.to_string(),
            })
        }
    }
}
