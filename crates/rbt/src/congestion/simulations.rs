//! Controllers over a bottleneck in virtual time.

use super::control::RbtCongestion;
use super::controller::{
    AckedPackets, CongestionController, DeliveryRateSample, LostPackets, SentPackets,
};
use super::pipe::{PipeRun, TestPipe};
use super::window::WindowLimits;
use proptest::prelude::*;

const S: u64 = 1_000_000_000;
const MS: u64 = 1_000_000;
const NAMES: [&str; 4] = ["cubic", "newreno", "bbr", "fixed"];

fn control(name: &str, packet_bytes: u32, bits_per_s: u64) -> RbtCongestion {
    RbtCongestion::from_name(name, packet_bytes, Some(bits_per_s), 1).expect("the name is known")
}

fn start(name: &str, pipe: TestPipe) -> PipeRun<RbtCongestion> {
    PipeRun::new(control(name, 1400, pipe.bytes_per_s * 8), pipe)
}

/// Pipes of 10 Mbit/s to 1 Gbit/s with a queue of one bandwidth-delay product.
fn pipes() -> [TestPipe; 4] {
    [(10, 20), (100, 20), (100, 50), (1000, 20)].map(|(mbit_per_s, rtt_ms)| {
        let mut pipe = TestPipe {
            bytes_per_s: mbit_per_s * 125_000,
            rtt_ns: rtt_ms * MS,
            ack_delay_ns: rtt_ms * MS / 8,
            ..TestPipe::LONG
        };
        pipe.queue_bytes = pipe.bdp();
        pipe
    })
}

#[test]
fn bbr_finds_the_bottlenecks_rate_and_keeps_the_queue_short() {
    for pipe in pipes() {
        let mut run = start("bbr", pipe);
        run.run(3 * S);
        let outcome = run.run(10 * S);
        assert!(outcome.share(&pipe, 10 * S) >= 0.9, "{pipe:?} {outcome:?}");
        let most = pipe.bdp() * 3 / 2;
        assert!(outcome.mean_in_flight <= most, "{pipe:?} {outcome:?}");
    }
}

#[test]
fn bbr_ignores_one_percent_of_random_loss() {
    for seed in 1..=4 {
        let pipe = TestPipe {
            loss_ppm: 10_000,
            seed,
            ..TestPipe::LONG
        };
        let mut run = start("bbr", pipe);
        run.run(3 * S);
        let outcome = run.run(30 * S);
        assert!(outcome.share(&pipe, 30 * S) >= 0.85, "{seed} {outcome:?}");
    }
}

#[test]
fn bbr_follows_a_bottleneck_that_becomes_slower_or_faster() {
    for (before, after) in [(12_500_000, 5_000_000), (5_000_000, 12_500_000)] {
        let pipe = TestPipe {
            bytes_per_s: before,
            ..TestPipe::LONG
        };
        let mut run = start("bbr", pipe);
        run.run(5 * S);
        run.pipe.bytes_per_s = after;
        run.run(10 * S);
        let outcome = run.run(10 * S);
        let share = outcome.share(&run.pipe, 10 * S);
        assert!(share >= 0.85, "{before} to {after}: {share}");
        assert!(
            outcome.mean_in_flight <= run.pipe.bdp() * 7 / 4,
            "{outcome:?}"
        );
    }
}

#[test]
fn bbr_looks_for_the_minimum_round_trip_time_every_five_seconds() {
    let mut run = start("bbr", TestPipe::LONG);
    run.run(2 * S);
    let low = (0..1000)
        .map(|_| run.run(10 * MS).mean_in_flight <= TestPipe::LONG.bdp() * 6 / 10)
        .collect::<Vec<_>>();
    let probes = low.windows(2).filter(|pair| !pair[0] && pair[1]).count();
    let part = low.iter().filter(|low| **low).count();
    assert!((1..=3).contains(&probes), "{probes}");
    assert!((15..=90).contains(&part), "{part} of 1000 steps");
}

#[test]
fn loss_holds_cubic_and_newreno_near_their_response_functions() {
    // √(3/2) / √p segments: Reno's, and CUBIC's where its region of Reno lasts (RFC 9438 section 4.3).
    for name in ["cubic", "newreno"] {
        for loss_ppm in [1_000, 10_000] {
            let pipe = TestPipe {
                loss_ppm,
                ..TestPipe::LONG
            };
            let mut run = start(name, pipe);
            run.run(20 * S);
            let outcome = run.run(200 * S);
            let segments = (1.5e6 / loss_ppm as f64).sqrt();
            let due = segments * 1448.0 * 20.0 * 200.0;
            let share = outcome.delivered as f64 / due;
            assert!((0.75..=1.3).contains(&share), "{name} {loss_ppm}: {share}");
        }
    }
}

