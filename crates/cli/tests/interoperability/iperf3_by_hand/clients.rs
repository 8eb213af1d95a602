//! Clients of other versions, on our server.

use super::raw::{
    CREATE_STREAMS, DISPLAY_RESULTS, EXCHANGE_RESULTS, IPERF_DONE, PARAM_EXCHANGE, RawClient,
    TEST_END, TEST_RUNNING, TEST_START, cookie, results, versions,
};
use crate::support::{SOON, Serve};
use serde_json::json;
use std::net::{Shutdown, UdpSocket};
use std::time::{Duration, Instant};

trials! {
    clients_of_all_versions_are_served,
    a_hello_of_any_version_is_answered_and_one_that_comes_twice_is_no_payload,
    a_cookie_of_a_version_before_3_2_is_one,
    a_client_that_takes_stamps_for_the_time_of_day_gets_it,
}

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

fn a_cookie_of_a_version_before_3_2_is_one() {
    let server = Serve::start("");
    let mut cookie = *b"host-1.example.1700000000.012345.0ab\0";
    for last in b"abc" {
        cookie[35] = *last;
        let mut control = RawClient::connect(server.port, &cookie);
        control.hears(PARAM_EXCHANGE);
        control.say_json("{\"tcp\":true,\"omit\":0,\"time\":10,\"parallel\":1,\"len\":131072}");
        control.hears(CREATE_STREAMS);
        let mut data = RawClient::connect(server.port, &cookie);
        control.hears(TEST_START);
        control.hears(TEST_RUNNING);
        data.say(&[7; 100_000]);
        control.say(&[TEST_END]);
        control.hears(EXCHANGE_RESULTS);
        control.say_json(&results(
            &json!([{"id": 1, "bytes": 100_000, "retransmits": 0, "jitter": 0,
                                            "errors": 0, "packets": 0}]),
        ));
        assert_eq!(control.hears_json()["streams"][0]["bytes"], 100_000);
        control.hears(DISPLAY_RESULTS);
        control.say(&[IPERF_DONE]);
    }
    server.still_serves();
}

fn a_client_that_takes_stamps_for_the_time_of_day_gets_it() {
    let server = Serve::start("");
    // Versions before 3.7 begin their jitter with the difference of the clocks; those before 3.1 do not tell theirs.
    for (version, letter, is_wall) in [
        ("", 'a', true),
        (",\"client_version\":\"3.1.3\"", 'b', true),
        (",\"client_version\":\"3.12\"", 'c', false),
    ] {
        let mut control = RawClient::connect(server.port, &cookie(letter));
        control.hears(PARAM_EXCHANGE);
        control.say_json(&format!(
            "{{\"udp\":true,\"time\":1,\"parallel\":1,\"len\":1000,\"reverse\":true,\"bandwidth\":1000000{version}}}"
        ));
        control.hears(CREATE_STREAMS);
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", server.port)).unwrap();
        socket.set_read_timeout(Some(SOON)).unwrap();
        socket.send(b"9876").unwrap();
        let mut datagram = [0; 2000];
        assert_eq!(socket.recv(&mut datagram).unwrap(), 4);
        control.hears(TEST_START);
        control.hears(TEST_RUNNING);
        assert_eq!(socket.recv(&mut datagram).unwrap(), 1000);
        let stamp_s = u32::from_be_bytes(datagram[..4].try_into().unwrap());
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let now_s = u32::try_from(now.unwrap().as_secs()).unwrap();
        assert_eq!(
            stamp_s.abs_diff(now_s) < 3600,
            is_wall,
            "{version}: {stamp_s}"
        );
    }
    server.still_serves();
}
