//! Nanoseconds for each packet of a sender and of a receiver, in memory: `cargo bench -p caudal-rbt`.
//!
//! Beside them what copying a payload and computing its CRC take alone: the rest is the protocol's.
#![expect(dead_code, reason = "only some of the forged datagrams are needed")]
#![allow(
    clippy::unwrap_used,
    reason = "a benchmark that cannot go on says where"
)]

use caudal_core::marks::Ecn;
use caudal_rbt::{
    BlockReceiver, BlockSender, MemoryContent, RbtCongestion, SocketBudget, TransferConfig,
};
use forged::ForgedAck;
use std::hint::black_box;
use std::time::Instant;

#[path = "../tests/hostile/forged.rs"]
mod forged;

/// Packets of one run.
const PACKETS: u64 = 400_000;
/// Runs, of which the fastest counts.
const RUNS: usize = 9;
/// Packets of a batch, as far as 65 535 bytes hold them.
const BATCH: usize = 64;

fn config(packet_bytes: u32) -> TransferConfig {
    TransferConfig {
        packet_bytes,
        window_bytes: 16 << 20,
        ..TransferConfig::default()
    }
}

fn batch_of(packet_bytes: u32) -> usize {
    BATCH.min(65_535 / (packet_bytes as usize + 20))
}

/// The nanoseconds that a packet takes: the minimum of some runs, since whatever else the machine does only adds to them.
fn least(mut run: impl FnMut() -> (u64, u64)) -> f64 {
    let times = (0..RUNS).map(|_| {
        let (ns, packets) = run();
        ns as f64 / packets as f64
    });
    times.fold(f64::INFINITY, f64::min)
}

/// A sender whose packets are acknowledged batch by batch, a round trip of four batches later.
fn sending(packet_bytes: u32, content: &[u8]) -> (u64, u64) {
    let total = content.len() as u64 / u64::from(packet_bytes) * u64::from(packet_bytes);
    let mut config = config(packet_bytes);
    config.total_bytes = Some(total);
    let control = RbtCongestion::from_name("fixed", packet_bytes, Some(1 << 50), 1).unwrap();
    let mut sender = BlockSender::new(&config, control, SocketBudget(1 << 30), 0);
    let mut source = MemoryContent(&content[..total as usize]);
    let mut out = vec![0; 65_536];
    let batch = batch_of(packet_bytes);
    // Acknowledgements are made beforehand, from what the sender sends: the same numbers each time.
    let (mut sent, mut now_ns) = (0, 0);
    let mut spent_ns = 0;
    let mut waiting = std::collections::VecDeque::new();
    while sent < PACKETS {
        now_ns += 20_000;
        let begun = Instant::now();
        let transmit = sender.poll_transmit(now_ns, &mut source, &mut out, batch);
        spent_ns += begun.elapsed().as_nanos() as u64;
        let Some(transmit) = transmit else {
            panic!("nothing leaves: {:?}", sender.counts());
        };
        let mut numbers = out[..transmit.bytes]
            .chunks(transmit.segment)
            .map(|datagram| u64::from(u32::from_le_bytes(datagram[12..16].try_into().unwrap())));
        let first = numbers.next().unwrap();
        let last = numbers.next_back().unwrap_or(first);
        sent += transmit.datagrams as u64;
        // A number that was skipped splits the range.
        let ranges = if last - first + 1 == transmit.datagrams as u64 {
            vec![(0, transmit.datagrams as u32)]
        } else {
            split(&out[..transmit.bytes], transmit.segment)
        };
        let ack = ForgedAck {
            largest: last,
            first_missing: sent,
            credit: sent + 100_000,
            budget: 1 << 30,
            received: sent,
            ranges,
            ..ForgedAck::default()
        };
        waiting.push_back(ack.datagram(0));
        if waiting.len() > 4 {
            let datagram = waiting.pop_front().unwrap();
            let begun = Instant::now();
            sender.handle_datagram(now_ns, &datagram).unwrap();
            spent_ns += begun.elapsed().as_nanos() as u64;
        }
    }
    assert_eq!(sender.counts().retransmitted, 0);
    (spent_ns, sent)
}

