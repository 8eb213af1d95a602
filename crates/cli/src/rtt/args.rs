//! The flags of `caudal rtt`.

use crate::args::{OutputArgs, ProtocolArg, StartTime, TargetArgs, start_time};
use crate::capture::CaptureArgs;
use caudal_core::marks::Dscp;
use caudal_core::plan::MessageSizes;
use caudal_core::units::{BitRate, ByteCount, parse_duration};
use std::path::PathBuf;
use std::time::Duration;

/// `caudal rtt`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row per size and client, and one for all clients")),
    mut_arg("verbose", |verbose| verbose.help("Show everything: each client, outliers, the schedule, the delay each way, the window and the prediction"))
)]
pub struct RttArgs {
    /// The server's address.
    #[command(flatten)]
    pub target: TargetArgs,
    /// The protocol
    #[arg(
        long,
        value_enum,
        value_name = "tcp|udp",
        default_value = "tcp",
        help_heading = "Test"
    )]
    pub proto: ProtocolArg,
    /// Connections at once, a client each, all at the same size at the same time
    #[arg(
        short = 'P',
        long = "parallel",
        visible_alias = "clients",
        value_name = "N",
        default_value_t = 1,
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub clients: u32,
    /// The local port of the first connection, those of the others follow it, as for a firewall that knows them
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Peer", allow_negative_numbers = true)]
    pub local_port: Option<u16>,
    /// Measure with those connections that open where others do not, instead of failing
    #[arg(long, help_heading = "Test")]
    pub partial: bool,
    /// Messages of each size from each client, after a first one that counts apart [default: as many as --time has room for;
    /// 1000 with --sizes or --sweep]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub count: Option<u64>,
    /// End after this time, however many messages remain [default: 10s; with --count, --sizes or --sweep when all are done]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// Begin to send at this time: seconds since 1970, or from now on as +2s; at once when it is past
    #[arg(long, value_name = "TIME", value_parser = start_time, help_heading = "Test")]
    pub at: Option<StartTime>,
    /// Time between rows
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub interval: Duration,
    /// Size of the messages [default: 64]
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "Test",
        conflicts_with_all = ["sizes", "sweep"],
        allow_hyphen_values = true
    )]
    pub length: Option<ByteCount>,
    /// Several message sizes one after another, as 1,64,1Ki or 1..64Ki for doubling ones
    #[arg(
        long,
        value_name = "SIZE,…",
        help_heading = "Test",
        conflicts_with = "sweep",
        allow_hyphen_values = true
    )]
    pub sizes: Option<MessageSizes>,
    /// The 17 message sizes from 1 to 65536 bytes, each twice the one before: --sizes 1..64Ki
    #[arg(long, help_heading = "Test")]
    pub sweep: bool,
    /// Count the first message of each size with the others
    #[arg(long, help_heading = "Test")]
    pub include_first: bool,
    /// Send on a schedule, a message every so often from each client, and measure from when it was due
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub every: Option<Duration>,
    /// Make the gaps of the schedule exponential instead of fixed
    #[arg(long, requires = "every", help_heading = "Test")]
    pub poisson: bool,
    /// Seed of the random gaps: the same seed gives the same gaps [default: a new one each time]
    #[arg(
        long,
        value_name = "N",
        requires = "poisson",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub seed: Option<u64>,
    /// Time limit for a reply, after which it is lost (UDP) or the connection is closed (TCP)
    /// [default: 1s over UDP, 10s over TCP]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub timeout: Option<Duration>,
    /// Leave Nagle's algorithm on
    #[arg(long, help_heading = "Test")]
    pub nagle: bool,
    /// The congestion control, such as cubic, reno or bbr
    #[arg(short = 'C', long, value_name = "NAME", help_heading = "Test")]
    pub congestion: Option<String>,
    /// Socket buffers to ask for, instead of the kernel's own choice
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub window: Option<ByteCount>,
    /// The DSCP to send with: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(
        long,
        value_name = "NAME|N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Option<Dscp>,
    /// Pin the connections' threads of this end to processors, as 0,2, in turn
    #[arg(
        short = 'A',
        long,
        value_name = "CPU,…",
        value_delimiter = ',',
        help_heading = "Test"
    )]
    pub affinity: Vec<usize>,
    /// Rate of the link for the prediction and the window, where the interface does not report it
    #[arg(
        long,
        value_name = "RATE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub link_rate: Option<BitRate>,
    /// Print the table MED, DVP, LOW, UPP (ms) with a column per size
    #[arg(long, conflicts_with_all = ["json", "json_stream", "csv"], help_heading = "Output")]
    pub table: bool,
    /// Write every sample to FILE as comma-separated values
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub raw: Option<PathBuf>,
    /// The capture of the test.
    #[command(flatten)]
    pub capture: CaptureArgs,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal rtt far.example                       10 s of messages of 64 B, a row a second\n  \
    caudal rtt far.example --proto udp --every 10ms   loss and one-way delays\n  \
    caudal rtt far.example --sweep               17 sizes, 1000 messages each\n  \
    caudal rtt far.example --sweep -P 2 --count 100 --table\n  \
    caudal rtt far.example --csv --raw samples.csv -o rtt.csv";
