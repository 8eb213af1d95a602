//! The capacities of hops on paths whose capacities are known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_core::units::BitRate;
use caudal_probe::hop_capacity::{
    HopAnswer, HopReading, LinkClass, PathCapacities, Priming, VpsSettings, demands,
};
use caudal_probe::{CannotTell, Confidence};
use support::{SIZES, TestHop, TestPath, bucket, line, loaded_line};

const SEEDS: u64 = 20;

fn path(hops: &[&[support::Device]]) -> TestPath {
    TestPath::of(hops.iter().map(|devices| TestHop::of(devices)).collect())
}

fn capacities(readings: &[HopReading]) -> PathCapacities {
    PathCapacities::from_readings(readings, &VpsSettings::default())
}

/// Checks the capacity of every hop over many seeds: (Mbit/s, relative tolerance).
fn check_capacities(path: &TestPath, rounds: usize, expected: &[(f64, f64)]) {
    let mut worst = vec![0.0_f64; expected.len()];
    for seed in 0..SEEDS {
        let found = capacities(&path.both(rounds, seed));
        for (nth, (mbps, tolerance)) in expected.iter().enumerate() {
            let link = &found.links[nth];
            let capacity = link
                .statement
                .capacity
                .unwrap_or_else(|| panic!("seed {seed}: {link:?}"));
            let error = (capacity.rate.as_f64() / 1e6 / mbps - 1.0).abs();
            assert!(error <= *tolerance, "seed {seed}: {error} at {link:?}");
            worst[nth] = worst[nth].max(error);
        }
    }
    println!("worst relative errors {worst:.4?}");
}

fn classes(found: &PathCapacities) -> Vec<LinkClass> {
    let classes = found.links.iter().map(|link| link.statement.class.clone());
    classes.collect()
}

#[test]
fn serialising_links_are_measured_within_six_percent_and_ten_behind_a_slower_one() {
    let path = path(&[&[line(100.0)], &[line(10.0)], &[line(50.0)]]);
    check_capacities(&path, 30, &[(100.0, 0.06), (10.0, 0.06), (50.0, 0.10)]);
    let found = capacities(&path.both(30, 7));
    assert_eq!(found.narrow.as_ref().unwrap().ttl, 2);
    assert!(found.narrow.unwrap().contested_by.is_empty());
}

#[test]
fn three_hundred_megabits_are_measured_within_ten_percent() {
    check_capacities(&path(&[&[line(300.0)]]), 40, &[(300.0, 0.10)]);
    let behind = path(&[&[line(1000.0)], &[line(300.0)]]);
    for seed in 0..SEEDS {
        let rate = capacities(&behind.both(60, seed)).links[1]
            .statement
            .capacity
            .unwrap()
            .rate;
        assert!(
            (rate.as_f64() / 3e8 - 1.0).abs() < 0.10,
            "seed {seed}: {rate}"
        );
    }
}

#[test]
fn cross_traffic_takes_more_readings_and_does_not_move_the_capacity() {
    let path = path(&[&[line(100.0)], &[loaded_line(10.0, 0.5)], &[line(50.0)]]);
    check_capacities(&path, 64, &[(100.0, 0.06), (10.0, 0.06), (50.0, 0.10)]);
}

#[test]
fn replies_that_grow_with_the_probe_are_accounted_for() {
    let small = [84, 140, 196, 252, 308, 364, 420, 476, 532, 560, 580];
    let path = path(&[&[line(100.0)], &[line(10.0)]]);
    for seed in 0..SEEDS {
        let found = capacities(&path.readings(&small, 40, Priming::Unprimed, seed));
        for (link, mbps) in found.links.iter().zip([100.0, 10.0]) {
            let rate = link.statement.capacity.unwrap().rate.as_f64() / 1e6;
            assert!((rate / mbps - 1.0).abs() < 0.06, "seed {seed}: {rate}");
        }
    }
}

#[test]
fn the_limit_of_icmp_messages_does_not_bias_the_capacity() {
    let mut path = path(&[&[line(100.0)], &[line(10.0)], &[line(50.0)]]);
    for hop in &mut path.hops {
        hop.unanswered = 0.5;
    }
    check_capacities(&path, 60, &[(100.0, 0.06), (10.0, 0.06), (50.0, 0.10)]);
}

