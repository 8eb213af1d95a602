//! A protocol that shares the port of a server: its connections are recognised, delivered, served and refused.
#![allow(clippy::unwrap_used, reason = "a failed test names the line")]

use caudal_engine::server::{
    Recognition, SessionEventSender, SharedPortClient, SharedPortDelivery, SharedPortProtocol,
};
use caudal_engine::{Protocol, Server, ServerOptions};
use caudal_flow::UnvalidatedSocket;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::time::Duration;

const GREETING: &[u8] = b"greetings\n";

/// Answers a greeting with the number of its session; a greeting in capitals is refused.
#[derive(Debug)]
struct Greetings;

impl SharedPortProtocol for Greetings {
    fn protocol(&self) -> Protocol {
        Protocol::Nttcp
    }

    fn requires_login(&self) -> bool {
        false
    }

    fn recognise(&self, first: &[u8]) -> Recognition {
        if !GREETING.starts_with(&first.to_ascii_lowercase()) {
            Recognition::Other
        } else if first.len() < GREETING.len() {
            Recognition::Incomplete(GREETING.len())
        } else {
            Recognition::Recognised
        }
    }

    fn deliver(&self, first: &[u8], _: u64, stream: TcpStream) -> SharedPortDelivery {
        if first == GREETING {
            SharedPortDelivery::New(stream)
        } else {
            SharedPortDelivery::Unwanted(stream)
        }
    }

    fn serve(&self, client: &SharedPortClient<'_>, first: &[u8], mut stream: TcpStream) {
        assert_eq!(first, GREETING);
        stream.set_nonblocking(false).unwrap();
        writeln!(stream, "session {}", client.number()).unwrap();
    }

    fn refuse(&self, stream: &mut TcpStream) {
        stream.write_all(b"refused\n").unwrap();
    }

    fn take_datagram(
        &self,
        _: &[u8],
        _: SocketAddr,
        _: &dyn Fn() -> io::Result<UnvalidatedSocket>,
    ) -> bool {
        false
    }
}

fn server(options: ServerOptions) -> Server {
    let options = ServerOptions {
        bind: vec![std::net::IpAddr::from([127, 0, 0, 1]).into()],
        port: 0,
        ..options
    };
    Server::start(options, SessionEventSender::default()).unwrap()
}

/// The answer to a connection that begins with these parts, sent one after another.
fn answer(server: &Server, parts: &[&[u8]]) -> String {
    let mut stream = TcpStream::connect(server.local()).unwrap();
    stream.set_nodelay(true).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    for part in parts {
        stream.write_all(part).unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn a_connection_belongs_to_the_protocol_that_recognises_its_first_bytes() {
    let with = server(ServerOptions {
        shared_port: vec![Arc::new(Greetings)],
        ..ServerOptions::default()
    });
    assert_eq!(answer(&with, &[GREETING]), "session 1\n");
    assert_eq!(answer(&with, &[b"gree", b"tings\n"]), "session 2\n");
    assert_eq!(answer(&with, &[b"GREETINGS\n"]), "refused\n");
    assert_eq!(answer(&with, &[b"\x16\x03\x01"]), "");
    let without = server(ServerOptions::default());
    assert_eq!(answer(&without, &[GREETING]), "");
}

#[test]
fn clients_that_are_not_admitted_are_refused_in_their_protocol() {
    let allow = vec!["192.0.2.0/24".parse().unwrap()];
    let server = server(ServerOptions {
        shared_port: vec![Arc::new(Greetings)],
        allow,
        ..ServerOptions::default()
    });
    assert_eq!(answer(&server, &[GREETING]), "refused\n");
}
