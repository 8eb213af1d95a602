//! The text of ping: that of iputils, BusyBox, the BSDs and macOS, and of Windows in English.

use super::log::RoundTripLog;
use crate::line::number;
use crate::log::LogFormat;
use caudal_core::warning::WarningCode;

/// Maximum round trips of one host; ping's sequence numbers have 16 bits, but a log may go on.
const MAX_TIMES: usize = 10_000_000;

/// `true` for the line that a log of ping begins with, or that its summary begins with.
#[must_use]
pub fn is_sign(text: &str) -> bool {
    header(text).is_some() || statistics_host(text).is_some()
}

/// A host and the payload of a packet, of `PING host (addr) 56(84) bytes of data.`, `PING host (addr): 56 data bytes` or
/// `Pinging host [addr] with 32 bytes of data:`.
fn header(text: &str) -> Option<(&str, Option<u32>)> {
    if let Some(rest) = text.strip_prefix("Pinging ") {
        let (host, rest) = rest.split_once(" with ")?;
        let (size, rest) = number(rest)?;
        let host = host.split(' ').next()?;
        return rest
            .trim_start()
            .starts_with("bytes of data")
            .then_some((host, Some(size as u32)));
    }
    let rest = text
        .strip_prefix("PING ")
        .or_else(|| text.strip_prefix("PING6("))?;
    if let Some((_, rest)) = rest.split_once(" --> ") {
        // The BSDs: `PING6(56=40+8+8 bytes) from --> to`.
        return Some((rest.split_whitespace().next()?, None));
    }
    let end = rest.find([' ', '('])?;
    let host = rest[..end].trim_end_matches(':');
    let rest = &rest[end..];
    let is_data = rest.contains("data bytes") || rest.contains("bytes of data");
    let size = rest
        .split([' ', ')', ':'])
        .find_map(|word| number(word).map(|(size, _)| size as u32));
    (is_data && !host.is_empty()).then_some((host, size))
}

/// The host of `--- host ping statistics ---` or `Ping statistics for host:`.
fn statistics_host(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix("Ping statistics for ") {
        return rest.strip_suffix(':');
    }
    let rest = text.strip_prefix("--- ")?;
    let rest = rest.strip_suffix(" ping statistics ---");
    rest.or_else(|| {
        text.strip_prefix("--- ")?
            .strip_suffix(" ping6 statistics ---")
    })
}

/// A reply: its sequence number where it has one, its time in µs, whether it came a second time.
fn reply(text: &str) -> Option<(Option<u64>, f64, bool)> {
    let is_reply = text.contains(" bytes from ") || text.starts_with("Reply from ");
    if !is_reply {
        return None;
    }
    let at = text.find("time=").or_else(|| text.find("time<"))?;
    let (ms, rest) = number(&text[at + "time=".len()..])?;
    if !rest.trim_start().starts_with("ms") {
        return None;
    }
    Some((sequence(text), ms * 1e3, text.contains("DUP!")))
}

fn sequence(text: &str) -> Option<u64> {
    let at = text.find("seq=").map(|at| at + "seq=".len());
    let at = at.or_else(|| text.find("icmp_seq ").map(|at| at + "icmp_seq ".len()))?;
    number(&text[at..]).map(|(sequence, _)| sequence as u64)
}

/// The number before `words` in a line of counts.
fn before(text: &str, words: &str) -> Option<u64> {
    let (head, _) = text.split_once(words)?;
    let start = head.trim_end();
    let digits = start
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(start, |at| &start[at + 1..]);
    digits.parse().ok()
}

/// The number behind `words` in a line of counts.
fn behind(text: &str, words: &str) -> Option<u64> {
    let (_, rest) = text.split_once(words)?;
    number(rest.trim_start()).map(|(value, _)| value as u64)
}

