//! The share of a link's rate that is payload, by protocol and size.

use caudal_analysis::framing::Framing;
use caudal_core::prediction::Tolerance;
use caudal_core::quantity::rate;
use caudal_core::units::BitRate;

use crate::rate_bounds::{LimitingFactor, RateBound};

/// The header bytes of a block in a reliable transfer over datagrams: session, block number, offset and checksum.
pub const TRANSFER_HEADER: u32 = 20;

/// The source of framing overheads.
pub(crate) const FRAMING_SOURCE: &str = "IEEE 802.3 clauses 3 and 4; RFC 6349 section 3.3.1";

/// Conditions under which framing alone limits the rate.
pub(crate) const FULL_FRAMES: &str =
    "one flow, every frame full, nothing else on the link, no loss";

/// The share of the line rate that TCP delivers as payload in full segments; `None` when the headers fill the MTU.
///
/// Source: IEEE 802.3 clauses 3 and 4, RFC 6349 section 3.3.1.
#[must_use]
pub fn tcp_efficiency(framing: &Framing) -> Option<f64> {
    let payload = framing.tcp_payload_per_frame();
    payload_share(
        u64::from(payload),
        framing.wire_bytes(u64::from(framing.mtu)),
    )
}

/// The share of the line rate that is payload when messages of `payload` bytes are sent one per segment over TCP.
///
/// `None` for no payload, and when the headers fill the MTU.
#[must_use]
pub fn tcp_message_efficiency(framing: &Framing, payload: u64) -> Option<f64> {
    payload_share(payload, framing.tcp_wire_bytes(payload)?)
}

/// The share of the line rate that is payload of datagrams of `payload` bytes, over all their fragments.
///
/// `None` for no payload, and when the MTU carries no fragment. Source: RFC 791 section 3.2, RFC 8200 section 4.5.
#[must_use]
pub fn udp_efficiency(framing: &Framing, payload: u32) -> Option<f64> {
    payload_share(u64::from(payload), framing.udp_wire_bytes(payload)?)
}

/// The share of the line rate that is payload when a protocol over UDP adds `header` bytes to each full datagram.
///
/// `None` when the headers fill the MTU.
#[must_use]
pub fn over_udp_efficiency(framing: &Framing, header: u32) -> Option<f64> {
    let datagram = framing.udp_payload_per_frame();
    let payload = datagram.checked_sub(header)?;
    payload_share(u64::from(payload), framing.udp_wire_bytes(datagram)?)
}

fn payload_share(payload: u64, wire: u64) -> Option<f64> {
    (payload > 0 && wire > 0).then(|| payload as f64 / wire as f64)
}

/// The maximum rate of minimum-size frames on a link: 84 byte times each, with preamble and gap.
///
/// Source: RFC 2544 section 20.
#[must_use]
pub fn min_size_frames_per_second(framing: &Framing, rate: BitRate) -> f64 {
    rate.as_f64() / (8.0 * framing.wire_bytes(0) as f64)
}

/// The probability that a datagram of `fragments` fragments is lost when each is lost independently with probability `loss`.
///
/// `1 − (1 − loss)^fragments`; `None` for a `loss` outside 0 to 1. Source: independence; RFC 8900 section 3.
#[must_use]
pub fn datagram_loss(loss: f64, fragments: u64) -> Option<f64> {
    // Computed with logarithms for the precision of small losses.
    (0.0..=1.0).contains(&loss).then(|| {
        if loss >= 1.0 {
            1.0
        } else {
            -(fragments as f64 * (-loss).ln_1p()).exp_m1()
        }
    })
}

