//! The protocol of nttcp 1.47: a line with the request, a line with a port, and rows of results.
//!
//! A control connection carries the command line for the server, its arguments joined by `@`:
//! `nttcp@-r@-l4096@-n2048@-f@%9b…@-N1`. The receiver opens a port and sends `dataport: 5038`. When all
//! is transferred, the server prints its row of results on the control connection.

use caudal_core::text::ExternalText;
use std::fmt::Write;

/// The control port; data ports are those above.
pub const PORT: u16 = 5037;
/// Maximum length of a request line, bytes.
pub const MAX_LINE_BYTES: usize = 1023;
/// The columns printed by default.
pub const FORMAT: &str = "%9b%8.2rt%8.2ct%12.4rbr%12.4cbr%8c%10.2rcr%10.1ccr";
/// Bytes in a datagram that marks the beginning or the end; data is longer.
pub const MARK_BYTES: usize = 4;
/// Maximum number of bytes or buffers, as in the original.
const MAX_NUMBER: u64 = 1_000_000_000;
/// Maximum width of a column, and the maximum number of decimals.
const MAX_WIDTH: usize = 30;

/// The request for one end's part of a transfer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransferRequest {
    /// `true` when this end sends.
    pub transmit: bool,
    /// `true` for UDP, `false` for TCP.
    pub udp: bool,
    /// Bytes in a buffer.
    pub length: u32,
    /// The number of buffers.
    pub count: u32,
    /// Socket buffers, kilobytes.
    pub window_kb: Option<u32>,
    /// `true` when Nagle's algorithm is off.
    pub no_delay: bool,
    /// The gap between writes, µs.
    pub gap_us: u32,
    /// `true` when the title row is printed.
    pub title: bool,
    /// The columns.
    pub format: String,
    /// `true` when more messages are printed.
    pub verbose: bool,
    /// The number in front of the row.
    pub number: Option<u8>,
    /// The control port.
    pub port: u16,
    /// `true` when it listens for requests (`-i`).
    pub listen: bool,
    /// Set when the version was requested.
    pub version: bool,
    /// Set when help was requested.
    pub help: bool,
    total: Option<u64>,
    given_length: bool,
    given_count: bool,
}

impl Default for TransferRequest {
    fn default() -> Self {
        Self {
            transmit: true,
            udp: false,
            length: 4096,
            count: 2048,
            window_kb: None,
            no_delay: false,
            gap_us: 0,
            title: false,
            format: FORMAT.to_owned(),
            verbose: false,
            number: None,
            port: PORT,
            listen: false,
            version: false,
            help: false,
            total: None,
            given_length: false,
            given_count: false,
        }
    }
}

/// The reason why a command line cannot be followed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An option of nttcp that this program does not support.
    #[error("option -{0} of nttcp is not here")]
    Absent(char),
    /// No option of nttcp.
    #[error("no option of nttcp: {0:?}")]
    Unknown(ExternalText),
    /// An invalid value.
    #[error("option -{0}: {1:?} is not {2}")]
    Value(char, ExternalText, &'static str),
    /// The line is not a request.
    #[error("it did not ask in the words of nttcp")]
    Line,
}

impl TransferRequest {
    /// The request for a transfer of `bytes` in buffers of `length`; `None` for as many buffers as can be asked for, and when the
    /// amount is not a whole number of buffers.
    #[must_use]
    pub fn with_bytes(length: u32, bytes: Option<u64>) -> Option<Self> {
        let request = Self {
            length,
            count: (MAX_NUMBER - 1) as u32,
            ..Self::default()
        };
        let Some(bytes) = bytes else {
            return Some(request);
        };
        let count = bytes.div_ceil(u64::from(length.max(1)));
        let is_exact = bytes.is_multiple_of(u64::from(length.max(1)));
        if count == 0 || count >= MAX_NUMBER || !is_exact && bytes >= MAX_NUMBER {
            return None;
        }
        Some(Self {
            count: count as u32,
            total: (!is_exact).then_some(bytes),
            ..request
        })
    }

