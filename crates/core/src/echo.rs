//! Round trips as they were measured, and what they add up to.

use crate::random::SplitMix64;
use caudal_stats::{
    DistributionSummary, Estimate, Welford, batch_means, nearest_rank, samples_needed, wilson,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU64;
use std::time::Duration;

/// What came of one message: its round-trip time, or nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Reply(Option<NonZeroU64>);

impl Reply {
    /// No reply within the time allowed.
    pub const LOST: Self = Self(None);

    /// A reply whole after this long; 0 counts as 1 ns.
    #[inline]
    #[must_use]
    pub fn after(ns: u64) -> Self {
        Self(Some(NonZeroU64::new(ns).unwrap_or(NonZeroU64::MIN)))
    }

    /// The round-trip time in ns; `None` when no reply came in time.
    #[inline]
    #[must_use]
    pub fn ns(self) -> Option<u64> {
        self.0.map(NonZeroU64::get)
    }

    fn us(self) -> Option<f64> {
        self.ns().map(micros)
    }
}

/// How one scheduled message left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Departure {
    /// When it was to leave, ns after the test's start.
    pub intended_ns: u64,
    /// How much later it was handed to the kernel, ns.
    pub late_ns: u64,
    /// How long each way took, where the message carried times.
    pub one_way: Option<OneWay>,
}

/// The two ways of one message, each by the clocks of both ends: the offset between them is still in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OneWay {
    /// The far clock when it came in, less ours when it left, ns.
    pub up_ns: i64,
    /// Our clock when the reply came in, less the far one when that left, ns.
    pub down_ns: i64,
}

/// One more message than those counted, with the kernel's own times of departure and arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamped {
    /// Round trip as the program sees it, ns.
    pub rtt_ns: u64,
    /// From when this host's kernel handed the message to the device to when it got the reply, ns.
    pub kernel_ns: u64,
}

/// The messages of one size over one connection, in the order they were sent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Series {
    /// The connection's number.
    pub client: u32,
    /// Bytes in each message.
    pub size: u32,
    /// The first message of this size, which is not among the others; `None` when it never left.
    pub first: Option<Reply>,
    /// The others: as many as were sent.
    pub replies: Vec<Reply>,
    /// How each of the others left, when they left on a schedule; as many as `replies` then.
    pub departures: Vec<Departure>,
    /// Replies that came after their message had been given up.
    pub late: u64,
    /// Replies to messages that had been answered already.
    pub duplicate: u64,
    /// Messages beside the others that the kernel stamped.
    pub stamped: Vec<Stamped>,
}

/// The far clock less ours at a moment of ours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockPoint {
    /// When, ns after the test's start; before it when negative.
    pub at_ns: i64,
    /// The far clock less ours, ns.
    pub offset_ns: i64,
    /// How far from the truth that can be, ns.
    pub bound_ns: i64,
}

/// The far clock less ours over a test: on a straight line from before it to after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockLine {
    /// As measured before the test.
    pub before: ClockPoint,
    /// As measured after it; the same as before when that was not possible.
    pub after: ClockPoint,
}

impl ClockLine {
    /// The far clock less ours at a moment, ns.
    #[must_use]
    pub fn offset_ns(&self, at_ns: i64) -> i64 {
        let whole = i128::from(self.after.at_ns) - i128::from(self.before.at_ns);
        if whole <= 0 {
            return self.before.offset_ns;
        }
        let gone = (i128::from(at_ns) - i128::from(self.before.at_ns)).clamp(0, whole);
        // Only what the offset changed by passes through floating point, so nanoseconds survive.
        let change = i128::from(self.after.offset_ns) - i128::from(self.before.offset_ns);
        let share = (change as f64 * (gone as f64 / whole as f64)).round() as i64;
        self.before.offset_ns.saturating_add(share)
    }

    /// How far from the truth the line can be at its ends, ns.
    #[must_use]
    pub fn bound_ns(&self) -> i64 {
        self.before.bound_ns.max(self.after.bound_ns)
    }

