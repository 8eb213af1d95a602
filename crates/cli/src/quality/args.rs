//! The flags of `caudal quality`.

use crate::args::{OutputArgs, TargetArgs};
use caudal_core::units::parse_duration;
use std::time::Duration;

/// `caudal quality`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row every 200 ms")),
    mut_arg("quiet", |quiet| quiet.help("Print the grade, the table of the phases and the warnings only")),
    mut_arg("verbose", |verbose| verbose.help("Show every probe, the delay each way and the parts of the responsiveness"))
)]
pub struct QualityArgs {
    /// The server's address.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Duration of the phase without load
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub idle: Duration,
    /// Duration of each of the three phases with load: download, upload, both at once
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Duration,
    /// The part at the beginning of each phase with load that does not count [default: 2s, at most a fifth of --time]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub omit: Option<Duration>,
    /// Flows in each direction, which start one after another
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 4,
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub parallel: u32,
    /// The congestion control of the flows at the sender, such as cubic, reno or bbr
    #[arg(short = 'C', long, value_name = "NAME", help_heading = "Test")]
    pub congestion: Option<String>,
    /// The DSCP to send with, flows and probes: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(
        long,
        value_name = "NAME|N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Option<caudal_core::marks::Dscp>,
    /// A host on the way that answers ICMP echoes, such as the Wi-Fi router: the delay that load adds is split into what arises up to it
    /// and what arises beyond
    #[arg(long, value_name = "HOST", help_heading = "Test")]
    pub via: Option<String>,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal quality far.example                   idle, download, upload and both: 35 s\n  \
    caudal quality far.example --idle 2s -t 5s   shorter\n  \
    caudal quality far.example -P 16             sixteen flows a direction\n  \
    caudal quality far.example --json -o quality.json";
