//! The command line of iperf 2: its options, their abbreviations and their defaults.

use super::units::{self, UnitFormat};
use crate::getopt::Takes::{self, Maybe, Nothing, Value};
use crate::getopt::{self, Flag, Unreadable, Word};
use caudal_wire::iperf2::TestMode;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The options of a command line.
#[derive(Debug, Clone, PartialEq)]
pub struct Options {
    /// The server's name, with the device to leave from after a `%`; `None` for a server.
    pub host: Option<String>,
    /// `true` for a server.
    pub server: bool,
    /// `true` over UDP.
    pub udp: bool,
    /// The rate, bit/s.
    pub rate: Option<u64>,
    /// The rate in datagrams a second, instead of [`Self::rate`].
    pub pps: Option<f64>,
    /// `true` for more columns.
    pub enhanced: bool,
    /// The units of amounts and rates.
    pub format: UnitFormat,
    /// The interval between reports.
    pub interval: Option<Duration>,
    /// Bytes in a block or datagram.
    pub length: Option<u32>,
    /// `true` to show the maximum segment size.
    pub print_mss: bool,
    /// The file that the output goes to, instead of standard output.
    pub output: Option<PathBuf>,
    /// The port of the server.
    pub port: u16,
    /// The duration; zero for no end.
    pub time: Option<Duration>,
    /// The payload of each connection, bytes.
    pub bytes: Option<u64>,
    /// The socket buffers, bytes.
    pub window: Option<usize>,
    /// The local address.
    pub bind: Option<IpAddr>,
    /// The local port.
    pub bind_port: Option<u16>,
    /// The local device.
    pub device: Option<String>,
    /// `true` to send no test header.
    pub compatible: bool,
    /// The maximum segment size, bytes.
    pub mss: Option<u32>,
    /// `true` to disable Nagle's algorithm.
    pub no_delay: bool,
    /// The TOS byte.
    pub tos: Option<u8>,
    /// The congestion control.
    pub congestion: Option<String>,
    /// The letters of the reports that are not printed.
    pub exclude: String,
    /// `true` for comma-separated values.
    pub csv: bool,
    /// `true` to hide addresses.
    pub hide: bool,
    /// `true` for times in UTC.
    pub utc: bool,
    /// `true` to print sums only.
    pub sum_only: bool,
    /// `true` to serve one client at a time.
    pub single: bool,
    /// `true` for a server in the background.
    pub daemon: bool,
    /// The source of a multicast group.
    pub source_host: Option<IpAddr>,
    /// `true` for IPv6: at a server beside IPv4.
    pub v6: bool,
    /// `true` for IPv4 only.
    pub v4: bool,
    /// `true` to let the kernel drop received payload.
    pub skip_copy: bool,
    /// `true` to make the connections and send nothing.
    pub connect_only: bool,
    /// The time between connecting and the first write.
    pub delay: Option<Duration>,
    /// The directions, and who connects.
    pub mode: TestMode,
    /// The port on which the server is to connect back.
    pub listen_port: Option<u16>,
    /// The rate at which the kernel paces, bit/s.
    pub fq_rate: Option<u64>,
    /// `true` when the end of a UDP flow is not reported.
    pub no_udp_fin: bool,
    /// `true` to write the time of departure into what is sent.
    pub trip_times: bool,
    /// The file that is sent instead of the pattern; `-` for standard input.
    pub payload: Option<PathBuf>,
    /// The number of connections; of a server that of the clients after which it ends.
    pub parallel: Option<u32>,
    /// The time to live of multicast.
    pub ttl: Option<u32>,
    /// `true` to ask for the server's version.
    pub detect: bool,
    /// `true` to print the help.
    pub help: bool,
    /// `true` to print the version.
    pub version: bool,
    /// The notes to print before the test.
    pub notes: Vec<String>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            host: None,
            server: false,
            udp: false,
            rate: None,
            pps: None,
            enhanced: false,
            format: UnitFormat::AdaptiveBits,
            interval: None,
            length: None,
            print_mss: false,
            output: None,
            port: caudal_wire::iperf2::PORT,
            time: None,
            bytes: None,
            window: None,
            bind: None,
            bind_port: None,
            device: None,
            compatible: false,
            mss: None,
            no_delay: false,
            tos: None,
            congestion: None,
            exclude: String::new(),
            csv: false,
            hide: false,
            utc: false,
            sum_only: false,
            single: false,
            daemon: false,
            source_host: None,
            v6: false,
            v4: false,
            skip_copy: false,
            connect_only: false,
            delay: None,
            mode: TestMode::Up,
            listen_port: None,
            fq_rate: None,
            no_udp_fin: false,
            trip_times: false,
            payload: None,
            parallel: None,
            ttl: None,
            detect: false,
            help: false,
            version: false,
            notes: Vec::new(),
        }
    }
}

