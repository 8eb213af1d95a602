//! Two flows over one bottleneck.

use crate::path::{DatagramPath, PathTerms};
use caudal_core::marks::Ecn;
use caudal_rbt::{
    BlockReceiver, BlockSender, BlockSource, RbtCongestion, SocketBudget, TransferConfig,
};

const MS: u64 = 1_000_000;
const S: u64 = 1000 * MS;

/// A content without an end.
struct EndlessSource;

impl BlockSource for EndlessSource {
    fn available(&self) -> u64 {
        u64::MAX
    }

    fn total(&self) -> Option<u64> {
        None
    }

    fn read(&mut self, offset: u64, out: &mut [u8]) {
        out.fill(offset as u8);
    }

    fn release(&mut self, _below: u64) {}
}

/// One of the flows.
struct CompetingFlow {
    sender: BlockSender,
    receiver: BlockReceiver,
    taken: u64,
    begins_ns: u64,
}

impl CompetingFlow {
    fn new(number: u64, control: &str, begins_ns: u64) -> Self {
        let config = TransferConfig {
            session: number as u32,
            packet_bytes: 1000,
            max_ack_delay_ns: MS,
            seed: number,
            ..TransferConfig::default()
        };
        let budget = SocketBudget(4 << 20);
        let control = RbtCongestion::from_name(control, 1000, None, number).unwrap();
        Self {
            sender: BlockSender::new(&config, control, budget, begins_ns),
            receiver: BlockReceiver::new(&config, budget, begins_ns),
            taken: 0,
            begins_ns,
        }
    }
}

/// The bytes that each of two flows brings over the same link in a time after a warm-up; the second begins later.
fn compete(
    controls: [&str; 2],
    path: &PathTerms,
    later_ns: u64,
    measured: std::ops::Range<u64>,
) -> [u64; 2] {
    let mut flows = [
        CompetingFlow::new(0, controls[0], 0),
        CompetingFlow::new(1, controls[1], later_ns),
    ];
    let (mut there, mut back) = (DatagramPath::new(path, 1, 1), DatagramPath::new(path, 1, 2));
    let mut source = EndlessSource;
    let mut out = vec![0; 65_536];
    let mut arrived = Vec::new();
    let mut before = [0; 2];
    let mut now_ns = 0;
    while now_ns < measured.end {
        there.take_arrived(now_ns, &mut arrived);
        for (datagram, flow) in arrived.drain(..) {
            let receiver = &mut flows[flow as usize].receiver;
            receiver.handle_datagrams(now_ns, &datagram, datagram.len(), Ecn::NotEct);
        }
        back.take_arrived(now_ns, &mut arrived);
        for (datagram, flow) in arrived.drain(..) {
            flows[flow as usize]
                .sender
                .handle_datagram(now_ns, &datagram)
                .unwrap();
        }
        let mut next_ns = measured.end;
        for (number, flow) in flows.iter_mut().enumerate() {
            if now_ns < flow.begins_ns {
                next_ns = next_ns.min(flow.begins_ns);
                continue;
            }
            flow.sender.handle_timeout(now_ns);
            flow.receiver.handle_timeout(now_ns);
            while !flow.receiver.readable().is_empty() {
                let bytes = flow.receiver.readable().len();
                flow.taken += bytes as u64;
                flow.receiver.consume(bytes);
            }
            while let Some(transmit) = flow.sender.poll_transmit(now_ns, &mut source, &mut out, 64)
            {
                for datagram in out[..transmit.bytes].chunks(transmit.segment) {
                    there.send(now_ns, datagram, number as u64);
                }
            }
            while let Some(bytes) = flow.receiver.poll_transmit(now_ns, &mut out) {
                back.send(now_ns, &out[..bytes], number as u64);
            }
            let timers = [flow.sender.poll_timeout(), flow.receiver.poll_timeout()];
            next_ns = timers.into_iter().flatten().fold(next_ns, u64::min);
        }
        let paths = [there.next_ns(), back.next_ns()];
        next_ns = paths.into_iter().flatten().fold(next_ns, u64::min);
        if now_ns < measured.start && next_ns >= measured.start {
            before = flows.each_ref().map(|flow| flow.taken);
        }
        now_ns = next_ns.max(now_ns);
    }
    [0, 1].map(|flow| flows[flow].taken - before[flow])
}

/// Jain's index of fairness.
fn jain(shares: [u64; 2]) -> f64 {
    let [a, b] = shares.map(|share| share as f64);
    (a + b) * (a + b) / (2.0 * (a * a + b * b))
}

#[test]
fn two_equal_flows_share_a_bottleneck_and_fill_it() {
    // A queue of half a bandwidth-delay product, one, and two.
    for (control, queue_frames) in [
        ("cubic", 46),
        ("cubic", 92),
        ("cubic", 184),
        ("newreno", 92),
    ] {
        for later_ns in [0, 3 * S] {
            let path = PathTerms {
                queue_frames,
                ..PathTerms::clean(20_000_000, 20 * MS)
            };
            let shares = compete([control; 2], &path, later_ns, 20 * S..60 * S);
            let index = jain(shares);
            let used = (shares[0] + shares[1]) as f64 * 1086.0 / 1000.0 * 8.0 / 40.0 / 20e6;
            println!(
                "{control} queue {queue_frames} later {} s: {shares:?} Jain {index:.3}, {used:.3} of the link",
                later_ns / S
            );
            assert!(index >= 0.8, "{control} {queue_frames} {shares:?}");
            assert!(used >= 0.85, "{control} {queue_frames} {used}");
        }
    }
}