    /// By how much the far clock gains on ours, parts per million; `None` for a line without length.
    #[must_use]
    pub fn drift_ppm(&self) -> Option<f64> {
        let whole = self.after.at_ns.saturating_sub(self.before.at_ns);
        let change = self.after.offset_ns.saturating_sub(self.before.offset_ns);
        (whole > 0).then(|| change as f64 / whole as f64 * 1e6)
    }
}

/// All that an echo test measured.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EchoRecord {
    /// Every size of every connection, by size and then by client.
    pub series: Vec<Series>,
    /// The clocks of both ends, where each way was measured.
    pub clock: Option<ClockLine>,
}

/// When `messages` messages are to leave, ns after the first could.
///
/// One every `period`, the first at 0 (RFC 3432); or with exponential gaps of that mean, the first
/// after one gap (RFC 2330 section 11.1.1), the same for the same `seed`.
#[must_use]
pub fn departures(period: Duration, poisson: bool, seed: u64, messages: u64) -> Vec<u64> {
    let period_ns = period.as_nanos().min(u128::from(u64::MAX)) as u64;
    if !poisson {
        return (0..messages)
            .map(|nth| nth.saturating_mul(period_ns))
            .collect();
    }
    let mut rng = SplitMix64::new(seed);
    let mut at = 0.0;
    (0..messages)
        .map(|_| {
            // The top 53 bits, as a number above 0 and up to 1.
            let uniform = ((rng.next_u64() >> 11) + 1) as f64 / (1_u64 << 53) as f64;
            at -= uniform.ln() * period_ns as f64;
            at as u64
        })
        .collect()
}

/// How the round trips are to be summarised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summarise {
    /// The confidence of the intervals, between 0 and 1.
    pub confidence: f64,
    /// Whether each series' first message counts with the others.
    pub include_first: bool,
}

/// What the messages of one size add up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SizeSummary {
    /// Bytes in each message.
    pub size_bytes: u32,
    /// All clients together.
    pub pooled: ReplySummary,
    /// Each client by itself, in the order of their numbers.
    pub clients: Vec<ClientSummary>,
}

/// What the messages of one size from one client add up to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClientSummary {
    /// The client's number, from 0.
    pub client: u32,
    /// What its messages add up to.
    #[serde(flatten)]
    pub replies: ReplySummary,
}

/// What some round trips add up to.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReplySummary {
    /// Messages sent that count.
    pub sent: u64,
    /// Of these, messages without a reply in time.
    pub lost: u64,
    /// Of all replies, those to messages that had been given up.
    pub late: u64,
    /// Of all replies, those to messages that had been answered already.
    pub duplicate: u64,
    /// The fraction lost; absent when nothing was sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss: Option<Estimate>,
    /// The first message of this size, µs, the mean of them over several clients; absent when no reply
    /// came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_us: Option<f64>,
    /// Round-trip times, µs; absent when no reply came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<DistributionSummary>,
    /// Their mean with its interval, µs; absent when no reply came in time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mean_us: Option<Estimate>,
    /// Where the time went; absent where the kernel stamped nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<KernelSplit>,
    /// How late messages left, µs; on a schedule only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lateness_us: Option<Lateness>,
    /// The way there; where messages carried times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub up: Option<WaySummary>,
    /// The way back; where messages carried times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub down: Option<WaySummary>,
}

/// The round trip split at this host's kernel, by the messages that it stamped.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct KernelSplit {
    /// From the kernel's hand-over to the device until it got the reply, µs: the network and the far host.
    pub kernel_rtt_us: DistributionSummary,
    /// The rest of those messages' round trips, µs: this host's system calls, queues and wake-ups.
    pub host_us: DistributionSummary,
}

/// How late scheduled messages left.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Lateness {
    /// Messages.
    pub n: u64,
    /// Median, µs.
    pub p50: f64,
    /// The 99th percentile, µs; absent below 299 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub p99: Option<f64>,
    /// The latest, µs.
    pub max: f64,
}

