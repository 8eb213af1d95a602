//! The command line: every flag with its default, as `--help`, the man page and the reference show it.

use crate::exit::Failure;
use caudal_core::units::{BitRate, ByteCount, parse_duration, parse_fraction};
use caudal_engine::allow::Network;
use caudal_sys::signal::Interrupt;
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Measures what a network gives TCP and UDP, and says why.
#[derive(Debug, Parser)]
#[command(
    name = "caudal",
    version,
    about,
    long_about = "Measures what a network gives TCP and UDP, with the statistics that make a number \
                  believable, and says what limited it.\n\nWithout a HOST, tcp, udp and rtt measure this \
                  machine: they start a server of their own on loopback. For a network, run \
                  `caudal serve` on the far host.",
    after_help = "Rates take decimal suffixes (k, M, G, T); sizes take those and binary ones (Ki, Mi, Gi).\n\
                  Exit codes: 0 done; 1 the test failed or was cut short; 2 bad usage; 3 peer unreachable \
                  or refused; 4 not permitted here; 5 a study's expectation was not met.",
    max_term_width = 100
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// The far side: answers any number of clients at once
    Serve(ServeArgs),
    /// Bulk TCP: goodput, round-trip time under load, and what limited it
    Tcp(TcpArgs),
    /// Bulk UDP: goodput, loss and where it happened, delay variation, reordering
    Udp(UdpArgs),
    /// Round-trip time by message size, stop-and-wait or on a schedule
    Rtt(crate::rtt::RttArgs),
    /// iperf 2's own options and output, with any server or clients of iperf 2 (`caudal iperf --help`)
    #[command(disable_help_flag = true)]
    Iperf(ForeignArgs),
    /// nttcp's own options and output, with any nttcp (`caudal nttcp -?`)
    #[command(disable_help_flag = true)]
    Nttcp(ForeignArgs),
    /// A test network of hosts and emulated links on this machine
    Lab(crate::lab::LabArgs),
    /// An experiment as code: carried out, repeated until believable, compared with what was expected
    Study(crate::study::args::StudyArgs),
    /// What theory expects of a link, a window, a loss rate, a mix of flows
    Predict(crate::predict::PredictArgs),
    /// Runs and studies that were kept: listed, shown and marked
    Report(crate::report::ReportArgs),
    /// iperf3's own options and output, with any server or clients of iperf3 (`caudal iperf3 --help`)
    #[command(disable_help_flag = true)]
    Iperf3(ForeignArgs),
}

/// Another program's command line.
#[derive(Debug, Clone, Args)]
pub struct ForeignArgs {
    /// That program's options, as its manual has them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION"
    )]
    pub words: Vec<std::ffi::OsString>,
}

/// Where the server is, and where to leave from.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Peer")]
pub struct TargetArgs {
    /// The host that runs `caudal serve`; without it this machine is measured over loopback
    pub host: Option<String>,
    /// The server's port, for control and data, TCP and UDP
    #[arg(short, long, value_name = "PORT", default_value_t = caudal_engine::PORT, allow_negative_numbers = true)]
    pub port: u16,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long)]
    pub ipv6: bool,
    /// The local address to leave from
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// The interface to leave from (may need privileges)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
}

impl TargetArgs {
    /// Holds what was given against what can be.
    ///
    /// # Errors
    /// Names the flag, and what would be accepted.
    pub fn check(&self) -> Result<(), Failure> {
        if self.port == 0 {
            return Err(Failure::usage(
                "--port is 0",
                "it must lie between 1 and 65535",
            ));
        }
        let Some(bind) = self.bind else { return Ok(()) };
        let host = self.host.as_deref().unwrap_or("");
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let peer: Option<IpAddr> = bare.parse().ok();
        let of_host = peer.is_some_and(|peer| peer.is_ipv4() != bind.is_ipv4());
        if of_host || (bind.is_ipv4() && self.ipv6) || (bind.is_ipv6() && self.ipv4) {
            return Err(self.another_family(bind));
        }
        Ok(())
    }

    /// The address to leave from cannot reach the host.
    #[must_use]
    pub fn another_family(&self, bind: IpAddr) -> Failure {
        let (ours, other) = if bind.is_ipv4() {
            ("IPv4", "IPv6")
        } else {
            ("IPv6", "IPv4")
        };
        let host = self.host.as_deref().unwrap_or("the peer");
        Failure::usage(
            format!("--bind {bind} is {ours}, and {host} is to be reached over {other}"),
            format!("give --bind an {other} address, or leave it out"),
        )
    }
}

