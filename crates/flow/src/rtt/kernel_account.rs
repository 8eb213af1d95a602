//! The kernel's account of a long round trip: when its reply arrived, and when its message was sent last.

use caudal_analysis::echo::KernelAccount;
use caudal_sys::clock::{monotonic_ns, realtime_ns, tick_ns};
use caudal_sys::tcp::{in_queue, tcp_info};
use caudal_sys::udp::last_arrival_ns;
use std::net::{TcpStream, UdpSocket};

/// The resolution of the times in which `TCP_INFO` has its milliseconds, ns.
const MILLISECOND_NS: u64 = 1_000_000;

/// The messages that may be under way on a connection during a round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Messages {
    /// One at a time.
    Single,
    /// Others may have been sent, and have arrived, meanwhile.
    Several,
}

/// Reads the kernel's account of round trips of one connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct KernelAccounts {
    /// Segments retransmitted when the kernel was asked before.
    total_retrans: u32,
    /// The maximum error of the times of `TCP_INFO`, ns.
    tick_ns: u64,
}

/// The times at which a round trip began and ended, ns of the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct RoundTripTimes {
    /// The time from which the round trip counts.
    pub(super) began: u64,
    /// The time at which the program had read the reply.
    pub(super) read: u64,
}

impl RoundTripTimes {
    /// The round-trip time, ns.
    #[inline]
    pub(super) const fn rtt_ns(self) -> u64 {
        self.read.saturating_sub(self.began)
    }
}

impl KernelAccounts {
    /// Accounts over UDP; the kernel takes the time of arrivals from now on.
    pub(super) fn of_udp(socket: &UdpSocket) -> Self {
        // A kernel that does not is found out when it is asked for a time.
        let _ = last_arrival_ns(socket);
        Self {
            total_retrans: 0,
            tick_ns: 0,
        }
    }

    /// Accounts over TCP.
    pub(super) fn of_tcp(stream: &TcpStream) -> Self {
        Self {
            total_retrans: tcp_info(stream).map_or(0, |info| info.total_retrans),
            tick_ns: tick_ns() + MILLISECOND_NS,
        }
    }

    /// The account of the round trip whose reply was the datagram read last.
    #[cold]
    pub(super) fn udp(socket: &UdpSocket, times: RoundTripTimes) -> KernelAccount {
        let (wall, now) = (realtime_ns(), monotonic_ns());
        let read = wall.saturating_sub(now.saturating_sub(times.read));
        let arrived = last_arrival_ns(socket).ok().flatten();
        KernelAccount {
            // For a datagram without a timestamp the kernel answers with the time now, which is after it was read.
            unread_ns: arrived
                .and_then(|arrived| read.checked_sub(arrived))
                .filter(|unread| *unread <= times.rtt_ns()),
            ..KernelAccount::default()
        }
    }

    /// The account of the round trip whose reply has just been read.
    #[cold]
    pub(super) fn tcp(
        &mut self,
        stream: &TcpStream,
        times: RoundTripTimes,
        messages: Messages,
    ) -> KernelAccount {
        let Ok(info) = tcp_info(stream) else {
            return KernelAccount::default();
        };
        let now = monotonic_ns();
        let (rtt, since_read) = (times.rtt_ns(), now.saturating_sub(times.read));
        let ns = |ms: u32| u64::from(ms) * MILLISECOND_NS;
        let unread = ns(info.last_data_recv_ms).saturating_sub(since_read);
        let sent = now.saturating_sub(times.began);
        let is_last =
            messages == Messages::Single || in_queue(stream).is_ok_and(|bytes| bytes == 0);
        let retransmits = info.total_retrans.wrapping_sub(self.total_retrans);
        self.total_retrans = info.total_retrans;
        KernelAccount {
            unread_ns: is_last.then_some(unread.min(rtt)),
            last_sent_ns: (messages == Messages::Single)
                .then(|| sent.saturating_sub(ns(info.last_data_sent_ms)).min(rtt)),
            retransmits: Some(retransmits),
            error_ns: self.tick_ns,
        }
    }
}
