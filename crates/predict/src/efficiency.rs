//! What of a link's rate is left for payload, by protocol and size, and how many frames a second it carries.

use super::ceilings::{Ceiling, Term};
use caudal_core::framing::{Framing, IpVersion};
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate};
use caudal_core::units::BitRate;

/// The header of a block in a reliable transfer over datagrams: session, block number, offset and checksum.
pub const TRANSFER_HEADER: u32 = 20;

const FRAMING_SOURCE: &str = "IEEE 802.3 clauses 3 and 4; RFC 6349 section 3.3.1";
const FULL_FRAMES: &str = "one flow, every frame full, nothing else on the link, no loss";

/// What QUIC puts around the payload of one stream in a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicHeader {
    /// Bytes of the destination's connection identifier, 0 to 20.
    pub connection_id: u8,
    /// Bytes of the packet number, 1 to 4.
    pub packet_number: u8,
    /// Bytes of the STREAM frame's type, stream identifier, offset and length.
    pub stream_frame: u8,
}

impl Default for QuicHeader {
    /// An identifier of 8 bytes, a packet number of 2, and a stream frame of 8: type 1, stream 1, offset 4, length 2.
    fn default() -> Self {
        Self {
            connection_id: 8,
            packet_number: 2,
            stream_frame: 8,
        }
    }
}

impl QuicHeader {
    /// Bytes around the payload: the first byte, the above, and the authentication tag of 16.
    ///
    /// Source: RFC 9000 sections 17.3.1 and 19.8; RFC 9001 section 5.3.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        1 + self.connection_id as u32 + self.packet_number as u32 + self.stream_frame as u32 + 16
    }
}

/// The part of the line rate that TCP delivers as payload in full segments; `None` when the headers fill the MTU.
///
/// Source: IEEE 802.3 clauses 3 and 4, RFC 6349 section 3.3.1.
#[must_use]
pub fn tcp_efficiency(framing: &Framing) -> Option<f64> {
    let payload = framing.tcp_payload_per_frame();
    part(
        u64::from(payload),
        framing.wire_bytes(u64::from(framing.mtu)),
    )
}

/// The part of the line rate that messages of `payload` bytes make when each is sent by itself over TCP.
///
/// `None` for no payload, and when the headers fill the MTU.
#[must_use]
pub fn tcp_message_efficiency(framing: &Framing, payload: u64) -> Option<f64> {
    part(payload, framing.tcp_wire_bytes(payload)?)
}

/// The part of the line rate that datagrams of `payload` bytes make, over all their fragments.
///
/// `None` for no payload, and when the MTU carries no fragment. Source: RFC 791 section 3.2, RFC 8200 section 4.5.
#[must_use]
pub fn udp_efficiency(framing: &Framing, payload: u32) -> Option<f64> {
    part(u64::from(payload), framing.udp_wire_bytes(payload)?)
}

/// The part of the line rate left for payload when `header` bytes of each full datagram are a protocol's own.
///
/// `None` when the headers fill the MTU.
#[must_use]
pub fn over_udp_efficiency(framing: &Framing, header: u32) -> Option<f64> {
    let datagram = framing.udp_payload_per_frame();
    let payload = datagram.checked_sub(header)?;
    part(u64::from(payload), framing.udp_wire_bytes(datagram)?)
}

fn part(payload: u64, wire: u64) -> Option<f64> {
    (payload > 0 && wire > 0).then(|| payload as f64 / wire as f64)
}

/// The frames a second of the smallest frame on a link: 84 byte times each, with preamble and gap.
///
/// Source: RFC 2544 section 20.
#[must_use]
pub fn smallest_frames_per_second(framing: &Framing, rate: BitRate) -> f64 {
    rate.as_f64() / (8.0 * framing.wire_bytes(0) as f64)
}

/// The chance that a datagram of `fragments` fragments is lost when each is lost by itself with chance `loss`.
///
/// `1 − (1 − loss)^fragments`; `None` for a `loss` outside 0 to 1. Source: independence; RFC 8900 section 3.
#[must_use]
pub fn datagram_loss(loss: f64, fragments: u64) -> Option<f64> {
    // By logarithms, so that small losses keep their digits.
    (0.0..=1.0).contains(&loss).then(|| {
        if loss >= 1.0 {
            1.0
        } else {
            -(fragments as f64 * (-loss).ln_1p()).exp_m1()
        }
    })
}

