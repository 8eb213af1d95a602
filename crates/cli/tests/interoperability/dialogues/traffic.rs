//! The data of a replayed dialogue: threads that send and receive what the tools do.

use crate::support::SOON;
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long a socket waits before its thread looks whether the test has ended.
const GLANCE: Duration = Duration::from_millis(50);

/// A direction of a flow under way; its end is what was counted.
pub struct Transfer {
    thread: JoinHandle<u64>,
    over: Arc<AtomicBool>,
}

impl Transfer {
    fn start(work: impl FnOnce(&AtomicBool) -> u64 + Send + 'static) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&over);
        Self {
            thread: thread::spawn(move || work(&seen)),
            over,
        }
    }

    /// Tells it that the test is over: it ends when nothing comes any more.
    pub fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
    }

    /// What it has counted, once it has ended.
    #[track_caller]
    pub fn counted(self) -> u64 {
        let until = Instant::now() + SOON;
        while !self.thread.is_finished() {
            assert!(
                Instant::now() < until,
                "a flow of the dialogue does not end"
            );
            thread::sleep(Duration::from_millis(2));
        }
        self.thread.join().unwrap()
    }
}

fn is_timeout(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// Sends bytes that begin with `begin`, until all are sent, or until the test is over where there is no amount; not faster
/// than `rate` bits per second if there is one.
pub fn send(
    mut stream: TcpStream,
    begin: Vec<u8>,
    bytes: Option<u64>,
    rate: Option<u64>,
) -> Transfer {
    Transfer::start(move |over| {
        stream.set_write_timeout(Some(GLANCE)).unwrap();
        let block: Vec<u8> = (0..128 << 10).map(|at| b'0' + (at % 10) as u8).collect();
        let (mut sent, began) = (0_u64, Instant::now());
        while bytes.is_none_or(|bytes| sent < bytes) {
            if bytes.is_none() && over.load(Ordering::Relaxed) {
                break;
            }
            let is_due =
                |rate: u64| began.elapsed().as_secs_f64() * rate as f64 >= sent as f64 * 8.0;
            if rate.is_some_and(|rate| !is_due(rate)) {
                thread::sleep(Duration::from_millis(1));
                continue;
            }
            let left = bytes.map_or(block.len() as u64, |bytes| bytes - sent);
            let piece = if sent < begin.len() as u64 {
                &begin[sent as usize..]
            } else {
                &block[..block.len().min(left as usize)]
            };
            match stream.write(piece) {
                Ok(count) => sent += count as u64,
                Err(error) if is_timeout(&error) => {}
                Err(_) => break,
            }
        }
        sent
    })
}

/// What a receiver does with what comes after the end of a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftover {
    /// It reads until nothing comes any more.
    Read,
    /// It stops at once.
    Leave,
}

impl Leftover {
    fn is_left(self, over: &AtomicBool) -> bool {
        self == Self::Leave && over.load(Ordering::Relaxed)
    }
}

/// Receives until `bytes` have come, the connection ends, or the test is over. With `whole`, what is no whole block of that
/// size does not count, as for iperf3 from 3.16 on.
pub fn receive(
    mut stream: TcpStream,
    bytes: Option<u64>,
    whole: Option<u64>,
    leftover: Leftover,
) -> Transfer {
    Transfer::start(move |over| {
        stream.set_read_timeout(Some(GLANCE)).unwrap();
        let mut chunk = vec![0; 64 << 10];
        let mut received = 0;
        while bytes.is_none_or(|bytes| received < bytes) && !leftover.is_left(over) {
            match stream.read(&mut chunk) {
                Ok(0) => break,
                Ok(count) => received += count as u64,
                Err(error) if is_timeout(&error) => {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        received - whole.map_or(0, |block| received % block)
    })
}

/// Where the number of a datagram is in it, and how it is written.
#[derive(Debug, Clone, Copy)]
pub struct DatagramLayout {
    /// The offset of the number, a big-endian word.
    pub number_at: usize,
    /// The number of the first datagram.
    pub first: u32,
    pub length: usize,
}

impl DatagramLayout {
    /// The datagram with a number; it begins with `begin`.
    pub fn datagram(&self, begin: &[u8], number: u32) -> Vec<u8> {
        let mut datagram = vec![b'6'; self.length];
        datagram[..begin.len()].copy_from_slice(begin);
        datagram[self.number_at..self.number_at + 4].copy_from_slice(&number.to_be_bytes());
        datagram
    }
}

/// Sends `count` datagrams, or until the test is over, `gap` apart; what is counted is datagrams.
pub fn send_datagrams(
    socket: UdpSocket,
    layout: DatagramLayout,
    begin: Vec<u8>,
    count: Option<u64>,
    gap: Duration,
) -> Transfer {
    Transfer::start(move |over| {
        let mut sent = 0;
        while count.is_none_or(|count| sent < count) {
            if count.is_none() && over.load(Ordering::Relaxed) {
                break;
            }
            let datagram = layout.datagram(&begin, layout.first + sent as u32);
            if socket.send(&datagram).is_err() {
                break;
            }
            sent += 1;
            thread::sleep(gap);
        }
        sent
    })
}

/// Receives datagrams of a length until `count` have come, or the test is over.
pub fn receive_datagrams(socket: UdpSocket, length: usize, count: Option<u64>) -> Transfer {
    Transfer::start(move |over| {
        socket.set_read_timeout(Some(GLANCE)).unwrap();
        let mut datagram = vec![0; 64 << 10];
        let mut received = 0;
        while count.is_none_or(|count| received < count) && !Leftover::Leave.is_left(over) {
            match socket.recv(&mut datagram) {
                Ok(size) => received += u64::from(size == length),
                Err(error) if is_timeout(&error) => {
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        received
    })
}
