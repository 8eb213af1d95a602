//! A run as series over time, whoever measured it: what figures, tables and comparisons are made from.
//!
//! Reads documents of schema `caudal.run/1`, ours and imported ones. What a document does not say is absent, never
//! zero; a stretch of time that no interval covers is a hole.

use caudal_experiment::Trial;
use caudal_store::SampleSeries;
use serde_json::Value;

/// Two times closer than this part of an interval are one.
const SLACK: f64 = 0.05;

/// What a flow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Throughput over TCP.
    Tcp,
    /// Datagrams.
    Udp,
    /// Round trips.
    Echo,
}

/// What happened to a flow between two moments.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Slice {
    /// When it begins, seconds.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// Whether it belongs to the warm-up.
    pub omitted: bool,
    /// Payload that arrived, bytes.
    pub bytes: Option<f64>,
    /// The rate that makes, bit/s.
    pub goodput_bps: Option<f64>,
    /// Smoothed round-trip time at its end, seconds.
    pub rtt_s: Option<f64>,
    /// Congestion window at its end, bytes.
    pub cwnd_bytes: Option<f64>,
    /// Segments sent again in it.
    pub retransmits: Option<f64>,
    /// Datagrams that arrived.
    pub datagrams: Option<f64>,
    /// Change in the number of datagrams missing.
    pub lost: Option<f64>,
    /// Datagrams that arrived after a later one.
    pub reordered: Option<f64>,
    /// Smoothed jitter at its end, seconds.
    pub jitter_s: Option<f64>,
}

impl Slice {
    /// The part of its datagrams that went missing; `None` where nothing is known or nothing was under way.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        let (lost, arrived) = (self.lost?, self.datagrams?);
        let sent = lost + arrived;
        (sent > 0.0).then(|| (lost / sent).max(0.0))
    }

    /// The part of its datagrams that came after a later one.
    #[must_use]
    pub fn reordering(&self) -> Option<f64> {
        let arrived = self.datagrams.filter(|arrived| *arrived > 0.0)?;
        Some(self.reordered? / arrived)
    }

    fn length(&self) -> f64 {
        self.end_s - self.start_s
    }
}

/// One connection over time.
#[derive(Debug, Clone, PartialEq)]
pub struct Course {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// Its intervals, ascending, none within another.
    pub slices: Vec<Slice>,
}

impl Course {
    /// A quantity as a line in steps: the value of each interval from its beginning, NaN where a hole begins, and
    /// the last value once more at the end.
    #[must_use]
    pub fn steps(&self, of: impl Fn(&Slice) -> Option<f64>) -> Vec<(f64, f64)> {
        let mut points: Vec<(f64, f64)> = Vec::new();
        for (nth, slice) in self.slices.iter().enumerate() {
            points.push((slice.start_s, of(slice).unwrap_or(f64::NAN)));
            let next = self.slices.get(nth + 1);
            if next.is_none_or(|next| is_hole(slice, next)) {
                points.push((slice.end_s, of(slice).unwrap_or(f64::NAN)));
                if next.is_some() {
                    points.push((slice.end_s, f64::NAN));
                }
            }
        }
        points
    }

    /// A quantity that was read at the end of each interval, with NaN in every hole.
    #[must_use]
    pub fn readings(&self, of: impl Fn(&Slice) -> Option<f64>) -> Vec<(f64, f64)> {
        let mut points = Vec::new();
        for (nth, slice) in self.slices.iter().enumerate() {
            points.push((slice.end_s, of(slice).unwrap_or(f64::NAN)));
            if self
                .slices
                .get(nth + 1)
                .is_some_and(|next| is_hole(slice, next))
            {
                points.push((slice.end_s, f64::NAN));
            }
        }
        points
    }

    /// How many holes it has.
    #[must_use]
    pub fn holes(&self) -> usize {
        self.slices
            .windows(2)
            .filter(|pair| is_hole(&pair[0], &pair[1]))
            .count()
    }

    /// The mean rate between each two edges, bit/s; `None` where a part of that time is not known.
    #[must_use]
    pub fn between(&self, edges: &[f64]) -> Vec<Option<f64>> {
        edges
            .windows(2)
            .map(|pair| {
                let (from, to) = (pair[0], pair[1]);
                let (mut bits, mut known) = (0.0, 0.0);
                for slice in &self.slices {
                    let shared = slice.end_s.min(to) - slice.start_s.max(from);
                    if let (true, Some(rate)) = (shared > 0.0, slice.goodput_bps) {
                        bits += rate * shared;
                        known += shared;
                    }
                }
                (known >= (to - from) * (1.0 - SLACK)).then(|| bits / known)
            })
            .collect()
    }

