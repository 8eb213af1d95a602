//! The receiving end of trains.

use super::signals::TrainSignals;
use super::wall_offset::WallOffset;
use caudal_core::plan::TrainSeries;
use caudal_flow::{TestLimit, reply_to_proof};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::udp::{self, GroReceiver, ReceivedBatch, Wait};
use caudal_wire::datagram::{DatagramHeader, DatagramKind, OpeningDatagram};
use caudal_wire::trains::{DatagramTimes, ReceivedTrains};
use std::io;
use std::net::UdpSocket;
use std::time::Duration;

/// The interval at which the signals are looked at.
const CHECK_INTERVAL: Duration = Duration::from_millis(20);
/// The time without an arrival after which what the other end has sent counts as lost, ns.
const LINGER_NS: u64 = 300_000_000;
/// The messages taken from the kernel in one call.
const SLOTS: usize = 32;

/// The receiving end of trains.
pub(super) struct TrainReceiver {
    pub(super) series: TrainSeries,
    /// The flow's number.
    pub(super) flow: u32,
    /// The tag of the test.
    pub(super) tag: u32,
    /// `true` at the server, which answers a repeated proof of the opening dialogue.
    pub(super) is_server: bool,
}

/// What has arrived so far.
struct TrainArrivals {
    /// Whether the datagram of each number has arrived.
    seen: Vec<bool>,
    highest: Option<u32>,
    received: ReceivedTrains,
    first_ns: u64,
    last_ns: u64,
}

impl TrainReceiver {
    /// The bytes that an end holds for a series that it receives.
    pub(super) fn buffer_bytes(series: &TrainSeries) -> u64 {
        let each = if series.timed { 1 + 4 + 8 } else { 1 };
        series.total() * each
    }

    /// Receives until all that was sent has arrived, or nothing more comes, or the signals end it.
    pub(super) fn receive(
        &self,
        socket: &UdpSocket,
        signals: &TrainSignals,
        limit: Option<&TestLimit>,
    ) -> ReceivedTrains {
        let mut arrivals = TrainArrivals::new(&self.series);
        // What has arrived stands, whatever the kernel says then.
        let _ = self.receive_into(&mut arrivals, socket, signals, limit);
        arrivals.finish()
    }

    fn receive_into(
        &self,
        arrivals: &mut TrainArrivals,
        socket: &UdpSocket,
        signals: &TrainSignals,
        limit: Option<&TestLimit>,
    ) -> io::Result<()> {
        udp::set_receive_timeout(socket, Some(CHECK_INTERVAL))?;
        let mut receiver = GroReceiver::new(SLOTS)?;
        let mut quiet_since_ns = monotonic_ns();
        let mut offset = WallOffset::new(realtime_ns(), quiet_since_ns);
        while !signals.is_receiving_stopped() {
            match receiver.receive(socket, Wait::ForOne) {
                Ok(_) => {
                    quiet_since_ns = monotonic_ns();
                    offset.update(realtime_ns(), quiet_since_ns);
                    for message in receiver.messages() {
                        // The kernel's times are of the wall clock, which may be set during a series.
                        let kernel_ns = message
                            .kernel_time_ns
                            .map(|at_ns| offset.monotonic_ns(at_ns, quiet_since_ns));
                        self.take(arrivals, socket, &message, kernel_ns);
                        let bytes = message.data.len() as u64;
                        let limited =
                            limit.map(|limit| limit.take_datagrams(bytes, bytes, quiet_since_ns));
                        if let Some(Err(reached)) = limited {
                            return Err(io::Error::other(reached));
                        }
                    }
                    signals.set_received(arrivals.received.datagrams);
                }
                Err(cause) if is_transient(&cause) => {}
                Err(cause) => return Err(cause),
            }
            if let Some(expected) = signals.expected() {
                let is_quiet = monotonic_ns().saturating_sub(quiet_since_ns) >= LINGER_NS;
                if arrivals.received.datagrams >= expected || is_quiet {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    fn take(
        &self,
        arrivals: &mut TrainArrivals,
        socket: &UdpSocket,
        message: &ReceivedBatch<'_>,
        kernel_ns: Option<u64>,
    ) {
        let header = DatagramHeader::read(message.data).filter(|header| {
            header.kind == DatagramKind::Data
                && header.tag == self.tag
                && header.flow == self.flow
                && header.sequence < self.series.total()
                && message.data.len() == self.series.length as usize
        });
        if let Some(header) = header {
            arrivals.add(header.sequence as u32, kernel_ns);
        } else if self.is_server
            && let Some(opening) = OpeningDatagram::decode(message.data)
        {
            reply_to_proof(socket, &opening);
        }
    }
}

/// `true` for what a receive reports while nothing has arrived, or of a datagram that this end has sent.
fn is_transient(cause: &io::Error) -> bool {
    matches!(
        cause.kind(),
        io::ErrorKind::WouldBlock
            | io::ErrorKind::TimedOut
            | io::ErrorKind::Interrupted
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::HostUnreachable
            | io::ErrorKind::NetworkUnreachable
    )
}

impl TrainArrivals {
    fn new(series: &TrainSeries) -> Self {
        let total = series.total() as usize;
        Self {
            seen: vec![false; total],
            highest: None,
            received: ReceivedTrains {
                kernel_times: true,
                times: series.timed.then(|| DatagramTimes::with_capacity(total)),
                ..ReceivedTrains::default()
            },
            first_ns: 0,
            last_ns: 0,
        }
    }

    fn add(&mut self, number: u32, kernel_ns: Option<u64>) {
        let Some(seen) = self.seen.get_mut(number as usize) else {
            return;
        };
        if std::mem::replace(seen, true) {
            self.received.duplicates += 1;
            return;
        }
        let at_ns = kernel_ns.unwrap_or_else(monotonic_ns);
        self.received.kernel_times &= kernel_ns.is_some();
        self.received.datagrams += 1;
        if self.highest.is_some_and(|highest| number < highest) {
            self.received.reordered += 1;
        }
        self.highest = self.highest.max(Some(number));
        if self.first_ns == 0 {
            self.first_ns = at_ns;
        }
        self.last_ns = self.last_ns.max(at_ns);
        if let Some(times) = &mut self.received.times {
            times.push(number, at_ns);
        }
    }

    fn finish(mut self) -> ReceivedTrains {
        self.received.elapsed_ns = self.last_ns.saturating_sub(self.first_ns);
        self.received
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::TrainSpacing;

    #[test]
    fn a_datagram_counts_once_and_late_ones_are_counted() {
        let series = TrainSeries {
            trains: 1,
            datagrams: 4,
            length: 100,
            spacing: TrainSpacing::BackToBack,
            period_ns: 0,
            timed: true,
        };
        let mut arrivals = TrainArrivals::new(&series);
        for (number, at_ns) in [(0, 100), (2, 200), (1, 300), (2, 400), (9, 500)] {
            arrivals.add(number, Some(at_ns));
        }
        let received = arrivals.finish();
        assert_eq!(
            (received.datagrams, received.duplicates, received.reordered),
            (3, 1, 1)
        );
        assert_eq!(received.elapsed_ns, 200);
        assert!(received.kernel_times);
        let times = received.times.unwrap().by_number(4).unwrap();
        assert_eq!(times, [Some(100), Some(300), Some(200), None]);
    }
}
