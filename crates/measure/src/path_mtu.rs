//! The path MTU that probes found, as commands that send datagrams use it.

use crate::error::MeasureError;
use caudal_core::path::MtuEvidence;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::peer::PeerInfo;

/// The payload of a datagram that every path may be expected to carry, bytes: 576 less the headers of IPv4 and UDP. No probe is needed
/// for datagrams that are no longer.
pub const SMALL_DATAGRAM: u32 = 548;

/// The payload of the largest datagram that crosses the path to a peer whole, bytes; `None` where the path MTU is not known.
#[must_use]
pub fn fitting_payload(peer: &PeerInfo) -> Option<u32> {
    let headers = 8 + peer.ip_version().header_bytes() as u32;
    Some(peer.path_mtu?.saturating_sub(headers))
}

/// The warning about a path that drops larger packets although nobody reports it; `None` where no probe showed one.
#[must_use]
pub fn black_hole(peer: &PeerInfo) -> Option<Warning> {
    let fits = fitting_payload(peer).filter(|_| is_black_hole(peer))?;
    let warning = Warning::new(
        WarningCode::PathMtuBlackHole,
        format!("datagrams above {fits} B are lost on the path (path MTU black hole?)"),
    );
    Some(warning.with_remedy(format!(
        "send at most {fits} B, and let ICMP type 3 code 4 (ICMPv6 type 2) pass on the routers of the path"
    )))
}

/// The error of datagrams of `payload` bytes, of which none crosses the path; `None` where they do, or it is not known.
#[must_use]
pub fn lost_in_black_hole(peer: &PeerInfo, payload: u32) -> Option<MeasureError> {
    let fits = fitting_payload(peer)?;
    let warning = black_hole(peer).filter(|_| payload > fits)?;
    Some(MeasureError::BlackHole(warning))
}

/// `true` where probes showed that larger packets are dropped, and no router reports it.
#[must_use]
pub fn is_black_hole(peer: &PeerInfo) -> bool {
    peer.mtu_evidence == Some(MtuEvidence::Unanswered)
}
