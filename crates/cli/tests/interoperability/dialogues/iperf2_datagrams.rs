//! The datagrams of a replayed iperf 2 client: flows sent with their last datagram, and reports held against them.

use crate::support::SOON;
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

/// Between datagrams: what a loopback takes without loss.
const GAP: Duration = Duration::from_micros(200);
/// How long a client waits for the answer to its last datagram before it sends it again.
const PATIENCE: Duration = Duration::from_millis(250);
/// The least a report has, which is its fields of 2.0.10 and later.
const MIN_REPORT: usize = 128;

/// A flow as it was recorded.
pub struct DatagramFlow {
    pub socket: UdpSocket,
    pub length: usize,
    /// What the first datagram begins with.
    pub first: Vec<u8>,
    /// What the last one begins with; its number is the negative of how many there were.
    pub last: Vec<u8>,
}

/// What was sent in a flow.
pub struct Sent {
    pub bytes: u64,
}

fn word(datagram: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(datagram[at..at + 4].try_into().unwrap())
}

impl DatagramFlow {
    fn datagram(&self, begin: &[u8]) -> Vec<u8> {
        let mut datagram = vec![b'6'; self.length];
        datagram[..begin.len()].copy_from_slice(begin);
        datagram
    }

    /// How many datagrams the last one speaks of.
    fn announced(&self) -> u32 {
        word(&self.last, 0).wrapping_neg()
    }
}

/// Sends the datagram that asks for a flow in reverse.
pub fn request_flow(flow: &DatagramFlow) {
    flow.socket.send(&flow.datagram(&flow.first)).unwrap();
}

/// Sends a flow; `answers` are the lengths of what the recorded server has answered.
pub fn send_flow(flow: &DatagramFlow, answers: &[usize]) -> Sent {
    let announced = flow.announced();
    let number = word(&flow.first, 0);
    let mut answer = vec![0; 64 << 10];
    let is_acknowledged = answers.iter().any(|length| *length < MIN_REPORT);
    if is_acknowledged {
        // What opens the flow has a number of its own, whose upper half is not written.
        flow.socket.send(&flow.datagram(&flow.first)).unwrap();
        let length = flow.socket.recv(&mut answer).unwrap();
        assert!(length < MIN_REPORT, "an answer to the opening datagram");
    }
    for nth in 0..announced.max(1) {
        let mut datagram = flow.datagram(&flow.first);
        if is_acknowledged {
            datagram[12..16].fill(0);
        }
        let number = number.wrapping_add(nth);
        // From 2.1 on the first has number 1, and the last one counts itself.
        if number >= announced {
            break;
        }
        datagram[..4].copy_from_slice(&number.to_be_bytes());
        flow.socket.send(&datagram).unwrap();
        thread::sleep(GAP);
    }
    let last = flow.datagram(&flow.last);
    if answers.iter().all(|length| *length < MIN_REPORT) {
        flow.socket.send(&last).unwrap();
    } else {
        let report = ask_for_report(flow, &last, &mut answer);
        // Layout: flags, 64 bits of bytes, seconds, microseconds, lost, out of order, datagrams.
        let (bytes, lost, datagrams) = (word(report, 24), word(report, 36), word(report, 44));
        let expected = (announced * flow.length as u32, 0, announced);
        assert_eq!((bytes, lost, datagrams), expected, "{report:02x?}");
    }
    Sent {
        bytes: u64::from(announced) * flow.length as u64,
    }
}

/// Sends the last datagram until the server answers it with its report.
fn ask_for_report<'a>(flow: &DatagramFlow, last: &[u8], answer: &'a mut [u8]) -> &'a [u8] {
    let until = Instant::now() + SOON;
    flow.socket.set_read_timeout(Some(PATIENCE)).unwrap();
    loop {
        flow.socket.send(last).unwrap();
        match flow.socket.recv(answer) {
            Ok(length) if length >= MIN_REPORT => return &answer[..length],
            Ok(length) => panic!("a report of {length} bytes: {:02x?}", &answer[..length]),
            Err(_) => assert!(Instant::now() < until, "no report comes"),
        }
    }
}

/// What has come of a flow.
#[derive(Default)]
struct Received {
    bytes: u64,
    datagrams: u32,
    lost: u32,
    /// The number of the datagram before.
    number: u32,
    is_open: bool,
    is_over: bool,
}

impl Received {
    /// Counts a datagram as the recorded server does: until 2.0.13 that which opens the flow is not counted.
    fn count(&mut self, datagram: &[u8], is_of_2_0: bool) {
        if !std::mem::replace(&mut self.is_open, true) && is_of_2_0 {
            return;
        }
        let number = word(datagram, 0) as i32;
        self.is_over = number < 0;
        let number = number.unsigned_abs();
        // 2.1 counts no number 0.
        if !is_of_2_0 && number == 0 {
            return;
        }
        self.bytes += datagram.len() as u64;
        self.datagrams += 1;
        self.lost += number.saturating_sub(self.number + 1);
        self.number = self.number.max(number);
    }
}

/// Receives flows at a socket until the last datagram of each has come, and answers that with `report`, filled in with what
/// came: the bytes of all.
pub fn receive_flows(socket: &UdpSocket, flows: u64, report: Option<&[u8]>) -> u64 {
    let socket = socket.try_clone().unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    let mut datagram = vec![0; 64 << 10];
    // Until 2.0.13 the report begins as the datagram that it answers.
    let is_of_2_0 = report.is_some_and(|report| report[0] != 0);
    let mut seen: BTreeMap<SocketAddr, Received> = BTreeMap::new();
    while seen.values().filter(|flow| flow.is_over).count() < flows as usize {
        let (length, peer) = socket.recv_from(&mut datagram).unwrap();
        let flow = seen.entry(peer).or_default();
        if length < 16 || flow.is_over {
            continue;
        }
        flow.count(&datagram[..length], is_of_2_0);
        if let (Some(report), true) = (report, flow.is_over) {
            let mut report = report.to_vec();
            if is_of_2_0 {
                report[..16].copy_from_slice(&datagram[..16]);
            }
            report[24..28].copy_from_slice(&(flow.bytes as u32).to_be_bytes());
            report[36..40].copy_from_slice(&flow.lost.to_be_bytes());
            report[44..48].copy_from_slice(&(flow.datagrams + flow.lost).to_be_bytes());
            socket.send_to(&report, peer).unwrap();
        }
    }
    seen.values().map(|flow| flow.bytes).sum()
}
