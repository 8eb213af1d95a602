//! Packet pairs and trains over lines and shapers whose capacities are known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_core::units::BitRate;
use caudal_probe::CannotTell;
use caudal_probe::narrow_capacity::{
    PairCapacity, PairReading, TrainArrival, TrainFit, TrainShape, bulk_packets, estimate_trains,
};
use support::{Chance, Device, bucket, line, loaded_line};

const SEEDS: u64 = 20;
/// The unknown offset between two clocks, ns.
const OFFSET_NS: f64 = -5e9;

/// The arrivals of packets sent back to back: ns, with noise and rounded.
fn arrivals(devices: &[Device], bytes: u32, count: u32, chance: &mut Chance) -> Vec<f64> {
    let mut packets = vec![(0.0, f64::from(bytes)); count as usize];
    for device in devices {
        packets = device.forward(&packets, chance);
    }
    let mut last = 0.0_f64;
    let read = |(at, _): &(f64, f64)| {
        last = last
            .max(((at + chance.exponential(500.0)) / 1000.0 + chance.uniform()).floor() * 1000.0);
        last
    };
    packets.iter().map(read).collect()
}

/// Pairs, or bulks of that many packets after the first.
fn pairs(
    devices: &[Device],
    sizes: &[u32],
    packets: u32,
    count: usize,
    seed: u64,
) -> Vec<PairReading> {
    let mut chance = Chance::new(seed);
    let mut pair = |bytes: u32| {
        let arrived = arrivals(devices, bytes, packets + 1, &mut chance);
        PairReading {
            bytes: bytes * packets,
            first_delay_ns: (arrived[0] + OFFSET_NS) as i64,
            second_delay_ns: (arrived[arrived.len() - 1] + OFFSET_NS) as i64,
        }
    };
    (0..count)
        .flat_map(|_| sizes.iter().copied().map(&mut pair).collect::<Vec<_>>())
        .collect()
}

fn error_of(rate: BitRate, mbps: f64) -> f64 {
    (rate.as_f64() / 1e6 / mbps - 1.0).abs()
}

#[test]
fn the_narrow_link_is_measured_within_two_percent_with_and_without_cross_traffic() {
    for (mbps, load) in [(10.0, 0.0), (10.0, 0.5), (100.0, 0.0), (100.0, 0.5)] {
        let path = [
            line(1000.0),
            loaded_line(mbps, load),
            loaded_line(1000.0, load),
        ];
        let mut worst = 0.0_f64;
        for seed in 0..SEEDS {
            let readings = pairs(&path, &[1038, 1538], 1, 100, seed);
            let found = PairCapacity::from_pairs(&readings, 1000).unwrap();
            let error = error_of(found.capacity.rate, mbps);
            assert!(error <= 0.02, "{mbps} {load} {seed}: {found:?}");
            assert!(
                found
                    .capacity
                    .contains(BitRate::from_bps((mbps * 1e6) as u64)),
                "{found:?}"
            );
            assert!(found.confirmed_by.is_some());
            worst = worst.max(error);
        }
        println!("{mbps} Mbit/s, load {load}: worst relative error {worst:.4}");
    }
}

#[test]
fn pairs_are_too_short_for_ten_gigabits_and_bulks_are_not() {
    let path = [line(10_000.0)];
    let short = pairs(&path, &[1538], 1, 100, 1);
    assert!(matches!(
        PairCapacity::from_pairs(&short, 1000),
        Err(CannotTell::Coalesced { .. })
    ));
    let packets = bulk_packets(1230, 1000).unwrap();
    for seed in 0..SEEDS {
        let bulks = pairs(&path, &[1538], packets, 100, seed);
        let found = PairCapacity::from_pairs(&bulks, 1000).unwrap();
        assert!(error_of(found.capacity.rate, 10_000.0) < 0.03, "{found:?}");
    }
}

