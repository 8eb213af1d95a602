//! Reading the states of TCP connections while their flows run.

use super::thread::FlowContext;
use caudal_core::readings::{ReceiverReadings, SenderReadings};
use caudal_core::sample::Role;
use caudal_core::tcp_trace::TcpReading;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::{TcpInfo, in_queue, tcp_info};
use caudal_sys::{buffers, udp};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two readings of a connection.
const PERIOD: Duration = Duration::from_millis(20);
/// The time between readings that each connection adds: many connections are read less often.
const PERIOD_PER_FLOW: Duration = Duration::from_micros(500);
const STACK_BYTES: usize = 128 << 10;
/// Maximum number of connections whose course is recorded.
const MAX_TRACED: usize = 4;
/// The slow-start threshold of a connection that has none yet, include/net/tcp.h.
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The thread that reads the states of a set's connections, beside the data path; it ends when this is dropped.
pub(super) struct ConnectionReader {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ConnectionReader {
    /// Starts the thread; `None` without connections.
    pub(super) fn spawn(flows: Vec<(Role, FlowContext)>) -> io::Result<Option<Self>> {
        if flows.is_empty() {
            return Ok(None);
        }
        let is_over = Arc::new(AtomicBool::new(false));
        let inner = Arc::clone(&is_over);
        let thread = thread::Builder::new()
            .name("states".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(move || read_all(flows, &inner))?;
        Ok(Some(Self {
            is_over,
            thread: Some(thread),
        }))
    }
}

impl Drop for ConnectionReader {
    fn drop(&mut self) {
        self.is_over.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

fn read_all(flows: Vec<(Role, FlowContext)>, is_over: &AtomicBool) {
    let period = PERIOD.max(PERIOD_PER_FLOW * u32::try_from(flows.len()).unwrap_or(u32::MAX));
    let start_ns = monotonic_ns();
    let mut flows: Vec<_> = flows
        .into_iter()
        .enumerate()
        .map(|(nth, (role, flow))| (role, flow, SenderState::of(nth)))
        .collect();
    while !is_over.load(Relaxed) && !flows.is_empty() {
        // A flow that ends drains its queues: that says nothing about what limited it.
        flows.retain(|(role, flow, _)| is_running(*role, flow));
        for (role, flow, state) in &mut flows {
            let Some(stream) = flow.socket.tcp() else {
                continue;
            };
            match role {
                Role::Sender => {
                    if let Ok(info) = tcp_info(stream) {
                        let elapsed_ns = monotonic_ns().saturating_sub(start_ns);
                        let short_before = state.readings.out_of_data;
                        state.add(&info);
                        if state.readings.out_of_data > short_before {
                            state.readings.runnable += u64::from(flow.counters.is_runnable());
                        }
                        let readings = state.readings;
                        let reading = state.is_traced.then(|| trace_reading(&info, elapsed_ns));
                        flow.counters.with_readings(|all| {
                            all.sender = Some(readings);
                            if let Some(reading) = reading {
                                all.trace.get_or_insert_default().record(reading);
                            }
                        });
                    }
                }
                Role::Receiver => flow.counters.with_readings(|all| {
                    let readings = all.receiver.get_or_insert_default();
                    if read_receiver(stream, readings) {
                        readings.runnable += u64::from(flow.counters.is_runnable());
                    }
                }),
            }
        }
        thread::park_timeout(period);
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

fn is_running(role: Role, flow: &FlowContext) -> bool {
    let has_sent_all = role == Role::Sender && flow.counters.last_ns.load(Relaxed) != 0;
    !has_sent_all && !flow.signals.is_stopped() && flow.counters.ended_ns().is_none()
}

/// Reads how much of a receive buffer is taken by payload that was not read; `true` when it is half of it.
fn read_receiver(stream: &TcpStream, readings: &mut ReceiverReadings) -> bool {
    let Ok(unread) = in_queue(stream) else {
        return false;
    };
    readings.count += 1;
    readings.unread_sum_bytes += u64::from(unread);
    // The kernel accounts for its own overhead too: what it holds is compared, where it reports that, with what it may.
    let (held, room) = match udp::meminfo(stream) {
        Some(memory) => (memory.rmem_alloc, memory.rcvbuf),
        None => (
            unread,
            buffers::receive_buffer(stream).unwrap_or(u32::MAX) / 2,
        ),
    };
    let is_unread = unread > 0 && held >= room / 2;
    readings.unread += u64::from(is_unread);
    is_unread
}

/// The states of a sender so far, and what the next reading is compared with.
#[derive(Default)]
struct SenderState {
    readings: SenderReadings,
    has_lost: bool,
    /// `true` where the course of the connection is recorded.
    is_traced: bool,
}

impl SenderState {
    /// The state of the flow with this place among those of its end. The first few share the path with the others.
    fn of(nth: usize) -> Self {
        Self {
            is_traced: nth < MAX_TRACED,
            ..Self::default()
        }
    }

    /// Adds a reading.
    fn add(&mut self, info: &TcpInfo) -> SenderReadings {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener};

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
    fn a_buffer_that_nobody_reads_shows_and_one_that_is_read_does_not() -> io::Result<()> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let near = TcpStream::connect(listener.local_addr()?)?;
        let (far, _) = listener.accept()?;
        near.set_nonblocking(true)?;
        while (&near).write(&[0; 65_536]).is_ok() {}
        let mut full = ReceiverReadings::default();
        read_receiver(&far, &mut full);
        assert_eq!((full.count, full.unread), (1, 1), "{full:?}");
        near.shutdown(Shutdown::Write)?;
        io::copy(&mut &far, &mut io::sink())?;
        let mut empty = ReceiverReadings::default();
        read_receiver(&far, &mut empty);
        assert_eq!((empty.unread, empty.unread_sum_bytes), (0, 0));
        Ok(())
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