#[test]
fn shapers_are_classed_as_such_with_the_running_minimum() {
    let path = path(&[
        &[bucket(100.0, 1600.0)],
        &[bucket(10.0, 1600.0)],
        &[bucket(50.0, 1600.0)],
    ]);
    for seed in 0..SEEDS {
        let found = capacities(&path.both(40, seed));
        let expected = [LinkClass::Shaped, LinkClass::Shaped, LinkClass::TooFast];
        assert_eq!(classes(&found), expected, "seed {seed}: {found:#?}");
        for (link, mbps) in found.links.iter().zip([100.0, 10.0]) {
            let rate = link.statement.capacity.unwrap().rate.as_f64() / 1e6;
            assert!((rate / mbps - 1.0).abs() < 0.05, "seed {seed}: {rate}");
        }
        assert_eq!(found.narrow.unwrap().ttl, 2);
    }
}

#[test]
fn a_shaper_behind_a_line_and_a_line_behind_a_shaper_are_told_apart() {
    let path = path(&[&[line(100.0)], &[bucket(10.0, 1600.0)], &[line(20.0)]]);
    for seed in 0..SEEDS {
        let found = capacities(&path.both(40, seed));
        let class = classes(&found);
        assert_eq!(class[0], LinkClass::Serialising, "seed {seed}: {found:#?}");
        assert_eq!(class[1], LinkClass::Shaped, "seed {seed}: {found:#?}");
        let last = found.links[2].statement.capacity.unwrap().rate.as_f64();
        assert!((last / 20e6 - 1.0).abs() < 0.10, "seed {seed}: {last}");
    }
}

#[test]
fn no_line_is_called_shaped() {
    let paths = [
        path(&[&[line(1000.0)], &[line(100.0)], &[line(1000.0)]]),
        path(&[&[line(100.0)], &[loaded_line(100.0, 0.3)], &[line(100.0)]]),
        path(&[&[line(10_000.0)], &[line(10_000.0)]]),
    ];
    for (nth, path) in paths.iter().enumerate() {
        for seed in 0..SEEDS {
            let found = capacities(&path.both(30, seed));
            assert!(
                !classes(&found).contains(&LinkClass::Shaped),
                "path {nth}, seed {seed}: {found:#?}"
            );
        }
    }
}

#[test]
fn a_switch_without_a_hop_is_flagged_and_a_line_of_half_the_rate_is_not() {
    let switch = path(&[&[line(100.0), line(100.0)]]);
    let half = path(&[&[line(50.0)]]);
    for seed in 0..SEEDS {
        let found = capacities(&switch.both(40, seed));
        let statement = &found.links[0].statement;
        assert_eq!(
            statement.class,
            LinkClass::PerhapsHiddenSwitch,
            "{statement:?}"
        );
        assert!(statement.confidence >= Confidence::Medium, "{statement:?}");
        let rate = statement.capacity.unwrap().rate.as_f64();
        assert!((rate / 50e6 - 1.0).abs() < 0.06, "{statement:?}");
        let found = capacities(&half.both(40, seed));
        let statement = &found.links[0].statement;
        assert_eq!(statement.class, LinkClass::Serialising, "{statement:?}");
    }
}

#[test]
fn links_of_any_rates_in_a_row_are_no_switches() {
    let paths = [
        path(&[&[line(100.0)], &[line(100.0)], &[line(100.0)]]),
        path(&[&[line(100.0)], &[line(10.0)], &[line(50.0)]]),
        path(&[&[line(50.0)], &[line(100.0)]]),
        path(&[&[line(20.0)], &[loaded_line(30.0, 0.4)], &[line(8.0)]]),
        path(&[&[line(1000.0)], &[line(300.0)], &[line(40.0)]]),
    ];
    for (nth, path) in paths.iter().enumerate() {
        for seed in 0..SEEDS {
            for link in capacities(&path.both(40, seed)).links {
                let is_switch = link.statement.class == LinkClass::PerhapsHiddenSwitch;
                assert!(
                    !is_switch || link.statement.confidence == Confidence::Low,
                    "path {nth}, seed {seed}: {link:?}"
                );
            }
        }
    }
}

#[test]
fn a_switch_between_links_of_other_rates_shows_to_primed_probes() {
    let path = path(&[&[line(1000.0)], &[line(30.0), line(30.0)], &[line(200.0)]]);
    for seed in 0..SEEDS {
        let found = capacities(&path.both(40, seed));
        let statement = &found.links[1].statement;
        assert_eq!(
            statement.class,
            LinkClass::PerhapsHiddenSwitch,
            "seed {seed}: {statement:?}"
        );
        let rate = statement.capacity.unwrap().rate.as_f64();
        assert!((rate / 15e6 - 1.0).abs() < 0.06, "{statement:?}");
    }
}

