//! The closing block of a round-trip test.

use super::outliers::{outlier_lines, slowest_line};
use crate::text::{counted, fold, percent, time_us};
use crate::width::LineWidth;
use caudal_analysis::link::link_rate;
use caudal_core::echo::{KernelSplit, OneWaySummary, ReplySummary, SizeSummary};
use caudal_core::episode::Episode;
use caudal_core::loss::RefusedSends;
use caudal_core::marks::MarkReport;
use caudal_core::plan::{Direction, EchoSchedule};
use caudal_core::prediction::{PredictionCheck, RelativeDifference};
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::run::{RoundTripSummary, Run};
use caudal_core::text::ExternalText;
use caudal_stats::{DistributionSummary, Estimate, IntervalMethod};

/// Maximum number of sizes the closing block shows one by one; of more it shows the first and the last.
const MAX_SIZES: usize = 4;
/// Maximum number of sizes named that took other times than predicted.
const MAX_FAILED: usize = 3;
/// The closing block of a round-trip test.
#[derive(Debug, Clone, Copy)]
pub struct Closing<'a> {
    /// The run.
    pub run: &'a Run,
    /// Its summary.
    pub summary: &'a RoundTripSummary,
}

impl Closing<'_> {
    /// The lines of the block: of one size its times, what was lost, and where the time was spent.
    #[must_use]
    pub fn lines(&self, width: LineWidth) -> Vec<String> {
        let mut lines = Vec::new();
        let mut push = |text: String| lines.push(fold(&text, 4, width));
        match self.summary.sizes.as_slice() {
            [only] => push(self.times(only)),
            _ => {
                for size in self.shown_sizes() {
                    push(self.mean(size));
                }
            }
        }
        push(self.brief_losses());
        self.marks(&mut push, |marks| marks.changes().is_empty());
        self.refused(&mut push);
        if let [only] = self.summary.sizes.as_slice() {
            self.place(&only.pooled, &mut push);
        }
        // What was predicted and did not come is worth a line, and why nothing can be where a test seems to be of another path.
        let environment = self.run.environment.as_ref();
        let is_proxied = environment.is_some_and(|all| all.tcp_proxy.is_some());
        if is_proxied || self.run.predictions().iter().any(|one| !one.holds) {
            self.predictions(&mut push);
        }
        lines
    }

    /// The marks of both ways, where there is something to say of them and they are `told` here: changes are warnings too.
    fn marks(&self, push: &mut impl FnMut(String), told: impl Fn(&MarkReport) -> bool) {
        let ways = [
            ("upload", &self.summary.marks_up),
            ("download", &self.summary.marks_down),
        ];
        for (name, marks) in ways {
            let marks = marks
                .iter()
                .filter(|marks| marks.is_notable() && told(marks));
            marks.for_each(|marks| push(format!("marks, {name}: {}", marks.sentence())));
        }
    }

    /// The times of a size in a line, in one unit but for the mean, which has the digits of its interval.
    fn times(&self, size: &SizeSummary) -> String {
        let part = self.part_of_test(&size.pooled);
        times_of_part(&size.pooled, &part).unwrap_or_else(|| self.mean(size))
    }

    /// The part of the test that the mean is of, where it is not all of it.
    fn part_of_test(&self, replies: &ReplySummary) -> String {
        let silence = self.run.episodes.iter().find(|one| one.is_open());
        let level = replies.level.map_or_else(String::new, |level| {
            format!(" from {:.1} to {:.1} s", level.from_s, level.to_s)
        });
        match (replies.delayed, silence) {
            (Some(delayed), _) => format!("{level} without {delayed} messages in delay episodes"),
            (None, Some(silence)) => format!("{level} until {:.1} s only", silence.from_s),
            (None, None) => level,
        }
    }

    /// The mean of one of several sizes.
    fn mean(&self, size: &SizeSummary) -> String {
        let replies = &size.pooled;
        let bytes = size.size_bytes;
        match (&replies.rtt_us, replies.mean_us) {
            (Some(rtt), usual) => {
                let usual = usual.unwrap_or(rtt.mean_estimate());
                let part = self.part_of_test(replies);
                format!(
                    "{bytes} B: {} on average{part}",
                    mean_with_interval(&usual, rtt)
                )
            }
            // A log of another tool may have a summary alone.
            (None, Some(mean)) => format!(
                "{bytes} B: {} on average; single replies are not known",
                time_us(mean.mean)
            ),
            (None, None) => format!("{bytes} B: no reply came in time"),
        }
    }

    /// What was lost, in a line.
    fn brief_losses(&self) -> String {
        let sum = |of: fn(&ReplySummary) -> u64| {
            let sizes = self.summary.sizes.iter();
            sizes.map(|size| of(&size.pooled)).sum::<u64>()
        };
        let (sent, lost) = (sum(|one| one.sent), sum(|one| one.lost));
        let loss = match self.summary.sizes.as_slice() {
            [only] => only.pooled.loss,
            _ => None,
        };
        let share = percent(lost as f64 / sent.max(1) as f64);
        let mut parts = vec![match (lost, loss) {
            (0, _) => format!("lost: none of {sent} messages"),
            (_, Some(loss)) => format!(
                "lost: {lost} of {sent} messages, {}",
                EstimateInUnit::new(&loss, Unit::Share)
            ),
            (_, None) => format!("lost: {lost} of {sent} messages ({share})"),
        }];
        let strays = [
            (sum(|one| one.late), "late"),
            (sum(|one| one.duplicate), "duplicate"),
        ];
        let strays = strays.into_iter().filter(|(count, _)| *count > 0);
        parts.extend(strays.map(|(count, name)| format!("{count} {name}")));
        let silence = self.run.episodes.iter().find(|one| one.is_open());
        parts.extend(silence.map(Episode::text));
        parts.join("; ")
    }

    /// Where the time was spent: by this host's kernel, or each way; and the slowest round trip whose time was found somewhere.
    fn place(&self, replies: &ReplySummary, push: &mut impl FnMut(String)) {
        let ways = [("upload", &replies.up), ("download", &replies.down)];
        let each: Vec<(String, f64)> = ways
            .into_iter()
            .filter_map(|(name, way)| {
                let way = way.as_ref()?;
                let (delay, bound_us) = (way.delay_us.as_ref()?, way.bound_us?);
                Some((format!("{name} {}", time_us(delay.p50)), bound_us))
            })
            .collect();
        if let Some(split) = &replies.kernel {
            push(format!(
                "where: {} network and server, {} this host (p50 of {})",
                time_us(split.kernel_rtt_us.p50),
                time_us(split.host_us.p50 + split.queue_us.map_or(0.0, |queue| queue.p50)),
                counted(split.host_us.n, "message")
            ));
        } else if let Some(bound_us) = each.iter().map(|(_, us)| *us).reduce(f64::max) {
            let each: Vec<&str> = each.iter().map(|(text, _)| text.as_str()).collect();
            push(format!(
                "where: {} (p50; the clocks leave ±{})",
                each.join(", "),
                time_us(bound_us)
            ));
        }
        if let Some(line) = replies.outliers.as_ref().and_then(slowest_line) {
            push(line);
        }
    }

    /// Every line of the block.
    #[must_use]
    pub fn every_line(&self, width: LineWidth) -> Vec<String> {
        let mut lines = Vec::new();
        let mut push = |text: String| lines.push(fold(&text, 4, width));
        let times = self.run.flows().iter().filter_map(|flow| flow.connect_us);
        let times: Vec<f64> = times.collect();
        let min = times.iter().copied().reduce(f64::min);
        let max = times.iter().copied().reduce(f64::max);
        if let (Some(min), Some(max)) = (min.map(time_us), max.map(time_us)) {
            push(match times.len() {
                1 => format!("connected in {min}"),
                several => format!("{several} connections, each made in {min} to {max}"),
            });
        }
        for size in self.shown_sizes() {
            self.size(size, &mut push);
        }
        let schedule = self.run.plan.rtt().and_then(|plan| plan.schedule);
        let is_scheduled = matches!(schedule, Some(EchoSchedule::Every { .. }));
        if let Some(why) = self
            .summary
            .kernel_stamps_missing
            .as_ref()
            .filter(|_| !is_scheduled)
        {
            push(format!("host and network cannot be separated: {why}"));
        }
        self.losses(&mut push);
        self.marks(&mut push, |_| true);
        self.predictions(&mut push);
        lines
    }

    /// The prediction for the largest message, and the number of sizes for which predictions held.
    fn predictions(&self, push: &mut impl FnMut(String)) {
        let all = self.run.predictions();
        let by_value = |a: &&PredictionCheck, b: &&PredictionCheck| {
            a.prediction.value.total_cmp(&b.prediction.value)
        };
        let Some(largest) = all.iter().max_by(by_value) else {
            if let Some(why) = self.no_prediction() {
                push(format!("predicted: nothing, because {why}"));
            }
            return;
        };
        push(format!("predicted: {} {largest}", largest.prediction.title));
        if all.len() < 2 {
            return;
        }
        let tolerance = largest.prediction.tolerance;
        let mut failed: Vec<&PredictionCheck> = all.iter().filter(|one| !one.holds).collect();
        if failed.is_empty() {
            push(format!(
                "  all {} sizes are within {tolerance} of theirs",
                all.len()
            ));
            return;
        }
        let off = |one: &PredictionCheck| one.difference.unwrap_or(0.0).abs();
        failed.sort_by(|a, b| off(b).total_cmp(&off(a)));
        let worst: Vec<String> = failed
            .iter()
            .take(MAX_FAILED)
            .map(|one| {
                let title = one.prediction.title.trim_start_matches("round trip of ");
                let difference = one.difference.map(RelativeDifference);
                format!(
                    "{title}: {}",
                    difference.map_or_else(String::new, |difference| difference.to_string())
                )
            })
            .collect();
        push(format!(
            "  {} of {} sizes are not within {tolerance} of theirs, the furthest {}",
            failed.len(),
            all.len(),
            worst.join(", ")
        ));
    }

    /// The reason why nothing was predicted.
    fn no_prediction(&self) -> Option<&'static str> {
        let environment = self.run.environment.as_ref()?;
        let (client, server) = (environment.client.as_ref()?, environment.server.as_ref()?);
        if environment.tcp_proxy.is_some() {
            return Some(
                "TCP is ended in the middle, and the rates of the paths to there are not known",
            );
        }
        let loopback = client.interface.as_ref().map(ExternalText::as_received) == Some("lo");
        let rate_of = |direction| link_rate(None, client, server, loopback, direction);
        match (rate_of(Direction::Up), rate_of(Direction::Down)) {
            (Ok((up, _)), Ok((down, _))) if up != down => {
                return Some("the link has another rate in each direction");
            }
            (up, _) => up,
        }
        .err()
        .map(caudal_analysis::link::UnknownLinkRate::as_str)
    }

    /// The sizes shown one by one.
    fn shown_sizes(&self) -> Vec<&SizeSummary> {
        match self.summary.sizes.as_slice() {
            few if few.len() <= MAX_SIZES => few.iter().collect(),
            [first, .., last] => vec![first, last],
            _ => Vec::new(),
        }
    }

    fn size(&self, size: &SizeSummary, push: &mut impl FnMut(String)) {
        let replies = &size.pooled;
        push(self.mean(size));
        if let Some(split) = &replies.kernel {
            push(self.kernel_split(split, size.size_bytes));
        }
        for line in replies.outliers.iter().flat_map(outlier_lines) {
            push(line);
        }
        if let Some(late) = &replies.lateness_us {
            push(format!(
                "  schedule: messages left late by p50 {}, p99 {}, max {}; this is part of their round trips",
                time_us(late.p50),
                late.p99.map_or_else(|| "–".to_owned(), time_us),
                time_us(late.max)
            ));
        }
        for (name, way) in [("upload", &replies.up), ("download", &replies.down)] {
            if let Some(way) = way {
                push(one_way(name, way));
            }
        }
    }

    /// The line on the parts of a round trip by this host's kernel.
    fn kernel_split(&self, split: &KernelSplit, size_bytes: u32) -> String {
        let paced = if self.is_reply_paced(size_bytes) {
            " with its pacing by bbr"
        } else {
            ""
        };
        let queue = split.queue_us.filter(|queue| queue.p50 > 0.0);
        let queue = queue.map_or_else(String::new, |queue| {
            format!("{} this host's send queues, ", time_us(queue.p50))
        });
        format!(
            "  where: {} network and server{paced}, {queue}{} this host's calls and wake-ups (p50 of {} messages with \
             kernel timestamps)",
            time_us(split.kernel_rtt_us.p50),
            time_us(split.host_us.p50),
            split.host_us.n
        )
    }

    /// `true` when the server's congestion control spreads the segments of a reply of this size, which no timestamp of this host
    /// separates from the network.
    fn is_reply_paced(&self, size_bytes: u32) -> bool {
        let granted = self
            .run
            .flows()
            .iter()
            .filter_map(|flow| flow.server_granted.as_ref());
        granted
            .filter(|granted| granted.mss.is_none_or(|mss| size_bytes > mss))
            .filter_map(|granted| granted.congestion.as_ref().map(ExternalText::as_received))
            .any(|name| name.starts_with("bbr"))
    }

    /// What this host's own kernel refused to send.
    fn refused(&self, push: &mut impl FnMut(String)) {
        let mut refused = RefusedSends::default();
        for size in &self.summary.sizes {
            refused += size.pooled.refused_sends();
        }
        if refused.refused > 0 {
            let by = refused.by("this host");
            push(format!(
                "  of these refused by this host's kernel: {}{by}",
                refused.refused
            ));
        }
    }

    fn losses(&self, push: &mut impl FnMut(String)) {
        let sum = |of: fn(&ReplySummary) -> u64| {
            self.summary
                .sizes
                .iter()
                .map(|size| of(&size.pooled))
                .sum::<u64>()
        };
        let (sent, lost) = (sum(|one| one.sent), sum(|one| one.lost));
        let strays = (sum(|one| one.late), sum(|one| one.duplicate));
        let counts = format!("{} late, {} duplicate", strays.0, strays.1);
        let counts = match self.run.episodes.iter().find(|one| one.is_open()) {
            Some(silence) => format!("{counts}; {}", silence.text()),
            None => counts,
        };
        if lost == 0 {
            push(format!("lost: none of {sent} messages; {counts}"));
            return;
        }
        push(format!(
            "lost: {lost} of {sent} messages ({}); {counts}",
            percent(lost as f64 / sent as f64)
        ));
        self.refused(push);
        for size in &self.summary.sizes {
            if let (1.., Some(loss)) = (size.pooled.lost, &size.pooled.loss) {
                push(format!(
                    "  {} B: {} of {}, {}",
                    size.size_bytes,
                    size.pooled.lost,
                    size.pooled.sent,
                    EstimateInUnit::new(loss, Unit::Share)
                ));
            }
        }
    }
}

