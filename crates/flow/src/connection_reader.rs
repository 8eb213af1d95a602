//! Reading the states of TCP connections while their flows run.

use super::sender_state::SenderState;
use super::thread::FlowContext;
use caudal_core::readings::ReceiverReadings;
use caudal_core::sample::Role;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp::{in_queue, tcp_info};
use caudal_sys::{buffers, udp};
use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The time between two readings of a connection.
pub(super) const PERIOD: Duration = Duration::from_millis(20);
/// The time between readings that each connection adds: many connections are read less often.
const PERIOD_PER_FLOW: Duration = Duration::from_micros(500);
const STACK_BYTES: usize = 128 << 10;

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
                        let short_before = state.readings().out_of_data;
                        state.add(&info);
                        if state.readings().out_of_data > short_before {
                            state.add_runnable(flow.counters.is_runnable());
                        }
                        let readings = state.readings();
                        let reading = state.trace_reading(&info, elapsed_ns);
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::net::{Shutdown, TcpListener};

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
}
