//! What trains may be like to this server.

use caudal_core::path::PathReport;
use caudal_core::plan::train_burst;
use caudal_engine::peer::PeerInfo;
use caudal_probe::end_to_end::EndToEndSettings;
use std::time::Duration;

/// The bytes of the IP and the UDP header.
const V4_HEADERS: u32 = 28;
const V6_HEADERS: u32 = 48;
/// Largest packet of a train, bytes: that of a jumbo frame.
const MAX_PACKET: u32 = 9_216;
/// The MTU where none is known.
const USUAL_MTU: u32 = 1500;

/// The settings of trains to `peer` over the path that was probed.
pub(super) fn settings(
    report: &PathReport,
    peer: &PeerInfo,
    confidence: f64,
    seed: u64,
) -> EndToEndSettings {
    let measured = report.mtu.as_ref().map(|mtu| mtu.bytes.get() as u32);
    let hosts = [peer.client.mtu, peer.server.mtu].into_iter().flatten();
    let usual = hosts.chain(peer.path_mtu).min();
    let limits = peer.limits.unwrap_or_default();
    EndToEndSettings {
        header_bytes: if peer.address.is_ipv4() {
            V4_HEADERS
        } else {
            V6_HEADERS
        },
        rtt: Duration::from_secs_f64(peer.idle_rtt_us.unwrap_or(0.0).max(0.0) / 1e6),
        one_clock: peer.client.shares_clock_with(&peer.server),
        max_rate: limits.max_rate_bps,
        max_burst: limits.max_rate_bps.map(train_burst),
        max_bytes: limits.max_bytes,
        max_time: limits.max_time_ns.map(Duration::from_nanos),
        confidence,
        ..EndToEndSettings::new(
            measured.or(usual).unwrap_or(USUAL_MTU).min(MAX_PACKET),
            seed,
        )
    }
}
