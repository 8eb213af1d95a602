//! Logs of other tools as kept runs: iperf3 (text, `-J`, `--json-stream`), iperf 2 (text, `-y C`) and nttcp (rows), told
//! apart by what is in them, never by their names.
//!
//! What a log does not say is absent, a hole in its intervals stays one, and what a sender counted is never taken for
//! what arrived. Pure: bytes go in, and any bytes give runs or an error.

mod date;
mod document;
mod iperf2_csv;
mod iperf2_text;
mod iperf3_json;
mod iperf3_text;
mod line;
pub(crate) mod log;
mod nttcp;

use caudal_core::date::rfc3339;
use caudal_core::plan::{Direction, Transport};
use caudal_core::run::{Import, ImportSide, Run, RunHeader, SCHEMA, Tool};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::this_tool;
use log::{Format, Log};
use serde_json::Value;
use sha2::{Digest, Sha256};

/// The largest file that is read.
pub const MOST_BYTES: usize = 64 << 20;

/// The most tests one file may hold, and the most flows one test.
const MOST_RUNS: usize = 10_000;
const MAX_FLOWS: usize = 1024;

/// Why nothing could be imported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Nothing in it.
    #[error("it is empty")]
    Empty,
    /// More than is read at once.
    #[error("it is larger than {} MiB", MOST_BYTES >> 20)]
    TooLarge,
    /// More tests, or flows in a test, than make sense.
    #[error("it holds more than {MOST_RUNS} tests, or more than {MAX_FLOWS} streams in one")]
    TooMany,
    /// Of none of the forms.
    #[error("it is no log of iperf3, iperf or nttcp")]
    Unknown,
    /// Of one of the forms, but broken.
    #[error("it is cut off, or no longer what {tool} wrote: {cause}")]
    Broken {
        /// The tool.
        tool: &'static str,
        /// What the reader of JSON says.
        cause: String,
    },
    /// A log without a measurement.
    #[error("{tool} measured nothing in it{}", said(.cause.as_deref()))]
    Nothing {
        /// The tool.
        tool: &'static str,
        /// What the tool says.
        cause: Option<String>,
    },
}

fn said(cause: Option<&str>) -> String {
    cause.map_or_else(String::new, |cause| format!(": it says {cause:?}"))
}

/// A test out of a log, as it is to be kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Imported {
    /// 32 hexadecimal digits: the same for the same content.
    pub id: String,
    /// `tcp` or `udp`.
    pub kind: String,
    /// When it began, by the log's own date; `None` when it has none.
    pub started_ns: Option<i64>,
    /// The tool and its version, `(imported)` behind them.
    pub tool: String,
    /// The other end.
    pub peer: Option<String>,
    /// A title.
    pub title: Option<String>,
    /// The command line; empty when the log does not have it.
    pub command: String,
    /// `done`, `cut short` or `failed`.
    pub outcome: &'static str,
    /// Payload that arrived per second, of the only direction.
    pub goodput_bps: Option<f64>,
    /// The fraction of datagrams lost, of the only direction.
    pub loss: Option<f64>,
    /// The mean of the smoothed round trips, microseconds.
    pub rtt_us: Option<f64>,
    /// Segments sent again.
    pub retransmits: Option<f64>,
    /// What it is, in a line.
    pub line: String,
    /// The run; its date is set by [`Imported::starting`].
    pub run: Run,
}

impl Imported {
    /// The run with its date: the log's own, or `otherwise` when it has none.
    #[must_use]
    pub fn starting(mut self, otherwise: i64) -> Self {
        let at = self.started_ns.unwrap_or(otherwise).max(0);
        self.started_ns = Some(at);
        self.run.header.started = rfc3339(at.unsigned_abs());
        self
    }
}

/// Reads the tests that a log holds; `name` is the file's, for the record.
///
/// # Errors
///
/// One for a file in which no test is to be found. Tests in which nothing was measured are left out as long as there
/// are others.
pub fn read(text: &[u8], name: &str) -> Result<Vec<Imported>, ImportError> {
    if text.len() > MOST_BYTES {
        return Err(ImportError::TooLarge);
    }
    let digest = Sha256::digest(text);
    let decoded = String::from_utf8_lossy(text);
    let text = decoded.trim_start_matches('\u{feff}');
    if text.trim().is_empty() {
        return Err(ImportError::Empty);
    }
    let logs = logs(text)?;
    let tool = logs.first().map_or("iperf3", |log| log.format.tool());
    let cause = logs.iter().find_map(|log| log.error.clone());
    let counted: Vec<Log> = logs.into_iter().filter(Log::has_counts).collect();
    if counted.is_empty() {
        return Err(ImportError::Nothing { tool, cause });
    }
    if counted.len() > MOST_RUNS || counted.iter().any(|log| log.flows.len() > MAX_FLOWS) {
        return Err(ImportError::TooMany);
    }
    let sha = hex(&digest);
    let runs = counted.into_iter().enumerate();
    Ok(runs
        .map(|(nth, log)| imported(log, name, &sha, nth))
        .collect())
}

