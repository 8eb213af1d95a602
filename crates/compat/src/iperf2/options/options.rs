//! The options of iperf 2 and their defaults.

use super::histogram::HistogramOptions;
use super::values::{amount, invalid, split_device};
use crate::iperf2::units::{self, UnitFormat};
use crate::option_table::OptionArgument;
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
    /// The standard deviation of the rate, bit/s, where it varies.
    pub rate_deviation: Option<u64>,
    /// The time between datagrams, instead of a rate.
    pub gap: Option<Duration>,
    /// The length of the bursts that are sent, bytes.
    pub burst_bytes: Option<u32>,
    /// The time from burst to burst.
    pub burst_period: Option<Duration>,
    /// The histograms of one-way times.
    pub histograms: Option<HistogramOptions>,
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
    /// The last port of the range that begins with [`Self::port`].
    pub last_port: Option<u16>,
    /// `true` when connections after the first count the server's port up.
    pub successive_ports: bool,
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
    /// The requests of each period of a test of response times; `None` for a test of throughput.
    pub bounceback: Option<u32>,
    /// Bytes in a request, where they are not the length.
    pub bounceback_request: Option<u32>,
    /// Bytes in a reply, where they are not those in a request.
    pub bounceback_reply: Option<u32>,
    /// The time between the beginnings of periods.
    pub bounceback_period: Duration,
    /// The time the server is to hold a reply back.
    pub bounceback_hold: Duration,
    /// `true` to leave the server's acknowledgements delayed.
    pub bounceback_no_quick_ack: bool,
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
    /// The key that a server asks its clients for.
    pub permit_key: Option<String>,
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
            rate_deviation: None,
            gap: None,
            burst_bytes: None,
            burst_period: None,
            histograms: None,
            enhanced: false,
            format: UnitFormat::AdaptiveBits,
            interval: None,
            length: None,
            print_mss: false,
            output: None,
            port: caudal_wire::iperf2::PORT,
            last_port: None,
            successive_ports: false,
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
            bounceback: None,
            bounceback_request: None,
            bounceback_reply: None,
            bounceback_period: Duration::from_secs(1),
            bounceback_hold: Duration::ZERO,
            bounceback_no_quick_ack: false,
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
            permit_key: None,
            detect: false,
            help: false,
            version: false,
            notes: Vec::new(),
        }
    }
}

impl Options {
    /// Checks that the options make sense together.
    pub(super) fn check(&self) -> Result<(), String> {
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
        if self.bounceback.is_some() {
            self.check_bounceback()?;
        }
        self.check_datagram_pace()?;
        self.check_bursts()?;
        self.check_ports()?;
        if self.permit_key.is_some() && (self.udp || self.compatible || self.bounceback.is_some()) {
            return Err("--permit-key is for TCP, without -C and --bounceback".to_owned());
        }
        let receives = matches!(self.mode, TestMode::Reverse | TestMode::FullDuplex);
        if self.histograms.is_some() && !self.server && !(receives && self.trip_times) {
            return Err(
                "--histograms counts what arrives: it takes -s, or --trip-times with -R or --full-duplex"
                    .to_owned(),
            );
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
                "-C sends no test header, by which the server is asked for -R or --full-duplex"
                    .to_owned(),
            );
        }
        Ok(())
    }

    fn check_datagram_pace(&self) -> Result<(), String> {
        let has_rate = self.rate.is_some() || self.pps.is_some();
        let pace = match (self.gap, self.rate_deviation) {
            (Some(_), _) if has_rate => return Err("--ipg and -b exclude each other".to_owned()),
            (Some(_), _) => "--ipg",
            (None, Some(_)) => "-b RATE,DEVIATION",
            (None, None) => return Ok(()),
        };
        if !self.udp || self.server || self.mode == TestMode::Reverse {
            return Err(format!("{pace} is for a client that sends over UDP (-u)"));
        }
        Ok(())
    }

    fn check_bursts(&self) -> Result<(), String> {
        let has_bursts = self.burst_bytes.is_some() || self.burst_period.is_some();
        let is_sender = matches!(self.mode, TestMode::Up | TestMode::FullDuplex);
        if has_bursts && (self.server || self.udp || !is_sender || self.bounceback.is_some()) {
            return Err(
                "--burst-size and --burst-period are for a client that sends over TCP".to_owned(),
            );
        }
        if has_bursts && (self.rate.is_some() || self.payload.is_some()) {
            return Err("--burst-size and --burst-period exclude -b, -F and -I".to_owned());
        }
        let length = self.length.unwrap_or(0);
        if self.burst_bytes.is_some_and(|bytes| bytes < length) {
            return Err("--burst-size must be at least the length of writes (-l)".to_owned());
        }
        Ok(())
    }

    fn check_ports(&self) -> Result<(), String> {
        if self.last_port.is_none() && !self.successive_ports {
            return Ok(());
        }
        if self.is_connected_back() {
            return Err("-p takes no range with -d and -r, nor --incr-dstport".to_owned());
        }
        let connections = self.parallel.unwrap_or(1).max(1);
        if !self.server && u32::from(self.port) + connections - 1 > u32::from(u16::MAX) {
            return Err("-P connections from -p on reach beyond port 65535".to_owned());
        }
        Ok(())
    }

    const fn is_connected_back(&self) -> bool {
        matches!(self.mode, TestMode::Dual | TestMode::Tradeoff)
    }

    fn check_bounceback(&self) -> Result<(), String> {
        if self.server || self.udp || self.mode != TestMode::Up || self.compatible {
            return Err(
                "--bounceback is a client's, over TCP and without -R, -d, -r, --full-duplex or -C"
                    .to_owned(),
            );
        }
        if self.bytes.is_some() {
            return Err("--bounceback ends by time (-t), not by -n".to_owned());
        }
        Ok(())
    }

    /// Sets the rate, in bits or in packets per second.
    pub(super) fn set_rate(&mut self, argument: &OptionArgument<'_>) -> Result<(), String> {
        let text = argument.text;
        let number = text.trim_end_matches("pps");
        if number.len() < text.len() {
            let pps = units::parse(number).filter(|pps| *pps > 0.0);
            let expected = "a number of packets a second";
            self.pps = Some(pps.ok_or_else(|| invalid(argument, expected))?);
            self.rate = None;
        } else {
            let expected =
                "a rate, such as 50m, or with its standard deviation over UDP, such as 50m,5m";
            let (rate, deviation) = match text.split_once(',') {
                Some((rate, deviation)) => (rate, Some(deviation)),
                None => (text, None),
            };
            let bits = |text: &str| {
                let part = OptionArgument { text, ..*argument };
                amount(&part, expected).map(|bits| bits as u64)
            };
            self.rate = Some(bits(rate)?);
            self.rate_deviation = deviation.map(bits).transpose()?;
            self.pps = None;
        }
        Ok(())
    }

    /// `host[:port][%device]`, where an IPv6 address with a port is in brackets.
    pub(super) fn bind_to(&mut self, text: &str) -> Result<(), String> {
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