/// The round-trip times of some packets in a line; `None` without a reply in time.
pub(crate) fn times_line(replies: &ReplySummary) -> Option<String> {
    let part = replies.level.map_or_else(String::new, |level| {
        format!(" from {:.1} to {:.1} s", level.from_s, level.to_s)
    });
    let part = match replies.delayed {
        Some(delayed) => format!("{part} without {delayed} packets in delay episodes"),
        None => part,
    };
    times_of_part(replies, &part)
}

/// The same, with the part of the test that the mean is of.
fn times_of_part(replies: &ReplySummary, part: &str) -> Option<String> {
    let rtt = replies.rtt_us.as_ref()?;
    let usual = replies.mean_us.unwrap_or(rtt.mean_estimate());
    let unit = TimeUnit::of(rtt.p50);
    let some = |name: &'static str, us: Option<f64>| us.map(|us| (name, unit.digits(us)));
    let known = [
        some("min", Some(rtt.min)),
        some("p50", Some(rtt.p50)),
        some("p99", rtt.p99),
        some("max", Some(rtt.max)),
    ];
    let (names, values): (Vec<&str>, Vec<String>) = known.into_iter().flatten().unzip();
    Some(format!(
        "rtt: avg {}{part}, {} {} {}",
        mean_with_interval(&usual, rtt),
        names.join("/"),
        values.join("/"),
        unit.name()
    ))
}