/// Reads one object of `iperf3 -J` that the caller has; `None` for one in which nothing was measured.
#[must_use]
pub fn from_iperf3_json(object: &Value, name: &str) -> Option<Imported> {
    let log = iperf3_json::from_iperf3_json(object).filter(Log::has_counts)?;
    let sha = hex(&Sha256::digest(object.to_string()));
    Some(imported(log, name, &sha, 0))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn logs(text: &str) -> Result<Vec<Log>, ImportError> {
    // JSON may stand behind a line of complaint.
    let is_json = |line: &str| {
        let line = line.trim_start();
        line.strip_prefix('{')
            .is_some_and(|rest| rest.trim().is_empty() || rest.trim_start().starts_with('"'))
    };
    let mut lines = text.lines().scan(0, |at, line| {
        let start = *at;
        *at += line.len() + 1;
        Some((start, line))
    });
    if let Some((_, line)) = lines.by_ref().take(64).find(|(_, line)| is_json(line)) {
        let at = line.as_ptr() as usize - text.as_ptr() as usize;
        return objects(&text[at..]);
    }
    let (mut three, mut two, mut csv, mut nttcp) = (0_usize, 0_usize, 0_usize, 0_usize);
    for line in text.lines() {
        let line = line.trim_end();
        three += usize::from(iperf3_text::is_sign(line));
        two += usize::from(iperf2_text::is_sign(line));
        csv += usize::from(iperf2_csv::is_sign(line));
        nttcp += usize::from(nttcp::is_sign(line));
    }
    if three + two + csv + nttcp == 0 {
        // Rows without anything around them: both iperfs print them, the later one with two digits and blanks.
        three = usize::from(text.lines().any(is_bare_row));
    }
    let mut logs = Vec::new();
    if three > 0 && three >= two {
        logs.extend(iperf3_text::read(text));
    } else if two > 0 {
        logs.extend(iperf2_text::read(text));
    }
    if csv > 0 {
        logs.extend(iperf2_csv::read(text));
    }
    if nttcp > 0 {
        logs.extend(nttcp::read(text));
    }
    if logs.is_empty() {
        return Err(ImportError::Unknown);
    }
    Ok(logs)
}

fn is_bare_row(text: &str) -> bool {
    let stretch = line::bracketed(text).and_then(|line| line::stretch(line.rest));
    stretch.is_some_and(|(mut count, rest)| line::amount_and_rate(&mut count, rest).is_some())
}

/// Reads objects after one another, the last of which may be cut off.
fn objects(text: &str) -> Result<Vec<Log>, ImportError> {
    let mut objects: Vec<Value> = Vec::new();
    let mut cause = None;
    let mut rest = text;
    let mut is_cut = false;
    while let Some(at) = rest.find('{') {
        rest = &rest[at..];
        let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                rest = &rest[stream.byte_offset()..];
                objects.push(value);
            }
            Some(Err(error)) => {
                // Old versions print what is no number where there is none, which is no JSON.
                let mended = mend(rest);
                if let Some(value) = mended {
                    is_cut = true;
                    objects.push(value);
                }
                cause.get_or_insert(error.to_string());
                // Another object may begin at the start of a later line.
                match rest.find("\n{") {
                    Some(at) => rest = &rest[at + 1..],
                    None => break,
                }
            }
            None => break,
        }
        if objects.len() > MOST_RUNS && objects.iter().all(|object| object.get("event").is_none()) {
            return Err(ImportError::TooMany);
        }
    }
    let is_stream = objects
        .first()
        .is_some_and(|object| object.get("event").is_some());
    if is_stream {
        objects.retain(|object| object.get("event").is_some());
        objects = iperf3_json::assemble(&objects);
    }
    let mut logs: Vec<Log> = objects
        .iter()
        .filter_map(iperf3_json::from_iperf3_json)
        .collect();
    if is_stream {
        for log in &mut logs {
            log.format = Format::Iperf3Stream;
        }
    }
    if let (true, Some(last)) = (is_cut, logs.last_mut())
        && !last.has_counts()
        && let Some(cause) = cause
    {
        return Err(ImportError::Broken {
            tool: "iperf3",
            cause,
        });
    }
    if logs.is_empty() {
        return Err(
            cause.map_or(ImportError::Unknown, |cause| ImportError::Broken {
                tool: "iperf3",
                cause,
            }),
        );
    }
    Ok(logs)
}

