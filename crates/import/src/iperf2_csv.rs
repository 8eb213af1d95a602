//! `iperf -y C`: a row for each interval, nine columns, or fourteen with datagrams.

use super::date;
use super::line;
use super::log::{Log, LogCounts, LogFlow, LogFormat};
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide;
use caudal_core::sample::Role;
use caudal_core::warning::WarningCode;

/// Maximum number of tests that are open for further rows, and of streams in one.
const MAX_AT_ONCE: usize = 16;
const MAX_STREAMS: usize = 128;

/// A row.
struct Iperf2CsvRow<'a> {
    at_ns: Option<i64>,
    ends: [(&'a str, u16); 2],
    id: i64,
    count: LogCounts,
    has_losses: bool,
}

/// `true` for a row.
#[must_use]
pub fn is_sign(line: &str) -> bool {
    row(line).is_some()
}

/// Parses the tests of a text.
#[must_use]
pub fn read(text: &str) -> Vec<Log> {
    let mut tests: Vec<Iperf2CsvTest> = Vec::new();
    for row in text.lines().filter_map(row) {
        if row.id < 0 {
            continue;
        }
        let known = tests
            .iter_mut()
            .rev()
            .take(MAX_AT_ONCE)
            .find(|test| test.takes(&row));
        match known {
            Some(test) => test.take(&row),
            None => {
                let mut test = Iperf2CsvTest::new(&row);
                test.take(&row);
                tests.push(test);
            }
        }
    }
    tests.into_iter().map(Iperf2CsvTest::finish).collect()
}

fn row(line: &str) -> Option<Iperf2CsvRow<'_>> {
    let cells: Vec<&str> = line.trim().split(',').map(str::trim).collect();
    let (
        &[
            at,
            local,
            local_port,
            remote,
            remote_port,
            id,
            time,
            bytes,
            bps,
        ],
        losses,
    ) = cells.split_first_chunk::<9>()?;
    if at.len() < 14 || !at.as_bytes()[..14].iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (start, end) = time.split_once('-')?;
    let whole = |text: &str| {
        let (value, rest) = line::number(text)?;
        rest.is_empty().then_some(value)
    };
    let mut count = LogCounts {
        start_s: whole(start)?,
        end_s: whole(end.trim())?,
        bytes: Some(whole(bytes)?),
        bps: Some(whole(bps)?),
        ..LogCounts::default()
    };
    if !(count.end_s >= count.start_s && count.end_s < 1e9) {
        return None;
    }
    let has_losses = losses.len() >= 5;
    if let [jitter, lost, total, _, reordered, ..] = losses {
        count.jitter_ms = whole(jitter);
        (count.lost, count.datagrams) = (whole(lost), whole(total));
        count.reordered = whole(reordered);
    }
    Some(Iperf2CsvRow {
        at_ns: date::digits(at),
        ends: [
            (local, local_port.parse().ok()?),
            (remote, remote_port.parse().ok()?),
        ],
        id: id.parse().ok()?,
        count,
        has_losses,
    })
}

/// A test being read.
struct Iperf2CsvTest {
    hosts: [String; 2],
    streams: Vec<Iperf2CsvStream>,
    start_ns: Option<i64>,
}

struct Iperf2CsvStream {
    ports: [u16; 2],
    id: i64,
    rows: Vec<LogCounts>,
    total: Option<LogCounts>,
    report: Option<LogCounts>,
    has_losses: bool,
}

impl Iperf2CsvTest {
    fn new(row: &Iperf2CsvRow<'_>) -> Self {
        Self {
            hosts: row.ends.map(|(host, _)| host.to_owned()),
            streams: Vec::new(),
            start_ns: None,
        }
    }

    /// The start of the test of a row.
    fn start(row: &Iperf2CsvRow<'_>) -> Option<i64> {
        row.at_ns.map(|at| at - (row.count.end_s * 1e9) as i64)
    }

