//! A TCP connection for people.

use super::direction_table::DirectionTable;
use crate::text::{indented_within, percent, time_us};
use crate::width::LineWidth;
use caudal_capture::{
    CapturePoint, CapturedRtt, HandshakeKind, Offload, SegmentSizeSource, TcpAnalysis,
    TcpDirectionAnalysis, TcpEndingKind, TcpOffer,
};
use caudal_core::quantity::{Unit, rate, short, size};
use caudal_core::units::ByteCount;

/// Opening, ending and place of capture.
pub(super) fn tcp_lines(tcp: &TcpAnalysis, width: LineWidth) -> Vec<String> {
    let mut texts = vec![handshake(tcp)];
    let offers = [
        ("client", &tcp.handshake.client),
        ("server", &tcp.handshake.server),
    ];
    texts.extend(offers.into_iter().filter_map(|(name, one)| {
        let one = one.as_ref()?;
        Some(format!("the {name} offers {}", offer(one)))
    }));
    texts.push(format!(
        "captured {}: {}",
        point(tcp.location.point),
        tcp.location.reason
    ));
    texts.push(ending(tcp));
    let sides = [
        ("client", &tcp.to_server.segmentation),
        ("server", &tcp.to_client.segmentation),
    ];
    for (name, side) in sides {
        if let (Some(offload), Some(reason)) = (side.offload, &side.offload_reason) {
            let who = match offload {
                Offload::CannotTell => "cannot tell what joined them: ",
                Offload::SenderSegmentation | Offload::ReceiverCoalescing => "",
            };
            texts.push(format!(
                "super-packets of the {name}: {}, up to {}, {who}{reason}",
                short(side.super_packets as f64),
                Unit::Bytes.show(f64::from(side.max_frame_bytes))
            ));
        }
    }
    let lines = texts
        .iter()
        .flat_map(|text| indented_within(text, "", "    ", width));
    lines.collect()
}

fn handshake(tcp: &TcpAnalysis) -> String {
    let opening = &tcp.handshake;
    let kind = match opening.kind {
        HandshakeKind::Complete => "handshake complete",
        HandshakeKind::Simultaneous => "both ends opened at once",
        HandshakeKind::NoAnswer => "nothing answered the SYN",
        HandshakeKind::AnswerNotCaptured => "the answer to the SYN was not captured",
        HandshakeKind::Refused => "a RST answered the SYN",
        HandshakeKind::NotCompleted => "the SYN-ACK was not acknowledged",
        HandshakeKind::SynNotCaptured => "the SYN was not captured",
        HandshakeKind::NotCaptured => "the handshake was not captured",
    };
    let rtt = opening.rtt_us.map(|rtt| format!(" in {}", time_us(rtt)));
    let shares = opening.syn_to_syn_ack_us.zip(opening.syn_ack_to_ack_us);
    let shares = shares.map(|(server, client)| {
        format!(
            ", {} towards the server and {} towards the client",
            time_us(server),
            time_us(client)
        )
    });
    let frames = [opening.syn_frame, opening.syn_ack_frame, opening.ack_frame];
    let frames: Vec<String> = frames.iter().flatten().map(ToString::to_string).collect();
    let frames = match frames.len() {
        0 => String::new(),
        1 => format!(" (frame {})", frames[0]),
        _ => format!(" (frames {})", frames.join(", ")),
    };
    let ecn = if opening.ecn { ", with ECN" } else { "" };
    format!(
        "{kind}{}{}{ecn}{frames}",
        rtt.unwrap_or_default(),
        shares.unwrap_or_default()
    )
}

fn offer(offer: &TcpOffer) -> String {
    let mut words = Vec::new();
    words.push(match offer.mss_bytes {
        Some(mss) => format!("MSS {mss}"),
        None => "no MSS".to_owned(),
    });
    words.push(match offer.window_scale {
        Some(shift) => format!("window {} scaled by 2^{shift}", offer.window_bytes),
        None => format!("window {} without scaling", offer.window_bytes),
    });
    let flags = [
        (offer.sack_permitted, "SACK"),
        (offer.timestamps, "timestamps"),
        (offer.fast_open, "Fast Open"),
        (offer.multipath, "Multipath TCP"),
    ];
    words.extend(
        flags
            .into_iter()
            .filter(|(is_offered, _)| *is_offered)
            .map(|(_, name)| name.to_owned()),
    );
    words.join(", ")
}

const fn point(point: CapturePoint) -> &'static str {
    match point {
        CapturePoint::ClientHost => "on the client's host",
        CapturePoint::ServerHost => "on the server's host",
        CapturePoint::BothHosts => "on the host of both ends",
        CapturePoint::NearClient => "near the client",
        CapturePoint::NearServer => "near the server",
        CapturePoint::Between => "between the two",
        CapturePoint::CannotTell => "where, cannot tell",
    }
}

fn ending(tcp: &TcpAnalysis) -> String {
    let ending = &tcp.ending;
    let by = match ending.reset_by_client {
        Some(true) => " by the client",
        Some(false) => " by the server",
        None => "",
    };
    let kind = match ending.kind {
        TcpEndingKind::Closed => "closed by both ends".to_owned(),
        TcpEndingKind::Closing => "closed by both ends, not all acknowledged".to_owned(),
        TcpEndingKind::HalfClosed => "closed by one end alone".to_owned(),
        TcpEndingKind::CannotTell => {
            "closed by one end; of the other nothing was captured".to_owned()
        }
        TcpEndingKind::ResetAfterClose => format!("closed by both ends, then reset{by}"),
        TcpEndingKind::Reset => format!("reset{by}"),
        TcpEndingKind::Open => "open when the capture ended".to_owned(),
    };
    let frames = [
        ("FIN of the client", ending.client_fin_frame),
        ("FIN of the server", ending.server_fin_frame),
        ("RST", ending.reset_frame),
    ];
    let frames: Vec<String> = frames
        .into_iter()
        .filter_map(|(name, frame)| Some(format!("{name} in frame {}", frame?)))
        .collect();
    if frames.is_empty() {
        kind
    } else {
        format!("{kind}: {}", frames.join(", "))
    }
}