/// One direction by itself.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WaySummary {
    /// One-way delay with the clocks' offset taken out, µs; wrong by up to `bound_us`, alike for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_us: Option<DistributionSummary>,
    /// How far from the truth all the delays can be, µs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_us: Option<f64>,
    /// Mean |difference of the delays of consecutive messages|, µs (RFC 3393); absent below two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ipdv_mean_abs_us: Option<f64>,
    /// Delay above the smallest, µs: median (RFC 5481).
    pub pdv_p50_us: f64,
    /// The 90th percentile of the same, µs; absent below 29 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p90_us: Option<f64>,
    /// The 99th percentile of the same, µs; absent below 299 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p99_us: Option<f64>,
    /// The 99.9th percentile of the same, µs; absent below 2 995 messages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pdv_p99_9_us: Option<f64>,
    /// The largest of the same, µs.
    pub pdv_max_us: f64,
}

impl EchoRecord {
    /// What each size adds up to, in the order the sizes were measured.
    ///
    /// Clients are pooled by pooling their messages; percentiles are never averaged. The interval of the
    /// pooled mean comes from batches of what all clients had at the same time, because one stall may
    /// have delayed them all.
    #[must_use]
    pub fn summarise(&self, how: Summarise) -> Vec<SizeSummary> {
        let mut sizes: Vec<(u32, Vec<&Series>)> = Vec::new();
        for series in &self.series {
            match sizes.iter_mut().find(|(size, _)| *size == series.size) {
                Some((_, all)) => all.push(series),
                None => sizes.push((series.size, vec![series])),
            }
        }
        sizes
            .into_iter()
            .map(|(size_bytes, mut all)| {
                all.sort_by_key(|series| series.client);
                SizeSummary {
                    size_bytes,
                    pooled: self.add_up(&all, how),
                    clients: all
                        .iter()
                        .map(|series| ClientSummary {
                            client: series.client,
                            replies: self.add_up(&[series], how),
                        })
                        .collect(),
                }
            })
            .collect()
    }

    fn add_up(&self, all: &[&Series], how: Summarise) -> ReplySummary {
        let confidence = how.confidence;
        let counted: Vec<Vec<Reply>> = all
            .iter()
            .map(|series| {
                let first = series.first.filter(|_| how.include_first);
                first
                    .into_iter()
                    .chain(series.replies.iter().copied())
                    .collect()
            })
            .collect();
        let sent = counted.iter().map(Vec::len).sum::<usize>() as u64;
        let rtts: Vec<Vec<Option<f64>>> = counted
            .iter()
            .map(|replies| replies.iter().map(|reply| reply.us()).collect())
            .collect();
        let lost = rtts.iter().flatten().filter(|rtt| rtt.is_none()).count() as u64;
        let firsts: Welford = all
            .iter()
            .filter_map(|series| series.first?.us())
            .collect::<Vec<f64>>()
            .iter()
            .collect();
        let rtt_us = together(&rtts, confidence).map(of_times);
        ReplySummary {
            sent,
            lost,
            late: all.iter().map(|series| series.late).sum(),
            duplicate: all.iter().map(|series| series.duplicate).sum(),
            loss: wilson(lost, sent, confidence),
            first_us: firsts.mean(),
            rtt_us,
            mean_us: rtt_us.map(|rtt| rtt.mean_estimate()),
            kernel: kernel_split(all, confidence),
            lateness_us: lateness(all),
            up: self.way(all, confidence, |way, offset| {
                way.up_ns.saturating_sub(offset)
            }),
            down: self.way(all, confidence, |way, offset| {
                way.down_ns.saturating_add(offset)
            }),
        }
    }

