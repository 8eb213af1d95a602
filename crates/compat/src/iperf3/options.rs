//! The options of iperf3: what each is called, what it means, and which go together.

use super::units::{parse, parse_integer};
use crate::getopt::{Flag, Takes, Word, read};
use caudal_engine::Family;
use caudal_wire::iperf3::parameters::{
    LARGEST_BURST, LARGEST_MSS, LARGEST_WINDOW, LONGEST_OMIT_S, LONGEST_S, MAX_BLOCK, MAX_DATAGRAM,
    MIN_DATAGRAM,
};
use caudal_wire::iperf3::{Complaint, MOST_STREAMS, Parameters, Protocol};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// An option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    Port,
    Format,
    Interval,
    PidFile,
    File,
    Affinity,
    Bind,
    BindDevice,
    Verbose,
    Json,
    JsonStream,
    JsonStreamFull,
    LogFile,
    ForceFlush,
    Timestamps,
    ReceiveTimeout,
    SendTimeout,
    ControlKeepAlive,
    Mptcp,
    Debug,
    Version,
    Help,
    Server,
    Daemon,
    OneOff,
    RateLimit,
    IdleTimeout,
    MaxDuration,
    RsaPrivate,
    Users,
    Skew,
    Pkcs1,
    Client,
    Udp,
    Sctp,
    Xbind,
    NStreams,
    ConnectTimeout,
    Rate,
    PacingTimer,
    FqRate,
    NoFqPacing,
    Time,
    Bytes,
    Blocks,
    Length,
    ClientPort,
    Parallel,
    Reverse,
    Bidir,
    Window,
    Congestion,
    Mss,
    NoDelay,
    V4,
    V6,
    Tos,
    Dscp,
    FlowLabel,
    ZeroCopy,
    SkipRxCopy,
    Omit,
    Title,
    ExtraData,
    GetServerOutput,
    WideCounters,
    Gsro,
    Repeating,
    DontFragment,
    UserName,
    RsaPublic,
}

const fn flag(key: Key, short: char, long: &'static [&'static str], takes: Takes) -> Flag<Key> {
    Flag {
        key,
        short: if short == ' ' { None } else { Some(short) },
        long,
        takes,
    }
}

use Takes::{Maybe, Nothing, Value};

