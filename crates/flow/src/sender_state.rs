//! The states in which a sender's connection was found.

use caudal_core::readings::SenderReadings;
use caudal_core::tcp_trace::TcpReading;
use caudal_sys::tcp::TcpInfo;

/// Maximum number of connections whose course is recorded.
const MAX_TRACED: usize = 4;
/// The slow-start threshold of a connection that has none yet, include/net/tcp.h.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The states of a sender so far, and what the next reading is compared with.
#[derive(Default)]
pub(super) struct SenderState {
    readings: SenderReadings,
    has_lost: bool,
    /// `true` where the course of the connection is recorded.
    is_traced: bool,
}

impl SenderState {
    /// The state of the flow with this place among those of its end. The first few share the path with the others.
    pub(super) fn of(nth: usize) -> Self {
        Self {
            is_traced: nth < MAX_TRACED,
            ..Self::default()
        }
    }

    /// The readings so far.
    pub(super) const fn readings(&self) -> SenderReadings {
        self.readings
    }

    /// Takes note whether the sending thread was ready to run while the connection had nothing to send.
    pub(super) fn add_runnable(&mut self, is_runnable: bool) {
        self.readings.runnable += u64::from(is_runnable);
    }

    /// The reading for the course of the connection, `elapsed_ns` after the first; `None` where that is not recorded.
    pub(super) fn trace_reading(&self, info: &TcpInfo, elapsed_ns: u64) -> Option<TcpReading> {
        self.is_traced.then(|| trace_reading(info, elapsed_ns))
    }

    /// Adds a reading.
    pub(super) fn add(&mut self, info: &TcpInfo) -> SenderReadings {
        let mss = u64::from(info.snd_mss.max(1));
        let in_flight = u64::from(info.unacked) * mss;
        let unsent = u64::from(info.notsent_bytes.unwrap_or(0));
        let window = info.snd_wnd.map_or(u64::MAX, u64::from);
        let min_rtt_us = info.min_rtt_us.unwrap_or(info.rtt_us);
        let has_room =
            u64::from(info.unacked) * 10 < u64::from(info.snd_cwnd) * 9 && in_flight + mss < window;
        let is_paced = info.pacing_rate.is_some_and(|rate| rate != u64::MAX);
        self.has_lost |= info.total_retrans > 0;
        let readings = &mut self.readings;
        readings.count += 1;
        readings.out_of_data += u64::from(has_room && unsent < mss);
        readings.paced += u64::from(has_room && unsent >= mss && is_paced);
        readings.slow_start += u64::from(!self.has_lost && info.snd_ssthresh >= NO_THRESHOLD);
        readings.queued += u64::from(info.rtt_us > min_rtt_us + min_rtt_us / 4 + 1000);
        readings.rtt_sum_us += u64::from(info.rtt_us);
        readings.cwnd_sum_bytes += u64::from(info.snd_cwnd) * mss;
        readings.in_flight_sum_bytes += in_flight;
        if let Some(rate) = info
            .delivery_rate
            .filter(|_| !info.delivery_rate_app_limited)
        {
            readings.max_delivery_rate_bps =
                readings.max_delivery_rate_bps.max(rate.saturating_mul(8));
        }
        if let Some(window) = info.snd_wnd.map(u64::from) {
            let max = readings.max_receiver_window_bytes.max(window);
            readings.max_receiver_window_bytes = max;
            readings.receiver_window_shrunk += u64::from(window < max / 2);
            let is_filled = in_flight * 10 >= window * 9 && u64::from(info.snd_cwnd) * mss > window;
            readings.receiver_window_filled += u64::from(is_filled);
        }
        *readings
    }
}

/// A reading for the course of a connection, `elapsed_ns` after the first.
fn trace_reading(info: &TcpInfo, elapsed_ns: u64) -> TcpReading {
    let is_of_network = !info.delivery_rate_app_limited;
    let delivery = info.delivery_rate.filter(|_| is_of_network).unwrap_or(0);
    TcpReading {
        at_us: elapsed_ns / 1000,
        rtt_us: info.rtt_us,
        min_rtt_us: info.min_rtt_us.unwrap_or(info.rtt_us),
        delivery_bps: delivery.saturating_mul(8),
        retransmits: info.total_retrans,
        acknowledged_bytes: info.bytes_acked.unwrap_or(0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info() -> TcpInfo {
        TcpInfo {
            snd_mss: 1448,
            snd_cwnd: 184,
            unacked: 92,
            snd_ssthresh: 100,
            rtt_us: 40_200,
            min_rtt_us: Some(40_000),
            notsent_bytes: Some(0),
            snd_wnd: Some(3_000_000),
            bytes_acked: Some(1_000_000),
            ..TcpInfo::default()
        }
    }

    #[test]
    fn a_connection_with_room_in_both_windows_and_nothing_unsent_is_out_of_data() {
        let out_of_data = |info: TcpInfo| SenderState::default().add(&info).out_of_data;
        assert_eq!(out_of_data(info()), 1);
        for full in [
            TcpInfo {
                unacked: 180,
                ..info()
            },
            TcpInfo {
                snd_wnd: Some(92 * 1448),
                ..info()
            },
            TcpInfo {
                notsent_bytes: Some(100_000),
                ..info()
            },
        ] {
            assert_eq!(out_of_data(full), 0, "{full:?}");
        }
    }

    #[test]
    fn a_window_below_half_of_its_maximum_has_shrunk() {
        let mut state = SenderState::default();
        for window in [65_536, 3_000_000, 1_400_000, 0] {
            state.add(&TcpInfo {
                snd_wnd: Some(window),
                ..info()
            });
        }
        assert_eq!(state.readings.receiver_window_shrunk, 2);
    }

    #[test]
    fn a_window_is_filled_where_the_congestion_window_has_room() {
        let filled = |unacked, snd_cwnd| {
            let reading = TcpInfo {
                unacked,
                snd_cwnd,
                snd_wnd: Some(100 * 1448),
                ..info()
            };
            SenderState::default().add(&reading).receiver_window_filled
        };
        assert_eq!(filled(95, 184), 1);
        assert_eq!(filled(80, 184), 0);
        assert_eq!(filled(95, 96), 0);
    }

    #[test]
    fn the_highest_delivery_rate_is_one_that_the_application_did_not_limit() {
        let mut state = SenderState::default();
        for (rate, is_limited) in [(1_000_000, false), (9_000_000, true), (500_000, false)] {
            let reading = TcpInfo {
                delivery_rate: Some(rate),
                delivery_rate_app_limited: is_limited,
                ..info()
            };
            state.add(&reading);
        }
        assert_eq!(state.readings.max_delivery_rate_bps, 8_000_000);
    }
}
