//! The kernel's account of a connection: `TCP_INFO`.

use std::io;
use std::os::fd::AsFd;

use crate::raw;

/// The size of `struct tcp_info` in Linux 6.18; kernels fill as much of it as they know.
const INFO_SIZE: usize = 280;

/// The kernel's account of a TCP connection at one time: `TCP_INFO`, tcp(7).
///
/// Counts and sizes are those of the sending direction unless they name the receiving one. Fields that an older kernel
/// lacks are `None`. Source: `struct tcp_info`, include/uapi/linux/tcp.h, whose names these are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TcpInfo {
    /// The state of the connection, `TCP_ESTABLISHED` (1) and so on, include/net/tcp_states.h.
    pub state: u8,
    /// The state of congestion control: 0 open, 1 disorder, 2 CWR, 3 recovery, 4 loss.
    pub ca_state: u8,
    /// Retransmission timeouts in a row without an acknowledgement.
    pub retransmits: u8,
    /// Zero-window probes without an acknowledgement.
    pub probes: u8,
    /// The number of times the timeout has been doubled.
    pub backoff: u8,
    /// The options negotiated: 1 timestamps, 2 SACK, 4 window scale, 8 ECN, 16 ECN seen, 32 fast-open data.
    pub options: u8,
    /// The window scale of the peer.
    pub send_scale: u8,
    /// The window scale of this end.
    pub receive_scale: u8,
    /// `true` when `delivery_rate` was limited by the sending application.
    pub delivery_rate_app_limited: bool,
    /// The retransmission timeout, in microseconds.
    pub rto_us: u32,
    /// The delayed acknowledgement timeout, in microseconds.
    pub ato_us: u32,
    /// The sending maximum segment size, in bytes of payload.
    pub snd_mss: u32,
    /// An estimate of the peer's maximum segment size, in bytes of payload.
    pub rcv_mss: u32,
    /// Segments in flight; on a listener, connections waiting to be accepted.
    pub unacked: u32,
    /// Segments selectively acknowledged; on a listener, the limit of the backlog.
    pub sacked: u32,
    /// Segments considered lost.
    pub lost: u32,
    /// Retransmitted segments in flight.
    pub retrans: u32,
    /// Milliseconds since data was sent.
    pub last_data_sent_ms: u32,
    /// Milliseconds since data was received.
    pub last_data_recv_ms: u32,
    /// Milliseconds since an acknowledgement was received.
    pub last_ack_recv_ms: u32,
    /// The path MTU, in bytes.
    pub pmtu: u32,
    /// The window this end is prepared to advertise, in bytes.
    pub rcv_ssthresh: u32,
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// The mean deviation of the round-trip time, in microseconds.
    pub rttvar_us: u32,
    /// The slow-start threshold, in segments; 2³¹ - 1 while there is none.
    pub snd_ssthresh: u32,
    /// The congestion window, in segments.
    pub snd_cwnd: u32,
    /// The maximum segment size advertised to the peer, in bytes.
    pub advmss: u32,
    /// The reordering tolerated before a segment is considered lost, in segments.
    pub reordering: u32,
    /// The receiver's estimate of the round-trip time, in microseconds; 0 while unknown.
    pub rcv_rtt_us: u32,
    /// The bytes the application reads in a round trip, by which the kernel sizes the receive buffer.
    pub rcv_space: u32,
    /// Segments retransmitted since the connection opened.
    pub total_retrans: u32,
    /// The pacing rate, in bytes per second; all ones for none. Since 3.15.
    pub pacing_rate: Option<u64>,
    /// The limit of `pacing_rate`, in bytes per second; all ones for none. Since 3.15.
    pub max_pacing_rate: Option<u64>,
    /// Bytes the peer has acknowledged. Since 4.1.
    pub bytes_acked: Option<u64>,
    /// Bytes received in order. Since 4.1.
    pub bytes_received: Option<u64>,
    /// Segments sent, bare acknowledgements included. Since 4.2.
    pub segs_out: Option<u32>,
    /// Segments received, bare acknowledgements included. Since 4.2.
    pub segs_in: Option<u32>,
    /// Bytes written and not sent yet. Since 4.6.
    pub notsent_bytes: Option<u32>,
    /// The minimum round-trip time over a recent window, in microseconds; `None` while unknown. Since 4.6.
    pub min_rtt_us: Option<u32>,
    /// Segments with payload received. Since 4.6.
    pub data_segs_in: Option<u32>,
    /// Segments with payload sent. Since 4.6.
    pub data_segs_out: Option<u32>,
    /// The latest delivery rate, in bytes per second. Since 4.9.
    pub delivery_rate: Option<u64>,
    /// Time with data outstanding, in microseconds, the two below included. Since 4.10.
    pub busy_time_us: Option<u64>,
    /// Time limited by the peer's window, in microseconds. Since 4.10.
    pub rwnd_limited_us: Option<u64>,
    /// Time limited by the send buffer, in microseconds. Since 4.10.
    pub sndbuf_limited_us: Option<u64>,
    /// Segments delivered to the peer, retransmissions included. Since 4.18.
    pub delivered: Option<u32>,
    /// Segments delivered with a congestion mark (ECN CE). Since 4.18.
    pub delivered_ce: Option<u32>,
    /// Payload sent, retransmissions included, in bytes. Since 4.19.
    pub bytes_sent: Option<u64>,
    /// Payload retransmitted, in bytes. Since 4.19.
    pub bytes_retrans: Option<u64>,
    /// Segments the peer reported as duplicates (DSACK). Since 4.19.
    pub dsack_dups: Option<u32>,
    /// Reordering events. Since 4.19.
    pub reord_seen: Option<u32>,
    /// Segments received out of order. Since 5.4.
    pub rcv_ooopack: Option<u32>,
    /// The window the peer advertises, scaled, in bytes. Since 5.4.
    pub snd_wnd: Option<u32>,
    /// The window this end advertises, scaled, in bytes. Since 6.2.
    pub rcv_wnd: Option<u32>,
    /// Times the flow hash was changed after timeouts, to use another path. Since 6.2.
    pub rehash: Option<u32>,
    /// Retransmission timeouts since the connection opened. Since 6.7.
    pub total_rto: Option<u16>,
    /// Recoveries from timeouts, including one in progress. Since 6.7.
    pub total_rto_recoveries: Option<u16>,
    /// Time spent recovering from timeouts, in milliseconds. Since 6.7.
    pub total_rto_time_ms: Option<u32>,
    /// Segments received with a congestion mark (ECN CE). Since 6.18.
    pub received_ce: Option<u32>,
}

