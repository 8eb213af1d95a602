//! The dialogue of iperf3 by hand, as a client and as a server.

use crate::support::{Ended, SOON, caudal, run};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::{self, JoinHandle};

pub const PARAM_EXCHANGE: u8 = 9;
pub const CREATE_STREAMS: u8 = 10;
pub const TEST_START: u8 = 1;
pub const TEST_RUNNING: u8 = 2;
pub const TEST_END: u8 = 4;
pub const EXCHANGE_RESULTS: u8 = 13;
pub const DISPLAY_RESULTS: u8 = 14;
pub const IPERF_DONE: u8 = 16;
pub const ACCESS_DENIED: u8 = 0xff;
pub const SERVER_ERROR: u8 = 0xfe;

pub fn cookie(letter: char) -> [u8; 37] {
    let mut cookie = [letter as u8; 37];
    cookie[36] = 0;
    cookie
}

/// A control connection, by hand.
pub struct RawClient(pub TcpStream);

impl RawClient {
    pub fn connect(port: u16, cookie: &[u8]) -> Self {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream.write_all(cookie).unwrap();
        Self(stream)
    }

    #[track_caller]
    pub fn hears(&mut self, state: u8) {
        let mut byte = [0];
        self.0.read_exact(&mut byte).unwrap();
        assert_eq!(byte[0], state);
    }

    pub fn say(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
    }

    pub fn say_json(&mut self, json: &str) {
        self.say(&(json.len() as u32).to_be_bytes());
        self.say(json.as_bytes());
    }

    pub fn hears_json(&mut self) -> Value {
        let mut length = [0; 4];
        self.0.read_exact(&mut length).unwrap();
        let mut text = vec![0; u32::from_be_bytes(length) as usize];
        self.0.read_exact(&mut text).unwrap();
        serde_json::from_slice(&text).unwrap()
    }

    /// Reads to the end; what came.
    pub fn rest(mut self) -> Vec<u8> {
        let mut rest = Vec::new();
        let _ = self.0.read_to_end(&mut rest);
        rest
    }

    /// Through a server's complaint to its end: iperf3's number.
    #[track_caller]
    pub fn complaint(self) -> i32 {
        let rest = self.rest();
        assert_eq!(
            (rest.len(), rest.first()),
            (9, Some(&SERVER_ERROR)),
            "{rest:?}"
        );
        i32::from_be_bytes(rest[1..5].try_into().unwrap())
    }
}

pub fn results(streams: &Value) -> String {
    json!({"cpu_util_total": 1.5, "cpu_util_user": 1.0, "cpu_util_system": 0.5,
           "sender_has_retransmits": 1, "streams": streams})
    .to_string()
}

/// What a version's client sends as its parameters, and its results for one stream of `bytes`.
pub fn versions() -> Vec<(&'static str, String, String)> {
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

/// A server of one test that does as it is told.
pub fn server(
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

pub fn our_client(port: u16, words: &str) -> Ended {
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", &port.to_string()]);
    run(command.args(words.split_whitespace()), SOON)
}