/// The bound of the link on TCP in full segments.
#[must_use]
pub fn tcp_wire_bound(framing: &Framing, link: BitRate) -> RateBound {
    let payload = framing.tcp_payload_per_frame();
    let wire = framing.wire_bytes(u64::from(framing.mtu));
    RateBound {
        factor: LimitingFactor::Wire,
        rate: framing.tcp_ceiling(link),
        derivation: format!(
            "{} × {payload} / {wire} = {}",
            rate(link),
            rate(framing.tcp_ceiling(link))
        ),
        assumes: FULL_FRAMES.to_owned(),
        source: FRAMING_SOURCE.to_owned(),
        tolerance: Tolerance::EXACT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::framing::IpVersion;
    use proptest::prelude::*;

    const TEN: BitRate = BitRate::from_bps(10_000_000);

    fn four(value: Option<f64>) -> String {
        format!("{:.4}", value.unwrap())
    }

    #[test]
    fn tcp_efficiency_by_version_options_tag_and_mtu() {
        let usual = Framing::default();
        let bare = Framing {
            timestamps: false,
            ..usual
        };
        let six = Framing {
            ip: IpVersion::V6,
            ..usual
        };
        let tagged = Framing {
            vlan: true,
            ..usual
        };
        let jumbo = Framing { mtu: 9000, ..usual };
        for (framing, efficiency, ten) in [
            (usual, "0.9415", "9.415 Mbit/s"),
            (bare, "0.9493", "9.493 Mbit/s"),
            (six, "0.9285", "9.285 Mbit/s"),
            (tagged, "0.9390", "9.390 Mbit/s"),
            (jumbo, "0.9900", "9.900 Mbit/s"),
        ] {
            assert_eq!(four(tcp_efficiency(&framing)), efficiency);
            assert_eq!(rate(framing.tcp_ceiling(TEN)), ten);
        }
        let hundred = BitRate::from_bps(100_000_000);
        assert_eq!(rate(usual.tcp_ceiling(hundred)), "94.15 Mbit/s");
        assert_eq!(rate(bare.tcp_ceiling(hundred)), "94.93 Mbit/s");
        let giga = BitRate::from_bps(1_000_000_000);
        assert_eq!(rate(usual.tcp_ceiling(giga)), "941.5 Mbit/s");
        assert_eq!(rate(bare.tcp_ceiling(giga)), "949.3 Mbit/s");
        assert_eq!(rate(six.tcp_ceiling(giga)), "928.5 Mbit/s");
        assert_eq!(rate(tagged.tcp_ceiling(giga)), "939.0 Mbit/s");
        assert_eq!(rate(jumbo.tcp_ceiling(giga)), "990.0 Mbit/s");
    }

    #[test]
    fn udp_efficiency_with_and_without_fragments() {
        let usual = Framing::default();
        for (payload, fragments, wire, efficiency) in [
            (1, 1, 84, "0.0119"),
            (1472, 1, 1538, "0.9571"),
            (1473, 2, 1622, "0.9081"),
            (2952, 2, 3076, "0.9597"),
            (8192, 6, 8548, "0.9584"),
            (65_507, 45, 68_125, "0.9616"),
        ] {
            assert_eq!(usual.udp_fragments(payload), Some(fragments));
            assert_eq!(usual.udp_wire_bytes(payload), Some(wire));
            assert_eq!(
                four(udp_efficiency(&usual, payload)),
                efficiency,
                "{payload}"
            );
        }
        let six = Framing {
            ip: IpVersion::V6,
            ..usual
        };
        assert_eq!(six.udp_payload_per_frame(), 1452);
        assert_eq!(four(udp_efficiency(&six, 1452)), "0.9441");
        // 100-byte blocks on 10 Mbit/s: 6.024 Mbit/s.
        assert_eq!(rate(usual.udp_ceiling(TEN, 100)), "6.024 Mbit/s");
        let giga = BitRate::from_bps(1_000_000_000);
        assert_eq!(rate(usual.udp_ceiling(giga, 1472)), "957.1 Mbit/s");
        assert_eq!(rate(six.udp_ceiling(giga, 1452)), "944.1 Mbit/s");
    }

    #[test]
    fn a_lost_fragment_loses_the_whole_datagram() {
        let lost = datagram_loss(0.001, 45).unwrap();
        assert_eq!(format!("{:.1}", lost * 100.0), "4.4");
        assert_eq!(datagram_loss(0.0, 45), Some(0.0));
        assert_eq!(datagram_loss(1.0, 1), Some(1.0));
        assert_eq!(datagram_loss(1.5, 1), None);
        assert_eq!(datagram_loss(f64::NAN, 1), None);
    }

    #[test]
    fn frame_rates_of_common_links() {
        let framing = Framing::default();
        let per_second = |bps| min_size_frames_per_second(&framing, BitRate::from_bps(bps)).round();
        assert_eq!(per_second(10_000_000), 14_881.0);
        assert_eq!(per_second(100_000_000), 148_810.0);
        assert_eq!(per_second(1_000_000_000), 1_488_095.0);
        assert_eq!(per_second(10_000_000_000), 14_880_952.0);
        let full = |bps| format!("{:.1}", framing.frames_per_second(BitRate::from_bps(bps)));
        assert_eq!(full(10_000_000), "812.7");
        assert_eq!(full(100_000_000), "8127.4");
        assert_eq!(full(1_000_000_000), "81274.4");
        assert_eq!(full(10_000_000_000), "812743.8");
    }

    proptest! {
        #[test]
        fn an_efficiency_lies_between_zero_and_one(mtu in 100_u32..100_000, payload in 1_u32..65_508, six: bool, vlan: bool, timestamps: bool, sack_blocks in 0_u8..5) {
            let ip = if six { IpVersion::V6 } else { IpVersion::V4 };
            let framing = Framing { mtu, ip, vlan, timestamps, sack_blocks };
            let message = tcp_message_efficiency(&framing, u64::from(payload));
            let all = [tcp_efficiency(&framing), udp_efficiency(&framing, payload), message, over_udp_efficiency(&framing, 20)];
            for efficiency in all.into_iter().flatten() {
                prop_assert!(efficiency > 0.0 && efficiency < 1.0);
            }
        }

        #[test]
        fn a_larger_frame_is_never_less_efficient(mtu in 576_u32..65_000, more in 0_u32..1000) {
            let framing = Framing { mtu, ..Framing::default() };
            let larger = Framing { mtu: mtu + more, ..framing };
            prop_assert!(tcp_efficiency(&larger) >= tcp_efficiency(&framing));
            let payload = framing.udp_payload_per_frame();
            prop_assert!(udp_efficiency(&framing, payload) >= udp_efficiency(&framing, payload.saturating_sub(more).max(1)));
        }

        #[test]
        fn more_loss_or_more_fragments_never_reduce_datagram_loss(loss in 0.0..1.0_f64, more in 0.0..1.0_f64, fragments in 1_u64..50) {
            let lower = datagram_loss(loss, fragments).unwrap();
            prop_assert!(lower >= loss * (1.0 - 1e-12) && lower <= 1.0);
            prop_assert!(datagram_loss(loss, fragments + 1).unwrap() >= lower);
            prop_assert!(datagram_loss(loss + (1.0 - loss) * more, fragments).unwrap() >= lower);
        }
    }
}
