//! Stop-and-wait: a message is sent when the reply to the one before has arrived.
//!
//! Between the two readings of the clock there are a send and a receive and nothing else.

use super::kernel_account::{KernelAccounts, Messages, RoundTripTimes};
use super::probe::{
    Probe, RefusedMessages, altered, announce, is_unanswered, longest_ns, send_udp,
};
use crate::socket::is_too_large;
use caudal_analysis::echo::{EchoSeries, Reply, SlowRoundTrip, StampedRoundTrip};
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use caudal_sys::timestamps;
use caudal_sys::udp::receive_with_tos;
use caudal_wire::datagram::OpeningDatagram;
use caudal_wire::echo::{Announcement, carries_number, number_up_to, write_number};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

/// The number of counted messages for which one more is sent that the kernel timestamps.
const MESSAGES_PER_TIMESTAMP: u64 = 16;
/// Maximum number of such messages after a test whose time is over.
const MAX_AFTER_TIME: u64 = 500;
/// The time the kernel takes to begin to timestamp.
const BEFORE_TIMESTAMPS: Duration = Duration::from_millis(1);

pub(super) fn over_tcp(
    probe: &mut Probe,
    stream: &TcpStream,
    series: &mut EchoSeries,
) -> io::Result<()> {
    let count = 1 + probe.plan.count;
    announce(
        stream,
        Announcement {
            size: series.size,
            count,
        },
        &probe.plan,
    )?;
    let size = series.size as usize;
    let (message, reply) = (&probe.message[..size], &mut probe.reply[..size]);
    let times = tcp_round_trip(stream, message, reply).map_err(|(cause, _)| cause)?;
    series.first = Some(Reply::after(times.rtt_ns()));
    if message != reply {
        return Err(altered());
    }
    for nth in 0..probe.plan.count {
        let times = match tcp_round_trip(stream, message, reply) {
            Ok(times) => times,
            Err((cause, waited_ns)) => {
                if is_unanswered(waited_ns, longest_ns(&series.replies)) {
                    series.replies.push(Reply::LOST);
                }
                return Err(cause);
            }
        };
        let rtt_ns = times.rtt_ns();
        probe.heard_ns.store(times.read, Relaxed);
        series.replies.push(Reply::after(rtt_ns));
        if let Some(feed) = &probe.feed {
            feed.reply(rtt_ns);
        }
        if rtt_ns > series.slowest.floor_ns() {
            series.slowest.keep(SlowRoundTrip {
                message: nth + 1,
                rtt_ns,
                account: probe.accounts.tcp(stream, times, Messages::Single),
            });
        }
        if probe.signals.is_stopped() {
            return Ok(());
        }
        if probe.time_over.load(Relaxed) {
            break;
        }
    }
    if probe.takes_timestamps {
        tcp_timestamps(probe, stream, series)?;
    }
    Ok(())
}

/// Sends some more messages that the kernel timestamps: after the others and not among them, so that timestamps slow none of
/// them down.
fn tcp_timestamps(
    probe: &mut Probe,
    stream: &TcpStream,
    series: &mut EchoSeries,
) -> io::Result<()> {
    let count = timestamped_messages(probe.plan.count, series);
    if series.replies.len() as u64 >= probe.plan.count {
        announce(
            stream,
            Announcement {
                size: series.size,
                count,
            },
            &probe.plan,
        )?;
    }
    let size = series.size as usize;
    timestamps::enable(stream)?;
    thread::sleep(BEFORE_TIMESTAMPS);
    for _ in 0..count {
        let (message, reply) = (&probe.message[..size], &mut probe.reply[..size]);
        series.stamped.extend(tcp_stamped(stream, message, reply)?);
    }
    timestamps::disable(stream)
}