/// What is printed, and where.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Print one JSON object (schema caudal.run/1) when done
    #[arg(long, conflicts_with_all = ["json_stream", "csv"])]
    pub json: bool,
    /// Print one JSON event a line as they happen; the last is the whole run
    #[arg(long, conflicts_with = "csv")]
    pub json_stream: bool,
    /// Print comma-separated values
    #[arg(long)]
    pub csv: bool,
    /// Write the output to FILE; with --json or --csv the text is still shown
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Print the closing block only
    #[arg(short, long)]
    pub quiet: bool,
    /// Show every column of every interval, which makes rows wider than 80 columns
    #[arg(short, long)]
    pub verbose: bool,
    /// The confidence of intervals, as 0.95 or 95%
    #[arg(long, value_name = "P", default_value = "0.95", value_parser = confidence, allow_hyphen_values = true)]
    pub confidence: f64,
    /// Where the run is kept.
    #[command(flatten)]
    pub store: StoreArgs,
}

impl Default for OutputArgs {
    /// Text on standard output, nothing kept.
    fn default() -> Self {
        Self {
            json: false,
            json_stream: false,
            csv: false,
            output: None,
            quiet: false,
            verbose: false,
            confidence: 0.95,
            store: StoreArgs {
                store: None,
                no_store: true,
            },
        }
    }
}

/// Where runs are kept.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Store")]
pub struct StoreArgs {
    /// Keep the run in FILE, for `caudal report` [default: CAUDAL_STORE, or caudal/store.db in the user's data directory]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Do not keep the run; CAUDAL_STORE=none says the same
    #[arg(long, conflicts_with = "store")]
    pub no_store: bool,
}

/// What the throughput tests have in common.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Test")]
pub struct TrafficArgs {
    /// How long to measure; a warm-up left out with --omit comes before [default: 10s; 2s for each trial of --find-rate]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, conflicts_with = "bytes", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// End after exactly so many payload bytes a direction instead
    #[arg(short = 'n', long, value_name = "SIZE", allow_hyphen_values = true)]
    pub bytes: Option<ByteCount>,
    /// How often to report
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub interval: Duration,
    /// Leave a warm-up out: a time, or `auto` to let MSER find it among the intervals
    #[arg(long, value_name = "TIME|auto", value_parser = omit, allow_hyphen_values = true)]
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
    /// Socket buffers to ask for, instead of the kernel's own choice (TCP) or 4 MiB (UDP)
    #[arg(short, long, value_name = "SIZE", allow_hyphen_values = true)]
    pub window: Option<ByteCount>,
    /// The DSCP to send with, 0 to 63
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub dscp: Option<u8>,
    /// Pin the flows' threads of this end to these processors, in turn, as 0,2
    #[arg(short = 'A', long, value_name = "CPU,…", value_delimiter = ',')]
    pub affinity: Vec<usize>,
    /// Speak another program's language with its server; without it that is found out where it is iperf3's
    #[arg(long = "as", value_name = "PROGRAM")]
    pub language: Option<crate::peer::Language>,
    /// Begin to send at this moment: seconds since 1970, or from now on as +2s; at once when it is past
    #[arg(long, value_name = "TIME", value_parser = moment, conflicts_with_all = ["repeat", "until"])]
    pub at: Option<Moment>,
    /// The rate of the link, to compare with, where the interface does not say it
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
    /// Repeat until the interval of the mean is within this part of it, as 5% (10 to 100 runs unless --repeat says more)
    #[arg(long, value_name = "PART", value_parser = parse_fraction, allow_hyphen_values = true)]
    pub until: Option<f64>,
}

