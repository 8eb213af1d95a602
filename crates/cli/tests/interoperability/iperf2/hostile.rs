//! Peers that lie, say nothing, or ask for what they have no right to.

use super::real_programs::figures;
use super::{iperf_port, serve, still_serves, udp_to, words};
use crate::support::network::{Network, SERVER, inside};
use crate::support::{Ended, SOON, run};
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

pub(crate) fn lies() {
    let (server, port) = serve("--idle-timeout 2s");
    let talk = |bytes: &[u8]| {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let _ = stream.write_all(bytes);
        let mut got = Vec::new();
        let mut room = [0; 65_536];
        loop {
            match stream.read(&mut room) {
                Ok(0) => return got,
                Ok(count) => got.extend_from_slice(&room[..count]),
                Err(cause) if cause.kind() == ErrorKind::ConnectionReset => return got,
                Err(cause) => panic!("kept waiting: {cause}"),
            }
        }
    };
    // Lengths that lie: shorter than the fields, a key of 64 KiB, a key of nothing.
    assert_eq!(talk(&words(&[0x4001_0004])), b"");
    let mut keyed = words(&[0x5001_007c, 1, 5001, 0, 0, 100]);
    keyed.resize(60, 0);
    assert_eq!(talk(&[&keyed[..], &[0xff, 0xff]].concat()), b"");
    assert_eq!(talk(&[&keyed[..], &[0, 0]].concat()), b"");
    server.running.line_with("announces a key of");
    // A block of 2^32 - 1 bytes and an endless number of threads: the amount is what was asked for.
    let mut greedy = words(&[
        0x4401_0078,
        u32::MAX,
        5001,
        u32::MAX,
        u32::MAX,
        1000,
        0,
        0,
        0x0400_0000,
        0x0002_0001,
        0x0008_0003,
        0,
    ]);
    greedy.resize(60, 0);
    assert_eq!(talk(&greedy).len(), 1000);
    // A header that stops in the middle, then silence.
    let mut half = TcpStream::connect(("127.0.0.1", port)).unwrap();
    half.write_all(&words(&[0x4001_0078, 1])).unwrap();
    // A whole header and no payload: the stream never comes.
    let mut silent = TcpStream::connect(("127.0.0.1", port)).unwrap();
    silent
        .write_all(&words(&[0, 1, 5001, 0, 0, 0xffff_ff9c]))
        .unwrap();
    // Datagrams of every length, and of nothing that makes sense.
    let socket = udp_to(port);
    for length in 0..200 {
        socket.send(&vec![0xff; length]).unwrap();
        socket.send(&vec![0; length]).unwrap();
    }
    // Numbers that jump to the end of the world.
    let jumping = udp_to(port);
    for id in [1_i64, i64::MAX, 2, 1 << 40, 3] {
        let mut datagram = words(&[
            id as u32,
            0,
            0,
            (id >> 32) as u32,
            0x4801_0098,
            1,
            5001,
            0,
            0,
            100,
        ]);
        datagram.resize(200, 0);
        jumping.send(&datagram).unwrap();
    }
    server.running.line_with("nothing was moved for 2 s");
    still_serves(&server, port);
}

pub(crate) fn silent_clients() {
    let (server, port) = serve("--max-clients 4");
    let held: Vec<TcpStream> = (0..60)
        .map(|nth| {
            let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
            if nth % 2 == 0 {
                stream.write_all(&[0x40]).unwrap();
            }
            stream
        })
        .collect();
    still_serves(&server, port);
    drop(held);
    // One byte and an end is a whole visit, for which each takes a place for a moment.
    let until = Instant::now() + SOON;
    while server.serves("tcp -n 1K").code != Some(0) {
        assert!(Instant::now() < until, "places stay taken");
    }
    still_serves(&server, port);
}

pub(crate) fn unasked() {
    let (server, port) = serve("");
    let socket = udp_to(port);
    socket
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    let mut end = words(&[
        (-5_i32) as u32,
        7,
        8,
        u32::MAX,
        0x4801_0098,
        1,
        5001,
        0,
        0,
        100,
    ]);
    end.resize(1470, 0);
    socket.send(&end).unwrap();
    assert!(
        socket.recv(&mut [0; 2048]).is_err(),
        "an address may be made up"
    );
    // An end as short as it can be is answered with no more than came.
    let short = udp_to(port);
    short
        .set_read_timeout(Some(Duration::from_millis(700)))
        .unwrap();
    short.send(&words(&[1, 7, 8, 0])).unwrap();
    short
        .send(&words(&[(-2_i32) as u32, 7, 8, u32::MAX]))
        .unwrap();
    assert!(
        short.recv(&mut [0; 2048]).is_err(),
        "32 bytes are not answered with 128"
    );
    still_serves(&server, port);
}

pub(crate) fn no_amplifier() {
    let network = Network::build();
    let server = network.serve("--iperf2");
    let port = iperf_port(&server);
    let in_reverse = |udp: &str| {
        let mut client = inside(&network.client, "iperf");
        client.args(["-c", SERVER, "-f", "B", "-t", "0.4", "-b", "5m", "-R", udp]);
        client.args(["-p", &port.to_string()]);
        run(&mut client, SOON)
    };
    let denied = in_reverse("-u");
    let bytes =
        |ended: &Ended| -> u64 { figures(&ended.stdout).iter().map(|line| line.bytes).sum() };
    assert_eq!(
        bytes(&denied),
        0,
        "an address that has proven nothing: {denied:#?}"
    );
    server.running.line_with("its address is not validated");
    // A handshake of TCP validates the address, for one flow.
    assert!(bytes(&in_reverse("-N")) > 0);
    let granted = in_reverse("-u");
    assert!(bytes(&granted) > 10_000, "{granted:#?}");
}
