//! The options of iperf 2, each with what it sets.

use super::histogram::HistogramOptions;
use super::options::Options;
use super::values::{
    amount, dscp, interval, invalid, message_bytes, port, ports, seconds, split_device, time_until, tos,
    within,
};
use crate::iperf2::units::UnitFormat;
use crate::option_table::OptionEffect::{Argument, Flag, Ignored, Optional, Unsupported};
use crate::option_table::{ArgumentKind, CommandOption, OptionArgument, OptionEffect};
use caudal_wire::iperf2::{MAX_KEY_BYTES, TestMode};
use std::path::PathBuf;
use std::time::Duration;

/// The minimum length of a key, bytes: that of iperf 2.
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

/// An option that is not supported, with an argument or without.
const fn unsupported(long: &'static [&'static str]) -> Iperf2Option {
    option(None, long, Unsupported(ArgumentKind::Optional))
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
    option(Some('A'), &[], Unsupported(ArgumentKind::Optional)),
    option(Some('z'), &[], Unsupported(ArgumentKind::Optional)),
    unsupported(&["NUM_REPORT_STRUCTS"]),
    unsupported(&["awdl"]),
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
    unsupported(&["bounceback-congest"]),
    unsupported(&["bounceback-txdelay"]),
    unsupported(&["burst-period"]),
    unsupported(&["burst-size"]),
    unsupported(&["connect-retries"]),
    unsupported(&["connect-retry-time"]),
    unsupported(&["connect-retry-timer"]),
    unsupported(&["fq-rate-step"]),
    unsupported(&["fq-rate-step-interval"]),
    option(
        None,
        &["histograms", "udp-histograms"],
        Optional(|options, argument| {
            let histograms = argument.map(|argument| HistogramOptions::parse(&argument));
            options.histograms = Some(histograms.transpose()?.unwrap_or_default());
            options.enhanced = true;
            Ok(())
        }),
    ),
    unsupported(&["ignore-shutdown"]),
    unsupported(&["incr-dstip"]),
    unsupported(&["incr-dstport"]),
    unsupported(&["incr-srcip"]),
    unsupported(&["incr-srcport"]),
    argument(None, &["ipg"], |options, argument| {
        let what = "a number of milliseconds between datagrams up to 60000";
        let gap: f64 = within(argument, 0.0..=60_000.0, what)?;
        options.gap = Some(Duration::from_secs_f64(gap / 1e3));
        Ok(())
    }),
    unsupported(&["isochronous"]),
    unsupported(&["jitter-histograms"]),
    unsupported(&["l2checks"]),
    unsupported(&["local-only"]),
    unsupported(&["near-congestion"]),
    unsupported(&["omit"]),
    option(
        None,
        &["permit-key"],
        Optional(|options, argument| {
            let argument = argument.ok_or("option --permit-key: give the key, as --permit-key=KEY")?;
            if !(MIN_KEY_BYTES..=MAX_KEY_BYTES).contains(&argument.text.len()) {
                return Err(invalid(argument, "a key of 4 to 128 bytes"));
            }
            options.permit_key = Some(argument.text.to_owned());
            Ok(())
        }),
    ),
    unsupported(&["permit-key-timeout"]),
    unsupported(&["realtime"]),
    unsupported(&["send-delay"]),
    unsupported(&["set-rand-seed"]),
    unsupported(&["sum-dstip"]),
    unsupported(&["sync-transfer-id"]),
    unsupported(&["tap-dev"]),
    unsupported(&["tcp-quickack"]),
    unsupported(&["tcp-rx-window-clamp"]),
    unsupported(&["tcp-write-prefetch"]),
    unsupported(&["tcp-write-times"]),
    unsupported(&["test-exchange-timeout"]),
    unsupported(&["tos-override"]),
    unsupported(&["tun-dev"]),
    unsupported(&["udp-l4s"]),
    unsupported(&["udp-l4s-video"]),
    unsupported(&["working-load"]),
    unsupported(&["working-load-cca"]),
];

/// The options that have no effect here, as the section of a document.
#[must_use]
pub fn absent_options() -> String {
    crate::option_document::absent_options(&TABLE)
}
