//! Summarising a round-trip test.

use super::delay_episodes::delay_episodes;
use super::delay_levels::{SeriesLevel, delay_levels, longest};
use super::options::EchoSummaryOptions;
use super::outlier::{MAX_KEPT, MIN_FOR_OUTLIERS, OUTLIER_FACTOR, outlier};
use super::record::{EchoRecord, EchoSeries, OneWayTransit, Reply, StampedRoundTrip};
use caudal_core::echo::{
    ClientSummary, KernelSplit, Lateness, OneWaySummary, ReplySummary, RoundTripOutlier,
    RoundTripOutliers, SizeSummary,
};
use caudal_core::loss::RefusedSends;
use caudal_stats::{
    DistributionSummary, Welford, batch_means, nearest_rank, supported_quantile, wilson,
};

impl EchoRecord {
    /// The summary of each size, in the order the sizes were measured.
    ///
    /// Clients are pooled by pooling their messages; percentiles are never averaged. The interval of the
    /// pooled mean comes from batches of the values all clients had at the same time, because one stall may
    /// have delayed them all.
    #[must_use]
    pub fn summarise(&self, options: EchoSummaryOptions) -> Vec<SizeSummary> {
        let mut sizes: Vec<(u32, Vec<&EchoSeries>)> = Vec::new();
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
                    pooled: self.summarise_series(&all, options),
                    clients: all
                        .iter()
                        .map(|series| ClientSummary {
                            client: series.client,
                            replies: self.summarise_series(&[series], options),
                        })
                        .collect(),
                }
            })
            .collect()
    }

    fn summarise_series(&self, all: &[&EchoSeries], options: EchoSummaryOptions) -> ReplySummary {
        let confidence = options.confidence;
        let rtts: Vec<Vec<Option<f64>>> = all
            .iter()
            .map(|series| {
                let first = series.first.filter(|_| options.include_first);
                let counted = first.into_iter().chain(series.replies.iter().copied());
                counted.map(rtt_us).collect()
            })
            .collect();
        let sent = rtts.iter().map(Vec::len).sum::<usize>() as u64;
        let lost = rtts.iter().flatten().filter(|rtt| rtt.is_none()).count() as u64;
        let mut refused = RefusedSends::default();
        for series in all {
            refused += series.refused;
        }
        // One that was refused as the test ended is not among those that count.
        let refused = RefusedSends {
            refused: refused.refused.min(lost),
            forbidden: refused.forbidden.min(lost),
        };
        let firsts: Welford = all
            .iter()
            .filter_map(|series| rtt_us(series.first?))
            .collect::<Vec<f64>>()
            .iter()
            .collect();
        let rtt_us = pooled_distribution(&rtts, confidence).map(non_negative);
        let (usual, delayed) = without_delay_episodes(all);
        let levels = longest_levels(all);
        let mean_of = if !levels.is_empty() {
            pooled_distribution(&at_levels(all, &levels), confidence).map(non_negative)
        } else if delayed > 0 {
            pooled_distribution(&usual, confidence).map(non_negative)
        } else {
            rtt_us
        };
        ReplySummary {
            sent,
            lost,
            refused: Some(refused.refused).filter(|count| *count > 0),
            forbidden: Some(refused.forbidden).filter(|count| *count > 0),
            late: all.iter().map(|series| series.late).sum(),
            duplicate: all.iter().map(|series| series.duplicate).sum(),
            loss: wilson(lost, sent, confidence),
            first_us: firsts.mean(),
            rtt_us,
            mean_us: mean_of.map(|rtt| rtt.mean_estimate()),
            delayed: (delayed > 0).then_some(delayed),
            level: levels.first().map(|level| level.time),
            outliers: outliers(&rtts, all, options),
            kernel: kernel_split(all, confidence),
            lateness_us: lateness(all),
            up: self.one_way(all, confidence, |transit, offset_ns| {
                transit.up_ns.saturating_sub(offset_ns)
            }),
            down: self.one_way(all, confidence, |transit, offset_ns| {
                transit.down_ns.saturating_add(offset_ns)
            }),
        }
    }

    /// The summary of one direction of some series: `delay_ns` picks the direction's transit time and removes the
    /// clocks' offset from it.
    fn one_way(
        &self,
        all: &[&EchoSeries],
        confidence: f64,
        delay_ns: impl Fn(OneWayTransit, i64) -> i64,
    ) -> Option<OneWaySummary> {
        // Without a clock the offset stays in the delays: their variation is measured all the same.
        let offset_ns = |at_ns: u64| {
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
                        let transit = departure.one_way?;
                        let ns = delay_ns(transit, offset_ns(departure.intended_ns));
                        Some(ns as f64 / 1e3)
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
        let min = delays.iter().copied().min_by(f64::total_cmp)?;
        let mut variation: Vec<f64> = delays.iter().map(|delay| delay - min).collect();
        variation.sort_unstable_by(f64::total_cmp);
        Some(OneWaySummary {
            delay_us: self
                .clock
                .and_then(|_| pooled_distribution(&each, confidence)),
            bound_us: self.clock.map(|clock| clock.bound_ns() as f64 / 1e3),
            ipdv_mean_abs_us: changes.mean(),
            pdv_p50_us: nearest_rank(&variation, 0.5)?,
            pdv_p90_us: supported_quantile(&variation, 0.9),
            pdv_p99_us: supported_quantile(&variation, 0.99),
            pdv_p99_9_us: supported_quantile(&variation, 0.999),
            pdv_max_us: *variation.last()?,
        })
    }
}