    /// Its mean rate over the measured intervals, bit/s.
    #[must_use]
    pub fn mean_rate(&self) -> Option<f64> {
        let (mut bits, mut known) = (0.0, 0.0);
        for slice in self.slices.iter().filter(|slice| !slice.omitted) {
            if let Some(rate) = slice.goodput_bps {
                bits += rate * slice.length();
                known += slice.length();
            }
        }
        (known > 0.0).then(|| bits / known)
    }
}

/// Whether time between two intervals is not covered.
fn is_hole(earlier: &Slice, later: &Slice) -> bool {
    later.start_s - earlier.end_s > SLACK * earlier.length().min(later.length()).max(1e-9)
}

/// The round trips of one connection with messages of one size.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RoundTrips {
    /// The flow of the trial, or the connection of the run.
    pub flow: u32,
    /// The connection among those of the flow.
    pub client: u32,
    /// The size of the messages, where it is known.
    pub size_bytes: Option<f64>,
    /// Its first message, which is not among the others, seconds.
    pub first_s: Option<f64>,
    /// When each was due, seconds after the flow began; empty where nobody knows.
    pub at_s: Vec<f64>,
    /// Seconds, in the order they were sent; NaN for a message without a reply.
    pub values_s: Vec<f64>,
}

/// What a size of an echo run came to.
#[derive(Debug, Clone, PartialEq)]
pub struct EchoSize {
    /// Bytes in each message.
    pub size_bytes: f64,
    /// Mean round trip, seconds.
    pub mean_s: f64,
    /// The interval of the mean; absent of a single value.
    pub interval: Option<(f64, f64)>,
    /// Round trips.
    pub n: u64,
    /// The first message of each connection, seconds; it is not among the others.
    pub first_s: Option<f64>,
    /// What theory gives, seconds.
    pub predicted_s: Option<f64>,
    /// Known points of the distribution: share and seconds.
    pub quantiles: Vec<(f64, f64)>,
}

/// A number at a path of keys; `None` where there is none.
#[must_use]
pub fn number(value: &Value, path: &str) -> Option<f64> {
    at(value, path)
        .and_then(Value::as_f64)
        .filter(|number| number.is_finite())
}

/// A text at a path of keys.
#[must_use]
pub fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    at(value, path).and_then(Value::as_str)
}

/// A list at a path of keys; empty where there is none.
#[must_use]
pub fn list<'a>(value: &'a Value, path: &str) -> &'a [Value] {
    at(value, path)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// What is at a path of keys.
#[must_use]
pub fn at<'a>(value: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('.').try_fold(value, |value, key| value.get(key))
}

/// What a run measured.
#[must_use]
pub fn kind(run: &Value) -> Kind {
    match text(run, "plan.kind") {
        Some("udp" | "find-rate") => Kind::Udp,
        Some("rtt") => Kind::Echo,
        _ => Kind::Tcp,
    }
}

/// The connections of a run over time, moved by `offset_s`.
#[must_use]
pub fn courses(run: &Value, offset_s: f64) -> Vec<Course> {
    let kind = kind(run);
    let flows = list(run, "flows");
    let both = flows
        .windows(2)
        .any(|pair| text(&pair[0], "direction") != text(&pair[1], "direction"));
    flows
        .iter()
        .enumerate()
        .filter(|(_, flow)| flow.get("intervals").is_some())
        .map(|(nth, flow)| {
            let number = flow.get("id").and_then(Value::as_u64).unwrap_or(nth as u64);
            let direction = text(flow, "direction").unwrap_or("");
            let name = match (flows.len(), both) {
                (1, _) => transport(kind).to_owned(),
                (2, true) => format!("{} {direction}", transport(kind)),
                (_, true) => format!("#{number} {direction}"),
                _ => format!("#{number}"),
            };
            // A log of the sender alone tells what left, not what arrived.
            let sent = text(flow, "counted_by") == Some("sender");
            let name = if sent {
                format!("{name}, as sent")
            } else {
                name
            };
            Course {
                name,
                kind,
                slices: slices(list(flow, "intervals"), offset_s),
            }
        })
        .collect()
}

