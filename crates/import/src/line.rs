//! The row that both iperfs print for an interval: `[ ID] 0.00-1.00 sec  112 MBytes  94.2 Mbits/sec …`.

use super::log::LogCounts;

/// The subject of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RowSubject {
    /// A stream.
    Stream {
        /// The number in brackets.
        id: u32,
        /// `true` with an asterisk before it: the opposite direction of a bidirectional test.
        is_starred: bool,
    },
    /// The sum of all streams.
    Sum,
    /// The heads of the columns.
    Heading,
}

/// A row with a name in brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LogRow<'a> {
    /// The text before the brackets: a title or a time.
    pub before: &'a str,
    /// The subject.
    pub subject: RowSubject,
    /// The role in a second pair of brackets, such as `TX-C`.
    pub role: Option<&'a str>,
    /// The rest.
    pub rest: &'a str,
}

/// Parses the name in brackets; `None` for a line without one.
#[must_use]
pub fn bracketed(line: &str) -> Option<LogRow<'_>> {
    let mut from = 0;
    while let Some(at) = line[from..].find('[').map(|at| at + from) {
        let inside = &line[at + 1..];
        // Some logs have lost the opening bracket, none the closing one.
        let close = inside.find(']').filter(|close| *close <= 12);
        if let Some((close, subject)) =
            close.and_then(|close| Some((close, name(inside[..close].trim())?)))
        {
            let mut rest = &inside[close + 1..];
            let mut role = None;
            if let Some((inner, after)) = rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .filter(|(inner, _)| inner.len() <= 5)
            {
                (role, rest) = (Some(inner.trim()), after);
            }
            return Some(LogRow {
                before: &line[..at],
                subject,
                role,
                rest,
            });
        }
        from = at + 1;
    }
    None
}

fn name(text: &str) -> Option<RowSubject> {
    if text.starts_with("SUM") {
        return Some(RowSubject::Sum);
    }
    if text == "ID" {
        return Some(RowSubject::Heading);
    }
    let number = text.strip_prefix('*');
    let is_starred = number.is_some();
    let id = number.unwrap_or(text).trim().parse().ok()?;
    Some(RowSubject::Stream { id, is_starred })
}

/// Parses the times of a row; returns them with the rest of the text.
#[must_use]
pub fn timed_row(text: &str) -> Option<(LogCounts, &str)> {
    let (start_s, rest) = number(text.trim_start())?;
    let rest = rest.trim_start().strip_prefix('-')?;
    let (end_s, rest) = number(rest.trim_start())?;
    let rest = rest.trim_start().strip_prefix("sec")?;
    let count = LogCounts {
        start_s,
        end_s,
        ..LogCounts::default()
    };
    if !(start_s >= 0.0 && end_s >= start_s && end_s < 1e9) {
        return None;
    }
    Some((count, rest))
}

/// Parses an amount and a rate into `count`; returns the rest of the text.
#[must_use]
pub fn amount_and_rate<'a>(count: &mut LogCounts, text: &'a str) -> Option<&'a str> {
    let (bytes, rest) = amount(text)?;
    let (bps, rest) = rate(rest)?;
    (count.bytes, count.bps) = (Some(bytes), Some(bps));
    Some(rest)
}

/// `112 MBytes`, in bytes: by 1024, as both iperfs print amounts.
#[must_use]
pub fn amount(text: &str) -> Option<(f64, &str)> {
    let (value, rest) = number(text.trim_start())?;
    let (unit, rest) = word(rest);
    let factor = match unit.strip_suffix('s').unwrap_or(unit) {
        "Byte" => 1.0,
        "KByte" => 1024.0,
        "MByte" => 1024.0_f64.powi(2),
        "GByte" => 1024.0_f64.powi(3),
        "TByte" => 1024.0_f64.powi(4),
        "bit" => 1.0 / 8.0,
        "Kbit" => 1e3 / 8.0,
        "Mbit" => 1e6 / 8.0,
        "Gbit" => 1e9 / 8.0,
        _ => return None,
    };
    Some((value * factor, rest))
}

/// `94.2 Mbits/sec` or `11.2 MBytes/sec`, in bit/s: bits by 1000, bytes by 1024.
#[must_use]
pub fn rate(text: &str) -> Option<(f64, &str)> {
    let (value, rest) = number(text.trim_start())?;
    let (unit, rest) = word(rest);
    let factor = match unit.strip_suffix("/sec")? {
        "bits" => 1.0,
        "Kbits" => 1e3,
        "Mbits" => 1e6,
        "Gbits" => 1e9,
        "Tbits" => 1e12,
        "Bytes" => 8.0,
        "KBytes" => 8.0 * 1024.0,
        "MBytes" => 8.0 * 1024.0_f64.powi(2),
        "GBytes" => 8.0 * 1024.0_f64.powi(3),
        "TBytes" => 8.0 * 1024.0_f64.powi(4),
        _ => return None,
    };
    Some((value * factor, rest))
}