#[test]
fn pairs_that_all_met_queues_are_not_believed() {
    let readings: Vec<PairReading> = (0..100)
        .map(|nth| PairReading {
            bytes: 1538,
            // One of the two always waited.
            first_delay_ns: if nth % 2 == 0 { 0 } else { 2_000_000 },
            second_delay_ns: if nth % 2 == 0 { 4_000_000 } else { 3_000_000 },
        })
        .collect();
    let found = PairCapacity::from_pairs(&readings, 1000);
    assert_eq!(
        found,
        Err(CannotTell::NotConverged {
            excess_ns: 1_000_000
        })
    );
}

#[test]
fn sizes_that_disagree_are_no_capacity() {
    let mut readings = pairs(&[line(10.0)], &[1538], 1, 50, 1);
    readings.extend(pairs(&[line(12.0)], &[1038], 1, 50, 2));
    assert!(matches!(
        PairCapacity::from_pairs(&readings, 1000),
        Err(CannotTell::SizesDisagree { .. })
    ));
}

#[test]
fn what_hosts_add_to_each_pair_is_in_the_interval() {
    let truth = BitRate::from_bps(20_000_000);
    let late = |mut pair: PairReading, ns: i64| {
        pair.second_delay_ns += ns;
        pair
    };
    for seed in 0..SEEDS {
        let alone = pairs(&[line(20.0)], &[1038, 1538], 1, 100, seed);
        // Without it the interval is narrow.
        let exact = PairCapacity::from_pairs(&alone, 1000).unwrap().capacity;
        assert!(exact.relative_half_width().unwrap() < 0.01, "{exact:?}");
        let all: Vec<PairReading> = alone.iter().map(|pair| late(*pair, 15_000)).collect();
        let offset_ns = PairCapacity::host_offset_ns(&all, 1000);
        assert!((offset_ns - 15_000.0).abs() < 10_000.0, "{offset_ns}");
        let found = PairCapacity::from_pairs(&all, 1000).unwrap().capacity;
        assert!(
            !exact.contains(found.rate) && found.contains(truth),
            "{found:?}"
        );
    }
}

#[test]
fn one_pair_that_hosts_handled_otherwise_does_not_make_the_interval() {
    for seed in 0..SEEDS {
        let mut readings = pairs(&[line(20.0)], &[1538], 1, 100, seed);
        // Both packets sooner than all others, and the first of them more.
        readings[50].first_delay_ns -= 40_000;
        readings[50].second_delay_ns -= 25_000;
        let found = PairCapacity::from_pairs(&readings, 1000).unwrap().capacity;
        assert!(found.contains(BitRate::from_bps(20_000_000)), "{found:?}");
    }
}

fn train(devices: &[Device], count: u32, seed: u64) -> Vec<TrainArrival> {
    let arrived = arrivals(devices, 1538, count, &mut Chance::new(seed));
    let arrival = |at: f64| TrainArrival {
        bytes: 1538,
        at_ns: 1_000_000_000 + at as u64,
    };
    arrived.into_iter().map(arrival).collect()
}

#[test]
fn the_tail_of_a_train_gives_the_rate_of_a_shaper_and_its_knee_the_bucket() {
    for bytes in [3200.0, 15_000.0, 64_000.0] {
        let (mut worst_rate, mut worst_bytes) = (0.0_f64, 0.0_f64);
        for seed in 0..SEEDS {
            let path = [line(1000.0), bucket(10.0, bytes)];
            let fit = TrainFit::from_arrivals(&train(&path, 100, seed)).unwrap();
            let TrainShape::TokenBucket { bucket, peak } = fit.shape else {
                panic!("{bytes} {seed}: {fit:?}");
            };
            assert!(error_of(fit.rate, 10.0) < 0.02, "{fit:?}");
            assert!((bucket.as_f64() - bytes).abs() < 500.0, "{bytes}: {fit:?}");
            assert!(peak.is_none_or(|peak| peak > fit.rate));
            worst_rate = worst_rate.max(error_of(fit.rate, 10.0));
            worst_bytes = worst_bytes.max((bucket.as_f64() - bytes).abs());
        }
        println!(
            "bucket {bytes}: worst error of the rate {worst_rate:.4}, of the bucket {worst_bytes} bytes"
        );
    }
}

