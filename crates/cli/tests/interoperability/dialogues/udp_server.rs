//! The datagrams of a replayed iperf3 server: one socket, a flow for each address.

use super::transcript::End;
use crate::support::SOON;
use std::collections::BTreeMap;
use std::net::{SocketAddr, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// How long nothing has come when everything has.
const QUIET: Duration = Duration::from_millis(100);

struct Flow {
    peer: SocketAddr,
    sender: Option<End>,
    datagrams: Arc<AtomicU64>,
}

/// The length of the datagrams of each address, and how many have come.
type Counters = BTreeMap<SocketAddr, (usize, Arc<AtomicU64>)>;

pub struct UdpServer {
    socket: UdpSocket,
    flows: BTreeMap<usize, Flow>,
    counters: Arc<Mutex<Counters>>,
    over: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    reads: bool,
}

impl UdpServer {
    pub fn bind(port: u16) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        Self {
            socket,
            flows: BTreeMap::new(),
            counters: Arc::default(),
            over: Arc::default(),
            threads: Vec::new(),
            reads: false,
        }
    }

    /// Waits for the four bytes that open a flow.
    pub fn await_hello(&mut self, flow: usize) {
        let mut hello = [0; 64];
        let (length, peer) = self.socket.recv_from(&mut hello).unwrap();
        assert_eq!(length, 4, "the datagram that opens a flow");
        let flow_of_peer = Flow {
            peer,
            sender: None,
            datagrams: Arc::default(),
        };
        self.flows.insert(flow, flow_of_peer);
    }

    pub fn answer(&self, flow: usize, datagram: &[u8]) {
        self.socket
            .send_to(datagram, self.flows[&flow].peer)
            .unwrap();
    }

    /// Counts the datagrams of a flow from here on.
    pub fn receive(&mut self, flow: usize, length: usize) {
        let receiving = self.flows.get_mut(&flow).unwrap();
        receiving.sender = Some(End::Client);
        let counter = Arc::clone(&receiving.datagrams);
        self.counters
            .lock()
            .unwrap()
            .insert(receiving.peer, (length, counter));
        if self.reads {
            return;
        }
        self.reads = true;
        let socket = self.socket.try_clone().unwrap();
        socket.set_read_timeout(Some(QUIET)).unwrap();
        let (counters, over) = (Arc::clone(&self.counters), Arc::clone(&self.over));
        self.threads.push(thread::spawn(move || {
            let mut datagram = vec![0; 64 << 10];
            loop {
                match socket.recv_from(&mut datagram) {
                    Ok((length, peer)) => {
                        if let Some((expected, counter)) = counters.lock().unwrap().get(&peer)
                            && length == *expected
                        {
                            counter.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                    Err(_) if over.load(Ordering::Relaxed) => return,
                    Err(_) => {}
                }
            }
        }));
    }

    /// Sends datagrams to a flow at a rate, in bits per second, until the test is over.
    pub fn send(&mut self, flow: usize, length: usize, rate: u64) {
        let sending = self.flows.get_mut(&flow).unwrap();
        sending.sender = Some(End::Server);
        let (peer, counter) = (sending.peer, Arc::clone(&sending.datagrams));
        let socket = self.socket.try_clone().unwrap();
        let over = Arc::clone(&self.over);
        let began = Instant::now();
        self.threads.push(thread::spawn(move || {
            let mut sent = 0_u64;
            while !over.load(Ordering::Relaxed) {
                let due = began.elapsed().as_secs_f64() * rate as f64 / (8 * length) as f64;
                while sent < due as u64 {
                    sent += 1;
                    let mut datagram = vec![b'6'; length];
                    datagram[8..12].copy_from_slice(&(sent as u32).to_be_bytes());
                    let _ = socket.send_to(&datagram, peer);
                }
                counter.store(sent, Ordering::Relaxed);
                thread::sleep(Duration::from_millis(2));
            }
        }));
    }

    /// Ends all flows: the datagrams of each, and who has sent them.
    pub fn end(&mut self) -> Vec<(u64, End)> {
        self.over.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            thread.join().unwrap();
        }
        self.flows
            .values()
            .map(|flow| {
                let sender = flow.sender.unwrap();
                (flow.datagrams.load(Ordering::Relaxed), sender)
            })
            .collect()
    }
}
