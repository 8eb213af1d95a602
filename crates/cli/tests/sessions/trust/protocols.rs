//! Which protocols a server answers when clients must authenticate themselves.

use super::{PEER, TOKEN, private_file};
use crate::support::place::Place;
use crate::support::port::free_port;
use crate::support::{Running, SOON, Serve, caudal, run};
use std::io::{Read, Write};
use std::net::TcpStream;

trials! {
    tokens_close_the_protocols_that_have_none,
    logins_of_iperf3_close_the_protocols_that_have_none,
    a_server_with_the_command_line_of_iperf3_is_closed_in_the_same_way,
    a_server_that_anybody_reaches_says_so_once,
}

/// An RSA key of this test alone, which protects nothing.
const KEY: &str = "\
-----BEGIN PRIVATE KEY-----
MIICdwIBADANBgkqhkiG9w0BAQEFAASCAmEwggJdAgEAAoGBAMcG8M4/jx60l6bi
FykUsmG19/r9w9nnoGMyOHKb2DOlIb22eq9t8iS/Tu2lVHoN46xP+fr0AV7bfd0E
PPGvt3Z5KLhUWWdx/wE92hIOIS+odlO69Ij4LrqViLFlg2ck7ZZ2HwoYpYxX+Js4
RxuMjP/8zRUG3zbXd9ZPKxT6HoZZAgMBAAECgYA12k3sMMyEDW9/a2vC5OPDhp5b
3rBQ1NjUHnGhqUOd7c+saqTVtRUxFkbADN1HzVxOcrF8UuvQA+oRlKT87IPiY1nh
8odsevZ2qznltvPy2QZ5+6i7t1rdBdeEf7JnnEc28+znX86WfWUwPX5MyZ9X1fkg
KtpvKnCAHH5G5DCsBQJBAO75DvwuYonJLBBv0/X4PYikHkOwvJgCu3aR1UfpSnLJ
qh7KMs3622xnUjMPXKZbnG8ORytHF3UNrZQz0jH+k68CQQDVNUItHQttPf6dPs3t
Ds3uxrBCdfHhS/e4J7jUf2Z/xj4I1BuNC7L8HcGcpbt25rBDkmVWvf0oW0C5QbuF
TiB3AkB1ru00P1uDYzBx/8AwN0mGStwklZqqeV38LCEOQtLI6IsAkq6mRU1dexw9
zOjhe+fzwOJHa8EfgdbjTwnKWQY9AkEAhf3RmA6P1tjGQkZtHlVWgIBn12zOVXvr
s9Vq6Ekkvpp09BFxOyQmGSIOQoc5mFEEZ4MCoxAFoK4wr/yqf+2IowJBALnk2EhZ
1mmmnnL/uSeycz30BRsx8KiEc8LVpoNsOJVZ21ZwZklP5yA8MvBDGqReETeT3m7P
Eco2geADNtnQGuE=
-----END PRIVATE KEY-----
";

/// What a server of iperf3 answers to a client that it refuses.
const ACCESS_DENIED: u8 = 0xff;

/// The answer to a client of iperf3.
fn iperf3_answer(port: u16) -> u8 {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream.write_all(&[&[b'a'; 36][..], &[0]].concat()).unwrap();
    let mut answer = [0];
    stream.read_exact(&mut answer).unwrap();
    answer[0]
}

fn is_listening(port: u16) -> bool {
    TcpStream::connect(("127.0.0.1", port)).is_ok()
}

/// A key and users as files.
fn logins(place: &Place) -> String {
    let key = private_file(place, "key.pem", KEY);
    let users = private_file(place, "users", &format!("ann,{}\n", "0".repeat(64)));
    format!("--rsa-private-key-path {key} --authorized-users-path {users}")
}

fn tokens_close_the_protocols_that_have_none() {
    let place = Place::new();
    let file = private_file(&place, "tokens", TOKEN);
    let (iperf2, nttcp) = (free_port(), free_port());
    let words =
        format!("-B 127.0.0.1 --token-file {file} --iperf2-port {iperf2} --nttcp-port {nttcp}");
    let server = Serve::start(&words);
    for name in ["iperf3", "iperf2", "nttcp"] {
        server
            .running
            .line_with(&format!("--allow-unauthenticated {name}"));
    }
    assert!(!is_listening(iperf2) && !is_listening(nttcp));
    assert_eq!(iperf3_answer(server.port), ACCESS_DENIED);
    let allowed = Serve::start(&format!(
        "{words} --allow-unauthenticated iperf2,iperf3 --allow-unauthenticated nttcp"
    ));
    allowed.running.line_with("nttcp on port");
    assert!(is_listening(iperf2) && is_listening(nttcp));
    assert_ne!(iperf3_answer(allowed.port), ACCESS_DENIED);
    assert!(!allowed.running.said().contains("without"));
    allowed.serves("tcp -n 10K").failed(PEER, &["tokens"]);
}

fn logins_of_iperf3_close_the_protocols_that_have_none() {
    let place = Place::new();
    let (iperf2, nttcp) = (free_port(), free_port());
    let words = format!(
        "-B 127.0.0.1 {} --iperf2-port {iperf2} --nttcp-port {nttcp}",
        logins(&place)
    );
    let server = Serve::start(&words);
    for name in ["caudal", "iperf2", "nttcp"] {
        server
            .running
            .line_with(&format!("--allow-unauthenticated {name}"));
    }
    assert!(!is_listening(iperf2) && !is_listening(nttcp));
    for words in ["tcp -n 10K", "udp -t 0.1", "rtt --count 5"] {
        let ended = server.serves(words);
        ended.failed(PEER, &["clients that authenticate themselves"]);
    }
    let allowed = Serve::start(&format!("{words} --allow-unauthenticated caudal"));
    allowed.serves("tcp -n 10K").done();
}

fn a_server_with_the_command_line_of_iperf3_is_closed_in_the_same_way() {
    let place = Place::new();
    let port = free_port();
    let words = format!("iperf3 -s -B 127.0.0.1 -p {port} {}", logins(&place));
    let server = Running::start(&mut caudal(words.split_whitespace()));
    server.line_with("Server listening on");
    let mut client = caudal(["tcp", "127.0.0.1", "-n", "10K", "-p", &port.to_string()]);
    let ended = run(&mut client, SOON);
    ended.failed(PEER, &["clients that authenticate themselves"]);
}

fn a_server_that_anybody_reaches_says_so_once() {
    let open = "no authentication:";
    let place = Place::new();
    let file = private_file(&place, "tokens", TOKEN);
    let said = |words: &str| {
        let server = Serve::start(words);
        // What is logged at the start precedes the first client.
        let mut client = server.client("tcp -n 10K");
        run(&mut client, SOON);
        server.running.line_with("127.0.0.1");
        server.running.said().matches(open).count()
    };
    assert_eq!(said(""), 1);
    assert_eq!(said("-B 127.0.0.1"), 0);
    assert_eq!(said(&format!("--token-file {file}")), 0);
}
