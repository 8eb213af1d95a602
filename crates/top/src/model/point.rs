//! One interval of a test as the panels show it, and its reduction to the columns of a screen.

use caudal_core::connect::ConnectInterval;
use caudal_core::echo::RoundTripInterval;
use caudal_core::interval::{FlowInterval, IntervalRow};
use caudal_core::plan::Direction;
use caudal_core::quality::QualityInterval;

/// The smallest, a middle and the largest of several values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Band {
    /// The smallest.
    pub low: f64,
    /// The mean or the median.
    pub middle: f64,
    /// The largest.
    pub high: f64,
}

/// One interval of a test, over all of its flows.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct TestPoint {
    /// Its beginning, s after the start.
    pub start_s: f64,
    /// Its end, s.
    pub end_s: f64,
    /// Goodput to the server, bit/s.
    pub up_bps: Option<f64>,
    /// Goodput from the server, bit/s.
    pub down_bps: Option<f64>,
    /// Connections completed per second.
    pub connections_per_s: Option<f64>,
    /// Round-trip times, µs; of a test of the connection rate the times to connect.
    pub rtt_us: Option<Band>,
    /// The share of the datagrams or messages lost; of TCP the share of the payload that was retransmitted.
    pub loss: Option<f64>,
    /// `true` for a part of the warm-up.
    pub is_omitted: bool,
}

impl TestPoint {
    /// An interval of a bulk transfer.
    pub(super) fn of_flows(flows: &[FlowInterval]) -> Option<Self> {
        let row = IntervalRow {
            flows: flows.to_vec(),
        };
        let start_s = flows.iter().map(|flow| flow.interval.start_s);
        let end_s = flows.iter().map(|flow| flow.interval.end_s);
        let goodput = |direction: Direction| {
            let mut known = row
                .of_direction(direction)
                .filter_map(|flow| flow.interval.goodput_bps.or(flow.interval.sent_bps))
                .peekable();
            known.peek().is_some().then(|| known.sum())
        };
        let times = flows.iter().filter_map(|flow| flow.interval.tcp?.rtt_us);
        let times: Vec<f64> = times.filter(|us| *us > 0).map(f64::from).collect();
        let mean = times.iter().sum::<f64>() / times.len().max(1) as f64;
        Some(Self {
            start_s: start_s.reduce(f64::min)?,
            end_s: end_s.reduce(f64::max)?,
            up_bps: goodput(Direction::Up),
            down_bps: goodput(Direction::Down),
            rtt_us: (!times.is_empty()).then(|| Band {
                low: times.iter().copied().fold(f64::INFINITY, f64::min),
                middle: mean,
                high: times.iter().copied().fold(0.0, f64::max),
            }),
            loss: loss_of(flows),
            is_omitted: flows.iter().all(|flow| flow.interval.omitted),
            ..Self::default()
        })
    }

    /// An interval of a test of latency under load.
    pub(super) fn of_quality(interval: &QualityInterval) -> Self {
        let rtt_us = interval.rtt_us.map(|middle| Band {
            low: middle,
            middle,
            high: interval.rtt_max_us.unwrap_or(middle),
        });
        Self {
            start_s: interval.start_s,
            end_s: interval.end_s,
            up_bps: interval.up_bps,
            down_bps: interval.down_bps,
            rtt_us,
            loss: interval.loss(),
            ..Self::default()
        }
    }

    /// An interval of a round-trip test.
    pub(super) fn of_round_trips(interval: &RoundTripInterval) -> Self {
        let messages = interval.replies + interval.lost;
        let band = |low, middle, high| Band { low, middle, high };
        Self {
            start_s: interval.start_s,
            end_s: interval.end_s,
            rtt_us: interval.mean_us.map(|mean| {
                band(
                    interval.min_us.unwrap_or(mean),
                    mean,
                    interval.max_us.unwrap_or(mean),
                )
            }),
            loss: (messages > 0).then(|| interval.lost as f64 / messages as f64),
            ..Self::default()
        }
    }

    /// An interval of a test of the connection rate.
    pub(super) fn of_connections(interval: &ConnectInterval) -> Self {
        let attempts = interval.completed + interval.failed;
        Self {
            start_s: interval.start_s,
            end_s: interval.end_s,
            connections_per_s: Some(interval.per_s),
            rtt_us: interval.connect_p50_us.map(|middle| Band {
                low: middle,
                middle,
                high: interval.connect_max_us.unwrap_or(middle),
            }),
            loss: (attempts > 0).then(|| interval.failed as f64 / attempts as f64),
            ..Self::default()
        }
    }

    /// This interval and the next as one.
    pub(super) fn joined(&self, next: &Self) -> Self {
        let (one, other) = (self.end_s - self.start_s, next.end_s - next.start_s);
        let mean = |a: Option<f64>, b: Option<f64>| match (a, b) {
            (Some(a), Some(b)) if one + other > 0.0 => Some((a * one + b * other) / (one + other)),
            (a, b) => a.or(b),
        };
        let rtt_us = match (self.rtt_us, next.rtt_us) {
            (Some(a), Some(b)) => Some(Band {
                low: a.low.min(b.low),
                middle: mean(Some(a.middle), Some(b.middle)).unwrap_or(a.middle),
                high: a.high.max(b.high),
            }),
            (a, b) => a.or(b),
        };
        Self {
            start_s: self.start_s,
            end_s: next.end_s,
            up_bps: mean(self.up_bps, next.up_bps),
            down_bps: mean(self.down_bps, next.down_bps),
            connections_per_s: mean(self.connections_per_s, next.connections_per_s),
            rtt_us,
            loss: mean(self.loss, next.loss),
            is_omitted: self.is_omitted && next.is_omitted,
        }
    }
}

