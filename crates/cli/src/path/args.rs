//! The flags of `caudal path`.

use crate::args::{HostArg, OutputArgs, StartTime, start_time};
use caudal_core::marks::Dscp;
use caudal_core::units::{parse_duration, parse_fraction};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The shortest and the longest time of probing.
const TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(3600));

/// The time for which a path is watched unless told otherwise: until the user ends it.
const WATCH_TIME: Duration = Duration::from_secs(366 * 86_400);
/// Limits of the time between two probes of a hop that is watched.
const WATCH_PERIOD: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(60));
/// The usual time of probing, and the same where both ends measure, which takes another minute.
const USUAL_TIME: Duration = Duration::from_secs(55);
const TIME_BESIDE_ENDS: Duration = Duration::from_secs(25);
/// The time after which that probing ends where no hop shows a capacity.
const PATIENCE_BESIDE_ENDS: Duration = Duration::from_secs(12);

/// The shortest and the longest run of TCP.
const RUN_TIME: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// `caudal path`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row for each hop")),
    mut_arg("quiet", |quiet| quiet.help("Print the narrow link and the round-trip time of the host only")),
    mut_arg("verbose", |verbose| verbose.help("Show why each link is classed as it is"))
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own on the command line"
)]
pub struct NetworkPathArgs {
    /// The host at the end of the path, by name or address; nothing has to run there unless --peer is given
    #[arg(value_name = "HOST")]
    pub host: HostArg,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Peer")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long, help_heading = "Peer")]
    pub ipv6: bool,
    /// The local address to send from
    #[arg(short = 'B', long, value_name = "ADDRESS", help_heading = "Peer")]
    pub bind: Option<IpAddr>,
    /// The time after which probing ends if the accuracy is not reached before; more helps where hops limit their answers [default: 55s, 25s
    /// where both ends measure]
    #[arg(short, long, value_name = "TIME", value_parser = time, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// Half the width of a capacity's interval, as a part of the capacity, at which no more is probed
    #[arg(long, value_name = "P", default_value = "5%", value_parser = accuracy, help_heading = "Test", allow_hyphen_values = true)]
    pub accuracy: f64,
    /// Packets sent right before a probe that looks for shapers; together they should exceed a shaper's bucket
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64), help_heading = "Test", allow_negative_numbers = true)]
    pub primers: u32,
    /// Measure between both ends too, with `caudal serve` at the host: capacity and available bandwidth each way, delay variation, duplex mode
    #[arg(long, help_heading = "Both ends")]
    pub peer: bool,
    /// Find the duplex mode of the links only, between both ends where `caudal serve` runs at the host; hops are found, and not measured
    #[arg(long, help_heading = "Both ends")]
    pub duplex: bool,
    /// Between both ends, do not measure the available bandwidth
    #[arg(long, help_heading = "Both ends")]
    pub no_available: bool,
    /// Between both ends, do not look for the duplex mode
    #[arg(long, conflicts_with = "duplex", help_heading = "Both ends")]
    pub no_duplex: bool,
    /// Run the TCP throughput test of RFC 6349 between both ends as well: windows of 25 to 125 % of the bandwidth-delay product with one flow and
    /// several, and latency under load
    #[arg(long, help_heading = "Both ends")]
    pub rfc6349: bool,
    /// The measured part of each run of --rfc6349
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = run_time, help_heading = "Both ends", allow_hyphen_values = true)]
    pub run_time: Duration,
    /// The flows of the runs of --rfc6349 with several
    #[arg(short = 'P', long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=256), help_heading = "Both ends", allow_negative_numbers = true)]
    pub parallel: u32,
    /// The congestion control of the flows of --rfc6349 at the sender, such as cubic, reno or bbr
    #[arg(short = 'C', long, value_name = "NAME", help_heading = "Both ends")]
    pub congestion: Option<String>,
    /// The port of the server at the host [default: 5201]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Both ends", allow_negative_numbers = true)]
    pub port: Option<u16>,
    /// The token that this client and the server share, in a file
    #[arg(
        long,
        value_name = "FILE",
        env = "CAUDAL_TOKEN_FILE",
        hide_env_values = true,
        help_heading = "Both ends"
    )]
    pub token_file: Option<PathBuf>,
    /// Begin at this time: seconds since 1970, or from now on as +2s; at once when it is past
    #[arg(long, value_name = "TIME", value_parser = start_time, help_heading = "Test")]
    pub at: Option<StartTime>,
    /// The largest TTL
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u8).range(1..), help_heading = "Test", allow_negative_numbers = true)]
    pub max_ttl: u8,
    /// Do not look up the names of hops
    #[arg(long, help_heading = "Test")]
    pub numeric: bool,
    /// Do not trace other flows to count routes
    #[arg(long, help_heading = "Test")]
    pub no_routes: bool,
    /// Try flows of this many source ports, over TCP and UDP, and name those that get no answer; TCP takes any host, UDP `caudal serve` at --port
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=256), help_heading = "Test", allow_negative_numbers = true)]
    pub flows: Option<u32>,
    /// Name the hop after which the DSCP or the ECN field of packets has changed, by what ICMP quotes; takes CAP_NET_RAW
    #[arg(long, conflicts_with_all = ["watch", "duplex"], help_heading = "Test")]
    pub marks: bool,
    /// The DSCP of the probes of --marks: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(
        long,
        value_name = "NAME|N",
        default_value = "EF",
        requires = "marks",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Dscp,
    /// Do not measure the path MTU; that of the local interface is taken
    #[arg(long, help_heading = "Test")]
    pub no_mtu: bool,
    /// Do not measure capacities: hops, round-trip times and path MTU only
    #[arg(long, help_heading = "Test")]
    pub no_capacity: bool,
    /// Watch the path as mtr does: a probe of each hop every second until q or ^C, or as long as --time says, then the report
    #[arg(long, conflicts_with_all = ["peer", "duplex", "rfc6349", "flows"], help_heading = "Test")]
    pub watch: bool,
    /// The time between two probes of a hop with --watch
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = watch_period, requires = "watch", help_heading = "Test", allow_hyphen_values = true)]
    pub interval: Duration,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

