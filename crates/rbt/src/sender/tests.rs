//! What a sender does, acknowledgement by acknowledgement.

use super::sent::PacketState;
use super::{BlockSender, SenderStatus};
use crate::config::{Arq, SocketBudget, TransferConfig};
use crate::congestion::RbtCongestion;
use crate::error::TransferError;
use crate::source::MemoryContent;
use crate::wire::{
    Ack, ControlKind, FinAck, FinAckState, parse_control, parse_data, write_control,
};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;
static CONTENT: [u8; 1000] = [7; 1000];

/// A sender of `blocks` blocks of 10 bytes over a round trip of 10 ms, with the digest of its content or without.
fn sender(arq: Arq, blocks: u64, budget: u64, has_digest: bool) -> BlockSender {
    let config = TransferConfig {
        packet_bytes: 10,
        total_bytes: Some(blocks * 10),
        arq,
        ..TransferConfig::default()
    };
    let control = RbtCongestion::from_name("fixed", 10, Some(1 << 30), 1).unwrap();
    let mut sender = BlockSender::new(&config, control, SocketBudget(budget), 0);
    sender.set_handshake_rtt(10 * MS);
    if has_digest {
        sender.set_digest([1; 32]);
    }
    sender
}

/// The blocks and the kinds of control datagrams that leave now.
fn leaving(sender: &mut BlockSender, now_ns: u64) -> (Vec<u32>, Vec<ControlKind>) {
    let (mut blocks, mut kinds) = (Vec::new(), Vec::new());
    let mut out = [0; 4096];
    let mut source = MemoryContent(&CONTENT[..]);
    while let Some(transmit) = sender.poll_transmit(now_ns, &mut source, &mut out, 32) {
        for datagram in out[..transmit.bytes].chunks(transmit.segment) {
            match parse_data(datagram) {
                Some((header, _)) => blocks.push(header.block),
                None => kinds.push(parse_control(datagram).expect("either").0),
            }
        }
    }
    (blocks, kinds)
}

fn control(
    sender: &mut BlockSender,
    now_ns: u64,
    kind: ControlKind,
    write: impl FnOnce(&mut Vec<u8>),
) -> Result<(), TransferError> {
    let mut datagram = Vec::new();
    write_control(&mut datagram, kind, 0, write);
    sender.handle_datagram(now_ns, &datagram)
}

/// An acknowledgement of the packets below `end`, with the first missing block.
fn acked(end: u64, first_missing: u64) -> Ack {
    Ack {
        largest: end - 1,
        first_missing,
        credit: 1000,
        budget: 0,
        received: end,
        ranges: std::iter::once(0..end).collect(),
        ..Ack::default()
    }
}

fn ack(sender: &mut BlockSender, now_ns: u64, ack: &Ack) -> Result<(), TransferError> {
    control(sender, now_ns, ControlKind::Ack, |out| ack.write(out))
}

fn fin_ack(sender: &mut BlockSender, now_ns: u64, state: FinAckState) -> Result<(), TransferError> {
    control(sender, now_ns, ControlKind::FinAck, |out| {
        FinAck(state).write(out);
    })
}

/// Waits for the sender's timers until `until_ns`, with an answer to whatever leaves.
fn wait(sender: &mut BlockSender, until_ns: u64, answer: &Ack) -> u64 {
    let mut now_ns = 0;
    while let Some(due_ns) = sender.poll_timeout().filter(|due| *due <= until_ns) {
        now_ns = due_ns.max(now_ns + 1);
        sender.handle_timeout(now_ns);
        if leaving(sender, now_ns) != (vec![], vec![]) {
            let _ = ack(sender, now_ns, answer);
        }
    }
    now_ns
}

