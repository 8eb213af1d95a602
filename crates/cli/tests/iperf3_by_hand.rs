//! iperf3's dialogue spoken by hand: versions Debian does not carry, and peers that break every rule.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use support::{Ended, SOON, Serve, caudal, run};

const PARAM_EXCHANGE: u8 = 9;
const CREATE_STREAMS: u8 = 10;
const TEST_START: u8 = 1;
const TEST_RUNNING: u8 = 2;
const TEST_END: u8 = 4;
const EXCHANGE_RESULTS: u8 = 13;
const DISPLAY_RESULTS: u8 = 14;
const IPERF_DONE: u8 = 16;
const ACCESS_DENIED: u8 = 0xff;
const SERVER_ERROR: u8 = 0xfe;

fn cookie(letter: char) -> [u8; 37] {
    let mut cookie = [letter as u8; 37];
    cookie[36] = 0;
    cookie
}

/// A control connection, by hand.
struct RawClient(TcpStream);

impl RawClient {
    fn connect(port: u16, cookie: &[u8]) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(cookie).unwrap();
        Self(stream)
    }

    #[track_caller]
    fn hears(&mut self, state: u8) {
        let mut byte = [0];
        self.0.read_exact(&mut byte).unwrap();
        assert_eq!(byte[0], state);
    }

    fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    fn say_json(&mut self, json: &str) {
        self.say(&(json.len() as u32).to_be_bytes());
        self.say(json.as_bytes());
    }

    fn hears_json(&mut self) -> Value {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Reads to the end; what came.
    fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest);
        rest
    }

    /// Through a server's complaint to its end: iperf3's number.
    #[track_caller]
    fn complaint(self) -> i32 {
        let rest = self.rest();
        assert_eq!(
            (rest.len(), rest.first()),
            (9, Some(&SERVER_ERROR)),
            "{rest:?}"
        );
        i32::from_be_bytes(rest[1..5].try_into().unwrap())
    }
}

fn results(streams: &Value) -> String {
    json!({"cpu_util_total": 1.5, "cpu_util_user": 1.0, "cpu_util_system": 0.5,
           "sender_has_retransmits": 1, "streams": streams})
    .to_string()
}

// Clients of other versions, on our server.

/// What a version's client sends as its parameters, and its results for one stream of `bytes`.
fn versions() -> Vec<(&'static str, String, String)> {
    let parameters = |extra: &str| format!("{{\"tcp\":true,\"omit\":0,\"time\":1,{extra}}}");
    let stream = |extra: &str| {
        format!(
            "{{\"id\":1,\"bytes\":100000,\"retransmits\":0,\"jitter\":0,\"errors\":0,\"packets\":0{extra}}}"
        )
    };
    let head = |retransmits: &str, streams: &str| {
        format!(
            "{{\"cpu_util_total\":1,\"cpu_util_user\":1,\"cpu_util_system\":0,\
             \"sender_has_retransmits\":{retransmits},\"streams\":[{streams}]}}"
        )
    };
    vec![
        (
            "3.1",
            parameters("\"parallel\":1,\"len\":131072,\"client_version\":\"3.1\""),
            head("1", &stream("")),
        ),
        (
            "3.2",
            parameters(
                "\"parallel\":1,\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.2\"",
            ),
            head("1", &stream(",\"start_time\":0,\"end_time\":1.000021")),
        ),
        (
            "3.7",
            parameters(
                "\"parallel\":1.0,\"len\":131072.0,\"pacing_timer\":1000,\"client_version\":\"3.7\"",
            ),
            head(
                "18446744073709551615",
                &stream(",\"start_time\":0,\"end_time\":1.000021"),
            ),
        ),
        (
            "3.14",
            parameters(
                "\"num\":0,\"blockcount\":0,\"parallel\":1,\"len\":131072,\"pacing_timer\":1000,\"client_version\":\"3.14\"",
            ),
            head(
                "-1",
                &stream(
                    ",\"omitted_errors\":0,\"omitted_packets\":0,\"start_time\":0,\"end_time\":1.000021",
                ),
            ),
        ),
        (
            "3.21",
            parameters(
                "\"num\":0,\"blockcount\":0,\"parallel\":1,\"len\":131072,\"gso\":0,\"gso_dg_size\":0,\"gso_bf_size\":65507,\
                 \"gro\":0,\"gro_bf_size\":65507,\"pacing_timer\":1000,\"client_version\":\"3.21\",\"unknown\":{\"a\":[1]}",
            ),
            head(
                "1",
                &stream(
                    ",\"omitted_errors\":0,\"omitted_packets\":0,\"start_time\":0,\"end_time\":1.000021",
                ),
            ),
        ),
    ]
}

