//! Plays the server of a recorded iperf 2 dialogue against our client.

use super::iperf2_datagrams::receive_flows;
use super::traffic::{Leftover, receive, send};
use super::transcript::{Dialogue, End, Step};
use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, caudal};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;

/// Where the first bytes of a connection have the port to be called back at.
const PORT_AT: usize = 8;
/// What may come before the payload of a connection, which not all versions count.
const MAX_HEADER: u64 = 128;

/// What the recorded server does with a connection.
#[derive(Clone)]
struct Behaviour {
    /// What it answers to the first bytes.
    answer: Option<Vec<u8>>,
    /// How much it sends, and when.
    sends: Option<(u64, Sends)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sends {
    /// On the client's connection.
    Here,
    /// On a connection that it opens at once.
    Back,
    /// On a connection that it opens when the client's has ended.
    BackAfterwards,
}

/// Whether the dialogue is one that is played: uploads, and connections with an amount in the other direction. What a server
/// sends for a time it sends by its own clock.
pub fn is_playable(dialogue: &Dialogue) -> bool {
    sends(dialogue).is_none() || !dialogue.has("-t") && !dialogue.is_udp()
}

fn sends(dialogue: &Dialogue) -> Option<Sends> {
    if dialogue.has("-d") {
        Some(Sends::Back)
    } else if dialogue.has("-r") {
        Some(Sends::BackAfterwards)
    } else {
        let is_here = dialogue.has("-R") || dialogue.has("--full-duplex");
        is_here.then_some(Sends::Here)
    }
}

/// Plays it; our client has to show what was counted here.
pub fn play(dialogue: &Dialogue) {
    let port = free_port();
    let mut command = caudal([
        "iperf",
        "-c",
        "127.0.0.1",
        "-p",
        &port.to_string(),
        "-f",
        "B",
    ]);
    command.args(dialogue.words.split(' '));
    if dialogue.has("-d") || dialogue.has("-r") {
        command.args(["-L", &free_port().to_string()]);
    }
    let (ended, counted, slack) = if dialogue.is_udp() {
        let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        let client = Running::start(&mut command);
        let counted = serve_datagrams(dialogue, &socket);
        (client.wait(SOON), counted, 1000)
    } else {
        let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
        let client = Running::start(&mut command);
        let counted = serve_connections(dialogue, &listener);
        (client.wait(SOON), counted, MAX_HEADER)
    };
    judge(&ended, counted, slack);
}

/// The client shows what was counted here, however many flows it has.
fn judge(client: &Ended, counted: u64, slack: u64) {
    assert_eq!(client.code, Some(0), "{client:#?}");
    let (mut shown, mut flows, mut is_report) = (0, 0, false);
    for line in client.stdout.lines() {
        if line.contains("Server Report") {
            is_report = true;
        } else if let Some((_, after)) = line.split_once(" sec ")
            && !line.starts_with("[SUM]")
        {
            if std::mem::take(&mut is_report) {
                assert!(after.contains(" 0/"), "nothing was lost: {client:#?}");
                continue;
            }
            let bytes = after.split_whitespace().next().unwrap();
            shown += bytes.parse::<u64>().unwrap();
            flows += 1;
        }
    }
    assert!(
        shown.abs_diff(counted) <= slack * flows,
        "{counted} bytes were counted, {shown} are shown: {client:#?}"
    );
}

fn flows(dialogue: &Dialogue) -> usize {
    if dialogue.has("-P") { 3 } else { 1 }
}

fn serve_connections(dialogue: &Dialogue, listener: &TcpListener) -> u64 {
    let mut behaviour = Behaviour {
        answer: None,
        sends: None,
    };
    for (end, step) in &dialogue.steps {
        if let (End::Server, Step::Stream { bytes, begin, .. }) = (end, step) {
            if *bytes == begin.len() as u64 {
                behaviour.answer = Some(begin.clone());
            } else {
                behaviour.sends = sends(dialogue).map(|when| (*bytes, when));
            }
        }
    }
    let connections: Vec<_> = (0..flows(dialogue))
        .map(|_| {
            let (stream, _) = listener.accept().unwrap();
            let behaviour = behaviour.clone();
            thread::spawn(move || serve_connection(stream, &behaviour))
        })
        .collect();
    let counted: Vec<u64> = connections
        .into_iter()
        .map(|connection| connection.join().unwrap())
        .collect();
    counted.iter().sum()
}

/// Serves a client's connection: the bytes of both directions, without what begins a download.
fn serve_connection(mut stream: TcpStream, behaviour: &Behaviour) -> u64 {
    stream.set_read_timeout(Some(SOON)).unwrap();
    let mut begin = [0; PORT_AT + 4];
    stream.read_exact(&mut begin).unwrap();
    if let Some(answer) = &behaviour.answer {
        stream.write_all(answer).unwrap();
    }
    let port = u32::from_be_bytes(begin[PORT_AT..].try_into().unwrap()) as u16;
    let back = |bytes| {
        let back = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let sent = send(back.try_clone().unwrap(), Vec::new(), Some(bytes), None).counted();
        back.shutdown(Shutdown::Write).unwrap();
        sent
    };
    let receiving = receive(stream.try_clone().unwrap(), None, None, Leftover::Read);
    match behaviour.sends {
        None => receiving.counted() + begin.len() as u64,
        Some((bytes, Sends::Here)) => {
            let sending = send(stream.try_clone().unwrap(), Vec::new(), Some(bytes), None);
            let sent = sending.counted();
            stream.shutdown(Shutdown::Write).unwrap();
            let received = receiving.counted() + begin.len() as u64;
            sent + if received > MAX_HEADER { received } else { 0 }
        }
        Some((bytes, Sends::Back)) => back(bytes) + receiving.counted() + begin.len() as u64,
        Some((bytes, Sends::BackAfterwards)) => {
            let received = receiving.counted() + begin.len() as u64;
            received + back(bytes)
        }
    }
}

/// Receives the flows of datagrams, and answers the last of each as was recorded.
fn serve_datagrams(dialogue: &Dialogue, socket: &UdpSocket) -> u64 {
    let report = dialogue.steps.iter().find_map(|(end, step)| match step {
        Step::Datagrams { last, length, .. } if *end == End::Server => {
            let mut report = last.clone();
            report.resize(*length, 0);
            Some(report)
        }
        _ => None,
    });
    receive_flows(socket, flows(dialogue) as u64, report.as_deref())
}