#[test]
fn cubic_and_newreno_fill_a_pipe_whose_queue_holds_a_bandwidth_delay_product() {
    for pipe in pipes() {
        for name in ["cubic", "newreno"] {
            let mut run = start(name, pipe);
            run.run(10 * S);
            let outcome = run.run(10 * S);
            let share = outcome.share(&pipe, 10 * S);
            assert!(share >= 0.95, "{name} {pipe:?}: {share}");
        }
    }
}

#[test]
fn hystart_leaves_slow_start_without_a_loss_where_newreno_overflows_a_deep_queue() {
    let pipe = TestPipe {
        queue_bytes: 6 * TestPipe::LONG.bdp(),
        ..TestPipe::LONG
    };
    let lost = ["cubic", "newreno"].map(|name| {
        let mut run = start(name, pipe);
        let mut lost = 0;
        while run.controller.is_slow_start() {
            lost += run.run(10 * MS).lost;
        }
        assert!(run.controller.window() > pipe.bdp(), "{name}");
        lost
    });
    assert!(lost[0] == 0 && lost[1] > 0, "{lost:?}");
}

#[test]
fn a_fixed_rate_is_what_arrives_less_what_is_lost() {
    let pipe = TestPipe {
        loss_ppm: 100_000,
        ..TestPipe::LONG
    };
    let outcome = start("fixed", pipe).run(10 * S);
    let share = outcome.share(&pipe, 10 * S);
    assert!((0.89..=0.905).contains(&share), "{share}");
}

#[test]
fn no_loss_brings_a_window_below_its_minimum() {
    for name in NAMES {
        let pipe = TestPipe {
            loss_ppm: 500_000,
            ..TestPipe::LONG
        };
        let outcome = start(name, pipe).run(20 * S);
        assert!(outcome.min_window >= 2 * 1448, "{name} {outcome:?}");
        assert!(outcome.delivered > 0, "{name}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let pipe = TestPipe {
        loss_ppm: 5_000,
        ..TestPipe::LONG
    };
    let delivered = [(); 2].map(|()| start("bbr", pipe).run(10 * S).delivered);
    assert_eq!(delivered[0], delivered[1]);
}

/// A call of a controller with any numbers.
#[derive(Debug, Clone)]
enum AnyCall {
    Sent(SentPackets),
    Acked(AckedPackets),
    Lost(LostPackets),
    Spurious(u64),
}

/// Small numbers, large ones, and those between.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        0..3u64,
        0..100_000_000_000u64,
        (u64::MAX - 3)..=u64::MAX
    ]
}

fn call() -> impl Strategy<Value = AnyCall> {
    let numbers = prop::array::uniform10(number());
    let flags = any::<[bool; 5]>();
    (0..8_u8, numbers, flags, number()).prop_map(|(kind, n, flags, delivered)| match kind {
        0 | 1 => AnyCall::Sent(SentPackets {
            now_ns: n[0],
            bytes: n[1],
            in_flight: n[2],
        }),
        2..=4 => AnyCall::Acked(AckedPackets {
            now_ns: n[0],
            bytes: n[1],
            newest_sent_ns: n[2],
            newest_pn: n[3],
            next_pn: n[4],
            rtt_ns: flags[0].then_some(n[5]),
            smoothed_rtt_ns: n[6],
            min_rtt_ns: n[7],
            in_flight: n[8],
            rate: flags[1].then_some(DeliveryRateSample {
                bytes_per_s: n[9],
                prior_delivered: n[5],
                delivered,
                is_app_limited: flags[2],
            }),
            is_window_limited: flags[3],
            marked: if flags[4] { n[6] } else { 0 },
        }),
        5 | 6 => AnyCall::Lost(LostPackets {
            now_ns: n[0],
            bytes: n[1],
            newest_sent_ns: n[2],
            newest_pn: n[3],
            in_flight: n[4],
            is_persistent: flags[0],
        }),
        _ => AnyCall::Spurious(n[0]),
    })
}

proptest! {
    #[test]
    fn no_input_overflows_or_brings_a_window_below_its_minimum(
        calls in prop::collection::vec(call(), 1..200),
        packet_bytes in 1u32..=65_487,
        rate in 1..u64::MAX,
    ) {
        let min = WindowLimits::new(packet_bytes).min;
        for name in NAMES {
            let mut control = control(name, packet_bytes, rate);
            for call in &calls {
                match call {
                    AnyCall::Sent(sent) => control.on_sent(sent),
                    AnyCall::Acked(acked) => control.on_acked(acked),
                    AnyCall::Lost(lost) => control.on_lost(lost),
                    AnyCall::Spurious(now) => control.on_spurious_loss(*now),
                }
                prop_assert!(control.window() >= min, "{name}");
                prop_assert!(control.pacing_rate() != Some(0), "{name}");
            }
        }
    }
}
