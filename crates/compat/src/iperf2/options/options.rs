//! The command line of iperf 2: its options, their abbreviations and their defaults.

mod table;
mod values;

use super::units::{self, UnitFormat};
use crate::option_table::{
    ArgumentKind, CommandWord, EffectError, OptionArgument, OptionEffect, OptionError, read_options,
};
use caudal_wire::iperf2::TestMode;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use table::TABLE;
use values::{amount, invalid, split_device};

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

impl Options {
    /// Reads a command line, without the program's name.
    ///
    /// # Errors
    /// One line that names the option, and what it may be.
    pub fn parse(words: &[String]) -> Result<Self, String> {
        let mut options = Self::default();
        for word in read_options(&TABLE, words.iter().cloned()).map_err(error_text)? {
            let given = match word {
                CommandWord::Option(given) => given,
                CommandWord::Operand(word) => return Err(format!("extra argument -- {word}")),
            };
            given.apply(&mut options).map_err(|error| match error {
                EffectError::Argument(error) => error,
                EffectError::Unsupported => {
                    format!("option {} of iperf is not here", given.written)
                }
            })?;
        }
        options.check()?;
        Ok(options)
    }

    /// The arguments that environment variables stand for: `IPERF_<LONG NAME>` and `TCP_WINDOW_SIZE`.
    #[must_use]
    pub fn of_environment(variable: impl Fn(&str) -> Option<String>) -> Vec<String> {
        let supported = TABLE
            .iter()
            .filter(|option| !matches!(option.effect, OptionEffect::Unsupported(_)));
        let mut words: Vec<String> = supported
            .filter_map(|option| {
                let name = option.long.first()?;
                let known = format!("IPERF_{}", name.to_uppercase().replace('-', "_"));
                let value = variable(&known)?;
                Some(match option.argument() {
                    ArgumentKind::Absent => format!("--{name}"),
                    ArgumentKind::Required | ArgumentKind::Optional => format!("--{name}={value}"),
                })
            })
            .collect();
        let window = variable("TCP_WINDOW_SIZE");
        words.extend(window.map(|value| format!("--window={value}")));
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

    /// Sets the rate, in bits or in packets per second.
    fn set_rate(&mut self, argument: &OptionArgument<'_>) -> Result<(), String> {
        let text = argument.text;
        let number = text.trim_end_matches("pps");
        if number.len() < text.len() {
            let pps = units::parse(number).filter(|pps| *pps > 0.0);
            let expected = "a number of packets a second";
            self.pps = Some(pps.ok_or_else(|| invalid(argument, expected))?);
            self.rate = None;
        } else if text.contains(',') {
            let expected = "a rate; one that varies (rate,deviation) is not here";
            return Err(invalid(argument, expected));
        } else {
            self.rate = Some(amount(argument, "a rate, such as 50m")? as u64);
            self.pps = None;
        }
        Ok(())
    }

    /// `host[:port][%device]`, where an IPv6 address with a port is in brackets.
    fn bind_to(&mut self, text: &str) -> Result<(), String> {
        let bad = || format!("option --bind: {text:?} is not ADDRESS[:PORT][%DEVICE]");
        let (place, device) = split_device(text);
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

/// The text of an error in the words of iperf 2, whose own getopt_long is an old one.
fn error_text(error: OptionError) -> String {
    match error {
        OptionError::UnknownName(name) => format!("unrecognized option `--{name}'"),
        OptionError::UnknownLetter(letter) => format!("invalid option -- {letter}"),
        OptionError::Ambiguous(name, names) => {
            format!("option `--{name}' is ambiguous: {}", names.join(", "))
        }
        OptionError::ExcessArgument(name) => format!("option `--{name}' doesn't allow an argument"),
        OptionError::NameAlone(name) => format!("option `--{name}' requires an argument"),
        OptionError::LetterAlone(letter) => format!("option requires an argument -- {letter}"),
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
