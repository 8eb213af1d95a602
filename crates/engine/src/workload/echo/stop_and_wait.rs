//! Stop-and-wait: a message is sent when the reply to the one before has arrived.
//!
//! Between the two readings of the clock there are a send and a receive and nothing else.

use super::probe::{Probe, altered, announce, not_sent};
use caudal_core::echo::{EchoSeries, Reply, StampedRoundTrip};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::timestamps;
use caudal_wire::datagram::OpeningDatagram;
use caudal_wire::echo::{Announcement, carries_number, number_up_to, write_number};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

/// The number of counted messages for which one more is sent that the kernel timestamps.
const MESSAGES_PER_TIMESTAMP: u64 = 16;
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
    series.first = Some(Reply::after(tcp_round_trip(stream, message, reply)?));
    if message != reply {
        return Err(altered());
    }
    for _ in 0..probe.plan.count {
        let took = tcp_round_trip(stream, message, reply)?;
        series.replies.push(Reply::after(took));
        if probe.signals.is_stopped() {
            return Ok(());
        }
    }
    if probe.takes_timestamps {
        // After the others and not among them, so that timestamps slow none of them down.
        let count = probe.plan.count.div_ceil(MESSAGES_PER_TIMESTAMP);
        announce(
            stream,
            Announcement {
                size: series.size,
                count,
            },
            &probe.plan,
        )?;
        timestamps::enable(stream)?;
        thread::sleep(BEFORE_TIMESTAMPS);
        for _ in 0..count {
            series.stamped.extend(tcp_stamped(stream, message, reply)?);
        }
        timestamps::disable(stream)?;
    }
    Ok(())
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
    for nth in 0..=probe.plan.count as usize {
        let reply = udp_round_trip(probe, socket, series, first)?;
        if probe.signals.is_stopped() && reply == Reply::LOST {
            break;
        }
        if nth == 0 {
            series.first = Some(reply);
        } else {
            series.replies.push(reply);
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
        for _ in 0..probe.plan.count.div_ceil(MESSAGES_PER_TIMESTAMP) {
            series.stamped.extend(udp_stamped(probe, socket, size)?);
            if probe.signals.is_stopped() {
                break;
            }
        }
        timestamps::disable(socket)?;
    }
    Ok(())
}

/// Sends one message and waits for its reply; `first` is the number of the size's first message.
fn udp_round_trip(
    probe: &mut Probe,
    socket: &UdpSocket,
    series: &mut EchoSeries,
    first: u64,
) -> io::Result<Reply> {
    let size = series.size as usize;
    let number = probe.number;
    probe.number += 1;
    let message = &mut probe.message[..size];
    write_number(message, number);
    let left = monotonic_ns();
    if let Err(cause) = socket.send(message) {
        return not_sent(cause);
    }
    loop {
        let received = socket.recv(&mut probe.reply);
        let now = monotonic_ns();
        match received {
            Ok(length) if length == size && carries_number(&probe.reply[..size], number) => {
                return Ok(Reply::after(now - left));
            }
            Ok(length) if length > 0 => {
                count_stray(
                    &probe.reply[..length],
                    series,
                    first,
                    number.saturating_sub(1),
                );
            }
            Err(cause) if cause.kind() == ErrorKind::WouldBlock => return Ok(Reply::LOST),
            Err(cause) if cause.kind() != ErrorKind::Interrupted => return Err(cause),
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
        return not_sent(cause).map(|_| None);
    }
    let until = left + probe.plan.timeout.as_nanos() as u64;
    while monotonic_ns() < until && !probe.signals.is_stopped() {
        match timestamps::receive_stamped(socket, &mut probe.reply) {
            Ok((length, arrived)) => {
                let now = monotonic_ns();
                if length == size && carries_number(&probe.reply[..size], number) {
                    let departed = timestamps::transmit_stamp(socket);
                    return Ok(split(now - left, departed, arrived));
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

/// Sends a message and receives the whole reply: the time that took, ns.
#[inline]
fn tcp_round_trip(mut stream: &TcpStream, message: &[u8], reply: &mut [u8]) -> io::Result<u64> {
    let left = monotonic_ns();
    stream.write_all(message)?;
    stream.read_exact(reply)?;
    Ok(monotonic_ns() - left)
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
    Ok(if sent == message.len() {
        split(took, departed, arrived)
    } else {
        None
    })
}

/// The part of a round trip between the kernel's timestamps; `None` when one is missing, or the wall clock was set between the two.
fn split(rtt_ns: u64, departed: Option<u64>, arrived: Option<u64>) -> Option<StampedRoundTrip> {
    let kernel_ns = arrived?.checked_sub(departed?)?;
    (kernel_ns <= rtt_ns).then_some(StampedRoundTrip { rtt_ns, kernel_ns })
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
