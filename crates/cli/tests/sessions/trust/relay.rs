//! A relay that sees every message of control connections, and may alter them.

use caudal_wire::preamble::{ANSWER_BYTES, PREAMBLE_BYTES, Purpose};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// The way of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    ToServer,
    ToClient,
}

/// A relay to a server of this machine.
pub struct MessageRelay {
    pub port: u16,
    /// The bytes from the client on control connections.
    pub recorded: Arc<Mutex<Vec<u8>>>,
}

impl MessageRelay {
    /// Passes connections on, the messages of control connections through `alter`; their lengths stay.
    pub fn start(server: u16, alter: fn(Way, &mut [u8])) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let recorded = Arc::<Mutex<Vec<u8>>>::default();
        let records = Arc::clone(&recorded);
        thread::spawn(move || {
            for client in listener.incoming() {
                let records = Arc::clone(&records);
                thread::spawn(move || pass(client.unwrap(), server, alter, &records));
            }
        });
        Self { port, recorded }
    }
}

fn pass(mut client: TcpStream, port: u16, alter: fn(Way, &mut [u8]), records: &Mutex<Vec<u8>>) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut preamble = [0; PREAMBLE_BYTES];
    if client.read_exact(&mut preamble).is_err() || server.write_all(&preamble).is_err() {
        return;
    }
    let is_control = Purpose::decode(&preamble) == Ok(Purpose::Control);
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    if !is_control {
        thread::spawn(move || copy(from, to));
        copy(server, client);
        return;
    }
    records.lock().unwrap().extend(preamble);
    let answers = thread::spawn(move || {
        let mut answer = [0; ANSWER_BYTES];
        let passed = server
            .read_exact(&mut answer)
            .and_then(|()| client.write_all(&answer));
        if passed.is_ok() {
            let _ = pass_messages(&mut server, &mut client, |message| {
                alter(Way::ToClient, message);
            });
        }
        let _ = client.shutdown(Shutdown::Both);
    });
    let (mut from, mut to) = (from, to);
    let _ = pass_messages(&mut from, &mut to, |message| {
        alter(Way::ToServer, message);
        let length = (message.len() as u32).to_be_bytes();
        let mut records = records.lock().unwrap();
        records.extend(length);
        records.extend_from_slice(message);
    });
    let _ = to.shutdown(Shutdown::Write);
    let _ = answers.join();
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    let _ = io::copy(&mut from, &mut to);
    let _ = to.shutdown(Shutdown::Write);
}

fn pass_messages(
    from: &mut TcpStream,
    to: &mut TcpStream,
    mut see: impl FnMut(&mut [u8]),
) -> io::Result<()> {
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let mut message = vec![0; u32::from_be_bytes(length) as usize];
        from.read_exact(&mut message)?;
        see(&mut message);
        to.write_all(&[&length[..], &message].concat())?;
    }
}

/// Replaces `old` in a message by `new`, which is as long.
pub fn replace(message: &mut [u8], old: &str, new: &str) {
    assert_eq!(old.len(), new.len());
    let found = message
        .windows(old.len())
        .position(|part| part == old.as_bytes());
    if let Some(at) = found {
        message[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
}
