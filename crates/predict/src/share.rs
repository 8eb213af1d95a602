//! Flows that share: equal parts, bias by round-trip time, overload, policers, and load balancing per flow.

use caudal_core::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate, time};
use caudal_core::units::{BitRate, ByteCount};
use caudal_stats::contention::jain;
use std::time::Duration;

/// Max-min fair shares of `capacity` among `demands`: nobody gets more than asked, and what is left is shared alike.
///
/// In the order of the demands. Source: Bertsekas and Gallager, "Data Networks", section 6.5.2.
#[must_use]
pub fn max_min_fair(capacity: BitRate, demands: &[BitRate]) -> Vec<BitRate> {
    let mut order: Vec<usize> = (0..demands.len()).collect();
    order.sort_by_key(|at| demands[*at]);
    let mut shares = vec![BitRate::ZERO; demands.len()];
    let (mut left, mut flows) = (capacity.bps(), demands.len() as u64);
    for at in order {
        let share = demands[at].bps().min(left / flows);
        shares[at] = BitRate::from_bps(share);
        left -= share;
        flows -= 1;
    }
    shares
}

/// The share of datagrams lost when `offered` meets an output that carries `capacity` of the same payload.
///
/// `max(0, 1 − capacity/offered)`; 0 for nothing offered. Source: conservation; drop-tail loses what does not fit.
#[must_use]
pub fn overload_loss(offered: BitRate, capacity: BitRate) -> f64 {
    if offered <= capacity {
        return 0.0;
    }
    1.0 - capacity.as_f64() / offered.as_f64()
}

/// What UDP that heeds nothing leaves to TCP on a link, both in full frames.
///
/// `max(0, C − r·wire/payload) · efficiency of TCP`, for the UDP payload rate `r`. Source: conservation of the link's
/// time; holds where the queue is deep enough for TCP to use the gaps.
#[must_use]
pub fn tcp_beside_udp(framing: &Framing, line: BitRate, udp: BitRate) -> BitRate {
    let datagram = framing.udp_payload_per_frame();
    let Some(wire) = framing.udp_wire_bytes(datagram).filter(|_| datagram > 0) else {
        return BitRate::ZERO;
    };
    let taken = udp.as_f64() * wire as f64 / f64::from(datagram);
    let left = BitRate::from_f64((line.as_f64() - taken).max(0.0)).unwrap_or(BitRate::ZERO);
    framing.tcp_ceiling(left)
}

/// The goodput of a Reno flow through a policer of rate `P` with a bucket of `burst` bytes and no queue.
///
/// `min(P, ¾·(P + √(2·burst·mss)·8/rtt))`: the saw-tooth climbs past `P` until the area above it has emptied the
/// bucket, then halves. `None` for a round trip of no time. Source: the saw-tooth of RFC 5681 section 3.1 against the
/// token bucket of RFC 2697; Flach et al., "An Internet-Wide Analysis of Traffic Policing", 2016, for what it does.
#[must_use]
pub fn policed_tcp(policer: BitRate, burst: ByteCount, mss: u32, rtt: Duration) -> Option<BitRate> {
    let rtt = rtt.as_secs_f64();
    (rtt > 0.0).then_some(())?;
    let above = (2.0 * burst.as_f64() * f64::from(mss)).sqrt() * 8.0 / rtt;
    let mean = 0.75 * (policer.as_f64() + above);
    BitRate::from_f64(mean.min(policer.as_f64()))
}

/// The chance that at least two of `flows` are put on the same one of `paths` by a hash.
///
/// `1 − k!/((k−n)!·kⁿ)`; `None` for no path. Source: the birthday problem; RFC 2992 for hashing per flow.
#[must_use]
pub fn hash_collision(flows: u32, paths: u32) -> Option<f64> {
    if paths == 0 {
        return None;
    }
    if flows > paths {
        return Some(1.0);
    }
    // By logarithms: thousands of factors below one would underflow.
    let apart: f64 = (0..flows)
        .map(|at| (-f64::from(at) / f64::from(paths)).ln_1p())
        .sum();
    Some(-apart.exp_m1())
}

/// The paths a hash uses on average: `k·(1 − (1 − 1/k)ⁿ)`; `None` for no path.
///
/// Source: as [`hash_collision`].
#[must_use]
pub fn paths_used(flows: u32, paths: u32) -> Option<f64> {
    let k = f64::from(paths);
    (paths > 0).then(|| k * (1.0 - (1.0 - 1.0 / k).powf(f64::from(flows))))
}