    /// Parses one argument of a command line; `next` yields the value of an option whose value is separate. `false`
    /// when the argument is not an option.
    ///
    /// # Errors
    /// When the option is not supported, or its value is invalid.
    pub fn take<'a>(
        &mut self,
        word: &'a str,
        next: &mut impl Iterator<Item = &'a str>,
    ) -> Result<bool, RequestError> {
        let Some(rest) = word.strip_prefix('-') else {
            return Ok(false);
        };
        let mut letters = rest.chars();
        let Some(letter) = letters.next() else {
            return Err(RequestError::Unknown(word.into()));
        };
        let attached = letters.as_str();
        let bare = |request: &mut Self, set: fn(&mut Self)| {
            if attached.is_empty() {
                set(request);
                Ok(true)
            } else {
                Err(RequestError::Unknown(word.into()))
            }
        };
        let mut value = || {
            if attached.is_empty() {
                next.next().unwrap_or("")
            } else {
                attached
            }
        };
        let number = |text: &str, what: &'static str, least: u64, most: u64| {
            text.parse::<u64>()
                .ok()
                .filter(|number| (least..=most).contains(number))
                .ok_or_else(|| RequestError::Value(letter, text.into(), what))
        };
        match letter {
            't' => return bare(self, |request| request.transmit = true),
            'r' => return bare(self, |request| request.transmit = false),
            'u' => return bare(self, |request| request.udp = true),
            'D' => return bare(self, |request| request.no_delay = true),
            'T' => return bare(self, |request| request.title = true),
            'v' => return bare(self, |request| request.verbose = true),
            'V' => return bare(self, |request| request.version = true),
            '?' | 'h' => return bare(self, |request| request.help = true),
            'i' => return bare(self, |request| request.listen = true),
            'l' => {
                self.length =
                    number(value(), "a number of bytes below 10^9", 1, MAX_NUMBER - 1)? as u32;
                self.given_length = true;
            }
            'n' => {
                self.count =
                    number(value(), "a number of buffers below 10^9", 1, MAX_NUMBER - 1)? as u32;
                self.given_count = true;
            }
            'x' => {
                self.total = Some(number(
                    value(),
                    "a number of bytes below 10^9",
                    1,
                    MAX_NUMBER - 1,
                )?);
            }
            'w' => {
                self.window_kb = Some(number(value(), "a number of kilobytes", 1, 1 << 20)? as u32);
            }
            'g' => self.gap_us = number(value(), "a number of microseconds", 0, MAX_NUMBER)? as u32,
            'p' => self.port = number(value(), "a port between 1 and 65535", 1, 65_535)? as u16,
            'f' => {
                let text = value();
                if columns(text).is_none() || text.len() > 512 {
                    return Err(RequestError::Value(
                        'f',
                        text.into(),
                        "a format, such as %9b%8.2rt",
                    ));
                }
                self.format = text.to_owned();
            }
            'N' => self.number = Some(number(value(), "a number between 1 and 9", 1, 9)? as u8),
            'c' | 's' | 'S' | 'd' | 'R' | 'm' => return Err(RequestError::Absent(letter)),
            _ => return Err(RequestError::Unknown(word.into())),
        }
        self.fit();
        Ok(true)
    }

    /// Makes length and count agree with a fixed total (`-x`).
    fn fit(&mut self) {
        let Some(total) = self.total else { return };
        if self.given_count && !self.given_length {
            self.length = u32::try_from(total.div_ceil(u64::from(self.count)))
                .unwrap_or(1)
                .max(1);
        } else {
            self.count = u32::try_from(total.div_ceil(u64::from(self.length)))
                .unwrap_or(1)
                .max(1);
        }
    }

    /// Payload bytes in all.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = u64::from(self.length).saturating_mul(u64::from(self.count));
        self.total.map_or(all, |total| total.min(all))
    }

    /// Parses a request line, without its line end.
    ///
    /// # Errors
    /// When the line is not a request, or requests something that is not supported.
    pub fn decode(line: &str) -> Result<Self, RequestError> {
        let mut words = line.split('@');
        let name = words.next().unwrap_or("");
        if line.len() > MAX_LINE_BYTES
            || name.is_empty()
            || !name
                .rsplit('/')
                .next()
                .is_some_and(|name| name.contains("ttcp"))
        {
            return Err(RequestError::Line);
        }
        let mut request = Self::default();
        while let Some(word) = words.next() {
            if !request.take(word, &mut words)? {
                return Err(RequestError::Unknown(word.into()));
            }
        }
        Ok(request)
    }

    /// The line that requests the other end's part of this transfer: the opposite role, and the settings both need.
    /// `more` are arguments for the other end alone; `None` when an argument cannot be encoded or the line is too long.
    #[must_use]
    pub fn encode(&self, number: u8, more: &[String]) -> Option<String> {
        let mut line = format!(
            "nttcp@-{}@-l{}@-n{}",
            if self.transmit { 'r' } else { 't' },
            self.length,
            self.count
        );
        if let Some(total) = self.total {
            let _ = write!(line, "@-x{total}");
        }
        if self.udp {
            line += "@-u";
        }
        if self.verbose {
            line += "@-v";
        }
        if self.gap_us > 0 {
            let _ = write!(line, "@-g{}", self.gap_us);
        }
        let _ = write!(line, "@-f@{}", self.format);
        let _ = write!(line, "@-N{number}");
        for word in more {
            line += "@";
            line += word;
        }
        let unsaid =
            self.format.contains(['@', '\n']) || more.iter().any(|word| word.contains(['@', '\n']));
        if unsaid || line.len() > MAX_LINE_BYTES {
            return None;
        }
        line.push('\n');
        Some(line)
    }
}

