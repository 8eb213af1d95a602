//! One flow captured at both of its ends.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

mod support;

use caudal_capture::{
    CaptureFilter, EndsComparison, EndsError, EndsRecorder, MiddleChangeKind, compare_ends,
};
use support::build::{Tcp, down, file, handshake, packet, tcp_file, up};

fn recorder(file: &[u8]) -> EndsRecorder {
    let mut recorder = EndsRecorder::new(CaptureFilter::default());
    for piece in file.chunks(1_000) {
        recorder.push(piece).unwrap();
    }
    recorder
}

/// What the client's host sees: a handshake, then a segment each 10 ms with its acknowledgement 20 ms later.
fn at_client() -> Vec<Tcp> {
    let mut segments = handshake();
    for at in 0..100_u64 {
        let seq = 1_001 + at as u32 * 1_000;
        segments.push(up(100_000 + at * 50_000, seq, 5_001, 1_000));
        segments.push(down(120_000 + at * 50_000, 5_001, seq + 1_000, 0));
    }
    segments
}

/// What the server's host sees of it with a delay each way and a clock that is ahead; packets for which `lost` holds never came.
fn at_server(delay_us: u64, ahead_us: u64, lost: impl Fn(&Tcp) -> bool) -> Vec<Tcp> {
    at_client()
        .into_iter()
        .filter(|segment| !lost(segment))
        .map(|mut segment| {
            let at = if segment.from_client {
                segment.at_us + delay_us
            } else {
                segment.at_us - delay_us
            };
            segment.at_us = at + ahead_us;
            if segment.from_client {
                segment.ttl = 61;
            }
            segment
        })
        .collect()
}

fn compared(first: &[Tcp], second: &[Tcp]) -> EndsComparison {
    compare_ends(&recorder(&tcp_file(first)), &recorder(&tcp_file(second))).unwrap()
}

#[test]
fn delay_offset_and_loss_are_told() {
    let is_lost = |segment: &Tcp| {
        segment.from_client && [11_001, 31_001].contains(&segment.seq) && segment.payload > 0
    };
    let comparison = compared(&at_client(), &at_server(4_000, 7_000_000, is_lost));
    let clock = &comparison.clock;
    assert_eq!(
        (clock.offset_us, clock.min_rtt_us, clock.skew_ppm),
        (Some(7_000_000.0), Some(8_000.0), None)
    );
    assert_eq!(
        (
            comparison.there.sent,
            comparison.there.arrived,
            comparison.there.lost
        ),
        (102, 100, 2)
    );
    assert_eq!(comparison.there.lost_bytes.get(), 2_000);
    assert_eq!((comparison.back.lost, comparison.back.unsent), (0, 0));
    assert_eq!(comparison.there.delay.unwrap().max_us, 4_000.0);
    let kinds: Vec<_> = comparison
        .changes
        .iter()
        .map(|change| change.kind)
        .collect();
    assert_eq!(kinds, [MiddleChangeKind::Ttl]);
    assert!(comparison.changes[0].of_client);
}

#[test]
fn what_leaves_after_the_last_arrival_is_lost_while_the_other_capture_goes_on() {
    let is_lost =
        |segment: &Tcp| segment.from_client && segment.seq > 90_001 && segment.payload > 0;
    let there = compared(&at_client(), &at_server(4_000, 7_000_000, is_lost)).there;
    assert_eq!((there.sent, there.arrived, there.lost), (102, 92, 10));
}

#[test]
fn a_direction_of_which_nothing_arrives_is_lost() {
    let client: Vec<Tcp> = at_client()
        .into_iter()
        .filter(|segment| segment.from_client)
        .collect();
    let comparison = compared(&client, &at_server(4_000, 7_000_000, |_| false));
    // The last acknowledgement left when nothing of the first capture tells whether it was still running.
    let back = comparison.back;
    assert_eq!((back.sent, back.arrived, back.lost), (100, 0, 100));
    assert_eq!((comparison.there.lost, back.delay), (0, None));
}

/// A capture of segments with their identifications of IP.
fn identified(segments: &[(u16, Tcp)]) -> EndsRecorder {
    let packets = segments
        .iter()
        .map(|(id, segment)| (segment.at_us, packet(segment, *id)));
    recorder(&file(&packets.collect::<Vec<_>>()))
}

#[test]
fn copies_made_on_the_way_are_counted() {
    let first: Vec<(u16, Tcp)> = (1..).zip(at_client()).collect();
    let mut second: Vec<(u16, Tcp)> = (1..).zip(at_server(4_000, 0, |_| false)).collect();
    // One right behind the original, one with others in between.
    for (seq, later_us) in [(11_001, 0), (31_001, 110_000)] {
        let of = |(_, segment): &(u16, Tcp)| {
            segment.from_client && segment.seq == seq && segment.payload > 0
        };
        let mut copy = second[second.iter().position(of).unwrap()];
        copy.1.at_us += later_us;
        second.push(copy);
    }
    second.sort_by_key(|(_, segment)| segment.at_us);
    let there = compare_ends(&identified(&first), &identified(&second))
        .unwrap()
        .there;
    assert_eq!((there.sent, there.arrived, there.lost), (102, 102, 0));
    assert_eq!((there.duplicated, there.unsent), (2, 0));
    // What a capture holds twice already where it leaves was not copied on the way.
    let there = compare_ends(&identified(&second), &identified(&second))
        .unwrap()
        .there;
    assert_eq!((there.lost, there.duplicated, there.unsent), (0, 0, 0));
}

#[test]
fn the_order_of_the_captures_only_turns_the_directions_round() {
    let comparison = compared(&at_server(4_000, 7_000_000, |_| false), &at_client());
    assert_eq!(comparison.clock.offset_us, Some(-7_000_000.0));
    assert_eq!(comparison.clock.min_rtt_us, Some(8_000.0));
    // From the server's host to the client's: the SYN-ACK and the acknowledgements.
    assert_eq!((comparison.there.sent, comparison.back.sent), (101, 102));
}

#[test]
fn super_packets_at_one_end_are_the_segments_of_the_other() {
    let whole = |at_us, payload| up(at_us, 1_001, 5_001, payload);
    let first = [handshake(), vec![whole(20_000, 4_380)]].concat();
    let parts = [0, 1_460, 2_920].map(|at| up(30_000, 1_001 + at, 5_001, 1_460));
    let mut second = [handshake(), parts.to_vec()].concat();
    for segment in &mut second {
        segment.at_us += 1_000;
    }
    let comparison = compared(&first, &second);
    assert_eq!(
        (
            comparison.there.sent,
            comparison.there.lost,
            comparison.there.unsent
        ),
        (5, 0, 0)
    );
    assert!(
        comparison
            .changes
            .iter()
            .any(|change| change.kind == MiddleChangeKind::Segmentation)
    );
}

#[test]
fn captures_of_different_flows_have_nothing_in_common() {
    let mut other = at_client();
    for segment in &mut other {
        segment.seq += 7;
        segment.ack += 7;
    }
    let other: Vec<Tcp> = other.into_iter().skip(3).collect();
    let error = compare_ends(
        &recorder(&tcp_file(&at_client())),
        &recorder(&tcp_file(&other)),
    )
    .unwrap_err();
    assert_eq!(error, EndsError::NothingInCommon);
}
