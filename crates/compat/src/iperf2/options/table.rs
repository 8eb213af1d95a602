//! The options of iperf 2, each with what it sets.

use super::histogram::HistogramOptions;
use super::options::Options;
use super::values::{
    amount, dscp, interval, invalid, message_bytes, port, ports, seconds, split_device, time_until,
    tos, within,
};
use crate::iperf2::units::UnitFormat;
use crate::option_table::OptionEffect::{Argument, Flag, Ignored, Optional, Unsupported};
use crate::option_table::{ArgumentKind, CommandOption, OptionArgument, OptionEffect};
use caudal_wire::iperf2::{MAX_KEY_BYTES, TestMode};
use std::path::PathBuf;
use std::time::Duration;

/// Minimum length of a key, bytes: that of iperf 2.
const MIN_KEY_BYTES: usize = 4;

/// An option of iperf 2.
pub(super) type Iperf2Option = CommandOption<Options>;

const fn option(
    short: Option<char>,
    long: &'static [&'static str],
    effect: OptionEffect<Options>,
) -> Iperf2Option {
    CommandOption {
        short,
        long,
        group: (),
        effect,
    }
}

const fn flag(
    short: Option<char>,
    long: &'static [&'static str],
    set: fn(&mut Options),
) -> Iperf2Option {
    option(short, long, Flag(set))
}

const fn argument(
    short: Option<char>,
    long: &'static [&'static str],
    set: fn(&mut Options, &OptionArgument<'_>) -> Result<(), String>,
) -> Iperf2Option {
    option(short, long, Argument(set))
}

/// An option that is not supported for a reason, with an argument or without.
const fn unsupported(long: &'static [&'static str], reason: &'static str) -> Iperf2Option {
    option(None, long, Unsupported(ArgumentKind::Optional, reason))
}

