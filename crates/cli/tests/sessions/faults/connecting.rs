//! Nobody there, somebody else, versions that do not fit, and servers that are full.

use super::{PEER, client_of};
use crate::support::peer::{Fake, RawClient};
use crate::support::port::free_port;
use crate::support::{Running, Serve, run, run_caudal, warnings};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

trials! {
    an_unknown_host_is_named,
    a_closed_port_is_refused_at_once_with_advice,
    a_listener_that_never_accepts_is_given_up,
    other_programs_on_the_port_are_recognised,
    versions_that_do_not_fit_are_reported_by_both_ends,
    a_full_server_says_so_and_the_client_inside_notices_nothing,
    a_client_of_a_full_server_waits_for_a_slot_that_becomes_free,
    a_network_that_is_not_allowed_is_turned_away,
}

fn an_unknown_host_is_named() {
    for kind in ["tcp", "udp"] {
        run_caudal(&format!("{kind} nowhere.invalid -t 1")).failed(PEER, &["nowhere.invalid"]);
    }
}

fn a_closed_port_is_refused_at_once_with_advice() {
    let port = free_port();
    for kind in ["tcp", "udp"] {
        let ended = run(&mut client_of(port, kind), Duration::from_secs(5));
        ended.failed(PEER, &[&port.to_string(), "refused", "caudal serve"]);
    }
}

fn a_listener_that_never_accepts_is_given_up() {
    // The kernel completes the connection; nobody is behind it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ended = run(&mut client_of(port, "tcp"), Duration::from_secs(12));
    ended.failed(PEER, &["sent nothing", "caudal serve"]);
}

fn other_programs_on_the_port_are_recognised() {
    let cases: [(&'static [u8], &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "web server"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"220 mail.example ESMTP\r\n", "220 mail"),
        (b"", "closed the connection"),
    ];
    for (says, recognised) in cases {
        let fake = Fake::start(move |mut stream| {
            let mut preamble = [0; 32];
            let _ = stream.read_exact(&mut preamble);
            let _ = stream.write_all(says);
        });
        let ended = run(&mut client_of(fake.port, "tcp"), Duration::from_secs(12));
        ended.failed(PEER, &["does not speak", recognised]);
    }
}

fn versions_that_do_not_fit_are_reported_by_both_ends() {
    let fake = Fake::start(|mut stream| {
        let mut preamble = [0; 32];
        let _ = stream.read_exact(&mut preamble);
        let _ = stream.write_all(b"CAUDAL\x09W");
        let _ = stream.read(&mut preamble);
    });
    let ended = run(&mut client_of(fake.port, "tcp"), Duration::from_secs(12));
    ended.failed(PEER, &["protocol 9", "update the older"]);

    let server = Serve::start("");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut preamble = *b"CAUDAL\x09C________________________";
    preamble[8..].fill(0);
    stream.write_all(&preamble).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..6], *b"CAUDAL");
    assert_eq!(answer[7], b'R', "a refusal, whatever the version");
    let mut reason = String::new();
    stream.read_to_string(&mut reason).unwrap();
    assert!(
        reason.contains("protocol 9") && reason.contains("version"),
        "{reason}"
    );
    server.still_serves();
}

fn a_full_server_says_so_and_the_client_inside_notices_nothing() {
    let server = Serve::start("--max-clients 1");
    let inside = Running::start(&mut server.client("tcp -t 4 -b 10M --json"));
    server.running.line_with("TCP upload");
    server
        .serves("tcp -t 1")
        .failed(PEER, &["places are taken", "--max-clients"]);
    let run = inside.wait(Duration::from_secs(20)).done().json();
    assert!(!warnings(&run).contains(&"cut_short".to_owned()), "{run}");
    server.still_serves();
}

fn a_client_of_a_full_server_waits_for_a_slot_that_becomes_free() {
    let server = Serve::start("--max-clients 1");
    let inside = RawClient::welcomed(server.port);
    let newcomer = Running::start(&mut server.client("tcp -n 100K --json"));
    thread::sleep(Duration::from_millis(100));
    drop(inside);
    newcomer.wait(Duration::from_secs(20)).done();
}

fn a_network_that_is_not_allowed_is_turned_away() {
    let server = Serve::start("--allow 192.0.2.0/24");
    for _ in 0..3 {
        server
            .serves("udp -t 1")
            .failed(PEER, &["127.0.0.1 is not among the networks", "--allow"]);
    }
    let server = Serve::start("--allow 192.0.2.0/24,127.0.0.0/8");
    server.still_serves();
}