/// How the shares of two or more flows of one congestion control follow from their round-trip times.
///
/// Each share is proportional to `1/rtt^bias`: 1 for Reno with losses at random, 2 when both lose at the same time,
/// 0.25 for CUBIC in its own region. Empty when a round trip takes no time. Source: Lakshman and Madhow 1997 for Reno;
/// RFC 9438 section 5.1 for CUBIC, whose window grows with rtt^¾.
#[must_use]
pub fn shares_by_rtt(capacity: BitRate, rtts: &[Duration], bias: f64) -> Vec<f64> {
    if rtts.iter().any(Duration::is_zero) {
        return Vec::new();
    }
    let weights: Vec<f64> = rtts
        .iter()
        .map(|rtt| rtt.as_secs_f64().powf(-bias))
        .collect();
    let sum: f64 = weights.iter().sum();
    weights
        .iter()
        .map(|weight| capacity.as_f64() * weight / sum)
        .collect()
}

/// Where flows meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meeting {
    /// From several senders into one output.
    Receiver,
    /// In the interface of one sender, which holds its programs back instead of dropping.
    Sender,
}

/// A policer with its bucket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// What it lets through.
    pub rate: BitRate,
    /// What it lets through at once.
    pub burst: ByteCount,
}

/// What is asked about sharing.
#[derive(Debug, Clone, PartialEq)]
pub struct ShareQuestion {
    /// The line rate of the output that is shared.
    pub rate: BitRate,
    /// What surrounds the payload.
    pub framing: Framing,
    /// TCP flows that always have data.
    pub tcp: u32,
    /// The payload rates that UDP flows offer.
    pub udp: Vec<BitRate>,
    /// Where the flows meet.
    pub meeting: Meeting,
    /// The round-trip times of TCP flows that differ in them.
    pub rtts: Vec<Duration>,
    /// A policer in the way.
    pub policer: Option<Policer>,
    /// Paths that flows are spread over.
    pub paths: Option<u32>,
}

/// What each flow gets.
#[must_use]
pub fn share(question: &ShareQuestion) -> Vec<Prediction> {
    let mut all = match question.meeting {
        Meeting::Receiver => into_one_output(question),
        Meeting::Sender => from_one_sender(question),
    };
    if question.rtts.len() > 1 {
        all.extend(by_rtt(question));
    }
    if let Some(policer) = question.policer {
        all.extend(policed(question, policer));
    }
    if let Some(paths) = question.paths {
        all.extend(balanced(question, paths));
    }
    all
}

const DROP_TAIL: &str = "a drop-tail queue whose losses fall on flows as they offer; phase moves the parts by some points";

fn into_one_output(question: &ShareQuestion) -> Vec<Prediction> {
    let ShareQuestion {
        rate: line,
        framing,
        tcp,
        ref udp,
        ..
    } = *question;
    let mut all = Vec::new();
    let datagram = framing.udp_payload_per_frame();
    let capacity = framing.udp_ceiling(line, datagram);
    let offered: BitRate = udp.iter().copied().sum();
    let lost = overload_loss(offered, capacity);
    if !udp.is_empty() {
        all.push(
            Prediction::new("udp_loss", "UDP lost", lost, Unit::Share)
                .detail(format!("{} offered to {}", rate(offered), rate(capacity)))
                .assumes(format!("datagrams of {datagram} bytes; TCP gives way"))
                .source("conservation at a drop-tail output")
                .within(Tolerance::both(0.05))
                .step(format!(
                    "{} × efficiency = {} of payload at most",
                    rate(line),
                    rate(capacity)
                ))
                .step(format!(
                    "1 − {} / {} = {}{}",
                    rate(capacity),
                    rate(offered),
                    digits(1.0 - capacity.as_f64() / offered.as_f64().max(1.0)),
                    if lost == 0.0 {
                        ", below 0: nothing is lost"
                    } else {
                        ""
                    }
                )),
        );
        for (nth, one) in udp.iter().enumerate() {
            let value = one.as_f64() * (1.0 - lost);
            all.push(
                Prediction::new(
                    format!("udp_goodput_{}", nth + 1),
                    format!("UDP flow {}", nth + 1),
                    value,
                    Unit::BitPerSecond,
                )
                .bound_by(if lost > 0.0 { "wire" } else { "asked" })
                .detail(format!("of {} offered", rate(*one)))
                .assumes(DROP_TAIL)
                .source("conservation at a drop-tail output")
                .within(Tolerance::SHARE)
                .step(format!(
                    "{} × (1 − {}) = {}",
                    rate(*one),
                    digits(lost),
                    Unit::BitPerSecond.show(value)
                )),
            );
        }
    }
    if tcp > 0 {
        all.extend(tcp_rest(question, offered));
    }
    all
}