impl TcpInfo {
    /// Decodes as much of a `struct tcp_info` as `bytes` hold.
    fn decode(bytes: &[u8]) -> Self {
        let byte = |offset: usize| bytes.get(offset).copied().unwrap_or(0);
        Self {
            state: byte(0),
            ca_state: byte(1),
            retransmits: byte(2),
            probes: byte(3),
            backoff: byte(4),
            options: byte(5),
            send_scale: byte(6) & 0xf,
            receive_scale: byte(6) >> 4,
            delivery_rate_app_limited: byte(7) & 1 != 0,
            rto_us: raw::u32_at(bytes, 8).unwrap_or(0),
            ato_us: raw::u32_at(bytes, 12).unwrap_or(0),
            snd_mss: raw::u32_at(bytes, 16).unwrap_or(0),
            rcv_mss: raw::u32_at(bytes, 20).unwrap_or(0),
            unacked: raw::u32_at(bytes, 24).unwrap_or(0),
            sacked: raw::u32_at(bytes, 28).unwrap_or(0),
            lost: raw::u32_at(bytes, 32).unwrap_or(0),
            retrans: raw::u32_at(bytes, 36).unwrap_or(0),
            last_data_sent_ms: raw::u32_at(bytes, 44).unwrap_or(0),
            last_data_recv_ms: raw::u32_at(bytes, 52).unwrap_or(0),
            last_ack_recv_ms: raw::u32_at(bytes, 56).unwrap_or(0),
            pmtu: raw::u32_at(bytes, 60).unwrap_or(0),
            rcv_ssthresh: raw::u32_at(bytes, 64).unwrap_or(0),
            rtt_us: raw::u32_at(bytes, 68).unwrap_or(0),
            rttvar_us: raw::u32_at(bytes, 72).unwrap_or(0),
            snd_ssthresh: raw::u32_at(bytes, 76).unwrap_or(0),
            snd_cwnd: raw::u32_at(bytes, 80).unwrap_or(0),
            advmss: raw::u32_at(bytes, 84).unwrap_or(0),
            reordering: raw::u32_at(bytes, 88).unwrap_or(0),
            rcv_rtt_us: raw::u32_at(bytes, 92).unwrap_or(0),
            rcv_space: raw::u32_at(bytes, 96).unwrap_or(0),
            total_retrans: raw::u32_at(bytes, 100).unwrap_or(0),
            pacing_rate: raw::u64_at(bytes, 104),
            max_pacing_rate: raw::u64_at(bytes, 112),
            bytes_acked: raw::u64_at(bytes, 120),
            bytes_received: raw::u64_at(bytes, 128),
            segs_out: raw::u32_at(bytes, 136),
            segs_in: raw::u32_at(bytes, 140),
            notsent_bytes: raw::u32_at(bytes, 144),
            min_rtt_us: raw::u32_at(bytes, 148).filter(|&rtt| rtt != u32::MAX),
            data_segs_in: raw::u32_at(bytes, 152),
            data_segs_out: raw::u32_at(bytes, 156),
            delivery_rate: raw::u64_at(bytes, 160),
            busy_time_us: raw::u64_at(bytes, 168),
            rwnd_limited_us: raw::u64_at(bytes, 176),
            sndbuf_limited_us: raw::u64_at(bytes, 184),
            delivered: raw::u32_at(bytes, 192),
            delivered_ce: raw::u32_at(bytes, 196),
            bytes_sent: raw::u64_at(bytes, 200),
            bytes_retrans: raw::u64_at(bytes, 208),
            dsack_dups: raw::u32_at(bytes, 216),
            reord_seen: raw::u32_at(bytes, 220),
            rcv_ooopack: raw::u32_at(bytes, 224),
            snd_wnd: raw::u32_at(bytes, 228),
            rcv_wnd: raw::u32_at(bytes, 232),
            rehash: raw::u32_at(bytes, 236),
            total_rto: raw::u16_at(bytes, 240),
            total_rto_recoveries: raw::u16_at(bytes, 242),
            total_rto_time_ms: raw::u32_at(bytes, 244),
            received_ce: raw::u32_at(bytes, 248),
        }
    }
}

