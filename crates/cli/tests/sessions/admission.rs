//! A server that strangers reach: what one of them can draw from it, or take from the others.

use crate::support::network::{self, Network, inside};
use crate::support::{Ended, Running, SOON, Serve, caudal, run, trial};
use caudal_wire::preamble::Purpose;
use libtest_mimic::Trial;
use socket2::{Domain, Socket, Type};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    let here = None;
    let mut trials = vec![
        trial(
            "a_datagram_that_names_a_third_party_draws_nothing",
            network::missing(&["bash"]),
            nothing_for_third_parties,
        ),
        trial(
            "a_server_for_one_client_ends_after_a_test_and_not_after_a_preamble",
            here.clone(),
            one_off,
        ),
        trial(
            "a_server_without_descriptors_closes_what_it_cannot_serve",
            here.clone(),
            out_of_descriptors,
        ),
        trial("a_source_has_its_share", here.clone(), share),
        trial(
            "tests_that_move_next_to_nothing_give_way_to_a_source_without_a_place",
            here.clone(),
            slow_tests,
        ),
    ];
    for door in DOORS {
        trials.push(trial(
            &format!("idle_connections_keep_no_other_source_out::{}", door.name),
            here.clone(),
            move || idle_connections(&door),
        ));
    }
    trials
}

/// A protocol of the server, with the beginning of its dialogue and a client.
#[derive(Clone, Copy)]
struct Door {
    name: &'static str,
    /// The bytes after which a client, the one with that number, holds a place.
    opening: fn(u32) -> Vec<u8>,
    /// The words of a client's command line.
    client: &'static [&'static str],
    /// The words before the port in the server's log.
    listening: &'static str,
}

const DOORS: [Door; 4] = [
    Door {
        name: "native",
        opening: |_| Purpose::Control.encode().to_vec(),
        client: &["tcp", "127.0.0.1", "-n", "100K"],
        listening: "",
    },
    Door {
        name: "iperf3",
        opening: |nth| {
            // A cookie has letters and the digits 2 to 7.
            let number = format!("{nth:06o}").replace('0', "a").replace('1', "b");
            format!("abcdefghijklmnopqrstuvwxyzabcd{number}\0").into_bytes()
        },
        client: &["iperf3", "-c", "127.0.0.1", "-n", "100K"],
        listening: "",
    },
    Door {
        name: "iperf2",
        opening: |_| words(&[0, 1, 5001, 0, 0, 0xffff_fc18]),
        client: &["iperf", "-c", "127.0.0.1", "-n", "100K", "-R"],
        listening: "iperf 2 on port ",
    },
    Door {
        name: "nttcp",
        opening: |_| b"nttcp@-r@-l4096@-n10\n".to_vec(),
        client: &["nttcp", "-n10", "127.0.0.1"],
        listening: "nttcp on port ",
    },
];

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn port_after(server: &Serve, text: &str) -> u16 {
    if text.is_empty() {
        return server.port;
    }
    let line = server.running.line_with(text);
    let rest = line.split(text).nth(1).unwrap();
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().unwrap()
}

/// Connects from 127.0.0.`host`.
fn try_connect_from(host: u8, port: u16) -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    let local: SocketAddr = ([127, 0, 0, host], 0).into();
    socket.bind(&local.into())?;
    let server: SocketAddr = ([127, 0, 0, 1], port).into();
    socket.connect_timeout(&server.into(), SOON)?;
    Ok(socket.into())
}

fn connect_from(host: u8, port: u16) -> TcpStream {
    try_connect_from(host, port).unwrap()
}

fn client(door: &Door, port: u16) -> Ended {
    let (program, rest) = door.client.split_first().unwrap();
    let mut command = caudal([*program, "-p", port.to_string().as_str()]);
    command.args(rest);
    run(&mut command, SOON)
}

fn idle_connections(door: &Door) {
    let server = Serve::start("--iperf2-port 0 --nttcp-port 0");
    let port = port_after(&server, door.listening);
    // Of every second one the first bytes are complete.
    let held: Vec<TcpStream> = (0..520)
        .map(|nth| {
            let mut stream = connect_from(2, port);
            if nth % 2 == 0 {
                let _ = stream.write_all(&(door.opening)(nth));
            }
            stream
        })
        .collect();
    let ended = client(door, port);
    assert_eq!(ended.code, Some(0), "one source: {ended:#?}");
    // More sources than have room with all of their shares.
    let more: Vec<TcpStream> = (3..8)
        .flat_map(|host| (0..66).map(move |nth| (host, nth)))
        .map(|(host, nth)| {
            let mut stream = connect_from(host, port);
            let _ = stream.write_all(&(door.opening)(1000 * u32::from(host) + nth));
            stream
        })
        .collect();
    let ended = client(door, port);
    assert_eq!(ended.code, Some(0), "many sources: {ended:#?}");
    drop((held, more));
}