/// Every option of iperf3 up to 3.21.
const FLAGS: [Flag<Key>; 71] = [
    flag(Key::Port, 'p', &["port"], Value),
    flag(Key::Format, 'f', &["format"], Value),
    flag(Key::Interval, 'i', &["interval"], Value),
    flag(Key::PidFile, 'I', &["pidfile"], Value),
    flag(Key::File, 'F', &["file"], Value),
    flag(Key::Affinity, 'A', &["affinity"], Value),
    flag(Key::Bind, 'B', &["bind"], Value),
    flag(Key::BindDevice, ' ', &["bind-dev"], Value),
    flag(Key::Verbose, 'V', &["verbose"], Nothing),
    flag(Key::Json, 'J', &["json"], Nothing),
    flag(Key::JsonStream, ' ', &["json-stream"], Nothing),
    flag(
        Key::JsonStreamFull,
        ' ',
        &["json-stream-full-output"],
        Nothing,
    ),
    flag(Key::LogFile, ' ', &["logfile"], Value),
    flag(Key::ForceFlush, ' ', &["forceflush"], Nothing),
    flag(Key::Timestamps, ' ', &["timestamps"], Maybe),
    flag(Key::ReceiveTimeout, ' ', &["rcv-timeout"], Value),
    flag(Key::SendTimeout, ' ', &["snd-timeout"], Value),
    flag(Key::ControlKeepAlive, ' ', &["cntl-ka"], Maybe),
    flag(Key::Mptcp, 'm', &["mptcp"], Nothing),
    flag(Key::Debug, 'd', &["debug"], Maybe),
    flag(Key::Version, 'v', &["version"], Nothing),
    flag(Key::Help, 'h', &["help"], Nothing),
    flag(Key::Server, 's', &["server"], Nothing),
    flag(Key::Daemon, 'D', &["daemon"], Nothing),
    flag(Key::OneOff, '1', &["one-off"], Nothing),
    flag(Key::RateLimit, ' ', &["server-bitrate-limit"], Value),
    flag(Key::IdleTimeout, ' ', &["idle-timeout"], Value),
    flag(Key::MaxDuration, ' ', &["server-max-duration"], Value),
    flag(Key::RsaPrivate, ' ', &["rsa-private-key-path"], Value),
    flag(Key::Users, ' ', &["authorized-users-path"], Value),
    flag(Key::Skew, ' ', &["time-skew-threshold"], Value),
    flag(Key::Pkcs1, ' ', &["use-pkcs1-padding"], Nothing),
    flag(Key::Client, 'c', &["client"], Value),
    flag(Key::Udp, 'u', &["udp"], Nothing),
    flag(Key::Sctp, ' ', &["sctp"], Nothing),
    flag(Key::Xbind, 'X', &["xbind"], Value),
    flag(Key::NStreams, ' ', &["nstreams"], Value),
    flag(Key::ConnectTimeout, ' ', &["connect-timeout"], Value),
    flag(Key::Rate, 'b', &["bitrate", "bandwidth"], Value),
    flag(Key::PacingTimer, ' ', &["pacing-timer"], Value),
    flag(Key::FqRate, ' ', &["fq-rate"], Value),
    flag(Key::NoFqPacing, ' ', &["no-fq-socket-pacing"], Nothing),
    flag(Key::Time, 't', &["time"], Value),
    flag(Key::Bytes, 'n', &["bytes"], Value),
    flag(Key::Blocks, 'k', &["blockcount"], Value),
    flag(Key::Length, 'l', &["length"], Value),
    flag(Key::ClientPort, ' ', &["cport"], Value),
    flag(Key::Parallel, 'P', &["parallel"], Value),
    flag(Key::Reverse, 'R', &["reverse"], Nothing),
    flag(Key::Bidir, ' ', &["bidir"], Nothing),
    flag(Key::Window, 'w', &["window"], Value),
    flag(
        Key::Congestion,
        'C',
        &["congestion", "linux-congestion"],
        Value,
    ),
    flag(Key::Mss, 'M', &["set-mss"], Value),
    flag(Key::NoDelay, 'N', &["no-delay"], Nothing),
    flag(Key::V4, '4', &["version4"], Nothing),
    flag(Key::V6, '6', &["version6"], Nothing),
    flag(Key::Tos, 'S', &["tos"], Value),
    flag(Key::Dscp, ' ', &["dscp"], Value),
    flag(Key::FlowLabel, 'L', &["flowlabel"], Value),
    flag(Key::ZeroCopy, 'Z', &["zerocopy"], Nothing),
    flag(Key::SkipRxCopy, ' ', &["skip-rx-copy"], Nothing),
    flag(Key::Omit, 'O', &["omit"], Value),
    flag(Key::Title, 'T', &["title"], Value),
    flag(Key::ExtraData, ' ', &["extra-data"], Value),
    flag(Key::GetServerOutput, ' ', &["get-server-output"], Nothing),
    flag(Key::WideCounters, ' ', &["udp-counters-64bit"], Nothing),
    flag(Key::Gsro, ' ', &["gsro"], Nothing),
    flag(Key::Repeating, ' ', &["repeating-payload"], Nothing),
    flag(Key::DontFragment, ' ', &["dont-fragment"], Nothing),
    flag(Key::UserName, ' ', &["username"], Value),
    flag(Key::RsaPublic, ' ', &["rsa-public-key-path"], Value),
];

/// What a client wants beyond its parameters.
#[derive(Debug, Clone, Default)]
pub struct ClientSettings {
    /// The server.
    pub host: String,
    /// What is to be done; the length only where `length` is given.
    pub parameters: Parameters,
    /// Bytes in a block or datagram.
    pub length: Option<u32>,
    /// The first local port of the data connections.
    pub client_port: Option<u16>,
    /// How long connecting may take.
    pub connect_timeout: Option<Duration>,
    /// How long sent data may stay unacknowledged.
    pub send_timeout: Option<Duration>,
    /// Where the payload comes from.
    pub file: Option<PathBuf>,
    /// Who it is.
    pub user_name: Option<String>,
    /// The server's public key.
    pub public_key: Option<PathBuf>,
    /// Whether the login is encrypted as it was before 3.17.
    pub pkcs1: bool,
}

/// What a server is to do.
#[derive(Debug, Clone, Default)]
pub struct ServerSettings {
    /// Whether it ends after one test.
    pub one_off: bool,
    /// The most a test may carry, bit/s, and the time that is averaged over.
    pub rate_limit: Option<(u64, Duration)>,
    /// How long it waits for a client; with `one_off` it ends then.
    pub idle_timeout: Option<Duration>,
    /// The longest test.
    pub max_duration: Option<Duration>,
    /// Its private key.
    pub private_key: Option<PathBuf>,
    /// Whom it answers.
    pub users: Option<PathBuf>,
    /// How far clocks may be apart.
    pub skew: Duration,
    /// Whether a login may be encrypted as it was before 3.17.
    pub pkcs1: bool,
}

