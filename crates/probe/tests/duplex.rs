//! Duplex told from runs over links of known duplex.

mod support;

use caudal_core::units::BitRate;
use caudal_probe::Confidence;
use caudal_probe::duplex::{
    DuplexFinding, DuplexReadings, DuplexStatement, EachWay, EndErrors, LightRuns, LinkSide,
    RunLoss, SaturatingRuns,
};
use support::Chance;

const RUNS: u64 = 40;
const MBPS: f64 = 100.0;
/// Bits before which a collision is not late.
const SLOT_BITS: f64 = 512.0;
/// The gap after a frame, bits: nothing collides with it.
const GAP_BITS: f64 = 96.0;
/// 22 bytes of payload on the wire.
const SMALL: f64 = 88.0;
const LARGE: f64 = 1538.0;

/// The losses of Poisson traffic of frames of `bytes` at `load` both ways over a link between a full- and a half-duplex end:
/// from the full one, and from the half one.
fn mismatch(load: f64, bytes: f64, frames: u64, chance: &mut Chance) -> (RunLoss, RunLoss) {
    let frame = bytes * 8.0;
    let gap = frame / load;
    let arrivals = |chance: &mut Chance| {
        let mut at = 0.0;
        let next = |_| {
            at += chance.exponential(gap);
            at
        };
        (0..frames).map(next).collect::<Vec<f64>>()
    };
    // The full end sends when it likes: (start, end, lost).
    let mut free = 0.0_f64;
    let start = |at: f64| {
        let start = free.max(at);
        free = start + frame;
        (start, start + frame, false)
    };
    let mut full: Vec<(f64, f64, bool)> = arrivals(chance).into_iter().map(start).collect();
    let (mut now, mut next, mut lost) = (0.0_f64, 0, 0);
    for at in arrivals(chance) {
        now = now.max(at);
        loop {
            while next < full.len() && full[next].1 <= now {
                next += 1;
            }
            if next < full.len() && full[next].0 <= now {
                // The half end defers.
                now = full[next].1;
                continue;
            }
            match full
                .get_mut(next)
                .filter(|sent| sent.0 < now + frame - GAP_BITS)
            {
                None => {
                    now += frame;
                    break;
                }
                Some(sent) => {
                    sent.2 = true;
                    let is_late = sent.0 - now > SLOT_BITS;
                    now = sent.0;
                    if is_late {
                        lost += 1;
                        break;
                    }
                }
            }
        }
    }
    let from_full = full.iter().filter(|sent| sent.2).count() as u64;
    let of = |lost| RunLoss { sent: frames, lost };
    (of(from_full), of(lost))
}

/// The loss of probes of `load` beside cross traffic over a line with a queue of `room` frames.
fn queue_loss(load: f64, cross: f64, room: f64, frames: u64, chance: &mut Chance) -> RunLoss {
    let total = load + cross;
    let (mut backlog, mut sent, mut lost) = (0.0_f64, 0, 0);
    while sent < frames {
        backlog = (backlog - chance.exponential(1.0 / total)).max(0.0);
        let is_probe = chance.happens(load / total);
        let fits = backlog + 1.0 <= room;
        sent += u64::from(is_probe);
        lost += u64::from(is_probe && !fits);
        if fits {
            backlog += 1.0;
        }
    }
    RunLoss { sent, lost }
}

const NO_LOSS: RunLoss = RunLoss {
    sent: 2000,
    lost: 0,
};
const CLEAN: EachWay<RunLoss> = EachWay {
    forward: NO_LOSS,
    back: NO_LOSS,
};

fn each_way(half: LinkSide, from_full: RunLoss, from_half: RunLoss) -> EachWay<RunLoss> {
    match half {
        LinkSide::Near => EachWay {
            forward: from_half,
            back: from_full,
        },
        LinkSide::Far => EachWay {
            forward: from_full,
            back: from_half,
        },
    }
}

fn mismatched(half: LinkSide, chance: &mut Chance) -> DuplexReadings {
    let mut light = |load: f64, bytes: f64| {
        let (from_full, from_half) = mismatch(load, bytes, 2000, chance);
        LightRuns {
            load,
            alone: CLEAN,
            together: each_way(half, from_full, from_half),
        }
    };
    DuplexReadings {
        light: Some(light(0.1, LARGE)),
        doubled: Some(light(0.2, LARGE)),
        small: Some(light(0.1, SMALL)),
        ..DuplexReadings::default()
    }
}

fn rates(forward: f64, back: f64) -> EachWay<BitRate> {
    EachWay {
        forward: BitRate::from_bps((forward * 1e6) as u64),
        back: BitRate::from_bps((back * 1e6) as u64),
    }
}

