//! A sender and a receiver over a pipe with a delay and a rate.

use caudal_core::marks::Ecn;
use caudal_rbt::{
    Arq, BlockReceiver, BlockSender, MemoryContent, RbtCongestion, ReceiverStatus, SenderStatus,
    SocketBudget, TransferConfig,
};
use std::collections::BTreeMap;

/// Datagrams under way in one direction.
#[derive(Default)]
struct Way {
    due: BTreeMap<(u64, u64), Vec<u8>>,
    free_ns: u64,
    count: u64,
}

impl Way {
    fn send(&mut self, now_ns: u64, datagram: &[u8], ns_per_byte: u64, delay_ns: u64) {
        self.free_ns = self.free_ns.max(now_ns) + datagram.len() as u64 * ns_per_byte;
        self.count += 1;
        self.due
            .insert((self.free_ns + delay_ns, self.count), datagram.to_vec());
    }
}

struct Pipe {
    delay_ns: u64,
    ns_per_byte: u64,
    loss: fn(u64) -> bool,
}

/// Runs a session to its end: the content that came out, the time it took and the ends.
fn run(
    config: &TransferConfig,
    content: &[u8],
    pipe: &Pipe,
) -> (Vec<u8>, u64, BlockSender, BlockReceiver) {
    let control =
        RbtCongestion::from_name("cubic", config.packet_bytes, None, 1).expect("cubic is known");
    let budget = SocketBudget(4 << 20);
    let mut sender = BlockSender::new(config, control, budget, 0);
    let digest = *blake3::hash(content).as_bytes();
    sender.set_digest(digest);
    let mut receiver = BlockReceiver::new(config, budget, 0);
    let mut source = MemoryContent(content);
    let (mut there, mut back) = (Way::default(), Way::default());
    let mut out = vec![0; 65_536];
    let mut received = Vec::new();
    let mut now_ns = 0;
    let mut number = 0;
    for _ in 0..10_000_000 {
        while let Some(transmit) = sender.poll_transmit(now_ns, &mut source, &mut out, 32) {
            for datagram in out[..transmit.bytes].chunks(transmit.segment) {
                number += 1;
                if !(pipe.loss)(number) {
                    there.send(now_ns, datagram, pipe.ns_per_byte, pipe.delay_ns);
                }
            }
        }
        while let Some(bytes) = receiver.poll_transmit(now_ns, &mut out) {
            back.send(now_ns, &out[..bytes], 0, pipe.delay_ns);
        }
        let next = [
            there.due.keys().next().map(|(due, _)| *due),
            back.due.keys().next().map(|(due, _)| *due),
            sender.poll_timeout(),
            receiver.poll_timeout(),
        ];
        let Some(next) = next.into_iter().flatten().min() else {
            break;
        };
        now_ns = now_ns.max(next);
        while let Some(entry) = there
            .due
            .first_entry()
            .filter(|entry| entry.key().0 <= now_ns)
        {
            let datagram = entry.remove();
            receiver.handle_datagrams(now_ns, &datagram, datagram.len(), Ecn::NotEct);
        }
        while let Some(entry) = back
            .due
            .first_entry()
            .filter(|entry| entry.key().0 <= now_ns)
        {
            let _ = sender.handle_datagram(now_ns, &entry.remove());
        }
        while !receiver.readable().is_empty() {
            let bytes = receiver.readable().len();
            received.extend_from_slice(receiver.readable());
            receiver.consume(bytes);
        }
        if receiver.status() == ReceiverStatus::Verifying {
            let matches = receiver.claimed_digest() == Some(*blake3::hash(&received).as_bytes());
            receiver.set_verified(now_ns, matches);
        }
        if sender.poll_timeout().is_some_and(|due| due <= now_ns) {
            sender.handle_timeout(now_ns);
        }
        if receiver.poll_timeout().is_some_and(|due| due <= now_ns) {
            receiver.handle_timeout(now_ns);
        }
    }
    (received, now_ns, sender, receiver)
}

fn content(bytes: u64) -> Vec<u8> {
    (0..bytes).map(|at| ((at * at) >> 7) as u8).collect()
}

const MODES: [Arq; 4] = [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait];

fn config(arq: Arq, packet_bytes: u32, total: u64) -> TransferConfig {
    TransferConfig {
        session: 5,
        packet_bytes,
        total_bytes: Some(total),
        arq,
        max_ack_delay_ns: 1_000_000,
        ack_packets: if arq == Arq::StopAndWait { 1 } else { 64 },
        ..TransferConfig::default()
    }
}

const LAN: Pipe = Pipe {
    delay_ns: 500_000,
    ns_per_byte: 8,
    loss: |_| false,
};

#[test]
fn every_mode_carries_any_size_without_a_repetition_on_a_clean_path() {
    for arq in MODES {
        for bytes in [0, 1, 99, 100, 101, 10_000, 300_000] {
            let content = content(bytes);
            let config = config(arq, 100, bytes);
            let (received, _, sender, receiver) = run(&config, &content, &LAN);
            assert_eq!(received, content, "{arq:?} {bytes}: {:?}", sender.status());
            assert_eq!(sender.status(), SenderStatus::Complete, "{arq:?} {bytes}");
            assert_eq!(
                receiver.status(),
                ReceiverStatus::Complete { matches: true },
                "{arq:?} {bytes}"
            );
            assert_eq!(
                sender.counts().retransmitted,
                0,
                "{arq:?} {bytes} {:?}",
                sender.counts()
            );
        }
    }
}

#[test]
fn every_mode_survives_loss() {
    for arq in MODES {
        let bytes = if arq == Arq::StopAndWait {
            100_000
        } else {
            3_000_000
        };
        let content = content(bytes);
        let config = config(arq, 1000, bytes);
        let lossy = Pipe {
            loss: |number| number % 17 == 0,
            ..LAN
        };
        let (received, ns, sender, receiver) = run(&config, &content, &lossy);
        assert_eq!(
            sender.status(),
            SenderStatus::Complete,
            "{arq:?}: {:?}",
            sender.counts()
        );
        assert_eq!(received, content, "{arq:?}");
        println!(
            "{arq:?} {} ms {:?} {:?}",
            ns / 1_000_000,
            sender.counts(),
            receiver.counts()
        );
    }
}