#[test]
fn clients_of_all_versions_are_served() {
    let server = Serve::start("");
    for ((version, parameters, results), letter) in versions().into_iter().zip('a'..) {
        let cookie = cookie(letter);
        let mut control = RawClient::connect(server.port, &cookie);
        control.hears(PARAM_EXCHANGE);
        control.say_json(&parameters);
        control.hears(CREATE_STREAMS);
        let mut data = RawClient::connect(server.port, &cookie);
        control.hears(TEST_START);
        control.hears(TEST_RUNNING);
        data.say(&[7; 100_000]);
        control.say(&[TEST_END]);
        control.hears(EXCHANGE_RESULTS);
        control.say_json(&results);
        let told = control.hears_json();
        assert_eq!(told["streams"][0]["id"], 1, "{version}: {told}");
        assert_eq!(told["streams"][0]["bytes"], 100_000, "{version}: {told}");
        for key in [
            "cpu_util_total",
            "cpu_util_user",
            "cpu_util_system",
            "sender_has_retransmits",
        ] {
            assert!(told[key].is_number(), "{version}: {key} in {told}");
        }
        for key in [
            "retransmits",
            "jitter",
            "errors",
            "omitted_errors",
            "packets",
            "omitted_packets",
            "start_time",
            "end_time",
        ] {
            assert!(
                told["streams"][0][key].is_number(),
                "{version}: {key} in {told}"
            );
        }
        control.hears(DISPLAY_RESULTS);
        control.say(&[IPERF_DONE]);
        // From 3.21 on a client reads to the end of the connection before it goes.
        let began = Instant::now();
        control.0.shutdown(Shutdown::Write).unwrap();
        assert_eq!(control.rest(), b"", "{version}");
        assert!(began.elapsed() < Duration::from_secs(5), "{version}");
    }
    server.still_serves();
}

#[test]
fn a_hello_of_any_version_is_answered_and_one_that_comes_twice_is_no_payload() {
    let server = Serve::start("");
    let hellos: [([u8; 4], [u8; 4]); 4] = [
        (*b"9876", *b"6789"),
        (*b"6789", *b"9876"),
        ([0x15, 0xcd, 0x5b, 0x07], [0xb1, 0x68, 0xde, 0x3a]),
        ([0x07, 0x5b, 0xcd, 0x15], [0x3a, 0xde, 0x68, 0xb1]),
    ];
    for ((hello, answer), letter) in hellos.into_iter().zip('a'..) {
        let mut control = RawClient::connect(server.port, &cookie(letter));
        control.hears(PARAM_EXCHANGE);
        control.say_json(
            "{\"udp\":true,\"time\":1,\"parallel\":1,\"len\":1000,\"bandwidth\":1000000}",
        );
        control.hears(CREATE_STREAMS);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        socket.send(&hello).unwrap();
        let mut said = [0; 8];
        assert_eq!(socket.recv(&mut said).unwrap(), 4);
        assert_eq!(said[..4], answer);
        control.hears(TEST_START);
        control.hears(TEST_RUNNING);
        // The network made another of it.
        socket.send(&hello).unwrap();
        assert_eq!(socket.recv(&mut said).unwrap(), 4);
        for number in [1_u32, 2, 4, 3, 6, 6] {
            let mut datagram = [0; 1000];
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            socket.send(&datagram).unwrap();
        }
        control.say(&[TEST_END]);
        control.hears(EXCHANGE_RESULTS);
        control.say_json(&results(
            &json!([{"id": 1, "bytes": 7000, "retransmits": -1, "jitter": 0,
                                            "errors": 0, "packets": 7}]),
        ));
        let told = control.hears_json();
        let stream = &told["streams"][0];
        // Seven were sent; 5 and 7 never came, and 6 came twice.
        assert_eq!(
            (&stream["packets"], &stream["errors"], &stream["bytes"]),
            (&json!(7), &json!(2), &json!(5000)),
            "{told}"
        );
        control.hears(DISPLAY_RESULTS);
        control.say(&[IPERF_DONE]);
    }
    server.still_serves();
}