/// The ranges of a batch, from the highest number downwards.
fn split(batch: &[u8], segment: usize) -> Vec<(u32, u32)> {
    let numbers: Vec<u32> = batch
        .chunks(segment)
        .map(|datagram| u32::from_le_bytes(datagram[12..16].try_into().unwrap()))
        .collect();
    let mut ranges: Vec<(u32, u32)> = vec![(0, 0)];
    let mut below = numbers[numbers.len() - 1] + 1;
    for number in numbers.into_iter().rev() {
        let gap = below - number - 1;
        if gap > 0 {
            ranges.push((gap, 0));
        }
        ranges.last_mut().unwrap().1 += 1;
        below = number;
    }
    ranges
}

/// A receiver that is given batches in order, and answers when it wants to.
fn receiving(packet_bytes: u32, batches: &[Vec<u8>]) -> (u64, u64) {
    let segment = packet_bytes as usize + 20;
    let mut receiver = BlockReceiver::new(&config(packet_bytes), SocketBudget(1 << 30), 0);
    let mut out = vec![0; 600];
    let mut begun = Instant::now();
    let mut waiting = 0;
    let mut before = 0;
    for (at, batch) in batches.iter().enumerate() {
        if at == batches.len() / 2 {
            // The window has been filled once: its memory is there.
            (begun, before) = (Instant::now(), receiver.counts().received);
        }
        receiver.handle_datagrams(at as u64 * 20_000, batch, segment, Ecn::NotEct);
        black_box(receiver.poll_transmit(at as u64 * 20_000, &mut out));
        waiting += batch.len();
        // Written in runs of a megabyte.
        if waiting >= 1 << 20 {
            waiting = 0;
            while !receiver.readable().is_empty() {
                receiver.consume(receiver.readable().len());
            }
        }
    }
    let ns = begun.elapsed().as_nanos() as u64;
    let received = receiver.counts().received;
    assert_eq!(
        received,
        receiver.counts().content_bytes / u64::from(packet_bytes)
    );
    (ns, received - before)
}

fn batches(packet_bytes: u32) -> Vec<Vec<u8>> {
    let payload: Vec<u8> = (0..packet_bytes).map(|at| at as u8).collect();
    let batch = batch_of(packet_bytes) as u64;
    let window = config(packet_bytes).window_blocks();
    (0..(window * 2).div_ceil(batch))
        .map(|at| {
            let numbers = at * batch..(at + 1) * batch;
            numbers
                .flat_map(|pn| forged::data(0, pn as u32, pn as u32, &payload))
                .collect()
        })
        .collect()
}

/// Copying payloads into datagrams and computing their CRC.
fn copying(packet_bytes: u32, content: &[u8]) -> (u64, u64) {
    let bytes = packet_bytes as usize;
    let mut out = vec![0; 65_536];
    let batch = batch_of(packet_bytes);
    let mut packets = 0;
    let begun = Instant::now();
    for blocks in content.chunks_exact(bytes * batch) {
        for (block, datagram) in blocks
            .chunks_exact(bytes)
            .zip(out.chunks_exact_mut(bytes + 20))
        {
            datagram[20..].copy_from_slice(block);
            black_box(crc32c::crc32c(&datagram[4..]));
            packets += 1;
        }
        if packets >= PACKETS {
            break;
        }
    }
    (begun.elapsed().as_nanos() as u64, packets)
}

fn main() {
    let content: Vec<u8> = (0..PACKETS as usize * 1400)
        .map(|at| (at >> 3) as u8)
        .collect();
    println!("packet     sender   receiver   copy and CRC   (ns a packet, least of {RUNS})");
    for packet_bytes in [100, 500, 1000, 1400] {
        let batches = batches(packet_bytes);
        let sender = least(|| sending(packet_bytes, &content));
        let receiver = least(|| receiving(packet_bytes, &batches));
        let copy = least(|| copying(packet_bytes, &content));
        println!("{packet_bytes:>6} {sender:>10.1} {receiver:>10.1} {copy:>14.1}");
    }
}