/// Which end this is.
#[derive(Debug, Clone)]
pub enum End {
    /// The side that asks.
    Client(Box<ClientSettings>),
    /// The side that answers.
    Server(ServerSettings),
}

/// How the output looks.
#[derive(Debug, Clone, Default)]
pub struct Look {
    /// The unit of rates, as `-f` names it.
    pub format: Option<char>,
    /// Whether more is told.
    pub verbose: bool,
    /// One object at the end.
    pub json: bool,
    /// One event a line.
    pub json_stream: bool,
    /// The object behind the events.
    pub json_full: bool,
    /// Where it goes instead of standard output.
    pub log_file: Option<PathBuf>,
    /// What every line begins with: a format for the time of day.
    pub timestamps: Option<String>,
    /// What every line begins with after that.
    pub title: Option<String>,
}

/// A whole command line.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Which end this is.
    pub end: End,
    /// The server's port.
    pub port: u16,
    /// The address family.
    pub family: Option<Family>,
    /// The local address.
    pub bind: Option<IpAddr>,
    /// The interface.
    pub device: Option<String>,
    /// How often is reported; `None` for the end only.
    pub interval: Option<Duration>,
    /// This end's processor.
    pub affinity: Option<usize>,
    /// How long a receiver waits for data.
    pub receive_timeout: Duration,
    /// Where to write the process's number.
    pub pid_file: Option<PathBuf>,
    /// How the output looks.
    pub look: Look,
}

/// What a command line asks for.
#[derive(Debug, Clone)]
pub enum Asked {
    /// The version.
    Version,
    /// Help.
    Help,
    /// A test or a server.
    Run(Box<Settings>),
}

/// Why a command line cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Wrong {
    /// It cannot be read: said with the usage.
    Unreadable(String),
    /// It makes no sense, or asks for what is not there.
    Refused(String),
}

fn wrong(words: impl Into<String>) -> Wrong {
    Wrong::Refused(words.into())
}

fn of(complaint: Complaint) -> Wrong {
    Wrong::Refused(complaint.words())
}

/// A number without a suffix.
fn whole(text: &str, name: &str) -> Result<u64, Wrong> {
    parse_integer(text)
        .and_then(|number| u64::try_from(number).ok())
        .ok_or_else(|| wrong(format!("{name}: {text:?} is not a whole number")))
}

fn seconds(text: &str, name: &str) -> Result<u64, Wrong> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.fract() == 0.0 && (0.0..1e9).contains(&number) => Ok(number as u64),
        Ok(number) if (0.0..1e9).contains(&number) => Err(wrong(format!(
            "{name}: iperf3 counts in whole seconds, not {text}"
        ))),
        _ => Err(wrong(format!(
            "{name}: {text:?} is not a number of seconds"
        ))),
    }
}

fn suffixed(text: &str, step: f64) -> Result<u64, Wrong> {
    match parse(text, step) {
        Some(number) if (0.0..9.2e18).contains(&number) => Ok(number as u64),
        _ => Err(of(Complaint::BAD_UNIT)),
    }
}

fn narrow<T: TryFrom<u64>>(number: u64, most: u64, complaint: Complaint) -> Result<T, Wrong> {
    if number > most {
        return Err(of(complaint));
    }
    T::try_from(number).map_err(|_| of(complaint))
}

fn milliseconds(text: &str, name: &str) -> Result<Duration, Wrong> {
    whole(text, name).map(Duration::from_millis)
}

fn port(text: &str, name: &str) -> Result<u16, Wrong> {
    whole(text, name)
        .ok()
        .and_then(|port| u16::try_from(port).ok())
        .filter(|port| *port > 0)
        .ok_or_else(|| {
            wrong(format!(
                "{name}: {text:?} is not a port between 1 and 65535"
            ))
        })
}