/// A full-duplex link under cross traffic of up to 85 % each way, with queues of 50 to 200 frames.
fn full(chance: &mut Chance) -> DuplexReadings {
    let cross = [0.85 * chance.uniform(), 0.85 * chance.uniform()];
    let room = 50.0 + 150.0 * chance.uniform();
    let mut runs = |load| {
        let mut both = || EachWay {
            forward: queue_loss(load, cross[0], room, 2000, chance),
            back: queue_loss(load, cross[1], room, 2000, chance),
        };
        LightRuns {
            load,
            alone: both(),
            together: both(),
        }
    };
    let (light, doubled, small) = (runs(0.1), runs(0.2), runs(0.1));
    let mut goodput = |cross: f64| MBPS / (1.05 + cross) * (0.96 + 0.04 * chance.uniform());
    DuplexReadings {
        light: Some(light),
        doubled: Some(doubled),
        small: Some(small),
        saturating: Some(SaturatingRuns {
            alone: rates(goodput(cross[0]), goodput(cross[1])),
            together: rates(goodput(cross[0]), goodput(cross[1])),
        }),
        ..DuplexReadings::default()
    }
}

/// A half-duplex link: one medium for both directions, less collisions, shared unevenly by capture.
fn half(chance: &mut Chance) -> DuplexReadings {
    let mut light = |load| {
        let mut both = |others: f64| EachWay {
            forward: queue_loss(load, others, 50.0, 2000, chance),
            back: queue_loss(load, others, 50.0, 2000, chance),
        };
        LightRuns {
            load,
            alone: both(0.0),
            together: both(load),
        }
    };
    let (light, doubled) = (light(0.1), light(0.2));
    let alone = 95.0 * (0.97 + 0.03 * chance.uniform());
    let sum = alone * (0.8 + 0.2 * chance.uniform());
    let share = 0.2 + 0.6 * chance.uniform();
    DuplexReadings {
        light: Some(light),
        doubled: Some(doubled),
        saturating: Some(SaturatingRuns {
            alone: rates(alone, alone),
            together: rates(sum * share, sum * (1.0 - share)),
        }),
        ..DuplexReadings::default()
    }
}

/// How many of 40 seeded runs have this finding.
fn found(expected: DuplexFinding, readings: impl Fn(&mut Chance) -> DuplexReadings) -> u64 {
    let count = (0..RUNS).filter(|seed| {
        let statement = DuplexStatement::from_readings(&readings(&mut Chance::new(*seed)));
        statement.finding == expected
    });
    count.count() as u64
}

#[test]
fn duplex_is_told_in_at_least_38_of_40_runs_of_each_kind() {
    let near = found(
        DuplexFinding::Mismatch {
            half: Some(LinkSide::Near),
        },
        |chance| mismatched(LinkSide::Near, chance),
    );
    let far = found(
        DuplexFinding::Mismatch {
            half: Some(LinkSide::Far),
        },
        |chance| mismatched(LinkSide::Far, chance),
    );
    let shared = found(DuplexFinding::MatchedHalf, half);
    let full = found(DuplexFinding::Full, full);
    println!("of {RUNS}: near {near}, far {far}, half {shared}, full {full}");
    assert!([near, far, shared, full].iter().all(|count| *count >= 38));
}

#[test]
fn a_loaded_full_duplex_link_is_never_called_anything_else() {
    for seed in 0..200 {
        let readings = full(&mut Chance::new(seed));
        let statement = DuplexStatement::from_readings(&readings);
        assert!(
            matches!(
                statement.finding,
                DuplexFinding::Full | DuplexFinding::CannotTell
            ),
            "{seed}: {statement:?}"
        );
    }
}

#[test]
fn the_model_of_mismatch_has_the_losses_of_its_source() {
    let (from_full, from_half) = mismatch(0.1, LARGE, 100_000, &mut Chance::new(1));
    let percent = |loss: RunLoss| 100.0 * loss.fraction().unwrap_or(1.0);
    assert!((percent(from_full) - 10.0).abs() < 2.0, "{from_full:?}");
    assert!((percent(from_half) - 8.8).abs() < 2.0, "{from_half:?}");
    let (_, small) = mismatch(0.1, SMALL, 100_000, &mut Chance::new(1));
    assert!(percent(small) < 2.0, "{small:?}");
}