/// The ceiling of the wire for TCP in full segments.
#[must_use]
pub fn tcp_wire(framing: &Framing, link: BitRate) -> Ceiling {
    let payload = framing.tcp_payload_per_frame();
    let wire = framing.wire_bytes(u64::from(framing.mtu));
    Ceiling {
        term: Term::Wire,
        rate: framing.tcp_ceiling(link),
        why: format!(
            "{} × {payload} / {wire} = {}",
            rate(link),
            rate(framing.tcp_ceiling(link))
        ),
        assumes: FULL_FRAMES.to_owned(),
        source: FRAMING_SOURCE.to_owned(),
        tolerance: Tolerance::EXACT,
    }
}

/// What is asked about a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkQuestion {
    /// The line rate.
    pub rate: BitRate,
    /// What surrounds the payload.
    pub framing: Framing,
    /// Bytes of the datagrams; the largest that is not fragmented when `None`.
    pub datagram: Option<u32>,
    /// Bytes of messages that are each sent by themselves.
    pub message: Option<u32>,
    /// The chance that a frame is lost.
    pub loss: Option<f64>,
    /// What QUIC puts around payload.
    pub quic: QuicHeader,
}

/// Everything framing says of a link. Empty when the MTU carries no payload at all.
#[must_use]
pub fn link(question: &LinkQuestion) -> Vec<Prediction> {
    let LinkQuestion {
        rate: line,
        framing,
        ..
    } = *question;
    let mut predictions = Vec::new();
    predictions.extend(tcp_goodput(&framing, line));
    let datagram = question
        .datagram
        .unwrap_or_else(|| framing.udp_payload_per_frame());
    predictions.extend(udp_goodput(&framing, line, datagram));
    predictions.extend(over_udp(
        &framing,
        line,
        ("quic_goodput", "QUIC goodput"),
        question.quic.bytes(),
        &format!(
            "{} of QUIC: 1 first byte, {} connection id, {} packet number, {} stream frame, 16 tag",
            question.quic.bytes(),
            question.quic.connection_id,
            question.quic.packet_number,
            question.quic.stream_frame
        ),
        "RFC 9000 sections 17.3.1 and 19.8; RFC 9001 section 5.3",
    ));
    predictions.extend(over_udp(
        &framing,
        line,
        ("transfer_goodput", "datagram transfer goodput"),
        TRANSFER_HEADER,
        &format!("{TRANSFER_HEADER} of a reliable transfer's block header"),
        FRAMING_SOURCE,
    ));
    predictions.push(frames(
        &framing,
        line,
        ("frame_rate", "full frames"),
        framing.wire_bytes(u64::from(framing.mtu)),
    ));
    predictions.push(frames(
        &framing,
        line,
        ("frame_rate_smallest", "smallest frames"),
        framing.wire_bytes(0),
    ));
    if let Some(message) = question.message {
        predictions.extend(messages(&framing, line, message));
    }
    if let (Some(loss), Some(fragments)) = (question.loss, framing.udp_fragments(datagram)) {
        predictions.extend(amplified(loss, fragments, datagram));
    }
    predictions
}

/// The bytes of a frame around an IP packet of `packet` bytes, added up in words.
fn wire_sum(framing: &Framing, inside: &str, packet: u64) -> String {
    let tag = if framing.vlan { " + 4 tag" } else { "" };
    let wire = framing.wire_bytes(packet);
    let bare = 8 + 14 + if framing.vlan { 4 } else { 0 } + packet + 4 + 12;
    let padding = if wire > bare {
        format!(" + {} padding", wire - bare)
    } else {
        String::new()
    };
    format!(
        "a frame takes 8 preamble + 14 header{tag} + {inside}{padding} + 4 check + 12 gap = {wire} bytes of wire time"
    )
}

fn ip_words(framing: &Framing) -> String {
    let version = match framing.ip {
        IpVersion::V4 => "IPv4",
        IpVersion::V6 => "IPv6",
    };
    format!("{} {version}", framing.ip.header_bytes())
}