pub(super) fn over_udp(
    probe: &mut Probe,
    socket: &UdpSocket,
    series: &mut EchoSeries,
) -> io::Result<()> {
    socket.set_read_timeout(Some(probe.plan.timeout))?;
    let size = series.size as usize;
    let first = probe.number;
    let mut compare = true;
    let mut refused = RefusedMessages::default();
    for nth in 0..=probe.plan.count as usize {
        let left = monotonic_ns();
        let reply = udp_round_trip(probe, socket, series, &mut refused, first);
        series.refused = refused.counts();
        let reply = reply?;
        if reply != Reply::LOST {
            probe.heard_ns.store(monotonic_ns(), Relaxed);
        } else if probe.signals.is_stopped() {
            let waited_ns = monotonic_ns() - left;
            if nth > 0 && is_unanswered(waited_ns, longest_ns(&series.replies)) {
                series.replies.push(Reply::LOST);
            }
            break;
        }
        if nth == 0 {
            series.first = Some(reply);
        } else {
            series.replies.push(reply);
            match (&probe.feed, reply.ns()) {
                (Some(feed), Some(rtt_ns)) => feed.reply(rtt_ns),
                (Some(feed), None) => feed.lost(),
                (None, _) => {}
            }
        }
        if probe.time_over.load(Relaxed) {
            break;
        }
        if compare && reply != Reply::LOST {
            compare = false;
            if probe.message[..size] != probe.reply[..size] {
                return Err(altered());
            }
        }
    }
    if probe.takes_timestamps && !probe.signals.is_stopped() {
        timestamps::enable(socket)?;
        thread::sleep(BEFORE_TIMESTAMPS);
        for _ in 0..timestamped_messages(probe.plan.count, series) {
            series.stamped.extend(udp_stamped(probe, socket, size)?);
            if probe.signals.is_stopped() {
                break;
            }
        }
        timestamps::disable(socket)?;
    }
    Ok(())
}

/// The number of messages that the kernel timestamps after those that count. After a test whose time is over over TCP they are among
/// those that were announced.
fn timestamped_messages(planned: u64, series: &EchoSeries) -> u64 {
    let counted = series.replies.len() as u64;
    let left = planned.saturating_sub(counted);
    let usual = counted.div_ceil(MESSAGES_PER_TIMESTAMP);
    if left == 0 {
        usual
    } else {
        usual.min(MAX_AFTER_TIME).min(left)
    }
}

