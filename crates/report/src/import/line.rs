//! The line both iperfs print for a stretch of time: `[ ID] 0.00-1.00 sec  112 MBytes  94.2 Mbits/sec …`.

use super::log::LogCounts;

/// Whose line it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Whose {
    /// A stream's, by its number; `returning` for the leg marked with an asterisk.
    Stream {
        /// The number in brackets.
        id: u32,
        /// Whether an asterisk stands before it.
        returning: bool,
    },
    /// All streams together.
    Sum,
    /// A heading.
    Heading,
}

/// A line with a name in brackets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Line<'a> {
    /// What stands before the brackets: a title or a time.
    pub before: &'a str,
    /// Whose it is.
    pub whose: Whose,
    /// The role in a second pair of brackets, such as `TX-C`.
    pub role: Option<&'a str>,
    /// The rest.
    pub rest: &'a str,
}

/// Reads the name in brackets; `None` for a line without one.
#[must_use]
pub fn bracketed(line: &str) -> Option<Line<'_>> {
    let mut from = 0;
    while let Some(at) = line[from..].find('[').map(|at| at + from) {
        let inside = &line[at + 1..];
        // Some prints have lost the bracket that opens, none the one that closes.
        let close = inside.find(']').filter(|close| *close <= 12);
        if let Some((close, whose)) =
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
            return Some(Line {
                before: &line[..at],
                whose,
                role,
                rest,
            });
        }
        from = at + 1;
    }
    None
}

fn name(text: &str) -> Option<Whose> {
    if text.starts_with("SUM") {
        return Some(Whose::Sum);
    }
    if text == "ID" {
        return Some(Whose::Heading);
    }
    let number = text.strip_prefix('*');
    let returning = number.is_some();
    let id = number.unwrap_or(text).trim().parse().ok()?;
    Some(Whose::Stream { id, returning })
}

/// Reads a stretch of time with its bytes and rate; what follows them is left for the caller.
#[must_use]
pub fn stretch(text: &str) -> Option<(LogCounts, &str)> {
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

/// Reads an amount and a rate into `count`.
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

/// `94.2 Mbits/sec` or `11.2 MBytes/sec`, in bits per second: bits by 1000, bytes by 1024.
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

/// `0.126 ms  0/42531 (0%)` into `count`; what follows is left.
#[must_use]
pub fn losses<'a>(count: &mut LogCounts, text: &'a str) -> Option<&'a str> {
    let (jitter, rest) = number(text.trim_start())?;
    let rest = rest.trim_start().strip_prefix("ms")?;
    count.jitter_ms = Some(jitter).filter(|jitter| *jitter >= 0.0);
    let (lost, rest) = signed(rest.trim_start())?;
    let (total, rest) = signed(rest.trim_start().strip_prefix('/')?.trim_start())?;
    // Less than none are lost, or of less than none: both iperfs print such when they lost count.
    count.lost = Some(lost).filter(|lost| *lost >= 0.0);
    count.datagrams = Some(total).filter(|total| *total >= 0.0);
    let rest = rest.trim_start();
    Some(match rest.strip_prefix('(') {
        Some(inside) => inside.split_once(')').map_or("", |(_, rest)| rest),
        None => rest,
    })
}

/// How many, of `77 datagrams received out-of-order`.
#[must_use]
pub fn reordered(text: &str) -> Option<f64> {
    let (datagrams, rest) = number(text.trim_start())?;
    rest.trim_start()
        .starts_with("datagrams received out-of-order")
        .then_some(datagrams)
}

/// A number without a sign at the start of `text`; only digits with one point.
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

/// What stands behind `words`, wherever they are.
#[must_use]
pub fn behind<'a>(text: &'a str, words: &str) -> Option<&'a str> {
    text.split_once(words).map(|(_, behind)| behind)
}

/// The next word, after blanks.
#[must_use]
pub fn word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    let end = text.find(char::is_whitespace).unwrap_or(text.len());
    text.split_at(end)
}

/// The two ends of `local A port p connected to B port q`, with what follows.
#[must_use]
pub fn connection(text: &str) -> Option<(Address<'_>, Address<'_>, &str)> {
    let rest = text.trim_start().strip_prefix("local ")?;
    let (local, rest) = address(rest)?;
    let rest = rest.trim_start().strip_prefix("connected ")?;
    let rest = rest.strip_prefix("to ").or(rest.strip_prefix("with "))?;
    let (remote, rest) = address(rest)?;
    Some((local, remote, rest))
}

/// A host and a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    /// The host, without its interface.
    pub host: &'a str,
    /// The port.
    pub port: u16,
}

/// A host with its port, as one writes them together.
#[must_use]
pub fn with_port(host: &str, port: impl std::fmt::Display) -> String {
    match host.contains(':') {
        true => format!("[{host}]:{port}"),
        false => format!("{host}:{port}"),
    }
}

fn address(text: &str) -> Option<(Address<'_>, &str)> {
    let (host, rest) = word(text);
    let (port, rest) = rest.trim_start().strip_prefix("port ").map(word)?;
    let host = host.split('%').next().unwrap_or(host);
    let port = port.trim_end_matches(',').parse().ok()?;
    Some((Address { host, port }, rest))
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
    fn a_line_names_whose_it_is() {
        let of = |text| bracketed(text).map(|line| (line.whose, line.role));
        let stream = |id, returning| Whose::Stream { id, returning };
        assert_eq!(of("[  5]   0.00-1.00"), Some((stream(5, false), None)));
        assert_eq!(
            of("title:  [SUM][TX-C] 0"),
            Some((Whose::Sum, Some("TX-C")))
        );
        assert_eq!(of("[ *7] local"), Some((stream(7, true), None)));
        assert_eq!(of("[ ID] Interval"), Some((Whose::Heading, None)));
        assert_eq!(of("[SUM-2] Sent"), Some((Whose::Sum, None)));
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
    fn a_stretch_of_time_may_have_a_blank_in_it() {
        let (count, rest) = stretch(" 0.0- 5.0 sec 218 MBytes 365 Mbits/sec").unwrap();
        assert_eq!((count.start_s, count.end_s), (0.0, 5.0));
        assert!(rest.starts_with(" 218"));
        assert!(stretch("5.0-1.0 sec").is_none());
    }

    #[test]
    fn a_command_is_found_behind_a_prompt() {
        let found = |line| command(line, "iperf");
        assert_eq!(
            found("user@client:~$ iperf -c 192.0.2.1 -u"),
            Some("iperf -c 192.0.2.1 -u")
        );
        assert_eq!(found("the iperf tool"), None);
    }
}