/// The code points that have names. Source: RFC 2474, 2597, 3246, 5865, 8622.
const DSCP_NAMES: [(&str, u64); 24] = [
    ("cs0", 0),
    ("default", 0),
    ("le", 1),
    ("cs1", 8),
    ("af11", 10),
    ("af12", 12),
    ("af13", 14),
    ("cs2", 16),
    ("af21", 18),
    ("af22", 20),
    ("af23", 22),
    ("cs3", 24),
    ("af31", 26),
    ("af32", 28),
    ("af33", 30),
    ("cs4", 32),
    ("af41", 34),
    ("af42", 36),
    ("af43", 38),
    ("cs5", 40),
    ("va", 44),
    ("ef", 46),
    ("cs6", 48),
    ("cs7", 56),
];

fn dscp(text: &str) -> Result<u8, Wrong> {
    let named = DSCP_NAMES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, code)| *code);
    let code = match named {
        Some(code) => code,
        None => whole(text, "--dscp").map_err(|_| of(Complaint::DSCP))?,
    };
    narrow::<u8>(code, 63, Complaint::DSCP).map(|code| code << 2)
}

/// A rate and what may follow it behind a slash.
fn rate_and(text: &str) -> Result<(u64, Option<&str>), Wrong> {
    let (rate, rest) = match text.split_once('/') {
        Some((rate, rest)) => (rate, Some(rest)),
        None => (text, None),
    };
    Ok((suffixed(rate, 1000.0)?, rest))
}

fn address(text: &str) -> Result<(IpAddr, Option<String>), Wrong> {
    let (host, device) = match text.split_once('%') {
        Some((host, device)) => (host, Some(device.to_owned())),
        None => (text, None),
    };
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let parsed = bare.parse().or_else(|_| {
        use std::net::ToSocketAddrs;
        (bare, 0)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .map(|found| found.ip())
            .ok_or(())
    });
    match parsed {
        Ok(address) => Ok((address, device)),
        Err(()) => Err(wrong(format!(
            "--bind: {text:?} is no address of this machine"
        ))),
    }
}

#[derive(Default)]
struct Draft {
    client: ClientSettings,
    server: ServerSettings,
    is_server: bool,
    is_client: bool,
    udp: bool,
    rate: Option<u64>,
    ends: u32,
    length: Option<u64>,
    only_client: Option<String>,
    only_server: Option<String>,
}

/// Options only a client has, and only a server.
const fn belongs(key: Key) -> Option<bool> {
    use Key::{
        Bidir, Blocks, Bytes, Client, ClientPort, Congestion, ConnectTimeout, Daemon, DontFragment,
        Dscp, ExtraData, FlowLabel, FqRate, GetServerOutput, Gsro, IdleTimeout, Length,
        MaxDuration, Mptcp, Mss, NStreams, NoDelay, NoFqPacing, Omit, OneOff, PacingTimer,
        Parallel, Rate, RateLimit, Repeating, Reverse, RsaPrivate, RsaPublic, Sctp, Server, Skew,
        SkipRxCopy, Time, Title, Tos, Udp, UserName, Users, WideCounters, Window, Xbind, ZeroCopy,
    };
    match key {
        Client | Udp | Sctp | Xbind | NStreams | ConnectTimeout | Rate | PacingTimer | FqRate
        | NoFqPacing | Time | Bytes | Blocks | Length | ClientPort | Parallel | Reverse | Bidir
        | Window | Congestion | Mss | NoDelay | Tos | Dscp | FlowLabel | ZeroCopy | SkipRxCopy
        | Omit | Title | ExtraData | GetServerOutput | WideCounters | Gsro | Repeating
        | DontFragment | UserName | RsaPublic | Mptcp => Some(true),
        Server | Daemon | OneOff | RateLimit | IdleTimeout | MaxDuration | RsaPrivate | Users
        | Skew => Some(false),
        _ => None,
    }
}

/// Reads a command line of iperf3, without the program's own name.
///
/// # Errors
/// When it cannot be read, makes no sense, or asks for what this program does not have.
pub fn settings(words: impl IntoIterator<Item = String>) -> Result<Asked, Wrong> {
    let words = read(&FLAGS, words).map_err(|error| Wrong::Unreadable(error.to_string()))?;
    let mut draft = Draft::default();
    let mut all = Settings {
        end: End::Server(ServerSettings::default()),
        port: caudal_engine::PORT,
        family: None,
        bind: None,
        device: None,
        interval: Some(Duration::from_secs(1)),
        affinity: None,
        receive_timeout: Duration::from_secs(120),
        pid_file: None,
        look: Look::default(),
    };
    draft.server.skew = Duration::from_secs(10);
    for word in words {
        let (key, value, written) = match word {
            Word::Flag(key, value, written) => (key, value, written),
            Word::Operand(operand) => {
                return Err(Wrong::Unreadable(format!(
                    "unexpected argument '{operand}'"
                )));
            }
        };
        match key {
            Key::Version => return Ok(Asked::Version),
            Key::Help => return Ok(Asked::Help),
            _ => {}
        }
        match belongs(key) {
            Some(true) => draft.only_client.get_or_insert_with(|| written.clone()),
            Some(false) => draft.only_server.get_or_insert_with(|| written.clone()),
            None => &mut String::new(),
        };
        draft.take(key, value.as_deref(), &written, &mut all)?;
    }
    draft.finish(all).map(|all| Asked::Run(Box::new(all)))
}