/// `0.126 ms  0/42531 (0%)` into `count`; returns the rest of the text.
#[must_use]
pub fn losses<'a>(count: &mut LogCounts, text: &'a str) -> Option<&'a str> {
    let (jitter, rest) = number(text.trim_start())?;
    let rest = rest.trim_start().strip_prefix("ms")?;
    count.jitter_ms = Some(jitter).filter(|jitter| *jitter >= 0.0);
    let (lost, rest) = signed(rest.trim_start())?;
    let (total, rest) = signed(rest.trim_start().strip_prefix('/')?.trim_start())?;
    // Both iperfs print negative counts when they have lost count.
    count.has_negative |= lost < 0.0 || total < 0.0;
    count.lost = Some(lost).filter(|lost| *lost >= 0.0);
    count.datagrams = Some(total).filter(|total| *total >= 0.0);
    let rest = rest.trim_start();
    Some(match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    })
}

/// The number in `77 datagrams received out-of-order`.
#[must_use]
pub fn reordered(text: &str) -> Option<f64> {
    let (datagrams, rest) = number(text.trim_start())?;
    rest.trim_start()
        .starts_with("datagrams received out-of-order")
        .then_some(datagrams)
}

/// The number at the start of `text`, of digits and one point, without a sign.
#[must_use]
pub fn number(text: &str) -> Option<(f64, &str)> {
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(text.len());
    let value: f64 = text[..end].parse().ok()?;
    value.is_finite().then_some((value, &text[end..]))
}

fn signed(text: &str) -> Option<(f64, &str)> {
    match text.strip_prefix('-') {
        Some(rest) => number(rest).map(|(value, rest)| (-value, rest)),
        None => number(text),
    }
}

/// The text after `words`, wherever they are.
#[must_use]
pub fn text_after<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.split_once(words).map(|(_, rest)| rest)
}

/// The next word after blanks, and the rest of the text.
#[must_use]
pub fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

/// The two ends of `local A port p connected to B port q`, and the rest of the text.
#[must_use]
pub fn connection(text: &str) -> Option<(HostPort<'_>, HostPort<'_>, &str)> {
    let rest = text.trim_start().strip_prefix("local ")?;
    let (local, rest) = address(rest)?;
    let rest = rest.trim_start().strip_prefix("connected ")?;
    let rest = rest.strip_prefix("to ").or(rest.strip_prefix("with "))?;
    let (remote, rest) = address(rest)?;
    Some((local, remote, rest))
}

/// A host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HostPort<'a> {
    /// The host, without its interface.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// A host with its port as one text.
#[must_use]
pub fn with_port(host: &str, port: impl std::fmt::Display) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

fn address(text: &str) -> Option<(HostPort<'_>, &str)> {
    let (host, rest) = word(text);
    let (port, rest) = rest.trim_start().strip_prefix("port ").map(word)?;
    let host = host.split('%').next().unwrap_or(host);
    let port = port.trim_end_matches(',').parse().ok()?;
    Some((HostPort { host, port }, rest))
}

/// The command line in a line of a terminal's transcript, such as `user@host:~$ iperf -c 192.0.2.1 -u`.
#[must_use]
pub fn command<'a>(line: &'a str, tool: &str) -> Option<&'a str> {
    let at = line.match_indices(tool).map(|(at, _)| at).find(|at| {
        let starts = line[..*at]
            .chars()
            .next_back()
            .is_none_or(|c| c.is_whitespace() || "$#/>".contains(c));
        starts && line[at + tool.len()..].trim_start().starts_with('-')
    })?;
    let command = line[at..].trim_end();
    (line[at + tool.len()..].starts_with(' ') && command.len() <= 400).then_some(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_subject_of_a_row_is_in_brackets() {
        let of = |text| bracketed(text).map(|line| (line.subject, line.role));
        let stream = |id, is_starred| RowSubject::Stream { id, is_starred };
        assert_eq!(of("[  5]   0.00-1.00"), Some((stream(5, false), None)));
        assert_eq!(
            of("title:  [SUM][TX-C] 0"),
            Some((RowSubject::Sum, Some("TX-C")))
        );
        assert_eq!(of("[ *7] local"), Some((stream(7, true), None)));
        assert_eq!(of("[ ID] Interval"), Some((RowSubject::Heading, None)));
        assert_eq!(of("[SUM-2] Sent"), Some((RowSubject::Sum, None)));
        assert_eq!(of("[abc] [nothing"), None);
    }

    #[test]
    fn amounts_go_by_1024_and_rates_by_1000() {
        assert_eq!(amount("1.50 KBytes x").unwrap(), (1536.0, " x"));
        assert_eq!(rate(" 94.5 Mbits/sec").unwrap().0, 94.5e6);
        assert_eq!(rate("6143 KBytes/sec").unwrap().0, 6143.0 * 8192.0);
        assert_eq!(amount("-1.00 Byte"), None);
        assert_eq!(rate("nan bits/sec"), None);
    }

    #[test]
    fn the_times_of_a_row_may_have_a_blank_between_them() {
        let (count, rest) = timed_row(" 0.0- 5.0 sec 218 MBytes 365 Mbits/sec").unwrap();
        assert_eq!((count.start_s, count.end_s), (0.0, 5.0));
        assert!(rest.starts_with(" 218"));
        assert!(timed_row("5.0-1.0 sec").is_none());
    }

    #[test]
    fn a_command_is_found_after_a_prompt() {
        let found = |line| command(line, "iperf");
        assert_eq!(
            found("user@client:~$ iperf -c 192.0.2.1 -u"),
            Some("iperf -c 192.0.2.1 -u")
        );
        assert_eq!(found("the iperf tool"), None);
    }
}