impl NetworkPathArgs {
    /// `true` where a server at the host takes part.
    pub(super) const fn measures_both_ends(&self) -> bool {
        self.needs_peer() || self.duplex
    }

    /// The time after which this end's probing ends.
    pub(super) fn time_of_probing(&self) -> Duration {
        if self.watch {
            return self.time.unwrap_or(WATCH_TIME);
        }
        let usual = if self.measures_both_ends() {
            TIME_BESIDE_ENDS
        } else {
            USUAL_TIME
        };
        self.time.unwrap_or(usual)
    }

    /// The time in which hops have to show a capacity, where both ends measure one as well.
    pub(super) fn patience(&self) -> Option<Duration> {
        let is_usual = self.time.is_none() && self.needs_peer();
        is_usual.then_some(PATIENCE_BESIDE_ENDS)
    }

    /// `true` where nothing is to be measured without a server at the host.
    pub(super) const fn needs_peer(&self) -> bool {
        self.peer || self.rfc6349
    }

    /// `true` where the duplex mode alone is asked for.
    pub(super) const fn is_duplex_only(&self) -> bool {
        self.duplex && !self.needs_peer()
    }
}

/// Parses the time of probing.
fn time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (TIME.0..=TIME.1).contains(&time) {
        Ok(time)
    } else {
        Err(format!("{text:?} is not between 1 s and 1 h"))
    }
}

/// Parses the time between two probes of a hop.
fn watch_period(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (WATCH_PERIOD.0..=WATCH_PERIOD.1).contains(&time) {
        Ok(time)
    } else {
        Err(format!("{text:?} is not between 100 ms and 1 min"))
    }
}

/// Parses the duration of a run.
fn run_time(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if (RUN_TIME.0..=RUN_TIME.1).contains(&time) {
        Ok(time)
    } else {
        Err(format!("{text:?} is not between 1 s and 10 min"))
    }
}

/// Parses an accuracy.
fn accuracy(text: &str) -> Result<f64, String> {
    parse_fraction(text)
        .ok()
        .filter(|part| (0.005..=0.5).contains(part))
        .ok_or_else(|| format!("{text:?} is not an accuracy between 0.5% and 50%, such as 5%"))
}

const EXAMPLES: &str = "Examples:\n  \
    caudal path far.example                      every hop, its capacity and the narrow link: up to a minute\n  \
    caudal path far.example --no-capacity        hops, round-trip times, routes and path MTU only: a few seconds\n  \
    caudal path far.example --watch              hops as mtr shows them, until q\n  \
    caudal path far.example -t 3m --accuracy 2%  more accurate\n  \
    caudal path far.example --peer               what both ends find together as well: caudal serve runs there\n  \
    caudal path far.example --duplex             the duplex mode of the links\n  \
    caudal path far.example --rfc6349            and the throughput of TCP by window, four minutes\n  \
    caudal path far.example --json -o path.json";
