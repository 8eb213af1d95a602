//! The rows of nttcp: `l` for the local side and a digit for each remote side, with the row of titles or without.

use super::line;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use caudal_core::warning::WarningCode;

/// A column, as the title row names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum NttcpColumn {
    Bytes,
    RealSeconds,
    RealMbits,
    Calls,
    BufferLength,
    Other,
}

const TITLES: [(&str, NttcpColumn); 10] = [
    ("BufLen", NttcpColumn::BufferLength),
    ("BufCnt", NttcpColumn::Other),
    ("Bytes", NttcpColumn::Bytes),
    ("Calls", NttcpColumn::Calls),
    ("Real s", NttcpColumn::RealSeconds),
    ("CPU s", NttcpColumn::Other),
    ("Real-MBit/s", NttcpColumn::RealMbits),
    ("CPU-MBit/s", NttcpColumn::Other),
    ("Real-C/s", NttcpColumn::Other),
    ("CPU-C/s", NttcpColumn::Other),
];

/// The columns without `-f`.
const DEFAULT: [NttcpColumn; 8] = [
    NttcpColumn::Bytes,
    NttcpColumn::RealSeconds,
    NttcpColumn::Other,
    NttcpColumn::RealMbits,
    NttcpColumn::Other,
    NttcpColumn::Calls,
    NttcpColumn::Other,
    NttcpColumn::Other,
];

/// `true` for a line that only nttcp prints.
#[must_use]
pub fn is_sign(text: &str) -> bool {
    titles(text).is_some() || row(text, &DEFAULT).is_some()
}

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    let mut logs: Vec<NttcpLogTest> = Vec::new();
    let mut columns: Vec<NttcpColumn> = DEFAULT.to_vec();
    let mut command: Option<String> = None;
    for text in text.lines() {
        if let Some(titled) = titles(text) {
            columns = titled;
        } else if let Some(row) = row(text, &columns) {
            let begins = row.number == 0;
            let is_next = |test: &NttcpLogTest| {
                test.rows
                    .last()
                    .is_some_and(|last| last.number < row.number)
            };
            match logs.last_mut().filter(|test| !begins && is_next(test)) {
                Some(test) => test.rows.push(row),
                None => logs.push(NttcpLogTest {
                    command: command.take(),
                    rows: vec![row],
                }),
            }
        } else if let Some(found) = line::command(text, "nttcp") {
            command = Some(found.to_owned());
        }
    }
    logs.into_iter().map(finish).collect()
}

struct NttcpLogTest {
    command: Option<String>,
    rows: Vec<NttcpLogRow>,
}

#[derive(Clone, Copy)]
struct NttcpLogRow {
    /// 0 for the local side.
    number: u32,
    bytes: f64,
    seconds: f64,
    bps: Option<f64>,
    calls: Option<f64>,
    length: Option<f64>,
}

fn titles(text: &str) -> Option<Vec<NttcpColumn>> {
    let mut rest = text.trim();
    let mut columns = Vec::new();
    while !rest.is_empty() {
        let (title, column) = TITLES.iter().find(|(title, _)| rest.starts_with(title))?;
        columns.push(*column);
        rest = rest[title.len()..].trim_start();
    }
    columns.contains(&NttcpColumn::Bytes).then_some(columns)
}

fn row(text: &str, columns: &[NttcpColumn]) -> Option<NttcpLogRow> {
    let mut words = text.split_whitespace();
    // Old versions print `r` for the remote side.
    let number = match words.next()? {
        "l" => 0,
        "r" => 1,
        digit if digit.len() == 1 => digit.parse().ok().filter(|number| *number > 0)?,
        _ => return None,
    };
    let mut values = Vec::new();
    for word in words {
        let (value, rest) = line::number(word)?;
        if !rest.is_empty() {
            return None;
        }
        values.push(value);
    }
    if values.len() != columns.len() {
        return None;
    }
    let value = |column| {
        let at = columns.iter().position(|found| *found == column)?;
        values.get(at).copied()
    };
    Some(NttcpLogRow {
        number,
        bytes: value(NttcpColumn::Bytes)?,
        seconds: value(NttcpColumn::RealSeconds).unwrap_or(0.0),
        bps: value(NttcpColumn::RealMbits).map(|rate| rate * 1e6),
        calls: value(NttcpColumn::Calls),
        length: value(NttcpColumn::BufferLength),
    })
}

impl NttcpLogRow {
    /// The transport and the number of blocks when the row is that of a sender: each call sends one block, and over UDP three
    /// further calls mark the end.
    fn sends(&self) -> Option<(Transport, f64)> {
        let calls = self.calls.filter(|calls| *calls >= 1.0)?;
        if self.bytes < 1.0 {
            return None;
        }
        if self.bytes % calls == 0.0 {
            return Some((Transport::Tcp, calls));
        }
        (calls > 3.0 && self.bytes % (calls - 3.0) == 0.0).then_some((Transport::Udp, calls - 3.0))
    }

    fn count(&self, datagrams: Option<f64>) -> LogCounts {
        // The rate is printed to more digits than the time, so the length of time follows from it.
        let end_s = self
            .bps
            .filter(|bps| *bps > 0.0)
            .map_or(self.seconds, |bps| self.bytes * 8.0 / bps);
        LogCounts {
            end_s: if end_s < 1e9 { end_s } else { self.seconds },
            bytes: Some(self.bytes),
            bps: self.bps.filter(|bps| *bps > 0.0),
            datagrams,
            ..LogCounts::default()
        }
    }
}