/// The line with the data port.
#[must_use]
pub fn data_port(port: u16) -> String {
    format!("dataport: {port}\n")
}

/// The data port in a line; `Some(0)` when the other end has none.
#[must_use]
pub fn read_data_port(line: &str) -> Option<u16> {
    let number = line.trim_end().strip_prefix("dataport:")?.trim();
    match number.parse::<i64>() {
        Ok(port) => Some(u16::try_from(port).unwrap_or(0)),
        Err(_) => None,
    }
}

/// The results of one end of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ResultRow {
    /// Bytes in a buffer.
    pub length: u32,
    /// The number of buffers requested.
    pub count: u32,
    /// Payload bytes transferred.
    pub bytes: u64,
    /// Calls of read or write.
    pub calls: u64,
    /// Time, s.
    pub real_s: f64,
    /// Processor time, s.
    pub cpu_s: f64,
}

/// Minimum time in rates, s: shorter ones count as this.
const MIN_S: f64 = 1e-5;

enum FormatPiece<'a> {
    Literal(&'a str),
    Column {
        width: usize,
        decimals: Option<usize>,
        name: &'a str,
    },
}

const COLUMNS: [(&str, &str); 10] = [
    // The longer names come first: a name may be a prefix of another.
    ("rbr", "Real-MBit/s"),
    ("cbr", "CPU-MBit/s"),
    ("rcr", "Real-C/s"),
    ("ccr", "CPU-C/s"),
    ("rt", "Real s"),
    ("ct", "CPU s"),
    ("l", "BufLen"),
    ("n", "BufCnt"),
    ("b", "Bytes"),
    ("c", "Calls"),
];

