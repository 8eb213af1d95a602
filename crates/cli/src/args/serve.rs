//! `caudal serve`

use super::local_address::LocalAddressArg;
use super::protocol::any_protocol;
use crate::metrics::MetricsAddress;
use caudal_core::units::{BitRate, ByteCount, parse_duration};
use caudal_engine::{Network, Protocol};
use clap::Args;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES_SERVE: &str = "Examples:\n  \
    caudal serve\n  \
    caudal serve --allow 192.0.2.0/24 --max-rate 1G --max-time 60s\n  \
    caudal serve --token-file tokens   only clients that have one of these tokens\n  \
    caudal serve --files /srv/pub --accept-files /srv/incoming   files to get, and those that are sent\n  \
    caudal serve --iperf2 --no-connect-back   iperf 2 as well, but never towards a client\n  \
    caudal serve --web   browsers as well: http://this-host:5201/ measures from a phone\n  \
    caudal serve --prometheus 9521   counters at http://127.0.0.1:9521/metrics";

/// `caudal serve`
#[derive(Debug, Clone, Args)]
#[command(after_help = EXAMPLES_SERVE)]
pub struct ServeArgs {
    /// The address to listen on, a link-local one as fe80::1%eth0 (may be given several times, or with commas) [default: all, IPv4 and
    /// IPv6]
    #[arg(short = 'B', long, value_name = "ADDRESS", value_delimiter = ',')]
    pub bind: Vec<LocalAddressArg>,
    /// The interface, or VRF, that clients must come by, and by which they are answered (may need privileges)
    #[arg(long, value_name = "NAME")]
    pub device: Option<String>,
    /// The port, for control and data, TCP and UDP
    #[arg(short, long, value_name = "PORT", default_value_t = caudal_engine::PORT, allow_negative_numbers = true)]
    pub port: u16,
    /// End after one client's session that had a test
    #[arg(short = '1', long)]
    pub one_off: bool,
    /// Clients at once; one more waits up to a second for a free slot and is then refused. Those that are silent give way to
    /// clients of sources that have fewer
    #[arg(
        long,
        value_name = "N",
        default_value_t = 256,
        allow_negative_numbers = true
    )]
    pub max_clients: usize,
    /// Clients at once of one source, an IPv4 address or a /64 of IPv6; of iperf 2, connections [default: a quarter of
    /// --max-clients]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub max_clients_per_source: Option<usize>,
    /// Maximum rate of one test in each direction: TCP beyond it is not read, UDP far beyond it ends the test
    #[arg(long, value_name = "RATE", allow_hyphen_values = true)]
    pub max_rate: Option<BitRate>,
    /// Maximum duration of one test
    #[arg(long, value_name = "TIME", value_parser = parse_duration, allow_hyphen_values = true)]
    pub max_time: Option<Duration>,
    /// Maximum payload of one test in each direction
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub max_bytes: Option<ByteCount>,
    /// Memory for the buffers of all clients, and of their sockets in the kernel; a test that needs more is refused [default:
    /// half of what this process may have, 2Gi at most]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub max_memory: Option<ByteCount>,
    /// Let the clients of one source, an IPv4 address or a /64 of IPv6, occupy at most SIZE of it [default: a quarter]
    #[arg(long, value_name = "SIZE", allow_hyphen_values = true)]
    pub max_memory_per_source: Option<ByteCount>,
    /// Answer only clients from this network (may be given several times, or with commas)
    #[arg(long, value_name = "CIDR", value_delimiter = ',')]
    pub allow: Vec<Network>,
    /// Answer only clients of caudal that have a token of this file: one a line, or a name and a token. Other protocols are then
    /// closed unless they authenticate as well
    #[arg(
        long,
        value_name = "FILE",
        env = "CAUDAL_TOKEN_FILE",
        hide_env_values = true,
        help_heading = "Authentication"
    )]
    pub token_file: Option<PathBuf>,
    /// Answer clients of these protocols without authentication although others must authenticate themselves (may be given
    /// several times, or with commas)
    #[arg(
        long,
        value_name = "PROTOCOL",
        value_delimiter = ',',
        value_parser = any_protocol(),
        help_heading = "Authentication"
    )]
    pub allow_unauthenticated: Vec<Protocol>,
    /// The time after which an idle client is disconnected
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration, allow_hyphen_values = true)]
    pub idle_timeout: Duration,
    /// Answer iperf 2 and nttcp as well
    #[arg(long, help_heading = "iperf 2 and nttcp")]
    pub all: bool,
    /// Answer iperf 2 as well, TCP and UDP
    #[arg(long, help_heading = "iperf 2 and nttcp")]
    pub iperf2: bool,
    /// Answer iperf 2 on this port [default: 5001]
    #[arg(long, value_name = "PORT", help_heading = "iperf 2 and nttcp")]
    pub iperf2_port: Option<u16>,
    /// Leave iperf 2 out of --all
    #[arg(
        long,
        conflicts_with_all = ["iperf2", "iperf2_port"],
        help_heading = "iperf 2 and nttcp"
    )]
    pub no_iperf2: bool,
    /// Do not connect back to iperf 2 clients that ask for it (their -d and -r)
    #[arg(long, help_heading = "iperf 2 and nttcp")]
    pub no_connect_back: bool,
    /// Count the addresses of iperf 2's UDP clients from this network as validated. Others get UDP in reverse once for
    /// each TCP connection, at most 10 s after it, and otherwise no more bytes than they send (may be given several
    /// times, or with commas)
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
    /// Answer nttcp as well
    #[arg(long, help_heading = "iperf 2 and nttcp")]
    pub nttcp: bool,
    /// Answer nttcp on this control port [default: 5037]; data ports are those above
    #[arg(long, value_name = "PORT", help_heading = "iperf 2 and nttcp")]
    pub nttcp_port: Option<u16>,
    /// Leave nttcp out of --all
    #[arg(
        long,
        conflicts_with_all = ["nttcp", "nttcp_port"],
        help_heading = "iperf 2 and nttcp"
    )]
    pub no_nttcp: bool,
    /// Do not answer clients of iperf3
    #[arg(long, help_heading = "iperf3")]
    pub no_iperf3: bool,
    /// Answer only clients of iperf3 with a valid login; the private key that decrypts logins (PEM). Other protocols are
    /// then closed unless they authenticate as well
    #[arg(
        long,
        value_name = "FILE",
        requires = "authorized_users_path",
        help_heading = "iperf3"
    )]
    pub rsa_private_key_path: Option<PathBuf>,
    /// The users: a line each with the name and the SHA-256 of {name}password in hexadecimal, as name,hash
    #[arg(
        long,
        value_name = "FILE",
        requires = "rsa_private_key_path",
        help_heading = "iperf3"
    )]
    pub authorized_users_path: Option<PathBuf>,
    /// Maximum difference of the clocks at a login
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = parse_duration, help_heading = "iperf3")]
    pub time_skew_threshold: Duration,
    /// Also accept logins as clients before 3.17 encrypt them
    #[arg(long, help_heading = "iperf3")]
    pub use_pkcs1_padding: bool,
    /// Answer STAMP and TWAMP-Light as well, as a reflector on this UDP port [default: 862]. Without --stamp-key-file anybody is answered
    /// that --allow admits, with as many bytes as came; replies tell the time of this host, and the addresses that packets came by
    #[arg(
        long,
        value_name = "PORT",
        num_args = 0..=1,
        default_missing_value = "862",
        help_heading = "STAMP"
    )]
    pub stamp: Option<u16>,
    /// Answer packets of STAMP that are authenticated with the key in this file only: 16 bytes or more, the last line break aside
    #[arg(long, value_name = "FILE", requires = "stamp", help_heading = "STAMP")]
    pub stamp_key_file: Option<PathBuf>,
    /// Number replies as packets are numbered, and remember no sessions: senders then cannot tell losses there from losses back
    #[arg(long, requires = "stamp", help_heading = "STAMP")]
    pub stamp_stateless: bool,
    /// Answer packets of TWAMP-Light that are shorter than 41 bytes with 41, as their senders expect: more than came, and so to networks of
    /// --allow only
    #[arg(long, requires = "stamp", help_heading = "STAMP")]
    pub stamp_short: bool,
    /// Packets of one source, an IPv4 address or a /64 of IPv6, that are answered in a second
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        value_parser = clap::value_parser!(u32).range(1..),
        allow_negative_numbers = true,
        help_heading = "STAMP"
    )]
    pub stamp_rate: u32,
    /// Answer browsers as well, on the same port: a page that measures (http://HOST:PORT/), and clients of ndt7
    #[arg(long, help_heading = "Browsers")]
    pub web: bool,
    /// Let pages of this origin measure too, as `https://example.net` (may be given several times, or with commas)
    #[arg(
        long,
        value_name = "ORIGIN",
        value_delimiter = ',',
        value_parser = origin,
        requires = "web",
        help_heading = "Browsers"
    )]
    pub web_origin: Vec<String>,
    /// Tests that browsers of one source, an IPv4 address or a /64 of IPv6, may begin in an hour
    #[arg(
        long,
        value_name = "N",
        default_value_t = 60,
        allow_negative_numbers = true,
        help_heading = "Browsers"
    )]
    pub web_starts: u32,
    /// Payload that they may move in an hour
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "50G",
        allow_hyphen_values = true,
        help_heading = "Browsers"
    )]
    pub web_bytes: ByteCount,
    /// Record their tests in FILE, and show each to whoever has its link [default: CAUDAL_STORE, or caudal/store.db in the
    /// user's data directory]
    #[arg(long, value_name = "FILE", requires = "web", help_heading = "Browsers")]
    pub web_store: Option<PathBuf>,
    /// Keep the newest N of them; 0 records none
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1000,
        allow_negative_numbers = true,
        help_heading = "Browsers"
    )]
    pub web_keep: usize,
    /// Let clients get the regular files of this directory and of those below it (`caudal file --get`); no link is followed
    #[arg(long, value_name = "DIR", help_heading = "File transfers")]
    pub files: Option<PathBuf>,
    /// Store the files that clients send in this directory; existing ones are replaced only where a client asks for it
    #[arg(long, value_name = "DIR", help_heading = "File transfers")]
    pub accept_files: Option<PathBuf>,
    /// Store at most SIZE of them, until the server is started again, and half of it of one source [default: half of what is
    /// free there]
    #[arg(
        long,
        value_name = "SIZE",
        requires = "accept_files",
        allow_hyphen_values = true,
        help_heading = "File transfers"
    )]
    pub accept_bytes: Option<ByteCount>,
    /// Serve counters in OpenMetrics, as Prometheus reads them, over HTTP at this port or address and port, under /metrics; a
    /// port alone is one of 127.0.0.1
    #[arg(long, value_name = "ADDRESS")]
    pub prometheus: Option<MetricsAddress>,
    /// Answer requests for metrics that name this host so too, beside addresses, localhost and its own name (may be given several
    /// times, or with commas)
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        requires = "prometheus"
    )]
    pub prometheus_host: Vec<String>,
    /// Log one JSON object a line
    #[arg(long)]
    pub json_log: bool,
    /// Print nothing but errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// Parses the origin of a page: a scheme, a host and, where it is not the usual one, a port.
fn origin(text: &str) -> Result<String, String> {
    let host = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']) => {
            Ok(text.to_owned())
        }
        _ => Err("an origin is a scheme and a host, as https://example.net".to_owned()),
    }
}

impl ServeArgs {
    /// `true` when clients of iperf 2 are to be answered.
    #[must_use]
    pub const fn wants_iperf2(&self) -> bool {
        !self.no_iperf2 && (self.all || self.iperf2 || self.iperf2_port.is_some())
    }

    /// `true` when clients of nttcp are to be answered.
    #[must_use]
    pub const fn wants_nttcp(&self) -> bool {
        !self.no_nttcp && (self.all || self.nttcp || self.nttcp_port.is_some())
    }
}