/// The options there are: a letter where it has one, all its names, and whether it takes a value.
const TABLE: &[(Option<char>, &[&str], Takes)] = &[
    (Some('b'), &["bandwidth"], Value),
    (Some('c'), &["client"], Value),
    (Some('d'), &["dualtest"], Nothing),
    (Some('e'), &["enhanced", "enhancedreports"], Nothing),
    (Some('f'), &["format"], Value),
    (Some('h'), &["help"], Nothing),
    (Some('i'), &["interval"], Value),
    (Some('l'), &["len"], Value),
    (Some('m'), &["print_mss"], Nothing),
    (Some('n'), &["num"], Value),
    (Some('o'), &["output"], Value),
    (Some('p'), &["port"], Value),
    (Some('r'), &["tradeoff"], Nothing),
    (Some('s'), &["server"], Nothing),
    (Some('t'), &["time"], Value),
    (Some('u'), &["udp"], Nothing),
    (Some('v'), &["version"], Nothing),
    (Some('w'), &["window"], Value),
    (Some('x'), &["reportexclude"], Value),
    (Some('y'), &["reportstyle"], Value),
    (Some('1'), &["singleclient"], Nothing),
    (Some('4'), &["v4"], Nothing),
    (Some('6'), &["v6"], Nothing),
    (Some('B'), &["bind"], Value),
    (Some('C'), &["compatibility"], Nothing),
    (Some('D'), &["daemon"], Nothing),
    (Some('F'), &["file_input", "fileinput"], Value),
    (Some('H'), &["ssm-host"], Value),
    (Some('I'), &["stdin", "stdin_input"], Nothing),
    (Some('L'), &["listenport"], Value),
    (Some('M'), &["mss"], Value),
    (Some('N'), &["nodelay"], Nothing),
    (Some('P'), &["parallel"], Value),
    (Some('R'), &["reverse"], Nothing),
    (Some('S'), &["tos"], Value),
    (Some('T'), &["ttl"], Value),
    (Some('U'), &["single_udp"], Nothing),
    (Some('V'), &["ipv6_domain", "IPv6Version"], Nothing),
    (Some('W'), &["suggest_win_size"], Nothing),
    (Some('X'), &["peer-detect", "peerdetect"], Nothing),
    (
        Some('Z'),
        &["tcp-congestion", "tcp-cca", "linux-congestion"],
        Value,
    ),
    (None, &["connect-only"], Maybe),
    (None, &["dscp"], Value),
    (None, &["fq-rate"], Value),
    (None, &["full-duplex"], Nothing),
    (None, &["hide-ips"], Nothing),
    (None, &["no-connect-sync"], Nothing),
    (None, &["no-udp-fin"], Nothing),
    (None, &["skip-rx-copy"], Nothing),
    (None, &["sum-only"], Nothing),
    (None, &["trip-times"], Nothing),
    (None, &["txdelay-time"], Value),
    (None, &["txstart-time"], Value),
    (None, &["utc"], Nothing),
];

/// Options of iperf 2 that are not here, by letter.
const ABSENT_LETTERS: [(char, &str); 2] = [('A', "A"), ('z', "z")];

/// Options of iperf 2 that are not here, by name.
const ABSENT: &[&str] = &[
    "NUM_REPORT_STRUCTS",
    "awdl",
    "bounceback",
    "bounceback-congest",
    "bounceback-hold",
    "bounceback-no-quickack",
    "bounceback-period",
    "bounceback-reply",
    "bounceback-request",
    "bounceback-txdelay",
    "burst-period",
    "burst-size",
    "connect-retries",
    "connect-retry-time",
    "connect-retry-timer",
    "fq-rate-step",
    "fq-rate-step-interval",
    "histograms",
    "ignore-shutdown",
    "incr-dstip",
    "incr-dstport",
    "incr-srcip",
    "incr-srcport",
    "ipg",
    "isochronous",
    "jitter-histograms",
    "l2checks",
    "local-only",
    "near-congestion",
    "omit",
    "permit-key",
    "permit-key-timeout",
    "realtime",
    "send-delay",
    "set-rand-seed",
    "sum-dstip",
    "sync-transfer-id",
    "tap-dev",
    "tcp-quickack",
    "tcp-rx-window-clamp",
    "tcp-write-prefetch",
    "tcp-write-times",
    "test-exchange-timeout",
    "tos-override",
    "tun-dev",
    "udp-histogram",
    "udp-l4s",
    "udp-l4s-video",
    "working-load",
    "working-load-cca",
];

