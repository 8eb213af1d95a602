//! The lines of nuttcp, brief ones and those of `-fparse`.
//!
//! Its amounts are what the receiver counted. A line does not tell the direction: that of the command is taken, or an upload.

use super::line;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use caudal_core::warning::WarningCode;

/// nuttcp's megabytes.
const MEBIBYTE: f64 = 1024.0 * 1024.0;

/// `true` for a line that only nuttcp prints.
#[must_use]
pub fn is_sign(text: &str) -> bool {
    brief(text).is_some() || parsable(text).is_some() || verbose(text).is_some()
}

/// A line, and whether it is of an interval: that has no processors in it.
struct NuttcpLine {
    count: LogCounts,
    seconds: f64,
    is_total: bool,
    is_udp: bool,
}

/// ` 919.5625 MB /   0.50 sec = 15426.0018 Mbps 30 %TX 26 %RX 0 retrans 0.20 msRTT`.
fn brief(text: &str) -> Option<NuttcpLine> {
    let (amount, rest) = line::number(text.trim_start())?;
    let rest = rest.trim_start();
    let (unit, rest) = line::word(rest);
    let factor = match unit {
        "KB" => 1024.0,
        "MB" => MEBIBYTE,
        "GB" => 1024.0 * MEBIBYTE,
        _ => return None,
    };
    let rest = rest.trim_start().strip_prefix('/')?;
    let (seconds, rest) = line::number(rest.trim_start())?;
    let rest = rest.trim_start().strip_prefix("sec =")?;
    let (rate, rest) = line::number(rest.trim_start())?;
    let rest = rest.trim_start();
    let (unit, rest) = line::word(rest);
    let bps = match unit {
        "Kbps" => rate * 1e3,
        "Mbps" => rate * 1e6,
        "Gbps" => rate * 1e9,
        _ => return None,
    };
    let mut count = LogCounts {
        bytes: Some(amount * factor),
        bps: Some(bps),
        ..LogCounts::default()
    };
    let words: Vec<&str> = rest.split_whitespace().collect();
    let behind = |unit: &str| {
        let at = words
            .iter()
            .position(|word| word.trim_start_matches('~') == unit)?;
        words[..at].last()?.parse::<f64>().ok()
    };
    count.retransmits = behind("retrans");
    count.rtt_us = behind("msRTT").map(|ms| ms * 1e3);
    // `0 / 305 drop/pkt`.
    let drops = words
        .iter()
        .position(|word| word.trim_start_matches('~') == "drop/pkt");
    if let Some(at) = drops {
        count.datagrams = words[..at].last()?.parse().ok();
        count.lost = words[..at].iter().rev().nth(2)?.parse().ok();
    }
    Some(NuttcpLine {
        count,
        seconds,
        is_total: rest.contains("%TX") || rest.contains("%RX"),
        is_udp: drops.is_some(),
    })
}

/// `megabytes=1668.0000 real_seconds=1.00 rate_Mbps=13943.3546 tx_cpu=56 rx_cpu=20 retrans=0`.
fn parsable(text: &str) -> Option<NuttcpLine> {
    let value = |key: &str| {
        let word = text
            .split_whitespace()
            .find_map(|word| word.strip_prefix(key)?.strip_prefix('='))?;
        word.parse::<f64>()
            .ok()
            .filter(|value| value.is_finite() && *value >= 0.0)
    };
    let (amount, seconds) = (value("megabytes")?, value("real_seconds")?);
    let drops = value("drop").zip(value("pkt"));
    Some(NuttcpLine {
        count: LogCounts {
            bytes: Some(amount * MEBIBYTE),
            bps: Some(value("rate_Mbps")? * 1e6),
            retransmits: value("retrans"),
            rtt_us: value("rtt_ms").map(|ms| ms * 1e3),
            lost: drops.map(|(lost, _)| lost),
            datagrams: drops.map(|(_, all)| all),
            ..LogCounts::default()
        },
        seconds,
        is_total: text.contains("tx_cpu"),
        is_udp: drops.is_some(),
    })
}

/// A line of an end in the output of `-v`: the end and what it says.
fn verbose(text: &str) -> Option<(Role, &str)> {
    let sender = text
        .strip_prefix("nuttcp-t: ")
        .map(|rest| (Role::Sender, rest));
    sender.or_else(|| Some((Role::Receiver, text.strip_prefix("nuttcp-r: ")?)))
}