impl Draft {
    fn take(
        &mut self,
        key: Key,
        value: Option<&str>,
        written: &str,
        all: &mut Settings,
    ) -> Result<(), Wrong> {
        let text = value.unwrap_or("");
        let client = &mut self.client;
        let parameters = &mut client.parameters;
        match key {
            Key::Port => all.port = port(text, written)?,
            Key::Format => {
                let letter = text
                    .chars()
                    .next()
                    .filter(|letter| "kmgtKMGTaA".contains(*letter));
                all.look.format = Some(letter.ok_or_else(|| {
                    wrong("bad format specifier (valid formats are in the set [kmgtKMGT])")
                })?);
            }
            Key::Interval => {
                let number: f64 = text.trim().parse().unwrap_or(-1.0);
                all.interval = if number == 0.0 {
                    None
                } else if (0.1..=60.0).contains(&number) {
                    Some(Duration::from_secs_f64(number))
                } else {
                    return Err(wrong(
                        "invalid report interval (min = 0.1, max = 60 seconds)",
                    ));
                };
            }
            Key::PidFile => all.pid_file = Some(text.into()),
            Key::File => client.file = Some(text.into()),
            Key::Affinity => {
                let (own, theirs) = match text.split_once([',', '/']) {
                    Some((own, theirs)) => (own, Some(theirs)),
                    None => (text, None),
                };
                let cpu = |text: &str| {
                    whole(text, written)
                        .and_then(|cpu| narrow::<u32>(cpu, 1024, Complaint::AFFINITY))
                };
                all.affinity = Some(cpu(own)? as usize);
                parameters.server_affinity = theirs.map(cpu).transpose()?;
            }
            Key::Bind => {
                let (bind, device) = address(text)?;
                all.bind = Some(bind);
                all.device = device.or_else(|| all.device.take());
            }
            Key::BindDevice => all.device = Some(text.to_owned()),
            Key::Verbose => all.look.verbose = true,
            Key::Json => all.look.json = true,
            Key::JsonStream => {
                all.look.json = true;
                all.look.json_stream = true;
            }
            Key::JsonStreamFull => {
                all.look.json = true;
                all.look.json_stream = true;
                all.look.json_full = true;
            }
            Key::LogFile => all.look.log_file = Some(text.into()),
            Key::Timestamps => {
                all.look.timestamps = Some(value.unwrap_or("%c ").to_owned());
            }
            Key::ReceiveTimeout => {
                let timeout = milliseconds(text, written)?;
                if !(Duration::from_millis(100)..=Duration::from_secs(86_400)).contains(&timeout) {
                    return Err(wrong(
                        "receive timeout value is incorrect or not in range (100 to 86400000 ms)",
                    ));
                }
                all.receive_timeout = timeout;
            }
            Key::SendTimeout => {
                let timeout = milliseconds(text, written)?;
                if timeout > Duration::from_secs(86_400) {
                    return Err(wrong(
                        "send timeout value is incorrect or not in range (0 to 86400000 ms)",
                    ));
                }
                client.send_timeout = Some(timeout).filter(|timeout| !timeout.is_zero());
            }
            Key::Mptcp => parameters.mptcp = true,
            Key::Server => self.is_server = true,
            Key::OneOff => self.server.one_off = true,
            Key::RateLimit => {
                let (rate, over) = rate_and(text)?;
                let over = over.map(|over| seconds(over, written)).transpose()?;
                let over = Duration::from_secs(over.unwrap_or(5).max(1));
                self.server.rate_limit = Some((rate, over)).filter(|(rate, _)| *rate > 0);
            }
            Key::IdleTimeout => {
                let timeout = seconds(text, written)?;
                if !(1..=86_400).contains(&timeout) {
                    return Err(wrong(
                        "idle timeout parameter is not positive or larger than allowed limit",
                    ));
                }
                self.server.idle_timeout = Some(Duration::from_secs(timeout));
            }
            Key::MaxDuration => {
                let most = seconds(text, written)?;
                self.server.max_duration = Some(Duration::from_secs(most)).filter(|_| most > 0);
            }
            Key::RsaPrivate => self.server.private_key = Some(text.into()),
            Key::Users => self.server.users = Some(text.into()),
            Key::Skew => {
                let skew = seconds(text, written)?;
                if skew == 0 {
                    return Err(wrong("skew threshold must be a positive number"));
                }
                self.server.skew = Duration::from_secs(skew);
            }
            Key::Pkcs1 => {
                self.server.pkcs1 = true;
                client.pkcs1 = true;
            }
            Key::Client => {
                self.is_client = true;
                let (host, device) = match text.split_once('%') {
                    // A scope belongs to its address; anything else names an interface.
                    Some((host, device)) if !host.contains(':') => (host, Some(device.to_owned())),
                    _ => (text, None),
                };
                client.host = host.to_owned();
                all.device = device.or_else(|| all.device.take());
            }
            Key::Udp => self.udp = true,
            Key::ConnectTimeout => {
                client.connect_timeout =
                    Some(milliseconds(text, written)?).filter(|timeout| !timeout.is_zero());
            }
            Key::Rate => {
                let (rate, burst) = rate_and(text)?;
                self.rate = Some(rate);
                if let Some(burst) = burst {
                    let burst = whole(burst, written)?;
                    if burst == 0 {
                        return Err(of(Complaint::BURST));
                    }
                    parameters.burst = Some(narrow(burst, LARGEST_BURST, Complaint::BURST)?);
                }
            }
            Key::PacingTimer => {
                parameters.pacing_timer_us = narrow(
                    suffixed(text, 1000.0)?,
                    u64::from(u32::MAX),
                    Complaint::BAD_UNIT,
                )?;
            }
            Key::FqRate => {
                parameters.fq_rate_bps = Some(suffixed(text, 1000.0)?).filter(|rate| *rate > 0);
            }
            Key::Time => {
                parameters.time_s =
                    narrow(seconds(text, written)?, LONGEST_S, Complaint::DURATION)?;
                self.ends |= 1;
            }
            Key::Bytes => {
                parameters.bytes = suffixed(text, 1024.0)?;
                self.ends |= 2;
            }
            Key::Blocks => {
                parameters.blocks = suffixed(text, 1024.0)?;
                self.ends |= 4;
            }
            Key::Length => self.length = Some(suffixed(text, 1024.0)?),
            Key::ClientPort => client.client_port = Some(port(text, written)?),
            Key::Parallel => {
                let streams = whole(text, written)?;
                if streams == 0 {
                    return Err(wrong("number of parallel streams must be at least 1"));
                }
                parameters.parallel = narrow(streams, u64::from(MOST_STREAMS), Complaint::STREAMS)?;
            }
            Key::Reverse => parameters.reverse = true,
            Key::Bidir => parameters.bidirectional = true,
            Key::Window => {
                let window = suffixed(text, 1024.0)?;
                if window > LARGEST_WINDOW {
                    return Err(of(Complaint::BUFFER_SIZE));
                }
                parameters.window = Some(window).filter(|window| *window > 0);
            }
            Key::Congestion => parameters.congestion = Some(text.to_owned()),
            Key::Mss => {
                let mss = whole(text, written)?;
                parameters.mss =
                    Some(narrow(mss, LARGEST_MSS, Complaint::MSS)?).filter(|mss: &u32| *mss > 0);
            }
            Key::NoDelay => parameters.no_delay = true,
            Key::V4 => all.family = Some(Family::V4),
            Key::V6 => all.family = Some(Family::V6),
            Key::Tos => {
                let tos = whole(text, written).map_err(|_| of(Complaint::TOS))?;
                parameters.tos = Some(narrow(tos, 255, Complaint::TOS)?);
            }
            Key::Dscp => parameters.tos = Some(dscp(text)?),
            Key::ZeroCopy => parameters.zero_copy = true,
            Key::SkipRxCopy => parameters.skip_rx_copy = true,
            Key::Omit => {
                parameters.omit_s =
                    narrow(seconds(text, written)?, LONGEST_OMIT_S, Complaint::OMIT)?;
            }
            Key::Title => parameters.title = Some(text.to_owned()),
            Key::ExtraData => parameters.extra_data = Some(text.to_owned()),
            Key::GetServerOutput => parameters.get_server_output = true,
            Key::WideCounters => parameters.wide_counters = true,
            Key::Gsro => parameters.gsro = true,
            Key::Repeating => parameters.repeating_payload = true,
            Key::DontFragment => parameters.dont_fragment = true,
            Key::UserName => client.user_name = Some(text.to_owned()),
            Key::RsaPublic => client.public_key = Some(text.into()),
            // Output is flushed with every line, control connections are kept alive, and the kernel
            // paces by itself where nothing else was asked for: these are always so.
            Key::ForceFlush | Key::ControlKeepAlive | Key::NoFqPacing => {}
            Key::Daemon => {
                return Err(wrong(format!(
                    "{written} is not available: leave going into the background to a service manager or nohup"
                )));
            }
            Key::Debug | Key::Sctp | Key::Xbind | Key::NStreams | Key::FlowLabel => {
                return Err(wrong(format!(
                    "{written} is not available in caudal iperf3"
                )));
            }
            Key::Version | Key::Help => {}
        }
        Ok(())
    }