#[derive(Debug, Default)]
struct PingProgress {
    first: Option<u64>,
    last: Option<u64>,
    /// The first time stamp and the last, s since 1970, of `-D`.
    stamps: Option<(f64, f64)>,
    has_counts: bool,
    has_long_gap: bool,
}

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<RoundTripLog> {
    let mut logs: Vec<(RoundTripLog, PingProgress)> = Vec::new();
    for text in text.lines() {
        let (stamp, text) = stamped(text.trim());
        let ended = logs.last().is_none_or(|(_, so_far)| so_far.has_counts);
        if let Some((host, size)) = header(text) {
            logs.push(begun(host, size));
        } else if let Some(host) = statistics_host(text).filter(|_| ended) {
            // A summary without its beginning.
            logs.push(begun(host, None));
        }
        let Some((log, so_far)) = logs.last_mut() else {
            continue;
        };
        if let Some(stamp) = stamp {
            let first = so_far.stamps.map_or(stamp, |(first, _)| first);
            so_far.stamps = Some((first, stamp));
        }
        take(log, so_far, text);
    }
    logs.into_iter()
        .map(|(log, so_far)| finish(log, &so_far))
        .collect()
}

fn begun(host: &str, size: Option<u32>) -> (RoundTripLog, PingProgress) {
    let mut log = RoundTripLog::new(LogFormat::PingText);
    log.head.peer = Some(host.to_owned());
    log.size_bytes = size;
    log.head.is_complete = false;
    (log, PingProgress::default())
}

/// A line without the time that `-D` puts before it.
fn stamped(text: &str) -> (Option<f64>, &str) {
    let stamp = text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        .and_then(|(stamp, rest)| Some((stamp.parse::<f64>().ok()?, rest)));
    match stamp {
        Some((stamp, rest)) if (1e8..1e11).contains(&stamp) => (Some(stamp), rest),
        _ => (None, text),
    }
}

fn take(log: &mut RoundTripLog, so_far: &mut PingProgress, text: &str) {
    if let Some((sequence, us, is_again)) = reply(text) {
        if is_again {
            log.duplicate += 1;
        } else if log.times_us.len() < MAX_TIMES {
            log.times_us.push(us);
        }
        note(so_far, sequence);
    } else if text.contains(" packets transmitted, ") {
        let received = before(text, " packets received").or_else(|| before(text, " received"));
        if let (Some(sent), Some(received)) = (before(text, " packets transmitted"), received) {
            set_counts(log, so_far, sent, received);
        }
        // A flood of `-f` takes less than a millisecond.
        log.elapsed_s = behind(text, ", time ")
            .filter(|ms| *ms > 0)
            .map(|ms| ms as f64 / 1e3);
        if let Some(again) = before(text, " duplicates") {
            log.duplicate = again;
        }
    } else if text.starts_with("Packets: Sent = ") {
        let counts = (behind(text, "Sent = "), behind(text, "Received = "));
        if let (Some(sent), Some(received)) = counts {
            set_counts(log, so_far, sent, received);
        }
    } else if let Some((_, times)) = text.split_once("min/avg/max") {
        summary(log, times);
    } else if text.starts_with("Minimum = ") {
        let mean = behind(text, "Average = ").map(|ms| ms as f64 * 1e3);
        summary_alone(log, mean, &text.replace("ms", " ms"));
    } else if text.starts_with("Request timeout for ") || text.starts_with("no answer yet for ") {
        note(so_far, sequence(text));
    }
}

fn note(so_far: &mut PingProgress, sequence: Option<u64>) {
    let Some(sequence) = sequence else { return };
    // The number wraps after 65535.
    let sequence = sequence % 65_536;
    so_far.first = so_far.first.or(Some(sequence));
    let is_wrap = so_far
        .last
        .is_some_and(|last| sequence + 32_768 < last % 65_536);
    let base = so_far.last.map_or(0, |last| last - last % 65_536);
    let sequence = base + sequence + if is_wrap { 65_536 } else { 0 };
    so_far.has_long_gap |= so_far.last.is_some_and(|last| sequence > last + 32_768);
    so_far.last = so_far.last.max(Some(sequence));
}

