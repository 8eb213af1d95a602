//! What held a flow back in one interval, by its own counters; the whole test's bottleneck is found when it is over.

use caudal_core::interval::Interval;

/// The share of an interval's busy time from which one state explains it.
const MOST: f64 = 0.5;

/// What held a flow of TCP back in an interval; `None` where its counters do not tell, and for UDP, which sends at the rate it was asked.
///
/// Source: tcp(7), `TCP_INFO`: `tcpi_busy_time`, `tcpi_rwnd_limited`, `tcpi_sndbuf_limited`.
#[must_use]
pub(super) fn limited_now(interval: &Interval) -> Option<&'static str> {
    let tcp = interval.tcp?;
    let busy = tcp.busy_us? as f64;
    let length_us = interval.length_s() * 1e6;
    if length_us <= 0.0 {
        return None;
    }
    if busy < MOST * length_us {
        return Some("sending application");
    }
    let share = |us: Option<u64>| us.map_or(0.0, |us| us as f64 / busy.max(1.0));
    if share(tcp.receiver_window_limited_us) >= MOST {
        Some("receive window")
    } else if share(tcp.send_buffer_limited_us) >= MOST {
        Some("send buffer")
    } else if tcp.retransmitted_bytes.is_some_and(|bytes| bytes > 0) {
        Some("network, with loss")
    } else {
        Some("network")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::interval::{TcpInterval, UdpInterval};

    fn interval(busy_us: u64, receiver_us: u64, buffer_us: u64, again: u64) -> Interval {
        Interval {
            start_s: 1.0,
            end_s: 2.0,
            tcp: Some(TcpInterval {
                busy_us: Some(busy_us),
                receiver_window_limited_us: Some(receiver_us),
                send_buffer_limited_us: Some(buffer_us),
                retransmitted_bytes: Some(again),
                ..TcpInterval::default()
            }),
            ..Interval::default()
        }
    }

    #[test]
    fn the_largest_part_of_the_busy_time_names_it() {
        for (interval, expected) in [
            (interval(1_000_000, 0, 0, 0), "network"),
            (interval(1_000_000, 0, 0, 1448), "network, with loss"),
            (interval(1_000_000, 600_000, 0, 1448), "receive window"),
            (interval(900_000, 0, 800_000, 0), "send buffer"),
            (interval(100_000, 90_000, 0, 0), "sending application"),
        ] {
            assert_eq!(limited_now(&interval), Some(expected));
        }
    }

    #[test]
    fn nothing_is_said_without_counters() {
        let udp = Interval {
            end_s: 1.0,
            udp: Some(UdpInterval::default()),
            ..Interval::default()
        };
        assert_eq!(limited_now(&udp), None);
        let mut old_kernel = interval(0, 0, 0, 0);
        old_kernel.tcp = Some(TcpInterval::default());
        assert_eq!(limited_now(&old_kernel), None);
        assert_eq!(limited_now(&Interval::default()), None);
    }
}