    fn finish(mut self, mut all: Settings) -> Result<Settings, Wrong> {
        if self.is_server && self.is_client {
            return Err(wrong("cannot be both server and client"));
        }
        if !self.is_server && !self.is_client {
            return Err(Wrong::Unreadable(
                "parameter error - must either be a client (-c) or server (-s)".to_owned(),
            ));
        }
        match (self.is_server, &self.only_client, &self.only_server) {
            (true, Some(written), _) => {
                return Err(wrong(format!(
                    "some option you are trying to set is client only: {written}"
                )));
            }
            (false, _, Some(written)) => {
                return Err(wrong(format!(
                    "some option you are trying to set is server only: {written}"
                )));
            }
            _ => {}
        }
        all.look.title.clone_from(&self.client.parameters.title);
        if self.is_server {
            if self.client.file.is_some() {
                return Err(wrong(
                    "-F is not available on a server in caudal iperf3: what is received is not written down",
                ));
            }
            if self.server.private_key.is_some() != self.server.users.is_some() {
                return Err(wrong(
                    "you must specify a path to a valid RSA private key and a user credential file",
                ));
            }
            all.end = End::Server(self.server);
            return Ok(all);
        }
        let client = &mut self.client;
        let parameters = &mut client.parameters;
        parameters.protocol = if self.udp {
            Protocol::Udp
        } else {
            Protocol::Tcp
        };
        parameters.rate_bps = match (self.rate, self.udp) {
            (Some(rate), _) => rate,
            (None, true) => 1 << 20,
            (None, false) => 0,
        };
        if self.ends.count_ones() > 1 {
            return Err(wrong(
                "only one test end condition (-t, -n, -k) may be specified",
            ));
        }
        if self.ends > 1 {
            parameters.time_s = 0;
        }
        if parameters.reverse && parameters.bidirectional {
            return Err(wrong("cannot be both reverse and bidirectional"));
        }
        if let Some(length) = self.length.filter(|length| *length > 0) {
            client.length = Some(if self.udp {
                if !(MIN_DATAGRAM..=MAX_DATAGRAM).contains(&length) {
                    return Err(of(Complaint::UDP_BLOCK_SIZE));
                }
                narrow(length, MAX_DATAGRAM, Complaint::UDP_BLOCK_SIZE)?
            } else {
                narrow(length, MAX_BLOCK, Complaint::BLOCK_SIZE)?
            });
        }
        if client.file.is_some() {
            if self.udp {
                return Err(of(Complaint::UDP_FILE));
            }
            if parameters.reverse || parameters.bidirectional || parameters.zero_copy {
                return Err(wrong(
                    "-F is available in caudal iperf3 where the client alone sends, without -R, --bidir and -Z",
                ));
            }
        }
        if client.user_name.is_some() != client.public_key.is_some() {
            return Err(wrong(
                "you must specify a username, password, and path to a valid RSA public key",
            ));
        }
        if parameters.mptcp && self.udp {
            return Err(wrong("--mptcp goes with TCP only"));
        }
        if client.host.is_empty() {
            return Err(wrong("-c names no host"));
        }
        parameters.client_version = Some(super::VERSION.to_owned());
        all.end = End::Client(Box::new(self.client));
        Ok(all)
    }
}