fn tcp_words(framing: &Framing) -> String {
    let options = framing.tcp_option_bytes();
    let what = match (framing.timestamps, framing.sack_blocks) {
        (true, 0) => "timestamps",
        (true, _) => "timestamps and SACK",
        (false, _) => "SACK",
    };
    let options = if options > 0 {
        format!(" + {options} {what}")
    } else {
        String::new()
    };
    format!("{} + 20 TCP{options}", ip_words(framing))
}

fn tcp_goodput(framing: &Framing, line: BitRate) -> Option<Prediction> {
    let efficiency = tcp_efficiency(framing)?;
    let payload = framing.tcp_payload_per_frame();
    let packet = u64::from(framing.mtu);
    let wire = framing.wire_bytes(packet);
    let goodput = framing.tcp_ceiling(line);
    let inside = format!("{} + {payload} payload", tcp_words(framing));
    Some(
        Prediction::new(
            "tcp_goodput",
            "TCP goodput",
            goodput.as_f64(),
            Unit::BitPerSecond,
        )
        .bound_by(Term::Wire.name())
        .detail(format!("{efficiency:.4}: {payload} of {wire} bytes"))
        .assumes(FULL_FRAMES)
        .source(FRAMING_SOURCE)
        .step(format!(
            "payload of a full segment = MTU {} − {} = {payload} bytes",
            framing.mtu,
            tcp_words(framing).replace(" + ", " − ")
        ))
        .step(wire_sum(framing, &inside, packet))
        .step(format!("efficiency = {payload} / {wire} = {efficiency:.4}"))
        .step(format!(
            "goodput = {} × {efficiency:.4} = {}",
            rate(line),
            rate(goodput)
        )),
    )
}

fn udp_goodput(framing: &Framing, line: BitRate, payload: u32) -> Option<Prediction> {
    let efficiency = udp_efficiency(framing, payload)?;
    let wire = framing.udp_wire_bytes(payload)?;
    let fragments = framing.udp_fragments(payload)?;
    let goodput = framing.udp_ceiling(line, payload);
    let pieces = if fragments > 1 {
        format!(" in {fragments} fragments")
    } else {
        String::new()
    };
    let prediction = Prediction::new(
        "udp_goodput",
        "UDP goodput",
        goodput.as_f64(),
        Unit::BitPerSecond,
    )
    .bound_by(Term::Wire.name())
    .detail(format!(
        "{efficiency:.4}: {payload} of {wire} bytes{pieces}"
    ))
    .assumes(FULL_FRAMES)
    .source("IEEE 802.3 clauses 3 and 4; RFC 768; RFC 791 section 3.2; RFC 8200 section 4.5");
    let prediction = if fragments > 1 {
        prediction.step(format!(
            "{payload} payload + 8 UDP = {} bytes cross in {fragments} fragments, each with {} and 38 bytes of \
             Ethernet{}, none below {} bytes: {wire} bytes of wire time",
            u64::from(payload) + 8,
            ip_words(framing) + if framing.ip == IpVersion::V6 { " + 8 fragment header" } else { "" },
            if framing.vlan { " + 4 tag" } else { "" },
            framing.wire_bytes(0)
        ))
    } else {
        let inside = format!("{} + 8 UDP + {payload} payload", ip_words(framing));
        let packet = framing.ip.header_bytes() + 8 + u64::from(payload);
        prediction.step(wire_sum(framing, &inside, packet))
    };
    Some(
        prediction
            .step(format!("efficiency = {payload} / {wire} = {efficiency:.4}"))
            .step(format!(
                "goodput = {} × {efficiency:.4} = {}",
                rate(line),
                rate(goodput)
            )),
    )
}

