//! Clients of other versions, byte by byte, and exchanges of messages.

use super::{at, serve, still_serves, udp_to, words};
use crate::support::SOON;
use std::io::{Read, Write};
use std::net::TcpStream;

pub(crate) fn client_of_2_0_5() {
    let (server, port) = serve("");
    // TCP: 24 bytes of header, no answer, the server closes after the client.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&words(&[0, 1, 5001, 0, 0, 0xffff_ff9c]))
        .unwrap();
    stream.write_all(&[b'0'; 100_000]).unwrap();
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    assert_eq!(answer, b"", "2.0.5 is told nothing");
    server.running.line_with("TCP received, 100.0 kB");
    // UDP: 12 bytes of header, numbers from 0, an answer whose report begins at 12.
    let socket = udp_to(port);
    let datagram = |id: i32| {
        let mut datagram = words(&[id as u32, 7, 8, 0, 1, 5001, 0, 1_048_576, 0xffff_ff9c]);
        datagram.resize(1470, b'x');
        datagram
    };
    // What arrives before the flow has a socket of its own may be read later.
    socket.send(&datagram(0)).unwrap();
    server.running.line_with("UDP upload");
    for id in [1, 2, 4, 3, 5, 7, 8, 9] {
        socket.send(&datagram(id)).unwrap();
    }
    socket.send(&datagram(-10)).unwrap();
    let mut answer = [0; 2048];
    let size = socket.recv(&mut answer).unwrap();
    assert!(size >= 52, "{size}");
    assert_eq!(at(&answer, 12), 0x8000_0000);
    assert_eq!(at(&answer, 20), 9 * 1470, "bytes");
    assert_eq!(
        (at(&answer, 32), at(&answer, 36), at(&answer, 40)),
        (1, 1, 10),
        "lost, out of order, all"
    );
    // The end, said again, is answered again.
    socket.send(&datagram(-11)).unwrap();
    assert!(socket.recv(&mut answer).unwrap() >= 52);
    assert_eq!(at(&answer, 40), 10);
    still_serves(&server, port);
}

pub(crate) fn client_of_2_2() {
    let (server, port) = serve("");
    let header = |flags: u32, upper: u32, amount: u32| {
        words(&[
            flags,
            1,
            5001,
            0,
            0,
            amount,
            0,
            0,
            upper << 16,
            0x0002_0002,
            0x0001_0001,
            0,
            0,
            0,
            0,
            0,
        ])
    };
    // A plain test is answered with the server's version.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&header(0x4001_0080, 0, 0xffff_ff9c))
        .unwrap();
    let mut ack = [0; 28];
    stream.read_exact(&mut ack).unwrap();
    assert_eq!((at(&ack, 0), at(&ack, 4)), (2, 28));
    drop(stream);
    server.running.line_with("client iperf 2.2.1: TCP upload");
    // In reverse nothing comes but what was asked for.
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(&header(0x4401_0080, 0x0400, 77_777))
        .unwrap();
    let mut got = Vec::new();
    stream.read_to_end(&mut got).unwrap();
    assert_eq!(got.len(), 77_777);
    assert!(got.starts_with(b"0123456789"));
    // UDP with a header of 80 bytes: a report of 128.
    let socket = udp_to(port);
    let datagram = |id: i64| {
        let mut datagram = words(&[id as u32, 7, 8, (id >> 32) as u32]);
        datagram.extend(header(0x4801_00a0, 0, 0xffff_ff9c));
        datagram.resize(1470, b'x');
        datagram
    };
    for id in 1..=5 {
        socket.send(&datagram(id)).unwrap();
    }
    socket.send(&datagram(-6)).unwrap();
    let mut answer = [0; 2048];
    let size = socket.recv(&mut answer).unwrap();
    assert_eq!(size, 128);
    assert_eq!(at(&answer, 16), 0x8800_0000);
    assert_eq!((at(&answer, 36), at(&answer, 44)), (0, 6), "lost, all");
    still_serves(&server, port);
}

pub(crate) fn bounceback() {
    let (server, port) = serve("");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    for id in 1..=3 {
        let mut request = words(&[
            0x0080_0000,
            100,
            id,
            0x8000_0000,
            0,
            7,
            8,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]);
        request.resize(100, 0);
        stream.write_all(&request).unwrap();
        let mut reply = [0; 100];
        stream.read_exact(&mut reply).unwrap();
        assert_eq!((at(&reply, 4), at(&reply, 8), at(&reply, 20)), (100, id, 7));
        assert!(at(&reply, 28) > 1_600_000_000, "the server's clock");
    }
    // A reply of 4 GiB is not made.
    stream
        .write_all(&words(&[
            0x0080_0000,
            u32::MAX,
            4,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
            0,
        ]))
        .unwrap();
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
    assert_eq!(rest.len(), 0);
    still_serves(&server, port);
}