/// Makes the log of a test from its rows and the command before them.
fn finish(test: NttcpLogTest) -> Log {
    let mut log = Log::new(LogFormat::NttcpRows);
    log.side = Some(ImportSide::Client);
    log.is_complete = true;
    let options = test.options();
    log.peer = options
        .iter()
        .skip(1)
        .find(|word| !word.starts_with('-'))
        .map(|host| (*host).to_owned());
    let transmits = test.transmits(&options);
    if transmits.is_none() {
        let what =
            "the rows do not show which side sent: the local side is assumed, the default of nttcp";
        log.warnings
            .push((WarningCode::DirectionAssumed, what.to_owned()));
    }
    let local_sends = transmits.unwrap_or(true);
    let sender = if local_sends {
        test.local()
    } else {
        test.first_remote()
    };
    log.protocol = test.protocol(&options, sender);
    let is_udp = log.protocol == Some(Transport::Udp);
    let datagrams_sent = match (is_udp, sender.and_then(|row| row.calls)) {
        (true, Some(calls)) if calls > 3.0 => Some(calls - 3.0),
        _ => None,
    };
    let blocks = if is_udp {
        datagrams_sent
    } else {
        sender.and_then(NttcpLogRow::sends).map(|(_, calls)| calls)
    };
    log.length = sender.and_then(|row| row.length).or_else(|| {
        let length = sender?.bytes / blocks?;
        (length.fract() == 0.0).then_some(length)
    });
    let datagrams = NttcpDatagrams {
        sent: datagrams_sent,
        length: log.length.filter(|length| is_udp && *length >= 1.0),
    };
    log.flows = test.flows(local_sends, datagrams);
    log.command = test.command;
    log
}

/// The datagrams of a test over UDP; both are `None` over TCP.
#[derive(Clone, Copy)]
struct NttcpDatagrams {
    /// The number sent.
    sent: Option<f64>,
    /// The length that all of them have, bytes.
    length: Option<f64>,
}

impl NttcpDatagrams {
    /// The counts of one end of a flow, from its row.
    fn counts(self, row: &NttcpLogRow, end: Role) -> LogCounts {
        // All datagrams have one length, so the bytes give their number.
        let arrived = self.length.map(|length| row.bytes / length);
        let arrived = arrived.filter(|count| count.fract() == 0.0);
        match (end, self.sent, arrived) {
            (Role::Sender, sent, _) => row.count(sent),
            (Role::Receiver, Some(sent), Some(arrived)) if arrived <= sent => LogCounts {
                lost: Some(sent - arrived),
                ..row.count(Some(sent))
            },
            (Role::Receiver, ..) => row.count(None),
        }
    }
}

impl NttcpLogTest {
    /// The words of the command.
    fn options(&self) -> Vec<&str> {
        let command = self.command.iter();
        command.flat_map(|command| command.split(' ')).collect()
    }

    fn local(&self) -> Option<&NttcpLogRow> {
        self.rows.iter().find(|row| row.number == 0)
    }

    fn remotes(&self) -> impl Iterator<Item = &NttcpLogRow> {
        self.rows.iter().filter(|row| row.number > 0)
    }

    fn first_remote(&self) -> Option<&NttcpLogRow> {
        self.remotes().next()
    }

    /// `true` when the local side counted more bytes than the remote one, `false` when fewer; `None` when as many.
    fn counted_more(&self) -> Option<bool> {
        let (local, remote) = (self.local()?, self.first_remote()?);
        (local.bytes != remote.bytes).then_some(local.bytes > remote.bytes)
    }

    /// `true` when the local side sent, `false` when it received, `None` when nothing shows it. The evidence, best first: the
    /// options; fewer bytes on one side; the number of calls.
    fn transmits(&self, options: &[&str]) -> Option<bool> {
        let by_options = if options.contains(&"-r") {
            Some(false)
        } else {
            (!options.is_empty()).then_some(true)
        };
        let sends = |row: Option<&NttcpLogRow>| row.and_then(NttcpLogRow::sends);
        let by_calls = match (sends(self.local()), sends(self.first_remote())) {
            (Some(_), None) => Some(true),
            (None, Some(_)) => Some(false),
            _ => None,
        };
        by_options.or(self.counted_more()).or(by_calls)
    }

    /// The transport by the options, a loss, or the calls of the sender.
    fn protocol(&self, options: &[&str], sender: Option<&NttcpLogRow>) -> Option<Transport> {
        if options.contains(&"-u") || self.counted_more().is_some() {
            Some(Transport::Udp)
        } else if options.is_empty() {
            sender
                .and_then(NttcpLogRow::sends)
                .map(|(protocol, _)| protocol)
        } else {
            Some(Transport::Tcp)
        }
    }

    /// A flow for each remote row or, without one, for the local row.
    fn flows(&self, local_sends: bool, datagrams: NttcpDatagrams) -> Vec<LogFlow> {
        let (direction, near, far) = if local_sends {
            (Direction::Up, Role::Sender, Role::Receiver)
        } else {
            (Direction::Down, Role::Receiver, Role::Sender)
        };
        let flow = |remote: Option<&NttcpLogRow>| {
            let mut flow = LogFlow::new(direction, near);
            for (end, row) in [(near, self.local()), (far, remote)] {
                if let Some(row) = row {
                    *flow.end_mut(end) = Some(datagrams.counts(row, end));
                }
            }
            flow
        };
        let flows: Vec<LogFlow> = self.remotes().map(|remote| flow(Some(remote))).collect();
        if flows.is_empty() {
            vec![flow(None)]
        } else {
            flows
        }
    }
}
