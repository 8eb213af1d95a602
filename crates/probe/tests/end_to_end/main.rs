//! What two ends find of networks in virtual time whose links are known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod ends;

use caudal_core::path::TokenBucketKind;
use caudal_core::plan::Direction;
use caudal_core::units::BitRate;
use caudal_probe::Confidence;
use caudal_probe::duplex::{DuplexFinding, EachWay, LinkSide};
use caudal_probe::end_to_end::{
    CapacityMethod, DuplexEnd, EndToEndCapacity, EndToEndSettings, measure_available,
    measure_duplex,
};
use ends::{CrossTraffic, SimulatedEnds};

fn settings(seed: u64) -> EndToEndSettings {
    EndToEndSettings {
        one_clock: false,
        ..EndToEndSettings::new(1500, seed)
    }
}

/// Hosts h1 and h2 at both ends of a narrow link between two switches, and c1 and c2 beside them.
fn narrow(keys: &str) -> String {
    format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}, {{ name = \"c1\" }}, {{ name = \"c2\" }}]\n\
         switch = [{{ name = \"s1\" }}, {{ name = \"s2\" }}]\n\
         link = [\n\
           {{ between = [\"h1\", \"s1\"], rate = \"1G\" }},\n\
           {{ between = [\"c1\", \"s1\"], rate = \"1G\" }},\n\
           {{ name = \"narrow\", between = [\"s1\", \"s2\"], {keys} }},\n\
           {{ between = [\"s2\", \"h2\"], rate = \"1G\" }},\n\
           {{ between = [\"s2\", \"c2\"], rate = \"1G\" }},\n]\n"
    )
}

fn cross(bps: f64) -> Vec<CrossTraffic> {
    let of = |from, to| CrossTraffic { from, to, bps };
    if bps > 0.0 {
        vec![of("c1", "c2"), of("c2", "c1")]
    } else {
        Vec::new()
    }
}

fn error_of(rate: BitRate, mbps: f64) -> f64 {
    (rate.as_f64() / 1e6 / mbps - 1.0).abs()
}

fn capacity(ends: &mut SimulatedEnds, direction: Direction, seed: u64) -> EndToEndCapacity {
    EndToEndCapacity::measure(ends, direction, &settings(seed)).unwrap()
}

#[test]
fn the_narrow_link_is_within_two_percent_with_and_without_cross_traffic_in_both_directions() {
    for (mbps, load) in [(10.0, 0.0), (10.0, 0.5), (100.0, 0.0), (100.0, 0.5)] {
        for seed in 0..6 {
            let topology = narrow(&format!("rate = \"{mbps}M\", delay = \"5ms\""));
            let mut ends = SimulatedEnds::new(&topology, &cross(mbps * 1e6 * load), seed);
            ends.drift_ppm = 40.0;
            for direction in Direction::BOTH {
                let found = capacity(&mut ends, direction, seed);
                let rate = found.narrow.as_ref().unwrap();
                assert!(
                    error_of(rate.rate, mbps) <= 0.02,
                    "{mbps} {load} {seed}: {found:#?}"
                );
                assert_eq!(found.shaper, None, "{mbps} {load} {seed}: {found:#?}");
                assert!(found.confidence >= Confidence::Medium, "{found:#?}");
            }
        }
    }
}

#[test]
fn hosts_that_are_late_with_later_packets_do_not_slow_the_link() {
    for mbps in [10.0, 20.0, 50.0, 100.0] {
        for seed in 0..5 {
            let topology = narrow(&format!("rate = \"{mbps}M\""));
            let mut ends = SimulatedEnds::new(&topology, &[], seed);
            ends.host_ns = 15_000;
            let found = capacity(&mut ends, Direction::Up, seed);
            let rate = found.narrow.as_ref().unwrap();
            assert!(error_of(rate.rate, mbps) <= 0.02, "{mbps} {found:#?}");
            let is_within = rate.contains(BitRate::from_bps((mbps * 1e6) as u64));
            assert!(is_within, "{mbps} {found:#?}");
            assert!(found.confidence >= Confidence::Medium, "{mbps} {found:#?}");
        }
    }
}

