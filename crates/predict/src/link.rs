//! The payload and frame rates that an Ethernet link carries, by protocol and size.

use crate::efficiency::{
    FRAMING_SOURCE, FULL_FRAMES, TRANSFER_HEADER, datagram_loss, over_udp_efficiency,
    tcp_efficiency, udp_efficiency,
};
use caudal_analysis::framing::{Framing, IpVersion};
use caudal_core::prediction::{Prediction, Tolerance};
use caudal_core::quantity::{Unit, digits, rate};
use caudal_core::units::BitRate;

use crate::rate_bounds::LimitingFactor;

/// The overhead of QUIC around the payload of one stream in a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuicHeader {
    /// Bytes of the destination connection ID, 0 to 20.
    pub connection_id: u8,
    /// Bytes of the packet number, 1 to 4.
    pub packet_number: u8,
    /// Bytes of the STREAM frame's type, stream ID, offset and length.
    pub stream_frame: u8,
}

impl Default for QuicHeader {
    /// A connection ID of 8 bytes, a packet number of 2, and a STREAM frame of 8: type 1, stream ID 1, offset 4, length 2.
    fn default() -> Self {
        Self {
            connection_id: 8,
            packet_number: 2,
            stream_frame: 8,
        }
    }
}

impl QuicHeader {
    /// The bytes of overhead: the first byte, the fields above, and the authentication tag of 16.
    ///
    /// Source: RFC 9000 sections 17.3.1 and 19.8; RFC 9001 section 5.3.
    #[must_use]
    pub const fn bytes(self) -> u32 {
        1 + self.connection_id as u32 + self.packet_number as u32 + self.stream_frame as u32 + 16
    }
}

/// The parameters of a link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkParameters {
    /// The line rate.
    pub rate: BitRate,
    /// The framing of the payload.
    pub framing: Framing,
    /// Bytes of payload in a datagram; the largest that is not fragmented when `None`.
    pub datagram: Option<u32>,
    /// Bytes of messages that are sent individually.
    pub message: Option<u32>,
    /// The probability that a frame is lost.
    pub loss: Option<f64>,
    /// The overhead of QUIC.
    pub quic: QuicHeader,
}

