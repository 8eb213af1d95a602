//! What a path does to a session, in numbers: how much is repeated, how long it takes.

use crate::path::{HeldBack, PathTerms};
use crate::session::{SessionEnd, SimulatedSession};
use crate::terms::SessionTerms;
use caudal_link::random::Rng;
use caudal_rbt::Arq;
use std::ops::Range;

const MS: u64 = 1_000_000;
/// A link of 100 Mbit/s and a round trip of 20 ms.
const LINK: PathTerms = PathTerms::clean(100_000_000, 10 * MS);
/// The same with a queue that no window fills, however small the packets.
fn deep() -> PathTerms {
    PathTerms {
        queue_frames: 100_000,
        ..LINK
    }
}

/// A rate of `fixed` that fits the link with the headers below RBT, for packets of 1000 bytes and more.
const FIXED: (&str, u64) = ("fixed", 92_000_000);
const CONTROLS: [(&str, u64); 4] = [("cubic", 0), ("newreno", 0), ("bbr", 0), FIXED];

fn run(terms: &SessionTerms) -> SessionEnd {
    let end = SimulatedSession::new(terms, 0, None).run().unwrap();
    assert!(end.is_complete(), "{end:?}");
    end
}

/// A session with `control` over a path, and another on the way back.
fn session(
    total: u64,
    control: (&'static str, u64),
    there: PathTerms,
    back: PathTerms,
) -> SessionTerms {
    SessionTerms {
        control,
        there,
        back,
        ..SessionTerms::plain(total, 1000, &LINK)
    }
}

fn lossy(loss: f64) -> PathTerms {
    PathTerms { loss, ..LINK }
}

/// Distinct packets of those sent.
fn efficiency(end: &SessionEnd) -> f64 {
    (end.sent.sent - end.sent.retransmitted) as f64 / end.sent.sent as f64
}

/// Content a second, as a fraction of what `fixed` sends.
fn fraction_of_fixed(total: u64, end: &SessionEnd) -> f64 {
    let sent = FIXED.1 as f64 / 8.0 * 1000.0 / 1020.0;
    total as f64 / (end.sender_ended_ns as f64 / 1e9) / sent
}

#[test]
fn an_idle_link_sees_every_packet_once() {
    for control in CONTROLS {
        for packet_bytes in [100, 500, 1000, 1400] {
            let mut terms = session(3_000_000, control, deep(), LINK);
            terms.config.packet_bytes = packet_bytes;
            if packet_bytes < 1000 {
                terms.control.1 /= 2;
            }
            let end = run(&terms);
            let counts = (end.sent.retransmitted, end.sent.lost, end.sent.ptos);
            assert_eq!(counts, (0, 0, 0), "{control:?} {packet_bytes}");
            assert_eq!(end.received.duplicates, 0);
        }
    }
}

#[test]
fn random_loss_costs_what_it_takes_away_and_one_percent() {
    let total = 15_000_000;
    for loss in [0.001, 0.01, 0.05] {
        for control in CONTROLS {
            let end = run(&session(total / 5, control, lossy(loss), LINK));
            assert!(
                efficiency(&end) >= 0.99 * (1.0 - loss),
                "{loss} {control:?} {end:?}"
            );
        }
        // BBRv3 gives way to more than 2 % of loss.
        let controls = [FIXED, ("bbr", 0)]
            .into_iter()
            .filter(|(name, _)| *name == "fixed" || loss <= 0.02);
        for control in controls {
            let end = run(&session(total, control, lossy(loss), LINK));
            let fraction = fraction_of_fixed(total, &end);
            println!(
                "loss {loss} {control:?}: {fraction:.3} of the rate, {:.4} of the packets distinct",
                efficiency(&end)
            );
            assert!(fraction >= 0.9 * (1.0 - loss), "{loss} {fraction} {end:?}");
        }
    }
}

#[test]
fn heavy_loss_both_ways_leaves_a_fixed_rate_nine_tenths_of_what_passes() {
    let total = 15_000_000;
    for loss in [0.1, 0.15, 0.2] {
        let end = run(&session(total, FIXED, lossy(loss), lossy(loss)));
        let fraction = fraction_of_fixed(total, &end);
        println!(
            "loss {loss} both ways: {fraction:.3} of the rate, {:.4} of the packets distinct",
            efficiency(&end)
        );
        assert!(fraction >= 0.9 * (1.0 - loss), "{loss} {fraction} {end:?}");
        assert!(efficiency(&end) >= 0.97 * (1.0 - loss), "{loss} {end:?}");
    }
}

/// Bursts in which a tenth of the time passes, as long as so many packets take on the link. In time, not in packets: a burst that only
/// probes could end would last for ever.
fn bursts(mean_packets: f64, seed: u64) -> Vec<Range<u64>> {
    let mut rng = Rng::new(seed, 9);
    let mean_ns = mean_packets * 1086.0 * 8.0 / 0.1;
    let mut bursts = Vec::new();
    let mut at_ns = 0.0;
    while at_ns < 10e9 {
        let from_ns = at_ns + rng.exponential() * 9.0 * mean_ns;
        at_ns = from_ns + rng.exponential() * mean_ns;
        bursts.push(from_ns as u64..at_ns as u64);
    }
    bursts
}

#[test]
fn bursts_of_loss_do_not_set_off_probe_after_probe() {
    for mean in [100.0, 300.0, 1000.0] {
        for control in [FIXED, ("cubic", 0)] {
            for seed in 1..4 {
                let there = PathTerms {
                    outages: bursts(mean, seed),
                    ..LINK
                };
                let terms = session(10_000_000, control, there, LINK);
                let end = run(&terms);
                let outages = terms.there.outages.iter();
                let met = outages
                    .filter(|out| out.start < end.sender_ended_ns)
                    .count() as u64;
                println!(
                    "{met} bursts of {mean} {control:?}: {} ms, {} probe timeouts, {} lost of {}",
                    end.sender_ended_ns / MS,
                    end.sent.ptos,
                    end.sent.lost,
                    end.sent.sent
                );
                assert!(end.sent.ptos <= 2 * met + 4, "{mean} {control:?} {end:?}");
                assert!(efficiency(&end) >= 0.75, "{mean} {control:?} {end:?}");
            }
        }
    }
}

#[test]
fn reordering_is_learnt() {
    for fraction in [0.01, 0.1, 0.25] {
        for extent in [5, 50, 220] {
            for control in [FIXED, ("cubic", 0)] {
                let held = HeldBack {
                    fraction,
                    extent,
                    max_hold_ns: 20 * MS,
                };
                let there = PathTerms {
                    held_back: Some(held),
                    ..deep()
                };
                let end = run(&session(15_000_000, control, there, LINK));
                let spurious = 1.0 - efficiency(&end);
                println!(
                    "{held:?} {control:?}: {:.4} repeated, {} undone, {} ms",
                    spurious,
                    end.sent.undone,
                    end.sender_ended_ns / MS
                );
                assert!(spurious < 0.01, "{held:?} {control:?} {end:?}");
            }
        }
    }
}

#[test]
fn duplicates_are_counted_and_change_nothing_else() {
    for duplicated in [0.01, 0.3, 1.0] {
        let there = PathTerms { duplicated, ..LINK };
        let end = run(&session(3_000_000, ("cubic", 0), there, LINK));
        assert_eq!(end.sent.retransmitted, 0, "{duplicated} {end:?}");
        let duplicates = end.received.duplicates as f64 / end.sent.sent as f64;
        assert!(
            (duplicates - duplicated).abs() < 0.02,
            "{duplicated} {end:?}"
        );
        assert_eq!(
            end.received.received,
            end.sent.sent + end.received.duplicates
        );
    }
}

#[test]
fn flipped_bits_are_loss() {
    for (bit_errors, packet_bytes, total) in [
        (1e-6, 1000, 3_000_000),
        (1e-5, 1000, 3_000_000),
        (1e-4, 100, 300_000),
        (1e-3, 10, 10_000),
    ] {
        let path = PathTerms {
            bit_errors: bit_errors / 2.0,
            ..LINK
        };
        // Acknowledgements are larger than small packets: one of 500 bytes does not pass a bit error in a thousand.
        let back = if bit_errors < 1e-3 {
            path.clone()
        } else {
            LINK
        };
        let mut terms = session(total, ("fixed", 20_000_000), path, back);
        terms.config.packet_bytes = packet_bytes;
        let end = run(&terms);
        let unusable = end.received.damaged + end.received.foreign;
        println!("{bit_errors}: {} damaged of {}", unusable, end.sent.sent);
        assert!(unusable > 0 && unusable <= end.arrived_damaged, "{end:?}");
        assert!(end.sent.lost + end.sent.ptos > 0);
    }
}

#[test]
fn half_of_the_acknowledgements_are_enough() {
    for control in CONTROLS {
        let whole = run(&session(15_000_000, control, LINK, LINK));
        let half = run(&session(15_000_000, control, LINK, lossy(0.5)));
        println!(
            "{control:?}: {} ms, {} ms with half of the acknowledgements",
            whole.sender_ended_ns / MS,
            half.sender_ended_ns / MS
        );
        assert!(
            half.sender_ended_ns < whole.sender_ended_ns * 11 / 10,
            "{control:?} {half:?}"
        );
    }
}

#[test]
fn a_second_without_anything_costs_little_more_than_a_second() {
    for arq in [Arq::Sack, Arq::NakBitmap, Arq::GoBackN] {
        for control in CONTROLS {
            let path = PathTerms {
                outages: std::iter::once(500 * MS..1500 * MS).collect(),
                ..LINK
            };
            let mut terms = session(15_000_000, control, path.clone(), path);
            terms.config.arq = arq;
            let end = run(&terms);
            println!(
                "{arq:?} {control:?}: {} ms, {} probe timeouts, {} repeated",
                end.sender_ended_ns / MS,
                end.sent.ptos,
                end.sent.retransmitted
            );
            assert!(end.sent.ptos <= 10, "{arq:?} {control:?} {end:?}");
            assert!(
                end.sender_ended_ns < 5500 * MS,
                "{arq:?} {control:?} {end:?}"
            );
        }
    }
}