#[test]
fn a_slope_that_falls_by_more_than_chance_is_said_and_not_averaged_away() {
    let path = path(&[&[line(100.0)], &[line(10.0)], &[line(100.0)]]);
    let mut readings = path.readings(&SIZES, 30, Priming::Unprimed, 1);
    // The third hop answers by a path without the narrow link.
    let other = self::path(&[&[line(100.0)], &[line(1000.0)], &[line(100.0)]]);
    readings.retain(|reading| reading.ttl != 3);
    let third = other.readings(&SIZES, 30, Priming::Unprimed, 2);
    readings.extend(third.iter().filter(|reading| reading.ttl == 3));
    let found = capacities(&readings);
    let fallen = LinkClass::Undetermined(CannotTell::SlopeFalls);
    assert_eq!(found.links[2].statement.class, fallen);
    assert_eq!(found.links[1].statement.confidence, Confidence::Low);
    assert_eq!(found.narrow.unwrap().contested_by, [3]);
}

#[test]
fn impossible_settings_do_not_widen_a_claim() {
    let readings = path(&[&[line(10.0)]]).readings(&SIZES, 20, Priming::Unprimed, 1);
    for confidence in [0.0, 1.0, -3.0, f64::NAN] {
        let settings = VpsSettings {
            confidence,
            ..VpsSettings::default()
        };
        let found = PathCapacities::from_readings(&readings, &settings);
        let capacity = found.links[0].statement.capacity.unwrap();
        assert!((capacity.confidence - 0.95).abs() < 1e-9 && capacity.low < capacity.rate);
    }
}

#[test]
fn without_primed_probes_a_hidden_switch_is_a_possibility_with_low_confidence() {
    let switch = path(&[&[line(100.0), line(100.0)]]);
    let readings = switch.readings(&SIZES, 40, Priming::Unprimed, 3);
    let found = capacities(&readings);
    let statement = &found.links[0].statement;
    assert_eq!(statement.class, LinkClass::PerhapsHiddenSwitch);
    assert_eq!(statement.confidence, Confidence::Low);
    assert!(
        statement.reason.contains("2 links of 100 Mbit/s in series"),
        "{}",
        statement.reason
    );
    let wanted = demands(&found, &readings, &VpsSettings::default());
    assert!(
        wanted
            .iter()
            .any(|demand| demand.priming == Priming::Primed),
        "{wanted:?}"
    );
}

#[test]
fn a_silent_hop_is_filtered_and_does_not_hide_the_next() {
    let mut path = path(&[&[line(100.0)], &[line(1000.0)], &[line(10.0)]]);
    path.hops[1] = TestHop::silent(&[line(1000.0)]);
    let found = capacities(&path.both(30, 1));
    assert_eq!(found.links[1].statement.class, LinkClass::Filtered);
    let last = &found.links[2];
    assert_eq!((last.ttl, last.from_ttl), (3, Some(1)));
    let rate = last.statement.capacity.unwrap().rate.as_f64();
    assert!((rate / 10e6 - 1.0).abs() < 0.06, "{last:?}");
}

#[test]
fn a_link_beyond_the_resolution_has_a_lower_bound() {
    for seed in 0..SEEDS {
        let found = capacities(&path(&[&[line(40_000.0)]]).both(30, seed));
        let statement = &found.links[0].statement;
        assert_eq!(statement.class, LinkClass::TooFast, "{statement:?}");
        let bound = statement.at_least.unwrap();
        assert!(
            bound >= BitRate::from_bps(500_000_000) && bound.as_f64() <= 40e9,
            "seed {seed}: {bound}"
        );
        assert_eq!(found.narrow, Err(CannotTell::NoCapacity));
    }
}

#[test]
fn most_intervals_contain_the_capacity() {
    let path = path(&[&[line(100.0)], &[loaded_line(10.0, 0.3)], &[line(50.0)]]);
    let mut contained = [0; 3];
    for seed in 0..40 {
        let found = capacities(&path.readings(&SIZES, 30, Priming::Unprimed, seed));
        for ((link, mbps), count) in found
            .links
            .iter()
            .zip([100, 10, 50])
            .zip(contained.iter_mut())
        {
            let truth = BitRate::from_bps(mbps * 1_000_000);
            let capacity = link.statement.capacity;
            *count += u32::from(capacity.is_some_and(|capacity| capacity.contains(truth)));
        }
    }
    println!("intervals of 40 that contain the capacity: {contained:?}");
    assert!(contained.iter().all(|count| *count >= 34), "{contained:?}");
}