const fn transport(kind: Kind) -> &'static str {
    match kind {
        Kind::Tcp => "TCP",
        Kind::Udp => "UDP",
        Kind::Echo => "echo",
    }
}

/// The intervals of a list, without sums over others, and each since the one before.
fn slices(intervals: &[Value], offset_s: f64) -> Vec<Slice> {
    let mut slices: Vec<Slice> = intervals.iter().filter_map(slice).collect();
    slices.sort_by(|a, b| {
        let ends = || a.end_s.total_cmp(&b.end_s);
        a.start_s.total_cmp(&b.start_s).then_with(ends)
    });
    // An interval told twice, as the sum of a single one is.
    slices.dedup_by(|b, a| {
        let slack = SLACK * a.length();
        (a.start_s - b.start_s).abs() <= slack && (a.end_s - b.end_s).abs() <= slack
    });
    let mut slices = if is_cumulative(&slices) {
        differences(&slices)
    } else {
        without_sums(&slices)
    };
    for slice in &mut slices {
        slice.start_s += offset_s;
        slice.end_s += offset_s;
    }
    slices
}

fn slice(interval: &Value) -> Option<Slice> {
    let (start_s, end_s) = (number(interval, "start_s")?, number(interval, "end_s")?);
    if end_s <= start_s {
        return None;
    }
    let either = |inner: &str, key: &str| {
        number(interval, &format!("{inner}.{key}")).or_else(|| number(interval, key))
    };
    let bytes = number(interval, "bytes");
    Some(Slice {
        start_s,
        end_s,
        omitted: interval.get("omitted").and_then(Value::as_bool) == Some(true),
        bytes,
        goodput_bps: number(interval, "goodput_bps")
            .or_else(|| bytes.map(|bytes| bytes * 8.0 / (end_s - start_s)))
            // What the log of a sender tells; the name of its course says so.
            .or_else(|| number(interval, "sent_bps")),
        rtt_s: either("tcp", "rtt_us").map(|us| us / 1e6),
        cwnd_bytes: either("tcp", "cwnd_bytes"),
        retransmits: either("tcp", "retransmits"),
        datagrams: either("udp", "datagrams"),
        lost: either("udp", "lost"),
        reordered: either("udp", "reordered"),
        jitter_s: either("udp", "jitter_rfc3550_us").map(|us| us / 1e6),
    })
}

/// Whether every interval begins where the first does and each ends later: then they count from the start.
fn is_cumulative(sorted: &[Slice]) -> bool {
    sorted.len() > 1
        && sorted.windows(2).all(|pair| {
            let (a, b) = (&pair[0], &pair[1]);
            let slack = SLACK * a.length();
            (a.start_s - b.start_s).abs() <= slack && b.end_s - a.end_s > slack
        })
}

/// What happened between the ends of intervals that all count from the start.
fn differences(cumulative: &[Slice]) -> Vec<Slice> {
    let mut slices: Vec<Slice> = cumulative.iter().take(1).cloned().collect();
    for pair in cumulative.windows(2) {
        let (before, now) = (&pair[0], &pair[1]);
        let grown = |of: fn(&Slice) -> Option<f64>| Some(of(now)? - of(before)?);
        let bytes = grown(|slice| slice.bytes);
        slices.push(Slice {
            start_s: before.end_s,
            bytes,
            goodput_bps: bytes.map(|bytes| (bytes * 8.0 / (now.end_s - before.end_s)).max(0.0)),
            retransmits: grown(|slice| slice.retransmits),
            datagrams: grown(|slice| slice.datagrams),
            lost: grown(|slice| slice.lost),
            reordered: grown(|slice| slice.reordered),
            ..now.clone()
        });
    }
    slices
}

/// The intervals without those that span others, as the closing line of a log does.
fn without_sums(sorted: &[Slice]) -> Vec<Slice> {
    let spans = |outer: &Slice| {
        let slack = SLACK * outer.length();
        let inner = |slice: &&Slice| {
            slice.length() < outer.length() - slack
                && slice.start_s >= outer.start_s - slack
                && slice.end_s <= outer.end_s + slack
        };
        sorted.iter().any(|slice| inner(&slice))
    };
    let typical = median(&sorted.iter().map(Slice::length).collect::<Vec<_>>());
    sorted
        .iter()
        // Only what is longer than most can span several.
        .filter(|slice| {
            typical.is_none_or(|typical| slice.length() < 1.5 * typical) || !spans(slice)
        })
        .cloned()
        .collect()
}