/// Minimum, mean and maximum.
pub(super) fn rtt_text(rtt: &CapturedRtt) -> String {
    format!(
        "{}/{}/{}",
        time_us(rtt.min_us),
        time_us(rtt.mean_us),
        time_us(rtt.max_us)
    )
}

/// The rows of both directions.
pub(super) fn tcp_rows(table: &mut DirectionTable, both: [&TcpDirectionAnalysis; 2]) {
    payload_rows(table, both);
    wire_rows(table, both);
    recovery_rows(table, both);
    window_rows(table, both);
    table.row(
        "RTT by ACK, min/avg/max",
        both.map(|one| one.ack_rtt.as_ref().map(rtt_text)),
    );
    table.row(
        "RTT by timestamps",
        both.map(|one| one.timestamp_rtt.as_ref().map(rtt_text)),
    );
    table.row(
        "longest pause",
        both.map(|one| (one.max_idle_s > 0.0).then(|| Unit::Seconds.show(one.max_idle_s))),
    );
}

fn payload_rows(table: &mut DirectionTable, both: [&TcpDirectionAnalysis; 2]) {
    table.row(
        "without repetitions",
        both.map(|one| Some(size(one.unique_bytes))),
    );
    table.row("goodput", both.map(|one| one.goodput_bps.map(rate)));
    let missing = both.map(|one| Some(one.missing_bytes).filter(|n| *n > ByteCount::ZERO));
    table.row("not captured", missing.map(|one| one.map(size)));
    table.counts("pushed messages", both.map(|one| one.messages.count));
    table.counts("data frames", both.map(|one| one.data_frames));
    table.counts("ACKs alone", both.map(|one| one.pure_acks));
}

fn wire_rows(table: &mut DirectionTable, both: [&TcpDirectionAnalysis; 2]) {
    let sides = both.map(|one| &one.segmentation);
    table.row(
        "usual frame",
        sides.map(|one| Some(Unit::Bytes.show(f64::from(one.usual_frame_bytes?)))),
    );
    table.counts("super-packets", sides.map(|one| one.super_packets));
    table.row(
        "segment",
        sides.map(|one| {
            let bytes = Unit::Bytes.show(f64::from(one.segment_bytes?));
            Some(match one.segment_source {
                Some(SegmentSizeSource::Gso) => format!("{bytes} by the kernel"),
                Some(SegmentSizeSource::Handshake) => format!("{bytes} by MSS"),
                Some(SegmentSizeSource::Observed) => format!("{bytes} as seen"),
                Some(SegmentSizeSource::Assumed) => format!("{bytes} assumed"),
                None => bytes,
            })
        }),
    );
    table.counts("segments on the wire", sides.map(|one| one.wire_segments));
    table.row(
        "bytes on the wire",
        sides.map(|one| Some(size(one.wire_bytes))),
    );
    table.row(
        "payload of these",
        sides.map(|one| one.efficiency.map(percent)),
    );
}

fn recovery_rows(table: &mut DirectionTable, both: [&TcpDirectionAnalysis; 2]) {
    let again = both.map(|one| one.retransmissions);
    let counts = again.map(|one| one.total());
    // Of a connection with data that none was sent again is a result.
    let is_known = both.map(|one| one.data_frames > 0);
    table.row(
        "sent again",
        [0, 1].map(|at| is_known[at].then(|| short(counts[at] as f64))),
    );
    table.counts("  fast", again.map(|one| one.fast));
    table.counts("  after a timeout", again.map(|one| one.timeout));
    table.counts("  needlessly", again.map(|one| one.spurious));
    table.counts("  other", again.map(|one| one.other));
    table.counts("out of order", both.map(|one| one.out_of_order));
    table.counts("gaps", both.map(|one| one.previous_not_captured));
    table.counts(
        "ACKs of what was not captured",
        both.map(|one| one.acked_not_captured),
    );
    table.counts("duplicate ACKs", both.map(|one| one.duplicate_acks));
    table.counts("SACK blocks", both.map(|one| one.sack_blocks));
    table.counts("duplicate SACKs", both.map(|one| one.duplicate_sacks));
}

fn window_rows(table: &mut DirectionTable, both: [&TcpDirectionAnalysis; 2]) {
    let windows = both.map(|one| one.window);
    table.row(
        "window, min–max",
        windows.map(|window| {
            let (min, max) = (window.min_bytes?, window.max_bytes?);
            let unscaled = if window.scale_known { "" } else { " unscaled" };
            Some(format!("{}–{} B{unscaled}", min.get(), max.get()))
        }),
    );
    table.counts("zero windows", windows.map(|one| one.zero_windows));
    table.counts("windows filled", windows.map(|one| one.filled));
    table.counts("keep-alives", windows.map(|one| one.keep_alives));
    table.row(
        "in flight, max",
        both.map(|one| one.max_in_flight_bytes.map(size)),
    );
}
