//! The command line of `caudal predict topology`.

use crate::predict::output::PredictFormatArgs;
use crate::topology::WhatArgs;
use caudal_core::units::parse_duration;
use clap::Args;
use std::time::Duration;

const EXAMPLES: &str = "A flow is FROM>TO:WHAT, where WHAT is one of
  tcp              a TCP transfer with the congestion control of its host, or CUBIC
  reno, cubic      the same with this congestion control
  udp=RATE         datagrams of 1472 bytes at this rate of payload
  udp=RATE/SIZE    the same with datagrams of this size
  echo=SIZE        messages over TCP, each echoed before the next
  echo-udp=SIZE    the same over UDP
Without --flow, one TCP transfer goes from the first host to the last.

Examples:
  caudal predict topology dumbbell
  caudal predict topology dumbbell --flow 'h1>h3:cubic' --flow 'h2>h4:udp=4M'
  caudal predict topology star --set '*.duplex=half' --time 60s --explain
  caudal predict topology wan.toml --set wan.loss=1% --seed 7 --seeds 1 --json";

/// `caudal predict topology`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES)]
pub struct PredictTopologyArgs {
    #[command(flatten)]
    pub(super) what: WhatArgs,
    /// A flow, as 'h1>h3:cubic' or 'h1>h3:udp=8M'; may be repeated
    #[arg(short = 'F', long = "flow", value_name = "FROM>TO:WHAT")]
    pub(super) flows: Vec<String>,
    /// Duration of the simulated flows, in virtual time
    #[arg(short, long, value_name = "TIME", default_value = "20s", value_parser = parse_duration)]
    pub(super) time: Duration,
    /// Number of simulations, with consecutive seeds; their median and spread are shown
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) seeds: u32,
    #[command(flatten)]
    pub(super) output: TopologyOutputArgs,
}

/// The formats of the output, and its destination.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub(super) struct TopologyOutputArgs {
    /// Show the arithmetic with the numbers filled in, the assumptions, and the sources
    #[arg(long)]
    pub(super) explain: bool,
    /// The formats.
    #[command(flatten)]
    pub(super) formats: PredictFormatArgs,
}
