//! A relay between client and server whose connections can be cut, or left open and dead.

use caudal_wire::preamble::{PREAMBLE_BYTES, Purpose};
use socket2::SockRef;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// The connections a relay holds, by what they are for.
#[derive(Default)]
struct Held {
    control: Vec<TcpStream>,
    data: Vec<TcpStream>,
}

pub struct Relay {
    pub port: u16,
    held: Arc<Mutex<Held>>,
    mute: Arc<AtomicBool>,
}

/// Which connections are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Control,
    Data,
}

impl Relay {
    pub fn to(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let held = Arc::<Mutex<Held>>::default();
        let mute = Arc::new(AtomicBool::new(false));
        let (keeps, hushed) = (Arc::clone(&held), Arc::clone(&mute));
        thread::spawn(move || {
            for client in listener.incoming() {
                let (held, mute) = (Arc::clone(&keeps), Arc::clone(&hushed));
                thread::spawn(move || pass(client.unwrap(), server, &held, &mute));
            }
        });
        Self { port, held, mute }
    }

    /// Resets both sides of all connections of a kind.
    pub fn cut(&self, which: Which) {
        let mut held = self.held.lock().unwrap();
        let streams = match which {
            Which::Control => &mut held.control,
            Which::Data => &mut held.data,
        };
        assert!(
            !streams.is_empty(),
            "there is no {which:?} connection to cut"
        );
        for stream in streams.drain(..) {
            let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// From here on nothing is passed on over the control connections, and nothing is closed.
    pub fn hush(&self) {
        self.mute.store(true, Ordering::Relaxed);
    }
}

fn pass(mut client: TcpStream, port: u16, held: &Mutex<Held>, mute: &Arc<AtomicBool>) {
    let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let mut preamble = [0; PREAMBLE_BYTES];
    if client.read_exact(&mut preamble).is_err() || server.write_all(&preamble).is_err() {
        return;
    }
    let is_control = Purpose::decode(&preamble) == Ok(Purpose::Control);
    {
        let mut held = held.lock().unwrap();
        let kind = if is_control {
            &mut held.control
        } else {
            &mut held.data
        };
        kind.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
    }
    let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
    let hushed = Arc::clone(mute);
    let there = thread::spawn(move || pump(from, to, is_control.then_some(&hushed)));
    pump(server, client, is_control.then_some(mute));
    let _ = there.join();
}

fn pump(mut from: TcpStream, mut to: TcpStream, mute: Option<&Arc<AtomicBool>>) {
    let mut chunk = vec![0; 64 << 10];
    loop {
        match from.read(&mut chunk) {
            Ok(count) if count > 0 => {
                if mute.is_some_and(|mute| mute.load(Ordering::Relaxed)) {
                    continue;
                }
                if to.write_all(&chunk[..count]).is_err() {
                    break;
                }
            }
            _ => break,
        }
    }
    if mute.is_none_or(|mute| !mute.load(Ordering::Relaxed)) {
        let _ = to.shutdown(Shutdown::Write);
    }
}