/// The object that text begins with, without what is no number, and closed where it breaks off.
fn mend(text: &str) -> Option<Value> {
    let text = match text.find("\n{") {
        Some(at) => &text[..at],
        None => text,
    };
    let mut mended = String::with_capacity(text.len());
    let (mut stack, mut whole) = (Vec::new(), None);
    let (mut is_in_text, mut is_escaped) = (false, false);
    let mut token = String::new();
    let settle = |token: &mut String, mended: &mut String| {
        match token.as_str() {
            "nan" | "-nan" | "inf" | "-inf" => mended.push_str("null"),
            other => mended.push_str(other),
        }
        token.clear();
    };
    for c in text.chars() {
        if is_in_text {
            mended.push(c);
            (is_in_text, is_escaped) = (is_escaped || c != '"', !is_escaped && c == '\\');
            continue;
        }
        if c.is_ascii_alphanumeric() || "+-.".contains(c) {
            token.push(c);
            continue;
        }
        settle(&mut token, &mut mended);
        match c {
            '"' => is_in_text = true,
            '{' => stack.push('}'),
            '[' => stack.push(']'),
            '}' | ']' => {
                if stack.pop() != Some(c) {
                    return None;
                }
                mended.push(c);
                whole = Some((mended.len(), stack.clone()));
                if stack.is_empty() {
                    break;
                }
                continue;
            }
            _ => {}
        }
        mended.push(c);
        if stack.len() > 100 {
            return None;
        }
    }
    let (end, open) = whole?;
    mended.truncate(end);
    mended.extend(open.into_iter().rev());
    serde_json::from_str(&mended).ok()
}

/// Whose account of a test it is.
struct Account {
    id: String,
    /// What lists show for the tool.
    tool: String,
    /// `tool` of the document.
    named: Tool,
    /// `imported` of the document.
    source: Option<Import>,
    /// The warning where the account does not reach the end of the test.
    cut_short: Warning,
}

fn imported(log: Log, name: &str, sha: &str, nth: usize) -> Imported {
    let version = log
        .version
        .as_ref()
        .map_or_else(String::new, |version| format!(" {version}"));
    let source = Import {
        file: name.to_owned(),
        format: log.format.name().to_owned(),
        at: nth,
        sha256: sha.to_owned(),
        rounded: log.format.is_rounded(),
        side: log.side.map(|side| match side {
            log::Side::Client => ImportSide::Client,
            log::Side::Server => ImportSide::Server,
        }),
    };
    let account = Account {
        id: hex(&Sha256::digest(format!("{sha} {nth}")))[..32].to_owned(),
        tool: format!("{}{version} (imported)", log.format.tool()),
        named: Tool {
            name: log.format.tool().to_owned(),
            version: log.version.clone(),
            compatible_with: None,
        },
        source: Some(source),
        cut_short: Warning::new(
            WarningCode::LogCutShort,
            "the log breaks off before the end of the test",
        ),
    };
    of_log(log, account)
}

/// A test that this program has just made in the ways of another, as it is to be kept under `id`; `None` when nothing
/// was measured in it.
#[must_use]
pub(crate) fn made_here(log: Log, id: &str) -> Option<Imported> {
    if !log.has_counts() {
        return None;
    }
    let this = this_tool(None);
    let tool = log.format.tool();
    let version = this.version.as_deref().unwrap_or_default();
    let account = Account {
        id: id.to_owned(),
        tool: format!("{} {version} (as {tool})", this.name),
        named: Tool {
            compatible_with: Some(tool.to_owned()),
            ..this
        },
        source: None,
        cut_short: Warning::new(WarningCode::CutShort, "the test ended before its time")
            .with_remedy(""),
    };
    let started_ns = log.started_ns.unwrap_or(0);
    let together = both_at_once(&log);
    let mut made = of_log(log, account).starting(started_ns);
    if let Some((goodput, loss)) = together {
        (made.goodput_bps, made.loss) = (goodput, loss);
    }
    Some(made)
}

