//! Flows that share the output of a link: overload by UDP and the rest for TCP.

use caudal_analysis::framing::Framing;
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate};
use caudal_core::units::BitRate;
use caudal_stats::contention::fair_shares;

use super::parameters::SharingParameters;
use crate::efficiency::tcp_efficiency;

/// The share of datagrams lost when `offered` is sent to an output that carries `capacity` of the same payload.
///
/// `max(0, 1 − capacity/offered)`; 0 for nothing offered. Source: conservation; drop-tail drops the excess.
#[must_use]
pub fn overload_loss(offered: BitRate, capacity: BitRate) -> f64 {
    if offered <= capacity {
        return 0.0;
    }
    1.0 - capacity.as_f64() / offered.as_f64()
}

/// The goodput that unresponsive UDP leaves to TCP on a link, both in full frames.
///
/// `max(0, C − r·wire/payload) · efficiency of TCP`, for the UDP payload rate `r`. Source: conservation of the link's
/// time; holds where the queue is deep enough for TCP to use the gaps.
#[must_use]
pub fn tcp_beside_udp(framing: &Framing, line: BitRate, udp: BitRate) -> BitRate {
    let datagram = framing.udp_payload_per_frame();
    let Some(wire) = framing.udp_wire_bytes(datagram).filter(|_| datagram > 0) else {
        return BitRate::ZERO;
    };
    let udp_wire = udp.as_f64() * wire as f64 / f64::from(datagram);
    let remaining = BitRate::from_f64((line.as_f64() - udp_wire).max(0.0)).unwrap_or(BitRate::ZERO);
    framing.tcp_ceiling(remaining)
}

const DROP_TAIL: &str = "a drop-tail queue that drops from flows in proportion to their rates; phase effects shift the shares by some percent";

/// Several senders into one output, which drops the excess.
pub(super) fn into_one_output(parameters: &SharingParameters) -> Vec<Prediction> {
    let offered: BitRate = parameters.udp.iter().copied().sum();
    let mut all = Vec::new();
    if !parameters.udp.is_empty() {
        all.extend(overloading_udp(parameters, offered));
    }
    if parameters.tcp > 0 {
        all.extend(remaining_tcp(parameters, offered));
    }
    all
}