    /// `true` when a row belongs to this test: to one of its streams, or to one that began when they did.
    fn takes(&self, row: &Iperf2CsvRow<'_>) -> bool {
        if self.hosts != row.ends.map(|(host, _)| host.to_owned()) {
            return false;
        }
        let ports = row.ends.map(|(_, port)| port);
        let known = self
            .streams
            .iter()
            .find(|stream| (stream.ports, stream.id) == (ports, row.id));
        match (known, self.start_ns, Self::start(row)) {
            (Some(stream), ..) => {
                stream.total.is_none() || row.has_losses && stream.report.is_none()
            }
            (None, Some(ours), Some(its)) => {
                // The time of a row is that of its end, in whole seconds.
                let apart = (ours - its).abs() as f64 / 1e9;
                self.streams.len() < MAX_STREAMS
                    && self.streams.iter().any(|stream| stream.total.is_none())
                    && apart <= 1.0
                    && apart <= row.count.end_s / 2.0
            }
            // Versions that lose the time print their rows together.
            (None, None, None) => self.streams.len() < MAX_STREAMS,
            (None, ..) => false,
        }
    }

    fn take(&mut self, row: &Iperf2CsvRow<'_>) {
        self.start_ns = self.start_ns.or_else(|| Self::start(row));
        let ports = row.ends.map(|(_, port)| port);
        let at = self
            .streams
            .iter()
            .position(|stream| (stream.ports, stream.id) == (ports, row.id));
        let at = at.unwrap_or_else(|| {
            self.streams.push(Iperf2CsvStream {
                ports,
                id: row.id,
                rows: Vec::new(),
                total: None,
                report: None,
                has_losses: row.has_losses,
            });
            self.streams.len() - 1
        });
        let stream = &mut self.streams[at];
        if stream.total.is_some() || row.has_losses && !stream.has_losses {
            // The server's report: rows of the client's own have no losses in these versions.
            if stream.total.is_none() && stream.rows.len() == 1 {
                stream.total = stream.rows.pop();
            }
            stream.report = Some(row.count);
        } else if row.count.start_s == 0.0 && !stream.rows.is_empty() {
            stream.total = Some(row.count);
        } else {
            stream.rows.push(row.count);
        }
    }

    fn finish(self) -> Log {
        let mut log = Log::new(LogFormat::Iperf2Csv);
        log.started_ns = self.start_ns;
        log.is_complete = true;
        let udp = self
            .streams
            .iter()
            .any(|stream| stream.has_losses || stream.report.is_some());
        if udp {
            log.protocol = Some(Transport::Udp);
        } else {
            log.protocol = Some(Transport::Tcp);
        }
        let rows = || {
            let all = self.streams.iter();
            all.flat_map(|stream| stream.rows.iter().chain(&stream.total))
        };
        // Old versions have the own side first: that of a server listens on the port both tools are known by.
        let listens = self
            .streams
            .iter()
            .all(|stream| stream.ports[0] == 5001 && stream.ports[1] != 5001);
        let has_jitter = rows().any(|count| count.jitter_ms.is_some_and(|jitter| jitter > 0.0));
        let reported = self.streams.iter().any(|stream| stream.report.is_some());
        let lost_count = udp && rows().any(|count| count.datagrams.is_none());
        let side = if listens || has_jitter {
            Some(ImportSide::Server)
        } else if reported || lost_count {
            Some(ImportSide::Client)
        } else {
            None
        };
        log.side = side;
        let end = if side == Some(ImportSide::Server) {
            Role::Receiver
        } else {
            Role::Sender
        };
        if side.is_none() {
            let what = "the rows do not show which side wrote them: they are taken as counts of the sender";
            log.warnings
                .push((WarningCode::SideUnknown, what.to_owned()));
        }
        log.peer = match side {
            Some(ImportSide::Server) if !listens => self.hosts.first().cloned(),
            Some(ImportSide::Server) => self.hosts.get(1).cloned(),
            _ => {
                let port = self.streams.first().map_or(0, |stream| stream.ports[1]);
                let host = self.hosts.get(1);
                host.map(|host| line::with_port(host, port))
            }
        };
        for mut stream in self.streams {
            if stream.total.is_none() && stream.rows.len() == 1 {
                stream.total = stream.rows.pop();
            }
            log.is_complete &= stream.total.is_some();
            let mut flow = LogFlow::new(Direction::Up, end);
            // The loss that a sender prints is not counted by the receiver.
            let known = |count: LogCounts| match end {
                Role::Sender => LogCounts {
                    lost: None,
                    jitter_ms: None,
                    reordered: None,
                    ..count
                },
                Role::Receiver => count,
            };
            flow.intervals = stream.rows.into_iter().map(known).collect();
            *flow.end_mut(end) = stream.total.map(known);
            if end == Role::Sender {
                flow.receiver = stream.report;
            }
            log.flows.push(flow);
        }
        log
    }
}