/// `caudal tcp`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_TCP)]
pub struct TcpArgs {
    /// Where the server is.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What the throughput tests have in common.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// Payload a second for each flow; `max` for as fast as it goes
    #[arg(short = 'b', long, value_name = "RATE", default_value = "max", value_parser = rate, help_heading = "TCP", allow_hyphen_values = true)]
    pub rate: RateArg,
    /// Bytes handed to the kernel in one call [default: 128Ki; 256Ki with --zerocopy]
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
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `caudal udp`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_UDP)]
pub struct UdpArgs {
    /// Where the server is.
    #[command(flatten)]
    pub target: TargetArgs,
    /// What the throughput tests have in common.
    #[command(flatten)]
    pub traffic: TrafficArgs,
    /// Payload a second for each flow; `max` for as fast as it goes
    #[arg(short = 'b', long, value_name = "RATE", default_value = "1M", value_parser = rate, help_heading = "UDP", allow_hyphen_values = true)]
    pub rate: RateArg,
    /// Payload bytes in a datagram, 32 to 65507; by default the largest that fits the path MTU
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
    /// Search for the highest rate with at most this loss, as 0.1% (0 for none); --rate bounds the search
    #[arg(long, value_name = "LOSS", value_parser = loss, conflicts_with_all = ["bytes", "bidir", "repeat", "until"], help_heading = "UDP", allow_hyphen_values = true)]
    pub find_rate: Option<f64>,
    /// What is printed.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// `caudal serve`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_SERVE)]
pub struct ServeArgs {
    /// The address to listen on; all of them, IPv4 and IPv6, when left out
    #[arg(short = 'B', long, value_name = "ADDRESS")]
    pub bind: Option<IpAddr>,
    /// The port, for control and data, TCP and UDP
    #[arg(short, long, value_name = "PORT", default_value_t = caudal_engine::PORT, allow_negative_numbers = true)]
    pub port: u16,
    /// End after one client's visit
    #[arg(short = '1', long)]
    pub one_off: bool,
    /// Clients at once; one more waits a second for a place, and is refused then
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        allow_negative_numbers = true
    )]
    pub max_clients: usize,
    /// The most one test may carry in one direction
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub max_rate: Option<BitRate>,
    /// The longest one test may take
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub max_time: Option<Duration>,
    /// Answer only clients from this network (may be given several times, or with commas)
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub allow: Vec<Network>,
    /// How long a client may do nothing
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub idle_timeout: Duration,
    /// The port for iperf 2, TCP and UDP
    #[arg(long, value_name = "PORT", default_value_t = caudal_wire::iperf2::PORT, help_heading = "iperf 2 and nttcp")]
    pub iperf2_port: u16,
    /// Do not answer iperf 2
    #[arg(
        long,
        conflicts_with = "iperf2_port",
        help_heading = "iperf 2 and nttcp"
    )]
    pub no_iperf2: bool,
    /// Do not connect back to iperf 2 clients that ask for it (their -d and -r)
    #[arg(long, help_heading = "iperf 2 and nttcp")]
    pub no_connect_back: bool,
    /// Send UDP in reverse to iperf 2 clients from this network at their word; others have to have made a TCP connection
    /// (may be given several times, or with commas)
    #[arg(
        long,
        value_name = "CIDR",
        value_delimiter = ',',
        help_heading = "iperf 2 and nttcp"
    )]
    pub iperf2_trust: Vec<Network>,
    /// Join this multicast group and receive iperf 2's UDP sent to it (may be given several times, or with commas)
    #[arg(
        long,
        value_name = "ADDRESS",
        value_delimiter = ',',
        help_heading = "iperf 2 and nttcp"
    )]
    pub iperf2_group: Vec<IpAddr>,
    /// The control port for nttcp; data ports are those above
    #[arg(long, value_name = "PORT", default_value_t = caudal_wire::nttcp::PORT, help_heading = "iperf 2 and nttcp")]
    pub nttcp_port: u16,
    /// Do not answer nttcp
    #[arg(
        long,
        conflicts_with = "nttcp_port",
        help_heading = "iperf 2 and nttcp"
    )]
    pub no_nttcp: bool,
    /// Do not answer clients of iperf3
    #[arg(long, help_heading = "iperf3")]
    pub no_iperf3: bool,
    /// Answer only clients of iperf3 whose login this private key decrypts (PEM)
    #[arg(
        long,
        value_name = "FILE",
        requires = "authorized_users_path",
        help_heading = "iperf3"
    )]
    pub rsa_private_key_path: Option<PathBuf>,
    /// Their names and the SHA-256 of {name}password in hexadecimal, as name,hash lines
    #[arg(
        long,
        value_name = "FILE",
        requires = "rsa_private_key_path",
        help_heading = "iperf3"
    )]
    pub authorized_users_path: Option<PathBuf>,
    /// How far apart the clocks may be at a login
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "iperf3")]
    pub time_skew_threshold: Duration,
    /// Also take logins as clients before 3.17 encrypt them
    #[arg(long, help_heading = "iperf3")]
    pub use_pkcs1_padding: bool,
    /// Log one JSON object a line
    #[arg(long)]
    pub json_log: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

const EXAMPLES_TCP: &str = "Examples:\n  \
    caudal tcp                          this machine's own TCP\n  \
    caudal tcp far.example -R -P 4      download with four flows\n  \
    caudal tcp far.example --bidir --until 5%   repeat until the mean is known to 5 %\n  \
    caudal tcp far.example --json -o run.json\n  \
    caudal tcp far.example --as iperf2  with a server of iperf 2";
