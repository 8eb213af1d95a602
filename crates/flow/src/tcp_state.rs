//! The kernel's account of a TCP connection.

use caudal_core::sample::{EcnArrived, TcpSnapshot};
use caudal_sys::tcp::{TcpInfo, tcp_info};
use std::net::TcpStream;

/// ECN was negotiated. Source: include/uapi/linux/tcp.h, `TCPI_OPT_ECN`.
const OPTION_ECN: u8 = 8;
/// A segment of an ECN-capable transport arrived, `TCPI_OPT_ECN_SEEN`.
const OPTION_ECN_SEEN: u8 = 16;

/// Whether segments have arrived as those of an ECN-capable transport; `None` where both ends did not agree on ECN.
pub fn ecn_seen(stream: &TcpStream) -> Option<bool> {
    let options = tcp_info(stream).ok()?.options;
    (options & OPTION_ECN != 0).then_some(options & OPTION_ECN_SEEN != 0)
}

/// The segments that have arrived, and those of them marked CE; `None` where both ends did not agree on ECN, and where the kernel does not
/// count them.
pub fn ecn_arrived(stream: &TcpStream) -> Option<EcnArrived> {
    let info = tcp_info(stream).ok()?;
    let has_ecn = info.options & OPTION_ECN != 0;
    let counts = info.data_segs_in.zip(info.received_ce);
    counts.filter(|_| has_ecn).map(|(segments, ce)| EcnArrived {
        segments: segments.into(),
        ce: ce.into(),
    })
}

/// The kernel's account of a connection; `None` when it gives none.
pub fn tcp_state(stream: &TcpStream) -> Option<TcpSnapshot> {
    tcp_info(stream).ok().map(|info| from_info(&info))
}

fn from_info(info: &TcpInfo) -> TcpSnapshot {
    let segment = u64::from(info.snd_mss);
    let bits = |bytes: Option<u64>| bytes.map(|bytes| bytes.saturating_mul(8));
    TcpSnapshot {
        rtt_us: info.rtt_us,
        rttvar_us: info.rttvar_us,
        // The kernel reports all ones while it has no measurement.
        min_rtt_us: info.min_rtt_us.filter(|rtt| *rtt != u32::MAX),
        cwnd_bytes: u64::from(info.snd_cwnd) * segment,
        receiver_window_bytes: info.snd_wnd.map(u64::from),
        retransmits: u64::from(info.total_retrans),
        retransmitted_bytes: info.bytes_retrans,
        bytes_sent: info.bytes_sent,
        bytes_acked: info.bytes_acked,
        delivery_rate_bps: bits(info.delivery_rate),
        app_limited: info.delivery_rate_app_limited,
        busy_us: info.busy_time_us,
        receiver_window_limited_us: info.rwnd_limited_us,
        send_buffer_limited_us: info.sndbuf_limited_us,
        pacing_rate_bps: bits(info.pacing_rate.filter(|rate| *rate != u64::MAX)),
        max_pacing_rate_bps: bits(info.max_pacing_rate.filter(|rate| *rate != u64::MAX)),
        mss: info.snd_mss,
        path_mtu: info.pmtu,
        timeouts: info.total_rto.map(u64::from),
        duplicate_sacks: info.dsack_dups.map(u64::from),
        reordering_seen: info.reord_seen.map(u64::from),
        ecn: Some(info.options & OPTION_ECN != 0),
        delivered: info.delivered.map(u64::from),
        delivered_ce: info.delivered_ce.map(u64::from),
    }
}
