//! The available bandwidth of links with cross traffic whose rate is known.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_core::units::{BitRate, ByteCount};
use caudal_probe::CannotTell;
use caudal_probe::available_bandwidth::{
    AvailableBandwidth, DelayStream, FleetOutcome, RateSearch, SearchPrecision, StreamShape,
    fleet_outcome,
};
use support::{Chance, bucket};

const STREAMS: usize = 12;
const FRAME: f64 = 1538.0;

/// A link of a rate with Poisson cross traffic of full frames that takes a part of it.
#[derive(Clone, Copy)]
struct LoadedLink {
    mbps: f64,
    load: f64,
}

impl LoadedLink {
    fn available_mbps(self) -> f64 {
        self.mbps * (1.0 - self.load)
    }

    /// The delays of a stream, with an offset of the clocks, noise, and steps of a microsecond.
    fn carry(self, shape: StreamShape, chance: &mut Chance) -> DelayStream {
        let service = FRAME * 8e3 / self.mbps;
        let gap = service / self.load.max(1e-9);
        // The queue reaches its usual length before the stream.
        let begin = 300.0 * service;
        let (mut free, mut next) = (0.0_f64, chance.exponential(gap));
        let delay = |nth: u32| {
            let at = begin + f64::from(nth) * shape.spacing.as_nanos() as f64;
            while next <= at {
                free = free.max(next) + service;
                next += chance.exponential(gap);
            }
            free = free.max(at) + f64::from(shape.bytes) * 8e3 / self.mbps;
            let delay = free - at + chance.exponential(2000.0) - 3e9;
            (delay / 1000.0).floor() as i64 * 1000
        };
        DelayStream {
            sent: shape.packets,
            spacing_ns: shape.spacing.as_nanos() as u64,
            delays_ns: (0..shape.packets).map(delay).collect(),
        }
    }

    fn search(self, seed: u64) -> AvailableBandwidth {
        let mut chance = Chance::new(seed);
        let rate = |mbps: f64| BitRate::from_f64(mbps * 1e6).unwrap();
        let start = rate(self.mbps * (0.6 + 0.3 * chance.uniform()));
        let mut search =
            RateSearch::new(start, rate(self.mbps), SearchPrecision::default()).unwrap();
        while let Some(rate) = search.next_rate() {
            let shape = StreamShape::new(rate, 1538, BitRate::ZERO, ByteCount::ZERO).unwrap();
            let fleet: Vec<DelayStream> = (0..STREAMS)
                .map(|_| self.carry(shape, &mut chance))
                .collect();
            search.record(fleet_outcome(&fleet).unwrap());
        }
        search.outcome().unwrap()
    }
}

#[test]
fn the_bracket_holds_the_available_bandwidth_in_nine_of_ten_runs() {
    let (mut held, mut runs) = (0, 0);
    for (mbps, load) in [
        (10.0, 0.2),
        (10.0, 0.4),
        (10.0, 0.6),
        (100.0, 0.3),
        (100.0, 0.5),
    ] {
        let link = LoadedLink { mbps, load };
        let truth = link.available_mbps();
        let (mut here, mut widths) = (0, 0.0);
        for seed in 0..40 {
            let found = link.search(seed);
            let low = found.low.as_f64() / 1e6;
            let high = found.high.map_or(mbps, |high| high.as_f64() / 1e6);
            here += u32::from(low <= truth && truth <= high);
            widths += (high - low) / truth / 40.0;
            assert!(!found.unfinished, "{found:?}");
        }
        println!("{mbps} Mbit/s, load {load}: {here} of 40, mean relative width {widths:.3}");
        assert!(widths < 0.6, "{widths}");
        held += here;
        runs += 40;
    }
    println!("{held} of {runs}");
    assert!(10 * held >= 9 * runs, "{held} of {runs}");
}

#[test]
fn an_idle_link_has_all_of_its_capacity_left() {
    let link = LoadedLink {
        mbps: 10.0,
        load: 0.0,
    };
    let found = link.search(1);
    assert_eq!(
        (found.low, found.high),
        (BitRate::from_bps(10_000_000), None)
    );
}

#[test]
fn a_deep_bucket_hides_the_limit_from_short_streams_and_not_from_long_ones() {
    let rate = |mbps: u64| BitRate::from_bps(mbps * 1_000_000);
    let outcome = |shape: StreamShape| {
        let sent: Vec<(f64, f64)> = (0..shape.packets)
            .map(|nth| {
                (
                    f64::from(nth) * shape.spacing.as_nanos() as f64,
                    f64::from(shape.bytes),
                )
            })
            .collect();
        let arrived = bucket(6.0, 150_000.0).forward(&sent, &mut Chance::new(1));
        let delays_ns = sent
            .iter()
            .zip(&arrived)
            .map(|(sent, arrived)| (arrived.0 - sent.0) as i64);
        let stream = DelayStream {
            spacing_ns: shape.spacing.as_nanos() as u64,
            sent: shape.packets,
            delays_ns: delays_ns.collect(),
        };
        fleet_outcome(&vec![stream; STREAMS]).unwrap()
    };
    let short = StreamShape::new(rate(7), 1538, rate(6), ByteCount::ZERO).unwrap();
    let long = StreamShape::new(rate(7), 1538, rate(6), ByteCount::new(150_000)).unwrap();
    assert_eq!(outcome(short), FleetOutcome::Below);
    assert_eq!(outcome(long), FleetOutcome::Above);
}

#[test]
fn fleets_without_streams_and_searches_without_rates_say_so() {
    assert!(matches!(
        fleet_outcome(&[]),
        Err(CannotTell::TooFew { have: 0, .. })
    ));
    let rate = BitRate::from_bps(1_000_000);
    let precision = SearchPrecision::default();
    assert!(RateSearch::new(BitRate::ZERO, rate, precision).is_err());
    assert!(RateSearch::new(rate, BitRate::ZERO, precision).is_err());
    let fresh = RateSearch::new(rate, rate, precision).unwrap();
    assert_eq!(fresh.outcome(), Err(CannotTell::NoReadings));
}

#[test]
fn a_fleet_that_loses_packets_is_above() {
    let stream = DelayStream {
        spacing_ns: 1000,
        sent: 100,
        delays_ns: vec![1000; 95],
    };
    assert_eq!(fleet_outcome(&vec![stream; 12]), Ok(FleetOutcome::Above));
}
