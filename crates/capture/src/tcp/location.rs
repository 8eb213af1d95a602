//! Where a connection was captured, and what that says about super-packets.

use super::half::TcpHalf;
use super::opening::OpeningTimes;
use crate::model::{CaptureLocation, CapturePoint, FrameDirection, Offload, SegmentationAnalysis};

/// Maximum share of the round trip to an end for the capture to be close to it.
const CLOSE: f64 = 0.15;
/// Minimum round trip to locate a capture, µs.
const MIN_RTT_US: f64 = 100.0;

fn location(point: CapturePoint, reason: String) -> CaptureLocation {
    CaptureLocation {
        point,
        reason: reason.into(),
    }
}

/// `true` when the file says that the host that captured sent the frames of this direction.
fn sent_here(half: &TcpHalf) -> bool {
    half.counts.sent_here * 2 > half.counts.frames
}

/// `true` when no device completed the checksums of this direction before the capture.
fn is_unfinished(half: &TcpHalf) -> bool {
    half.counts.partial_single * 2 > half.counts.single_data
}

/// Where a connection was captured.
pub(crate) fn locate(
    opening: &OpeningTimes,
    client: &TcpHalf,
    server: &TcpHalf,
) -> CaptureLocation {
    let by_file = match (sent_here(client), sent_here(server)) {
        (true, true) => Some(CapturePoint::BothHosts),
        (true, false) => Some(CapturePoint::ClientHost),
        (false, true) => Some(CapturePoint::ServerHost),
        (false, false) => None,
    };
    if let Some(point) = by_file {
        let reason = "the file says which frames the capturing host sent";
        return location(point, reason.to_owned());
    }
    let (point, shares) = by_handshake(opening, client, server);
    let host = match (is_unfinished(client), is_unfinished(server)) {
        (false, false) => return location(point, shares),
        (true, true) if point == CapturePoint::CannotTell => {
            let reason = format!("no device has completed the checksums of either end; {shares}");
            return location(CapturePoint::BothHosts, reason);
        }
        (true, true) => {
            let reason = format!(
                "{shares}; no device has completed the checksums of either end, as on links between virtual machines or namespaces"
            );
            return location(point, reason);
        }
        (true, false) => (CapturePoint::ClientHost, CapturePoint::NearClient, "client"),
        (false, true) => (CapturePoint::ServerHost, CapturePoint::NearServer, "server"),
    };
    let (at, near, name) = host;
    if point == near || point == CapturePoint::CannotTell {
        let reason = format!("no device has completed the checksums of the {name}; {shares}");
        return location(at, reason);
    }
    // A virtual link leaves checksums incomplete up to the other end.
    let reason =
        format!("{shares}; no device has completed the checksums of the {name} on its way");
    location(point, reason)
}

/// The place by the shares of the handshake's round trip.
fn by_handshake(
    opening: &OpeningTimes,
    client: &TcpHalf,
    server: &TcpHalf,
) -> (CapturePoint, String) {
    let handshake = opening.document(client, server);
    let (Some(beyond), Some(before)) = (handshake.syn_to_syn_ack_us, handshake.syn_ack_to_ack_us)
    else {
        return (
            CapturePoint::CannotTell,
            "the handshake was not captured whole, so that its times do not tell".to_owned(),
        );
    };
    let rtt = beyond + before;
    let shares = format!(
        "of the handshake's {rtt:.0} µs, {beyond:.0} µs lie towards the server and {before:.0} µs towards the client"
    );
    match before / rtt {
        _ if rtt < MIN_RTT_US => (
            CapturePoint::CannotTell,
            format!("{shares}: too short to tell"),
        ),
        share if share < CLOSE => (CapturePoint::NearClient, shares),
        share if share > 1.0 - CLOSE => (CapturePoint::NearServer, shares),
        _ => (CapturePoint::Between, shares),
    }
}

/// Says what made the super-packets of one direction.
pub(crate) fn explain_offload(
    segmentation: &mut SegmentationAnalysis,
    place: &CaptureLocation,
    half: &TcpHalf,
    direction: FrameDirection,
) {
    if segmentation.super_packets == 0 {
        return;
    }
    if is_unfinished(half) {
        segmentation.offload = Some(Offload::SenderSegmentation);
        let reason = "captured before TSO or GSO split them: no device has completed the checksums of the frames beside them";
        segmentation.offload_reason = Some(reason.into());
        return;
    }
    let from_client = direction == FrameDirection::ToServer;
    let (offload, reason) = match (place.point, from_client) {
        (CapturePoint::ClientHost | CapturePoint::NearClient, true)
        | (CapturePoint::ServerHost | CapturePoint::NearServer, false) => (
            Offload::SenderSegmentation,
            "captured at the sender, before TSO or GSO split them",
        ),
        (CapturePoint::ClientHost | CapturePoint::NearClient, false)
        | (CapturePoint::ServerHost | CapturePoint::NearServer, true) => (
            Offload::ReceiverCoalescing,
            "captured at the receiver, after GRO or LRO joined them",
        ),
        (CapturePoint::BothHosts, _) => (
            Offload::CannotTell,
            "both ends are on the capturing host: the frames may never have been split",
        ),
        (CapturePoint::Between, _) => (
            Offload::CannotTell,
            "captured between the ends: a host there forwards them, and may have joined them with GRO",
        ),
        (CapturePoint::CannotTell, _) => (
            Offload::CannotTell,
            "the capture does not tell which end it was made at",
        ),
    };
    segmentation.offload = Some(offload);
    segmentation.offload_reason = Some(format!("{reason} ({})", place.reason).into());
}