#[test]
fn probing_ends_when_the_accuracy_is_reached_and_never_goes_beyond_64_rounds() {
    let settings = VpsSettings::default();
    for (path, max_rounds) in [
        (path(&[&[line(10.0)], &[line(5.0)]]), 20),
        (path(&[&[loaded_line(10.0, 0.6)], &[line(100.0)]]), 64),
        (path(&[&[line(10_000.0)], &[bucket(20.0, 1600.0)]]), 64),
    ] {
        let mut readings = path.readings(&SIZES, 1, Priming::Unprimed, 0);
        for seed in 1.. {
            let found = capacities(&readings);
            let wanted = demands(&found, &readings, &settings);
            if wanted.is_empty() {
                let width = |link: &caudal_probe::hop_capacity::HopLink| {
                    link.statement
                        .capacity
                        .and_then(|rate| rate.relative_half_width())
                };
                println!(
                    "{seed} steps, {} readings, {:.3?}",
                    readings.len(),
                    found.links.iter().map(width).collect::<Vec<_>>()
                );
                break;
            }
            assert!(seed < 40, "{wanted:?}");
            for demand in &wanted {
                let more =
                    path.readings(&SIZES, demand.rounds as usize, demand.priming, seed * 1000);
                readings.extend(more.iter().filter(|reading| reading.ttl == demand.ttl));
            }
        }
        for ttl in 1..=2 {
            let rounds = readings.iter().filter(|reading| {
                reading.ttl == ttl
                    && reading.priming == Priming::Unprimed
                    && reading.probe_bytes == SIZES[0]
            });
            assert!(rounds.count() <= max_rounds);
        }
    }
}

fn answers(rtt_ns: impl Fn(u32) -> u64) -> Vec<HopReading> {
    let reading = |probe_bytes| HopReading {
        ttl: 1,
        probe_bytes,
        priming: Priming::Unprimed,
        answer: Some(HopAnswer {
            rtt_ns: rtt_ns(probe_bytes),
            reply_bytes: 94,
        }),
    };
    SIZES.map(reading).to_vec()
}

#[test]
fn readings_that_show_nothing_are_said_to() {
    let none = capacities(&[]);
    assert!(none.links.is_empty());
    assert_eq!(none.narrow, Err(CannotTell::NoReadings));
    let cases: [(Vec<HopReading>, CannotTell); 5] = [
        (answers(|_| 1_000_000), CannotTell::AllEqual),
        (
            answers(|bytes| 10_000_000 - 800 * u64::from(bytes)),
            CannotTell::NegativeSlope,
        ),
        (answers(|_| u64::MAX), CannotTell::NoReadings),
        (
            answers(|bytes| u64::from(bytes) * 1000)[..3].to_vec(),
            CannotTell::TooFew {
                what: "sizes with an answer",
                have: 3,
                need: 4,
            },
        ),
        (
            answers(|bytes| u64::from(bytes) * 1000)[..4].to_vec(),
            CannotTell::SizesTooAlike {
                span_bytes: 252,
                need_bytes: 300,
            },
        ),
    ];
    for (readings, cause) in cases {
        let found = capacities(&readings);
        let statement = &found.links[0].statement;
        assert_eq!(statement.class, LinkClass::Undetermined(cause));
        assert!(statement.reason.starts_with("cannot tell, because "));
        assert_eq!((statement.capacity, statement.at_least), (None, None));
    }
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config { failure_persistence: None, ..Default::default() })]

    #[test]
    fn no_readings_cause_a_panic_or_an_interval_without_its_value(
        raw in proptest::collection::vec(
            (1_u8..4, 0_u32.., proptest::bool::ANY, proptest::option::of((0_u64.., 0_u32..))),
            0..60,
        ),
        bits in 0_u32..63,
    ) {
        let readings: Vec<HopReading> = raw
            .iter()
            .map(|(ttl, bytes, primed, answer)| HopReading {
                ttl: *ttl,
                probe_bytes: bytes >> (bits / 2),
                priming: if *primed { Priming::Primed } else { Priming::Unprimed },
                answer: answer.map(|(rtt_ns, reply_bytes)| HopAnswer {
                    rtt_ns: rtt_ns >> bits,
                    reply_bytes: reply_bytes >> (bits / 2),
                }),
            })
            .collect();
        let settings = VpsSettings { resamples: 20, ..VpsSettings::default() };
        let found = PathCapacities::from_readings(&readings, &settings);
        for capacity in found.links.iter().filter_map(|link| link.statement.capacity) {
            proptest::prop_assert!(capacity.contains(capacity.rate));
        }
        for demand in demands(&found, &readings, &settings) {
            proptest::prop_assert!((1..=64).contains(&demand.rounds));
        }
    }
}
