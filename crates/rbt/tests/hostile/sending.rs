//! Receivers that a sender must survive.

use crate::forged::{self, ForgedAck};
use caudal_rbt::{
    Arq, BlockSender, MemoryContent, RbtCongestion, SenderStatus, SocketBudget, TransferConfig,
    TransferError,
};

const SESSION: u32 = 9;
const MS: u64 = 1_000_000;
const FIRST_PN: u64 = 1000;

/// A sender of a megabyte in packets of 100 bytes, which has sent what it may.
struct Attacked {
    sender: BlockSender,
    source: MemoryContent<Vec<u8>>,
    out: Vec<u8>,
    /// Data datagrams so far.
    sent: u64,
    /// Low halves of packet numbers so far.
    numbers: Vec<u32>,
}

impl Attacked {
    fn new(arq: Arq) -> Self {
        let config = TransferConfig {
            session: SESSION,
            packet_bytes: 100,
            total_bytes: Some(1 << 20),
            window_bytes: 400_000,
            first_pn: FIRST_PN,
            arq,
            ..TransferConfig::default()
        };
        let control = RbtCongestion::from_name("fixed", 100, Some(10_000_000_000), 1).unwrap();
        let mut attacked = Self {
            sender: BlockSender::new(&config, control, SocketBudget(16 << 20), 0),
            source: MemoryContent(vec![7; 1 << 20]),
            out: vec![0; 65_536],
            sent: 0,
            numbers: Vec::new(),
        };
        attacked.send(0);
        attacked
    }

    fn send(&mut self, now_ns: u64) {
        for at in 0..40 {
            let now_ns = now_ns + at * MS;
            while let Some(transmit) =
                self.sender
                    .poll_transmit(now_ns, &mut self.source, &mut self.out, 128)
            {
                for datagram in self.out[..transmit.bytes].chunks(transmit.segment) {
                    if datagram[4] == forged::DATA {
                        self.sent += 1;
                        self.numbers
                            .push(u32::from_le_bytes(datagram[12..16].try_into().unwrap()));
                    }
                }
            }
        }
    }

    fn give(&mut self, now_ns: u64, ack: &ForgedAck) -> Result<(), TransferError> {
        self.sender.handle_datagram(now_ns, &ack.datagram(SESSION))
    }

    fn largest(&self) -> u64 {
        u64::from(*self.numbers.last().unwrap())
    }

    /// A number that was skipped.
    fn skipped(&self) -> u64 {
        let mut pairs = (FIRST_PN as u32..).zip(&self.numbers);
        if let Some((expected, _)) = pairs.find(|(expected, number)| expected != *number) {
            return u64::from(expected);
        }
        panic!("no number was skipped among {}", self.numbers.len());
    }
}

fn honest(attacked: &Attacked) -> ForgedAck {
    ForgedAck {
        largest: attacked.largest(),
        credit: 4000,
        budget: 1 << 20,
        received: 1,
        ranges: vec![(0, 1)],
        ..ForgedAck::default()
    }
}

#[test]
fn acknowledging_everything_beforehand_ends_the_session() {
    let mut attacked = Attacked::new(Arq::Sack);
    assert!(attacked.sent > 2000);
    let skipped = attacked.skipped();
    let all = ForgedAck {
        ranges: vec![(0, (attacked.largest() - FIRST_PN + 1) as u32)],
        ..honest(&attacked)
    };
    assert_eq!(
        attacked.give(50 * MS, &all),
        Err(TransferError::UnsentAcknowledged)
    );
    for largest in [skipped, FIRST_PN - 1, 0, 1 << 40, u64::MAX - 1] {
        let mut attacked = Attacked::new(Arq::Sack);
        let unsent = ForgedAck {
            largest,
            ..honest(&attacked)
        };
        assert_eq!(
            attacked.give(50 * MS, &unsent),
            Err(TransferError::UnsentAcknowledged),
            "{largest}"
        );
        assert_eq!(
            attacked.sender.status(),
            SenderStatus::Failed(TransferError::UnsentAcknowledged)
        );
        let bytes = attacked
            .sender
            .poll_transmit(50 * MS, &mut attacked.source, &mut attacked.out, 1)
            .unwrap()
            .bytes;
        assert_eq!(
            attacked.out[..bytes],
            forged::control(forged::ABORT, SESSION, &3_u32.to_le_bytes())
        );
        assert_eq!(attacked.sender.poll_timeout(), None);
    }
}

#[test]
fn blocks_beyond_what_was_sent_end_the_session() {
    for first_missing in [1 << 20, u64::MAX] {
        for arq in [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait] {
            let mut attacked = Attacked::new(arq);
            let beyond = ForgedAck {
                first_missing,
                ..honest(&attacked)
            };
            let error = TransferError::Contradiction("the blocks that arrived");
            assert_eq!(attacked.give(50 * MS, &beyond), Err(error));
        }
    }
}

