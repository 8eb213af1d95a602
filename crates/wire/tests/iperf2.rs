//! The first and last bytes of real iperf 2 programs, read and written.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

use caudal_wire::iperf2::{
    Bounceback, ExtensionLayout, FirstDatagram, HeaderError, HeaderExtension, HeaderLayout,
    Iperf2Datagram, ServerAck, ServerReport, TcpOpening, TestAmount, TestHeader, TestMode,
    TransitReport, VERSION, add_permit_key, permit_key, write_datagram_header,
};
use proptest::prelude::*;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len() / 2)
        .map(|nth| u8::from_str_radix(&hex[2 * nth..2 * nth + 2], 16).unwrap())
        .collect()
}

fn ours(mode: TestMode, rate: u64, amount: TestAmount) -> TestHeader {
    TestHeader {
        mode,
        threads: 1,
        port: 5001,
        length: 0,
        window_or_rate: 0,
        amount,
        wide_ids: false,
        detect: false,
        extended: Some(HeaderExtension {
            layout: ExtensionLayout::Announced,
            version: VERSION,
            rate,
            ..HeaderExtension::default()
        }),
    }
}

/// Traced from iperf 2.1.8: `-t 0.1 -b 5m` and the same with `-R`, `--full-duplex`, `-r`.
const TCP_218: [(&str, TestMode); 4] = [
    (
        "4001007800000001000013890000000000000000fffffff6000000000000000000000000000200010008000300000000004c4b400000000000000000",
        TestMode::Up,
    ),
    (
        "4401007800000001000013890000000000000000fffffff6000000000000000004000000000200010008000300000000004c4b400000000000000000",
        TestMode::Reverse,
    ),
    (
        "4401007800000001000013890000000000000000fffffff6000000000000000008000000000200010008000300000000004c4b400000000000000000",
        TestMode::FullDuplex,
    ),
    (
        "c001007800000001000013890000000000000000fffffff6000000000000000000000000000200010008000300000000004c4b400000000000000000",
        TestMode::Tradeoff,
    ),
];

#[test]
fn headers_of_2_1_8_are_read_and_ours_are_the_same_to_the_byte() {
    for (hex, mode) in TCP_218 {
        let theirs = bytes(hex);
        let header = ours(mode, 5_000_000, TestAmount::Hundredths(10));
        assert_eq!(
            TcpOpening::parse(&theirs),
            Ok(TcpOpening::Test(header, 60)),
            "{mode:?}"
        );
        assert_eq!(header.encode_tcp((0, 0)), theirs, "{mode:?}");
    }
}

/// Traced from iperf 2.0.13: `-t 1 -b 8000000 -d`, the payload included that it has in fields it does not write.
const TCP_2013: &str = "c800000100000001000015180000000036373839ffffff9c000000010000001c0000000000020000000d000300000000007a12003233343536373839c8000001";
/// Its `-u -l 1000 -t 1 -b 2000000 -d`, and that with `-b 250pps`.
const UDP_2013: [&str; 2] = [
    "000000006b03523e000525ab32333435c80000010000000100001518000003e832333435ffffff9c000000010000001c0000000000020000000d000300000000001e84803637383930313233",
    "000000006b03523e000525ab32333435c80000010000000100001518000003e832333435ffffff9c000000010000001c0000000100020000000d000300000000000000fa3637383930313233",
];

#[test]
fn the_extension_of_2_0_13_has_a_fixed_length_and_is_answered() {
    let opening = TcpOpening::parse(&bytes(TCP_2013));
    let Ok(TcpOpening::Test(header, 60)) = opening else {
        panic!("{opening:?}");
    };
    let extended = header.extended.unwrap();
    assert_eq!((header.mode, header.port), (TestMode::Dual, 5400));
    assert_eq!(header.amount, TestAmount::Hundredths(100));
    assert_eq!(extended.rate, 8_000_000, "the word behind it is payload");
    assert_eq!(extended.version_text().as_deref(), Some("2.0.13"));
    assert!(header.is_answered());
    for hex in UDP_2013 {
        let first = FirstDatagram::read(&bytes(hex)).unwrap();
        assert_eq!((first.layout, first.wide), (HeaderLayout::Sixteen, true));
        assert_eq!(first.datagram.id, 0, "its upper half is payload");
        assert!(first.is_opening() && first.header.unwrap().is_answered_over_udp());
        let extended = first.header.unwrap().extended.unwrap();
        assert_eq!(extended.rate, 2_000_000);
    }
    // The largest length and rate of packets that a header can hold.
    let mut largest = bytes(UDP_2013[1]);
    largest[28..32].fill(0xff);
    largest[64..68].fill(0xff);
    let header = FirstDatagram::read(&largest).unwrap().header.unwrap();
    assert_eq!(header.extended.unwrap().rate, u64::MAX);
    let first = FirstDatagram::read(&bytes(UDP_218[0].0)).unwrap();
    assert!(!first.is_opening() && !first.header.unwrap().is_answered_over_udp());
}

