//! Servers of other versions, and servers that break the rules, for our client.

use super::raw::{
    ACCESS_DENIED, CREATE_STREAMS, DISPLAY_RESULTS, EXCHANGE_RESULTS, IPERF_DONE, SERVER_ERROR,
    TEST_END, TEST_RUNNING, TEST_START, our_client, results, server, versions,
};
use crate::support::SOON;
use serde_json::json;
use std::io::{Read, Write};
use std::net::UdpSocket;
use std::time::{Duration, Instant};

trials! {
    servers_of_all_versions_are_understood,
    a_stream_is_half_closed_before_the_end_is_announced_only_where_a_block_was_cut,
    a_server_that_says_no_is_quoted,
    results_that_lie_end_our_client_in_one_line,
    a_hello_that_is_lost_is_said_again_and_not_too_soon,
}

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

fn a_stream_is_half_closed_before_the_end_is_announced_only_where_a_block_was_cut() {
    // Threads of today's servers do nothing but look at the end of a stream, so that they read the announcement late.
    for (bytes, is_cut) in [(20_000, false), (15_000, true)] {
        let (port, thread) = server(move |listener, mut control, _| {
            control.say(&[CREATE_STREAMS]);
            let (mut data, _) = listener.accept().unwrap();
            control.say(&[TEST_START, TEST_RUNNING]);
            let mut payload = vec![0; 37 + bytes];
            data.read_exact(&mut payload).unwrap();
            control.hears(TEST_END);
            data.set_nonblocking(true).unwrap();
            assert_eq!(data.read(&mut [0]).is_ok(), is_cut, "{bytes}");
            control.say(&[EXCHANGE_RESULTS]);
            let _ = control.hears_json();
            control.say_json(&results(
                &json!([{"id": 1, "bytes": bytes, "retransmits": 0, "jitter": 0,
                                               "errors": 0, "packets": 0}]),
            ));
            control.say(&[DISPLAY_RESULTS]);
            control.hears(IPERF_DONE);
        });
        let ended = our_client(port, &format!("-n {bytes} -l 10000 -J"));
        thread.join().unwrap();
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
}

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
