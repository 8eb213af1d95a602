//! A super-frame is its frames: cut beforehand or not, a network does the same to them.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use std::sync::Arc;

use caudal_link::frame::Frame;
use caudal_link::graph::GraphEgress;
use caudal_link::random::Rng;
use caudal_link::segmentation::{Segmentation, SegmentedProtocol, SuperFrame};
use caudal_link::super_frame::SegmentRun;
use caudal_link::time::SimTime;
use proptest::prelude::*;
use support::graph;

const END: SimTime = SimTime::from_ns(1 << 60);
const FIN: u8 = 0x01;
const PSH: u8 = 0x08;
const ACK: u8 = 0x10;
const CWR: u8 = 0x80;

/// What a packet is made of.
#[derive(Debug, Clone)]
struct Shape {
    is_ipv6: bool,
    is_udp: bool,
    tags: usize,
    extension: usize,
    options: usize,
    segment_bytes: usize,
    payload: Vec<u8>,
    sequence: u32,
    id: u16,
    flags: u8,
}

impl Shape {
    fn random(rng: &mut Rng) -> Self {
        let segment_bytes = [100, 536, 1200, 1448][rng.below(4) as usize];
        let payload = 1 + rng.below(6 * segment_bytes as u64);
        let is_ipv6 = rng.below(2) == 0;
        Self {
            is_ipv6,
            is_udp: rng.below(3) == 0,
            tags: rng.below(3) as usize,
            extension: if is_ipv6 {
                rng.below(3) as usize * 8
            } else {
                rng.below(3) as usize * 4
            },
            options: rng.below(4) as usize * 4,
            segment_bytes,
            payload: (0..payload).map(|_| rng.below(256) as u8).collect(),
            sequence: rng.next_u64() as u32,
            id: rng.next_u64() as u16,
            flags: ACK | [0, PSH, FIN | PSH, CWR, CWR | PSH][rng.below(5) as usize],
        }
    }

    fn transport_at(&self) -> usize {
        14 + 4 * self.tags + if self.is_ipv6 { 40 } else { 20 } + self.extension
    }

    fn segmentation(&self) -> Segmentation {
        Segmentation {
            protocol: if self.is_udp {
                SegmentedProtocol::Udp
            } else {
                SegmentedProtocol::Tcp
            },
            transport_at: self.transport_at(),
            segment_bytes: self.segment_bytes,
        }
    }

    fn segments(&self) -> usize {
        self.payload.len().div_ceil(self.segment_bytes)
    }

