//! The half-duplex MAC against what is known about it.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_link::counters::{DropReason, Traffic};
use caudal_link::dice::Dice;
use caudal_link::frame::Frame;
use caudal_link::hub::hub;
use caudal_link::medium::{Duplex, LateCollision, Medium, MediumSetup, StationSetup};
use caudal_link::moment::Moment;
use caudal_link::node::{Exit, Node};
use caudal_link::queue::{Limit, Queue};

const ETHERNET: BitRate = BitRate::from_bps(10_000_000);
const FAST_ETHERNET: BitRate = BitRate::from_bps(100_000_000);

fn medium(rate: BitRate, duplex: &[Duplex], distance: Duration, seed: u64) -> Medium {
    let setup = MediumSetup {
        rate,
        repeater: Duration::ZERO,
        late: LateCollision::Drop,
    };
    let station = |duplex: &Duplex| StationSetup {
        duplex: *duplex,
        distance,
        queue: Queue::drop_tail(Limit::None),
    };
    let stations = duplex.iter().map(station).collect();
    Medium::new(setup, stations, Dice::new(seed, 0)).unwrap()
}

/// Half-duplex stations with 500 ns of cable each, all with more to send than there is time for.
fn saturated(stations: usize, length: u32, time: Duration, seed: u64) -> (Medium, Vec<Exit>) {
    let mut medium = medium(
        ETHERNET,
        &vec![Duplex::Half; stations],
        Duration::from_nanos(500),
        seed,
    );
    let mut out = Vec::new();
    let frames = time.as_nanos() as u64 / (u64::from(length) * 800) + 1;
    for id in 0..frames {
        for port in 0..stations {
            medium.offer(Moment::START, port, Frame::of_length(id, length), &mut out);
        }
    }
    medium.advance(Moment::START + time, &mut out);
    assert!(medium.counters().balance(medium.held()));
    (medium, out)
}

fn utilisation(medium: &Medium, time: Duration) -> f64 {
    medium.busy().as_secs_f64() / time.as_secs_f64()
}

#[test]
fn a_single_station_loses_only_the_gap() {
    for (length, expected) in [(1518, "0.9922"), (64, "0.8571")] {
        // Of ten thousand frames with preamble and gap, 100 ns a bit.
        let time = Duration::from_nanos(10_000 * (length + 20) * 800);
        let mut medium = medium(ETHERNET, &[Duplex::Half; 2], Duration::ZERO, 1);
        let mut out = Vec::new();
        for id in 0..30_000 {
            let frame = Frame::of_length(id, length as u32);
            medium.offer(Moment::START, 0, frame, &mut out);
        }
        medium.advance(Moment::START + time, &mut out);
        assert_eq!(format!("{:.4}", utilisation(&medium, time)), expected);
        assert_eq!(medium.collisions(0).unwrap().all, 0);
    }
}

#[test]
fn the_winner_of_the_first_race_wins_the_second_five_times_in_eight() {
    let (mut races, mut outright, mut ties) = (0, 0, 0);
    for seed in 0..20_000 {
        let mut medium = medium(
            ETHERNET,
            &[Duplex::Half; 2],
            Duration::from_nanos(100),
            seed,
        );
        let mut out = Vec::new();
        // A frame that both wait for, so that both begin at once behind it.
        medium.offer(Moment::START, 0, Frame::of_length(0, 1518), &mut out);
        for id in 1..4 {
            medium.offer(
                Moment::from_ns(100_000),
                0,
                Frame::of_length(id, 1518),
                &mut out,
            );
            medium.offer(
                Moment::from_ns(100_000),
                1,
                Frame::of_length(id, 1518),
                &mut out,
            );
        }
        // One event after the other until somebody has won the first race.
        let step = |medium: &mut Medium, out: &mut Vec<Exit>| {
            let at = medium.next_event().unwrap();
            medium.advance(at, out);
        };
        while out.len() < 2 {
            step(&mut medium, &mut out);
        }
        let collisions = medium.collisions(0).unwrap().all;
        if collisions != 1 {
            continue;
        }
        let winner = 1 - out[1].port;
        while medium.collisions(0).unwrap().all == 1 && out.len() < 3 {
            step(&mut medium, &mut out);
        }
        if medium.collisions(0).unwrap().all == 1 {
            continue;
        }
        races += 1;
        // The second race: who is heard next, before a third collision?
        while medium.collisions(0).unwrap().all == 2 && out.len() < 3 {
            step(&mut medium, &mut out);
        }
        if medium.collisions(0).unwrap().all > 2 {
            ties += 1;
        } else if 1 - out[2].port == winner {
            outright += 1;
        }
    }
    assert!(races > 9_000, "{races}");
    let share = f64::from(outright) / f64::from(races);
    let tied = f64::from(ties) / f64::from(races);
    // Three standard deviations of a share among ten thousand.
    assert!((share - 5.0 / 8.0).abs() < 0.015, "{share} of {races}");
    assert!((tied - 1.0 / 4.0).abs() < 0.013, "{tied} of {races}");
}