/// Sends one message and waits for its reply; `first` is the number of the size's first message.
fn udp_round_trip(
    probe: &mut Probe,
    socket: &UdpSocket,
    series: &mut EchoSeries,
    refused: &mut RefusedMessages,
    first: u64,
) -> io::Result<Reply> {
    let size = series.size as usize;
    let number = probe.number;
    probe.number += 1;
    let message = &mut probe.message[..size];
    write_number(message, number);
    let left = monotonic_ns();
    match send_udp(socket, message) {
        Ok(_) => refused.sent(),
        Err(cause) => return refused.not_sent(cause, number > first),
    }
    loop {
        let received = receive_with_tos(socket, &mut probe.reply);
        let now = monotonic_ns();
        match received {
            Ok((length, tos)) if length == size && carries_number(&probe.reply[..size], number) => {
                if let Some(tos) = tos {
                    series.marks.add(tos, 1);
                }
                let times = RoundTripTimes {
                    began: left,
                    read: now,
                };
                if times.rtt_ns() > series.slowest.floor_ns() {
                    series.slowest.keep(SlowRoundTrip {
                        message: number - first,
                        rtt_ns: times.rtt_ns(),
                        account: KernelAccounts::udp(socket, times),
                    });
                }
                return Ok(Reply::after(times.rtt_ns()));
            }
            Ok((length, _)) if length > 0 => {
                count_stray(
                    &probe.reply[..length],
                    series,
                    first,
                    number.saturating_sub(1),
                );
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(Reply::LOST),
            Err(cause) if cause.kind() != ErrorKind::Interrupted && !is_too_large(&cause) => {
                return Err(cause);
            }
            _ => {}
        }
        if probe.signals.is_stopped() || now - left >= probe.plan.timeout.as_nanos() as u64 {
            return Ok(Reply::LOST);
        }
    }
}

/// One more message that the kernel timestamps; `None` when a timestamp or the reply is missing.
fn udp_stamped(
    probe: &mut Probe,
    socket: &UdpSocket,
    size: usize,
) -> io::Result<Option<StampedRoundTrip>> {
    let number = probe.number;
    probe.number += 1;
    let message = &mut probe.message[..size];
    write_number(message, number);
    let left = monotonic_ns();
    if let Err(cause) = timestamps::send_stamped(socket, message) {
        return RefusedMessages::default()
            .not_sent(cause, false)
            .map(|_| None);
    }
    let sent_ns = realtime_ns();
    let until = left + probe.plan.timeout.as_nanos() as u64;
    while monotonic_ns() < until && !probe.signals.is_stopped() {
        match timestamps::receive_stamped(socket, &mut probe.reply) {
            Ok((length, arrived)) => {
                let now = monotonic_ns();
                if length == size && carries_number(&probe.reply[..size], number) {
                    let departed = timestamps::transmit_stamp(socket);
                    let stamps = KernelStamps {
                        sent_ns,
                        departed,
                        arrived,
                    };
                    return Ok(stamps.split(now - left));
                }
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => break,
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    let _ = timestamps::transmit_stamp(socket);
    Ok(None)
}

/// Sends a message and receives the whole reply: the times before and after, or the error and the time it took to come, ns.
#[inline]
fn tcp_round_trip(
    mut stream: &TcpStream,
    message: &[u8],
    reply: &mut [u8],
) -> Result<RoundTripTimes, (io::Error, u64)> {
    let began = monotonic_ns();
    let exchanged = stream
        .write_all(message)
        .and_then(|()| stream.read_exact(reply));
    let read = monotonic_ns();
    match exchanged {
        Ok(()) => Ok(RoundTripTimes { began, read }),
        Err(cause) => Err((cause, read - began)),
    }
}

/// A round trip with the kernel's timestamps; `None` when one is missing.
fn tcp_stamped(
    mut stream: &TcpStream,
    message: &[u8],
    reply: &mut [u8],
) -> io::Result<Option<StampedRoundTrip>> {
    let left = monotonic_ns();
    let sent = match timestamps::send_stamped(stream, message) {
        Ok(sent) => sent,
        Err(cause) if cause.kind() == ErrorKind::Interrupted => 0,
        Err(cause) => return Err(cause),
    };
    stream.write_all(&message[sent..])?;
    let sent_ns = realtime_ns();
    let mut filled = 0;
    let mut arrived = None;
    while filled < reply.len() {
        match timestamps::receive_stamped(stream, &mut reply[filled..]) {
            Ok((0, _)) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok((length, stamp)) => {
                filled += length;
                arrived = stamp;
            }
            Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
            Err(cause) => return Err(cause),
        }
    }
    let took = monotonic_ns() - left;
    let departed = timestamps::transmit_stamp(stream);
    // The timestamp is that of the bytes the first call took.
    let stamps = KernelStamps {
        sent_ns,
        departed,
        arrived,
    };
    Ok(if sent == message.len() {
        stamps.split(took)
    } else {
        None
    })
}

/// The times of one message on the wall clock, ns.
#[derive(Debug, Clone, Copy)]
struct KernelStamps {
    /// The end of the call that sent it.
    sent_ns: u64,
    /// The time at which the kernel handed the last of it to the device.
    departed: Option<u64>,
    /// The time at which the kernel received the reply.
    arrived: Option<u64>,
}

impl KernelStamps {
    /// The parts of a round trip; `None` when a timestamp is missing, or the wall clock was set meanwhile.
    fn split(&self, rtt_ns: u64) -> Option<StampedRoundTrip> {
        let departed = self.departed?;
        let kernel_ns = self.arrived?.checked_sub(departed)?;
        let queued_ns = departed.saturating_sub(self.sent_ns);
        (kernel_ns.saturating_add(queued_ns) <= rtt_ns).then_some(StampedRoundTrip {
            rtt_ns,
            kernel_ns,
            queued_ns,
        })
    }
}

/// Counts a datagram that is not the expected reply: one to message `latest` or an earlier one.
#[cold]
fn count_stray(datagram: &[u8], series: &mut EchoSeries, first: u64, latest: u64) {
    if OpeningDatagram::decode(datagram).is_some() {
        return;
    }
    let is_of_this_size = datagram.len() == series.size as usize;
    let number = number_up_to(datagram, latest).filter(|_| is_of_this_size);
    let reply = number
        .and_then(|number| number.checked_sub(first))
        .and_then(|nth| {
            nth.checked_sub(1).map_or(series.first, |nth| {
                series.replies.get(nth as usize).copied()
            })
        });
    match reply {
        Some(reply) if reply != Reply::LOST => series.duplicate += 1,
        // It belongs to an earlier size, whose wait is over.
        _ => series.late += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_leaves_after_its_call_has_waited_in_the_send_queue() {
        let stamps = |departed, arrived| KernelStamps {
            sent_ns: 1_000,
            departed,
            arrived,
        };
        let parts = |split: StampedRoundTrip| (split.queued_ns, split.kernel_ns);
        let paced = stamps(Some(15_000), Some(25_000)).split(30_000).unwrap();
        assert_eq!(parts(paced), (14_000, 10_000));
        // It left during the call.
        let at_once = stamps(Some(900), Some(10_900)).split(30_000).unwrap();
        assert_eq!(parts(at_once), (0, 10_000));
        // The wall clock was set: the parts are longer than the whole, or the reply arrived before its message left.
        assert_eq!(stamps(Some(900), Some(50_900)).split(30_000), None);
        assert_eq!(stamps(Some(25_000), Some(31_100)).split(30_000), None);
        assert_eq!(stamps(Some(900), Some(800)).split(30_000), None);
        assert_eq!(stamps(None, Some(800)).split(30_000), None);
    }
}