// Clients that break the rules.

#[test]
fn whatever_a_client_sends_as_its_parameters_costs_itself_only() {
    let server = Serve::start("");
    let cases: Vec<(String, i32)> = vec![
        ("[]".to_owned(), 114),
        ("{".to_owned(), 114),
        ("\"text\"".to_owned(), 114),
        ("[".repeat(9000), 114),
        ("{\"a\":".repeat(2000), 114),
        ("{\"parallel\":0}".to_owned(), 6),
        ("{\"parallel\":100000}".to_owned(), 6),
        ("{\"parallel\":-1}".to_owned(), 6),
        ("{\"time\":1e18}".to_owned(), 5),
        ("{\"len\":0}".to_owned(), 7),
        ("{\"udp\":true,\"len\":0}".to_owned(), 20),
        ("{\"window\":1e15}".to_owned(), 8),
        ("{\"MSS\":99999}".to_owned(), 10),
        ("{\"burst\":5000}".to_owned(), 15),
        ("{\"TOS\":300}".to_owned(), 21),
        ("{\"sctp\":true}".to_owned(), 131),
        ("{\"server_affinity\":1000}".to_owned(), 132),
    ];
    for ((json, code), nth) in cases.into_iter().zip(0_u8..) {
        let mut control = RawClient::connect(server.port, &cookie(char::from(b'a' + nth)));
        control.hears(PARAM_EXCHANGE);
        control.say_json(&json);
        let shown: String = json.chars().take(40).collect();
        assert_eq!(control.complaint(), code, "{shown}");
    }
    // Values of other types than they should have count as not given.
    let mut control = RawClient::connect(server.port, &cookie('z'));
    control.hears(PARAM_EXCHANGE);
    control.say_json("{\"tcp\":7,\"time\":\"x\",\"parallel\":[1],\"len\":{},\"title\":3,\"congestion\":[],\"authtoken\":{}}");
    control.hears(CREATE_STREAMS);
    drop(control);
    server.still_serves();
}

#[test]
fn a_length_that_lies_is_refused_before_anything_is_kept_for_it() {
    let server = Serve::start("");
    for length in [u32::MAX, 0x8000_0000, 1 << 20, 0] {
        let mut control = RawClient::connect(server.port, &cookie('l'));
        control.hears(PARAM_EXCHANGE);
        control.say(&length.to_be_bytes());
        assert_eq!(control.complaint(), 114, "{length}");
    }
    // In place of results.
    let cookie = cookie('r');
    let mut control = RawClient::connect(server.port, &cookie);
    control.hears(PARAM_EXCHANGE);
    control.say_json("{\"tcp\":true,\"time\":1}");
    control.hears(CREATE_STREAMS);
    let _data = RawClient::connect(server.port, &cookie);
    control.hears(TEST_START);
    control.hears(TEST_RUNNING);
    control.say(&[TEST_END]);
    control.hears(EXCHANGE_RESULTS);
    control.say(&u32::MAX.to_be_bytes());
    let rest = control.rest();
    assert_eq!(rest.first(), Some(&SERVER_ERROR), "{rest:?}");
    server.still_serves();
}