    /// The packet of these segments; with the checksum of a network card, or the sum of the pseudo-header alone.
    fn packet(&self, segments: std::ops::Range<usize>, is_complete: bool) -> Vec<u8> {
        let from = segments.start * self.segment_bytes;
        let to = (segments.end * self.segment_bytes).min(self.payload.len());
        let payload = &self.payload[from..to];
        let mut bytes = vec![2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
        for tag in 0..self.tags {
            bytes.extend([0x81, 0, 0, tag as u8]);
        }
        let mut transport = Vec::new();
        transport.extend(40_000_u16.to_be_bytes());
        transport.extend(5201_u16.to_be_bytes());
        let checksum_at = if self.is_udp {
            transport.extend(((8 + payload.len()) as u16).to_be_bytes());
            transport.extend([0, 0]);
            6
        } else {
            transport.extend(self.sequence.wrapping_add(from as u32).to_be_bytes());
            transport.extend(7_u32.to_be_bytes());
            let mut flags = self.flags;
            if segments.end < self.segments() {
                flags &= !(FIN | PSH);
            }
            if segments.start > 0 {
                flags &= !CWR;
            }
            transport.extend([((20 + self.options) as u8 / 4) << 4, flags]);
            transport.extend([0xff, 0xff, 0, 0, 0, 0]);
            transport.extend(std::iter::repeat_n(1, self.options));
            16
        };
        let protocol = if self.is_udp { 17 } else { 6 };
        let length = transport.len() + payload.len();
        let mut pseudo = Vec::new();
        let addresses: Vec<u8> = (0..if self.is_ipv6 { 32 } else { 8 }).collect();
        pseudo.extend(&addresses);
        pseudo.extend((length as u32).to_be_bytes());
        pseudo.extend([0, 0, 0, protocol]);
        let checksum = if is_complete {
            let all = [pseudo.as_slice(), &transport, payload].concat();
            match !naive_sum(&all) {
                0 if self.is_udp => 0xffff,
                checksum => checksum,
            }
        } else {
            naive_sum(&pseudo)
        };
        transport[checksum_at..checksum_at + 2].copy_from_slice(&checksum.to_be_bytes());
        if self.is_ipv6 {
            bytes.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            bytes.extend(((self.extension + length) as u16).to_be_bytes());
            bytes.extend([if self.extension > 0 { 60 } else { protocol }, 64]);
            bytes.extend(&addresses);
            bytes.extend((0..self.extension).map(|_| protocol));
        } else {
            let mut header = vec![0x40 | ((20 + self.extension) as u8 / 4), 0];
            header.extend(((20 + self.extension + length) as u16).to_be_bytes());
            header.extend(self.id.wrapping_add(segments.start as u16).to_be_bytes());
            header.extend([0x40, 0, 64, protocol, 0, 0]);
            header.extend(&addresses);
            header.extend((0..self.extension).map(|_| 1));
            let checksum = !naive_sum(&header);
            header[10..12].copy_from_slice(&checksum.to_be_bytes());
            bytes.extend([8, 0]);
            bytes.extend(header);
        }
        bytes.extend(transport);
        bytes.extend(payload);
        bytes
    }

    fn super_frame(&self) -> Arc<SuperFrame> {
        let whole = self.packet(0..self.segments(), false);
        Arc::new(SuperFrame::new(&whole, self.segmentation()).unwrap())
    }
}

/// RFC 1071 word by word.
fn naive_sum(bytes: &[u8]) -> u16 {
    let mut sum = 0_u32;
    for word in bytes.chunks(2) {
        sum += u32::from(word[0]) << 8 | u32::from(word.get(1).copied().unwrap_or(0));
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn its_frames_are_those_of_a_network_card(seed: u64) {
        let shape = Shape::random(&mut Rng::new(seed, 0));
        let frames: Vec<Frame> = shape.super_frame().cut(5).collect();
        prop_assert_eq!(frames.len(), shape.segments());
        for (index, frame) in frames.into_iter().enumerate() {
            let sent = shape.packet(index..index + 1, true);
            prop_assert_eq!(frame, Frame::from_bytes(5 + index as u64, &sent));
        }
    }

    #[test]
    fn frames_without_a_gap_are_one_packet_again(seed: u64) {
        let mut rng = Rng::new(seed, 1);
        let shape = Shape::random(&mut rng);
        let frames: Vec<Frame> = shape.super_frame().cut(0).collect();
        let from = rng.below(frames.len() as u64) as usize;
        let to = from + 1 + rng.below((frames.len() - from) as u64) as usize;
        let mut run = SegmentRun::new(&frames[from]).unwrap();
        for frame in &frames[from + 1..to] {
            prop_assert!(run.extend(frame));
        }
        prop_assert!(!run.extend(&frames[from]));
        prop_assert_eq!((run.frames(), run.is_ipv6()), (to - from, shape.is_ipv6));
        let is_single = to - from == 1;
        prop_assert_eq!(run.segmentation(), (!is_single).then(|| shape.segmentation()));
        let joined = [run.headers().as_slice(), run.payload()].concat();
        prop_assert_eq!(&joined, &shape.packet(from..to, is_single));
        // What a host's kernel cuts it into once more.
        if let Some(segmentation) = run.segmentation() {
            let again = Arc::new(SuperFrame::new(&joined, segmentation).unwrap());
            for (frame, sent) in again.cut(from as u64).zip(&frames[from..to]) {
                prop_assert_eq!(&frame, sent);
            }
        }
    }

    #[test]
    fn headers_that_lie_are_not_cut(seed: u64, length in 0_usize..200, transport_at in 0_usize..300) {
        let mut rng = Rng::new(seed, 2);
        let shape = Shape::random(&mut rng);
        let mut bytes = shape.packet(0..shape.segments(), false);
        for _ in 0..8 {
            let at = rng.below(bytes.len().min(100) as u64) as usize;
            bytes[at] = rng.below(256) as u8;
        }
        bytes.truncate(length);
        for transport_at in [transport_at, shape.transport_at(), usize::MAX / 2] {
            let lie = Segmentation { transport_at, ..shape.segmentation() };
            if let Some(cut) = SuperFrame::new(&bytes, lie) {
                for frame in Arc::new(cut).cut(0) {
                    prop_assert!(frame.bytes().unwrap().len() <= bytes.len());
                }
            }
        }
        let none = Segmentation { segment_bytes: 0, ..shape.segmentation() };
        prop_assert_eq!(SuperFrame::new(&bytes, none), None);
    }
}

/// What arrives, and the reports, when super-frames are offered to a random network: as they are, or cut beforehand.
fn run(seed: u64, is_cut_beforehand: bool) -> (Vec<GraphEgress>, String) {
    let mut rng = Rng::new(seed, 3);
    let (mut graph, hosts) = graph(&mut rng);
    let mut out = Vec::new();
    let mut now = 0;
    let mut id = 0;
    for _ in 0..8 {
        now += rng.below(500_000);
        let port = hosts[rng.below(hosts.len() as u64) as usize];
        let shape = Shape::random(&mut rng);
        let frames: Vec<Frame> = if is_cut_beforehand {
            let single =
                |index| Frame::from_bytes(id + index as u64, &shape.packet(index..index + 1, true));
            (0..shape.segments()).map(single).collect()
        } else {
            shape.super_frame().cut(id).collect()
        };
        id += frames.len() as u64;
        for frame in frames {
            graph
                .offer(SimTime::from_ns(now), port, frame, &mut out)
                .unwrap();
        }
    }
    graph.advance(END, &mut out);
    let reports = serde_json::to_string(&graph.report(END)).unwrap();
    (out, reports)
}

#[test]
fn a_network_does_the_same_to_frames_cut_beforehand_and_to_those_of_a_super_frame() {
    let mut arrivals = 0;
    let mut damaged = 0;
    for seed in 0..3000 {
        let (cut, cut_reports) = run(seed, true);
        let (whole, whole_reports) = run(seed, false);
        assert_eq!(cut, whole, "seed {seed}");
        assert_eq!(cut_reports, whole_reports, "seed {seed}");
        arrivals += whole.len();
        damaged += whole
            .iter()
            .filter(|arrival| arrival.frame.corrupted)
            .count();
    }
    assert!(arrivals > 20_000 && damaged > 100, "{arrivals} {damaged}");
}

#[test]
fn a_damaged_frame_is_not_joined_to_its_neighbours() {
    let shape = Shape {
        is_ipv6: false,
        is_udp: false,
        tags: 0,
        extension: 0,
        options: 12,
        segment_bytes: 1448,
        payload: vec![7; 4 * 1448],
        sequence: u32::MAX - 2000,
        id: u16::MAX - 1,
        flags: ACK | PSH,
    };
    let frames: Vec<Frame> = shape.super_frame().cut(0).collect();
    let changed = frames[1].clone().with_content(&frames[1].bytes().unwrap());
    assert!(SegmentRun::new(&changed).is_none());
    let mut run = SegmentRun::new(&frames[0]).unwrap();
    assert!(!run.extend(&changed));
    assert!(!run.extend(&frames[2]));
    assert!(run.extend(&frames[1]));
}