#[test]
fn other_traffic_at_even_distances_does_not_pass_for_the_link() {
    // Full packets follow one another at the rate of the narrow link, and there is a frame of the other traffic between any two of them.
    let topology = narrow("rate = \"100M\"").replacen("rate = \"1G\"", "rate = \"100M\"", 1);
    for seed in 0..6 {
        let mut ends = SimulatedEnds::new(&topology, &cross(50e6), seed);
        ends.is_cross_even = true;
        let found = capacity(&mut ends, Direction::Up, seed);
        let rate = found.narrow.as_ref().unwrap().rate;
        assert!(error_of(rate, 100.0) <= 0.03, "{seed}: {found:#?}");
    }
}

#[test]
fn even_traffic_and_late_hosts_are_no_shaper_and_no_capacity_of_high_confidence() {
    let topology = narrow("rate = \"100M\"").replacen("rate = \"1G\"", "rate = \"100M\"", 1);
    for host_ns in [5_000, 15_000, 30_000] {
        for seed in 0..6 {
            let mut ends = SimulatedEnds::new(&topology, &cross(50e6), seed);
            ends.is_cross_even = true;
            ends.host_ns = host_ns;
            let found = capacity(&mut ends, Direction::Up, seed);
            assert_eq!(found.shaper, None, "{host_ns} {seed}: {found:#?}");
            let rate = found.narrow.as_ref().unwrap();
            let is_right = rate.contains(BitRate::from_bps(100_000_000));
            let is_near = error_of(rate.rate, 100.0) <= 0.03;
            assert!(
                is_right || is_near || found.confidence == Confidence::Low,
                "{host_ns} {seed}: {found:#?}"
            );
        }
    }
}

#[test]
fn where_the_delay_varies_by_more_than_a_packet_takes_trains_answer() {
    // The narrow link of the lab's preset `wan`.
    let topology = narrow(
        "rate = \"50M\", delay = \"20ms\", loss = 0.0001, queue = { bytes = 250000 },\n\
         jitter = { distribution = \"normal\", mean = \"500us\", deviation = \"200us\" }",
    );
    for seed in 0..6 {
        let mut ends = SimulatedEnds::new(&topology, &[], seed);
        let began_s = ends.now_s();
        let found = capacity(&mut ends, Direction::Up, seed);
        let rate = found.narrow.as_ref().unwrap();
        assert!(error_of(rate.rate, 50.0) <= 0.02, "{seed}: {found:#?}");
        assert_eq!(found.method, CapacityMethod::Trains, "{found:#?}");
        assert_eq!(found.confidence, Confidence::Low);
        assert_eq!(found.shaper, None, "{seed}: {found:#?}");
        let took_s = ends.now_s() - began_s;
        assert!(took_s < 12.0, "{seed}: {took_s} s");
    }
}

#[test]
fn links_too_fast_for_pairs_are_read_from_bulks() {
    let topology = "host = [{ name = \"h1\" }, { name = \"h2\" }]\n\
                    link = [{ between = [\"h1\", \"h2\"], rate = \"1G\", driver = \"emulated\" }]\n";
    for seed in 0..5 {
        let mut ends = SimulatedEnds::new(topology, &[], seed);
        ends.noise_ns = 4_000.0;
        let found = capacity(&mut ends, Direction::Up, seed);
        assert!(
            matches!(found.method, CapacityMethod::Bulks { .. }),
            "{found:#?}"
        );
        assert!(
            error_of(found.narrow.as_ref().unwrap().rate, 1000.0) < 0.02,
            "{found:#?}"
        );
    }
}

#[test]
fn a_shaper_is_told_with_its_rate_and_its_bucket() {
    for (rate, bucket) in [("10M", 15_000), ("50M", 64_000), ("20M", 200_000)] {
        for seed in 0..3 {
            let keys = format!(
                "rate = \"1G\", shaper = {{ rate = \"{rate}\", burst = {bucket} }}, queue = {{ frames = 1000 }}"
            );
            let mut ends = SimulatedEnds::new(&narrow(&keys), &[], seed);
            let found = capacity(&mut ends, Direction::Up, seed);
            let shaper = found
                .shaper
                .unwrap_or_else(|| panic!("{rate} {bucket}: {found:#?}"));
            let mbps: f64 = rate.trim_end_matches('M').parse().unwrap();
            assert!(error_of(shaper.rate.rate, mbps) < 0.05, "{found:#?}");
            assert_eq!(shaper.kind, TokenBucketKind::Shaper, "{found:#?}");
            let off = shaper.bucket.as_f64() / f64::from(bucket) - 1.0;
            assert!(off.abs() < 0.1, "{bucket}: {found:#?}");
        }
    }
}

