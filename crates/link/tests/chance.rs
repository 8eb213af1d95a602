//! Distributions of random impairments, at fixed seeds.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_link::corruption::{Corruption, Damage, ErrorRate};
use caudal_link::counters::DropReason;
use caudal_link::duplication::Duplication;
use caudal_link::frame::Frame;
use caudal_link::jitter::{DelaySampler, Jitter};
use caudal_link::loss::{FrameLoss, GilbertElliott, LossModel};
use caudal_link::probability::Probability;
use caudal_link::random::Rng;
use caudal_link::reordering::Reordering;
use caudal_link::stage::{Stage, TimedFrame};
use caudal_link::time::SimTime;
use caudal_topology::FrameOrder;
use statrs::distribution::{ChiSquared, ContinuousCDF, Normal};

const DRAWS: usize = 100_000;

fn probability(fraction: f64) -> Probability {
    Probability::new(fraction).unwrap()
}

/// The probability of a chi-square at least this large when `expected` holds.
fn chi_square(found: &[f64], expected: &[f64]) -> f64 {
    let pairs = found.iter().zip(expected);
    let statistic: f64 = pairs.map(|(f, e)| (f - e).powi(2) / e).sum();
    ChiSquared::new((found.len() - 1) as f64)
        .unwrap()
        .sf(statistic)
}

/// The probability of a Kolmogorov–Smirnov distance at least this large (asymptotic series).
fn kolmogorov_smirnov(distribution: DelaySampler, seed: u64, cdf: impl Fn(f64) -> f64) -> f64 {
    let mut rng = Rng::new(seed, 0);
    let mut draws: Vec<u64> = (0..DRAWS).map(|_| distribution.draw(&mut rng)).collect();
    draws.sort_unstable();
    let n = DRAWS as f64;
    let distance = draws.iter().enumerate().map(|(rank, ns)| {
        let expected = cdf(*ns as f64);
        (expected - rank as f64 / n)
            .abs()
            .max((expected - (rank + 1) as f64 / n).abs())
    });
    let lambda = distance.fold(0.0, f64::max) * (n.sqrt() + 0.12 + 0.11 / n.sqrt());
    2.0 * (1..=100)
        .map(|k| {
            f64::from(if k % 2 == 1 { 1 } else { -1 })
                * (-2.0 * f64::from(k * k) * lambda * lambda).exp()
        })
        .sum::<f64>()
}

/// For each of `frames` frames, `true` when it arrived.
fn arrived(stage: &mut dyn Stage, frames: u64) -> Vec<bool> {
    let mut out = Vec::new();
    let mut arrived = vec![false; frames as usize];
    for id in 0..frames {
        stage.offer(SimTime::from_ns(id), Frame::with_length(id, 1518), &mut out);
    }
    for delivery in out {
        arrived[delivery.frame.id as usize] = true;
    }
    arrived
}

#[test]
fn independent_loss_leaves_geometric_runs() {
    for (seed, p) in [(1, 0.01), (2, 0.1), (3, 0.5)] {
        let model = LossModel::Independent(probability(p));
        let arrived = arrived(&mut FrameLoss::new(model, Rng::new(seed, 0)), DRAWS as u64);
        let lost = arrived.iter().filter(|arrived| !**arrived).count() as f64;
        let n = DRAWS as f64;
        assert!(
            chi_square(&[lost, n - lost], &[n * p, n * (1.0 - p)]) > 0.001,
            "{lost} at {p}"
        );
        // Runs of losses: k long with probability (1 - p) p^(k - 1).
        let mut runs = [0.0; 3];
        for run in arrived
            .chunk_by(|one, next| one == next)
            .filter(|run| !run[0])
        {
            runs[run.len().min(3) - 1] += 1.0;
        }
        let total: f64 = runs.iter().sum();
        let expected = [1.0 - p, (1.0 - p) * p, p * p].map(|share| total * share);
        let cells = if expected[2] > 5.0 { 3 } else { 2 };
        assert!(
            chi_square(&runs[..cells], &expected[..cells]) > 0.001,
            "{runs:?} at {p}"
        );
    }
}