/// The middle value; of two the mean. `None` of none. What is not finite does not count.
#[must_use]
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The value below which the part `part` of the values lies, between neighbours in proportion; `None` of none.
#[must_use]
pub fn quantile(values: &[f64], part: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    sorted.sort_unstable_by(f64::total_cmp);
    let place = part.clamp(0.0, 1.0) * (sorted.len().checked_sub(1)?) as f64;
    let (below, above) = (
        sorted[place.floor() as usize],
        sorted[place.ceil() as usize],
    );
    Some(below + (above - below) * place.fract())
}

/// Each flow of a trial over time: its connections together. A flow that failed has no intervals.
#[must_use]
pub fn of_trial(trial: &Trial) -> Vec<Course> {
    use caudal_experiment::FlowKindFile;
    trial
        .flows
        .iter()
        .filter_map(|flow| {
            let kind = match flow.kind {
                FlowKindFile::Tcp => Kind::Tcp,
                FlowKindFile::Udp => Kind::Udp,
                FlowKindFile::Rtt | FlowKindFile::RttUdp => return None,
            };
            let offset_s = flow.offset_s.unwrap_or(0.0);
            let connections = flow
                .run
                .as_ref()
                .map_or_else(Vec::new, |run| courses(&serde_json::json!(run), offset_s));
            Some(Course {
                name: flow.name.clone(),
                kind,
                slices: together(&connections),
            })
        })
        .collect()
}

/// Several connections as one: rates and counts add up, where all are known.
#[must_use]
pub fn together(connections: &[Course]) -> Vec<Slice> {
    let [first, rest @ ..] = connections else {
        return Vec::new();
    };
    if rest.is_empty() {
        return first.slices.clone();
    }
    let mut slices = first.slices.clone();
    for slice in &mut slices {
        let middle = f64::midpoint(slice.start_s, slice.end_s);
        let edges = [slice.start_s, slice.end_s];
        for other in rest {
            let rate = other.between(&edges)[0];
            let beside = other
                .slices
                .iter()
                .find(|one| one.start_s <= middle && middle <= one.end_s);
            let sum = |mine: Option<f64>, of: fn(&Slice) -> Option<f64>| Some(mine? + of(beside?)?);
            let most =
                |mine: Option<f64>, of: fn(&Slice) -> Option<f64>| Some(mine?.max(of(beside?)?));
            slice.bytes = sum(slice.bytes, |one| one.bytes);
            slice.goodput_bps = slice.goodput_bps.zip(rate).map(|(a, b)| a + b);
            slice.rtt_s = most(slice.rtt_s, |one| one.rtt_s);
            slice.cwnd_bytes = sum(slice.cwnd_bytes, |one| one.cwnd_bytes);
            slice.retransmits = sum(slice.retransmits, |one| one.retransmits);
            slice.datagrams = sum(slice.datagrams, |one| one.datagrams);
            slice.lost = sum(slice.lost, |one| one.lost);
            slice.reordered = sum(slice.reordered, |one| one.reordered);
            slice.jitter_s = most(slice.jitter_s, |one| one.jitter_s);
        }
    }
    slices
}

/// What the sizes of an echo run came to, in the order they were measured.
#[must_use]
pub fn echo_sizes(run: &Value) -> Vec<EchoSize> {
    let us = |value: &Value, path: &str| number(value, path).map(|us| us / 1e6);
    let predicted = |size: f64| {
        list(run, "predictions")
            .iter()
            .find(|one| text(one, "name") == Some(&format!("rtt_{size}")))
            .and_then(|one| number(one, "value"))
    };
    list(run, "summary.sizes")
        .iter()
        .filter_map(|size| {
            let size_bytes = number(size, "size_bytes")?;
            let pooled = size.get("pooled")?;
            let n = number(pooled, "rtt_us.n")? as u64;
            let confident = number(pooled, "mean_us.confidence").is_some_and(|level| level > 0.0);
            let quantiles = [
                ("min", 0.0),
                ("p50", 0.5),
                ("p90", 0.9),
                ("p99", 0.99),
                ("p99_9", 0.999),
                ("max", 1.0),
            ];
            Some(EchoSize {
                size_bytes,
                mean_s: us(pooled, "rtt_us.mean")?,
                interval: us(pooled, "mean_us.low")
                    .zip(us(pooled, "mean_us.high"))
                    .filter(|_| confident),
                n,
                first_s: us(pooled, "first_us"),
                predicted_s: predicted(size_bytes),
                quantiles: quantiles
                    .into_iter()
                    .filter_map(|(key, share)| Some((share, us(pooled, &format!("rtt_us.{key}"))?)))
                    .collect(),
            })
        })
        .collect()
}