#[test]
fn a_line_has_no_knee() {
    for mbps in [10.0, 100.0, 500.0] {
        for seed in 0..SEEDS {
            let fit = TrainFit::from_arrivals(&train(&[line(mbps)], 60, seed)).unwrap();
            assert_eq!(fit.shape, TrainShape::OneRate, "{mbps} {seed}: {fit:?}");
            assert!(error_of(fit.rate, mbps) < 0.02, "{fit:?}");
        }
    }
}

#[test]
fn a_train_that_hardly_outlasts_the_bucket_says_so() {
    let short = train(&[line(1000.0), bucket(10.0, 1538.0 * 36.0)], 40, 1);
    assert!(matches!(
        TrainFit::from_arrivals(&short),
        Err(CannotTell::TrainTooShort { .. })
    ));
}

#[test]
fn several_trains_have_a_mean_with_an_interval_and_a_bucket() {
    let path = [line(1000.0), bucket(20.0, 15_000.0)];
    let trains: Vec<_> = (0..7).map(|seed| train(&path, 100, seed)).collect();
    let found = estimate_trains(&trains, 0.95).unwrap();
    assert!(error_of(found.rate.rate, 20.0) < 0.02, "{found:?}");
    assert_eq!((found.rate.readings, found.rate.confidence), (7, 0.95));
    assert!(
        (found.bucket.unwrap().as_f64() - 15_000.0).abs() < 500.0,
        "{found:?}"
    );
    assert_eq!(estimate_trains(&[], 0.95), Err(CannotTell::NoReadings));
    assert_eq!(
        estimate_trains(&[vec![]], 0.95),
        Err(CannotTell::NoReadings)
    );
}

#[test]
fn equal_or_disordered_arrivals_are_no_rate() {
    let at = |at_ns| TrainArrival { bytes: 1538, at_ns };
    assert_eq!(
        TrainFit::from_arrivals(&[at(7); 20]),
        Err(CannotTell::AllEqual)
    );
    let disordered: Vec<_> = (0..20).map(|nth| at(1000 - nth)).collect();
    assert!(TrainFit::from_arrivals(&disordered).is_err());
    let equal = [PairReading {
        bytes: 1538,
        first_delay_ns: 5,
        second_delay_ns: 5,
    }; 50];
    assert!(matches!(
        PairCapacity::from_pairs(&equal, 0),
        Err(CannotTell::Coalesced { percent: 100 })
    ));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_pairs_and_no_trains_cause_a_panic(
        raw in proptest::collection::vec((0_u32..4, proptest::num::i64::ANY, proptest::num::i64::ANY), 0..80),
        shift in 0_u32..63,
        noise_ns in 0_u64..,
    ) {
        let pairs: Vec<PairReading> = raw
            .iter()
            .map(|(bytes, first, second)| PairReading {
                bytes: *bytes,
                first_delay_ns: first >> shift,
                second_delay_ns: second >> shift,
            })
            .collect();
        if let Ok(found) = PairCapacity::from_pairs(&pairs, noise_ns >> shift) {
            proptest::prop_assert!(found.capacity.contains(found.capacity.rate));
        }
        let mut train: Vec<TrainArrival> = raw
            .iter()
            .map(|(bytes, at, _)| TrainArrival { bytes: *bytes, at_ns: at.unsigned_abs() >> shift })
            .collect();
        train.sort_by_key(|arrival| arrival.at_ns);
        if let Ok(fit) = TrainFit::from_arrivals(&train) {
            proptest::prop_assert!(fit.rate > BitRate::ZERO);
        }
    }
}