/// Every option. The one that is ignored is always in effect: connections are all made before the first write.
pub(super) static TABLE: [Iperf2Option; 105] = [
    argument(Some('b'), &["bandwidth"], |options, argument| {
        options.set_rate(argument)?;
        Ok(())
    }),
    argument(Some('c'), &["client"], |options, argument| {
        let (host, device) = split_device(argument.text);
        options.host = Some(host.to_owned());
        options.device = device.or_else(|| options.device.take());
        Ok(())
    }),
    flag(Some('d'), &["dualtest"], |options| {
        options.mode = TestMode::Dual;
    }),
    flag(Some('e'), &["enhanced", "enhancedreports"], |options| {
        options.enhanced = true;
    }),
    argument(Some('f'), &["format"], |options, argument| {
        let format = argument
            .text
            .chars()
            .next()
            .and_then(UnitFormat::from_letter);
        options.format =
            format.ok_or_else(|| invalid(argument, "one of a, b, k, m, g, t, A, B, K, M, G, T"))?;
        Ok(())
    }),
    flag(Some('h'), &["help"], |options| options.help = true),
    argument(Some('i'), &["interval"], |options, argument| {
        options.interval = interval(argument)?;
        Ok(())
    }),
    argument(Some('l'), &["len"], |options, argument| {
        let length = amount(argument, "a number of bytes")?.min(f64::from(u32::MAX)) as u32;
        if !(1..=64 << 20).contains(&length) {
            return Err(invalid(argument, "a length between 1 and 64M"));
        }
        options.length = Some(length);
        Ok(())
    }),
    flag(Some('m'), &["print_mss"], |options| {
        options.print_mss = true;
    }),
    argument(Some('n'), &["num"], |options, argument| {
        let bytes = amount(argument, "a number of bytes")? as u64;
        if bytes == 0 {
            return Err(invalid(argument, "a number of bytes above 0"));
        }
        options.bytes = Some(bytes);
        Ok(())
    }),
    argument(Some('o'), &["output"], |options, argument| {
        options.output = Some(PathBuf::from(argument.text));
        Ok(())
    }),
    argument(Some('p'), &["port"], |options, argument| {
        (options.port, options.last_port) = ports(argument)?;
        Ok(())
    }),
    flag(Some('r'), &["tradeoff"], |options| {
        options.mode = TestMode::Tradeoff;
    }),
    flag(Some('s'), &["server"], |options| options.server = true),
    argument(Some('t'), &["time"], |options, argument| {
        options.time = Some(seconds(argument)?);
        Ok(())
    }),
    flag(Some('u'), &["udp"], |options| options.udp = true),
    flag(Some('v'), &["version"], |options| options.version = true),
    argument(Some('w'), &["window"], |options, argument| {
        let window = amount(argument, "a number of bytes")? as usize;
        if window > 1 << 30 {
            return Err(invalid(argument, "a window of at most 1G"));
        }
        options.window = (window > 0).then_some(window);
        Ok(())
    }),
    argument(Some('x'), &["reportexclude"], |options, argument| {
        for letter in argument.text.to_uppercase().chars() {
            if !"CDMSV".contains(letter) {
                return Err(invalid(argument, "made of C, D, M, S and V"));
            }
            options.exclude.push(letter);
        }
        Ok(())
    }),
    argument(Some('y'), &["reportstyle"], |options, argument| {
        options.csv = match argument.text.chars().next() {
            Some('c' | 'C') => true,
            Some('a' | 'A') => false,
            _ => return Err(invalid(argument, "C")),
        };
        Ok(())
    }),
    flag(Some('1'), &["singleclient"], |options| {
        options.single = true;
    }),
    flag(Some('4'), &["v4"], |options| options.v4 = true),
    flag(Some('6'), &["v6"], |options| options.v6 = true),
    argument(Some('B'), &["bind"], |options, argument| {
        options.bind_to(argument.text)?;
        Ok(())
    }),
    flag(Some('C'), &["compatibility"], |options| {
        options.compatible = true;
    }),
    flag(Some('D'), &["daemon"], |options| options.daemon = true),
    argument(
        Some('F'),
        &["file_input", "fileinput"],
        |options, argument| {
            options.payload = Some(PathBuf::from(argument.text));
            Ok(())
        },
    ),
    argument(Some('H'), &["ssm-host"], |options, argument| {
        let address = argument.text.parse();
        options.source_host = Some(address.map_err(|_| invalid(argument, "an address"))?);
        Ok(())
    }),
    flag(Some('I'), &["stdin", "stdin_input"], |options| {
        options.payload = Some(PathBuf::from("-"));
    }),
    argument(Some('L'), &["listenport"], |options, argument| {
        options.listen_port = Some(port(argument)?);
        Ok(())
    }),
    argument(Some('M'), &["mss"], |options, argument| {
        options.mss = Some(within(
            argument,
            88..=65_535,
            "a segment size between 88 and 65535",
        )?);
        Ok(())
    }),
    flag(Some('N'), &["nodelay"], |options| options.no_delay = true),
    argument(Some('P'), &["parallel"], |options, argument| {
        options.parallel = Some(within(argument, 1..=4096, "a number between 1 and 4096")?);
        Ok(())
    }),
    flag(Some('R'), &["reverse"], |options| {
        if options.mode != TestMode::FullDuplex {
            options.mode = TestMode::Reverse;
        }
    }),
    argument(Some('S'), &["tos"], |options, argument| {
        let tos = tos(argument.text);
        let what = "a TOS byte or one of its names, such as ef";
        options.tos = Some(tos.ok_or_else(|| invalid(argument, what))?);
        Ok(())
    }),
    argument(Some('T'), &["ttl"], |options, argument| {
        options.ttl = Some(within(argument, 1..=255, "a number between 1 and 255")?);
        Ok(())
    }),
    flag(Some('U'), &["single_udp"], |options| {
        options.udp = true;
        options.single = true;
    }),
    flag(Some('V'), &["ipv6_domain", "IPv6Version"], |options| {
        options.v6 = true;
    }),
    flag(Some('W'), &["suggest_win_size"], |options| {
        let note = "The -W option has been removed, as in iperf 2.0.6 and later";
        options.notes.push(note.to_owned());
    }),
    flag(Some('X'), &["peer-detect", "peerdetect"], |options| {
        options.detect = true;
    }),
    argument(
        Some('Z'),
        &["tcp-congestion", "tcp-cca", "linux-congestion"],
        |options, argument| {
            options.congestion = Some(argument.text.to_owned());
            Ok(())
        },
    ),
    option(
        None,
        &["connect-only"],
        Optional(|options, argument| {
            options.connect_only = true;
            if let Some(argument) = argument {
                options.parallel = Some(within(argument, 1..=4096, "a number of connections")?);
            }
            Ok(())
        }),
    ),
    argument(None, &["dscp"], |options, argument| {
        let tos = dscp(argument.text);
        options.tos = Some(tos.ok_or_else(|| invalid(argument, "a DSCP between 0 and 63"))?);
        Ok(())
    }),
    argument(None, &["fq-rate"], |options, argument| {
        options.fq_rate = Some(amount(argument, "a rate")? as u64);
        Ok(())
    }),
    flag(None, &["full-duplex"], |options| {
        options.mode = TestMode::FullDuplex;
    }),
    flag(None, &["hide-ips"], |options| options.hide = true),
    option(None, &["no-connect-sync"], Ignored(ArgumentKind::Absent)),
    flag(None, &["no-udp-fin"], |options| options.no_udp_fin = true),
    flag(None, &["skip-rx-copy"], |options| options.skip_copy = true),
    flag(None, &["sum-only"], |options| options.sum_only = true),
    flag(None, &["trip-times"], |options| options.trip_times = true),
    argument(None, &["txdelay-time"], |options, argument| {
        options.delay = Some(seconds(argument)?);
        Ok(())
    }),
    argument(None, &["txstart-time"], |options, argument| {
        options.delay = Some(time_until(argument)?);
        Ok(())
    }),
    flag(None, &["utc"], |options| options.utc = true),
    option(
        Some('A'),
        &[],
        Unsupported(ArgumentKind::Optional, "it is of macOS"),
    ),
    option(
        Some('z'),
        &[],
        Unsupported(
            ArgumentKind::Optional,
            "threads have the scheduling of the process (`chrt` sets it)",
        ),
    ),
    unsupported(&["NUM_REPORT_STRUCTS"], "readings are not queued in a ring"),
    unsupported(&["awdl"], "it is of macOS"),
    option(
        None,
        &["bounceback"],
        Optional(|options, argument| {
            let count =
                argument.map(|argument| within(argument, 1..=1_000_000, "a number of requests"));
            options.bounceback = Some(count.transpose()?.unwrap_or(10));
            options.enhanced = true;
            options.no_delay = true;
            Ok(())
        }),
    ),
    argument(None, &["bounceback-hold"], |options, argument| {
        let what = "a number of milliseconds up to 1000";
        let hold: f64 = within(argument, 0.0..=1000.0, what)?;
        options.bounceback_hold = Duration::from_secs_f64(hold / 1e3);
        Ok(())
    }),
    flag(None, &["bounceback-no-quickack"], |options| {
        options.bounceback_no_quick_ack = true;
    }),
    argument(None, &["bounceback-period"], |options, argument| {
        options.bounceback_period = seconds(argument)?;
        Ok(())
    }),
    argument(None, &["bounceback-reply"], |options, argument| {
        options.bounceback_reply = Some(message_bytes(argument)?);
        Ok(())
    }),
    argument(None, &["bounceback-request"], |options, argument| {
        options.bounceback_request = Some(message_bytes(argument)?);
        Ok(())
    }),
    unsupported(
        &["bounceback-congest"],
        "a test has no other traffic beside it",
    ),
    unsupported(
        &["bounceback-txdelay"],
        "a test has no other traffic beside it",
    ),
    argument(None, &["burst-period"], |options, argument| {
        let period: f64 = within(
            argument,
            0.001..=3600.0,
            "a number of seconds from 0.001 to 3600",
        )?;
        options.burst_period = Some(Duration::from_secs_f64(period));
        options.enhanced = true;
        Ok(())
    }),
    argument(None, &["burst-size"], |options, argument| {
        let expected = "a number of bytes between 92 and 64M";
        let bytes = amount(argument, expected)?.min(f64::from(u32::MAX)) as u32;
        if !(92..=64 << 20).contains(&bytes) {
            return Err(invalid(argument, expected));
        }
        options.burst_bytes = Some(bytes);
        options.enhanced = true;
        Ok(())
    }),
    unsupported(
        &["connect-retries"],
        "a connection that is refused is an error at once",
    ),
    unsupported(
        &["connect-retry-time"],
        "a connection that is refused is an error at once",
    ),
    unsupported(
        &["connect-retry-timer"],
        "a connection that is refused is an error at once",
    ),
    unsupported(&["fq-rate-step"], "the rate of a test is one (`--fq-rate`)"),
    unsupported(
        &["fq-rate-step-interval"],
        "the rate of a test is one (`--fq-rate`)",
    ),
    option(
        None,
        &["histograms", "udp-histograms"],
        Optional(|options, argument| {
            let histograms = argument.map(|argument| HistogramOptions::parse(argument));
            options.histograms = Some(histograms.transpose()?.unwrap_or_default());
            options.enhanced = true;
            Ok(())
        }),
    ),
    unsupported(
        &["ignore-shutdown"],
        "the time of a test always includes the arrival of its last byte",
    ),
    unsupported(
        &["incr-dstip"],
        "the connections of a test go to one address; `-p FIRST-LAST` and `--incr-dstport` spread them over ports",
    ),
    flag(None, &["incr-dstport"], |options| {
        options.successive_ports = true;
    }),
    unsupported(
        &["incr-srcip"],
        "the connections of a test leave from one address",
    ),
    unsupported(
        &["incr-srcport"],
        "with `-B ADDRESS:PORT` source ports count up in any case",
    ),
    argument(None, &["ipg"], |options, argument| {
        let what = "a number of milliseconds between datagrams up to 60000";
        let gap: f64 = within(argument, 0.0..=60_000.0, what)?;
        options.gap = Some(Duration::from_secs_f64(gap / 1e3));
        Ok(())
    }),
    unsupported(
        &["isochronous"],
        "this end generates no frames of video; it receives those of others as payload",
    ),
    unsupported(
        &["jitter-histograms"],
        "histograms are of one-way times (`--histograms`)",
    ),
    unsupported(
        &["l2checks"],
        "lengths are not compared with those of frames",
    ),
    unsupported(&["local-only"], "routes are the kernel's"),
    unsupported(
        &["near-congestion"],
        "the pauses of a sender follow a rate (`-b`), not the round-trip time",
    ),
    unsupported(
        &["omit"],
        "the whole test is shown; `caudal tcp --omit` leaves its beginning out",
    ),
    option(
        None,
        &["permit-key"],
        Optional(|options, argument| {
            let argument =
                argument.ok_or("option --permit-key: give the key, as --permit-key=KEY")?;
            if !(MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&argument.text.len()) {
                return Err(invalid(argument, "a key of 4 to 128 bytes"));
            }
            options.permit_key = Some(argument.text.to_owned());
            Ok(())
        }),
    ),
    unsupported(
        &["permit-key-timeout"],
        "a key is valid as long as its server runs",
    ),
    unsupported(
        &["realtime"],
        "threads have the scheduling of the process (`chrt` sets it)",
    ),
    unsupported(&["send-delay"], "delay is added by `caudal lab` or `tc`"),
    unsupported(&["set-rand-seed"], "random numbers are the kernel's"),
    unsupported(
        &["sum-dstip"],
        "sums are over the connections of one client",
    ),
    unsupported(
        &["sync-transfer-id"],
        "each end counts its connections from 1",
    ),
    unsupported(&["tap-dev"], "payload is received from sockets only"),
    unsupported(
        &["tcp-quickack"],
        "acknowledgements are the kernel's; those of `--bounceback` are not delayed",
    ),
    unsupported(
        &["tcp-rx-window-clamp"],
        "the receive window follows the buffer (`-w`)",
    ),
    unsupported(
        &["tcp-write-prefetch"],
        "the limit on unsent data is the kernel's",
    ),
    unsupported(
        &["tcp-write-times"],
        "writes are counted, not timed one by one",
    ),
    unsupported(&["test-exchange-timeout"], "a header may take 10 s"),
    unsupported(
        &["tos-override"],
        "a server sends with the TOS byte that its client asks for",
    ),
    unsupported(&["tun-dev"], "payload is received from sockets only"),
    unsupported(&["udp-l4s"], "UDP is sent without a congestion control"),
    unsupported(
        &["udp-l4s-video"],
        "UDP is sent without a congestion control",
    ),
    unsupported(&["working-load"], "a test has no other traffic beside it"),
    unsupported(
        &["working-load-cca"],
        "a test has no other traffic beside it",
    ),
];

/// The options that have no effect here, as the section of a document.
#[must_use]
pub fn absent_options() -> String {
    crate::option_document::absent_options(&TABLE)
}

/// The long names of all options.
pub fn long_names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().flat_map(|option| option.long.iter().copied())
}