/// The round trips outside of delay episodes, and the number of messages in them.
fn without_delay_episodes(all: &[&EchoSeries]) -> (Vec<Vec<Option<f64>>>, u64) {
    let mut delayed = 0;
    let usual = all.iter().map(|series| {
        let mut rtts: Vec<Option<f64>> = series.replies.iter().copied().map(rtt_us).collect();
        for one in delay_episodes(series).iter().rev() {
            delayed += rtts.drain(one.first..=one.last).count() as u64;
        }
        rtts
    });
    (usual.collect(), delayed)
}

/// The level that stands for each series; none unless every series has one.
fn longest_levels(all: &[&EchoSeries]) -> Vec<SeriesLevel> {
    let each = all
        .iter()
        .map(|series| longest(&delay_levels(series)).cloned());
    each.collect::<Option<Vec<_>>>().unwrap_or_default()
}

/// The round trips of each series at a level.
fn at_levels(all: &[&EchoSeries], levels: &[SeriesLevel]) -> Vec<Vec<Option<f64>>> {
    let each = all.iter().zip(levels).map(|(series, level)| {
        let messages = level.messages.iter();
        messages.map(|nth| rtt_us(series.replies[*nth])).collect()
    });
    each.collect()
}

/// The round trips beyond ten times the 99th percentile, and the kernel's account of the longest.
fn outliers(
    rtts: &[Vec<Option<f64>>],
    all: &[&EchoSeries],
    options: EchoSummaryOptions,
) -> Option<RoundTripOutliers> {
    let mut sorted: Vec<f64> = rtts.iter().flatten().flatten().copied().collect();
    if sorted.len() < MIN_FOR_OUTLIERS {
        return None;
    }
    sorted.sort_unstable_by(f64::total_cmp);
    let limit_us = OUTLIER_FACTOR * nearest_rank(&sorted, 0.99)?;
    let n = sorted
        .iter()
        .rev()
        .take_while(|rtt| **rtt > limit_us)
        .count() as u64;
    let kept = all.iter().flat_map(|series| {
        series.slowest.trips().iter().map(|trip| {
            // The first message has no departure of its own.
            let nth = trip.message.checked_sub(1).map(|nth| nth as usize);
            let departure = nth.and_then(|nth| series.departures.get(nth));
            outlier(series.client, trip, departure.map(|left| left.late_ns))
        })
    });
    let mut longest: Vec<RoundTripOutlier> = kept
        .filter(|one| one.rtt_us > limit_us && (one.message > 0 || options.include_first))
        .collect();
    longest.sort_by(|a, b| b.rtt_us.total_cmp(&a.rtt_us));
    longest.truncate(MAX_KEPT);
    (n > 0).then_some(RoundTripOutliers {
        limit_us,
        n,
        longest,
    })
}