fn tcp_rest(question: &ShareQuestion, udp: BitRate) -> Vec<Prediction> {
    let ShareQuestion {
        rate: line,
        framing,
        tcp,
        ..
    } = *question;
    let left = tcp_beside_udp(&framing, line, udp);
    let each = left.as_f64() / f64::from(tcp);
    let datagram = framing.udp_payload_per_frame();
    let wire = framing.udp_wire_bytes(datagram).unwrap_or(0);
    let efficiency = super::efficiency::tcp_efficiency(&framing).unwrap_or(0.0);
    let (assumes, steps) = if udp == BitRate::ZERO {
        (
            "flows of one congestion control and one round-trip time that share alike in the long run",
            vec![format!("{} × {efficiency:.4} = {}", rate(line), rate(left))],
        )
    } else {
        (
            "UDP heeds nothing, the queue is deep enough for TCP to fill the gaps, and TCP gives way; bbr gives way less",
            vec![format!(
                "({} − {} × {wire}/{datagram}) × {efficiency:.4} = {}",
                rate(line),
                rate(udp),
                rate(left)
            )],
        )
    };
    let mut all = vec![
        Prediction::new(
            "tcp_goodput",
            "TCP, all flows",
            left.as_f64(),
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail(if udp == BitRate::ZERO {
            "the whole link".to_owned()
        } else {
            format!("what {} of UDP leaves", rate(udp))
        })
        .assumes(assumes)
        .source("conservation of the link's time; IEEE 802.3 framing")
        .within(if udp == BitRate::ZERO {
            Tolerance::EXACT
        } else {
            Tolerance::SHARE
        })
        .steps(steps),
    ];
    if tcp > 1 {
        all.push(
            Prediction::new("tcp_goodput_per_flow", "TCP, each flow", each, Unit::BitPerSecond)
                .bound_by("wire")
                .detail(format!("{tcp} equal flows"))
                .assumes(assumes)
                .source("Chiu and Jain 1989: additive increase, multiplicative decrease converges to equal shares")
                .within(Tolerance::SHARE)
                .step(format!("{} / {tcp} = {}", rate(left), Unit::BitPerSecond.show(each))),
        );
    }
    all
}

/// All flows leave through one queue that holds writers back: none is lost there, and all share alike.
fn from_one_sender(question: &ShareQuestion) -> Vec<Prediction> {
    let ShareQuestion {
        rate: line,
        framing,
        tcp,
        ref udp,
        ..
    } = *question;
    let datagram = framing.udp_payload_per_frame();
    let Some(wire) = framing.udp_wire_bytes(datagram).filter(|_| datagram > 0) else {
        return Vec::new();
    };
    let efficiency = super::efficiency::tcp_efficiency(&framing).unwrap_or(0.0);
    // In wire time, where full frames of both weigh the same.
    let demand = |payload: &BitRate| {
        BitRate::from_f64(payload.as_f64() * wire as f64 / f64::from(datagram)).unwrap_or(line)
    };
    let demands: Vec<BitRate> = udp
        .iter()
        .map(demand)
        .chain((0..tcp).map(|_| line))
        .collect();
    let shares = max_min_fair(line, &demands);
    let assumes = "the sender's own queue holds programs back instead of dropping, and frames of all flows take turns";
    shares
        .iter()
        .enumerate()
        .map(|(nth, share)| {
            let is_udp = nth < udp.len();
            let (part, what, number) = if is_udp {
                (f64::from(datagram) / wire as f64, "UDP", nth + 1)
            } else {
                (efficiency, "TCP", nth + 1 - udp.len())
            };
            let value = share.as_f64() * part;
            Prediction::new(
                format!("{}_goodput_{number}", what.to_lowercase()),
                format!("{what} flow {number}"),
                value,
                Unit::BitPerSecond,
            )
            .bound_by(if is_udp && *share >= demands[nth] {
                "asked"
            } else {
                "wire"
            })
            .detail(format!("{} of wire time", rate(*share)))
            .assumes(assumes)
            .source("max-min fairness: Bertsekas and Gallager, Data Networks, section 6.5.2")
            .within(Tolerance::SHARE)
            .step(format!(
                "max-min fair part of {} among {} flows = {}",
                rate(line),
                demands.len(),
                rate(*share)
            ))
            .step(format!("× {part:.4} = {}", Unit::BitPerSecond.show(value)))
        })
        .collect()
}

fn by_rtt(question: &ShareQuestion) -> Vec<Prediction> {
    let capacity = question.framing.tcp_ceiling(question.rate);
    let kinds = [
        ("reno", "Reno", 1.0, "Lakshman and Madhow 1997"),
        (
            "cubic",
            "CUBIC, its own region",
            0.25,
            "RFC 9438 section 5.1",
        ),
    ];
    let mut all = Vec::new();
    for (name, title, bias, source) in kinds {
        let shares = shares_by_rtt(capacity, &question.rtts, bias);
        for (nth, (share, rtt)) in shares.iter().zip(&question.rtts).enumerate() {
            all.push(
                Prediction::new(format!("{name}_share_{}", nth + 1), format!("{title}, flow {}", nth + 1), *share, Unit::BitPerSecond)
                    .bound_by("wire")
                    .detail(format!("rtt {}", time(*rtt)))
                    .assumes("each flow's round trip stays its own: a full queue adds the same to all and evens them out")
                    .source(source)
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!(
                        "{} × (1/{})^{bias} / Σ(1/rtt)^{bias} = {}",
                        rate(capacity),
                        time(*rtt),
                        Unit::BitPerSecond.show(*share)
                    )),
            );
        }
        if let Some(index) = jain(&shares) {
            all.push(
                Prediction::new(
                    format!("{name}_jain"),
                    format!("{title}, Jain's index"),
                    index,
                    Unit::Efficiency,
                )
                .detail("1 is fair")
                .assumes("the shares above")
                .source("Jain, Chiu and Hawe, DEC-TR-301, 1984")
                .within(Tolerance::SHARE)
                .step(format!("(Σx)² / (n·Σx²) = {index:.4}")),
            );
        }
    }
    all
}