const TOS: &[(&str, u8)] = &[
    ("af11", 0x28),
    ("af12", 0x30),
    ("af13", 0x38),
    ("af21", 0x48),
    ("af22", 0x50),
    ("af23", 0x58),
    ("af31", 0x68),
    ("af32", 0x70),
    ("af33", 0x78),
    ("af41", 0x88),
    ("af42", 0x90),
    ("af43", 0x98),
    ("cs0", 0x00),
    ("cs1", 0x20),
    ("cs2", 0x40),
    ("cs3", 0x60),
    ("cs4", 0x80),
    ("cs5", 0xa0),
    ("cs6", 0xc0),
    ("cs7", 0xe0),
    ("ef", 0xb8),
    ("le", 0x04),
    ("nqb", 0xb4),
    ("nqb2", 0x14),
    ("ac_be", 0x00),
    ("ac_bk", 0x20),
    ("ac_vi", 0x80),
    ("ac_vo", 0xc0),
    ("lowdelay", 0x10),
    ("throughput", 0x08),
    ("reliability", 0x04),
];

impl Options {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// One line that names what cannot be, and what could.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        for word in getopt::read(&flags(), words.iter().cloned()).map_err(said)? {
            match word {
                Word::Flag(name, value, written) => {
                    options.set(name, &written, value.as_deref())?;
                }
                Word::Operand(word) => return Err(format!("extra argument -- {word}")),
            }
        }
        options.check()?;
        Ok(options)
    }

    /// The words that environment variables stand for: `IPERF_<LONG NAME>` and `TCP_WINDOW_SIZE`.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let mut words = Vec::new();
        for (_, names, takes) in TABLE {
            let known = format!("IPERF_{}", names[0].to_uppercase().replace('-', "_"));
            if let Some(value) = variable(&known) {
                words.push(match takes {
                    Nothing => format!("--{}", names[0]),
                    Value | Maybe => format!("--{}={value}", names[0]),
                });
            }
        }
        if let Some(value) = variable("TCP_WINDOW_SIZE") {
            words.push(format!("--window={value}"));
        }
        words
    }

    fn check(&self) -> Result<(), String> {
        if self.help || self.version {
            return Ok(());
        }
        if self.server == self.host.is_some() {
            return Err(if self.server {
                "-s and -c exclude one another".to_owned()
            } else {
                "either -s or -c HOST is needed".to_owned()
            });
        }
        if self.server && matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex) {
            return Err("-R and --full-duplex are the client's".to_owned());
        }
        if self.udp
            && self
                .length
                .is_some_and(|length| !(16..=65_507).contains(&length))
        {
            return Err("-l of a UDP test must lie between 16 and 65507".to_owned());
        }
        if matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex) && self.compatible {
            return Err(
                "-C tells the server nothing, so it cannot be asked for -R or --full-duplex"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn set(&mut self, name: &str, written: &str, value: Option<&str>) -> Result<(), String> {
        let text = value.unwrap_or("");
        let bad = |what: &str| format!("option --{name}: {text:?} is not {what}");
        let amount = |what: &str| {
            units::parse(text)
                .filter(|number| *number >= 0.0 && *number < 1e18)
                .ok_or_else(|| bad(what))
        };
        let port = || {
            text.parse::<u16>()
                .ok()
                .filter(|port| *port > 0)
                .ok_or_else(|| bad("a port between 1 and 65535; ranges of ports are not here"))
        };
        let seconds = || {
            text.parse::<f64>()
                .ok()
                .filter(|time| (0.0..=1e9).contains(time))
                .map(Duration::from_secs_f64)
                .ok_or_else(|| bad("a number of seconds"))
        };
        match name {
            "bandwidth" => {
                let number = text.trim_end_matches("pps");
                if number.len() < text.len() {
                    let pps = units::parse(number).filter(|pps| *pps > 0.0);
                    self.pps = Some(pps.ok_or_else(|| bad("a number of packets a second"))?);
                    self.rate = None;
                } else if text.contains(',') {
                    return Err(bad("a rate; one that varies (rate,deviation) is not here"));
                } else {
                    self.rate = Some(amount("a rate, such as 50m")? as u64);
                    self.pps = None;
                }
            }
            "client" => {
                let (host, device) = match text.split_once('%') {
                    Some((host, device)) => (host, Some(device.to_owned())),
                    None => (text, None),
                };
                self.host = Some(host.to_owned());
                self.device = device.or_else(|| self.device.take());
            }
            "dualtest" => self.mode = TestMode::Dual,
            "tradeoff" => self.mode = TestMode::Tradeoff,
            "reverse" => {
                self.mode = if self.mode == TestMode::FullDuplex {
                    self.mode
                } else {
                    TestMode::Reverse
                }
            }
            "full-duplex" => self.mode = TestMode::FullDuplex,
            "enhanced" => self.enhanced = true,
            "format" => {
                let letter = text.chars().next().and_then(UnitFormat::from_letter);
                self.format =
                    letter.ok_or_else(|| bad("one of a, b, k, m, g, t, A, B, K, M, G, T"))?;
            }
            "help" => self.help = true,
            "version" => self.version = true,
            "interval" => {
                let interval = text
                    .parse::<f64>()
                    .ok()
                    .filter(|interval| (0.0..=1e6).contains(interval))
                    .ok_or_else(|| {
                        bad("a number of seconds; intervals by frame (f) are not here")
                    })?;
                self.interval =
                    (interval > 0.0).then(|| Duration::from_secs_f64(interval.max(0.005)));
            }
            "len" => {
                let length = amount("a number of bytes")?.min(f64::from(u32::MAX)) as u32;
                if !(1..=64 << 20).contains(&length) {
                    return Err(bad("a length between 1 and 64M"));
                }
                self.length = Some(length);
            }
            "print_mss" => self.print_mss = true,
            "num" => {
                let bytes = amount("a number of bytes")? as u64;
                if bytes == 0 {
                    return Err(bad("a number of bytes above 0"));
                }
                self.bytes = Some(bytes);
            }
            "output" => self.output = Some(PathBuf::from(text)),
            "port" => self.port = port()?,
            "server" => self.server = true,
            "time" => self.time = Some(seconds()?),
            "udp" => self.udp = true,
            "window" => {
                let window = amount("a number of bytes")? as usize;
                if window > 1 << 30 {
                    return Err(bad("a window of at most 1G"));
                }
                self.window = (window > 0).then_some(window);
            }
            "reportexclude" => {
                for letter in text.to_uppercase().chars() {
                    if !"CDMSV".contains(letter) {
                        return Err(bad("made of C, D, M, S and V"));
                    }
                    self.exclude.push(letter);
                }
            }
            "reportstyle" => match text.chars().next() {
                Some('c' | 'C') => self.csv = true,
                Some('a' | 'A') => self.csv = false,
                _ => return Err(bad("C")),
            },
            "singleclient" => self.single = true,
            "v4" => self.v4 = true,
            "v6" | "ipv6_domain" => self.v6 = true,
            "bind" => self.bind_to(text)?,
            "compatibility" => self.compatible = true,
            "daemon" => self.daemon = true,
            "file_input" => self.payload = Some(PathBuf::from(text)),
            "stdin" => self.payload = Some(PathBuf::from("-")),
            "ssm-host" => self.source_host = Some(text.parse().map_err(|_| bad("an address"))?),
            "listenport" => self.listen_port = Some(port()?),
            "mss" => {
                let mss = text.parse().ok().filter(|mss| (88..=65_535).contains(mss));
                self.mss = Some(mss.ok_or_else(|| bad("a segment size between 88 and 65535"))?);
            }
            "nodelay" => self.no_delay = true,
            "parallel" => {
                let parallel = text.parse().ok().filter(|many| (1..=4096).contains(many));
                self.parallel = Some(parallel.ok_or_else(|| bad("a number between 1 and 4096"))?);
            }
            "tos" => {
                self.tos = Some(
                    tos(text).ok_or_else(|| bad("a TOS byte or one of its names, such as ef"))?,
                );
            }
            "dscp" => {
                let dscp = number(text)
                    .filter(|dscp| *dscp < 64)
                    .map(|dscp| (dscp as u8) << 2);
                let named = || {
                    TOS.iter()
                        .find(|(name, _)| *name == text)
                        .map(|(_, tos)| *tos)
                };
                self.tos = Some(
                    dscp.or_else(named)
                        .ok_or_else(|| bad("a DSCP between 0 and 63"))?,
                );
            }
            "ttl" => {
                let ttl = text.parse().ok().filter(|ttl| (1..=255).contains(ttl));
                self.ttl = Some(ttl.ok_or_else(|| bad("a number between 1 and 255"))?);
            }
            "single_udp" => {
                self.udp = true;
                self.single = true;
            }
            "suggest_win_size" => {
                self.notes
                    .push("The -W option has been removed, as in iperf 2.0.6 and later".to_owned());
            }
            "peer-detect" => self.detect = true,
            "tcp-congestion" => self.congestion = Some(text.to_owned()),
            "connect-only" => {
                self.connect_only = true;
                if let Some(value) = value {
                    let many = value.parse().ok().filter(|many| (1..=4096).contains(many));
                    self.parallel = Some(many.ok_or_else(|| bad("a number of connections"))?);
                }
            }
            "fq-rate" => self.fq_rate = Some(amount("a rate")? as u64),
            "hide-ips" => self.hide = true,
            // Connections are all made before the first write, as in the original; the rest is no difference.
            "no-connect-sync" => {}
            "no-udp-fin" => self.no_udp_fin = true,
            "skip-rx-copy" => self.skip_copy = true,
            "sum-only" => self.sum_only = true,
            "trip-times" => self.trip_times = true,
            "txdelay-time" => self.delay = Some(seconds()?),
            "txstart-time" => {
                let start: f64 = text
                    .parse()
                    .map_err(|_| bad("a time in seconds since 1970"))?;
                let now = caudal_sys::clock::realtime_ns() as f64 / 1e9;
                if start < now || start > now + 1e7 {
                    return Err(bad("a time yet to come, in seconds since 1970"));
                }
                self.delay = Some(Duration::from_secs_f64(start - now));
            }
            "utc" => self.utc = true,
            _ => return Err(format!("option {written} of iperf is not here")),
        }
        Ok(())
    }

    /// `host[:port][%device]`, where an IPv6 address with a port is in brackets.
    fn bind_to(&mut self, text: &str) -> Result<(), String> {
        let bad = || format!("option --bind: {text:?} is not ADDRESS[:PORT][%DEVICE]");
        let (place, device) = match text.split_once('%') {
            Some((place, device)) => (place, Some(device.to_owned())),
            None => (text, None),
        };
        self.device = device.or_else(|| self.device.take());
        if place.is_empty() {
            return Ok(());
        }
        let bare = place.trim_start_matches('[').trim_end_matches(']');
        if let Ok(address) = bare.parse() {
            self.bind = Some(address);
            return Ok(());
        }
        let (address, port) = place.rsplit_once(':').ok_or_else(bad)?;
        let address = address.trim_start_matches('[').trim_end_matches(']');
        self.bind = Some(address.parse().map_err(|_| bad())?);
        self.bind_port = Some(port.parse().map_err(|_| bad())?);
        Ok(())
    }
}

fn number(text: &str) -> Option<u32> {
    if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok();
    }
    if text.len() > 1 && text.starts_with('0') {
        return u32::from_str_radix(&text[1..], 8).ok();
    }
    text.parse().ok()
}