/// The share lost, or of TCP retransmitted, of what all flows sent; `None` where nothing tells.
fn loss_of(flows: &[FlowInterval]) -> Option<f64> {
    let (mut gone, mut all, mut is_known) = (0.0, 0.0, false);
    for flow in flows {
        let interval = &flow.interval;
        if let Some((datagrams, lost)) = interval
            .udp
            .and_then(|udp| Some((udp.datagrams?, udp.lost?)))
        {
            is_known = true;
            gone += lost as f64;
            all += datagrams as f64 + lost as f64;
        } else if let Some(again) = interval.tcp.and_then(|tcp| tcp.retransmitted_bytes) {
            is_known = true;
            gone += again as f64;
            all += interval.bytes.unwrap_or(0) as f64 + again as f64;
        }
    }
    is_known.then(|| {
        if all > 0.0 {
            (gone / all).max(0.0)
        } else {
            0.0
        }
    })
}

/// The values of a column of the screen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScreenColumn {
    /// The values within it.
    pub band: Band,
    /// `true` where all of it is warm-up.
    pub is_omitted: bool,
}

/// The points between two times in so many columns; `None` for a column without a value.
#[must_use]
pub fn columns(
    points: &[TestPoint],
    (from_s, to_s): (f64, f64),
    count: usize,
    value: impl Fn(&TestPoint) -> Option<Band>,
) -> Vec<Option<ScreenColumn>> {
    let mut columns: Vec<Option<(ScreenColumn, f64)>> = vec![None; count];
    let width_s = (to_s - from_s) / count.max(1) as f64;
    if width_s <= 0.0 || !width_s.is_finite() {
        return vec![None; count];
    }
    let place = |time_s: f64| (time_s - from_s) / width_s;
    for point in points {
        let Some(band) = value(point) else { continue };
        let first = place(point.start_s).max(0.0).floor() as usize;
        let last = (place(point.end_s).min(count as f64) - 1e-9).max(0.0);
        if place(point.end_s) <= 0.0 || place(point.start_s) >= count as f64 {
            continue;
        }
        let last = (last.floor() as usize).max(first);
        for (column, cell) in columns.iter_mut().enumerate().take(last + 1).skip(first) {
            let begin_s = (from_s + column as f64 * width_s).max(point.start_s);
            let end_s = (from_s + (column + 1) as f64 * width_s).min(point.end_s);
            let share = (end_s - begin_s).max(width_s * 1e-6);
            let added = ScreenColumn {
                band,
                is_omitted: point.is_omitted,
            };
            *cell = Some(match cell {
                None => (added, share),
                Some((known, before)) => {
                    let all = *before + share;
                    let middle = (known.band.middle * *before + band.middle * share) / all;
                    let band = Band {
                        low: known.band.low.min(band.low),
                        middle,
                        high: known.band.high.max(band.high),
                    };
                    let is_omitted = known.is_omitted && point.is_omitted;
                    (ScreenColumn { band, is_omitted }, all)
                }
            });
        }
    }
    columns
        .into_iter()
        .map(|cell| cell.map(|(column, _)| column))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(start_s: f64, end_s: f64, bps: f64) -> TestPoint {
        TestPoint {
            start_s,
            end_s,
            up_bps: Some(bps),
            ..TestPoint::default()
        }
    }

    fn shown(points: &[TestPoint], range: (f64, f64), count: usize) -> Vec<Option<f64>> {
        let value = |point: &TestPoint| {
            let middle = point.up_bps?;
            Some(Band {
                low: middle,
                middle,
                high: middle,
            })
        };
        columns(points, range, count, value)
            .into_iter()
            .map(|column| column.map(|column| column.band.middle))
            .collect()
    }

    #[test]
    fn an_interval_fills_its_columns_and_no_others() {
        let points = [point(0.0, 1.0, 10.0), point(2.0, 3.0, 30.0)];
        assert_eq!(
            shown(&points, (0.0, 4.0), 4),
            [Some(10.0), None, Some(30.0), None]
        );
        let fine = shown(&points, (0.0, 4.0), 8);
        assert_eq!(fine[..3], [Some(10.0), Some(10.0), None]);
        assert_eq!(shown(&points, (2.0, 3.0), 2), [Some(30.0), Some(30.0)]);
    }

    #[test]
    fn a_column_of_several_intervals_has_their_mean_over_time() {
        let points = [point(0.0, 1.0, 10.0), point(1.0, 4.0, 30.0)];
        assert_eq!(shown(&points, (0.0, 4.0), 1), [Some(25.0)]);
    }

    #[test]
    fn no_time_and_no_columns_are_nothing() {
        let points = [point(0.0, 1.0, 10.0)];
        assert_eq!(shown(&points, (0.0, 0.0), 3), [None; 3]);
        assert!(shown(&points, (0.0, 1.0), 0).is_empty());
        assert_eq!(shown(&points, (5.0, 6.0), 2), [None; 2]);
    }

    #[test]
    fn joined_intervals_keep_their_extremes() {
        let band = |low, middle, high| Some(Band { low, middle, high });
        let first = TestPoint {
            rtt_us: band(1.0, 2.0, 3.0),
            ..point(0.0, 1.0, 10.0)
        };
        let second = TestPoint {
            rtt_us: band(2.0, 4.0, 9.0),
            ..point(1.0, 2.0, 20.0)
        };
        let joined = first.joined(&second);
        assert_eq!(joined.rtt_us, band(1.0, 3.0, 9.0));
        assert_eq!(joined.up_bps, Some(15.0));
        assert_eq!((joined.start_s, joined.end_s), (0.0, 2.0));
    }
}