/// The usage, as help shows it.
pub const USAGE: &str = include_str!("usage.txt");

#[cfg(test)]
mod tests {
    use super::*;

    fn client(line: &str) -> Result<ClientSettings, Wrong> {
        match settings(line.split_whitespace().map(str::to_owned))? {
            Asked::Run(all) => match all.end {
                End::Client(client) => Ok(*client),
                End::Server(_) => panic!("{line} is a server"),
            },
            other => panic!("{line}: {other:?}"),
        }
    }

    fn refused(line: &str) -> String {
        match settings(line.split_whitespace().map(str::to_owned)) {
            Err(Wrong::Refused(words) | Wrong::Unreadable(words)) => words,
            Ok(asked) => panic!("{line}: {asked:?}"),
        }
    }

    #[test]
    fn every_name_is_one_option_only() {
        let mut longs: Vec<&str> = FLAGS.iter().flat_map(|flag| flag.long).copied().collect();
        let mut shorts: Vec<char> = FLAGS.iter().filter_map(|flag| flag.short).collect();
        let (long, short) = (longs.len(), shorts.len());
        longs.sort_unstable();
        longs.dedup();
        shorts.sort_unstable();
        shorts.dedup();
        assert_eq!((longs.len(), shorts.len()), (long, short));
    }

