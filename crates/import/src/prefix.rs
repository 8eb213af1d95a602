//! What loggers put in front of each line: journalctl, syslog, containers, `ts`.

use super::date;

/// The lines of a text without what a logger put in front of them.
#[derive(Debug, Clone, PartialEq)]
pub struct UnprefixedText {
    /// The lines, those of each process together.
    pub text: String,
    /// The date of the first line, ns since 1970, where the logger writes it with the year.
    pub started_ns: Option<i64>,
}

/// A line of a logger.
#[derive(Debug, Clone, Copy, PartialEq)]
struct LoggedLine<'a> {
    date_ns: Option<i64>,
    /// The program with its process, or a container.
    source: &'a str,
    message: &'a str,
}

/// Maximum number of processes whose lines are kept apart.
const MAX_SOURCES: usize = 64;

/// Removes what a logger put in front of the lines; `None` where most lines have no such thing.
#[must_use]
pub fn without_prefixes(text: &str) -> Option<UnprefixedText> {
    let lines = || text.lines().filter(|line| !line.trim().is_empty());
    let prefixed = lines().filter(|line| logged(line).is_some()).count();
    if prefixed == 0 || prefixed * 2 < lines().count() {
        return None;
    }
    let mut sources: Vec<(&str, String)> = Vec::new();
    let mut started_ns = None;
    for line in text.lines() {
        // A line without one belongs to those before it.
        let logged = logged(line).unwrap_or(LoggedLine {
            date_ns: None,
            source: sources.last().map_or("", |(source, _)| source),
            message: line,
        });
        started_ns = started_ns.or(logged.date_ns);
        let known = sources
            .iter()
            .position(|(source, _)| *source == logged.source);
        let at = known.unwrap_or_else(|| {
            if sources.len() < MAX_SOURCES {
                sources.push((logged.source, String::new()));
            }
            sources.len() - 1
        });
        sources[at].1.push_str(logged.message);
        sources[at].1.push('\n');
    }
    let text = sources.into_iter().map(|(_, text)| text).collect();
    Some(UnprefixedText { text, started_ns })
}

/// A line with what a logger put in front of it; `None` without such.
fn logged(line: &str) -> Option<LoggedLine<'_>> {
    // Compose names the container: `iperf3-1  | …`.
    if let Some((source, rest)) = line.split_once(" | ")
        && is_name(source.trim_end())
    {
        let inner = logged(rest).map_or(rest, |inner| inner.message);
        return Some(LoggedLine {
            date_ns: None,
            source: source.trim_end(),
            message: inner,
        });
    }
    let Some(stamp) = stamp(line) else {
        let (source, message) = process(line)?;
        return Some(LoggedLine {
            date_ns: None,
            source,
            message,
        });
    };
    // The host is between the time and the program; a container's lines have neither.
    let rest = stamp.rest;
    let behind_host = rest
        .split_once(' ')
        .filter(|(host, _)| is_name(host))
        .and_then(|(_, rest)| process(rest.trim_start()));
    let (source, message) = match process(rest).or(behind_host) {
        Some(found) => found,
        None if stamp.is_alone => ("", rest),
        None => return None,
    };
    Some(LoggedLine {
        date_ns: stamp.date_ns,
        source,
        message,
    })
}

/// `true` for a host, a program or a container.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 128
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "-_.:@/".contains(c))
}

/// `iperf3[123]: message`: the program with its process, and the message.
fn process(text: &str) -> Option<(&str, &str)> {
    let end = text.find("]:")?;
    let (source, rest) = text.split_at(end);
    let (name, number) = source.split_once('[')?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let message = &rest["]:".len()..];
    (is_name(name) && is_number).then(|| (source, message.strip_prefix(' ').unwrap_or(message)))
}

/// The time in front of a line.
struct LineStamp<'a> {
    date_ns: Option<i64>,
    rest: &'a str,
    /// Such times stand without a host and a program as well.
    is_alone: bool,
}