/// Traced from iperf 2.1.8: `-p 41021 -n 100K --permit-key=abcdefghijklmnop`.
const KEYED_218: &str = "5001007c000000010000a03d000000000000000000019000000000000000000000000000000200010008000300000000000000000000000000000000001061626364656667686\
     96a6b6c6d6e6f70";

#[test]
fn the_key_of_2_1_8_is_read_and_ours_is_the_same_to_the_byte() {
    let theirs = bytes(KEYED_218);
    let header = TestHeader {
        port: 41_021,
        ..ours(TestMode::Up, 0, TestAmount::Bytes(102_400))
    };
    assert_eq!(TcpOpening::parse(&theirs), Ok(TcpOpening::Test(header, 78)));
    assert_eq!(TcpOpening::parse(&theirs[..70]), Ok(TcpOpening::Needs(78)));
    assert_eq!(permit_key(&theirs), Some(&b"abcdefghijklmnop"[..]));
    let mut keyed = header.encode_tcp((0, 0));
    assert_eq!(permit_key(&keyed), None);
    add_permit_key(&mut keyed, "abcdefghijklmnop");
    assert_eq!(keyed, theirs);
}

#[test]
fn who_is_answered_is_who_waits() {
    let answered = |mode| ours(mode, 0, TestAmount::Bytes(0)).is_answered();
    assert!(answered(TestMode::Up) && answered(TestMode::Dual) && answered(TestMode::Tradeoff));
    assert!(!answered(TestMode::Reverse) && !answered(TestMode::FullDuplex));
    let asking = TestHeader {
        detect: true,
        ..ours(TestMode::Reverse, 0, TestAmount::Bytes(0))
    };
    assert!(asking.is_answered());
    assert!(asking.encode_tcp((0, 0)).starts_with(&[0x46]));
}

#[test]
fn trip_times_lengthen_the_header_of_2_1_8_by_twenty_bytes() {
    let theirs = bytes(
        "400100a000000001000013890000000000000000fffffff6000000000000000000100000000200010008000300000000004c4b400000000000000000000000006b0235c80002f3400000000000000000",
    );
    let Ok(TcpOpening::Test(header, 80)) = TcpOpening::parse(&theirs) else {
        panic!("{:?}", TcpOpening::parse(&theirs));
    };
    assert!(header.extended.unwrap().trip_times);
    assert_eq!(header.encode_tcp((0x6b02_35c8, 0x0002_f340)), theirs);
}

/// Datagrams of 2.1.8: plain, `-R -S 0x10 -l 500 -b 5m -t 0.03`, `-d -L 6111 -b 5m -t 0.03`.
const UDP_218: [(&str, TestMode); 3] = [
    (
        "000000016b0235cf0006c719000000004801009800000001000013890000000000000000fffffffb0000000000000000000000000002000100080003000000000010000000000000",
        TestMode::Up,
    ),
    (
        "000000016b0235cc00046333000000006c0100980000000100001389000001f400000000fffffffd000000000000000004000000000200010008000300000010004c4b4000000000",
        TestMode::Reverse,
    ),
    (
        "000000016b0235c90001dbe600000000c801009900000001000017df0000000000000000fffffffd000000000000000000000000000200010008000300000000004c4b4000000000",
        TestMode::Dual,
    ),
];

#[test]
fn datagrams_of_2_1_8_are_read_and_ours_are_the_same() {
    for (hex, mode) in UDP_218 {
        let mut theirs = bytes(hex);
        theirs.resize(200, 0);
        let first = FirstDatagram::read(&theirs).unwrap();
        assert_eq!((first.layout, first.wide), (HeaderLayout::Sixteen, true));
        assert_eq!(first.datagram.id, 1);
        let header = first.header.unwrap();
        assert_eq!(header.mode, mode);
        assert_eq!(header.encode_udp((0, 0))[..56], theirs[16..72], "{mode:?}");
        let mut head = [0; 16];
        write_datagram_header(&mut head, HeaderLayout::Sixteen, 1, first.datagram.sent);
        assert_eq!(head, theirs[..16]);
    }
}

