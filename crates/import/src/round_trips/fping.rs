//! The output of fping: rows of `-c`, times of `-C`, and its summaries, as text or as JSON (`-J`, an object a line), a test for each host.

use super::log::RoundTripLog;
use crate::line::number;
use crate::log::LogFormat;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::HashMap;

/// Maximum number of hosts of one file.
const MAX_HOSTS: usize = 10_000;
/// Maximum number of round trips of one host.
const MAX_TIMES: usize = 10_000_000;

/// A line of fping.
enum FpingLine<'a> {
    /// A reply or its absence: the number, the size and the time in µs.
    Reply(u64, Option<u32>, Option<f64>),
    /// The times of all, µs.
    Times(Vec<Option<f64>>),
    /// Sent, received, the mean in µs, and what it says of their times.
    Summary(u64, u64, Option<f64>, Option<Cow<'a, str>>),
}

/// `true` for a line that only fping prints.
#[must_use]
pub fn is_sign(text: &str) -> bool {
    parsed(text).is_some()
}

fn parsed(text: &str) -> Option<(Option<f64>, &str, FpingLine<'_>)> {
    let (stamp, text) = match text
        .strip_prefix('[')
        .and_then(|rest| rest.split_once("] "))
    {
        Some((stamp, rest)) => (Some(stamp.parse::<f64>().ok()?), rest),
        None => (None, text),
    };
    let (host, rest) = text.split_once(" : ")?;
    let host = host.trim_end();
    if host.is_empty() || host.contains(char::is_whitespace) {
        return None;
    }
    let rest = rest.trim();
    Some((
        stamp,
        host,
        row(rest)
            .or_else(|| summary(rest))
            .or_else(|| times(rest))?,
    ))
}

/// `[0], 64 bytes, 0.022 ms (0.022 avg, 0% loss)` or `[1], timed out (NaN avg, 100% loss)`.
fn row(text: &str) -> Option<FpingLine<'_>> {
    let (sequence, rest) = text.strip_prefix('[')?.split_once("], ")?;
    let sequence = sequence.trim().parse().ok()?;
    if rest.starts_with("timed out") {
        return Some(FpingLine::Reply(sequence, None, None));
    }
    let (size, rest) = number(rest)?;
    let rest = rest.trim_start().strip_prefix("bytes, ")?;
    let (ms, rest) = number(rest)?;
    rest.trim_start().starts_with("ms").then_some(())?;
    // The size counts the header of ICMP.
    let payload = (size as u32).saturating_sub(8);
    Some(FpingLine::Reply(sequence, Some(payload), Some(ms * 1e3)))
}

/// `xmt/rcv/%loss = 5/5/0%, min/avg/max = 0.022/0.042/0.054`.
fn summary(text: &str) -> Option<FpingLine<'_>> {
    let rest = text.strip_prefix("xmt/rcv/%loss = ")?;
    let mut counts = rest.split('/').map(|count| count.parse::<u64>().ok());
    let (sent, received) = (counts.next()??, counts.next()??);
    let times = rest.split_once(", min/avg/max = ").map(|(_, times)| times);
    let mean_us = times.and_then(|times| Some(number(times.split('/').nth(1)?)?.0 * 1e3));
    Some(FpingLine::Summary(
        sent,
        received,
        mean_us,
        times.map(Cow::from),
    ))
}

/// `true` for the objects of `fping -J`.
#[must_use]
pub fn are_of_fping(objects: &[Value]) -> bool {
    objects
        .first()
        .is_some_and(|first| from_object(first).is_some() || first.get("intSum").is_some())
}

/// The host and the line that an object stands for; `None` for one that says nothing of a single host.
fn from_object(object: &Value) -> Option<(&str, FpingLine<'_>)> {
    let (kind, fields) = object.as_object()?.iter().next()?;
    let host = fields
        .get("host")?
        .as_str()
        .filter(|host| !host.is_empty())?;
    let whole = |name: &str| fields.get(name).and_then(Value::as_u64);
    let ms = |name: &str| fields.get(name).and_then(Value::as_f64);
    let line = match kind.as_str() {
        "resp" => {
            let size = whole("size").and_then(|size| u32::try_from(size).ok());
            let payload = size.map(|size| size.saturating_sub(8));
            FpingLine::Reply(whole("seq")?, payload, Some(ms("rtt")? * 1e3))
        }
        "timeout" => FpingLine::Reply(whole("seq")?, None, None),
        "vSum" => {
            let values = fields.get("values")?.as_array()?;
            let values = Some(values).filter(|values| values.len() <= MAX_TIMES)?;
            let times = values.iter().map(|value| value.as_f64().map(|ms| ms * 1e3));
            FpingLine::Times(times.collect())
        }
        "summary" => {
            let times = ["rttMin", "rttAvg", "rttMax"].map(ms);
            let shown = match times {
                [Some(min), Some(mean), Some(max)] => Some(format!("{min}/{mean}/{max}").into()),
                _ => None,
            };
            let mean_us = times[1].map(|mean| mean * 1e3);
            FpingLine::Summary(whole("xmt")?, whole("rcv")?, mean_us, shown)
        }
        _ => return None,
    };
    Some((host, line))
}