#[test]
fn a_policer_is_told_from_a_shaper_and_leaves_no_more_than_its_rate() {
    for (rate, bucket) in [("15M", 30_000), ("5M", 15_000), ("30M", 100_000)] {
        for seed in 0..3 {
            let keys = format!(
                "rate = \"100M\", forward = {{ policer = {{ rate = \"{rate}\", burst = {bucket} }} }}"
            );
            let mut ends = SimulatedEnds::new(&narrow(&keys), &[], seed);
            let found = capacity(&mut ends, Direction::Up, seed);
            let shaper = found
                .shaper
                .unwrap_or_else(|| panic!("{rate} {bucket}: {found:#?}"));
            let mbps: f64 = rate.trim_end_matches('M').parse().unwrap();
            assert!(error_of(shaper.rate.rate, mbps) < 0.05, "{found:#?}");
            assert_eq!(shaper.kind, TokenBucketKind::Policer, "{found:#?}");
            let available = measure_available(&mut ends, Direction::Up, &found, &settings(seed));
            let available = available.unwrap().unwrap();
            assert!(
                available.low <= shaper.rate.rate,
                "{available:?} {found:#?}"
            );
            assert!(available.high.unwrap() <= shaper.rate.rate, "{available:?}");
        }
    }
}

#[test]
fn a_bucket_of_few_packets_names_no_line_that_is_not_there() {
    for (rate, bucket) in [
        ("20M", 4_000),
        ("5M", 4_000),
        ("100M", 6_000),
        ("50M", 16_384),
    ] {
        for seed in 0..3 {
            let keys = format!(
                "rate = \"1G\", shaper = {{ rate = \"{rate}\", burst = {bucket} }}, queue = {{ frames = 1000 }}"
            );
            let mut ends = SimulatedEnds::new(&narrow(&keys), &[], seed);
            let found = capacity(&mut ends, Direction::Up, seed);
            let mbps: f64 = rate.trim_end_matches('M').parse().unwrap();
            let sustained = found.sustained().unwrap().rate;
            assert!(
                error_of(sustained, mbps) < 0.05,
                "{rate} {bucket}: {found:#?}"
            );
            if let (Some(_), Ok(line)) = (found.shaper, &found.narrow) {
                assert!(
                    error_of(line.rate, 1000.0) < 0.1,
                    "{rate} {bucket}: {found:#?}"
                );
            }
        }
    }
}

#[test]
fn a_path_faster_than_hosts_has_a_bound_and_no_capacity() {
    // Of 10 Gbit/s, and of 1 Gbit/s to which a host sends a packet every 20 µs.
    for (rate, send_ns, least) in [("10G", 0, 2e9), ("1G", 20_000, 0.5e9)] {
        let topology = format!(
            "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\n\
             link = [{{ between = [\"h1\", \"h2\"], rate = \"{rate}\", driver = \"emulated\" }}]\n"
        );
        let mut ends = SimulatedEnds::new(&topology, &[], 1);
        ends.send_ns = send_ns;
        let found = capacity(&mut ends, Direction::Up, 1);
        assert!(
            found.narrow.is_err() && found.shaper.is_none(),
            "{found:#?}"
        );
        let at_least = found.at_least().unwrap().as_f64();
        assert!(at_least >= least && at_least <= 1.1e10, "{found:#?}");
        let available = measure_available(&mut ends, Direction::Up, &found, &settings(1));
        assert!(available.unwrap().is_err());
    }
}

