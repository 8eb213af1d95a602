//! The rate of a train's tail, and the bucket that its head went through.

use crate::cannot_tell::CannotTell;
use crate::line_fit::LineFit;
use crate::rate_estimate::rate_of;
use caudal_core::units::{BitRate, ByteCount};

/// The arrival of one packet of a train that left back to back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainArrival {
    /// Its size on the wire, bytes.
    pub bytes: u32,
    /// When its last bit arrived, ns of any clock.
    pub at_ns: u64,
}

/// Minimum arrivals per train.
const MIN_ARRIVALS: usize = 10;
/// Maximum arrivals of a train that are used: the fit compares all pairs.
const MAX_ARRIVALS: usize = 2000;
/// Minimum arrivals after the knee.
const MIN_TAIL: usize = 8;
/// Minimum ratio of the rate of the head to that of the tail for a knee.
const MIN_KNEE: f64 = 1.5;
/// Maximum time from the first arrival to another, ns: a minute.
const MAX_NS: u64 = 60_000_000_000;

/// What a train went through.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum TrainShape {
    /// All of it came at one rate: a line, or a bucket larger than the train.
    OneRate,
    /// A head came faster: the bucket's content.
    TokenBucket {
        /// The size of the bucket: the bytes on the wire that pass at once.
        bucket: ByteCount,
        /// The rate of the head, that of the line before or behind the bucket; `None` when all of it came at one time.
        peak: Option<BitRate>,
    },
}

/// What one train says.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainFit {
    /// The sustained rate: that of the tail.
    pub rate: BitRate,
    /// What it went through.
    pub shape: TrainShape,
    /// The bytes of the train that arrived, on the wire.
    pub train: ByteCount,
    /// The arrivals in the tail.
    pub tail: usize,
}

impl TrainFit {
    /// The rate of a train that left back to back, and the bucket in its way, from its arrivals in order.
    ///
    /// A token bucket of `b` bytes and rate `r` lets `b + r · t` bytes pass in `t`, of which the line's rate gives the head. The knee
    /// is where two lines through the cumulative arrivals leave the smallest squares of times; the tail's line at the first
    /// arrival is the bucket.
    ///
    /// # Errors
    /// When there are too few arrivals, times fall, or the tail behind a knee is too short.
    pub fn from_arrivals(arrivals: &[TrainArrival]) -> Result<Self, CannotTell> {
        let points = cumulative(arrivals)?;
        let train_bytes = points[points.len() - 1].0;
        let knee = knee(&points);
        let (head, tail) = points.split_at(knee);
        let whole = ns_per_byte(&points)?;
        let behind = ns_per_byte(tail).ok();
        let before = if knee == 0 {
            None
        } else {
            // A step from the head to the tail is the tail's: the head ends before it.
            head_ns_per_byte(head)
        };
        let shape = match (before, behind) {
            (Some(before), Some(behind)) if behind.slope > MIN_KNEE * before => Some(behind),
            _ => None,
        };
        let train = ByteCount::new(train_bytes as u64);
        let Some(behind) = shape else {
            let rate = rate_of(whole.slope).ok_or(CannotTell::AllEqual)?;
            return Ok(Self {
                rate,
                shape: TrainShape::OneRate,
                train,
                tail: points.len(),
            });
        };
        if tail.len() < MIN_TAIL {
            return Err(CannotTell::TrainTooShort {
                train_bytes: train_bytes as u64,
            });
        }
        // At time zero, the first arrival, the tail's line is at the bytes that the bucket held.
        let bucket = -behind.intercept / behind.slope;
        Ok(Self {
            rate: rate_of(behind.slope).ok_or(CannotTell::AllEqual)?,
            shape: TrainShape::TokenBucket {
                bucket: ByteCount::new(bucket.max(0.0) as u64),
                peak: before.and_then(rate_of),
            },
            train,
            tail: tail.len(),
        })
    }
}

/// The arrivals as (bytes including this packet, ns since the first).
fn cumulative(arrivals: &[TrainArrival]) -> Result<Vec<(f64, f64)>, CannotTell> {
    let first = arrivals.first().ok_or(CannotTell::NoReadings)?.at_ns;
    if arrivals.len() < MIN_ARRIVALS {
        return Err(CannotTell::TooFew {
            what: "arrivals of a train",
            have: arrivals.len() as u64,
            need: MIN_ARRIVALS as u64,
        });
    }
    if arrivals
        .windows(2)
        .any(|pair| pair[1].at_ns < pair[0].at_ns)
    {
        return Err(CannotTell::Implausible("arrivals are not in order"));
    }
    let mut bytes = 0.0;
    let points: Vec<(f64, f64)> = arrivals
        .iter()
        .take(MAX_ARRIVALS)
        .filter(|arrival| arrival.at_ns - first <= MAX_NS)
        .map(|arrival| {
            bytes += f64::from(arrival.bytes);
            (bytes, (arrival.at_ns - first) as f64)
        })
        .collect();
    if points.len() < MIN_ARRIVALS || points[points.len() - 1].1 <= 0.0 {
        return Err(CannotTell::AllEqual);
    }
    Ok(points)
}

fn ns_per_byte(points: &[(f64, f64)]) -> Result<LineFit, CannotTell> {
    let line = LineFit::through(points).ok_or(CannotTell::AllEqual)?;
    Some(line)
        .filter(|line| line.slope > 0.0)
        .ok_or(CannotTell::AllEqual)
}

/// The time per byte in the head; 0 when it came at one time.
fn head_ns_per_byte(head: &[(f64, f64)]) -> Option<f64> {
    let (first, last) = (head.first()?, head.last()?);
    let bytes = last.0 - first.0;
    Some(if bytes > 0.0 {
        (last.1 - first.1) / bytes
    } else {
        0.0
    })
}

/// The number of points before the knee: that for which two lines leave the smallest squares; 0 without one.
fn knee(points: &[(f64, f64)]) -> usize {
    let forward = residuals(points.iter());
    let backward = residuals(points.iter().rev());
    let split = (1..points.len() - 2).min_by(|one, other| {
        let total = |knee: usize| forward[knee - 1] + backward[points.len() - knee - 1];
        total(*one).total_cmp(&total(*other))
    });
    split.unwrap_or(0)
}

/// For each prefix of the points, the squares that a line by least squares leaves in y.
fn residuals<'a>(points: impl Iterator<Item = &'a (f64, f64)>) -> Vec<f64> {
    let (mut n, mut mean_x, mut mean_y) = (0.0, 0.0, 0.0);
    let (mut xx, mut xy, mut yy) = (0.0, 0.0, 0.0);
    points
        .map(|(x, y)| {
            n += 1.0;
            let (dx, dy) = (x - mean_x, y - mean_y);
            mean_x += dx / n;
            mean_y += dy / n;
            xx += dx * (x - mean_x);
            xy += dx * (y - mean_y);
            yy += dy * (y - mean_y);
            if xx > 0.0 {
                (yy - xy * xy / xx).max(0.0)
            } else {
                yy
            }
        })
        .collect()
}