#[test]
fn grants_without_limit_are_limited() {
    let mut attacked = Attacked::new(Arq::Sack);
    let before = attacked.sender.memory_bytes();
    for now_ms in 50..150 {
        let generous = ForgedAck {
            credit: 1 << 63,
            budget: u64::MAX,
            received: u64::MAX,
            counters: [u64::MAX; 4],
            delay_us: u32::MAX,
            ..honest(&attacked)
        };
        attacked.give(now_ms * MS, &generous).unwrap();
        attacked.send(now_ms * MS);
    }
    assert!(attacked.sender.memory_bytes() < before + (16 << 20));
    assert_eq!(attacked.sender.status(), SenderStatus::Sending);
}

#[test]
fn malformed_acknowledgements_are_ignored() {
    let mut attacked = Attacked::new(Arq::Sack);
    let good = honest(&attacked).datagram(SESSION);
    let mut bodies = Vec::new();
    for len in 0..good.len() - 12 {
        bodies.push(good[12..12 + len].to_vec());
    }
    let below_zero = ForgedAck {
        ranges: vec![(0, 1), (u32::MAX, u32::MAX)],
        ..honest(&attacked)
    };
    bodies.push(below_zero.datagram(SESSION)[12..].to_vec());
    for body in &bodies {
        let datagram = forged::control(forged::ACK, SESSION, body);
        assert_eq!(attacked.sender.handle_datagram(50 * MS, &datagram), Ok(()));
    }
    assert_eq!(attacked.sender.counts().ignored, bodies.len() as u64);
    assert_eq!(attacked.sender.counts().acks, 0);
}

#[test]
fn scattered_ranges_are_remembered_within_bounds() {
    let mut attacked = Attacked::new(Arq::Sack);
    let skipped = attacked.skipped();
    let last = attacked.largest();
    let mut largest = FIRST_PN + 200;
    while largest <= last {
        // Every other packet, but for those that would hit a number that was never sent.
        let ranges: Vec<_> = (0..48).map(|_| (1, 1)).collect();
        let hits = (0..48).any(|at| largest - 1 - 2 * at == skipped) || largest == skipped;
        let scattered = ForgedAck {
            largest,
            ranges,
            ..honest(&attacked)
        };
        if !hits && attacked.give(50 * MS, &scattered).is_err() {
            // A second number that was skipped: caught.
            return;
        }
        largest += 96;
    }
    assert!(attacked.sender.memory_bytes() < 16 << 20);
}

#[test]
fn an_answer_to_a_fin_that_was_not_sent_is_ignored() {
    let mut attacked = Attacked::new(Arq::Sack);
    for state in 0..=255 {
        let answer = forged::control(forged::FIN_ACK, SESSION, &[state]);
        assert_eq!(attacked.sender.handle_datagram(50 * MS, &answer), Ok(()));
    }
    assert_eq!(attacked.sender.status(), SenderStatus::Sending);
}

#[test]
fn what_a_sender_is_never_sent_is_ignored() {
    let mut attacked = Attacked::new(Arq::Sack);
    for kind in [
        forged::DATA,
        forged::FIN,
        forged::PING,
        forged::CLOSE,
        forged::HELLO,
        forged::RETRY,
        forged::ACCEPT,
        0,
        255,
    ] {
        let datagram = forged::control(kind, SESSION, &[1; 600]);
        assert_eq!(attacked.sender.handle_datagram(50 * MS, &datagram), Ok(()));
    }
    let foreign = forged::control(forged::ABORT, SESSION + 1, &[]);
    assert_eq!(attacked.sender.handle_datagram(50 * MS, &foreign), Ok(()));
    assert_eq!(attacked.sender.status(), SenderStatus::Sending);
}

#[test]
fn configurations_at_the_limits_are_refused_or_work() {
    let edges = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    for start_bytes in edges {
        for total_bytes in edges.map(Some).into_iter().chain([None]) {
            for timers in edges {
                for first_pn in [0, u64::from(u32::MAX), 1 << 62, u64::MAX] {
                    let config = TransferConfig {
                        session: SESSION,
                        start_bytes,
                        total_bytes,
                        granularity_ns: timers,
                        max_ack_delay_ns: timers,
                        first_pn,
                        ..TransferConfig::default()
                    };
                    let control = RbtCongestion::from_name("cubic", 1400, None, 1).unwrap();
                    let mut sender =
                        BlockSender::new(&config, control, SocketBudget(u64::MAX), u64::MAX / 2);
                    let mut source = MemoryContent([0_u8; 100]);
                    let mut out = [0; 4096];
                    for _ in 0..10 {
                        let _ = sender.poll_transmit(u64::MAX / 2, &mut source, &mut out, 2);
                        let ack = ForgedAck {
                            largest: first_pn,
                            received: 1,
                            ..ForgedAck::default()
                        };
                        let _ = sender.handle_datagram(u64::MAX / 2 + 1, &ack.datagram(SESSION));
                        if let Some(due_ns) = sender.poll_timeout() {
                            sender.handle_timeout(due_ns);
                        }
                    }
                    let _ = (sender.acked_bytes(), sender.counts());
                }
            }
        }
    }
}