fn policed(question: &ShareQuestion, policer: Policer) -> Vec<Prediction> {
    let mut all = Vec::new();
    let offered: BitRate = question.udp.iter().copied().sum();
    if offered > BitRate::ZERO {
        let lost = overload_loss(offered, policer.rate);
        all.push(
            Prediction::new("policed_udp_loss", "UDP lost, policed", lost, Unit::Share)
                .bound_by(if lost > 0.0 { "policer" } else { "asked" })
                .detail(format!(
                    "{} offered to {}",
                    rate(offered),
                    rate(policer.rate)
                ))
                .assumes("the policer counts payload, and the test is long against its bucket")
                .source("RFC 2697")
                .within(Tolerance::both(0.05))
                .step(format!(
                    "1 − {} / {} = {}",
                    rate(policer.rate),
                    rate(offered),
                    Unit::Share.show(lost)
                )),
        );
    }
    let mss = question.framing.tcp_payload_per_frame();
    for rtt in &question.rtts {
        if let Some(value) = policed_tcp(policer.rate, policer.burst, mss, *rtt) {
            all.push(
                Prediction::new("policed_tcp_goodput", "TCP, policed", value.as_f64(), Unit::BitPerSecond)
                    .bound_by("policer")
                    .detail(format!("rtt {}, bucket {} B", time(*rtt), policer.burst.get()))
                    .assumes("one Reno flow, no queue, one loss when the bucket is empty; Linux loses more at once and gets less")
                    .source("RFC 5681 section 3.1 against the token bucket of RFC 2697; Flach et al. 2016")
                    .within(Tolerance::FACTOR_TWO)
                    .step(format!(
                        "¾ × ({} + √(2 × {} × {mss}) × 8 / {}), at most {} = {}",
                        rate(policer.rate),
                        policer.burst.get(),
                        time(*rtt),
                        rate(policer.rate),
                        rate(value)
                    )),
            );
        }
    }
    all
}