const EXAMPLES_UDP: &str = "Examples:\n  \
    caudal udp far.example -b 100M -l 1448\n  \
    caudal udp far.example --find-rate 0.1% -b 1G   the highest rate with at most 0.1 % loss\n  \
    caudal udp --rate max -l 1448       this machine's own UDP";
const EXAMPLES_SERVE: &str = "Examples:\n  \
    caudal serve\n  \
    caudal serve --allow 192.0.2.0/24 --max-rate 1G --max-time 60s\n  \
    caudal serve --no-nttcp --no-connect-back   iperf 2 as well, but never towards a client";

/// What to leave out as warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OmitArg {
    /// This long.
    Time(Duration),
    /// What MSER finds.
    Auto,
}

/// A rate, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RateArg {
    /// As fast as it goes.
    Max,
    /// This fast.
    Limit(BitRate),
}

/// A transport protocol by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol.
    Udp,
}

/// A moment of the wall clock, ns since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment(pub u64);

impl Moment {
    /// How long before it a server is connected to: what opening takes, and less than a server waits for the word to start.
    const BEFORE: Duration = Duration::from_secs(3);

    /// Waits until shortly before it, or until the user ends the wait.
    ///
    /// # Errors
    /// When the user did.
    pub fn approach(self, interrupt: &Interrupt) -> Result<(), Failure> {
        loop {
            let now = caudal_sys::clock::realtime_ns();
            let left =
                Duration::from_nanos(self.0.saturating_sub(now)).saturating_sub(Self::BEFORE);
            if left.is_zero() {
                return Ok(());
            }
            let ready = caudal_sys::poll::poll_readable(&[interrupt.fd()], Some(left));
            if interrupt.count() > 0 || ready.is_err() {
                return Err(Failure::new(crate::exit::Exit::Failed, "interrupted", ""));
            }
        }
    }
}

/// Reads a moment: seconds since 1970, or from now on with a plus.
///
/// # Errors
/// Says what would be accepted.
pub fn moment(text: &str) -> Result<Moment, String> {
    let wrong = || {
        format!(
            "{text:?} is no moment; give seconds since 1970 such as 1795295439.5, or from now on such as +2s"
        )
    };
    if let Some(later) = text.strip_prefix('+') {
        let later = parse_duration(later).map_err(|_| wrong())?;
        let later = u64::try_from(later.as_nanos()).map_err(|_| wrong())?;
        let at = caudal_sys::clock::realtime_ns().checked_add(later);
        return at.map(Moment).ok_or_else(wrong);
    }
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(part) || part.len() > 9 {
        return Err(wrong());
    }
    let seconds: u64 = whole.parse().map_err(|_| wrong())?;
    let nanos: u64 = format!("{part:0<9}").parse().map_err(|_| wrong())?;
    let at = seconds
        .checked_mul(1_000_000_000)
        .and_then(|ns| ns.checked_add(nanos));
    at.map(Moment).ok_or_else(wrong)
}

fn omit(text: &str) -> Result<OmitArg, String> {
    if text == "auto" {
        return Ok(OmitArg::Auto);
    }
    parse_duration(text)
        .map(OmitArg::Time)
        .map_err(|error| error.to_string())
}

fn rate(text: &str) -> Result<RateArg, String> {
    if text == "max" {
        return Ok(RateArg::Max);
    }
    text.parse()
        .map(RateArg::Limit)
        .map_err(|error: caudal_core::units::ParseUnitError| error.to_string())
}

/// Reads a confidence between 0.5 and 0.9999, also as a percentage.
///
/// # Errors
/// Says what would be accepted.
pub fn confidence(text: &str) -> Result<f64, String> {
    parse_fraction(text)
        .ok()
        .filter(|level| (0.5..=0.9999).contains(level))
        .ok_or_else(|| format!("{text:?} is not a confidence between 0.5 and 0.9999, such as 0.95"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_read_to_the_nanosecond() {
        for (text, ns) in [
            ("0", 0),
            ("1795295439.5", 1_795_295_439_500_000_000),
            ("1795295439.000000001", 1_795_295_439_000_000_001),
        ] {
            assert_eq!(moment(text), Ok(Moment(ns)), "{text}");
        }
        for bad in [
            "",
            "soon",
            "-1",
            "1.5.5",
            "1e9",
            ".5",
            "+",
            "+x",
            "99999999999999",
            "1.0123456789",
        ] {
            assert!(moment(bad).is_err(), "{bad}");
        }
    }
}
