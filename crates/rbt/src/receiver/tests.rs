//! What a receiver answers, datagram by datagram.

use super::{BlockReceiver, ReceiverStatus};
use crate::config::{DATA_HEADER_BYTES, SocketBudget, TransferConfig};
use crate::wire::{
    Ack, ControlKind, DataHeader, Fin, FinAck, FinAckState, parse_control, write_control,
    write_data_header,
};
use caudal_core::marks::Ecn;

const MS: u64 = 1_000_000;

fn config(total: u64) -> TransferConfig {
    TransferConfig {
        packet_bytes: 10,
        total_bytes: Some(total),
        window_bytes: 40,
        ack_packets: 1,
        ..TransferConfig::default()
    }
}

fn receiver(total: u64) -> BlockReceiver {
    BlockReceiver::new(&config(total), SocketBudget(1 << 20), 0)
}

fn data(receiver: &mut BlockReceiver, now_ns: u64, pn: u32, block: u32) {
    let mut datagram = [7; DATA_HEADER_BYTES + 10];
    let header = DataHeader {
        session: 0,
        pn,
        block,
    };
    write_data_header(&mut datagram, header);
    receiver.handle_datagrams(now_ns, &datagram, datagram.len(), Ecn::NotEct);
}

fn control(receiver: &mut BlockReceiver, now_ns: u64, kind: ControlKind, body: &[u8]) {
    let mut datagram = Vec::new();
    write_control(&mut datagram, kind, 0, |out| out.extend_from_slice(body));
    receiver.handle_datagrams(now_ns, &datagram, datagram.len(), Ecn::NotEct);
}

fn fin(receiver: &mut BlockReceiver, now_ns: u64, total: u64) {
    let mut body = Vec::new();
    let fin = Fin {
        total,
        digest: [1; 32],
        pto_us: 10_000,
    };
    fin.write(&mut body);
    control(receiver, now_ns, ControlKind::Fin, &body);
}

/// The next answer: its kind and its body.
fn answer(receiver: &mut BlockReceiver, now_ns: u64) -> Option<(ControlKind, Vec<u8>)> {
    let mut out = [0; 600];
    let bytes = receiver.poll_transmit(now_ns, &mut out)?;
    parse_control(&out[..bytes]).map(|(kind, body)| (kind, body.to_vec()))
}

fn fin_ack(state: FinAckState) -> Option<(ControlKind, Vec<u8>)> {
    let mut body = Vec::new();
    FinAck(state).write(&mut body);
    Some((ControlKind::FinAck, body))
}

/// A receiver that has everything and has verified it at 5 ms.
fn verified() -> BlockReceiver {
    let mut receiver = receiver(10);
    data(&mut receiver, 0, 0, 0);
    fin(&mut receiver, MS, 10);
    assert_eq!(answer(&mut receiver, MS), fin_ack(FinAckState::Verifying));
    receiver.set_verified(5 * MS, true);
    assert_eq!(answer(&mut receiver, 5 * MS), fin_ack(FinAckState::Equal));
    receiver
}

#[test]
fn the_last_answer_is_repeated_ever_more_rarely_until_the_sender_has_it() {
    let mut receiver = verified();
    let mut times = Vec::new();
    while let Some(due_ns) = receiver.poll_timeout() {
        receiver.handle_timeout(due_ns);
        if answer(&mut receiver, due_ns) == fin_ack(FinAckState::Equal) {
            times.push(due_ns / MS);
        }
        if times.len() == 7 {
            control(&mut receiver, due_ns, ControlKind::Close, &[]);
        }
    }
    assert_eq!(times, [15, 25, 45, 85, 165, 265, 365]);
    assert_eq!(
        receiver.status(),
        ReceiverStatus::Complete { matches: true }
    );
}

#[test]
fn without_a_close_the_last_answer_is_repeated_for_three_seconds() {
    let mut receiver = verified();
    let mut last_ns = 0;
    while let Some(due_ns) = receiver.poll_timeout() {
        receiver.handle_timeout(due_ns);
        last_ns = due_ns;
    }
    assert_eq!(last_ns, 3005 * MS);
}

#[test]
fn data_after_the_end_is_a_question_for_the_last_answer() {
    let mut receiver = verified();
    assert_eq!(answer(&mut receiver, 6 * MS), None);
    data(&mut receiver, 6 * MS, 1, 0);
    assert_eq!(answer(&mut receiver, 6 * MS), fin_ack(FinAckState::Equal));
}

#[test]
fn an_idle_socket_is_a_reason_for_an_acknowledgement_until_the_end_only() {
    let config = TransferConfig {
        ack_packets: 64,
        ..config(20)
    };
    let mut receiver = BlockReceiver::new(&config, SocketBudget(1 << 20), 0);
    data(&mut receiver, 0, 0, 0);
    receiver.on_idle();
    assert_eq!(answer(&mut receiver, 0), None);
    data(&mut receiver, 0, 1, 1);
    fin(&mut receiver, 0, 20);
    assert_eq!(answer(&mut receiver, 0), fin_ack(FinAckState::Verifying));
    receiver.on_idle();
    assert_eq!(answer(&mut receiver, 0), None);
}

#[test]
fn a_block_beyond_the_credit_is_dropped_and_not_acknowledged() {
    let mut receiver = receiver(100);
    data(&mut receiver, 0, 0, 0);
    data(&mut receiver, 0, 1, 4);
    let (_, body) = answer(&mut receiver, 0).expect("an acknowledgement");
    let mut ack = Ack::default();
    ack.read(&body).expect("a whole one");
    assert_eq!((ack.credit, ack.largest, ack.dropped), (4, 1, 1));
    assert!(ack.ranges.iter().cloned().eq(std::iter::once(0..1)));
}