/// The tests in the output of `-v`: the lines of this end, then those of the other.
fn read_verbose(text: &str) -> Vec<Log> {
    let mut logs: Vec<Log> = Vec::new();
    let mut ends: Vec<Role> = Vec::new();
    for (end, rest) in text.lines().filter_map(verbose) {
        if rest.ends_with(": socket") || ends.is_empty() {
            // The third block, or a block of the same end, begins another test.
            if ends.len() != 1 || ends[0] == end {
                let mut log = log(None, Vec::new(), false, None);
                log.warnings.clear();
                log.flows[0].direction = ImportSide::Client.direction(end);
                logs.push(log);
                ends.clear();
            }
            ends.push(end);
        }
        let Some(log) = logs.last_mut() else { continue };
        if rest.starts_with('v') {
            log.version = rest.split(':').next().map(str::to_owned);
        }
        if let Some((_, host)) = rest.split_once(" -> ") {
            log.peer = Some(host.to_owned());
        }
        if rest.contains(" udp") {
            log.protocol = Some(Transport::Udp);
        }
        if let Some(found) = verbose_total(rest) {
            log.is_complete = true;
            *log.flows[0].end_mut(end) = Some(found);
        }
        if let Some(count) = rest.strip_prefix("retrans = ").and_then(line::number) {
            let flow = &mut log.flows[0];
            if let Some(sender) = &mut flow.sender {
                sender.retransmits = Some(count.0);
            }
        }
    }
    logs
}

/// `2248.5000 MB in 1.01 real seconds = 2272122.08 KB/sec = 18613.2241 Mbps`.
fn verbose_total(text: &str) -> Option<LogCounts> {
    let (amount, rest) = line::number(text)?;
    let rest = rest.trim_start().strip_prefix("MB in ")?;
    let (seconds, rest) = line::number(rest)?;
    let rest = rest.trim_start().strip_prefix("real seconds = ")?;
    let (_, rate) = rest.split_once("KB/sec = ")?;
    let (mbps, rest) = line::number(rate)?;
    rest.trim_start().starts_with("Mbps").then_some(LogCounts {
        end_s: seconds,
        bytes: Some(amount * MEBIBYTE),
        bps: Some(mbps * 1e6),
        ..LogCounts::default()
    })
}

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    if text.lines().any(|line| verbose(line).is_some()) {
        return read_verbose(text);
    }
    let mut logs = Vec::new();
    let mut command: Option<String> = None;
    let mut intervals: Vec<LogCounts> = Vec::new();
    let mut is_udp = false;
    let mut elapsed_s = 0.0;
    for text in text.lines() {
        let Some(found) = brief(text).or_else(|| parsable(text)) else {
            command = line::command(text, "nuttcp").map(str::to_owned).or(command);
            continue;
        };
        is_udp |= found.is_udp;
        if found.is_total {
            let total = LogCounts {
                end_s: found.seconds,
                ..found.count
            };
            logs.push(log(
                command.take(),
                std::mem::take(&mut intervals),
                is_udp,
                Some(total),
            ));
            (is_udp, elapsed_s) = (false, 0.0);
        } else {
            intervals.push(LogCounts {
                start_s: elapsed_s,
                end_s: elapsed_s + found.seconds,
                ..found.count
            });
            elapsed_s += found.seconds;
        }
    }
    if !intervals.is_empty() {
        logs.push(log(command, intervals, is_udp, None));
    }
    logs
}

