//! The flags of `caudal stamp`.

use crate::args::{HostArg, LocalAddressArg, OutputArgs, TargetArgs};
use caudal_core::marks::Dscp;
use caudal_core::stamp::StampExtension;
use caudal_core::units::{ByteCount, parse_duration};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use std::path::PathBuf;
use std::time::Duration;

/// `caudal stamp`
#[derive(Debug, Clone, clap::Args)]
#[command(
    after_help = EXAMPLES,
    mut_arg("csv", |csv| csv.help("Print comma-separated values: a row an interval")),
    mut_arg("quiet", |quiet| quiet.help("Print the round trips, each direction and the warnings only")),
    mut_arg("verbose", |verbose| verbose.help("Show everything: the variation of the delay, the schedule, the extensions, the reflector"))
)]
pub struct StampArgs {
    /// The host with a reflector, also as HOST:PORT, an IPv6 address then in brackets; without it one is started on this machine
    pub host: Option<HostArg>,
    /// The reflector's UDP port [default: 862]
    #[arg(short, long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Peer", allow_negative_numbers = true)]
    pub port: Option<u16>,
    /// Use IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6", help_heading = "Peer")]
    pub ipv4: bool,
    /// Use IPv6 only
    #[arg(short = '6', long, help_heading = "Peer")]
    pub ipv6: bool,
    /// The local address to send from, a link-local one as fe80::1%eth0
    #[arg(short = 'B', long, value_name = "ADDRESS", help_heading = "Peer")]
    pub bind: Option<LocalAddressArg>,
    /// The interface to send from (may need privileges)
    #[arg(long, value_name = "NAME", help_heading = "Peer")]
    pub device: Option<String>,
    /// The local UDP port to send from, for firewalls and reflectors that know their senders by it
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..), help_heading = "Peer", allow_negative_numbers = true)]
    pub local_port: Option<u16>,
    /// Authenticate packets with the key in this file (HMAC-SHA-256, RFC 8762 section 4.4); the reflector needs the same
    #[arg(long, value_name = "FILE", help_heading = "Peer")]
    pub key_file: Option<PathBuf>,
    /// Packets to send [default: as many as --time has room for]
    #[arg(
        long,
        value_name = "N",
        help_heading = "Test",
        conflicts_with = "time",
        allow_negative_numbers = true
    )]
    pub count: Option<u64>,
    /// Duration of the test [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub time: Option<Duration>,
    /// Send a packet every so often
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub every: Duration,
    /// Make the gaps of the schedule exponential instead of fixed
    #[arg(long, help_heading = "Test")]
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
    /// Payload of a packet: 14 bytes are the shortest of TWAMP-Light, 44 those of STAMP without extensions [default: as many as the
    /// extensions take]
    #[arg(
        short,
        long,
        value_name = "SIZE",
        help_heading = "Test",
        allow_hyphen_values = true
    )]
    pub length: Option<ByteCount>,
    /// Extensions of RFC 8972 to ask for, with commas, or all, or none [default: direct-measurement where the length has room for it,
    /// and class-of-service with --dscp]
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        value_parser = extension_names(),
        help_heading = "Test"
    )]
    pub extensions: Vec<ExtensionChoice>,
    /// The time allowed for a reply, after which its packet counts as lost
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub timeout: Duration,
    /// Time between rows
    #[arg(short, long, value_name = "TIME", default_value = "1s", value_parser = parse_duration, help_heading = "Test", allow_hyphen_values = true)]
    pub interval: Duration,
    /// The DSCP to send with, and to ask replies to have: a name such as EF, AF41 or CS5, or 0 to 63
    #[arg(
        long,
        value_name = "NAME|N",
        help_heading = "Test",
        allow_negative_numbers = true
    )]
    pub dscp: Option<Dscp>,
    /// The options of the output.
    #[command(flatten)]
    pub output: OutputArgs,
}

/// Which extensions are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtensionChoice {
    /// This one.
    One(StampExtension),
    /// All of them.
    All,
    /// None.
    None,
}

fn extension_names() -> impl TypedValueParser<Value = ExtensionChoice> {
    let names = StampExtension::ALL.map(StampExtension::name);
    let names = names.into_iter().chain(["all", "none"]);
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "all" => ExtensionChoice::All,
        "none" => ExtensionChoice::None,
        name => StampExtension::ALL
            .into_iter()
            .find(|one| one.name() == name)
            .map_or(ExtensionChoice::None, ExtensionChoice::One),
    })
}

impl StampArgs {
    /// The reflector and the local address, as other commands have their server.
    pub(super) fn target_args(&self) -> TargetArgs {
        TargetArgs {
            host: self.host.clone(),
            port: self.port,
            ipv4: self.ipv4,
            ipv6: self.ipv6,
            token_file: None,
            bind: self.bind,
            device: self.device.clone(),
        }
    }
}

const EXAMPLES: &str = "Examples:\n  \
    caudal stamp far.example                     10 s of packets every 10 ms, to `caudal serve --stamp` or a router\n  \
    caudal stamp far.example --every 20ms --count 3000 -l 1472\n  \
    caudal stamp far.example --dscp EF           is the mark kept, both ways\n  \
    caudal stamp router.example -l 41            a reflector of TWAMP-Light\n  \
    caudal stamp far.example --key-file key      packets authenticated at both ends";