#[test]
fn saturated_stations_do_better_than_metcalfe_and_boggs_feared_and_capture_the_medium() {
    let time = Duration::from_secs(20);
    // Metcalfe and Boggs's efficiency with a slot of 51.2 µs is a lower bound.
    for (stations, length, bound) in [
        (2, 1518, 0.9595),
        (5, 1518, 0.9427),
        (10, 1518, 0.9375),
        (5, 64, 0.410),
    ] {
        let (medium, _) = saturated(stations, length, time, 7);
        let utilisation = utilisation(&medium, time);
        assert!(utilisation > bound, "{stations} × {length}: {utilisation}");
        assert!(utilisation < 0.9922, "{stations} × {length}: {utilisation}");
    }
    let (medium, out) = saturated(2, 1518, time, 7);
    let counters: Vec<_> = (0..2)
        .map(|port| medium.collisions(port).unwrap())
        .collect();
    let sent: u64 = (0..2).map(|port| medium.sent(port).unwrap().frames).sum();
    let excessive: u64 = counters.iter().map(|station| station.excessive).sum();
    assert_eq!(counters[0].all, counters[1].all);
    assert!(counters.iter().all(|station| station.late == 0));
    let collisions: u64 = counters.iter().map(|station| station.all).sum();
    let per_frame = collisions as f64 / sent as f64;
    let given_up = excessive as f64 / sent as f64;
    // Figures of an independent model, which counts a collision at both stations: 0.20 and 0.63 %.
    assert!((0.15..0.25).contains(&per_frame), "{per_frame}");
    assert!((0.003..0.010).contains(&given_up), "{given_up}");
    let longest = out
        .chunk_by(|one, next| one.port == next.port)
        .map(<[Exit]>::len)
        .max();
    assert!(longest.unwrap() > 100, "{longest:?}");
}

#[test]
fn collisions_are_late_only_where_the_medium_is_too_long() {
    let late = |distance_ns| {
        let mut medium = medium(
            ETHERNET,
            &[Duplex::Half; 2],
            Duration::from_nanos(distance_ns),
            3,
        );
        let mut out = Vec::new();
        let mut dice = Dice::new(3, 1);
        let mut at = Moment::START;
        for id in 0..4000 {
            at = Moment::from_ns(at.ns() + dice.below(2_000_000));
            medium.offer(at, (id % 2) as usize, Frame::of_length(id, 1518), &mut out);
        }
        medium.advance(Moment::from_ns(u64::MAX), &mut out);
        let all = medium.collisions(0).unwrap().all;
        assert!(all > 0);
        assert!(medium.counters().balance(Traffic::default()));
        medium.collisions(0).unwrap().late
    };
    // Twice the way of 2 × 12 µs is below the slot time of 51.2 µs, that of 2 × 30 µs is above.
    assert_eq!(late(12_000), 0);
    assert!(late(30_000) > 0);
}