#[test]
fn the_answer_to_the_fin_settles_everything_and_late_acknowledgements_change_nothing() {
    let mut sender = sender(Arq::Sack, 4, 1 << 20, true);
    assert_eq!(
        leaving(&mut sender, 0),
        (vec![0, 1, 2, 3], vec![ControlKind::Fin])
    );
    fin_ack(&mut sender, 10 * MS, FinAckState::Verifying).unwrap();
    assert_eq!(sender.counts().in_flight, 0);
    // It left before the answer, and has more packets than any before it.
    assert_eq!(ack(&mut sender, 11 * MS, &acked(2, 2)), Ok(()));
    fin_ack(&mut sender, 12 * MS, FinAckState::Equal).unwrap();
    assert_eq!(sender.status(), SenderStatus::Complete);
    let closes = vec![ControlKind::Close; 3];
    assert_eq!(leaving(&mut sender, 12 * MS), (vec![], closes));
}

#[test]
fn a_receiver_that_verifies_is_asked_ever_more_rarely() {
    let mut sender = sender(Arq::Sack, 1, 1 << 20, true);
    leaving(&mut sender, 0);
    let mut asked = 0;
    fin_ack(&mut sender, 10 * MS, FinAckState::Verifying).unwrap();
    while let Some(due_ns) = sender.poll_timeout().filter(|due| *due < 60 * S) {
        sender.handle_timeout(due_ns);
        if leaving(&mut sender, due_ns).1 == [ControlKind::Fin] {
            asked += 1;
            fin_ack(&mut sender, due_ns, FinAckState::Verifying).unwrap();
        }
    }
    assert!((15..30).contains(&asked), "{asked}");
    assert_eq!(sender.status(), SenderStatus::AwaitingFinAck);
}

#[test]
fn blocks_that_have_arrived_do_not_become_missing_again() {
    let taken_back = Err(TransferError::Contradiction("the blocks that arrived"));
    let mut later = sender(Arq::Sack, 8, 1 << 20, false);
    leaving(&mut later, 0);
    ack(&mut later, 10 * MS, &acked(4, 4)).unwrap();
    assert_eq!(ack(&mut later, 20 * MS, &acked(5, 0)), taken_back);
    let mut selective = sender(Arq::Sack, 8, 1 << 20, false);
    leaving(&mut selective, 0);
    let others = Ack {
        ranges: std::iter::once(1..4).collect(),
        received: 3,
        ..acked(4, 0)
    };
    ack(&mut selective, 10 * MS, &others).unwrap();
    let taken = Ack {
        received: 4,
        first_missing: 1,
        ..others
    };
    assert_eq!(ack(&mut selective, 20 * MS, &taken), taken_back);
    // An older acknowledgement that comes late is none of these.
    let mut overtaken = sender(Arq::Sack, 8, 1 << 20, false);
    leaving(&mut overtaken, 0);
    ack(&mut overtaken, 10 * MS, &acked(4, 4)).unwrap();
    assert_eq!(ack(&mut overtaken, 11 * MS, &acked(2, 2)), Ok(()));
}

#[test]
fn a_receiver_that_has_forgotten_what_it_received_is_not_waited_for() {
    let mut sender = sender(Arq::Sack, 8, 1 << 20, false);
    leaving(&mut sender, 0);
    ack(&mut sender, 10 * MS, &acked(4, 4)).unwrap();
    let end_ns = wait(&mut sender, 100 * S, &Ack::default());
    assert_eq!(
        sender.status(),
        SenderStatus::Failed(TransferError::TimedOut)
    );
    assert_eq!(end_ns, 30 * S + 10 * MS);
}

#[test]
fn a_receiver_that_answers_without_progress_is_given_up() {
    for arq in [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait] {
        let mut sender = sender(arq, 8, 1 << 20, true);
        leaving(&mut sender, 0);
        let nothing = Ack {
            credit: 1000,
            ..Ack::default()
        };
        let end_ns = wait(&mut sender, 100 * S, &nothing);
        assert_eq!(
            sender.status(),
            SenderStatus::Failed(TransferError::Stalled),
            "{arq:?}"
        );
        assert_eq!(end_ns, 30 * S, "{arq:?}");
    }
}

