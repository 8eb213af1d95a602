//! A run as one JSON object, schema `caudal.run/1`: docs/reference/json.md documents every key.

use caudal_core::host::{Host, Usage};
use caudal_core::interval::{Hearsay, Interval};
use caudal_core::plan::{Direction, Plan};
use caudal_core::prediction::Compared;
use caudal_core::sample::{FlowEnd, FlowRecord};
use caudal_core::summary::DirectionSummary;
use caudal_core::warning::Warning;
use caudal_stats::Estimate;
use serde::Serialize;
use serde_json::{Value, json};

/// The name and version of the format.
pub const SCHEMA: &str = "caudal.run/1";

/// The program that measured.
#[derive(Debug, Clone, Serialize)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Its version.
    pub version: &'static str,
}

impl Tool {
    /// This program.
    #[must_use]
    pub const fn this() -> Self {
        Self {
            name: "caudal",
            version: env!("CARGO_PKG_VERSION"),
        }
    }
}

/// What every run begins with, whatever was measured.
#[derive(Debug, Clone, Serialize)]
pub struct Header {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// Names the run: random, 32 hexadecimal digits.
    pub id: String,
    /// When it was started, RFC 3339, UTC.
    pub started: String,
    /// The same, ns since 1970.
    #[serde(skip)]
    pub started_ns: u64,
    /// What measured.
    pub tool: Tool,
    /// What repeats it.
    pub command: String,
}

impl Header {
    /// A header for a run that starts now.
    #[must_use]
    pub fn now() -> Self {
        let started_ns = caudal_sys::clock::realtime_ns();
        Self {
            schema: SCHEMA,
            id: new_id(),
            started: rfc3339(started_ns),
            started_ns,
            tool: Tool::this(),
            command: command_line(),
        }
    }
}

/// A name for a run: random, 32 hexadecimal digits.
#[must_use]
pub fn new_id() -> String {
    let mut id = [0_u8; 16];
    let _ = std::fs::File::open("/dev/urandom")
        .and_then(|mut source| std::io::Read::read_exact(&mut source, &mut id));
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The command line of this program, quoted for a shell.
#[must_use]
pub fn command_line() -> String {
    let words = std::env::args_os().skip(1);
    let words: Vec<String> = words
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    command_of(words.iter().map(String::as_str))
}

/// A command line of this program with these words, quoted for a shell.
#[must_use]
pub fn command_of<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let mut line = "caudal".to_owned();
    for word in words {
        line.push(' ');
        line.push_str(&quoted(word));
    }
    line
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// A moment of the wall clock as RFC 3339 in UTC, to the millisecond.
#[must_use]
pub fn rfc3339(ns: u64) -> String {
    let (seconds, millis) = (ns / 1_000_000_000, ns / 1_000_000 % 1000);
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Civil date from days since 1970-01-01, by counting in eras of 400 years from 0000-03-01.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 {
        month_from_march + 3
    } else {
        month_from_march - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    )
}

/// Both machines.
#[derive(Debug, Clone, Serialize)]
pub struct Environment<'a> {
    /// The side that asked.
    pub client: &'a Host,
    /// The side that answered.
    #[serde(serialize_with = "known")]
    pub server: &'a Host,
}

/// A host that says of itself what it is; of one that cannot, only what is known.
fn known<S: serde::Serializer>(host: &&Host, serializer: S) -> Result<S::Ok, S::Error> {
    if host.kernel.is_empty() {
        json!({"tool": host.tool, "name": host.name}).serialize(serializer)
    } else {
        host.serialize(serializer)
    }
}

/// One flow of a throughput run.
#[derive(Debug, Clone, Serialize)]
pub struct Flow<'a> {
    /// Its number.
    pub id: u32,
    /// Its direction.
    pub direction: Direction,
    /// The sending end; absent when it could not report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender: Option<Value>,
    /// The receiving end; absent when it could not report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receiver: Option<Value>,
    /// What happened over time, by the receiver's clock.
    pub intervals: &'a [Interval],
}

impl<'a> Flow<'a> {
    /// A flow from what both its ends have to say; `foreign` is what the server tells where it is another
    /// program's.
    #[must_use]
    pub fn new(record: &FlowRecord, intervals: &'a [Interval], foreign: Option<Hearsay>) -> Self {
        let server =
            |there: &FlowEnd| foreign.map_or_else(|| own(there, true), |said| told(there, said));
        let client = |here: &FlowEnd| own(here, foreign.is_none());
        let (sender, receiver) = (record.sender.as_ref(), record.receiver.as_ref());
        let (sender, receiver) = match record.flow.direction {
            Direction::Up => (sender.map(client), receiver.map(server)),
            Direction::Down => (sender.map(server), receiver.map(client)),
        };
        Self {
            id: record.flow.id,
            direction: record.flow.direction,
            sender,
            receiver,
            intervals,
        }
    }
}

/// An end that another program speaks for, in the little it can say.
fn told(end: &FlowEnd, hearsay: Hearsay) -> Value {
    use caudal_core::sample::Counters;
    match &end.counters {
        Counters::Sender(counters) if counters.datagrams > 0 => {
            json!({"bytes": counters.bytes, "datagrams": counters.datagrams})
        }
        Counters::Sender(counters) => json!({"bytes": counters.bytes}),
        Counters::Receiver(counters) => {
            let mut value = json!({
                "bytes": counters.bytes,
                "last_byte_s": counters.last_ns as f64 / 1e9,
            });
            if let (Some(sequence), Value::Object(map)) = (&end.sequence, &mut value) {
                map.insert("datagrams".to_owned(), json!(sequence.received));
                map.insert("lost".to_owned(), json!(sequence.lost));
                if hearsay.reordered {
                    map.insert("reordered".to_owned(), json!(sequence.reordered));
                }
                if let Some(delay) = &end.delay {
                    map.insert("delay".to_owned(), json!(delay));
                }
            }
            value
        }
    }
}