/// The tests of the objects of `fping -J`, in the order of their hosts.
#[must_use]
pub fn from_objects(objects: &[Value]) -> Vec<RoundTripLog> {
    let mut hosts = FpingHosts::default();
    for (host, line) in objects.iter().filter_map(from_object) {
        hosts.take(None, host, &line);
    }
    hosts.finish()
}

/// `0.023 - 0.043`: what `-C` prints.
fn times(text: &str) -> Option<FpingLine<'_>> {
    let time = |word: &str| match word {
        "-" => Some(None),
        _ => {
            let (ms, rest) = number(word)?;
            (rest.is_empty() && word.contains('.')).then_some(Some(ms * 1e3))
        }
    };
    let all: Option<Vec<Option<f64>>> = text.split_whitespace().map(time).collect();
    let all = all.filter(|all| !all.is_empty() && all.len() <= MAX_TIMES)?;
    Some(FpingLine::Times(all))
}

struct FpingHost {
    log: RoundTripLog,
    highest: Option<u64>,
    has_counts: bool,
    stamps: Option<(f64, f64)>,
}

/// Parses the tests of a text, in the order of their hosts.
#[must_use]
pub fn read(text: &str) -> Vec<RoundTripLog> {
    let mut hosts = FpingHosts::default();
    for (stamp, host, line) in text.lines().filter_map(|line| parsed(line.trim_end())) {
        hosts.take(stamp, host, &line);
    }
    hosts.finish()
}

/// The hosts of a file, in the order of their first lines.
#[derive(Default)]
struct FpingHosts {
    hosts: Vec<FpingHost>,
    /// Where the newest test of each host is.
    newest: HashMap<String, usize>,
}

impl FpingHosts {
    fn take(&mut self, stamp: Option<f64>, host: &str, line: &FpingLine<'_>) {
        let hosts = &mut self.hosts;
        let known = self.newest.get(host).copied();
        // Rows after a summary are those of the next test of this host.
        let known = known.filter(|at| !hosts[*at].has_counts);
        let at = match known {
            Some(at) => at,
            None if hosts.len() < MAX_HOSTS => {
                hosts.push(FpingHost::new(host));
                self.newest.insert(host.to_owned(), hosts.len() - 1);
                hosts.len() - 1
            }
            None => return,
        };
        hosts[at].take(line);
        if let Some(stamp) = stamp {
            let first = hosts[at].stamps.map_or(stamp, |(first, _)| first);
            hosts[at].stamps = Some((first, stamp));
        }
    }

    fn finish(self) -> Vec<RoundTripLog> {
        self.hosts.into_iter().map(FpingHost::finish).collect()
    }
}

impl FpingHost {
    fn new(host: &str) -> Self {
        let mut log = RoundTripLog::new(LogFormat::FpingText);
        log.head.peer = Some(host.to_owned());
        Self {
            log,
            highest: None,
            has_counts: false,
            stamps: None,
        }
    }

    fn take(&mut self, line: &FpingLine<'_>) {
        let log = &mut self.log;
        match line {
            FpingLine::Reply(sequence, size, us) => {
                self.highest = self.highest.max(Some(*sequence));
                log.size_bytes = log.size_bytes.or(*size);
                log.times_us
                    .extend(us.filter(|_| log.times_us.len() < MAX_TIMES));
            }
            FpingLine::Times(all) => {
                self.has_counts = true;
                log.times_us = all.iter().copied().flatten().collect();
                log.sent = all.len() as u64;
                log.lost = log.sent - log.times_us.len() as u64;
            }
            FpingLine::Summary(sent, received, mean_us, times) => {
                self.has_counts = true;
                (log.sent, log.lost) = (*sent, sent.saturating_sub(*received));
                if let (true, Some(mean_us), Some(times)) =
                    (log.times_us.is_empty(), mean_us, times)
                {
                    log.mean_us = Some(*mean_us);
                    log.left_out = vec![format!(
                        "min/avg/max = {times} ms (but for the mean: single replies are not in it)"
                    )];
                }
            }
        }
    }