    /// One direction of some series: `delay` takes the offset out.
    fn way(
        &self,
        all: &[&Series],
        confidence: f64,
        delay: impl Fn(OneWay, i64) -> i64,
    ) -> Option<WaySummary> {
        // Without a clock the offset stays in: variation is measured all the same.
        let offset = |at_ns: u64| {
            self.clock.map_or(0, |clock| {
                clock.offset_ns(i64::try_from(at_ns).unwrap_or(i64::MAX))
            })
        };
        let each: Vec<Vec<Option<f64>>> = all
            .iter()
            .map(|series| {
                let departures = series.departures.iter();
                departures
                    .map(|departure| {
                        let way = departure.one_way?;
                        Some(delay(way, offset(departure.intended_ns)) as f64 / 1e3)
                    })
                    .collect()
            })
            .collect();
        // From one message to the next, where both arrived: RFC 3393 section 2.4.
        let changes: Vec<f64> = each
            .iter()
            .flat_map(|delays| {
                delays
                    .windows(2)
                    .filter_map(|pair| Some((pair[1]? - pair[0]?).abs()))
            })
            .collect();
        let changes: Welford = changes.iter().collect();
        let delays: Vec<f64> = each.iter().flatten().flatten().copied().collect();
        let least = delays.iter().copied().min_by(f64::total_cmp)?;
        let mut above: Vec<f64> = delays.iter().map(|delay| delay - least).collect();
        above.sort_unstable_by(f64::total_cmp);
        Some(WaySummary {
            delay_us: self.clock.and_then(|_| together(&each, confidence)),
            bound_us: self.clock.map(|clock| clock.bound_ns() as f64 / 1e3),
            ipdv_mean_abs_us: changes.mean(),
            pdv_p50_us: nearest_rank(&above, 0.5)?,
            pdv_p90_us: supported(&above, 0.9),
            pdv_p99_us: supported(&above, 0.99),
            pdv_p99_9_us: supported(&above, 0.999),
            pdv_max_us: *above.last()?,
        })
    }
}

fn kernel_split(all: &[&Series], confidence: f64) -> Option<KernelSplit> {
    let each = |of: fn(&Stamped) -> f64| -> Vec<Vec<Option<f64>>> {
        all.iter()
            .map(|series| series.stamped.iter().map(|one| Some(of(one))).collect())
            .collect()
    };
    let host = |one: &Stamped| micros(one.rtt_ns) - micros(one.kernel_ns);
    Some(KernelSplit {
        kernel_rtt_us: of_times(together(&each(|one| micros(one.kernel_ns)), confidence)?),
        host_us: of_times(together(&each(host), confidence)?),
    })
}

/// A distribution of times, which are never negative: nor is the interval of their mean.
const fn of_times(times: DistributionSummary) -> DistributionSummary {
    DistributionSummary {
        mean_low: times.mean_low.max(0.0),
        ..times
    }
}

/// The distribution of what several clients measured side by side.
///
/// The interval of the mean is made from the series of the clients' means at each step: it holds what
/// correlates from one step to the next, and what correlates among the clients.
fn together(each: &[Vec<Option<f64>>], confidence: f64) -> Option<DistributionSummary> {
    let values: Vec<f64> = each.iter().flatten().flatten().copied().collect();
    let pooled = DistributionSummary::from_series(&values, confidence)?;
    let steps = each.iter().map(Vec::len).max().filter(|_| each.len() > 1);
    let means: Vec<f64> = (0..steps.unwrap_or(0))
        .filter_map(|step| {
            let there: Welford = each
                .iter()
                .filter_map(|values| *values.get(step)?)
                .collect::<Vec<f64>>()
                .iter()
                .collect();
            there.mean()
        })
        .collect();
    Some(match batch_means(&means, confidence) {
        Some(batched) => {
            let half = batched.estimate.half_width();
            DistributionSummary {
                mean_low: pooled.mean - half,
                mean_high: pooled.mean + half,
                mean_trusted: batched.trusted,
                ..pooled
            }
        }
        None => pooled,
    })
}

fn lateness(all: &[&Series]) -> Option<Lateness> {
    let mut late: Vec<f64> = all
        .iter()
        .flat_map(|series| {
            series
                .departures
                .iter()
                .map(|departure| micros(departure.late_ns))
        })
        .collect();
    late.sort_unstable_by(f64::total_cmp);
    Some(Lateness {
        n: late.len() as u64,
        p50: nearest_rank(&late, 0.5)?,
        p99: supported(&late, 0.99),
        max: *late.last()?,
    })
}