/// The kernel's account of a connection now.
///
/// # Errors
/// Any error of getsockopt(2), such as that of a socket that is not TCP.
pub fn tcp_info(socket: impl AsFd) -> io::Result<TcpInfo> {
    let mut bytes = [0; INFO_SIZE];
    let filled = raw::get_option(socket, libc::IPPROTO_TCP, libc::TCP_INFO, &mut bytes)?;
    Ok(TcpInfo::decode(&bytes[..filled]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::send_some;
    use crate::tcp::testing::pair;
    use std::io::Read;

    #[test]
    fn the_kernel_counts_the_bytes_of_both_ends() -> io::Result<()> {
        let (near, far) = pair()?;
        assert_eq!(send_some(&near, &[7; 10_000])?, 10_000);
        let mut buffer = [0; 10_000];
        (&far).read_exact(&mut buffer)?;
        let (sender, receiver) = (tcp_info(&near)?, tcp_info(&far)?);
        assert_eq!(sender.state, 1);
        assert!(sender.snd_mss > 500 && sender.snd_cwnd > 0 && sender.rtt_us > 0);
        if let Some(received) = receiver.bytes_received {
            assert_eq!(received, 10_000);
        }
        if let Some(sent) = sender.bytes_sent {
            assert_eq!(sent, 10_000);
        }
        assert_eq!(sender.bytes_retrans.unwrap_or(0), 0);
        Ok(())
    }

    #[test]
    fn fields_that_an_older_kernel_lacks_are_none() {
        let bytes: Vec<u8> = (0..=255).cycle().take(INFO_SIZE).collect();
        type IsThere = fn(&TcpInfo) -> bool;
        let table: [(usize, IsThere); 6] = [
            (112, |info| info.pacing_rate.is_some()),
            (152, |info| info.min_rtt_us.is_some()),
            (192, |info| info.sndbuf_limited_us.is_some()),
            (216, |info| info.bytes_retrans.is_some()),
            (232, |info| info.snd_wnd.is_some()),
            (248, |info| info.total_rto_time_ms.is_some()),
        ];
        for (end, is_there) in table {
            assert!(
                is_there(&TcpInfo::decode(&bytes[..end])),
                "with {end} bytes"
            );
            assert!(
                !is_there(&TcpInfo::decode(&bytes[..end - 1])),
                "with one byte less than {end}"
            );
        }
    }
}
