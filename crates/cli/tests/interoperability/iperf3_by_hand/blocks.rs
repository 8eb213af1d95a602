//! The blocks in which TCP is sent, for peers that count or read nothing else, and the clock of a test.

use super::raw::{
    CREATE_STREAMS, DISPLAY_RESULTS, EXCHANGE_RESULTS, IPERF_DONE, PARAM_EXCHANGE, RawClient,
    TEST_END, TEST_RUNNING, TEST_START, cookie, our_client, results, server,
};
use crate::support::{SOON, Serve};
use serde_json::json;
use std::io::Read;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    a_client_that_keeps_a_rate_writes_whole_blocks,
    a_server_that_keeps_a_rate_writes_whole_blocks,
    a_last_block_that_is_not_whole_ends_its_stream_before_the_test_ends,
    a_test_of_both_directions_lasts_its_time_from_the_start_that_the_server_announced,
}

/// Ends the dialogue of a server whose client has ended the test: the bytes that the client reports to have sent.
fn finish(mut control: RawClient, streams: &serde_json::Value) -> u64 {
    control.say(&[EXCHANGE_RESULTS]);
    let told = control.hears_json();
    control.say_json(&results(streams));
    control.say(&[DISPLAY_RESULTS]);
    control.hears(IPERF_DONE);
    told["streams"][0]["bytes"].as_u64().unwrap()
}

fn a_client_that_keeps_a_rate_writes_whole_blocks() {
    let (port, thread) = server(|listener, mut control, _| {
        control.say(&[CREATE_STREAMS]);
        let (mut data, _) = listener.accept().unwrap();
        data.set_read_timeout(Some(SOON)).unwrap();
        control.say(&[TEST_START, TEST_RUNNING]);
        // At this rate a block would take more than two minutes in smaller pieces.
        let mut block = vec![0; 37 + 131_072];
        data.read_exact(&mut block).unwrap();
        control.hears(TEST_END);
        let streams = json!([{"id": 1, "bytes": 131_072, "retransmits": -1, "jitter": 0, "errors": 0,
                              "packets": 0}]);
        assert_eq!(finish(control, &streams), 131_072);
    });
    our_client(port, "-t 1 -b 8K").done();
    thread.join().unwrap();
}

fn a_server_that_keeps_a_rate_writes_whole_blocks() {
    let server = Serve::start("");
    let cookie = cookie('r');
    let mut control = RawClient::connect(server.port, &cookie);
    control.hears(PARAM_EXCHANGE);
    control.say_json(
        "{\"tcp\":true,\"time\":10,\"reverse\":true,\"len\":131072,\"bandwidth\":8000,\"client_version\":\"3.16\"}",
    );
    control.hears(CREATE_STREAMS);
    let mut data = RawClient::connect(server.port, &cookie);
    control.hears(TEST_START);
    control.hears(TEST_RUNNING);
    let mut block = vec![0; 131_072];
    data.0.read_exact(&mut block).unwrap();
}

/// Versions from 3.16 on count a block that is not whole when its stream ends; 3.0.1 reads nothing else until then.
fn a_last_block_that_is_not_whole_ends_its_stream_before_the_test_ends() {
    let (port, thread) = server(|listener, mut control, _| {
        control.say(&[CREATE_STREAMS]);
        let (mut data, _) = listener.accept().unwrap();
        data.set_read_timeout(Some(SOON)).unwrap();
        control.say(&[TEST_START, TEST_RUNNING]);
        let mut payload = Vec::new();
        data.read_to_end(&mut payload).unwrap();
        assert_eq!(payload.len(), 37 + 100_000);
        control.hears(TEST_END);
        let streams = json!([{"id": 1, "bytes": 100_000, "retransmits": -1, "jitter": 0, "errors": 0,
                              "packets": 0}]);
        assert_eq!(finish(control, &streams), 100_000);
    });
    our_client(port, "-n 100000").done();
    thread.join().unwrap();
}

/// A server before 3.10 sends one state after the other with Nagle's algorithm: datagrams overtake the second.
fn a_test_of_both_directions_lasts_its_time_from_the_start_that_the_server_announced() {
    let (port, thread) = server(|listener, mut control, _| {
        let port = listener.local_addr().unwrap().port();
        let socket = UdpSocket::bind(("127.0.0.1", port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        control.say(&[CREATE_STREAMS]);
        let mut hello = [0; 8];
        let (_, up) = socket.recv_from(&mut hello).unwrap();
        socket.send_to(b"6789", up).unwrap();
        let (_, down) = socket.recv_from(&mut hello).unwrap();
        socket.send_to(b"6789", down).unwrap();
        control.say(&[TEST_START]);
        for number in 1..=3_u32 {
            let mut datagram = [0; 1000];
            datagram[8..12].copy_from_slice(&number.to_be_bytes());
            socket.send_to(&datagram, down).unwrap();
        }
        thread::sleep(Duration::from_millis(500));
        let began = Instant::now();
        control.say(&[TEST_RUNNING]);
        control.hears(TEST_END);
        assert!(began.elapsed() >= Duration::from_secs(1));
        let stream =
            json!({"bytes": 3000, "retransmits": -1, "jitter": 0, "errors": 0, "packets": 3});
        let (mut first, mut second) = (stream.clone(), stream);
        first["id"] = json!(1);
        second["id"] = json!(3);
        finish(control, &json!([first, second]));
    });
    let ended = our_client(port, "-u --bidir -t 1 -l 1000 -b 80K -J").done();
    thread.join().unwrap();
    let received = &ended.json()["end"]["sum_received_bidir_reverse"];
    assert_eq!(received["bytes"], 3000, "{received}");
}