#[test]
fn gilbert_elliott_loss_has_its_mean_and_its_burst_length() {
    let channel = GilbertElliott {
        good_to_bad: probability(0.01),
        bad_to_good: probability(0.25),
        loss_in_good: Probability::NEVER,
        loss_in_bad: Probability::ALWAYS,
    };
    let mut loss = FrameLoss::new(LossModel::Bursts(channel), Rng::new(5, 0));
    let arrived = arrived(&mut loss, 10 * DRAWS as u64);
    let lost = arrived.iter().filter(|arrived| !**arrived).count() as f64;
    let mean = channel.mean_loss().unwrap();
    assert!((mean - 0.01 / 0.26).abs() < 1e-12);
    assert!(
        (lost / (10.0 * DRAWS as f64) / mean - 1.0).abs() < 0.03,
        "{lost}"
    );
    // Bursts are geometric with mean 1 / `bad_to_good`.
    let mut bursts = [0.0; 8];
    for burst in arrived
        .chunk_by(|one, next| one == next)
        .filter(|run| !run[0])
    {
        bursts[burst.len().min(8) - 1] += 1.0;
    }
    let total: f64 = bursts.iter().sum();
    let longer = |k: i32| 0.75_f64.powi(k);
    let expected = [0, 1, 2, 3, 4, 5, 6, 7]
        .map(|k| total * (longer(k) - if k < 7 { longer(k + 1) } else { 0.0 }));
    assert!(
        chi_square(&bursts, &expected) > 0.001,
        "{bursts:?} {expected:?}"
    );
}

#[test]
fn losses_at_given_positions_are_those_and_no_others() {
    let mut loss = FrameLoss::new(LossModel::Positions([0, 3, 4].into()), Rng::new(0, 0));
    let arrived = arrived(&mut loss, 7);
    assert_eq!(arrived, [false, true, true, false, false, true, true]);
}

#[test]
fn jitter_has_the_distribution_it_is_given() {
    let ms = Duration::from_millis;
    let uniform = kolmogorov_smirnov(DelaySampler::uniform(ms(10), ms(30)), 1, |ns| {
        (ns - 1e7) / 2e7
    });
    assert!(uniform > 0.001, "{uniform}");
    let expected = Normal::new(5e7, 5e6).unwrap();
    let normal = kolmogorov_smirnov(DelaySampler::normal(ms(50), ms(5)), 2, |ns| {
        expected.cdf(ns)
    });
    assert!(normal > 0.001, "{normal}");
    let shape = DelaySampler::pareto(ms(10), 2.5).unwrap();
    let pareto = kolmogorov_smirnov(shape, 3, |ns| 1.0 - (1e7 / ns).powf(2.5));
    assert!(pareto > 0.001, "{pareto}");
    // The test can fail: the same draws against a distribution that is one percent off.
    let wrong = kolmogorov_smirnov(DelaySampler::normal(ms(50), ms(5)), 2, |ns| {
        expected.cdf(ns * 1.01)
    });
    assert!(wrong < 1e-6, "{wrong}");
    assert!(DelaySampler::pareto(ms(10), 0.0).is_err());
}

fn through_jitter(order: FrameOrder) -> Vec<TimedFrame> {
    let spread = DelaySampler::uniform(Duration::ZERO, Duration::from_millis(10));
    let mut jitter = Jitter::new(spread, order, Rng::new(4, 0));
    let mut out = Vec::new();
    for id in 0..1000 {
        jitter.offer(
            SimTime::from_ns(id * 1_000_000),
            Frame::with_length(id, 64),
            &mut out,
        );
    }
    jitter.advance(SimTime::MAX, &mut out);
    assert!(out.is_sorted_by_key(|delivery| delivery.at));
    out
}

#[test]
fn jitter_preserves_the_order_only_when_asked_to() {
    let preserved = through_jitter(FrameOrder::Preserved);
    assert!(preserved.is_sorted_by_key(|delivery| delivery.frame.id));
    let free = through_jitter(FrameOrder::Free);
    assert!(!free.is_sorted_by_key(|delivery| delivery.frame.id));
    assert_eq!((preserved.len(), free.len()), (1000, 1000));
}

