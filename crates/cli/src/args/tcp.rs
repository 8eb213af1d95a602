//! `caudal tcp`

use super::output::OutputArgs;
use super::target::TargetArgs;
use super::traffic::{RateArg, TrafficArgs, rate};
use caudal_core::units::ByteCount;
use clap::Args;
use std::path::PathBuf;

const EXAMPLES_TCP: &str = "Examples:\n  \
    caudal tcp                          this machine's own TCP\n  \
    caudal tcp server.example -R -P 4      download with four flows\n  \
    caudal tcp server.example --bidir --until 5%   repeat until the mean is known to 5 %\n  \
    caudal tcp server.example --json -o run.json\n  \
    caudal tcp server.example --as iperf2  with a server of iperf 2";
/// `caudal tcp`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_TCP)]
pub struct TcpArgs {
    /// The server.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The arguments of all throughput tests.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// Payload rate of each flow, as 100M, 10mbit or 1.5Gbit/s; `max` or 0 for as fast as possible
    #[arg(short = 'b', long, value_name = "RATE", default_value = "max", value_parser = rate, help_heading = "TCP", allow_hyphen_values = true)]
    pub rate: RateArg,
    /// Bytes handed to the kernel in one call; 128K is 128 000 bytes, 128Ki is iperf3's 128K [default: 128Ki; 256Ki with
    /// --zerocopy]
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "TCP",
        allow_hyphen_values = true
    )]
    pub length: Option<ByteCount>,
    /// The largest segment, in bytes
    #[arg(
        short = 'M',
        long,
        value_name = "BYTES",
        help_heading = "TCP",
        allow_negative_numbers = true
    )]
    pub mss: Option<u32>,
    /// The congestion control at the sender, such as cubic, reno or bbr
    #[arg(short = 'C', long, value_name = "NAME", help_heading = "TCP")]
    pub congestion: Option<String>,
    /// Have connections ask for ECN, or not, instead of as this host's net.ipv4.tcp_ecn says; takes root where that differs
    #[arg(long, value_name = "on|off", value_parser = on_or_off, help_heading = "TCP")]
    pub ecn: Option<bool>,
    /// Turn Nagle's algorithm off
    #[arg(short = 'N', long, help_heading = "TCP")]
    pub nodelay: bool,
    /// Open the flows as Multipath TCP
    #[arg(long, help_heading = "TCP")]
    pub mptcp: bool,
    /// Let the receiver drop payload inside the kernel: measures the network, not the copy
    #[arg(long, help_heading = "TCP")]
    pub discard: bool,
    /// Hand pages over instead of copying at the sender
    #[arg(short = 'Z', long, help_heading = "TCP")]
    pub zerocopy: bool,
    /// Send this file, or standard input with `-`, up to its end (unless --time or --bytes ends it before)
    #[arg(short = 'F', long, value_name = "FILE", help_heading = "TCP", conflicts_with_all = ["reverse", "bidir", "zerocopy", "parallel", "repeat", "until"])]
    pub file: Option<PathBuf>,
    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `on` or `off`.
fn on_or_off(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("give on or off".to_owned()),
    }
}