fn stamp(line: &str) -> Option<LineStamp<'_>> {
    let (first, rest) = line.split_once(' ')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // `docker logs -t`, `journalctl -o short-iso`, RFC 3339: 2026-03-05T10:00:00.123456789Z.
    if is_iso(first) {
        return Some(LineStamp {
            date_ns: date::iso_with_zone(first),
            rest,
            is_alone: true,
        });
    }
    // `journalctl -o short-unix`: 1772704800.123456.
    if let Some((seconds, fraction)) = first.split_once('.')
        && seconds.len() >= 9
        && digits(seconds)
        && digits(fraction)
    {
        let seconds: Option<i64> = seconds.parse().ok();
        return Some(LineStamp {
            date_ns: seconds.and_then(|seconds| seconds.checked_mul(1_000_000_000)),
            rest,
            is_alone: false,
        });
    }
    // `journalctl -o short-monotonic`: [   12.345678].
    if let Some((inside, rest)) = line
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
        && let Some((seconds, fraction)) = inside.trim_start().split_once('.')
        && digits(seconds)
        && fraction.len() == 6
        && digits(fraction)
    {
        return Some(LineStamp {
            date_ns: None,
            rest,
            is_alone: false,
        });
    }
    // `journalctl -o short-full`: Thu 2026-03-05 10:00:00 CET.
    let mut words = line.splitn(5, ' ');
    if let (Some(_), Some(day), Some(time), Some(_), Some(rest)) = (
        words.next(),
        words.next(),
        words.next(),
        words.next(),
        words.next(),
    ) && is_iso(&format!("{day}T{time}"))
    {
        return Some(LineStamp {
            date_ns: None,
            rest,
            is_alone: false,
        });
    }
    syslog_stamp(line)
}

/// `Mar 05 10:00:00`, with a fraction or without: syslog, `journalctl`, `ts`. The year is not known.
fn syslog_stamp(line: &str) -> Option<LineStamp<'_>> {
    let (month, rest) = line.split_once(' ')?;
    let (day, rest) = rest.trim_start().split_once(' ')?;
    let (time, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    let is_day = matches!(day.len(), 1 | 2) && day.bytes().all(|byte| byte.is_ascii_digit());
    (date::is_month(month) && is_day && is_time(time)).then_some(LineStamp {
        date_ns: None,
        rest,
        is_alone: true,
    })
}

/// `10:00:00`, with a fraction or a zone behind it.
fn is_time(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes[..8].iter().enumerate().all(|(at, byte)| match at {
            2 | 5 => *byte == b':',
            _ => byte.is_ascii_digit(),
        })
        && bytes[8..]
            .iter()
            .all(|byte| byte.is_ascii_digit() || b".,+-:Z".contains(byte))
}

/// `2026-03-05T10:00:00`, with a fraction or a zone behind it.
fn is_iso(text: &str) -> bool {
    let Some((day, time)) = text.split_once('T') else {
        return false;
    };
    let is_day = day.len() == 10
        && day.bytes().enumerate().all(|(at, byte)| match at {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        });
    is_day && is_time(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "[  5]   0.00-1.00   sec  11.2 MBytes  94.0 Mbits/sec    0    255 KBytes";

    #[test]
    fn what_loggers_put_in_front_of_a_line_is_removed() {
        for prefix in [
            "Mar 05 10:00:00 h2 iperf3[123]: ",
            "Mar  5 10:00:00.123456 h2.example.org iperf3[123]: ",
            "2026-03-05T10:00:00+0100 h2 iperf3[123]: ",
            "2026-03-05T10:00:00.123456+01:00 h2 iperf3[123]: ",
            "Thu 2026-03-05 10:00:00 CET h2 iperf3[123]: ",
            "1772704800.123456 h2 iperf3[123]: ",
            "[   12.345678] h2 iperf3[123]: ",
            "2026-03-05T10:00:00.123456789Z ",
            "Mar 05 10:00:00 ",
            "iperf3[123]: ",
            "iperf3-1  | ",
            "iperf3-1  | 2026-03-05T10:00:00.123456789Z ",
        ] {
            let line = format!("{prefix}{ROW}");
            let found = logged(&line).map(|line| line.message);
            assert_eq!(found, Some(ROW), "{prefix:?}");
        }
    }

    #[test]
    fn lines_of_the_tools_themselves_have_no_prefix() {
        for line in [
            ROW,
            "[ ID] Interval           Transfer     Bitrate         Retr  Cwnd",
            "Sun Nov 22 03:33:51 2026 [  5]   0.00-1.00   sec  11.2 MBytes",
            "Connecting to host 192.0.2.1, port 5201",
            "20261122033445,127.0.0.1,34414,127.0.0.1,15002,1,0.0-1.0,1312710,10501680",
            "l  8388608    0.71    0.01     94.9903   7457.3690    2048   2898.87  227580.8",
            "iperf3: error - unable to connect to server",
            "{\"event\": \"start\"}",
        ] {
            assert_eq!(logged(line), None, "{line:?}");
        }
    }

    #[test]
    fn lines_of_two_processes_are_kept_apart() {
        let text = "Mar 05 10:00:00 h iperf3[1]: a\nMar 05 10:00:00 h iperf3[2]: b\nMar 05 10:00:01 h iperf3[1]: c\n";
        assert_eq!(without_prefixes(text).unwrap().text, "a\nc\nb\n");
        assert_eq!(without_prefixes("a\nb\niperf3[1]: c\n"), None);
    }
}
