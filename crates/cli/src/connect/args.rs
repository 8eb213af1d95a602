//! The flags of `caudal connect`.

use crate::args::{OutputArgs, TargetArgs};
use crate::capture::CaptureArgs;
use caudal_core::marks::Dscp;
use caudal_core::units::parse_duration;
use std::time::Duration;

/// `caudal connect`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("host", |host| host.help("The host, also as HOST:PORT, an IPv6 address then in brackets: one that runs `caudal serve`, or any server; without it this machine is measured over loopback")),
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row an interval")),
    mut_arg("quiet", |quiet| quiet.help("Print the rate, the times of each step, what failed and the warnings only"))
)]
pub struct ConnectArgs {
    /// The server's address.
    #[command(flatten)]
    pub target: TargetArgs,
    /// Connections being opened at once; one after another by default
    #[arg(
        short = 'P',
        long,
        value_name = "N",
        default_value_t = 1,
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub parallel: u32,
    /// Duration of the test
    #[arg(short, long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Duration,
    /// End after so many connections
    #[arg(
        long,
        value_name = "N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub count: Option<u64>,
    /// Begin N connections per second on a schedule, whether or not earlier ones have ended, as far as --parallel reaches [default: each when
    /// the one before it has ended; one a second at a server that is not caudal's, nor yours]
    #[arg(
        short = 'b',
        long,
        value_name = "N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub rate: Option<f64>,
    /// Make a handshake of TLS 1.3 on each connection; the certificate of a server that is not caudal's is not verified
    #[arg(long, help_heading = "Test")]
    pub tls: bool,
    /// The time allowed for each step: the TCP handshake, that of TLS, the answer
    #[arg(long, value_name = "TIME", default_value = "5s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Time between rows
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub interval: Duration,
    /// The DSCP to send with: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(
        long,
        value_name = "NAME|N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Option<Dscp>,
    /// Pin the threads to these processors, in turn
    #[arg(
        short = 'A',
        long,
        value_name = "N,…",
        value_delimiter = ',',
        help_heading = "Test"
    )]
    pub affinity: Vec<usize>,
    /// Open connections to the port whatever listens there, without looking for a server of caudal: as for ports below 1024
    #[arg(long, help_heading = "Peer")]
    pub any_server: bool,
    /// The server is yours: open more than one connection a second to it, though it is not caudal's nor on this host
    #[arg(long, help_heading = "Peer")]
    pub my_server: bool,
    /// The options of the capture.
    #[command(flatten)]
    pub capture: CaptureArgs,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

const EXAMPLES: &str = "Examples:\n  \
    caudal connect far.example                   one connection after another, to `caudal serve`\n  \
    caudal connect far.example -P 32 --tls       32 at once, each with a TLS handshake\n  \
    caudal connect far.example -b 200 -t 1m      200 a second on a schedule\n  \
    caudal connect example.com:443 --tls         handshakes of TCP and TLS with any server, one a second\n  \
    caudal connect 192.0.2.1:8080 --my-server    as fast as it goes, to a server of your own";