#[test]
fn the_last_datagram_has_a_negative_number() {
    let fin = bytes("fffffff86b0235cf0007cfb4ffffffff48010098");
    let read = |layout, wide| Iperf2Datagram::read(&fin, layout, wide).unwrap().id;
    assert_eq!(read(HeaderLayout::Sixteen, true), -8);
    assert_eq!(read(HeaderLayout::Twelve, false), -8);
}

#[test]
fn layouts_are_told_apart_by_the_words_at_12_and_16() {
    let with = |words: &[u32]| {
        let mut datagram: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        datagram.resize(1470, 0);
        FirstDatagram::read(&datagram).unwrap()
    };
    // 2.0.5: flags 0, one thread, port 5001, length 0, 1 Mbit/s, 1 s.
    let old = with(&[0, 9, 9, 0, 1, 5001, 0, 1_048_576, 0xffff_ff9c]);
    assert_eq!((old.layout, old.wide), (HeaderLayout::Twelve, false));
    let header = old.header.unwrap();
    assert_eq!(
        (header.mode, header.amount, header.window_or_rate),
        (TestMode::Up, TestAmount::Hundredths(100), 1_048_576)
    );
    assert_eq!(header.extended, None);
    let dual = with(&[0, 9, 9, 0x8000_0001, 1, 6001, 0, 0, 0]);
    assert_eq!(
        (dual.layout, dual.header.unwrap().mode),
        (HeaderLayout::Twelve, TestMode::Dual)
    );
    assert_eq!(dual.header.unwrap().port, 6001);
    // 2.0.5 -C and 2.1 -C: the digits from where the header would be.
    let digits = |from: usize| {
        let mut datagram = vec![0; 1470];
        for (nth, byte) in datagram[from..].iter_mut().enumerate() {
            *byte = b'0' + ((nth + if from == 12 { 2 } else { 6 }) % 10) as u8;
        }
        FirstDatagram::read(&datagram).unwrap()
    };
    assert_eq!(
        (digits(12).layout, digits(12).header),
        (HeaderLayout::Twelve, None)
    );
    assert_eq!(
        (digits(16).layout, digits(16).wide),
        (HeaderLayout::Sixteen, true)
    );
    // 2.2: a plain header of 64 bytes; 2.0.13: flags for wide ids, and the pattern where threads and times could be.
    let new = with(&[1, 9, 9, 0, 0x4801_00a0, 1, 5001, 0, 0, 0xffff_ff9c]);
    assert_eq!((new.layout, new.wide), (HeaderLayout::Sixteen, true));
    let pattern = [0x3031_3233, 0x3435_3637, 0x3839_3031, 0x3031_0034];
    let thirteen = with(&[&[0, 9, 9, 0, 0x0800_0000], &pattern[..]].concat());
    assert_eq!(
        (thirteen.layout, thirteen.wide),
        (HeaderLayout::Sixteen, true)
    );
    assert_eq!(thirteen.header.unwrap().threads, 1);
    // 2.0.10 to 2.0.12: the pattern where the upper half of the id would be; with --udp-counters-64bit that half.
    let ten = with(&[&[0, 9, 9, 0x3233_3435, 0], &pattern[..]].concat());
    assert_eq!((ten.layout, ten.wide), (HeaderLayout::SixteenOld, false));
    let ten = with(&[&[0, 9, 9, 0, 0], &pattern[..]].concat());
    assert_eq!((ten.layout, ten.wide), (HeaderLayout::SixteenOld, true));
}

#[test]
fn the_last_number_is_the_same_by_the_arithmetic_of_every_version() {
    let with = |id: u32, upper: u32, wide: bool, next: u64| {
        let mut datagram = [0; 64];
        datagram[..4].copy_from_slice(&id.to_be_bytes());
        datagram[12..16].copy_from_slice(&upper.to_be_bytes());
        let read = Iperf2Datagram::read(&datagram, HeaderLayout::Sixteen, wide).unwrap();
        assert!(read.id < 0);
        let last = read.last_number(wide, next);
        (last.number, last.has_sign_bit)
    };
    // As 2.0.9, 2.0.10 (with its pattern), 2.0.10 --udp-counters-64bit and 2.0.13 send 19 datagrams.
    assert_eq!(with(0xffff_ffed, 0, false, 19), (19, false));
    assert_eq!(with(0x8000_0013, 0x3233_3435, false, 19), (19, true));
    assert_eq!(with(19, 0x8000_0000, true, 19), (19, true));
    assert_eq!(with(0xffff_ffed, 0xffff_ffff, true, 19), (19, false));
    // A million that are lost change nothing.
    assert_eq!(
        with(0x8000_0000 | 1_000_000, 0, false, 7),
        (1_000_000, true)
    );
    assert_eq!(
        with(1_000_000_u32.wrapping_neg(), 0, false, 7),
        (1_000_000, false)
    );
}