/// An end of our own, which keeps the whole account of datagrams where the other is our own too.
fn own(end: &FlowEnd, is_whole: bool) -> Value {
    use caudal_core::sample::Counters;
    let mut value = match &end.counters {
        Counters::Sender(counters) => json!({
            "bytes": counters.bytes,
            "calls": counters.calls,
            "cpu_s": counters.cpu_ns as f64 / 1e9,
            "cpu_wait_s": counters.cpu_wait_ns as f64 / 1e9,
        }),
        Counters::Receiver(counters) => json!({
            "bytes": counters.bytes,
            "calls": counters.calls,
            "cpu_s": counters.cpu_ns as f64 / 1e9,
            "cpu_wait_s": counters.cpu_wait_ns as f64 / 1e9,
            "first_byte_s": counters.first_ns as f64 / 1e9,
            "last_byte_s": counters.last_ns as f64 / 1e9,
        }),
    };
    let mut put = |key: &str, what: Value| {
        if let Value::Object(map) = &mut value {
            map.insert(key.to_owned(), what);
        }
    };
    match &end.counters {
        Counters::Sender(counters) => {
            if let Some(tcp) = &counters.tcp {
                put("tcp", json!(tcp));
            } else {
                put("datagrams", json!(counters.datagrams));
                put("refused", json!(counters.send_errors));
                put("credit_wait_s", json!(counters.credit_wait_ns as f64 / 1e9));
            }
        }
        Counters::Receiver(counters) => {
            if let Some(sequence) = &end.sequence {
                put("datagrams", json!(sequence.received));
                put("lost", json!(sequence.lost));
                put("duplicate", json!(sequence.duplicate));
                put("reordered", json!(sequence.reordered));
                // Counts of which the receiver kept no more than the number have nothing further.
                if is_whole || sequence.reordered == 0 || sequence.reorder_extent_max > 0 {
                    put("reorder_extent_max", json!(sequence.reorder_extent_max));
                    put("three_reordered", json!(sequence.n_reordering));
                }
                put("late", json!(sequence.late));
                put("corrupt", json!(counters.corrupt));
                put("socket_drops", json!(counters.socket_drops));
                if is_whole || sequence.lost == 0 || sequence.loss_runs.count > 0 {
                    put("loss_runs", json!(sequence.loss_runs));
                }
            }
        }
    }
    put("granted", granted(end));
    if let Some(spacing) = &end.spacing {
        put("spacing", json!(spacing));
    }
    if let Some(delay) = &end.delay {
        put("delay", json!(delay));
    }
    if let Some(failure) = &end.failure {
        put("failure", json!(failure));
    }
    value
}

/// What was granted, without what does not apply.
fn granted(end: &FlowEnd) -> Value {
    let mut value = json!(end.granted);
    if let Value::Object(map) = &mut value {
        map.retain(|_, what| !what.is_null());
    }
    value
}

/// What the processors of both ends did.
#[derive(Debug, Clone, Serialize)]
pub struct Cpu<'a> {
    /// The client's machine.
    pub client: &'a Usage,
    /// The server's, when it could report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<&'a Usage>,
}

/// What a throughput run adds up to.
#[derive(Debug, Clone, Serialize)]
pub struct Summary<'a> {
    /// Payload that arrived per second, all directions together.
    pub goodput_bps: Option<Estimate>,
    /// Each direction.
    pub directions: &'a [DirectionSummary],
    /// The idle round-trip time over the control connection before the test: the least seen, µs.
    pub idle_rtt_us: Option<f64>,
    /// How long connecting took, µs.
    pub connect_us: f64,
    /// What the processors did.
    pub cpu: Cpu<'a>,
}

/// A whole throughput run.
#[derive(Debug, Clone, Serialize)]
pub struct Run<'a> {
    /// What every run begins with.
    #[serde(flatten)]
    pub header: &'a Header,
    /// What was done.
    pub plan: Value,
    /// The machines.
    pub environment: Environment<'a>,
    /// Every flow.
    pub flows: Vec<Flow<'a>>,
    /// What it adds up to.
    pub summary: Summary<'a>,
    /// What should have come out, beside what did.
    pub predictions: &'a [Compared],
    /// What to doubt.
    pub warnings: &'a [Warning],
    /// Each repetition's goodput a direction, when there were several.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<Value>,
}

/// The key that tells when traffic began, from ns since 1970.
#[must_use]
pub fn began(ns: u64) -> (String, Value) {
    ("began_s".to_owned(), json!((ns / 1000) as f64 / 1e6))
}

/// The plan with its kind by protocol and the peer's address.
#[must_use]
pub fn plan(plan: &Plan, peer: &str) -> Value {
    let mut value = json!(plan);
    let kind = match plan {
        Plan::Traffic(traffic) => json!(traffic.transport),
        Plan::Echo(_) => json!("rtt"),
    };
    if let Value::Object(map) = &mut value {
        map.insert("kind".to_owned(), kind);
        map.insert("peer".to_owned(), json!(peer));
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_written_in_utc() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400_000_000_000), "2000-02-29T00:00:00.000Z");
        assert_eq!(
            rfc3339(1_795_295_439_123_000_000),
            "2026-11-21T21:10:39.123Z"
        );
    }

    #[test]
    fn words_a_shell_would_split_are_quoted() {
        assert_eq!(quoted("100M"), "100M");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
    }
}