/// What both directions add up to, goodput and the fraction lost; `None` for one direction, and for two that took turns.
fn both_at_once(log: &Log) -> Option<(Option<f64>, Option<f64>)> {
    let directions = document::directions(log);
    if directions.len() < 2 {
        return None;
    }
    let counts = |direction: Direction| {
        let flows = log.flows.iter();
        let flows = flows.filter(move |flow| flow.direction == direction);
        flows.flat_map(|flow| {
            flow.sender
                .iter()
                .chain(&flow.receiver)
                .chain(&flow.intervals)
        })
    };
    let spans = directions.iter().map(|direction| {
        let starts = counts(*direction).map(|count| count.start_s);
        let ends = counts(*direction).map(|count| count.end_s);
        (
            starts.fold(f64::INFINITY, f64::min),
            ends.fold(0.0, f64::max),
        )
    });
    let (start, end) = spans.reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
    // Turns may touch, where clocks are read a little late.
    if end - start < end / 2.0 {
        return None;
    }
    let totals: Vec<document::Totals> = directions
        .iter()
        .map(|direction| document::totals(log, *direction))
        .collect();
    let goodput = totals.iter().map(|totals| totals.goodput_bps).sum();
    let losses = totals.iter().map(|totals| totals.losses);
    let losses: Option<Vec<(f64, f64)>> = losses.collect();
    let loss = losses.and_then(|losses| {
        let (all, lost) = losses
            .iter()
            .fold((0.0, 0.0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        (all > 0.0).then(|| lost / all)
    });
    Some((goodput, loss))
}

fn of_log(log: Log, account: Account) -> Imported {
    let kind = log.protocol.map_or("tcp", Transport::name);
    let version = log
        .version
        .as_ref()
        .map_or_else(String::new, |version| format!(" {version}"));
    let outcome = match (&log.error, log.is_complete) {
        (Some(_), _) => "failed",
        (None, true) => "done",
        (None, false) => "cut short",
    };
    let directions = document::directions(&log);
    let totals: Vec<_> = directions
        .iter()
        .map(|direction| document::totals(&log, *direction))
        .collect();
    let only = match totals.as_slice() {
        [only] => *only,
        _ => document::Totals::default(),
    };
    let add = |key: fn(&document::Totals) -> Option<f64>| {
        let all: Vec<f64> = totals.iter().filter_map(key).collect();
        (!all.is_empty()).then(|| all.iter().sum::<f64>())
    };
    let mut warnings = Vec::new();
    if let Some(error) = &log.error {
        let message = format!("the tool ended with: {error}");
        warnings.push(Warning::new(WarningCode::ToolFailed, message));
    } else if !log.is_complete {
        warnings.push(account.cut_short);
    }
    if log.protocol.is_none() {
        warnings.push(Warning::new(
            WarningCode::KindAssumed,
            "the log does not show whether this was TCP or UDP: TCP is assumed",
        ));
    }
    let doubts = log.doubts.iter().cloned();
    warnings.extend(doubts.map(|(code, message)| Warning::new(code, message)));
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id: account.id.clone(),
        started: String::new(),
        tool: account.named,
        command: log.command.clone(),
    };
    let run = Run {
        imported: account.source,
        flows: Some(document::flows(&log)),
        summary: Some(document::summary(&log)),
        warnings,
        ..Run::new(header, document::plan(&log))
    };
    let line = line_of(&log, kind, version.trim(), &directions, &totals, outcome);
    Imported {
        id: account.id,
        kind: kind.to_owned(),
        started_ns: log.started_ns,
        tool: account.tool,
        peer: log.peer,
        title: log.title,
        command: log.command.unwrap_or_default(),
        outcome,
        goodput_bps: only.goodput_bps,
        loss: only
            .losses
            .filter(|(all, _)| *all > 0.0)
            .map(|(all, lost)| lost / all),
        rtt_us: only.rtt_us,
        retransmits: add(|totals| totals.retransmits),
        line,
        run,
    }
}

/// `iperf3 3.12, TCP up, 10.0 s, 216 Mbit/s`.
fn line_of(
    log: &Log,
    kind: &str,
    version: &str,
    directions: &[Direction],
    totals: &[document::Totals],
    outcome: &str,
) -> String {
    let mut parts = vec![format!("{} {version}", log.format.tool()).trim().to_owned()];
    let way = match directions {
        [Direction::Up] => "up",
        [Direction::Down] => "down",
        _ => "both ways",
    };
    let flows = log.flows.len() / directions.len().max(1);
    let many = if flows > 1 {
        format!(", {flows} flows")
    } else {
        String::new()
    };
    parts.push(format!("{} {way}{many}", kind.to_uppercase()));
    let seconds = totals
        .iter()
        .map(|totals| totals.measured_s)
        .fold(0.0, f64::max);
    parts.push(format!("{seconds:.1} s"));
    let rate = |bps: f64| BitRate::from_bps(bps.round().clamp(0.0, 1e18) as u64).to_string();
    let rates: Vec<String> = totals
        .iter()
        .map(|totals| match (totals.goodput_bps, totals.sent_bps) {
            (Some(bps), _) => rate(bps),
            (None, Some(bps)) => format!("{} sent", rate(bps)),
            (None, None) => "rate unknown".to_owned(),
        })
        .collect();
    parts.push(rates.join(" and "));
    let lost = totals
        .iter()
        .find_map(|totals| totals.losses)
        .filter(|(all, _)| *all > 0.0);
    if let Some((all, lost)) = lost {
        parts.push(format!("{:.2} % lost", lost / all * 100.0));
    }
    if outcome != "done" {
        parts.push(outcome.to_owned());
    }
    // What a file says must not pass for what the terminal is told.
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    parts.join(", ").chars().map(clean).collect()
}

#[cfg(test)]
mod tests;