fn tos(text: &str) -> Option<u8> {
    TOS.iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(text))
        .map(|(_, tos)| *tos)
        .or_else(|| number(text).and_then(|tos| u8::try_from(tos).ok()))
}

/// All options, each under the first of its names; those that are not here may have a value or not.
fn flags() -> Vec<Flag<&'static str>> {
    let here = TABLE.iter().map(|&(short, long, takes)| Flag {
        key: long[0],
        short,
        long,
        takes,
    });
    let letters = ABSENT_LETTERS.iter().map(|&(letter, key)| Flag {
        key,
        short: Some(letter),
        long: &[],
        takes: Maybe,
    });
    let names = ABSENT.iter().map(|name| Flag {
        key: *name,
        short: None,
        long: std::slice::from_ref(name),
        takes: Maybe,
    });
    here.chain(letters).chain(names).collect()
}

/// Why a command line cannot be read, as iperf 2 says it: it brings a getopt_long of its own, of older words.
fn said(error: Unreadable) -> String {
    match error {
        Unreadable::Name(name) => format!("unrecognized option `--{name}'"),
        Unreadable::Letter(letter) => format!("invalid option -- {letter}"),
        Unreadable::Ambiguous(name, names) => {
            format!("option `--{name}' is ambiguous: {}", names.join(", "))
        }
        Unreadable::Excess(name) => format!("option `--{name}' doesn't allow an argument"),
        Unreadable::NameAlone(name) => format!("option `--{name}' requires an argument"),
        Unreadable::LetterAlone(letter) => format!("option requires an argument -- {letter}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Options, String> {
        Options::parse(
            &line
                .split_whitespace()
                .map(str::to_owned)
                .collect::<Vec<_>>(),
        )
    }

    #[test]
    fn every_option_of_2_0_5_is_taken_short_and_long() {
        let pairs = [
            ("-f k", "--format k"),
            ("-i 2", "--interval 2"),
            ("-l 8K", "--len 8K"),
            ("-m", "--print_mss"),
            ("-o out", "--output out"),
            ("-p 5002", "--port 5002"),
            ("-u", "--udp"),
            ("-w 13KB", "--window 13KB"),
            ("-B 127.0.0.1", "--bind 127.0.0.1"),
            ("-C", "--compatibility"),
            ("-M 1000", "--mss 1000"),
            ("-N", "--nodelay"),
            ("-V", "--IPv6Version"),
            ("-b 50m", "--bandwidth 50m"),
            ("-d", "--dualtest"),
            ("-n 1M", "--num 1M"),
            ("-r", "--tradeoff"),
            ("-t 20", "--time 20"),
            ("-F name", "--fileinput name"),
            ("-I", "--stdin"),
            ("-L 6001", "--listenport 6001"),
            ("-P 2", "--parallel 2"),
            ("-T 4", "--ttl 4"),
            ("-Z cubic", "--linux-congestion cubic"),
            ("-x CDMSV", "--reportexclude CDMSV"),
            ("-y C", "--reportstyle C"),
        ];
        for (short, long) in pairs {
            let short = read(&format!("-c host {short}"));
            let long = read(&format!("--client host {long}"));
            assert!(short.is_ok(), "{short:?}");
            assert_ne!(short, read("-c host"));
            assert_eq!(short, long);
        }
        for (short, long) in [
            ("-s", "--server"),
            ("-s -U", "--server --single_udp"),
            ("-s -D", "--server --daemon"),
        ] {
            assert!(read(short).is_ok());
            assert_eq!(read(short), read(long));
        }
        assert!(read("-h").unwrap().help && read("--version").unwrap().version);
    }

    #[test]
    fn letters_cluster_and_names_abbreviate() {
        let options = read("-uc host -t5 -b1.5m --dual --listen=6002").unwrap();
        assert!(options.udp);
        assert_eq!(options.rate, Some(1_500_000));
        assert_eq!(options.time, Some(Duration::from_secs(5)));
        assert_eq!(
            (options.mode, options.listen_port),
            (TestMode::Dual, Some(6002))
        );
        assert_eq!(
            read("-c h%eth0 -B [::1]:5006%lo").unwrap().bind_port,
            Some(5006)
        );
        assert_eq!(read("-c h -b 100pps").unwrap().pps, Some(100.0));
        assert_eq!(read("-c h -S ef").unwrap().tos, Some(0xb8));
        assert_eq!(read("-c h -S 0x10").unwrap().tos, Some(16));
    }

    #[test]
    fn what_is_not_here_is_refused_by_its_name() {
        let cases = [
            ("-c h --isochronous=60:20m,0", "--isochronous"),
            ("-s --histograms", "--histograms"),
            ("-c h -z", "-z"),
            ("-c h --nonsense", "--nonsense"),
            ("-Q", "Q"),
            ("-c h word", "word"),
            ("-c h -p", "-- p"),
            ("-c h -p 5001-5005", "5001-5005"),
            ("-c h --t", "ambiguous"),
            ("-c h -i f", "\"f\""),
            ("-s -c h", "exclude"),
            ("", "-c HOST"),
            ("-c h -x Q", "\"Q\""),
            ("-c h -n -5", "-5"),
            ("-c h -u -l 70000", "65507"),
            ("-c h --udp=yes", "doesn't allow"),
        ];
        for (line, word) in cases {
            let error = read(line).unwrap_err();
            assert!(error.contains(word), "{line}: {error}");
            assert_eq!(error.lines().count(), 1);
        }
    }

    #[test]
    fn the_environment_stands_in_front() {
        let words = Options::of_environment(|name| match name {
            "IPERF_BANDWIDTH" => Some("2m".to_owned()),
            "IPERF_UDP" => Some("1".to_owned()),
            "TCP_WINDOW_SIZE" => Some("64K".to_owned()),
            _ => None,
        });
        assert_eq!(words, ["--bandwidth=2m", "--udp", "--window=64K"]);
    }
}