#[test]
fn late_collisions_are_conclusive_and_crc_errors_are_the_other_ends() {
    let errors = EndErrors {
        late_collisions: 12,
        ..EndErrors::default()
    };
    let readings = DuplexReadings {
        far_errors: Some(errors),
        ..DuplexReadings::default()
    };
    let statement = DuplexStatement::from_readings(&readings);
    let far = DuplexFinding::Mismatch {
        half: Some(LinkSide::Far),
    };
    assert_eq!(
        (statement.finding, statement.confidence),
        (far, Confidence::High)
    );
    let errors = |bad_frames_alone| EndErrors {
        bad_frames_alone,
        bad_frames_together: 40,
        ..EndErrors::default()
    };
    let found = |errors| {
        let near_errors = Some(errors);
        DuplexStatement::from_readings(&DuplexReadings {
            near_errors,
            ..DuplexReadings::default()
        })
        .finding
    };
    assert_eq!(found(errors(0)), far);
    assert_eq!(found(errors(40)), DuplexFinding::CannotTell);
}

#[test]
fn gigabit_paths_are_full_duplex_without_any_run() {
    let readings = |capacity| DuplexReadings {
        interface_rates: Some(rates(1000.0, 2500.0)),
        capacity: Some(BitRate::from_bps(capacity)),
        ..DuplexReadings::default()
    };
    let finding = |capacity| DuplexStatement::from_readings(&readings(capacity)).finding;
    assert_eq!(finding(940_000_000), DuplexFinding::Full);
    assert_eq!(finding(94_000_000), DuplexFinding::CannotTell);
}

#[test]
fn what_does_not_tell_says_why() {
    let light = |alone, together| LightRuns {
        load: 0.1,
        alone: EachWay {
            forward: alone,
            back: NO_LOSS,
        },
        together: EachWay {
            forward: together,
            back: NO_LOSS,
        },
    };
    let loss = |lost| RunLoss { sent: 2000, lost };
    let saturating = |together| {
        Some(SaturatingRuns {
            alone: rates(95.0, 95.0),
            together: rates(together, together),
        })
    };
    let with = |light, saturating| DuplexReadings {
        light,
        saturating,
        ..DuplexReadings::default()
    };
    let clean = Some(light(NO_LOSS, NO_LOSS));
    let few = RunLoss { sent: 10, lost: 0 };
    let impossible = RunLoss {
        sent: 2000,
        lost: 2001,
    };
    for (readings, cause) in [
        (with(None, None), "there were no runs between both ends"),
        (with(clean, None), "there are no saturating ones"),
        (with(clean, saturating(60.0)), "short of CPU"),
        (with(None, saturating(47.0)), "a mismatch is not excluded"),
        (with(clean, saturating(10.0)), "less than a shared medium"),
        (
            with(Some(light(loss(40), loss(200))), None),
            "congested or lossy",
        ),
        (
            with(Some(light(NO_LOSS, loss(900))), None),
            "more than collisions",
        ),
        (with(Some(light(few, few)), None), "10 datagrams"),
        (with(Some(light(impossible, NO_LOSS)), None), "impossible"),
    ] {
        let statement = DuplexStatement::from_readings(&readings);
        assert_eq!(
            statement.finding,
            DuplexFinding::CannotTell,
            "{statement:?}"
        );
        assert!(
            statement.reason.starts_with("cannot tell, because ")
                && statement.reason.contains(cause),
            "{statement:?}"
        );
    }
}

/// Runs over 10 Mbit/s in the lab whose near end is half duplex.
#[test]
fn a_mismatch_is_one_with_the_chance_of_few_datagrams() {
    let at = |load, sent, lost: [u64; 2], alone: [u64; 2]| {
        let each = |[forward, back]: [u64; 2]| EachWay {
            forward: RunLoss {
                sent,
                lost: forward,
            },
            back: RunLoss { sent, lost: back },
        };
        LightRuns {
            load,
            alone: each(alone),
            together: each(lost),
        }
    };
    for (light, doubled, small, alone) in [
        // The losses grow threefold.
        ([104, 144], [324, 608], [1, 138], [2, 0]),
        // Of small datagrams against the half-duplex end less than half as many are lost.
        ([136, 210], [317, 530], [2, 95], [0, 0]),
    ] {
        let readings = DuplexReadings {
            light: Some(at(0.2, 700, light, alone)),
            doubled: Some(at(0.4, 974, doubled, alone)),
            small: Some(at(0.2, 700, small, alone)),
            ..DuplexReadings::default()
        };
        let found = DuplexStatement::from_readings(&readings).finding;
        let near = DuplexFinding::Mismatch {
            half: Some(LinkSide::Near),
        };
        assert_eq!(found, near);
    }
}