#[test]
fn slow_and_silent_clients_keep_nobody_waiting() {
    let server = Serve::start("");
    // Half a cookie; a cookie and nothing; a length and nothing; a byte at a time.
    let _half = RawClient::connect(server.port, &cookie('h')[..20]);
    let mut nothing = RawClient::connect(server.port, &cookie('n'));
    nothing.hears(PARAM_EXCHANGE);
    let mut length = RawClient::connect(server.port, &cookie('g'));
    length.hears(PARAM_EXCHANGE);
    length.say(&100_u32.to_be_bytes());
    let mut slow = RawClient::connect(server.port, &cookie('s'));
    slow.hears(PARAM_EXCHANGE);
    slow.say(&[0, 0]);
    // Streams that never come, over TCP and over UDP.
    let mut absent = RawClient::connect(server.port, &cookie('t'));
    absent.hears(PARAM_EXCHANGE);
    absent.say_json("{\"tcp\":true,\"parallel\":3}");
    absent.hears(CREATE_STREAMS);
    server.still_serves();
    let ended = run(
        &mut caudal([
            "iperf3",
            "-c",
            "127.0.0.1",
            "-p",
            &server.port.to_string(),
            "-n",
            "1M",
        ]),
        SOON,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    // The one that went on talking slowly is cut off in time all the same.
    let began = Instant::now();
    assert_eq!(slow.complaint(), 114);
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_stream_with_another_cookie_is_no_stream_of_the_test() {
    let server = Serve::start("");
    let own = cookie('o');
    let mut control = RawClient::connect(server.port, &own);
    control.hears(PARAM_EXCHANGE);
    control.say_json("{\"tcp\":true,\"time\":1}");
    control.hears(CREATE_STREAMS);
    // It begins a test of its own instead.
    let mut stranger = RawClient::connect(server.port, &cookie('x'));
    stranger.hears(PARAM_EXCHANGE);
    let _garbage = RawClient::connect(server.port, b"GET / HTTP/1.1\r\n\r\n");
    let _data = RawClient::connect(server.port, &own);
    control.hears(TEST_START);
    control.hears(TEST_RUNNING);
    // The test has all its streams: one more of its name is turned away.
    let mut late = RawClient::connect(server.port, &own);
    late.hears(ACCESS_DENIED);
    assert_eq!(late.rest(), b"");
    server.still_serves();
}

#[test]
fn hellos_over_udp_reach_only_the_test_of_their_own_address_one_after_another() {
    let server = Serve::start("");
    let parameters = "{\"udp\":true,\"time\":1,\"parallel\":1,\"len\":1000,\"reverse\":true,\"bandwidth\":1000000}";
    // Nobody has asked for a test over UDP: nothing is answered.
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    socket.send_to(b"9876", ("127.0.0.1", server.port)).unwrap();
    let mut said = [0; 2000];
    assert!(socket.recv(&mut said).is_err());
    let mut first = RawClient::connect(server.port, &cookie('f'));
    first.hears(PARAM_EXCHANGE);
    first.say_json(parameters);
    first.hears(CREATE_STREAMS);
    // A second one from the same address waits until the first has its streams.
    let mut second = RawClient::connect(server.port, &cookie('s'));
    second.hears(PARAM_EXCHANGE);
    second.say_json(parameters);
    second
        .0
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    assert!(second.0.read(&mut said[..1]).is_err());
    // Another address says hello, and gets neither an answer nor payload.
    let elsewhere = UdpSocket::bind("127.0.0.2:0").unwrap();
    elsewhere
        .set_read_timeout(Some(Duration::from_millis(300)))
        .unwrap();
    elsewhere
        .send_to(b"9876", ("127.0.0.1", server.port))
        .unwrap();
    assert!(elsewhere.recv(&mut said).is_err());
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.send_to(b"9876", ("127.0.0.1", server.port)).unwrap();
    assert_eq!(socket.recv(&mut said).unwrap(), 4);
    first.hears(TEST_START);
    second.0.set_read_timeout(Some(SOON)).unwrap();
    second.hears(CREATE_STREAMS);
    server.still_serves();
}

#[test]
fn clients_that_vanish_anywhere_leave_the_server_as_it_was() {
    let server = Serve::start("--max-clients 3");
    for step in 0..6 {
        let cookie = cookie(char::from(b'a' + step));
        let mut control = RawClient::connect(server.port, &cookie);
        control.hears(PARAM_EXCHANGE);
        if step == 0 {
            continue;
        }
        control.say_json("{\"tcp\":true,\"time\":5,\"bidirectional\":true}");
        control.hears(CREATE_STREAMS);
        if step == 1 {
            continue;
        }
        let _up = RawClient::connect(server.port, &cookie);
        if step == 2 {
            continue;
        }
        let _down = RawClient::connect(server.port, &cookie);
        control.hears(TEST_START);
        control.hears(TEST_RUNNING);
        if step == 3 {
            continue;
        }
        control.say(&[TEST_END]);
        control.hears(EXCHANGE_RESULTS);
        if step == 4 {
            continue;
        }
        control.say_json(&results(&json!([])));
        let _ = control.hears_json();
    }
    // A word that is none.
    let mut control = RawClient::connect(server.port, &cookie('q'));
    control.hears(PARAM_EXCHANGE);
    control.say_json("{\"tcp\":true}");
    control.hears(CREATE_STREAMS);
    control.say(&[77]);
    assert_eq!(control.complaint(), 110);
    let until = Instant::now() + SOON;
    loop {
        // Their places are free again.
        let ended = server.serves("tcp -n 100K --json");
        if ended.code == Some(0) {
            break;
        }
        assert!(Instant::now() < until, "{ended:#?}");
        thread::sleep(Duration::from_millis(100));
    }
    server.still_serves();
}

// Servers of other versions, and servers that break the rules, for our client.

/// A server of one test that does as it is told.
fn server(
    script: impl FnOnce(TcpListener, RawClient, Value) + Send + 'static,
) -> (u16, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let mut cookie = [0; 37];
        stream.read_exact(&mut cookie).unwrap();
        let mut control = RawClient(stream);
        control.say(&[PARAM_EXCHANGE]);
        let parameters = control.hears_json();
        script(listener, control, parameters);
    });
    (port, thread)
}