    fn finish(mut self) -> RoundTripLog {
        if !self.has_counts {
            let replies = self.log.times_us.len() as u64;
            let numbered = self.highest.map_or(0, |highest| highest.saturating_add(1));
            self.log.sent = numbered.max(replies);
            self.log.lost = self.log.sent - replies;
        }
        if let Some((first, last)) = self.stamps {
            self.log.head.started_ns = Some((first * 1e9) as i64);
            self.log.elapsed_s = Some(last - first);
        }
        self.log.finished()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// fping 5.1.
    const ROWS: &str = "\
192.0.2.1 : [0], 64 bytes, 0.022 ms (0.022 avg, 0% loss)
192.0.2.2 : [0], 64 bytes, 0.031 ms (0.031 avg, 0% loss)
192.0.2.1 : [1], timed out (0.022 avg, 50% loss)
192.0.2.2 : [1], 64 bytes, 0.035 ms (0.033 avg, 0% loss)

192.0.2.1 : xmt/rcv/%loss = 2/1/50%, min/avg/max = 0.022/0.022/0.022
192.0.2.2 : xmt/rcv/%loss = 2/2/0%, min/avg/max = 0.031/0.033/0.035
";

    #[test]
    fn each_host_is_a_test() {
        let logs = read(ROWS);
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.times_us.as_slice(), log.sent, log.lost, log.size_bytes))
            .collect();
        assert_eq!(
            found,
            [
                (&[22.0][..], 2, 1, Some(56)),
                (&[31.0, 35.0][..], 2, 0, Some(56))
            ]
        );
        let rows: String = ROWS
            .lines()
            .take(4)
            .map(|line| format!("{line}\n"))
            .collect();
        let cut = read(&rows);
        assert_eq!((cut[0].sent, cut[0].lost), (2, 1));
        // Summaries are written to standard error, and may be elsewhere.
        assert!(cut[0].head.is_complete);
    }

    #[test]
    fn times_in_a_row_have_a_dash_for_what_is_lost() {
        let logs = read("192.0.2.1 : 0.023 - 0.043\n192.0.2.2 : - - -\n");
        assert_eq!((logs[0].sent, logs[0].lost), (3, 1));
        assert_eq!(logs[0].times_us, [23.0, 43.0]);
        assert_eq!((logs[1].sent, logs[1].lost), (3, 3));
    }

    #[test]
    fn a_summary_alone_has_the_mean() {
        let logs = read("a.example : xmt/rcv/%loss = 5/5/0%, min/avg/max = 1.0/2.5/4.0\n");
        assert_eq!(logs[0].mean_us, Some(2500.0));
        assert!(logs[0].head.warnings[0].1.contains("1.0/2.5/4.0"));
    }

    #[test]
    fn objects_are_read_as_rows_are() {
        // By fping's description of its output, version 5.5.
        let objects: Vec<Value> = [
            r#"{"resp": {"host": "192.0.2.1", "seq": 0, "size": 64, "rtt": 5.12}}"#,
            r#"{"resp": {"host": "192.0.2.2", "seq": 0, "size": 64, "rtt": 7.5, "ttl": 60}}"#,
            r#"{"timeout": {"host": "192.0.2.1", "seq": 1}}"#,
            r#"{"unknown": {"host": "192.0.2.1"}}"#,
            r#"{"summary": {"host": "192.0.2.1", "xmt": 2, "rcv": 1, "loss": 50, "rttMin": 5.12, "rttAvg": 5.12, "rttMax": 5.12}}"#,
            r#"{"vSum": {"host": "192.0.2.2", "values": [7.5, null, 8.5]}}"#,
            r#"{"summary": {"host": "192.0.2.3", "xmt": 5, "rcv": 5, "loss": 0, "rttMin": 1.0, "rttAvg": 2.5, "rttMax": 4.0}}"#,
            r#"{"stats": {"targets": 3, "elapsed": 5.012}}"#,
        ]
        .iter()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
        assert!(are_of_fping(&objects));
        let logs = from_objects(&objects);
        let found: Vec<_> = logs
            .iter()
            .map(|log| (log.times_us.as_slice(), log.sent, log.lost, log.size_bytes))
            .collect();
        assert_eq!(
            found,
            [
                (&[5120.0][..], 2, 1, Some(56)),
                (&[7500.0, 8500.0][..], 3, 1, Some(56)),
                (&[][..], 5, 0, None),
            ]
        );
        assert_eq!(logs[2].mean_us, Some(2500.0));
        for other in [r#"{"start": {"host": 5}}"#, r#"{"resp": {"seq": 0}}"#, "[]"] {
            assert!(
                !are_of_fping(&[serde_json::from_str(other).unwrap()]),
                "{other}"
            );
        }
    }

    #[test]
    fn other_lines_are_not_those_of_fping() {
        for line in [
            "a : b",
            "Linux 6.1 : 5",
            "x y : 1.0",
            "[  5] local : 1.0",
            "a.example is alive",
        ] {
            assert!(!is_sign(line), "{line}");
        }
    }
}