/// Loss from 0 to 1 and from 1 to 0 when both send frames of `length` at random, each using `load` of the medium
/// with the gaps.
fn loss_each_way(duplex: [Duplex; 2], length: u32, load: f64, seed: u64) -> [f64; 2] {
    const FRAMES: u64 = 60_000;
    let mut medium = medium(FAST_ETHERNET, &duplex, Duration::ZERO, seed);
    let mut dice = Dice::new(seed, 1);
    let mut out = Vec::new();
    let mean_ns = f64::from(length + 20) * 80.0 / load;
    let mut next = [0.0_f64; 2];
    let mut offered = [0_u64; 2];
    while offered.iter().sum::<u64>() < FRAMES {
        let port = usize::from(next[1] < next[0]);
        let frame = Frame::of_length(offered[port], length);
        medium.offer(Moment::from_ns(next[port] as u64), port, frame, &mut out);
        offered[port] += 1;
        next[port] -= mean_ns * dice.fraction().ln();
    }
    medium.advance(Moment::from_ns(u64::MAX), &mut out);
    assert!(medium.counters().balance(Traffic::default()));
    [0, 1].map(|from| {
        let arrived = out.iter().filter(|exit| exit.port != from).count();
        1.0 - arrived as f64 / offered[from] as f64
    })
}

#[test]
fn a_duplex_mismatch_loses_frames_as_its_model_says_and_a_match_none() {
    use Duplex::{Full, Half};
    // Load, length, and loss from the full-duplex side, which an independent model gave.
    for (load, length, from_full) in [
        (0.01, 1518, 0.011),
        (0.05, 1518, 0.044),
        (0.10, 1518, 0.113),
        (0.10, 218, 0.107),
        (0.10, 64, 0.106),
        (0.20, 1518, 0.23),
    ] {
        // A frame is lost when the other begins after its slot time and before its end.
        let bits = f64::from(length + 8) * 8.0;
        let from_half = 1.0 - (-load * (bits - 512.0) / (bits + 96.0)).exp();
        let [half, full] = loss_each_way([Half, Full], length, load, 5);
        let near = |found: f64, expected: f64, within: f64| {
            (found - expected).abs() < within * expected + 0.002
        };
        assert!(
            near(full, from_full, 0.2),
            "{length} at {load}: {full} from full"
        );
        assert!(
            near(half, from_half, 0.1),
            "{length} at {load}: {half} from half"
        );
        for matched in [[Half, Half], [Full, Full]] {
            assert_eq!(loss_each_way(matched, length, load, 5), [0.0, 0.0]);
        }
    }
}

#[test]
fn one_way_traffic_across_a_mismatch_loses_nothing() {
    for from in 0..2 {
        let mut medium = medium(
            ETHERNET,
            &[Duplex::Half, Duplex::Full],
            Duration::from_nanos(250),
            1,
        );
        let mut out = Vec::new();
        for id in 0..1000 {
            medium.offer(Moment::START, from, Frame::of_length(id, 1518), &mut out);
        }
        medium.advance(Moment::from_ns(u64::MAX), &mut out);
        assert_eq!(out.len(), 1000);
    }
}

#[test]
fn a_late_collision_costs_the_half_duplex_side_its_frame() {
    let mut medium = medium(ETHERNET, &[Duplex::Half, Duplex::Full], Duration::ZERO, 1);
    let mut out = Vec::new();
    medium.offer(Moment::START, 0, Frame::of_length(1, 1518), &mut out);
    medium.offer(
        Moment::from_ns(600_000),
        1,
        Frame::of_length(2, 64),
        &mut out,
    );
    medium.advance(Moment::from_ns(u64::MAX), &mut out);
    assert!(out.is_empty());
    let counters = medium.counters();
    assert_eq!(counters.dropped.by(DropReason::LateCollision).frames, 1);
    assert_eq!(counters.dropped.by(DropReason::Spoiled).frames, 1);
    assert_eq!(medium.collisions(0).unwrap().late, 1);
    assert_eq!(medium.collisions(1).unwrap().fragments, 1);
}

#[test]
fn every_station_at_a_hub_hears_every_frame() {
    let cables = [100, 200, 300, 400].map(Duration::from_nanos);
    let queue = Queue::drop_tail(Limit::Frames(50));
    let mut hub = hub(ETHERNET, &cables, &queue, Dice::new(1, 0)).unwrap();
    let mut out = Vec::new();
    for id in 0..100 {
        let port = (id % 4) as usize;
        hub.offer(
            Moment::from_ns(id * 400_000),
            port,
            Frame::of_length(id, 500),
            &mut out,
        );
    }
    hub.advance(Moment::from_ns(u64::MAX), &mut out);
    assert_eq!(out.len(), 300);
    assert_eq!(hub.counters().added.frames, 200);
    assert!(hub.counters().balance(hub.held()));
}
