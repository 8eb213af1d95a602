//! The test vectors of spec/rbt.md.

use super::{
    Accept, Ack, ControlKind, DataHeader, Fin, FinAck, FinAckState, Hello, HelloRefusal, Retry,
    parse_control, parse_data, write_control, write_data_header,
};
use crate::config::{Arq, DATA_HEADER_BYTES, TransferConfig};
use crate::error::AbortCode;

const SPECIFICATION: &str = include_str!("../../../../spec/rbt.md");
const SESSION: u32 = 0x0403_0201;
const NONCE: u64 = 0x1817_1615_1413_1211;

fn data() -> Vec<u8> {
    let mut datagram = vec![0; DATA_HEADER_BYTES];
    datagram.extend_from_slice(b"caudal");
    let header = DataHeader {
        session: SESSION,
        pn: 5,
        block: 3,
    };
    write_data_header(&mut datagram, header);
    datagram
}

fn control(kind: ControlKind, session: u32, write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut datagram = Vec::new();
    write_control(&mut datagram, kind, session, write);
    datagram
}

fn ack(ranges: Vec<std::ops::Range<u64>>, bitmap: Vec<u8>) -> Vec<u8> {
    let ack = Ack {
        largest: 9,
        delay_us: 250,
        first_missing: 2,
        credit: 100,
        budget: 1 << 20,
        received: 7,
        duplicates: 1,
        dropped: 0,
        damaged: 2,
        marked: 0,
        ranges,
        bitmap,
    };
    control(ControlKind::Ack, SESSION, |body| ack.write(body))
}

fn fin() -> Vec<u8> {
    let fin = Fin {
        total: 5000,
        digest: *blake3::hash(b"").as_bytes(),
        pto_us: 30_000,
    };
    control(ControlKind::Fin, SESSION, |body| fin.write(body))
}

fn hello(cookie: Option<[u8; 16]>) -> Vec<u8> {
    let hello = Hello {
        nonce: NONCE,
        version: 1,
        is_sender: true,
        config: TransferConfig {
            total_bytes: Some(5000),
            arq: Arq::Sack,
            ..TransferConfig::default()
        },
        token: b"token".to_vec(),
        cookie,
    };
    control(ControlKind::Hello, 0, |body| hello.write(body))
}

fn retry() -> Vec<u8> {
    let retry = Retry {
        nonce: NONCE,
        cookie: [0xaa; 16],
    };
    control(ControlKind::Retry, 0, |body| retry.write(body))
}

fn accept() -> Vec<u8> {
    let accept = Accept {
        nonce: NONCE,
        total_bytes: Some(5000),
        start_bytes: 0,
        window_bytes: 16 << 20,
        first_pn: 1000,
    };
    control(ControlKind::Accept, SESSION, |body| accept.write(body))
}

fn refuse() -> Vec<u8> {
    let refusal = HelloRefusal {
        nonce: NONCE,
        code: AbortCode::Protocol.number(),
    };
    control(ControlKind::Refuse, 0, |body| refusal.write(body))
}

/// A datagram of each kind, by its name in the specification.
fn vectors() -> Vec<(&'static str, Vec<u8>)> {
    vec![
        ("DATA", data()),
        ("ACK of packets", ack([8..10, 2..6].to_vec(), Vec::new())),
        ("ACK of blocks", ack(Vec::new(), vec![0b101])),
        ("FIN", fin()),
        (
            "FIN-ACK",
            control(ControlKind::FinAck, SESSION, |body| {
                FinAck(FinAckState::Equal).write(body);
            }),
        ),
        ("PING", control(ControlKind::Ping, SESSION, |_| {})),
        (
            "ABORT",
            control(ControlKind::Abort, SESSION, |body| {
                AbortCode::Source.write(body);
            }),
        ),
        ("CLOSE", control(ControlKind::Close, SESSION, |_| {})),
        ("HELLO", hello(None)),
        ("HELLO with a cookie", hello(Some([0xaa; 16]))),
        ("RETRY", retry()),
        ("ACCEPT", accept()),
        ("REFUSE", refuse()),
    ]
}

/// The bytes in hexadecimal, 16 a line; zeros at the end of a long datagram as their number.
fn printed(name: &str, datagram: &[u8]) -> String {
    let zeros = datagram.iter().rev().take_while(|byte| **byte == 0).count();
    let shown = if zeros > 64 {
        datagram.len() - zeros
    } else {
        datagram.len()
    };
    let mut text = format!("{name}, {} bytes\n", datagram.len());
    for line in datagram[..shown].chunks(16) {
        let bytes: Vec<String> = line.iter().map(|byte| format!("{byte:02x}")).collect();
        text.push_str(&format!("    {}\n", bytes.join(" ")));
    }
    if zeros > 64 {
        text.push_str(&format!("    and {zeros} zeros\n"));
    }
    text
}

#[test]
fn the_specification_has_the_bytes_that_are_written() {
    // Line ends of a checkout do not matter.
    let specification = SPECIFICATION.replace('\r', "");
    let missing: Vec<String> = vectors()
        .iter()
        .map(|(name, datagram)| printed(name, datagram))
        .filter(|text| !specification.contains(text.as_str()))
        .collect();
    assert!(
        missing.is_empty(),
        "not in spec/rbt.md:\n{}",
        missing.join("\n")
    );
}

#[test]
fn the_vectors_are_read_as_what_they_are() {
    for (name, datagram) in vectors() {
        match name {
            "DATA" => {
                let (header, payload) = parse_data(&datagram).expect("data");
                assert_eq!((header.pn, header.block, payload), (5, 3, &b"caudal"[..]));
            }
            _ => assert!(parse_control(&datagram).is_some(), "{name}"),
        }
    }
}
