//! Tests that an amount ends, of which only the client knows when it is reached.

use super::raw::{
    CREATE_STREAMS, DISPLAY_RESULTS, EXCHANGE_RESULTS, IPERF_DONE, PARAM_EXCHANGE, RawClient,
    TEST_END, TEST_RUNNING, TEST_START, cookie, results,
};
use crate::support::{SOON, Serve};
use serde_json::{Value, json};
use std::io::Read;
use std::net::{TcpStream, UdpSocket};

trials! {
    a_client_that_counts_whole_blocks_gets_its_amount_in_whole_blocks,
    a_client_that_has_not_ended_its_test_is_sent_more,
    datagrams_are_sent_until_the_client_has_its_amount_whatever_was_lost,
}

/// A reverse test over TCP under way: its control connection, and the connection on which the server sends.
fn reverse(server: &Serve, letter: char, amount: &str) -> (RawClient, TcpStream) {
    let cookie = cookie(letter);
    let mut control = RawClient::connect(server.port, &cookie);
    control.hears(PARAM_EXCHANGE);
    control.say_json(&format!(
        "{{\"tcp\":true,\"time\":0,{amount},\"parallel\":1,\"reverse\":true,\"len\":131072,\"client_version\":\"3.16\"}}"
    ));
    control.hears(CREATE_STREAMS);
    let data = RawClient::connect(server.port, &cookie).0;
    control.hears(TEST_START);
    control.hears(TEST_RUNNING);
    (control, data)
}

/// Ends a test of one stream that has received `bytes`: the server's results.
fn end(mut control: RawClient, bytes: u64) -> Value {
    control.say(&[TEST_END]);
    control.hears(EXCHANGE_RESULTS);
    control.say_json(&results(
        &json!([{"id": 1, "bytes": bytes, "retransmits": -1, "jitter": 0,
                                        "errors": 0, "packets": bytes / 1000}]),
    ));
    let told = control.hears_json();
    control.hears(DISPLAY_RESULTS);
    control.say(&[IPERF_DONE]);
    told
}

fn a_client_that_counts_whole_blocks_gets_its_amount_in_whole_blocks() {
    let server = Serve::start("");
    for (amount, letter, blocks) in [
        ("\"omit\":0,\"num\":100000", 'a', 1),
        ("\"omit\":0,\"num\":131073", 'b', 2),
        ("\"omit\":0,\"blockcount\":3", 'c', 3),
    ] {
        let (control, mut data) = reverse(&server, letter, amount);
        let mut block = vec![0; 131_072];
        for _ in 0..blocks {
            data.read_exact(&mut block).unwrap();
        }
        let told = end(control, blocks * 131_072);
        // No more than the client asked for is sent while it may still end its test.
        assert_eq!(
            told["streams"][0]["bytes"],
            blocks * 131_072,
            "{amount}: {told}"
        );
    }
    server.still_serves();
}

fn a_client_that_has_not_ended_its_test_is_sent_more() {
    let server = Serve::start("");
    // One that counts anew after its warm-up, and one that counts something else than was sent.
    for (amount, letter) in [
        ("\"omit\":1,\"num\":131072", 'o'),
        ("\"omit\":0,\"num\":131072", 'm'),
    ] {
        let (control, mut data) = reverse(&server, letter, amount);
        let mut block = vec![0; 131_072];
        for _ in 0..3 {
            data.read_exact(&mut block).unwrap();
        }
        end(control, 3 * 131_072);
    }
    server.still_serves();
}

fn datagrams_are_sent_until_the_client_has_its_amount_whatever_was_lost() {
    let server = Serve::start("");
    let mut control = RawClient::connect(server.port, &cookie('u'));
    control.hears(PARAM_EXCHANGE);
    control.say_json(
        "{\"udp\":true,\"time\":0,\"num\":10000,\"parallel\":1,\"len\":1000,\"reverse\":true,\"bandwidth\":1000000,\
         \"client_version\":\"3.12\"}",
    );
    control.hears(CREATE_STREAMS);
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", server.port)).unwrap();
    socket.set_read_timeout(Some(SOON)).unwrap();
    socket.send(b"9876").unwrap();
    let mut datagram = [0; 2000];
    assert_eq!(socket.recv(&mut datagram).unwrap(), 4);
    control.hears(TEST_START);
    control.hears(TEST_RUNNING);
    // Half of them never reach the client's count.
    for number in 1..=20_u32 {
        assert_eq!(socket.recv(&mut datagram).unwrap(), 1000);
        assert_eq!(datagram[8..12], number.to_be_bytes());
    }
    let told = end(control, 10_000);
    assert!(
        told["streams"][0]["packets"].as_u64().unwrap() >= 20,
        "{told}"
    );
    server.still_serves();
}