/// A quantile of sorted values, where they are enough for it.
fn supported(sorted: &[f64], q: f64) -> Option<f64> {
    samples_needed(q)
        .filter(|needed| sorted.len() as u64 >= *needed)
        .and_then(|_| nearest_rank(sorted, q))
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_stats::IntervalMethod;
    use proptest::prelude::*;

    const HOW: Summarise = Summarise {
        confidence: 0.98,
        include_first: false,
    };

    fn series(client: u32, size: u32, rtts_us: &[u64]) -> Series {
        let reply = |us: &u64| {
            if *us == 0 {
                Reply::LOST
            } else {
                Reply::after(us * 1000)
            }
        };
        Series {
            client,
            size,
            first: rtts_us.first().map(reply),
            replies: rtts_us.iter().skip(1).map(reply).collect(),
            ..Series::default()
        }
    }

    fn record(series: Vec<Series>) -> EchoRecord {
        EchoRecord {
            series,
            clock: None,
        }
    }

    #[test]
    fn the_first_message_is_kept_out_unless_it_is_asked_in() {
        let record = record(vec![series(0, 1, &[900, 10, 20, 30])]);
        let out = &record.summarise(HOW)[0];
        let rtt = out.pooled.rtt_us.unwrap();
        assert_eq!((rtt.n, rtt.mean, rtt.max), (3, 20.0, 30.0));
        assert_eq!(
            (out.clients[0].replies.first_us, out.pooled.first_us),
            (Some(900.0), Some(900.0))
        );
        let within = &record.summarise(Summarise {
            include_first: true,
            ..HOW
        })[0];
        let rtt = within.pooled.rtt_us.unwrap();
        assert_eq!((rtt.n, rtt.mean, rtt.max), (4, 240.0, 900.0));
    }

    #[test]
    fn clients_are_pooled_by_their_messages_not_by_their_percentiles() {
        let record = record(vec![
            series(0, 8, &[5, 10, 10, 10]),
            series(1, 8, &[7, 100, 100]),
            series(0, 16, &[5, 11]),
        ]);
        let sizes = record.summarise(HOW);
        assert_eq!(
            sizes.iter().map(|size| size.size_bytes).collect::<Vec<_>>(),
            [8, 16]
        );
        let pooled = sizes[0].pooled.rtt_us.unwrap();
        // The mean of the two medians would be 55.
        assert_eq!((pooled.n, pooled.p50, pooled.mean), (5, 10.0, 46.0));
        assert_eq!(sizes[0].pooled.first_us, Some(6.0));
        let medians: Vec<f64> = sizes[0]
            .clients
            .iter()
            .map(|client| client.replies.rtt_us.unwrap().p50)
            .collect();
        assert_eq!(medians, [10.0, 100.0]);
    }

    #[test]
    fn a_lost_reply_counts_as_loss_and_not_as_a_round_trip() {
        let record = record(vec![series(0, 1, &[9, 10, 0, 12, 0])]);
        let pooled = &record.summarise(HOW)[0].pooled;
        assert_eq!((pooled.sent, pooled.lost), (4, 2));
        assert_eq!(pooled.rtt_us.unwrap().mean, 11.0);
        let loss = pooled.loss.unwrap();
        assert_eq!((loss.mean, loss.method), (0.5, IntervalMethod::Wilson));
    }

    #[test]
    fn nothing_measured_summarises_to_nothing() {
        assert_eq!(record(vec![]).summarise(HOW), []);
        let pooled = &record(vec![series(0, 1, &[])]).summarise(HOW)[0].pooled;
        assert_eq!((pooled.sent, pooled.rtt_us, pooled.loss), (0, None, None));
        let all_lost = &record(vec![series(0, 1, &[0, 0, 0])]).summarise(HOW)[0];
        assert_eq!(
            (all_lost.pooled.lost, all_lost.clients[0].replies.first_us),
            (2, None)
        );
    }

    #[test]
    fn the_interval_of_the_mean_comes_from_batches() {
        let rtts: Vec<u64> = (0..101).map(|nth| 50 + nth * 37 % 100).collect();
        let record = record(vec![series(0, 1, &rtts)]);
        let rtt = record.summarise(HOW)[0].pooled.rtt_us.unwrap();
        assert_eq!(
            (rtt.method, rtt.confidence),
            (IntervalMethod::BatchMeansT, 0.98)
        );
        assert!(rtt.mean_low < rtt.mean && rtt.mean < rtt.mean_high);
    }

    #[test]
    fn the_interval_of_a_time_does_not_reach_below_zero() {
        let mut rtts = vec![10; 40];
        rtts[3] = 100_000;
        let record = record(vec![series(0, 1, &rtts)]);
        let pooled = &record.summarise(HOW)[0].pooled;
        let rtt = pooled.rtt_us.unwrap();
        assert!(rtt.mean_low == 0.0 && rtt.mean_high > 2.0 * rtt.mean);
        assert_eq!(pooled.mean_us.unwrap().low, 0.0);
    }

    #[test]
    fn clients_that_stall_together_make_the_pooled_mean_no_surer() {
        let random = |seed| -> Vec<u64> {
            let at = departures(Duration::from_micros(100), true, seed, 402);
            at.windows(2)
                .map(|pair| 10 + (pair[1] - pair[0]) / 1000)
                .collect()
        };
        let pooled = |all: &[Vec<u64>]| {
            let series = (0..)
                .zip(all)
                .map(|(client, rtts)| series(client, 1, rtts))
                .collect();
            record(series).summarise(HOW)[0].pooled.rtt_us.unwrap()
        };
        let half = |rtt: DistributionSummary| (rtt.mean_high - rtt.mean_low) / 2.0;
        let alone = pooled(&[random(1)]);
        let stalled = pooled(&[random(1), random(1)]);
        assert_eq!((alone.n, stalled.n), (400, 800));
        assert!((half(stalled) - half(alone)).abs() < 1e-9);
        // Clients that have nothing to do with one another do: four halve the interval.
        let apart = pooled(&[random(1), random(2), random(3), random(4)]);
        assert!((0.3..0.8).contains(&(half(apart) / half(alone))));
    }

    #[test]
    fn the_kernels_stamps_split_a_round_trip_between_host_and_network() {
        let stamped = vec![
            Stamped {
                rtt_ns: 30_000,
                kernel_ns: 20_000,
            },
            Stamped {
                rtt_ns: 50_000,
                kernel_ns: 25_000,
            },
        ];
        let record = record(vec![Series {
            stamped,
            ..series(0, 1, &[9, 10])
        }]);
        let split = record.summarise(HOW)[0].pooled.kernel.unwrap();
        assert_eq!(
            (
                split.kernel_rtt_us.mean,
                split.host_us.mean,
                split.host_us.n
            ),
            (22.5, 17.5, 2)
        );
    }

    #[test]
    fn each_way_is_told_with_the_clocks_offset_taken_out_and_its_bound() {
        let point = |at_ns, offset_ns| ClockPoint {
            at_ns,
            offset_ns,
            bound_ns: 2_000,
        };
        // The far clock gains 1000 ns in 10 000 ns.
        let clock = ClockLine {
            before: point(0, 5_000_000),
            after: point(10_000, 5_001_000),
        };
        let departures: Vec<Departure> = [(0, 10, 20), (5_000, 12, 20), (10_000, 11, 26)]
            .into_iter()
            .map(|(intended_ns, up_us, down_us)| {
                let offset = clock.offset_ns(intended_ns);
                let one_way = OneWay {
                    up_ns: up_us * 1000 + offset,
                    down_ns: down_us * 1000 - offset,
                };
                Departure {
                    intended_ns: intended_ns as u64,
                    late_ns: 1500,
                    one_way: Some(one_way),
                }
            })
            .collect();
        let series = Series {
            departures,
            ..series(0, 64, &[30, 30, 32, 37])
        };
        let record = EchoRecord {
            series: vec![series],
            clock: Some(clock),
        };
        let pooled = &record.summarise(HOW)[0].pooled;
        let up = pooled.up.unwrap();
        assert_eq!(
            (up.delay_us.unwrap().mean, up.delay_us.unwrap().max),
            (11.0, 12.0)
        );
        assert_eq!((up.bound_us, up.ipdv_mean_abs_us), (Some(2.0), Some(1.5)));
        assert_eq!(
            (up.pdv_p50_us, up.pdv_max_us, up.pdv_p90_us),
            (1.0, 2.0, None)
        );
        let down = pooled.down.unwrap();
        assert_eq!((down.delay_us.unwrap().mean, down.pdv_max_us), (22.0, 6.0));
        assert_eq!(
            pooled.lateness_us.unwrap(),
            Lateness {
                n: 3,
                p50: 1.5,
                p99: None,
                max: 1.5
            }
        );
        assert!((clock.drift_ppm().unwrap() - 1e5).abs() < 1e-6);
    }

    #[test]
    fn delay_variation_needs_no_clock() {
        let way = |up_ns| Departure {
            intended_ns: 0,
            late_ns: 0,
            one_way: Some(OneWay {
                up_ns,
                down_ns: -up_ns,
            }),
        };
        // Transit times of 10, 12, 11, 15 and 11 ms, behind an unknown offset.
        let ms = [10, 12, 11, 15, 11].map(|ms| way(ms * 1_000_000 - 77_000_000_000));
        let series = Series {
            departures: ms.to_vec(),
            ..series(0, 64, &[1])
        };
        let up = record(vec![series]).summarise(HOW)[0].pooled.up.unwrap();
        assert_eq!((up.delay_us, up.bound_us), (None, None));
        assert_eq!((up.ipdv_mean_abs_us, up.pdv_max_us), (Some(2750.0), 5000.0));
    }

    #[test]
    fn a_fixed_schedule_does_not_drift_and_a_random_one_repeats_with_its_seed() {
        let ms = Duration::from_millis(1);
        assert_eq!(
            departures(ms, false, 0, 4),
            [0, 1_000_000, 2_000_000, 3_000_000]
        );
        let random = departures(ms, true, 7, 20_000);
        assert_eq!(random, departures(ms, true, 7, 20_000));
        assert_ne!(random, departures(ms, true, 8, 20_000));
        assert!(random.is_sorted());
        // The mean of n exponential gaps strays by 1/√n of itself: 0.7 %, so hardly ever 4 %.
        let mean = *random.last().unwrap() as f64 / random.len() as f64;
        assert!((mean / 1e6 - 1.0).abs() < 0.04, "{mean}");
        // As many gaps are longer than the mean as e⁻¹ says.
        let longer = random
            .windows(2)
            .filter(|pair| pair[1] - pair[0] > 1_000_000)
            .count();
        assert!((longer as f64 / 20_000.0 - (-1_f64).exp()).abs() < 0.02);
    }

    proptest! {
        #[test]
        fn no_counts_make_a_summary_panic(rtts: Vec<u64>, ways: Vec<(i64, i64, u64)>, points: [i64; 6]) {
            let departures = ways.iter().map(|(up_ns, down_ns, at)| Departure {
                intended_ns: *at,
                late_ns: *at,
                one_way: Some(OneWay { up_ns: *up_ns, down_ns: *down_ns }),
            });
            let [a, b, c, d, e, f] = points;
            let clock = ClockLine {
                before: ClockPoint { at_ns: a, offset_ns: b, bound_ns: c },
                after: ClockPoint { at_ns: d, offset_ns: e, bound_ns: f },
            };
            let series = Series {
                replies: rtts.iter().map(|ns| Reply::after(*ns)).collect(),
                departures: departures.collect(),
                ..Series::default()
            };
            let record = EchoRecord { series: vec![series], clock: Some(clock) };
            let _ = (record.summarise(HOW), clock.drift_ppm());
        }
    }
}