fn over_udp(
    framing: &Framing,
    line: BitRate,
    (name, title): (&str, &str),
    header: u32,
    what: &str,
    source: &str,
) -> Option<Prediction> {
    let efficiency = over_udp_efficiency(framing, header)?;
    let datagram = framing.udp_payload_per_frame();
    let payload = datagram - header;
    let wire = framing.udp_wire_bytes(datagram)?;
    let goodput = line.as_f64() * efficiency;
    Some(
        Prediction::new(name, title, goodput, Unit::BitPerSecond)
            .bound_by(Term::Wire.name())
            .detail(format!("{efficiency:.4}: {payload} of {wire} bytes"))
            .assumes(format!(
                "{FULL_FRAMES}, acknowledgements on the way back only"
            ))
            .source(source)
            .step(format!(
                "a datagram of {datagram} bytes less {what} leaves {payload} bytes"
            ))
            .step(format!("efficiency = {payload} / {wire} = {efficiency:.4}"))
            .step(format!(
                "goodput = {} × {efficiency:.4} = {}",
                rate(line),
                Unit::BitPerSecond.show(goodput)
            )),
    )
}

fn frames(framing: &Framing, line: BitRate, (name, title): (&str, &str), wire: u64) -> Prediction {
    let per_second = line.as_f64() / (8.0 * wire as f64);
    Prediction::new(name, title, per_second, Unit::FramesPerSecond)
        .bound_by(Term::Wire.name())
        .detail(format!("{wire} bytes of wire time each"))
        .assumes("frames one behind the other, with the least gap between them")
        .source("RFC 2544 section 20; IEEE 802.3 clause 4.4.2")
        .step(format!(
            "{} / ({wire} bytes × 8) = {}{}",
            rate(line),
            Unit::FramesPerSecond.show(per_second),
            if framing.vlan { ", tagged" } else { "" }
        ))
}

fn messages(framing: &Framing, line: BitRate, message: u32) -> Vec<Prediction> {
    let one = |name: &str, title: &str, wire: u64, assumes: &str| {
        let efficiency = f64::from(message) / wire as f64;
        let per_second = line.as_f64() / (8.0 * wire as f64);
        Prediction::new(name, title, line.as_f64() * efficiency, Unit::BitPerSecond)
            .bound_by(Term::Wire.name())
            .detail(format!("{efficiency:.4}: {message} of {wire} bytes"))
            .assumes(assumes)
            .source(FRAMING_SOURCE)
            .step(format!(
                "a message of {message} bytes takes {wire} bytes of wire time: {} at most",
                Unit::MessagesPerSecond.show(per_second)
            ))
            .step(format!(
                "goodput = {} × {message} / {wire} = {}",
                rate(line),
                Unit::BitPerSecond.show(line.as_f64() * efficiency)
            ))
    };
    let tcp = framing.tcp_wire_bytes(u64::from(message)).map(|wire| {
        one(
            "tcp_message_goodput",
            "TCP, message by message",
            wire,
            "each message leaves in segments of its own (TCP_NODELAY, never two in one)",
        )
    });
    let udp = (message <= caudal_core::plan::MAX_DATAGRAM)
        .then(|| framing.udp_wire_bytes(message))
        .flatten()
        .map(|wire| {
            one(
                "udp_message_goodput",
                "UDP, message by message",
                wire,
                "a message a datagram",
            )
        });
    [tcp, udp].into_iter().flatten().collect()
}