fn set_counts(log: &mut RoundTripLog, so_far: &mut PingProgress, sent: u64, received: u64) {
    so_far.has_counts = true;
    log.sent = sent;
    // Replies that came twice may count as received.
    log.lost = sent.saturating_sub(received.min(sent));
    log.head.is_complete = true;
}

/// ` /mdev = 0.038/0.048/0.084/0.017 ms`.
fn summary(log: &mut RoundTripLog, text: &str) {
    let Some((_, times)) = text.split_once("= ") else {
        return;
    };
    let mut values = times.split([' ', '/']).filter_map(|word| {
        let (value, rest) = number(word)?;
        rest.is_empty().then_some(value)
    });
    let mean = values.nth(1).map(|ms| ms * 1e3);
    summary_alone(log, mean, &format!("min/avg/max{text}"));
}

fn summary_alone(log: &mut RoundTripLog, mean_us: Option<f64>, text: &str) {
    log.mean_us = mean_us;
    if log.times_us.is_empty() && mean_us.is_some() {
        log.left_out = vec![format!(
            "{text} (but for the mean: single replies are not in it)"
        )];
    }
}

fn finish(mut log: RoundTripLog, so_far: &PingProgress) -> RoundTripLog {
    if !so_far.has_counts {
        let numbered = so_far.first.zip(so_far.last);
        let replies = log.times_us.len() as u64;
        log.sent = match numbered {
            Some((first, last)) if !so_far.has_long_gap => (last - first + 1).max(replies),
            _ => replies,
        };
        log.lost = log.sent - replies;
    }
    if let Some((first, last)) = so_far.stamps {
        log.head.started_ns = Some((first * 1e9) as i64);
        log.elapsed_s = log.elapsed_s.or(Some(last - first));
    }
    let received = log.sent - log.lost;
    let found = log.times_us.len() as u64;
    if found > 0 && so_far.has_counts && found < received {
        let message = format!(
            "{found} of {received} replies are in the log: its beginning or a part is missing"
        );
        log.head.warnings.push((WarningCode::LogCutShort, message));
    }
    log.period_s = log
        .elapsed_s
        .filter(|_| log.sent > 1)
        .map(|s| s / (log.sent - 1) as f64);
    log.finished()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> RoundTripLog {
        let logs = read(text);
        assert_eq!(logs.len(), 1, "{logs:#?}");
        logs.into_iter().next().unwrap()
    }

    /// iputils 20221126.
    const IPUTILS: &str = "\
PING example.net (192.0.2.1) 56(84) bytes of data.
64 bytes from host (192.0.2.1): icmp_seq=1 ttl=64 time=0.084 ms
64 bytes from host (192.0.2.1): icmp_seq=2 ttl=64 time=0.038 ms
64 bytes from host (192.0.2.1): icmp_seq=2 ttl=64 time=0.040 ms (DUP!)
64 bytes from host (192.0.2.1): icmp_seq=4 ttl=64 time=12.5 ms

--- example.net ping statistics ---
5 packets transmitted, 3 received, +1 duplicates, 40% packet loss, time 4080ms
rtt min/avg/max/mdev = 0.038/4.207/12.500/5.863 ms
";

    #[test]
    fn the_text_of_iputils_has_times_and_counts() {
        let log = only(IPUTILS);
        assert_eq!(log.times_us, [84.0, 38.0, 12_500.0]);
        assert_eq!((log.sent, log.lost, log.duplicate), (5, 2, 1));
        assert_eq!(log.size_bytes, Some(56));
        assert_eq!(log.head.peer.as_deref(), Some("example.net"));
        assert!(log.head.is_complete && log.head.warnings.is_empty());
        assert_eq!((log.elapsed_s, log.period_s), (Some(4.08), Some(1.02)));
    }

    #[test]
    fn a_log_that_breaks_off_counts_by_its_numbers() {
        let text: String = IPUTILS
            .lines()
            .take(5)
            .map(|line| format!("{line}\n"))
            .collect();
        let log = only(&text);
        assert_eq!((log.sent, log.lost), (4, 1));
        assert!(!log.head.is_complete);
    }

    #[test]
    fn a_quiet_log_has_the_mean_and_says_what_is_left_out() {
        let text = "PING ::1(::1) 56 data bytes\n\n--- ::1 ping statistics ---\n\
            5 packets transmitted, 5 received, 0% packet loss, time 823ms\n\
            rtt min/avg/max/mdev = 0.020/0.037/0.042/0.008 ms\n";
        let log = only(text);
        assert_eq!((log.mean_us, log.times_us.len()), (Some(37.0), 0));
        assert_eq!((log.sent, log.lost), (5, 0));
        assert!(
            log.head.warnings[0].1.contains("0.020/0.037/0.042/0.008"),
            "{log:?}"
        );
    }

    #[test]
    fn other_systems_print_the_same_in_other_words() {
        let busybox = "PING 192.0.2.1 (192.0.2.1): 56 data bytes\n\
            64 bytes from 192.0.2.1: seq=0 ttl=64 time=0.106 ms\n\
            64 bytes from 192.0.2.1: seq=1 ttl=64 time=0.121 ms\n\n\
            --- 192.0.2.1 ping statistics ---\n\
            2 packets transmitted, 2 packets received, 0% packet loss\n\
            round-trip min/avg/max = 0.106/0.113/0.121 ms\n";
        assert_eq!(only(busybox).times_us, [106.0, 121.0]);
        let macos = "PING example.net (192.0.2.1): 56 data bytes\n\
            Request timeout for icmp_seq 0\n\
            64 bytes from 192.0.2.1: icmp_seq=1 ttl=57 time=13.310 ms\n\
            --- example.net ping statistics ---\n\
            2 packets transmitted, 1 packets received, 50.0% packet loss\n\
            round-trip min/avg/max/stddev = 13.310/13.310/13.310/0.000 ms\n";
        let log = only(macos);
        assert_eq!((log.sent, log.lost, log.times_us[0]), (2, 1, 13_310.0));
        let windows = "\nPinging example.net [192.0.2.1] with 32 bytes of data:\r\n\
            Reply from 192.0.2.1: bytes=32 time=12ms TTL=57\r\n\
            Request timed out.\r\n\
            Reply from 192.0.2.1: bytes=32 time<1ms TTL=57\r\n\r\n\
            Ping statistics for 192.0.2.1:\r\n    Packets: Sent = 3, Received = 2, Lost = 1 (33% loss),\r\n\
            Approximate round trip times in milli-seconds:\r\n    Minimum = 0ms, Maximum = 12ms, Average = 6ms\r\n";
        let log = only(windows);
        assert_eq!((log.sent, log.lost), (3, 1));
        assert_eq!(log.times_us, [12_000.0, 1_000.0]);
    }

    #[test]
    fn several_hosts_are_several_tests_and_stamps_are_dates() {
        let text = format!("{IPUTILS}{}", IPUTILS.replace("example.net", "other"));
        assert_eq!(read(&text).len(), 2);
        let stamped = "PING ::1(::1) 56 data bytes\n\
            [1795834820.586874] 64 bytes from ::1: icmp_seq=1 ttl=64 time=0.021 ms\n\
            [1795834821.586874] 64 bytes from ::1: icmp_seq=2 ttl=64 time=0.049 ms\n";
        let log = only(stamped);
        assert_eq!(log.head.started_ns.unwrap() / 1_000_000, 1_795_834_820_586);
        assert_eq!(log.elapsed_s, Some(1.0));
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut text = "PING a (192.0.2.1) 56(84) bytes of data.\n".to_owned();
        for sequence in [65_534, 65_535, 0, 1, 3] {
            text += &format!("64 bytes from 192.0.2.1: icmp_seq={sequence} ttl=64 time=1.0 ms\n");
        }
        let log = only(&text);
        assert_eq!((log.sent, log.lost), (6, 1));
    }
}