#[test]
fn the_bracket_holds_the_available_bandwidth_in_nine_of_ten_runs() {
    let (mut held, mut runs) = (0, 0);
    for (mbps, load) in [(10.0, 0.4), (100.0, 0.3), (100.0, 0.6)] {
        for seed in 0..8 {
            let topology = narrow(&format!(
                "rate = \"{mbps}M\", delay = \"5ms\", queue = {{ frames = 500 }}"
            ));
            let mut ends = SimulatedEnds::new(&topology, &cross(mbps * 1e6 * load), seed);
            let found = capacity(&mut ends, Direction::Up, seed);
            let before_s = ends.now_s();
            let settings = settings(seed);
            let available = measure_available(&mut ends, Direction::Up, &found, &settings);
            let available = available.unwrap().unwrap();
            let truth = BitRate::from_f64(mbps * 1e6 * (1.0 - load)).unwrap();
            let holds = available.low <= truth && available.high.is_none_or(|high| truth <= high);
            println!(
                "{mbps} {load} {seed}: {holds} {available:?} in {:.1} s",
                ends.now_s() - before_s
            );
            held += u32::from(holds);
            runs += 1;
        }
    }
    assert!(held * 10 >= runs * 9, "{held} of {runs}");
}

#[test]
fn a_path_that_carries_nothing_says_so() {
    let mut ends = SimulatedEnds::new(&narrow("rate = \"10M\", loss = \"100%\""), &[], 1);
    let found = capacity(&mut ends, Direction::Down, 1);
    assert!(
        found.reason.contains("nothing that was sent has arrived"),
        "{found:#?}"
    );
    assert_eq!(found.sustained(), None);
}

/// What is found of a network between h1 and h2.
fn duplex(ends: &mut SimulatedEnds, seed: u64) -> (DuplexFinding, String) {
    let [up, down] = Direction::BOTH.map(|direction| {
        let found = EndToEndCapacity::roughly(ends, direction, &settings(seed)).unwrap();
        found.sustained().map(|rate| rate.rate)
    });
    let capacity = EachWay {
        forward: up.unwrap(),
        back: down.unwrap(),
    };
    let found = measure_duplex(
        ends,
        capacity,
        false,
        (DuplexEnd::default(), DuplexEnd::default()),
        &settings(seed),
    )
    .unwrap();
    let statement = found.statement;
    (
        statement.finding,
        format!("{} ({})", statement.reason, statement.confidence),
    )
}

#[test]
fn full_and_half_duplex_and_mismatches_are_told_apart_in_forty_runs() {
    let cases = [
        ("full", DuplexFinding::Full),
        ("half", DuplexFinding::MatchedHalf),
        (
            "half-full",
            DuplexFinding::Mismatch {
                half: Some(LinkSide::Near),
            },
        ),
        (
            "full-half",
            DuplexFinding::Mismatch {
                half: Some(LinkSide::Far),
            },
        ),
    ];
    let (mut right, mut runs) = (0, 0);
    for (mode, expected) in cases {
        for seed in 0..10 {
            let mbps = if seed % 2 == 0 { 100 } else { 10 };
            let topology = format!(
                "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\n\
                 link = [{{ between = [\"h1\", \"h2\"], rate = \"{mbps}M\", duplex = \"{mode}\" }}]\n"
            );
            let mut ends = SimulatedEnds::new(&topology, &[], seed);
            let before_s = ends.now_s();
            let (found, reason) = duplex(&mut ends, seed);
            let took_s = ends.now_s() - before_s;
            println!("{mode} {mbps} {seed}: {found:?}: {reason} in {took_s:.1} s");
            right += u32::from(found == expected);
            runs += 1;
        }
    }
    assert!(right * 100 >= runs * 95, "{right} of {runs}");
}

#[test]
fn a_loaded_full_duplex_link_is_no_alarm() {
    for load in [0.3, 0.6, 0.9] {
        for seed in 0..4 {
            let mut ends =
                SimulatedEnds::new(&narrow("rate = \"100M\""), &cross(100e6 * load), seed);
            let (found, reason) = duplex(&mut ends, seed);
            println!("{load} {seed}: {found:?}: {reason}");
            assert!(
                matches!(found, DuplexFinding::Full | DuplexFinding::CannotTell),
                "{load} {seed}: {found:?}: {reason}"
            );
        }
    }
}