/// The mean with its interval.
fn mean_with_interval(usual: &Estimate, rtt: &DistributionSummary) -> String {
    if rtt.confidence <= 0.0 {
        return format!("{} (one value: no interval)", time_us(rtt.mean));
    }
    let estimate = Estimate {
        mean: usual.mean / 1e6,
        low: usual.low.max(0.0) / 1e6,
        high: usual.high / 1e6,
        confidence: rtt.confidence,
        n: usual.n,
        method: IntervalMethod::BatchMeansT,
    };
    let shown = EstimateInUnit::new(&estimate, Unit::Seconds);
    let interval = shown.confidence_interval().unwrap_or_default();
    format!("{} ({interval})", shown.mean())
}

/// A unit of time for several values beside one another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TimeUnit {
    Microseconds,
    Milliseconds,
    Seconds,
}

impl TimeUnit {
    /// The unit that fits a time in µs.
    fn of(us: f64) -> Self {
        match us {
            us if us < 1e3 => Self::Microseconds,
            us if us < 1e6 => Self::Milliseconds,
            _ => Self::Seconds,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Microseconds => "µs",
            Self::Milliseconds => "ms",
            Self::Seconds => "s",
        }
    }

    /// A time in µs with four digits in this unit, or with all those before the point.
    fn digits(self, us: f64) -> String {
        let value = match self {
            Self::Microseconds => us,
            Self::Milliseconds => us / 1e3,
            Self::Seconds => us / 1e6,
        };
        let decimals = match value.abs() {
            size if size >= 1000.0 => 0,
            size if size >= 100.0 => 1,
            size if size >= 10.0 => 2,
            _ => 3,
        };
        format!("{value:.decimals$}")
    }
}

fn one_way(name: &str, way: &OneWaySummary) -> String {
    let us = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), time_us);
    let delay = match (&way.delay_us, way.bound_us) {
        (Some(delay), Some(bound)) => format!(
            "{} (p50; the clocks' offset makes it wrong by up to ±{}), ",
            time_us(delay.p50),
            time_us(bound)
        ),
        _ => String::new(),
    };
    format!(
        "  {name}: {delay}ipdv {} mean; pdv p50 {}, p99 {}, p99.9 {}, max {}",
        us(way.ipdv_mean_abs_us),
        time_us(way.pdv_p50_us),
        us(way.pdv_p99_us),
        us(way.pdv_p99_9_us),
        time_us(way.pdv_max_us)
    )
}