/// The pieces of a format; `None` when it is invalid.
fn columns(format: &str) -> Option<Vec<FormatPiece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        if at > 0 {
            pieces.push(FormatPiece::Literal(&rest[..at]));
        }
        rest = rest.get(at..)?.strip_prefix('%')?;
        if let Some(after) = rest.strip_prefix('%') {
            pieces.push(FormatPiece::Literal(&rest[..1]));
            rest = after;
            continue;
        }
        let number = |text: &mut &str| {
            let end = text
                .find(|c: char| !c.is_ascii_digit())
                .unwrap_or(text.len());
            let (digits, after) = text.split_at(end);
            *text = after;
            digits.parse::<usize>().ok()
        };
        let width = number(&mut rest).unwrap_or(0).min(MAX_WIDTH);
        let decimals = match rest.strip_prefix('.') {
            Some(after) => {
                rest = after;
                Some(number(&mut rest).unwrap_or(0).min(MAX_WIDTH))
            }
            None => None,
        };
        let (name, _) = COLUMNS.iter().find(|(name, _)| rest.starts_with(name))?;
        pieces.push(FormatPiece::Column {
            width,
            decimals,
            name: &rest[..name.len()],
        });
        rest = &rest[name.len()..];
    }
    if !rest.is_empty() {
        pieces.push(FormatPiece::Literal(rest));
    }
    Some(pieces)
}

/// The row of titles, which begins with a blank; empty for an invalid format.
#[must_use]
pub fn title(format: &str) -> String {
    let mut line = String::from(" ");
    for piece in columns(format).unwrap_or_default() {
        match piece {
            FormatPiece::Literal(text) => line += text,
            FormatPiece::Column { width, name, .. } => {
                let title = COLUMNS
                    .iter()
                    .find(|(known, _)| *known == name)
                    .map_or("", |(_, title)| title);
                let _ = write!(line, "{title:>width$}");
            }
        }
    }
    line
}

impl ResultRow {
    /// The row after `mark`: `l` for this end, the number of the other end.
    #[must_use]
    pub fn show(&self, mark: char, format: &str) -> String {
        let mut line = String::from(mark);
        let (real, cpu) = (self.real_s.max(MIN_S), self.cpu_s.max(MIN_S));
        let megabits = self.bytes as f64 / 125_000.0;
        let calls = self.calls as f64;
        for piece in columns(format).unwrap_or_default() {
            match piece {
                FormatPiece::Literal(text) => line += text,
                FormatPiece::Column {
                    width,
                    decimals,
                    name,
                } => {
                    let whole = match name {
                        "l" => Some(u64::from(self.length)),
                        "n" => Some(u64::from(self.count)),
                        "b" => Some(self.bytes),
                        "c" => Some(self.calls),
                        _ => None,
                    };
                    if let Some(whole) = whole {
                        let _ = write!(line, "{whole:>width$}");
                        continue;
                    }
                    let value = match name {
                        "rt" => real,
                        "ct" => cpu,
                        "rbr" => megabits / real,
                        "cbr" => megabits / cpu,
                        "rcr" => calls / real,
                        _ => calls / cpu,
                    };
                    let decimals = decimals.unwrap_or(6);
                    let _ = write!(line, "{value:>width$.decimals$}");
                }
            }
        }
        line
    }
}

/// The values in a row that the other end has printed; those without a column are absent.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ReportedRow {
    /// Payload bytes transferred.
    pub bytes: Option<u64>,
    /// Calls of read or write.
    pub calls: Option<u64>,
    /// Time, s.
    pub real_s: Option<f64>,
    /// Payload bits per second, in 10^6.
    pub real_mbps: Option<f64>,
}