#[test]
fn tcp_of_every_version_is_told_from_payload() {
    let of = |words: &[u32]| {
        let mut all: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        all.resize(300, 0);
        TcpOpening::parse(&all)
    };
    let old = |flags| [flags, 1, 5001, 0, 0, 0xffff_ff9c];
    for (flags, mode) in [
        (0, TestMode::Up),
        (0x8000_0001, TestMode::Dual),
        (0x8000_0000, TestMode::Tradeoff),
    ] {
        match of(&old(flags)) {
            Ok(TcpOpening::Test(header, 24)) => {
                assert_eq!((header.mode, header.is_answered()), (mode, false));
            }
            other => panic!("{flags:#x}: {other:?}"),
        }
    }
    assert!(
        matches!(
            of(&[0x4001_0080, 1, 5001, 0, 0, 1]),
            Ok(TcpOpening::Test(_, 64))
        ),
        "2.2"
    );
    assert_eq!(of(&[0x0080_0000]), Ok(TcpOpening::Bounceback));
    assert_eq!(of(&[0x3031_3233]), Ok(TcpOpening::Payload), "-C");
    assert_eq!(of(&[0x4142_4344]), Ok(TcpOpening::Payload), "letters");
    assert_eq!(of(&[0]), Ok(TcpOpening::Payload), "zeros");
    assert_eq!(TcpOpening::parse(&[0, 0]), Ok(TcpOpening::Needs(4)));
    assert_eq!(
        TcpOpening::parse(&[0x40, 1, 0, 0x78]),
        Ok(TcpOpening::Needs(60))
    );
}

#[test]
fn lengths_that_lie_are_refused_and_never_more_is_asked_for_than_there_can_be() {
    let of = |words: &[u32]| {
        let all: Vec<u8> = words.iter().flat_map(|word| word.to_be_bytes()).collect();
        TcpOpening::parse(&all)
    };
    assert_eq!(of(&[0x4001_0004]), Err(HeaderError::Short(2)));
    assert_eq!(of(&[0x4001_0030]), Err(HeaderError::Short(24)));
    // The longest that the flags can say, with the longest key.
    assert_eq!(of(&[0x5001_01fe]), Ok(TcpOpening::Needs(255)));
    let mut keyed = 0x5001_0078_u32.to_be_bytes().to_vec();
    keyed.resize(60, 0);
    assert_eq!(TcpOpening::parse(&keyed), Err(HeaderError::Short(60)));
    keyed[3] = 0x7c;
    keyed.extend([0xff, 0xff]);
    assert_eq!(TcpOpening::parse(&keyed), Err(HeaderError::Key(65_535)));
    keyed.truncate(60);
    keyed.extend([0, 4]);
    assert_eq!(TcpOpening::parse(&keyed), Ok(TcpOpening::Needs(66)));
}

#[test]
fn a_report_comes_back_in_the_layout_of_the_client() {
    let report = ServerReport {
        bytes: 5 << 32 | 7,
        duration: (10, 123_456),
        lost: 3,
        out_of_order: 2,
        datagrams: 892,
        jitter_us: 1_000_005,
        transit: None,
    };
    for (layout, length) in [
        (HeaderLayout::Twelve, 112),
        (HeaderLayout::SixteenOld, 120),
        (HeaderLayout::Sixteen, 128),
    ] {
        let sent = report.encode(layout);
        assert_eq!(sent.len(), length);
        let read = ServerReport::decode(&sent).unwrap();
        assert_eq!(
            ServerReport {
                transit: None,
                ..read
            },
            report,
            "{layout:?}"
        );
    }
    // 2.0.10 to 2.0.12 have a word between the count and the jitter.
    let middle = report.encode(HeaderLayout::SixteenOld);
    assert_eq!(middle[16..20], [0x80, 0, 0, 0]);
    assert_eq!(middle[16 + 36..16 + 44], [0, 0, 0, 1, 0, 0, 0, 5]);
    assert_eq!(ServerReport::decode(&[0x80; 52]), None);
}