fn log(
    command: Option<String>,
    intervals: Vec<LogCounts>,
    is_udp: bool,
    total: Option<LogCounts>,
) -> Log {
    let mut log = Log::new(LogFormat::NuttcpText);
    log.side = Some(ImportSide::Client);
    let words = || {
        command
            .iter()
            .flat_map(|command| command.split_whitespace())
    };
    let direction = match words().any(|word| word == "-r") {
        true => Direction::Down,
        false => Direction::Up,
    };
    if command.is_none() {
        log.warnings.push((
            WarningCode::DirectionAssumed,
            "a line of nuttcp does not show the direction: an upload is assumed".to_owned(),
        ));
    }
    log.peer = words()
        .rfind(|word| !word.starts_with('-') && *word != "nuttcp")
        .map(str::to_owned);
    log.protocol = Some(match is_udp || words().any(|word| word == "-u") {
        true => Transport::Udp,
        false => Transport::Tcp,
    });
    log.is_complete = total.is_some();
    let mut flow = LogFlow::new(direction, Role::Receiver);
    // The kernel's account is the sender's.
    flow.sender = total.and_then(|total| {
        let known = total.retransmits.or(total.rtt_us).is_some();
        known.then_some(LogCounts {
            end_s: total.end_s,
            retransmits: total.retransmits,
            rtt_us: total.rtt_us,
            ..LogCounts::default()
        })
    });
    flow.receiver = total;
    flow.intervals = intervals;
    log.flows.push(flow);
    log.command = command;
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_followed_by_their_total() {
        // nuttcp 6.1.2.
        let text = "$ nuttcp -r -T 1 -i 0.5 192.0.2.1\n  919.5625 MB /   0.50 sec = 15426.0018 Mbps     0 retrans\n\
              627.3750 MB /   0.50 sec = 10525.8164 Mbps     3 retrans\n\n \
             1546.9375 MB /   1.00 sec = 12976.0000 Mbps 30 %TX 26 %RX 3 retrans 0.20 msRTT\n";
        let logs = read(text);
        let [log] = &logs[..] else {
            panic!("{logs:#?}")
        };
        let flow = &log.flows[0];
        assert_eq!((flow.direction, flow.intervals.len()), (Direction::Down, 2));
        assert_eq!(flow.intervals[1].start_s, 0.5);
        assert_eq!(flow.receiver.unwrap().bps, Some(12_976e6));
        assert_eq!(flow.sender.unwrap().rtt_us, Some(200.0));
        assert_eq!(log.peer.as_deref(), Some("192.0.2.1"));
        assert!(log.warnings.is_empty() && log.is_complete);
    }

    #[test]
    fn datagrams_are_counted_with_those_that_were_dropped() {
        let text = "    1.1875 MB /   0.50 sec =   19.9219 Mbps     0 /   152 ~drop/pkt  0.00 ~%loss\n\
             2.3828 MB /   1.00 sec =   19.9216 Mbps 45 %TX 0 %RX 7 / 305 drop/pkt 2.30 %loss\n";
        let logs = read(text);
        assert_eq!(logs[0].protocol, Some(Transport::Udp));
        let total = logs[0].flows[0].receiver.unwrap();
        assert_eq!((total.lost, total.datagrams), (Some(7.0), Some(305.0)));
        assert_eq!(logs[0].warnings[0].0, WarningCode::DirectionAssumed);
        let cut = read(text.lines().next().unwrap());
        assert!(!cut[0].is_complete);
    }

    #[test]
    fn the_output_of_both_ends_tells_the_direction() {
        let text = "nuttcp-t: v6.1.2: socket\nnuttcp-t: buflen=65536, nstream=1, port=5101 tcp -> 192.0.2.1\n\
            nuttcp-t: 2248.5000 MB in 1.01 real seconds = 2272122.08 KB/sec = 18613.2241 Mbps\nnuttcp-t: retrans = 4\n\n\
            nuttcp-r: v6.1.2: socket\nnuttcp-r: accept from 192.0.2.2\n\
            nuttcp-r: 2248.5000 MB in 1.01 real seconds = 2272086.21 KB/sec = 18612.9302 Mbps\n";
        let logs = read(text);
        let [log] = &logs[..] else {
            panic!("{logs:#?}")
        };
        let flow = &log.flows[0];
        assert_eq!(flow.direction, Direction::Up);
        assert_eq!(flow.sender.unwrap().retransmits, Some(4.0));
        assert_eq!(flow.receiver.unwrap().bps, Some(18_612_930_200.0));
        assert_eq!(
            (log.version.as_deref(), log.peer.as_deref()),
            (Some("v6.1.2"), Some("192.0.2.1"))
        );
        assert_eq!(read(&text.repeat(3)).len(), 3);
    }

    #[test]
    fn keys_and_values_are_read_too() {
        let text = "megabytes=1668.0000 real_seconds=1.00 rate_Mbps=13943.3546 tx_cpu=56 rx_cpu=20 retrans=0\n";
        let log = &read(text)[0];
        assert_eq!(
            log.flows[0].receiver.unwrap().bytes,
            Some(1668.0 * MEBIBYTE)
        );
        assert!(!is_sign("1.0 MB / x"));
    }
}