/// The raw round trips among kept series, by flow, connection and size.
///
/// A run's are named `rtt 64 B` for each connection and size, with `due 64 B` on a schedule and `first` for each
/// connection; a trial's are all in `rtt`, with `client`, `size` and `at` of each beside it where there are several.
#[must_use]
pub fn round_trips(series: &[SampleSeries]) -> Vec<RoundTrips> {
    let mut all: Vec<RoundTrips> = Vec::new();
    for one in series {
        let Some(rest) = one.name.strip_prefix("rtt") else {
            continue;
        };
        if let Some(size) = rest.strip_prefix(' ') {
            let due = beside(series, one, &format!("due{rest}"));
            all.push(RoundTrips {
                flow: one.flow,
                client: one.flow,
                size_bytes: size.split(' ').next().and_then(|size| size.parse().ok()),
                first_s: None,
                at_s: due.map_or_else(Vec::new, seconds),
                values_s: seconds(one),
            });
        } else if rest.is_empty() {
            all.extend(apart(series, one));
        }
    }
    // The first messages are in the order of the sizes of their connection.
    let flows: std::collections::BTreeSet<u32> = all.iter().map(|one| one.flow).collect();
    for flow in flows {
        let first = series
            .iter()
            .find(|one| one.flow == flow && one.name == "first");
        let mine = || all.iter().filter(|one| one.flow == flow).count();
        let Some(first) = first.filter(|first| first.values.len() == mine()) else {
            continue;
        };
        let mine = all.iter_mut().filter(|one| one.flow == flow);
        for (one, first) in mine.zip(seconds(first)) {
            one.first_s = Some(first).filter(|first| first.is_finite());
        }
    }
    all
}

/// A series of the same flow and as many values.
fn beside<'a>(
    series: &'a [SampleSeries],
    one: &SampleSeries,
    name: &str,
) -> Option<&'a SampleSeries> {
    series.iter().find(|other| {
        other.flow == one.flow && other.name == name && other.values.len() == one.values.len()
    })
}

/// Values in seconds.
fn seconds(series: &SampleSeries) -> Vec<f64> {
    let unit = match series.unit.as_str() {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        _ => 1.0,
    };
    series.values.iter().map(|value| value * unit).collect()
}

