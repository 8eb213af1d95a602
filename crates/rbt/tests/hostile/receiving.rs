//! Senders that a receiver must survive.

use crate::forged;
use caudal_core::marks::Ecn;
use caudal_rbt::{Arq, BlockReceiver, ReceiverStatus, SocketBudget, TransferConfig, TransferError};

const SESSION: u32 = 9;

fn config(total: Option<u64>) -> TransferConfig {
    TransferConfig {
        session: SESSION,
        packet_bytes: 100,
        total_bytes: total,
        window_bytes: 10_000,
        ..TransferConfig::default()
    }
}

fn receiver(total: Option<u64>) -> BlockReceiver {
    BlockReceiver::new(&config(total), SocketBudget(1 << 20), 0)
}

fn give(receiver: &mut BlockReceiver, datagram: &[u8]) {
    receiver.handle_datagrams(0, datagram, datagram.len(), Ecn::NotEct);
}

fn status_after(total: Option<u64>, datagrams: &[Vec<u8>]) -> ReceiverStatus {
    let mut receiver = receiver(total);
    for datagram in datagrams {
        give(&mut receiver, datagram);
    }
    let _ = receiver.readable();
    receiver.status()
}

const fn contradiction(about: &'static str) -> ReceiverStatus {
    ReceiverStatus::Failed(TransferError::Contradiction(about))
}

#[test]
fn packet_numbers_and_blocks_from_anywhere_leave_memory_as_it_was() {
    for arq in [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait] {
        let mut receiver = BlockReceiver::new(
            &TransferConfig {
                arq,
                ..config(None)
            },
            SocketBudget(1 << 20),
            0,
        );
        let before = receiver.memory_bytes();
        let mut out = [0; 2000];
        for at in 0..200_000_u32 {
            let pn = at.wrapping_mul(0x9e37_79b9);
            let block = if at % 3 == 0 { u32::MAX - at } else { pn };
            give(&mut receiver, &forged::data(SESSION, pn, block, &[7; 100]));
            if let Some(bytes) = receiver.poll_transmit(u64::from(at), &mut out) {
                assert!(bytes <= 540, "{bytes}");
            }
        }
        assert_eq!(receiver.status(), ReceiverStatus::Receiving);
        assert!(receiver.memory_bytes() < before + 20_000);
        assert!(receiver.counts().beyond_credit + receiver.counts().out_of_order > 199_000);
    }
}

#[test]
fn blocks_of_a_wrong_size_contradict_the_content() {
    let size = contradiction("the size of a block");
    let data = |block, bytes: usize| forged::data(SESSION, 0, block, &vec![7; bytes]);
    for (block, bytes) in [
        (0, 99),
        (0, 101),
        (2, 51),
        (2, 100),
        (3, 1),
        (u32::MAX, 100),
    ] {
        assert_eq!(
            status_after(Some(250), &[data(block, bytes)]),
            size,
            "{block} {bytes}"
        );
    }
    assert_eq!(
        status_after(Some(250), &[data(2, 50)]),
        ReceiverStatus::Receiving
    );
    // Of unknown size, one block may be short, and it is the last.
    let cases = [
        vec![data(0, 101)],
        vec![data(1, 50), data(0, 50)],
        vec![data(1, 50), data(2, 50)],
        vec![data(1, 50), data(2, 100)],
        vec![data(2, 100), data(1, 50)],
    ];
    for case in cases {
        assert_eq!(status_after(None, &case), size);
    }
    let right = [data(1, 50), data(0, 100), data(1, 50)];
    assert_eq!(status_after(None, &right), ReceiverStatus::Receiving);
}

#[test]
fn an_end_that_contradicts_itself_or_the_content_is_an_error() {
    let fin = |total| forged::fin(SESSION, total, [0; 32]);
    let block = |block| forged::data(SESSION, block, block, &[7; 100]);
    let size = contradiction("the size of the content");
    assert_eq!(status_after(Some(250), &[fin(251)]), size);
    assert_eq!(status_after(None, &[block(5), fin(300)]), size);
    assert_eq!(status_after(None, &[block(0), block(1), fin(150)]), size);
    assert_eq!(
        status_after(None, &[fin(u64::MAX)]),
        ReceiverStatus::Failed(TransferError::TooManyBlocks)
    );
    assert_eq!(
        status_after(None, &[fin(300), fin(200)]),
        contradiction("the end of the content")
    );
    let other_digest = forged::fin(SESSION, 300, [1; 32]);
    assert_eq!(
        status_after(None, &[fin(300), other_digest]),
        contradiction("the end of the content")
    );
    assert_eq!(
        status_after(None, &[fin(300), fin(300)]),
        ReceiverStatus::Receiving
    );
    assert_eq!(status_after(None, &[fin(0)]), ReceiverStatus::Verifying);
}

#[test]
fn after_an_error_the_sender_is_told_once_and_nothing_else() {
    let mut receiver = receiver(Some(250));
    give(&mut receiver, &forged::data(SESSION, 0, 0, &[7; 1]));
    let mut out = [0; 600];
    let bytes = receiver.poll_transmit(0, &mut out).unwrap();
    assert_eq!(
        out[..bytes],
        forged::control(forged::ABORT, SESSION, &3_u32.to_le_bytes())
    );
    give(&mut receiver, &forged::control(forged::PING, SESSION, &[]));
    give(&mut receiver, &forged::data(SESSION, 0, 0, &[7; 100]));
    give(&mut receiver, &forged::fin(SESSION, 250, [0; 32]));
    assert_eq!(receiver.poll_transmit(0, &mut out), None);
    assert_eq!(receiver.poll_timeout(), None);
}

#[test]
fn configurations_at_the_limits_are_refused_or_work() {
    let starts = [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX];
    for start_bytes in starts {
        for total_bytes in starts.map(Some).into_iter().chain([None]) {
            for packet_bytes in [0, 1, 65_487, 65_488, u32::MAX] {
                for window_bytes in [0, 1, 100_000, u64::MAX] {
                    let config = TransferConfig {
                        start_bytes,
                        total_bytes,
                        packet_bytes,
                        window_bytes,
                        session: SESSION,
                        ..TransferConfig::default()
                    };
                    let mut receiver =
                        BlockReceiver::new(&config, SocketBudget(u64::MAX), u64::MAX);
                    let bytes = packet_bytes.clamp(1, 65_487) as usize;
                    for block in [0, 1, u32::MAX] {
                        give(
                            &mut receiver,
                            &forged::data(SESSION, block, block, &vec![7; bytes]),
                        );
                    }
                    give(&mut receiver, &forged::fin(SESSION, u64::MAX, [0; 32]));
                    receiver.consume(usize::MAX);
                    let _ = receiver.poll_transmit(u64::MAX, &mut [0; 600]);
                    assert!(receiver.memory_bytes() < (1 << 30) + (1 << 20));
                }
            }
        }
    }
}