fn our_client(port: u16, words: &str) -> Ended {
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", &port.to_string()]);
    run(command.args(words.split_whitespace()), SOON)
}

#[test]
fn servers_of_all_versions_are_understood() {
    for (version, parameters, results) in versions() {
        assert!(parameters.contains(version));
        let (port, thread) = server(move |listener, mut control, parameters| {
            assert_eq!(parameters["tcp"], true);
            assert_eq!(parameters["num"], 100_000);
            control.say(&[CREATE_STREAMS]);
            let (mut data, _) = listener.accept().unwrap();
            let mut cookie = [0; 37];
            data.read_exact(&mut cookie).unwrap();
            // Both words in one segment.
            control.say(&[TEST_START, TEST_RUNNING]);
            let mut payload = vec![0; 100_000];
            data.read_exact(&mut payload).unwrap();
            control.hears(TEST_END);
            control.say(&[EXCHANGE_RESULTS]);
            let told = control.hears_json();
            assert_eq!(told["streams"][0]["bytes"], 100_000);
            control.say_json(&results);
            control.say(&[DISPLAY_RESULTS]);
            control.hears(IPERF_DONE);
            // A complaint of an earlier test that some versions send last.
            let _ = control
                .0
                .write_all(&[SERVER_ERROR, 0, 0, 0, 27, 0, 0, 0, 0]);
        });
        let ended = our_client(port, "-n 100000 -l 10000 -J");
        thread.join().unwrap();
        assert_eq!(ended.code, Some(0), "{version}: {ended:#?}");
        let end = &ended.json()["end"];
        assert_eq!(end["sum_sent"]["bytes"], 100_000, "{version}: {end}");
        assert_eq!(end["sum_received"]["bytes"], 100_000, "{version}: {end}");
    }
}