fn share() {
    let server = Serve::start("--max-clients 8 --max-clients-per-source 1");
    let inside = Running::start(&mut server.client("tcp -t 4 -b 10M --json"));
    server.running.line_with("TCP upload");
    server
        .serves("tcp -n 1K")
        .failed(3, &["places for one source", "--max-clients-per-source"]);
    let mut other = server.client("tcp -n 1K -B 127.0.0.3");
    run(&mut other, SOON).done();
    inside.wait(SOON).done();
    run(
        &mut caudal(["serve", "--max-clients-per-source", "0"]),
        SOON,
    )
    .failed(2, &["--max-clients-per-source is 0"]);
}

/// Two sources with tests of 1 kbit/s hold all places, and a third one gets one of them when they have moved next to nothing for long.
fn slow_tests() {
    let server = Serve::start("--max-clients 2");
    let slow: Vec<Running> = ["127.0.0.2", "127.0.0.3"]
        .map(|source| {
            let mut client = server.client(&format!("tcp -b 1k -t 60 -B {source} --json"));
            Running::start(&mut client)
        })
        .into();
    for _ in &slow {
        server.running.line_with("TCP upload");
    }
    server.serves("tcp -n 1K").failed(3, &["places are taken"]);
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let honest = server.serves("tcp -n 1K");
        if honest.code == Some(0) {
            break;
        }
        assert!(Instant::now() < until, "{honest:#?}");
        thread::sleep(Duration::from_secs(1));
    }
    drop(slow);
}

fn one_off() {
    let server = Serve::start("-1");
    let mut stream = connect_from(1, server.port);
    stream.write_all(&Purpose::Control.encode()).unwrap();
    stream.read_exact(&mut [0; 1]).unwrap();
    drop(stream);
    thread::sleep(Duration::from_millis(300));
    server.serves("tcp -n 100K").done();
    let ended = server.running.wait(SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}

fn out_of_descriptors() {
    let mut command = Command::new("sh");
    let serve = "ulimit -n 48; exec \"$0\" serve -p 0 --iperf2-port 0 --nttcp-port 0";
    command.args(["-c", serve, env!("CARGO_BIN_EXE_caudal")]);
    let server = Serve::of(&mut command);
    let ports = [
        server.port,
        port_after(&server, "iperf 2 on port "),
        port_after(&server, "nttcp on port "),
    ];
    for port in ports {
        let held: Vec<_> = (0..64).map(|_| try_connect_from(1, port)).collect();
        thread::sleep(Duration::from_millis(300));
        let closed = held.iter().filter(|stream| is_closed(stream)).count();
        assert!(
            closed > 0,
            "port {port}: those without a descriptor are left waiting"
        );
    }
    server.running.line_with("no descriptor is left");
    let ended = server.serves("tcp -n 100K");
    assert_eq!(ended.code, Some(0), "{ended:#?}");
}

/// `true` when the server has closed a connection, or has reset it before it was established here.
fn is_closed(stream: &io::Result<TcpStream>) -> bool {
    let Ok(mut stream) = stream.as_ref() else {
        return true;
    };
    stream.set_nonblocking(true).unwrap();
    let read = stream.read(&mut [0; 1]);
    !read.is_err_and(|cause| cause.kind() == io::ErrorKind::WouldBlock)
}

fn nothing_for_third_parties() {
    let network = Network::build();
    let server = network.serve("--iperf2");
    server.running.line_with("iperf 2 on port ");
    // Both at once, and one after the other; to port 9000 at 65 507 bytes a datagram, for 10 ms.
    for flags in [0x8000_0001, 0x8000_0000_u32] {
        let datagram = words(&[0, 7, 8, flags, 1, 9000, 65_507, 1 << 30, u32::MAX]);
        let bytes: String = datagram
            .iter()
            .map(|byte| format!("\\x{byte:02x}"))
            .collect();
        let line = format!("printf '{bytes}' > /dev/udp/{}/5001", network::SERVER);
        let sent = inside(&network.client, "bash").args(["-c", &line]).status();
        assert!(sent.unwrap().success());
        server.running.line_with("iperf 2: 10.77.0.1");
    }
    // Datagrams at a port where nobody listens are counted, and so are those at any other.
    thread::sleep(Duration::from_millis(1000));
    for counter in ["NoPorts", "InDatagrams"] {
        assert_eq!(
            Network::snmp(&network.client, "Udp", counter),
            0,
            "{counter}"
        );
    }
}