/// The round trips of all connections and sizes of a flow, each by itself.
fn apart(series: &[SampleSeries], one: &SampleSeries) -> Vec<RoundTrips> {
    let of = |name: &str| beside(series, one, name);
    let (clients, sizes) = (of("client"), of("size"));
    let at = of("at").map(seconds);
    let mut all: Vec<RoundTrips> = Vec::new();
    for (nth, value) in seconds(one).into_iter().enumerate() {
        let client = clients.map_or(0, |clients| clients.values[nth] as u32);
        let size_bytes = sizes.map(|sizes| sizes.values[nth]);
        let is_same = |known: &RoundTrips| known.client == client && known.size_bytes == size_bytes;
        // Messages of one connection and size lie together, so that the last is the likeliest.
        let place = all.iter().rposition(is_same).unwrap_or_else(|| {
            all.push(RoundTrips {
                flow: one.flow,
                client,
                size_bytes,
                ..RoundTrips::default()
            });
            all.len() - 1
        });
        all[place].values_s.push(value);
        if let Some(at) = &at {
            all[place].at_s.push(at[nth]);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn interval(start: f64, end: f64, bytes: u64) -> Value {
        json!({"start_s": start, "end_s": end, "bytes": bytes, "goodput_bps": bytes as f64 * 8.0 / (end - start)})
    }

    fn run(intervals: &[Value]) -> Value {
        json!({"plan": {"kind": "tcp"}, "flows": [{"id": 0, "direction": "up", "intervals": intervals}]})
    }

    fn rates(course: &Course) -> Vec<(f64, Option<f64>)> {
        let rate = |slice: &Slice| (slice.start_s, slice.goodput_bps);
        course.slices.iter().map(rate).collect()
    }

    #[test]
    fn a_missing_interval_is_a_hole_and_not_a_zero() {
        let run = run(&[
            interval(0.0, 1.0, 125),
            interval(1.0, 2.0, 250),
            interval(3.0, 4.0, 125),
        ]);
        let course = &courses(&run, 0.0)[0];
        assert_eq!(course.holes(), 1);
        let steps = course.steps(|slice| slice.goodput_bps);
        assert_eq!(steps[..3], [(0.0, 1000.0), (1.0, 2000.0), (2.0, 2000.0)]);
        assert!(steps[3].0 == 2.0 && steps[3].1.is_nan());
        assert_eq!(steps[4..], [(3.0, 1000.0), (4.0, 1000.0)]);
        assert_eq!(
            course.between(&[0.0, 2.0, 3.0, 4.0]),
            [Some(1500.0), None, Some(1000.0)]
        );
    }

    #[test]
    fn what_is_not_told_is_absent() {
        let mut one = interval(0.0, 1.0, 125);
        one["tcp"] = json!({"retransmits": 3});
        let course = &courses(&run(&[one]), 0.0)[0];
        assert_eq!(course.slices[0].retransmits, Some(3.0));
        assert_eq!(course.slices[0].cwnd_bytes, None);
        assert_eq!(course.slices[0].loss(), None);
    }

    #[test]
    fn the_closing_line_of_a_log_is_not_an_interval() {
        let run = run(&[
            interval(0.0, 1.0, 125),
            interval(1.0, 2.0, 250),
            interval(2.0, 3.0, 125),
            interval(0.0, 3.0, 500),
        ]);
        let starts: Vec<f64> = rates(&courses(&run, 0.0)[0])
            .iter()
            .map(|one| one.0)
            .collect();
        assert_eq!(starts, [0.0, 1.0, 2.0]);
    }

    #[test]
    fn counts_from_the_start_become_intervals() {
        let run = run(&[
            interval(0.0, 1.0, 125),
            interval(0.0, 2.0, 375),
            interval(0.0, 3.0, 500),
        ]);
        assert_eq!(
            rates(&courses(&run, 10.0)[0]),
            [
                (10.0, Some(1000.0)),
                (11.0, Some(2000.0)),
                (12.0, Some(1000.0))
            ]
        );
    }

    #[test]
    fn connections_add_up_only_where_all_are_known() {
        let one = run(&[interval(0.0, 1.0, 125), interval(1.0, 2.0, 125)]);
        let other = run(&[interval(0.01, 1.0, 250)]);
        let sum = together(&[courses(&one, 0.0).remove(0), courses(&other, 0.0).remove(0)]);
        assert!((sum[0].goodput_bps.unwrap() - 3020.2).abs() < 0.1);
        assert_eq!(sum[1].goodput_bps, None);
    }

    #[test]
    fn imported_counts_stand_beside_the_interval_itself() {
        let mut one = interval(0.0, 1.0, 125);
        one["lost"] = json!(1);
        one["datagrams"] = json!(3);
        let course = &courses(&run(&[one]), 0.0)[0];
        assert_eq!(course.slices[0].loss(), Some(0.25));
    }

    fn series(flow: u32, name: &str, values: &[f64]) -> SampleSeries {
        SampleSeries {
            flow,
            name: name.to_owned(),
            unit: if name.starts_with("at") { "s" } else { "ns" }.to_owned(),
            values: values.to_vec(),
        }
    }

    #[test]
    fn round_trips_are_told_apart_by_connection_and_size() {
        let of_run = [
            series(0, "rtt 1 B", &[1e3, 2e3]),
            series(0, "rtt 64 B", &[3e3]),
            series(1, "rtt 1 B", &[4e3]),
            series(0, "first", &[9e3, 8e3]),
        ];
        let trips = round_trips(&of_run);
        let told: Vec<_> = trips
            .iter()
            .map(|one| (one.client, one.size_bytes, one.first_s))
            .collect();
        assert_eq!(
            told,
            [
                (0, Some(1.0), Some(9e3 * 1e-9)),
                (0, Some(64.0), Some(8e3 * 1e-9)),
                (1, Some(1.0), None)
            ]
        );
        let of_trial = [
            series(2, "rtt", &[1e3, 2e3, 3e3]),
            series(2, "client", &[0.0, 1.0, 0.0]),
            series(2, "size", &[64.0, 64.0, 64.0]),
            series(2, "at", &[0.0, 0.0, 0.5]),
        ];
        let trips = round_trips(&of_trial);
        assert_eq!(trips.len(), 2);
        assert_eq!(
            (trips[0].flow, trips[0].at_s.as_slice()),
            (2, &[0.0, 0.5][..])
        );
    }
}