fn balanced(question: &ShareQuestion, paths: u32) -> Vec<Prediction> {
    let flows = question.tcp.saturating_add(question.udp.len() as u32);
    let (Some(collide), Some(used)) = (hash_collision(flows, paths), paths_used(flows, paths))
    else {
        return Vec::new();
    };
    let each = question.framing.tcp_ceiling(question.rate);
    let total = each.as_f64() * used;
    vec![
        Prediction::new(
            "hash_collision",
            "two flows on one path",
            collide,
            Unit::Share,
        )
        .detail(format!("{flows} flows over {paths} paths"))
        .assumes("a hash that puts each flow on any path alike, whatever the others do")
        .source("the birthday problem; RFC 2992")
        .within(Tolerance::SHARE)
        .step(format!(
            "1 − {paths}!/(({paths} − {flows})!·{paths}^{flows}) = {}",
            Unit::Share.show(collide)
        )),
        Prediction::new("paths_used", "paths used, mean", used, Unit::Paths)
            .detail(format!("of {paths}"))
            .assumes("as above")
            .source("the birthday problem; RFC 2992")
            .within(Tolerance::SHARE)
            .step(format!(
                "{paths} × (1 − (1 − 1/{paths})^{flows}) = {}",
                digits(used)
            )),
        Prediction::new(
            "balanced_goodput",
            "TCP over all paths, mean",
            total,
            Unit::BitPerSecond,
        )
        .bound_by("wire")
        .detail(format!("{} a path", rate(each)))
        .assumes(
            "every path has the rate given, every flow always has data, and one flow fills a path",
        )
        .source("the birthday problem; RFC 2992")
        .within(Tolerance::SHARE)
        .step(format!(
            "{} × {} = {}",
            digits(used),
            rate(each),
            Unit::BitPerSecond.show(total)
        )),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    fn question() -> ShareQuestion {
        ShareQuestion {
            rate: mega(10),
            framing: Framing::default(),
            tcp: 0,
            udp: Vec::new(),
            meeting: Meeting::Receiver,
            rtts: Vec::new(),
            policer: None,
            paths: None,
        }
    }

    fn value(of: &[Prediction], name: &str) -> f64 {
        of.iter().find(|one| one.name == name).unwrap().value
    }

    #[test]
    fn two_floods_into_one_output_lose_what_does_not_fit() {
        let all = share(&ShareQuestion {
            udp: vec![mega(8), mega(8)],
            ..question()
        });
        assert_eq!(format!("{:.1}", value(&all, "udp_loss") * 100.0), "40.2");
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "udp_goodput_1")),
            "4.785 Mbit/s"
        );
        let less = share(&ShareQuestion {
            udp: vec![mega(8), mega(4)],
            ..question()
        });
        assert_eq!(format!("{:.1}", value(&less, "udp_loss") * 100.0), "20.2");
        let fits = share(&ShareQuestion {
            udp: vec![mega(4), mega(4)],
            ..question()
        });
        assert_eq!(value(&fits, "udp_loss"), 0.0);
        assert_eq!(fits[1].binding.as_deref(), Some("asked"));
    }

    #[test]
    fn tcp_gets_what_udp_leaves() {
        for (udp, megabits) in [(3, "6.46"), (6, "3.51"), (9, "0.56"), (12, "0.00")] {
            let left = tcp_beside_udp(&Framing::default(), mega(10), mega(udp));
            assert_eq!(format!("{:.2}", left.as_f64() / 1e6), megabits);
        }
    }

    #[test]
    fn flows_from_one_sender_take_turns() {
        let all = share(&ShareQuestion {
            tcp: 1,
            udp: vec![mega(20)],
            meeting: Meeting::Sender,
            ..question()
        });
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "udp_goodput_1")),
            "4.785 Mbit/s"
        );
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "tcp_goodput_1")),
            "4.707 Mbit/s"
        );
        let small = share(&ShareQuestion {
            tcp: 1,
            udp: vec![mega(1)],
            meeting: Meeting::Sender,
            ..question()
        });
        assert_eq!(value(&small, "udp_goodput_1").round(), 1e6);
        assert_eq!(small[0].binding.as_deref(), Some("asked"));
        let two = share(&ShareQuestion {
            tcp: 2,
            ..question()
        });
        assert_eq!(
            Unit::BitPerSecond.show(value(&two, "tcp_goodput_per_flow")),
            "4.707 Mbit/s"
        );
    }

    #[test]
    fn a_shorter_round_trip_gets_more() {
        let rtts = [Duration::from_millis(10), Duration::from_millis(40)];
        let reno = shares_by_rtt(mega(10), &rtts, 1.0);
        assert_eq!(
            reno.iter().map(|share| share.round()).collect::<Vec<_>>(),
            [8e6, 2e6]
        );
        let both = shares_by_rtt(mega(10), &rtts, 2.0);
        assert!((both[0] / both[1] - 16.0).abs() < 1e-9);
        let cubic = shares_by_rtt(mega(10), &rtts, 0.25);
        assert!((cubic[0] / cubic[1] - 2.0_f64.sqrt()).abs() < 1e-9);
        assert!(shares_by_rtt(mega(10), &[Duration::ZERO], 1.0).is_empty());
    }

    #[test]
    fn a_policer_without_burst_leaves_three_quarters_and_with_enough_of_it_all() {
        let rtt = Duration::from_millis(40);
        assert_eq!(
            policed_tcp(mega(10), ByteCount::ZERO, 1448, rtt),
            Some(BitRate::from_bps(7_500_000))
        );
        assert_eq!(
            policed_tcp(mega(10), ByteCount::new(1_000_000), 1448, rtt),
            Some(mega(10))
        );
        let some = policed_tcp(mega(10), ByteCount::new(10_000), 1448, rtt).unwrap();
        assert_eq!(rate(some), "8.307 Mbit/s");
        assert_eq!(
            policed_tcp(mega(10), ByteCount::ZERO, 1448, Duration::ZERO),
            None
        );
    }

    #[test]
    fn flows_hashed_onto_paths_collide_more_than_one_thinks() {
        assert_eq!(hash_collision(2, 2), Some(0.5));
        assert_eq!(hash_collision(1, 4), Some(0.0));
        assert_eq!(hash_collision(5, 4), Some(1.0));
        assert_eq!(format!("{:.4}", hash_collision(4, 8).unwrap()), "0.5898");
        assert_eq!(format!("{:.4}", hash_collision(23, 365).unwrap()), "0.5073");
        assert_eq!(paths_used(2, 2), Some(1.5));
        assert_eq!(hash_collision(1, 0), None);
    }

    proptest! {
        #[test]
        fn fair_shares_fit_and_nobody_gets_more_than_asked(capacity in 0_u64..1 << 40, demands in proptest::collection::vec(0_u64..1 << 40, 0..20)) {
            let demands: Vec<BitRate> = demands.into_iter().map(BitRate::from_bps).collect();
            let shares = max_min_fair(BitRate::from_bps(capacity), &demands);
            let sum: u64 = shares.iter().map(|share| share.bps()).sum();
            prop_assert!(sum <= capacity);
            prop_assert!(shares.iter().zip(&demands).all(|(share, demand)| share <= demand));
            let asked: u64 = demands.iter().map(|demand| demand.bps()).sum();
            prop_assert!(sum == asked || capacity - sum < demands.len() as u64 + 1);
        }

        #[test]
        fn more_udp_never_leaves_tcp_more_and_never_loses_less(line in 1_000_u64..1 << 40, udp in 0_u64..1 << 40, more in 0_u64..1 << 40) {
            let framing = Framing::default();
            let (line, udp, more) = (BitRate::from_bps(line), BitRate::from_bps(udp), BitRate::from_bps(udp + more));
            prop_assert!(tcp_beside_udp(&framing, line, more) <= tcp_beside_udp(&framing, line, udp));
            prop_assert!(tcp_beside_udp(&framing, line, udp) <= line);
            prop_assert!(overload_loss(more, line) >= overload_loss(udp, line));
        }

        #[test]
        fn a_policer_is_never_passed_and_a_larger_bucket_never_hurts(bps in 1_000_u64..1 << 36, burst in 0_u64..1 << 24, more in 0_u64..1 << 24, us in 1_u64..1 << 24) {
            let police = |burst| policed_tcp(BitRate::from_bps(bps), ByteCount::new(burst), 1448, Duration::from_micros(us)).unwrap();
            prop_assert!(police(burst).bps() <= bps && police(burst + more) >= police(burst));
        }

        #[test]
        fn collisions_are_chances_and_grow_with_flows(flows in 0_u32..100, paths in 1_u32..100) {
            let one = hash_collision(flows, paths).unwrap();
            prop_assert!((0.0..=1.0).contains(&one) && hash_collision(flows + 1, paths).unwrap() >= one);
            prop_assert!(paths_used(flows, paths).unwrap() <= f64::from(paths.min(flows)) + 1e-9);
        }
    }
}
