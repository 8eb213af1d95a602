//! The sending end of trains.

use super::signals::TrainSignals;
use caudal_core::plan::{TrainSeries, TrainSpacing};
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::udp::ManySender;
use caudal_wire::datagram::{DatagramHeader, DatagramKind, HEADER_BYTES, fill_payload};
use caudal_wire::trains::{DatagramTimes, SentTrains};
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// The last part of a wait that is spent awake, ns: a sleep ends late by some tens of microseconds.
const AWAKE_NS: u64 = 60_000;
/// Maximum sleep before the signals are looked at again, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;
/// The datagrams that are handed to the kernel in one call.
const BATCH: usize = 64;
/// The time for which sending a datagram may block.
const SEND_TIMEOUT: Duration = Duration::from_secs(1);

/// The sending end of trains.
pub(super) struct TrainSender {
    pub(super) series: TrainSeries,
    /// The flow's number.
    pub(super) flow: u32,
    /// The tag of the test.
    pub(super) tag: u32,
}

/// A send that is under way.
struct Sending<'a> {
    socket: &'a UdpSocket,
    sender: &'a TrainSender,
    many: ManySender,
    /// Maximum number of datagrams that are handed to the kernel in one call.
    batch: usize,
    /// Datagrams one after the other, with room for a batch.
    buffer: Vec<u8>,
    sent: SentTrains,
    first_ns: u64,
    last_ns: u64,
}

impl TrainSender {
    /// Sends all trains, or what the signals leave of them.
    pub(super) fn send(&self, socket: &UdpSocket, signals: &TrainSignals) -> SentTrains {
        let _ = socket.set_write_timeout(Some(SEND_TIMEOUT));
        let mut sending = Sending::new(self, socket);
        let start_ns = monotonic_ns();
        let mut departures = self.series.departures_ns().peekable();
        let mut number = 0;
        while let Some(after_ns) = departures.next() {
            let due_ns = start_ns.saturating_add(after_ns);
            if !wait_until(due_ns, signals) {
                break;
            }
            let mut count = 1;
            if self.series.spacing == TrainSpacing::BackToBack {
                while count < sending.batch && departures.next_if_eq(&after_ns).is_some() {
                    count += 1;
                }
            }
            sending.hand_over(number, count);
            sending.note_lateness(due_ns);
            number += count as u32;
            signals.set_sent(sending.sent.datagrams);
        }
        sending.finish()
    }
}

/// Waits until `due_ns` of the monotonic clock; `false` when sending is to end.
fn wait_until(due_ns: u64, signals: &TrainSignals) -> bool {
    let asleep_ns = due_ns.saturating_sub(AWAKE_NS);
    loop {
        if signals.is_sending_stopped() {
            return false;
        }
        let now_ns = monotonic_ns();
        if now_ns >= due_ns {
            return true;
        }
        if now_ns < asleep_ns {
            sleep_until(asleep_ns.min(now_ns + MAX_SLEEP_NS));
        } else {
            std::hint::spin_loop();
        }
    }
}

impl<'a> Sending<'a> {
    fn new(sender: &'a TrainSender, socket: &'a UdpSocket) -> Self {
        let length = sender.series.length as usize;
        let batch = match sender.series.spacing {
            TrainSpacing::BackToBack => BATCH.min(sender.series.datagrams as usize),
            _ => 1,
        };
        let mut buffer = vec![0; length * batch];
        for datagram in buffer.chunks_exact_mut(length) {
            fill_payload(
                datagram.get_mut(HEADER_BYTES..).unwrap_or_default(),
                sender.tag,
            );
        }
        let timed = if sender.series.timed {
            Some(DatagramTimes::with_capacity(sender.series.total() as usize))
        } else {
            None
        };
        Self {
            socket,
            sender,
            many: ManySender::new(batch),
            batch,
            buffer,
            sent: SentTrains {
                times: timed,
                ..SentTrains::default()
            },
            first_ns: 0,
            last_ns: 0,
        }
    }

    /// Hands `count` datagrams from `number` on to the kernel, which may refuse some.
    fn hand_over(&mut self, number: u32, count: usize) {
        let length = self.sender.series.length as usize;
        let sent_ns = monotonic_ns();
        for (nth, datagram) in self.buffer.chunks_exact_mut(length).take(count).enumerate() {
            if let Some(room) = datagram.first_chunk_mut() {
                DatagramHeader {
                    kind: DatagramKind::Data,
                    flow: self.sender.flow,
                    sequence: u64::from(number) + nth as u64,
                    sent_ns,
                    tag: self.sender.tag,
                }
                .write(room);
            }
        }
        let mut done = 0;
        while done < count {
            let at_ns = monotonic_ns();
            let left = self.buffer.get(done * length..count * length);
            let left = left.unwrap_or_default();
            match self.many.send(self.socket, left, length as u16) {
                Ok(handed) => {
                    self.note(number + done as u32, handed, (at_ns, monotonic_ns()));
                    done += handed.max(1);
                }
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => {
                    self.sent.datagrams += 1;
                    self.sent.refused += 1;
                    done += 1;
                }
            }
        }
    }

    /// Notes datagrams that were handed over in one call, from its beginning to its end: the kernel takes them one after the other.
    fn note(&mut self, number: u32, count: usize, (at_ns, end_ns): (u64, u64)) {
        self.sent.datagrams += count as u64;
        if self.first_ns == 0 {
            self.first_ns = at_ns;
        }
        self.last_ns = at_ns;
        if let Some(times) = &mut self.sent.times {
            let took_ns = end_ns.saturating_sub(at_ns);
            for nth in 0..count as u32 {
                let after_ns = took_ns * u64::from(nth) / count as u64;
                times.push(number + nth, at_ns + after_ns);
            }
        }
    }

    fn note_lateness(&mut self, due_ns: u64) {
        let late_ns = monotonic_ns().saturating_sub(due_ns);
        self.sent.max_late_ns = self.sent.max_late_ns.max(late_ns);
    }

    fn finish(mut self) -> SentTrains {
        self.sent.elapsed_ns = self.last_ns.saturating_sub(self.first_ns);
        self.sent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_trains_that_follow_one_another_at_once_all_leave() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(receiver.local_addr().unwrap()).unwrap();
        for (trains, datagrams) in [(1, 1), (7, 3), (2, 63), (3, 64), (2, 100)] {
            let sender = TrainSender {
                series: TrainSeries {
                    trains,
                    datagrams,
                    length: 100,
                    spacing: TrainSpacing::BackToBack,
                    period_ns: 0,
                    timed: true,
                },
                flow: 0,
                tag: 1,
            };
            let sent = sender.send(&socket, &TrainSignals::default());
            let total = u64::from(trains * datagrams);
            assert_eq!((sent.datagrams, sent.refused), (total, 0), "{trains}");
        }
    }
}