fn kernel_split(all: &[&EchoSeries], confidence: f64) -> Option<KernelSplit> {
    let each = |value: fn(&StampedRoundTrip) -> f64| -> Vec<Vec<Option<f64>>> {
        all.iter()
            .map(|series| {
                series
                    .stamped
                    .iter()
                    .map(|trip| Some(value(trip)))
                    .collect()
            })
            .collect()
    };
    let kernel = |trip: &StampedRoundTrip| micros(trip.kernel_ns);
    let queue = |trip: &StampedRoundTrip| micros(trip.queued_ns);
    let host = |trip: &StampedRoundTrip| {
        micros(trip.rtt_ns) - micros(trip.kernel_ns) - micros(trip.queued_ns)
    };
    Some(KernelSplit {
        kernel_rtt_us: non_negative(pooled_distribution(&each(kernel), confidence)?),
        queue_us: pooled_distribution(&each(queue), confidence).map(non_negative),
        host_us: non_negative(pooled_distribution(&each(host), confidence)?),
    })
}

/// A distribution of values that are never negative, with the interval of their mean cut off at zero.
const fn non_negative(times: DistributionSummary) -> DistributionSummary {
    DistributionSummary {
        mean_low: times.mean_low.max(0.0),
        ..times
    }
}

/// The distribution of the values that several clients measured side by side.
///
/// The interval of the mean is made from the series of the clients' means at each step: it holds the correlation
/// from one step to the next, and that among the clients.
fn pooled_distribution(each: &[Vec<Option<f64>>], confidence: f64) -> Option<DistributionSummary> {
    let values: Vec<f64> = each.iter().flatten().flatten().copied().collect();
    let pooled = DistributionSummary::from_series(&values, confidence)?;
    let steps = each.iter().map(Vec::len).max().filter(|_| each.len() > 1);
    let means: Vec<f64> = (0..steps.unwrap_or(0))
        .filter_map(|step| {
            let measured: Welford = each
                .iter()
                .filter_map(|values| *values.get(step)?)
                .collect::<Vec<f64>>()
                .iter()
                .collect();
            measured.mean()
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

fn lateness(all: &[&EchoSeries]) -> Option<Lateness> {
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
        p99: supported_quantile(&late, 0.99),
        max: *late.last()?,
    })
}

fn rtt_us(reply: Reply) -> Option<f64> {
    reply.ns().map(micros)
}

fn micros(ns: u64) -> f64 {
    ns as f64 / 1e3
}

#[cfg(test)]
mod tests {
    use super::super::outlier::{KernelAccount, SlowRoundTrip};
    use super::super::record::Departure;
    use super::super::schedule::{DepartureProcess, departure_times};
    use super::*;
    use caudal_core::echo::WaitPlace;
    use caudal_core::echo::{ClockOffset, ClockOffsetLine};
    use caudal_stats::IntervalMethod;
    use proptest::prelude::*;
    use std::time::Duration;

    const OPTIONS: EchoSummaryOptions = EchoSummaryOptions {
        confidence: 0.98,
        include_first: false,
    };

    fn series(client: u32, size: u32, rtts_us: &[u64]) -> EchoSeries {
        let reply = |us: &u64| {
            if *us == 0 {
                Reply::LOST
            } else {
                Reply::after(us * 1000)
            }
        };
        EchoSeries {
            client,
            size,
            first: rtts_us.first().map(reply),
            replies: rtts_us.iter().skip(1).map(reply).collect(),
            ..EchoSeries::default()
        }
    }

    fn record(series: Vec<EchoSeries>) -> EchoRecord {
        EchoRecord {
            series,
            clock: None,
        }
    }

    #[test]
    fn the_first_message_is_excluded_unless_it_is_asked_for() {
        let record = record(vec![series(0, 1, &[900, 10, 20, 30])]);
        let out = &record.summarise(OPTIONS)[0];
        let rtt = out.pooled.rtt_us.unwrap();
        assert_eq!((rtt.n, rtt.mean, rtt.max), (3, 20.0, 30.0));
        assert_eq!(
            (out.clients[0].replies.first_us, out.pooled.first_us),
            (Some(900.0), Some(900.0))
        );
        let within = &record.summarise(EchoSummaryOptions {
            include_first: true,
            ..OPTIONS
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
        let sizes = record.summarise(OPTIONS);
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
        let pooled = &record.summarise(OPTIONS)[0].pooled;
        assert_eq!((pooled.sent, pooled.lost), (4, 2));
        assert_eq!(pooled.rtt_us.unwrap().mean, 11.0);
        let loss = pooled.loss.unwrap();
        assert_eq!((loss.mean, loss.method), (0.5, IntervalMethod::Wilson));
    }

    #[test]
    fn without_measurements_the_summary_is_empty() {
        assert_eq!(record(vec![]).summarise(OPTIONS), []);
        let pooled = &record(vec![series(0, 1, &[])]).summarise(OPTIONS)[0].pooled;
        assert_eq!((pooled.sent, pooled.rtt_us, pooled.loss), (0, None, None));
        let all_lost = &record(vec![series(0, 1, &[0, 0, 0])]).summarise(OPTIONS)[0];
        assert_eq!(
            (all_lost.pooled.lost, all_lost.clients[0].replies.first_us),
            (2, None)
        );
    }

    #[test]
    fn the_interval_of_the_mean_comes_from_batches() {
        let rtts: Vec<u64> = (0..101).map(|nth| 50 + nth * 37 % 100).collect();
        let record = record(vec![series(0, 1, &rtts)]);
        let rtt = record.summarise(OPTIONS)[0].pooled.rtt_us.unwrap();
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
        let pooled = &record.summarise(OPTIONS)[0].pooled;
        let rtt = pooled.rtt_us.unwrap();
        assert!(rtt.mean_low == 0.0 && rtt.mean_high > 2.0 * rtt.mean);
        assert_eq!(pooled.mean_us.unwrap().low, 0.0);
    }

    #[test]
    fn clients_that_stall_together_do_not_narrow_the_interval_of_the_pooled_mean() {
        let random = |seed| -> Vec<u64> {
            let at = departure_times(
                Duration::from_micros(100),
                DepartureProcess::Poisson { seed },
                402,
            );
            at.windows(2)
                .map(|pair| 10 + (pair[1] - pair[0]) / 1000)
                .collect()
        };
        let pooled = |all: &[Vec<u64>]| {
            let series = (0..)
                .zip(all)
                .map(|(client, rtts)| series(client, 1, rtts))
                .collect();
            record(series).summarise(OPTIONS)[0].pooled.rtt_us.unwrap()
        };
        let half = |rtt: DistributionSummary| (rtt.mean_high - rtt.mean_low) / 2.0;
        let alone = pooled(&[random(1)]);
        let stalled = pooled(&[random(1), random(1)]);
        assert_eq!((alone.n, stalled.n), (400, 800));
        assert!((half(stalled) - half(alone)).abs() < 1e-9);
        // Independent clients do: four halve the interval.
        let apart = pooled(&[random(1), random(2), random(3), random(4)]);
        assert!((0.3..0.8).contains(&(half(apart) / half(alone))));
    }

    #[test]
    fn kernel_timestamps_split_a_round_trip_between_host_and_network() {
        let stamped = vec![
            StampedRoundTrip {
                rtt_ns: 30_000,
                kernel_ns: 20_000,
                queued_ns: 0,
            },
            StampedRoundTrip {
                rtt_ns: 50_000,
                kernel_ns: 25_000,
                queued_ns: 10_000,
            },
        ];
        let record = record(vec![EchoSeries {
            stamped,
            ..series(0, 1, &[9, 10])
        }]);
        let split = record.summarise(OPTIONS)[0].pooled.kernel.unwrap();
        assert_eq!(
            (
                split.kernel_rtt_us.mean,
                split.queue_us.unwrap().mean,
                split.host_us.mean,
                split.host_us.n
            ),
            (22.5, 5.0, 12.5, 2)
        );
    }

    #[test]
    fn round_trips_beyond_ten_times_the_99th_percentile_are_kept_with_where_they_waited() {
        let kept = |message, rtt_ms: u64| SlowRoundTrip {
            message,
            rtt_ns: rtt_ms * 1_000_000,
            account: KernelAccount {
                unread_ns: Some(rtt_ms * 999_000),
                ..KernelAccount::default()
            },
        };
        let mut rtts_us = vec![1000; 400];
        (rtts_us[0], rtts_us[9], rtts_us[300]) = (700_000, 643_000, 10_000);
        let mut one = series(4, 64, &rtts_us);
        for (message, rtt_ms) in [(0, 700), (9, 643), (300, 10), (1, 1)] {
            one.slowest.keep(kept(message, rtt_ms));
        }
        let record = record(vec![one]);
        let found = record.summarise(OPTIONS)[0]
            .pooled
            .outliers
            .clone()
            .unwrap();
        // 10 ms is ten times the 99th percentile and not beyond it; the first message does not count.
        assert_eq!(
            (found.n, found.limit_us, found.longest.len()),
            (1, 10_000.0, 1)
        );
        let outlier = found.longest[0];
        assert_eq!(
            (
                outlier.client,
                outlier.message,
                outlier.rtt_us,
                outlier.waited_at
            ),
            (4, 9, 643_000.0, WaitPlace::OwnSocket)
        );
        let within = EchoSummaryOptions {
            include_first: true,
            ..OPTIONS
        };
        let found = record.summarise(within)[0].pooled.outliers.clone().unwrap();
        let messages: Vec<u64> = found.longest.iter().map(|one| one.message).collect();
        assert_eq!((found.n, messages), (2, vec![0, 9]));
    }

    #[test]
    fn one_way_delays_have_the_clocks_offset_removed_and_a_bound() {
        let point = |at_ns, offset_ns| ClockOffset {
            at_ns,
            offset_ns,
            bound_ns: 2_000,
        };
        // The server's clock gains 1000 ns in 10 000 ns.
        let clock = ClockOffsetLine {
            before: point(0, 5_000_000),
            after: point(10_000, 5_001_000),
        };
        let departures: Vec<Departure> = [(0, 10, 20), (5_000, 12, 20), (10_000, 11, 26)]
            .into_iter()
            .map(|(intended_ns, up_us, down_us)| {
                let offset = clock.offset_ns(intended_ns);
                let one_way = OneWayTransit {
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
        let series = EchoSeries {
            departures,
            ..series(0, 64, &[30, 30, 32, 37])
        };
        let record = EchoRecord {
            series: vec![series],
            clock: Some(clock),
        };
        let pooled = &record.summarise(OPTIONS)[0].pooled;
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
            one_way: Some(OneWayTransit {
                up_ns,
                down_ns: -up_ns,
            }),
        };
        // Transit times of 10, 12, 11, 15 and 11 ms, behind an unknown offset.
        let ms = [10, 12, 11, 15, 11].map(|ms| way(ms * 1_000_000 - 77_000_000_000));
        let series = EchoSeries {
            departures: ms.to_vec(),
            ..series(0, 64, &[1])
        };
        let up = record(vec![series]).summarise(OPTIONS)[0]
            .pooled
            .up
            .unwrap();
        assert_eq!((up.delay_us, up.bound_us), (None, None));
        assert_eq!((up.ipdv_mean_abs_us, up.pdv_max_us), (Some(2750.0), 5000.0));
    }

    proptest! {
        #[test]
        fn no_counts_make_a_summary_panic(rtts: Vec<u64>, ways: Vec<(i64, i64, u64)>, points: [i64; 6]) {
            let departures = ways.iter().map(|(up_ns, down_ns, at)| Departure {
                intended_ns: *at,
                late_ns: *at,
                one_way: Some(OneWayTransit { up_ns: *up_ns, down_ns: *down_ns }),
            });
            let [a, b, c, d, e, f] = points;
            let clock = ClockOffsetLine {
                before: ClockOffset { at_ns: a, offset_ns: b, bound_ns: c },
                after: ClockOffset { at_ns: d, offset_ns: e, bound_ns: f },
            };
            let series = EchoSeries {
                replies: rtts.iter().map(|ns| Reply::after(*ns)).collect(),
                departures: departures.collect(),
                ..EchoSeries::default()
            };
            let record = EchoRecord { series: vec![series], clock: Some(clock) };
            let _ = (record.summarise(OPTIONS), clock.drift_ppm());
        }
    }
}