impl ReportedRow {
    /// Reads a row that was printed in `format`, its mark in front; `None` when it is no such row.
    ///
    /// Columns too narrow for their values touch, so each value is read up to the number of its decimals.
    #[must_use]
    pub fn read(line: &str, format: &str) -> Option<Self> {
        let mut row = Self::default();
        let mark = line.chars().next().filter(char::is_ascii_alphanumeric)?;
        let mut rest = &line[mark.len_utf8()..];
        for piece in columns(format)? {
            match piece {
                FormatPiece::Literal(text) => rest = rest.strip_prefix(text)?,
                FormatPiece::Column { decimals, name, .. } => {
                    let is_whole = matches!(name, "l" | "n" | "b" | "c");
                    let decimals = if is_whole { 0 } else { decimals.unwrap_or(6) };
                    rest = rest.trim_start_matches(' ');
                    let digits = rest
                        .find(|c: char| !c.is_ascii_digit())
                        .unwrap_or(rest.len());
                    let length = if decimals > 0 {
                        digits.saturating_add(1).saturating_add(decimals)
                    } else {
                        digits
                    };
                    let number = rest.get(..length).filter(|_| digits > 0)?;
                    rest = &rest[length..];
                    match name {
                        "b" => row.bytes = Some(number.parse().ok()?),
                        "c" => row.calls = Some(number.parse().ok()?),
                        "rt" => row.real_s = Some(number.parse().ok()?),
                        "rbr" => row.real_mbps = Some(number.parse().ok()?),
                        // Of no interest, but it has to be a number.
                        _ => drop(number.parse::<f64>().ok()?),
                    }
                }
            }
        }
        rest.trim().is_empty().then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// From a transcript of 2004: 100 Mbit/s Ethernet.
    #[test]
    fn rows_look_like_those_of_1_47() {
        assert_eq!(
            title(FORMAT),
            "     Bytes  Real s   CPU s Real-MBit/s  CPU-MBit/s   Calls  Real-C/s   CPU-C/s"
        );
        let local = ResultRow {
            length: 4096,
            count: 2048,
            bytes: 8_388_608,
            calls: 2048,
            real_s: 67.108_864 / 94.9903,
            cpu_s: 67.108_864 / 7457.3690,
        };
        assert_eq!(
            local.show('l', FORMAT),
            "l  8388608    0.71    0.01     94.9903   7457.3690    2048   2898.87  227580.8"
        );
        let remote = ResultRow {
            calls: 5794,
            real_s: 67.108_864 / 93.9984,
            cpu_s: 67.108_864 / 1598.0964,
            ..local
        };
        assert_eq!(
            remote.show('1', FORMAT),
            "1  8388608    0.71    0.04     93.9984   1598.0964    5794   8115.57  137975.4"
        );
        let tenths = ResultRow {
            real_s: 0.71,
            ..local
        };
        assert_eq!(tenths.show('l', "%.4rbr"), "l94.5195");
    }

    #[test]
    fn a_row_is_read_back_even_where_its_columns_touch() {
        let row = ResultRow {
            length: 524_288,
            count: 512,
            bytes: 268_435_456,
            calls: 512,
            real_s: 0.02,
            cpu_s: 0.000_02,
        };
        let line = row.show('1', FORMAT);
        assert!(line.contains("107374.1824107374182.4000"), "{line}");
        let reported = ReportedRow::read(&line, FORMAT).unwrap();
        assert_eq!(
            (reported.bytes, reported.calls),
            (Some(268_435_456), Some(512))
        );
        assert_eq!(
            (reported.real_s, reported.real_mbps),
            (Some(0.02), Some(107_374.182_4))
        );
        let many = ResultRow {
            calls: 65_536,
            ..row
        };
        let line = many.show('1', FORMAT);
        assert!(line.contains("655363276800.00"), "{line}");
        assert_eq!(
            ReportedRow::read(&line, FORMAT),
            None,
            "nobody can part these"
        );
        let some = ReportedRow::read("1 took 0.5 s", " took %.1rt s").unwrap();
        assert_eq!((some.real_s, some.bytes), (Some(0.5), None));
        for strange in ["", "1", "nttcp: cannot", "1 1 2 3 x", "1  8388608    0.71"] {
            assert_eq!(ReportedRow::read(strange, FORMAT), None, "{strange:?}");
        }
    }

    #[test]
    fn a_line_that_asks_turns_the_roles_round() {
        let request = TransferRequest::default();
        let line = request.encode(1, &[]).unwrap();
        assert_eq!(line, format!("nttcp@-r@-l4096@-n2048@-f@{FORMAT}@-N1\n"));
        let reversed = TransferRequest::decode(line.trim_end()).unwrap();
        assert!(!reversed.transmit);
        assert_eq!(
            (reversed.length, reversed.count, reversed.number),
            (4096, 2048, Some(1))
        );
        let mut receiving = TransferRequest::default();
        let words = ["-r", "-u", "-l1000", "-n", "50", "-g10"];
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            assert!(receiving.take(word, &mut words).unwrap());
        }
        let line = receiving.encode(1, &["-w64".to_owned()]).unwrap();
        let reversed = TransferRequest::decode(line.trim_end()).unwrap();
        assert!(reversed.transmit && reversed.udp);
        assert_eq!(
            (reversed.bytes(), reversed.gap_us, reversed.window_kb),
            (50_000, 10, Some(64))
        );
        assert_eq!(
            request.encode(1, &["a@b".to_owned()]),
            None,
            "an @ cannot be said"
        );
    }