/// The loss of UDP flows that offer `offered` together, and the goodput of each.
fn overloading_udp(parameters: &SharingParameters, offered: BitRate) -> Vec<Prediction> {
    let datagram = parameters.framing.udp_payload_per_frame();
    let capacity = parameters.framing.udp_ceiling(parameters.rate, datagram);
    let lost = overload_loss(offered, capacity);
    let mut all = vec![
        Prediction::new("udp_loss", "UDP lost", lost, Unit::Share)
            .detail(format!("{} offered to {}", rate(offered), rate(capacity)))
            .assumes(format!("datagrams of {datagram} bytes; TCP backs off"))
            .source("conservation at a drop-tail output")
            .within(Tolerance::symmetric(0.05))
            .step(format!(
                "{} × efficiency = at most {} of payload",
                rate(parameters.rate),
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
    ];
    for (index, one) in parameters.udp.iter().enumerate() {
        let goodput = one.as_f64() * (1.0 - lost);
        all.push(
            Prediction::new(
                format!("udp_goodput_{}", index + 1),
                format!("UDP flow {}", index + 1),
                goodput,
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
                Unit::BitPerSecond.show(goodput)
            )),
        );
    }
    all
}

/// The goodput that UDP at `udp` leaves to TCP: of all flows together and of each.
fn remaining_tcp(parameters: &SharingParameters, udp: BitRate) -> Vec<Prediction> {
    let SharingParameters {
        rate: line,
        framing,
        tcp,
        ..
    } = *parameters;
    let remaining = tcp_beside_udp(&framing, line, udp);
    let each = remaining.as_f64() / f64::from(tcp);
    let datagram = framing.udp_payload_per_frame();
    let wire = framing.udp_wire_bytes(datagram).unwrap_or(0);
    let efficiency = tcp_efficiency(&framing).unwrap_or(0.0);
    let (assumes, steps) = if udp == BitRate::ZERO {
        (
            "flows of one congestion control and one round-trip time that share equally in the long run",
            vec![format!(
                "{} × {efficiency:.4} = {}",
                rate(line),
                rate(remaining)
            )],
        )
    } else {
        (
            "UDP is unresponsive, the queue is deep enough for TCP to fill the gaps, and TCP backs off; bbr backs off less",
            vec![format!(
                "({} − {} × {wire}/{datagram}) × {efficiency:.4} = {}",
                rate(line),
                rate(udp),
                rate(remaining)
            )],
        )
    };
    let mut all = vec![
        Prediction::new(
            "tcp_goodput",
            "TCP, all flows",
            remaining.as_f64(),
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
                .step(format!("{} / {tcp} = {}", rate(remaining), Unit::BitPerSecond.show(each))),
        );
    }
    all
}

/// All flows through one queue that blocks the writers: nothing is dropped there, and all share equally.
pub(super) fn from_one_sender(parameters: &SharingParameters) -> Vec<Prediction> {
    let SharingParameters {
        rate: line,
        framing,
        tcp,
        ref udp,
        ..
    } = *parameters;
    let datagram = framing.udp_payload_per_frame();
    let Some(wire) = framing.udp_wire_bytes(datagram).filter(|_| datagram > 0) else {
        return Vec::new();
    };
    let efficiency = tcp_efficiency(&framing).unwrap_or(0.0);
    // Shares are of wire time, in which full frames of both count the same.
    let wire_rate = |payload: &BitRate| payload.as_f64() * wire as f64 / f64::from(datagram);
    let demands: Vec<Option<f64>> = udp
        .iter()
        .map(|payload| Some(wire_rate(payload)))
        .chain((0..tcp).map(|_| None))
        .collect();
    let shares = fair_shares(line.as_f64(), &demands);
    let assumes = "the sender's own queue blocks programs instead of dropping, and serves the frames of all flows in turn";
    shares
        .iter()
        .enumerate()
        .map(|(nth, share)| {
            let is_udp = nth < udp.len();
            let (efficiency, protocol, number) = if is_udp {
                (f64::from(datagram) / wire as f64, "UDP", nth + 1)
            } else {
                (efficiency, "TCP", nth + 1 - udp.len())
            };
            let value = share * efficiency;
            Prediction::new(
                format!("{}_goodput_{number}", protocol.to_lowercase()),
                format!("{protocol} flow {number}"),
                value,
                Unit::BitPerSecond,
            )
            .bound_by(if demands[nth].is_some_and(|demand| *share >= demand) {
                "asked"
            } else {
                "wire"
            })
            .detail(format!("{} of wire time", Unit::BitPerSecond.show(*share)))
            .assumes(assumes)
            .source("max-min fairness: Bertsekas and Gallager, Data Networks, section 6.5.2")
            .within(Tolerance::SHARE)
            .step(format!(
                "max-min fair share of {} among {} flows = {}",
                rate(line),
                demands.len(),
                Unit::BitPerSecond.show(*share)
            ))
            .step(format!(
                "× {efficiency:.4} = {}",
                Unit::BitPerSecond.show(value)
            ))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    #[test]
    fn tcp_gets_the_rate_that_udp_leaves() {
        for (udp, megabits) in [(3, "6.46"), (6, "3.51"), (9, "0.56"), (12, "0.00")] {
            let remaining = tcp_beside_udp(&Framing::default(), mega(10), mega(udp));
            assert_eq!(format!("{:.2}", remaining.as_f64() / 1e6), megabits);
        }
    }

    proptest! {
        #[test]
        fn more_udp_never_increases_tcp_and_never_reduces_the_loss(line in 1_000_u64..1 << 40, udp in 0_u64..1 << 40, more in 0_u64..1 << 40) {
            let framing = Framing::default();
            let (line, udp, more) = (BitRate::from_bps(line), BitRate::from_bps(udp), BitRate::from_bps(udp + more));
            prop_assert!(tcp_beside_udp(&framing, line, more) <= tcp_beside_udp(&framing, line, udp));
            prop_assert!(tcp_beside_udp(&framing, line, udp) <= line);
            prop_assert!(overload_loss(more, line) >= overload_loss(udp, line));
        }
    }
}