#[test]
fn a_frame_held_back_arrives_behind_as_many_frames_as_its_extent() {
    let mut stage = Reordering::new(probability(0.01), 3, Duration::from_secs(1), Rng::new(5, 0));
    let mut out = Vec::new();
    for id in 0..10_000 {
        stage.offer(SimTime::from_ns(id), Frame::with_length(id, 64), &mut out);
    }
    stage.advance(SimTime::MAX, &mut out);
    assert_eq!(out.len(), 10_000);
    let mut expected = 0;
    let mut late = 0;
    for (position, delivery) in out.iter().enumerate() {
        if delivery.frame.id < expected {
            late += 1;
            let passed = out[..position]
                .iter()
                .filter(|before| before.frame.id > delivery.frame.id);
            assert!(passed.count() >= 3);
        }
        expected = expected.max(delivery.frame.id);
    }
    assert!((60..140).contains(&late), "{late}");
}

#[test]
fn a_frame_held_back_is_delivered_after_the_hold_time() {
    let mut stage = Reordering::new(
        Probability::ALWAYS,
        1,
        Duration::from_millis(5),
        Rng::new(5, 0),
    );
    let mut out = Vec::new();
    stage.offer(SimTime::START, Frame::with_length(0, 64), &mut out);
    assert_eq!(stage.next_event(), Some(SimTime::from_ns(5_000_000)));
    stage.advance(SimTime::from_ns(9_000_000), &mut out);
    assert_eq!(out[0].at, SimTime::from_ns(5_000_000));
}

#[test]
fn a_bit_error_rate_damages_long_frames_more_often() {
    for (length, bits) in [(64, 512), (1518, 12_144)] {
        let errors = ErrorRate::PerBit(probability(1e-5));
        let mut stage = Corruption::new(errors, Damage::Detected, Rng::new(6, 0));
        let mut out = Vec::new();
        let n = 10 * DRAWS as u64;
        for id in 0..n {
            stage.offer(SimTime::START, Frame::with_length(id, length), &mut out);
        }
        let damaged = stage
            .counters()
            .dropped
            .by(DropReason::CheckSequence)
            .frames as f64;
        let p = 1.0 - (1.0_f64 - 1e-5).powi(bits);
        let (n, expected) = (n as f64, n as f64 * p);
        assert!(chi_square(&[damaged, n - damaged], &[expected, n - expected]) > 0.001);
    }
}

#[test]
fn silent_corruption_inverts_one_bit_behind_the_header() {
    let mut stage = Corruption::new(
        ErrorRate::PerFrame(Probability::ALWAYS),
        Damage::Silent,
        Rng::new(7, 0),
    );
    let mut out = Vec::new();
    for id in 0..100 {
        stage.offer(SimTime::START, Frame::from_bytes(id, &[0; 100]), &mut out);
    }
    assert_eq!(out.len(), 100);
    for delivery in out {
        let bytes = delivery.frame.bytes().unwrap();
        assert!(delivery.frame.corrupted);
        assert_eq!(bytes.iter().map(|byte| byte.count_ones()).sum::<u32>(), 1);
        assert!(bytes[..14].iter().all(|byte| *byte == 0));
    }
}

#[test]
fn the_number_of_duplicates_follows_the_probability() {
    let mut stage = Duplication::new(probability(0.2), Rng::new(8, 0));
    let mut out = Vec::new();
    for id in 0..DRAWS as u64 {
        stage.offer(SimTime::START, Frame::with_length(id, 64), &mut out);
    }
    let (n, added) = (DRAWS as f64, stage.counters().added.frames as f64);
    assert_eq!(out.len(), DRAWS + added as usize);
    assert!(chi_square(&[added, n - added], &[n * 0.2, n * 0.8]) > 0.001);
}

#[test]
fn random_numbers_are_the_same_on_every_machine() {
    let ms = Duration::from_millis;
    let mut rng = Rng::new(2026, 7);
    let draws = [
        rng.next_u64(),
        rng.below(1_000_000),
        DelaySampler::normal(ms(50), ms(5)).draw(&mut rng),
        DelaySampler::pareto(ms(10), 2.5).unwrap().draw(&mut rng),
        DelaySampler::uniform(ms(10), ms(30)).draw(&mut rng),
    ];
    let known = [
        15_971_805_258_426_088_959,
        755_803,
        47_959_969,
        10_959_297,
        22_186_108,
    ];
    assert_eq!(draws, known);
}