/// The report of 2.1.8 with `-e`: 0.059/0.015/0.501/0.075 ms, 90 pps.
#[test]
fn one_way_times_are_read_as_2_1_8_writes_them() {
    let theirs = bytes(
        "00000000000000000000000000000000c8000000000000000002160600000001000058be00000000000000000000005d0000000000000031000000000000000f00000000000001f50000000000001559000000000000003a0007dfec000c243200000000ffffffe20000005d0000005a00000001000000000000000000000000",
    );
    let report = ServerReport::decode(&theirs).unwrap();
    assert_eq!(
        (report.bytes, report.datagrams, report.jitter_us),
        (136_710, 93, 49)
    );
    let transit = report.transit.unwrap();
    assert_eq!(
        (transit.min_s, transit.max_s, transit.mean_s),
        (15e-6, 501e-6, 58e-6)
    );
    assert_eq!(
        (transit.count, transit.gaps, transit.gap_sum_s),
        (93, 90, 1.0)
    );
    let deviation_us = (transit.m2 / 92.0).sqrt() * 1e6;
    assert!((deviation_us - 74.9).abs() < 0.1, "{deviation_us}");
    // Ours has the same words, but for the running variance, which nobody reads.
    let mut ours = report.encode(HeaderLayout::Sixteen);
    ours[16 + 80..16 + 88].copy_from_slice(&theirs[16 + 80..16 + 88]);
    assert_eq!(ours, theirs);
    let early = TransitReport {
        min_s: -0.000_002,
        ..transit
    };
    let again = ServerReport {
        transit: Some(early),
        ..report
    };
    let read = ServerReport::decode(&again.encode(HeaderLayout::Sixteen)).unwrap();
    assert_eq!(
        read.transit.unwrap().min_s,
        -0.000_002,
        "clocks that disagree"
    );
}

#[test]
fn a_request_that_is_sent_back_has_bounds() {
    let request = Bounceback {
        size: 100,
        id: 7,
        quick_ack: true,
        stop: false,
        hold_us: 0,
        reply: 200,
        run: 100,
    };
    let mut room = [0; 100];
    request.write(&mut room, (1, 2));
    assert_eq!(Bounceback::decode(&room), Some(request));
    room[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(Bounceback::decode(&room), None, "4 GiB");
}

#[test]
fn an_answer_carries_the_version_and_with_trip_times_the_clocks() {
    let times = Some([(1, 2), (3, 4), (5, 6)]);
    for (times, length) in [(None, 28), (times, 52)] {
        let ack = ServerAck {
            version: VERSION,
            times,
        };
        assert_eq!(ack.encode().len(), length);
        assert_eq!(ServerAck::decode(&ack.encode()), Some(ack));
    }
    let mut lying = ServerAck {
        version: VERSION,
        times: None,
    }
    .encode();
    lying[4..8].copy_from_slice(&u32::MAX.to_be_bytes());
    assert_eq!(ServerAck::decode(&lying), None);
}

proptest! {
    #[test]
    fn no_bytes_are_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let _ = FirstDatagram::read(&bytes);
        let _ = ServerReport::decode(&bytes);
        let _ = ServerAck::decode(&bytes);
        let _ = Bounceback::decode(&bytes);
        if let Ok(TcpOpening::Needs(more)) = TcpOpening::parse(&bytes) {
            prop_assert!(more > bytes.len() && more <= caudal_wire::iperf2::MAX_HEADER_BYTES);
        }
    }

    #[test]
    fn what_is_written_is_read(
        mode in prop_oneof![Just(TestMode::Up), Just(TestMode::Reverse), Just(TestMode::FullDuplex), Just(TestMode::Dual), Just(TestMode::Tradeoff)],
        threads in 1_u32..1000, port in 0_u32..65_536, length in 0_u32..1_000_000,
        rate in 0_u64..1 << 50, hundredths in 1_u32..1_000_000,
    ) {
        let header = TestHeader { threads, port, length, ..ours(mode, rate, TestAmount::Hundredths(hundredths)) };
        prop_assert_eq!(TcpOpening::parse(&header.encode_tcp((0, 0))), Ok(TcpOpening::Test(header, 60)));
        let mut datagram = vec![0; 16];
        datagram.extend(header.encode_udp((0, 0)));
        let first = FirstDatagram::read(&datagram).unwrap();
        prop_assert_eq!(first.header, Some(TestHeader { wide_ids: true, ..header }));
    }
}