    #[test]
    fn a_fixed_total_sets_what_was_not_given() {
        let read = |line: &str| TransferRequest::decode(line).unwrap();
        assert_eq!(read("nttcp@-x10000").count, 3);
        assert_eq!(read("nttcp@-x10000@-l1000").count, 10);
        assert_eq!(read("nttcp@-n4@-x10000").length, 2500);
        assert_eq!(read("nttcp@-x10001@-l1000").bytes(), 10_001);
    }

    #[test]
    fn strange_lines_are_refused_by_name() {
        let cases = [
            ("GET / HTTP/1.0", "words of nttcp"),
            ("nttcp@-q", "-q"),
            ("nttcp@-c", "-c of nttcp is not here"),
            ("nttcp@-mx", "-m"),
            ("nttcp@-l0", "\"0\""),
            ("nttcp@-l4294967295", "4294967295"),
            ("nttcp@-n-1", "-1"),
            ("nttcp@-f@%s%n", "%s%n"),
            ("nttcp@-N42", "42"),
            ("nttcp@word", "word"),
            ("nttcp@-l", "\"\""),
        ];
        for (line, word) in cases {
            let error = TransferRequest::decode(line).unwrap_err().to_string();
            assert!(error.contains(word), "{line}: {error}");
        }
        assert!(TransferRequest::decode(&format!("nttcp{}", "@-u".repeat(600))).is_err());
    }

    #[test]
    fn ports_are_named_and_refused_in_one_line() {
        assert_eq!(data_port(5038), "dataport: 5038\n");
        let cases = [
            ("dataport: 5038\n", Some(5038)),
            ("dataport: -1\n", Some(0)),
            ("dataport: 99999", Some(0)),
            ("dataport: x", None),
            ("hello", None),
        ];
        for (line, expected) in cases {
            assert_eq!(read_data_port(line), expected, "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_line_and_no_format_is_too_strange(line in "\\PC{0,200}", format in "[%0-9.a-z]{0,60}") {
            let _ = TransferRequest::decode(&line);
            let _ = TransferRequest::decode(&format!("nttcp@-f@{format}"));
            let _ = read_data_port(&line);
            let _ = title(&format);
            let shown = ResultRow { bytes: u64::MAX, calls: u64::MAX, ..ResultRow::default() }.show('l', &format);
            prop_assert!(shown.len() < 4096);
            let _ = ReportedRow::read(&line, &format);
        }

        #[test]
        fn a_row_is_read_as_it_was_shown(bytes in 0..=1_000_000_000_u64, calls in 0..=1_000_000_u64, real_s in 1e-3..9999.0) {
            let row = ResultRow { bytes, calls, real_s, cpu_s: real_s, length: 1, count: 1 };
            let format = "%9b%8.2rt%12.4rbr %8c";
            let reported = ReportedRow::read(&row.show('1', format), format).unwrap();
            prop_assert_eq!((reported.bytes, reported.calls), (Some(bytes), Some(calls)));
            prop_assert!((reported.real_s.unwrap() - real_s).abs() <= 0.005 + 1e-9);
            prop_assert!((reported.real_mbps.unwrap() - bytes as f64 / 125e3 / real_s).abs() <= 1e-4);
        }
    }
}