#[test]
fn a_receiver_without_room_is_waited_for() {
    let mut sender = sender(Arq::Sack, 8, 1 << 20, false);
    leaving(&mut sender, 0);
    let end_ns = wait(&mut sender, 100 * S, &acked(8, 8));
    assert_eq!(sender.status(), SenderStatus::AwaitingFinAck);
    assert!(end_ns > 90 * S);
}

#[test]
fn a_lost_copy_of_a_block_that_has_arrived_does_not_hold_the_window() {
    // A budget of one datagram: the window is full while one is in flight.
    for arq in [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait] {
        let mut sender = sender(arq, 3, 30, false);
        assert_eq!(leaving(&mut sender, 0).0, [0]);
        let probe_ns = sender.poll_timeout().expect("a probe");
        sender.handle_timeout(probe_ns);
        let probes = leaving(&mut sender, probe_ns).0;
        // The first one was only late; its copies are lost.
        ack(&mut sender, probe_ns + 1, &acked(1, 1)).unwrap();
        let mut blocks = leaving(&mut sender, probe_ns + 1).0;
        while blocks.is_empty() {
            let due_ns = sender.poll_timeout().expect("a timer");
            assert!(due_ns < 2 * S, "{arq:?} {probes:?}");
            sender.handle_timeout(due_ns);
            blocks = leaving(&mut sender, due_ns).0;
        }
        assert!(blocks.contains(&1), "{arq:?} {blocks:?}");
    }
}

#[test]
fn two_probes_leave_even_when_only_one_block_is_outstanding() {
    let mut sender = sender(Arq::Sack, 1, 1 << 20, false);
    assert_eq!(leaving(&mut sender, 0).0, [0]);
    let probe_ns = sender.poll_timeout().expect("a probe");
    sender.handle_timeout(probe_ns);
    assert_eq!(leaving(&mut sender, probe_ns).0, [0, 0]);
}

proptest! {
    #[test]
    fn what_is_in_flight_is_the_sum_of_the_packets_in_flight(
        mode in 0_usize..4,
        events in proptest::collection::vec((0_u8..5, any::<u8>()), 1..200),
    ) {
        let arq = [Arq::Sack, Arq::NakBitmap, Arq::GoBackN, Arq::StopAndWait][mode];
        let mut sender = sender(arq, 95, 400, true);
        let mut arrived = std::collections::BTreeSet::new();
        let mut source = MemoryContent(&CONTENT[..]);
        let mut out = [0; 4096];
        let mut now_ns = 0;
        for (event, value) in events {
            now_ns += u64::from(value) * MS / 10;
            match event {
                0 | 1 => drop(sender.poll_transmit(now_ns, &mut source, &mut out, 8)),
                2 => sender.handle_timeout(now_ns),
                _ => {
                    let last = sender.sent.next().saturating_sub(1 + u64::from(value % 8));
                    let remembered = sender.sent.oldest()..sender.sent.next();
                    if !remembered.contains(&last) || sender.sent.packet(last).state == PacketState::Skipped {
                        continue;
                    }
                    arrived.insert(last);
                    let block = u64::from(sender.sent.packet(last).block);
                    let least = if arq == Arq::Sack { 0 } else { block };
                    let told = Ack {
                        largest: last,
                        first_missing: least.max(sender.blocks.first_missing()),
                        credit: 1000,
                        received: arrived.len() as u64,
                        ranges: std::iter::once(last..last + 1).collect(),
                        ..Ack::default()
                    };
                    let _ = ack(&mut sender, now_ns, &told);
                }
            }
            let in_flight: Vec<u64> = (sender.sent.oldest()..sender.sent.next())
                .map(|pn| sender.sent.packet(pn))
                .filter(|packet| packet.state == PacketState::InFlight)
                .map(|packet| sender.payload_bytes(u64::from(packet.block)) + 20)
                .collect();
            prop_assert_eq!(sender.packets_in_flight, in_flight.len() as u64);
            prop_assert_eq!(sender.in_flight, in_flight.into_iter().sum::<u64>());
        }
    }
}