    #[test]
    fn a_client_is_what_iperf3_makes_of_the_same_words() {
        let one =
            client("-c h -ub1G/10 -l 1400 -P 3 -R -O 2 -t 5 -S 0x10 -w 1M --title t").unwrap();
        let asked = &one.parameters;
        assert_eq!(
            (asked.protocol, asked.rate_bps, asked.burst),
            (Protocol::Udp, 1_000_000_000, Some(10))
        );
        assert_eq!(
            (one.length, asked.parallel, asked.reverse),
            (Some(1400), 3, true)
        );
        assert_eq!((asked.omit_s, asked.time_s, asked.tos), (2, 5, Some(16)));
        assert_eq!(
            (asked.window, asked.title.as_deref()),
            (Some(1 << 20), Some("t"))
        );
        let usual = client("-c h").unwrap().parameters;
        assert_eq!((usual.time_s, usual.rate_bps, usual.parallel), (10, 0, 1));
        assert_eq!(client("-c h -u").unwrap().parameters.rate_bps, 1 << 20);
        assert_eq!(client("-c h -u -b 0").unwrap().parameters.rate_bps, 0);
        let amount = client("-c h -n 1.5K").unwrap().parameters;
        assert_eq!((amount.bytes, amount.time_s), (1536, 0));
        assert_eq!(client("-c h --dscp ef").unwrap().parameters.tos, Some(184));
        assert_eq!(client("-c h --band 7").unwrap().parameters.rate_bps, 7);
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_the_words_of_iperf3() {
        let cases = [
            ("-s -c h", "cannot be both server and client"),
            (
                "-c h -t 5 -n 1M",
                "only one test end condition (-t, -n, -k) may be specified",
            ),
            (
                "-c h -R --bidir",
                "cannot be both reverse and bidirectional",
            ),
            (
                "-s -u",
                "some option you are trying to set is client only: -u",
            ),
            (
                "-c h -1",
                "some option you are trying to set is server only: -1",
            ),
            (
                "-c h -i 0.05",
                "invalid report interval (min = 0.1, max = 60 seconds)",
            ),
            (
                "-c h -t 86401",
                "test duration valid values are 0 to 86400 seconds",
            ),
            (
                "-c h -u -l 8",
                "block size invalid (minimum = 16 bytes, maximum = 65507 bytes)",
            ),
            (
                "-c h -P 129",
                "number of parallel streams too large (maximum = 128)",
            ),
            ("-c h --foo", "unrecognized option '--foo'"),
            (
                "-c h -b 1Q",
                "an option's value has an invalid unit suffix or is not a number",
            ),
        ];
        for (line, words) in cases {
            assert_eq!(refused(line), words, "{line}");
        }
    }

    #[test]
    fn what_is_not_here_is_refused_by_name() {
        for (line, name) in [
            ("-c h --sctp", "--sctp"),
            ("-c h -X a", "-X"),
            ("-c h -L 5", "-L"),
            ("-s -D", "-D"),
            ("-c h -d", "-d"),
            ("-c h -F f -R", "-F"),
            ("-s -F f", "-F"),
        ] {
            assert!(refused(line).contains(name), "{line}: {}", refused(line));
        }
    }
}
