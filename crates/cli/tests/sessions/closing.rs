//! The end of tests of an amount in both directions: whatever the order in which the ends finish, nothing that is still on
//! its way to the other end's program is missing.

use crate::support::port::free_port;
use crate::support::{Ended, Running, SOON, caudal};
use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

trials! {
    what_a_slow_iperf_2_server_has_still_to_read_is_awaited,
    what_an_iperf3_server_has_still_to_read_between_its_writes_is_awaited,
}

/// What each end sends.
const AMOUNT: usize = 4 << 20;
/// What is read at once by a server that reads slowly, and how long it rests then.
const SLOW_READ: usize = 64 << 10;
const REST: Duration = Duration::from_millis(2);
/// What the other server leaves unread for a while: the smallest receive buffers hold it.
const UNREAD: usize = 16 << 10;
const PAUSE: Duration = Duration::from_millis(10);

// The states of iperf3's control connection.
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const EXCHANGE_RESULTS: u8 = 13;
const DISPLAY_RESULTS: u8 = 14;
const COOKIE_BYTES: usize = 37;

fn client(protocol: &str, port: u16) -> Running {
    let mut command = caudal([
        "tcp",
        "127.0.0.1",
        "-p",
        &port.to_string(),
        "--as",
        protocol,
    ]);
    command.args(["--bidir", "-n", &AMOUNT.to_string(), "--json"]);
    Running::start(&mut command)
}

/// The client has seen everything arrive, in both directions.
fn judge(ended: &Ended) {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let report = ended.json();
    for flow in report["flows"].as_array().unwrap() {
        let received = flow["receiver"]["bytes"].as_u64();
        assert_eq!(received, Some(AMOUNT as u64), "{flow}");
    }
}

fn accept(listener: &TcpListener) -> TcpStream {
    let (stream, _) = listener.accept().unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Sends the amount in a thread of its own.
fn send(stream: &TcpStream) -> thread::JoinHandle<()> {
    let mut stream = stream.try_clone().unwrap();
    thread::spawn(move || stream.write_all(&vec![b'6'; AMOUNT]).unwrap())
}

fn what_a_slow_iperf_2_server_has_still_to_read_is_awaited() {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let client = client("iperf2", port);
    let mut stream = accept(&listener);
    let sending = send(&stream);
    let mut chunk = vec![0; SLOW_READ];
    let mut received = 0;
    loop {
        match stream.read(&mut chunk).unwrap() {
            0 => break,
            count => received += count,
        }
        thread::sleep(REST);
    }
    sending.join().unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(received, AMOUNT, "of the client");
    judge(&client.wait(SOON));
}

/// The control connection of an iperf3 server.
struct Control(TcpStream);

impl Control {
    fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn send_json(&mut self, json: &str) {
        self.send(&(json.len() as u32).to_be_bytes());
        self.send(json.as_bytes());
    }

    fn read(&mut self, length: usize) -> Vec<u8> {
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).unwrap();
        bytes
    }

    fn read_json(&mut self) {
        let length = self.read(4);
        self.read(u32::from_be_bytes(length.try_into().unwrap()) as usize);
    }

    /// Whether the client has said something.
    fn has_input(&self) -> bool {
        self.0.set_nonblocking(true).unwrap();
        let seen = self.0.peek(&mut [0]);
        self.0.set_nonblocking(false).unwrap();
        match seen {
            Err(error) => error.kind() != ErrorKind::WouldBlock,
            Ok(_) => true,
        }
    }
}

/// The results of a server that has received `received` bytes and has sent all of its own.
fn results(received: usize) -> String {
    let stream = |id: u8, bytes: usize| {
        format!(
            r#"{{"id":{id},"bytes":{bytes},"retransmits":0,"jitter":0,"errors":0,"packets":0,"start_time":0,"end_time":1}}"#
        )
    };
    format!(
        r#"{{"cpu_util_total":1,"cpu_util_user":1,"cpu_util_system":0,"sender_has_retransmits":1,"streams":[{},{}]}}"#,
        stream(1, received),
        stream(3, AMOUNT)
    )
}

fn what_an_iperf3_server_has_still_to_read_between_its_writes_is_awaited() {
    let port = free_port();
    let listener = TcpListener::bind(("127.0.0.1", port)).unwrap();
    let client = client("iperf3", port);
    let mut control = Control(accept(&listener));
    control.read(COOKIE_BYTES);
    control.send(&[PARAM_EXCHANGE]);
    control.read_json();
    control.send(&[CREATE_STREAMS]);
    let [mut up, mut down] = [(); 2].map(|()| accept(&listener));
    for stream in [&mut up, &mut down] {
        stream.read_exact(&mut [0; COOKIE_BYTES]).unwrap();
    }
    control.send(&[TEST_START, TEST_RUNNING]);
    send(&down).join().unwrap();
    let mut payload = vec![0; AMOUNT - UNREAD];
    up.read_exact(&mut payload).unwrap();
    let mut received = payload.len();
    thread::sleep(PAUSE);
    // Like the real one it counts nothing after the announcement of the end.
    if !control.has_input() {
        up.read_exact(&mut [0; UNREAD]).unwrap();
        received += UNREAD;
    }
    assert_eq!(control.read(1), [TEST_END]);
    down.shutdown(Shutdown::Both).unwrap();
    control.send(&[EXCHANGE_RESULTS]);
    control.read_json();
    control.send_json(&results(received));
    control.send(&[DISPLAY_RESULTS]);
    control.read(1);
    drop(control);
    judge(&client.wait(SOON));
}