fn amplified(loss: f64, fragments: u64, datagram: u32) -> Option<Prediction> {
    let lost = datagram_loss(loss, fragments)?;
    Some(
        Prediction::new("datagram_loss", "datagrams lost", lost, Unit::Share)
            .detail(format!("{} a frame", Unit::Share.show(loss)))
            .assumes("frames are lost one by one, each by itself; bursts lose fewer datagrams")
            .source("RFC 8900 section 3; independent losses")
            .within(Tolerance::SHARE)
            .step(format!(
                "a datagram of {datagram} bytes arrives when all of its {fragments} frames do: (1 − {})^{fragments}",
                digits(loss)
            ))
            .step(format!(
                "loss = 1 − (1 − {})^{fragments} = {}",
                digits(loss),
                Unit::Share.show(lost)
            )),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn lost_fragments_lose_whole_datagrams() {
        let lost = datagram_loss(0.001, 45).unwrap();
        assert_eq!(format!("{:.1}", lost * 100.0), "4.4");
        assert_eq!(datagram_loss(0.0, 45), Some(0.0));
        assert_eq!(datagram_loss(1.0, 1), Some(1.0));
        assert_eq!(datagram_loss(1.5, 1), None);
        assert_eq!(datagram_loss(f64::NAN, 1), None);
    }

    #[test]
    fn frame_rates_of_the_usual_links() {
        let framing = Framing::default();
        let least = |bps| smallest_frames_per_second(&framing, BitRate::from_bps(bps)).round();
        assert_eq!(least(10_000_000), 14_881.0);
        assert_eq!(least(100_000_000), 148_810.0);
        assert_eq!(least(1_000_000_000), 1_488_095.0);
        assert_eq!(least(10_000_000_000), 14_880_952.0);
        let full = |bps| format!("{:.1}", framing.frames_per_second(BitRate::from_bps(bps)));
        assert_eq!(full(10_000_000), "812.7");
        assert_eq!(full(100_000_000), "8127.4");
        assert_eq!(full(1_000_000_000), "81274.4");
        assert_eq!(full(10_000_000_000), "812743.8");
    }

    #[test]
    fn quic_and_the_datagram_transfer_have_headers_of_their_own() {
        let framing = Framing::default();
        assert_eq!(QuicHeader::default().bytes(), 35);
        // 1472 − 35 of 1538, 1472 − 20 of 1538.
        assert_eq!(four(over_udp_efficiency(&framing, 35)), "0.9343");
        assert_eq!(four(over_udp_efficiency(&framing, 20)), "0.9441");
        assert_eq!(over_udp_efficiency(&framing, 1472), None);
    }

    #[test]
    fn a_link_lists_what_it_carries_and_explains_it() {
        let question = LinkQuestion {
            rate: TEN,
            framing: Framing::default(),
            datagram: None,
            message: Some(1),
            loss: Some(0.001),
            quic: QuicHeader::default(),
        };
        let predictions = link(&question);
        let names: Vec<&str> = predictions.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "tcp_goodput",
                "udp_goodput",
                "quic_goodput",
                "transfer_goodput",
                "frame_rate",
                "frame_rate_smallest",
                "tcp_message_goodput",
                "udp_message_goodput",
                "datagram_loss"
            ]
        );
        let tcp = &predictions[0];
        assert_eq!(tcp.detail, "0.9415: 1448 of 1538 bytes");
        assert_eq!(
            tcp.explanation,
            [
                "payload of a full segment = MTU 1500 − 20 IPv4 − 20 TCP − 12 timestamps = 1448 bytes",
                "a frame takes 8 preamble + 14 header + 20 IPv4 + 20 TCP + 12 timestamps + 1448 payload + 4 check + \
                 12 gap = 1538 bytes of wire time",
                "efficiency = 1448 / 1538 = 0.9415",
                "goodput = 10 Mbit/s × 0.9415 = 9.415 Mbit/s",
            ]
        );
        for prediction in &predictions {
            assert!(!prediction.source.is_empty() && !prediction.assumes.is_empty());
            assert!(!prediction.explanation.is_empty(), "{}", prediction.name);
        }
        let tiny = Framing {
            mtu: 27,
            ..question.framing
        };
        let nothing = link(&LinkQuestion {
            framing: tiny,
            ..question
        });
        assert!(
            nothing.iter().all(|one| one.unit != Unit::BitPerSecond),
            "{nothing:?}"
        );
    }

    proptest! {
        #[test]
        fn an_efficiency_lies_between_nothing_and_all(mtu in 100_u32..100_000, payload in 1_u32..65_508, six: bool, vlan: bool, timestamps: bool, sack_blocks in 0_u8..5) {
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
        fn more_loss_or_more_fragments_never_lose_less(loss in 0.0..1.0_f64, more in 0.0..1.0_f64, fragments in 1_u64..50) {
            let least = datagram_loss(loss, fragments).unwrap();
            prop_assert!(least >= loss * (1.0 - 1e-12) && least <= 1.0);
            prop_assert!(datagram_loss(loss, fragments + 1).unwrap() >= least);
            prop_assert!(datagram_loss(loss + (1.0 - loss) * more, fragments).unwrap() >= least);
        }
    }
}