/// Predicts the rates that follow from framing. Empty when the MTU leaves no payload.
#[must_use]
pub fn predict_link(parameters: &LinkParameters) -> Vec<Prediction> {
    let LinkParameters {
        rate: line,
        framing,
        ..
    } = *parameters;
    let mut predictions = Vec::new();
    predictions.extend(tcp_goodput(&framing, line));
    let datagram = parameters
        .datagram
        .unwrap_or_else(|| framing.udp_payload_per_frame());
    predictions.extend(udp_goodput(&framing, line, datagram));
    predictions.extend(over_udp(
        &framing,
        line,
        ("quic_goodput", "QUIC goodput"),
        parameters.quic.bytes(),
        &format!(
            "{} of QUIC: 1 first byte, {} connection id, {} packet number, {} stream frame, 16 tag",
            parameters.quic.bytes(),
            parameters.quic.connection_id,
            parameters.quic.packet_number,
            parameters.quic.stream_frame
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
    if let Some(message) = parameters.message {
        predictions.extend(messages(&framing, line, message));
    }
    if let (Some(loss), Some(fragments)) = (parameters.loss, framing.udp_fragments(datagram)) {
        predictions.extend(fragmentation_loss(loss, fragments, datagram));
    }
    predictions
}

/// The sum of the bytes of a frame around an IP packet of `packet` bytes, as text.
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

/// The IP header in the sum of a frame.
fn ip_text(framing: &Framing) -> String {
    let version = match framing.ip {
        IpVersion::V4 => "IPv4",
        IpVersion::V6 => "IPv6",
    };
    format!("{} {version}", framing.ip.header_bytes())
}

/// The IP and TCP headers in the sum of a frame.
fn tcp_text(framing: &Framing) -> String {
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
    format!("{} + 20 TCP{options}", ip_text(framing))
}

fn tcp_goodput(framing: &Framing, line: BitRate) -> Option<Prediction> {
    let efficiency = tcp_efficiency(framing)?;
    let payload = framing.tcp_payload_per_frame();
    let packet = u64::from(framing.mtu);
    let wire = framing.wire_bytes(packet);
    let goodput = framing.tcp_ceiling(line);
    let inside = format!("{} + {payload} payload", tcp_text(framing));
    Some(
        Prediction::new(
            "tcp_goodput",
            "TCP goodput",
            goodput.as_f64(),
            Unit::BitPerSecond,
        )
        .bound_by(LimitingFactor::Wire.name())
        .detail(format!("{efficiency:.4}: {payload} of {wire} bytes"))
        .assumes(FULL_FRAMES)
        .source(FRAMING_SOURCE)
        .step(format!(
            "payload of a full segment = MTU {} − {} = {payload} bytes",
            framing.mtu,
            tcp_text(framing).replace(" + ", " − ")
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
    .bound_by(LimitingFactor::Wire.name())
    .detail(format!(
        "{efficiency:.4}: {payload} of {wire} bytes{pieces}"
    ))
    .assumes(FULL_FRAMES)
    .source("IEEE 802.3 clauses 3 and 4; RFC 768; RFC 791 section 3.2; RFC 8200 section 4.5");
    let prediction = if fragments > 1 {
        prediction.step(format!(
            "{payload} payload + 8 UDP = {} bytes are sent in {fragments} fragments, each with {} and 38 bytes of \
             Ethernet{}, at least {} bytes each: {wire} bytes of wire time",
            u64::from(payload) + 8,
            ip_text(framing) + if framing.ip == IpVersion::V6 { " + 8 fragment header" } else { "" },
            if framing.vlan { " + 4 tag" } else { "" },
            framing.wire_bytes(0)
        ))
    } else {
        let inside = format!("{} + 8 UDP + {payload} payload", ip_text(framing));
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
    overhead: &str,
    source: &str,
) -> Option<Prediction> {
    let efficiency = over_udp_efficiency(framing, header)?;
    let datagram = framing.udp_payload_per_frame();
    let payload = datagram - header;
    let wire = framing.udp_wire_bytes(datagram)?;
    let goodput = line.as_f64() * efficiency;
    Some(
        Prediction::new(name, title, goodput, Unit::BitPerSecond)
            .bound_by(LimitingFactor::Wire.name())
            .detail(format!("{efficiency:.4}: {payload} of {wire} bytes"))
            .assumes(format!(
                "{FULL_FRAMES}, acknowledgements in the reverse direction only"
            ))
            .source(source)
            .step(format!(
                "a datagram of {datagram} bytes minus {overhead} leaves {payload} bytes"
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
        .bound_by(LimitingFactor::Wire.name())
        .detail(format!("{wire} bytes of wire time each"))
        .assumes("frames back to back, with the minimum gap between them")
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
            .bound_by(LimitingFactor::Wire.name())
            .detail(format!("{efficiency:.4}: {message} of {wire} bytes"))
            .assumes(assumes)
            .source(FRAMING_SOURCE)
            .step(format!(
                "a message of {message} bytes takes {wire} bytes of wire time: at most {}",
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
            "TCP, one message per segment",
            wire,
            "each message is sent in segments of its own (TCP_NODELAY, never combined)",
        )
    });
    let udp = (message <= caudal_core::plan::MAX_DATAGRAM)
        .then(|| framing.udp_wire_bytes(message))
        .flatten()
        .map(|wire| {
            one(
                "udp_message_goodput",
                "UDP, one message per datagram",
                wire,
                "one message per datagram",
            )
        });
    [tcp, udp].into_iter().flatten().collect()
}

fn fragmentation_loss(loss: f64, fragments: u64, datagram: u32) -> Option<Prediction> {
    let lost = datagram_loss(loss, fragments)?;
    Some(
        Prediction::new("datagram_loss", "datagrams lost", lost, Unit::Share)
            .detail(format!("{} per frame", Unit::Share.show(loss)))
            .assumes("frames are lost independently; bursts lose fewer datagrams")
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

    const TEN: BitRate = BitRate::from_bps(10_000_000);

    fn four(value: Option<f64>) -> String {
        format!("{:.4}", value.unwrap())
    }

    #[test]
    fn quic_and_the_datagram_transfer_add_their_headers() {
        let framing = Framing::default();
        assert_eq!(QuicHeader::default().bytes(), 35);
        // 1472 − 35 of 1538, 1472 − 20 of 1538.
        assert_eq!(four(over_udp_efficiency(&framing, 35)), "0.9343");
        assert_eq!(four(over_udp_efficiency(&framing, 20)), "0.9441");
        assert_eq!(over_udp_efficiency(&framing, 1472), None);
    }

    #[test]
    fn the_predictions_of_a_link_are_complete_and_explained() {
        let parameters = LinkParameters {
            rate: TEN,
            framing: Framing::default(),
            datagram: None,
            message: Some(1),
            loss: Some(0.001),
            quic: QuicHeader::default(),
        };
        let predictions = predict_link(&parameters);
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
            ..parameters.framing
        };
        let nothing = predict_link(&LinkParameters {
            framing: tiny,
            ..parameters
        });
        assert!(
            nothing.iter().all(|one| one.unit != Unit::BitPerSecond),
            "{nothing:?}"
        );
    }
}