#[test]
fn a_server_that_says_no_is_quoted() {
    let cases: [(&'static [u8], &str); 6] = [
        (
            &[ACCESS_DENIED],
            "the server is busy running a test. try again later",
        ),
        (
            &[SERVER_ERROR, 0, 0, 0, 37, 0, 0, 0, 0],
            "exceeds the server's maximum",
        ),
        // Before 3.20 with one number only.
        (&[SERVER_ERROR, 0, 0, 0, 142], "test authorization failed"),
        (&[SERVER_ERROR], "unknown error 0"),
        (&[11], "the server has terminated"),
        (&[99], "unknown control message"),
    ];
    for (says, words) in cases {
        let (port, thread) = server(move |_, mut control, _| control.say(says));
        let ended = our_client(port, "-t 1");
        thread.join().unwrap();
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
        assert!(ended.stderr.starts_with("iperf3: error - "), "{ended:#?}");
        assert!(ended.stderr.contains(words), "{words:?}: {ended:#?}");
    }
    let (port, thread) = server(|_, control, _| drop(control));
    let ended = our_client(port, "-t 1 -J");
    thread.join().unwrap();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(
        ended.json()["error"],
        "control socket has closed unexpectedly"
    );
}

#[test]
fn results_that_lie_end_our_client_in_one_line() {
    let bad: [&'static [u8]; 5] = [
        &[0xff; 4],
        &[0, 0, 0, 0],
        b"\0\0\0\x02[]",
        b"\0\0\0\x02{}",
        b"\0\0\0\x09{\"a\":1e999",
    ];
    for says in bad {
        let (port, thread) = server(move |listener, mut control, _| {
            control.say(&[CREATE_STREAMS]);
            let (mut data, _) = listener.accept().unwrap();
            control.say(&[TEST_START, TEST_RUNNING]);
            let mut payload = vec![0; 37 + 100_000];
            data.read_exact(&mut payload).unwrap();
            control.hears(TEST_END);
            control.say(&[EXCHANGE_RESULTS]);
            let _ = control.hears_json();
            control.say(says);
        });
        let ended = our_client(port, "-n 100000");
        thread.join().unwrap();
        assert_eq!(ended.code, Some(1), "{says:?}: {ended:#?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{says:?}: {ended:#?}");
    }
}

#[test]
fn a_hello_that_is_lost_is_said_again_and_not_too_soon() {
    let (port, thread) = server(|listener, mut control, _| {
        let port = listener.local_addr().unwrap().port();
        let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        control.say(&[CREATE_STREAMS]);
        let mut said = [0; 8];
        let began = Instant::now();
        let (size, _) = socket.recv_from(&mut said).unwrap();
        assert_eq!(&said[..size], b"9876");
        let (size, peer) = socket.recv_from(&mut said).unwrap();
        assert_eq!(&said[..size], b"9876");
        assert!(began.elapsed() >= Duration::from_millis(900));
        // As versions before 3.12 answer.
        socket.send_to(&[0xb1, 0x68, 0xde, 0x3a], peer).unwrap();
        control.say(&[TEST_START, TEST_RUNNING]);
        let mut datagram = [0; 2000];
        for number in 1..=10_u32 {
            assert_eq!(socket.recv(&mut datagram).unwrap(), 1000);
            assert_eq!(datagram[8..12], number.to_be_bytes());
        }
        control.hears(TEST_END);
        control.say(&[EXCHANGE_RESULTS]);
        let told = control.hears_json();
        assert_eq!(told["streams"][0]["packets"], 10);
        control.say_json(&results(
            &json!([{"id": 1, "bytes": 10_000, "retransmits": -1, "jitter": 0.00001,
                                            "errors": 0, "packets": 10}]),
        ));
        control.say(&[DISPLAY_RESULTS]);
        control.hears(IPERF_DONE);
    });
    // The UDP port beside the listener's may be taken by somebody else: then there is nothing to see.
    let ended = our_client(port, "-u -n 10000 -l 1000 -b 10M -J");
    thread.join().unwrap();
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let sum = &ended.json()["end"]["sum"];
    assert_eq!(
        (&sum["packets"], &sum["lost_packets"]),
        (&json!(10), &json!(0)),
        "{sum}"
    );
}
