//! Clients that break the rules.

use super::raw::{
    ACCESS_DENIED, CREATE_STREAMS, EXCHANGE_RESULTS, PARAM_EXCHANGE, RawClient, SERVER_ERROR,
    TEST_END, TEST_RUNNING, TEST_START, cookie, results,
};
use crate::support::{SOON, Serve, caudal, run};
use serde_json::json;
use std::io::Read;
use std::net::UdpSocket;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    whatever_a_client_sends_as_its_parameters_costs_itself_only,
    a_length_that_lies_is_refused_before_anything_is_kept_for_it,
    slow_and_silent_clients_keep_nobody_waiting,
    a_stream_with_another_cookie_is_no_stream_of_the_test,
    hellos_over_udp_reach_only_the_test_of_their_own_address_one_after_another,
    clients_that_vanish_anywhere_leave_the_server_as_it_was,
}

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
