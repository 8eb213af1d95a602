//! Bad input and faults: each is one clear line, the documented exit code and a bounded time; what was
//! measured is still reported, and the server and its other clients go on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod support;

use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use support::peer::{Fake, Instead, RawClient, STEPS, Step, plan};
use support::relay::{Relay, Which};
use support::{Running, Serve, assert_reported, caudal, run, run_caudal, warnings};

const DONE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const PEER: i32 = 3;
const NOT_PERMITTED: i32 = 4;

fn client_of(port: u16, words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = caudal(words.next());
    command
        .args(["127.0.0.1", "-p", &port.to_string()])
        .args(words);
    command
}

// Nobody there, or somebody else.

#[test]
fn an_unknown_host_is_named() {
    for kind in ["tcp", "udp"] {
        run_caudal(&format!("{kind} nowhere.invalid -t 1")).failed(PEER, &["nowhere.invalid"]);
    }
}

#[test]
fn a_closed_port_is_refused_at_once_with_advice() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    for kind in ["tcp", "udp"] {
        let ended = run(&mut client_of(port, kind), Duration::from_secs(5));
        ended.failed(PEER, &[&port.to_string(), "refused", "caudal serve"]);
    }
}

#[test]
fn a_listener_that_never_accepts_is_given_up() {
    // The kernel completes the connection; nobody is behind it.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let ended = run(&mut client_of(port, "tcp"), Duration::from_secs(12));
    ended.failed(PEER, &["sent nothing", "caudal serve"]);
}

#[test]
fn other_programs_on_the_port_are_recognised() {
    let cases: [(&'static [u8], &str); 4] = [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "web server"),
        (b"SSH-2.0-OpenSSH_9.2\r\n", "SSH"),
        (b"220 mail.example ESMTP\r\n", "220 mail"),
        (b"", "closed the connection"),
    ];
    for (says, recognised) in cases {
        let fake = Fake::start(move |mut stream| {
            let mut preamble = [0; 32];
            let _ = stream.read_exact(&mut preamble);
            let _ = stream.write_all(says);
        });
        let ended = run(&mut client_of(fake.port, "tcp"), Duration::from_secs(12));
        ended.failed(PEER, &["does not speak", recognised]);
    }
}

#[test]
fn versions_that_do_not_fit_are_reported_by_both_ends() {
    let fake = Fake::start(|mut stream| {
        let mut preamble = [0; 32];
        let _ = stream.read_exact(&mut preamble);
        let _ = stream.write_all(b"CAUDAL\x09W");
        let _ = stream.read(&mut preamble);
    });
    let ended = run(&mut client_of(fake.port, "tcp"), Duration::from_secs(12));
    ended.failed(PEER, &["protocol 9", "update the older"]);

    let server = Serve::start("");
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(10)))
        .unwrap();
    let mut preamble = *b"CAUDAL\x09C________________________";
    preamble[8..].fill(0);
    stream.write_all(&preamble).unwrap();
    let mut answer = [0; 12];
    stream.read_exact(&mut answer).unwrap();
    assert_eq!(answer[..6], *b"CAUDAL");
    assert_eq!(answer[7], b'R', "a refusal, whatever the version");
    let mut reason = String::new();
    stream.read_to_string(&mut reason).unwrap();
    assert!(
        reason.contains("protocol 9") && reason.contains("version"),
        "{reason}"
    );
    server.still_serves();
}

#[test]
fn a_full_server_says_so_and_the_client_inside_notices_nothing() {
    let server = Serve::start("--max-clients 1");
    let inside = Running::start(&mut server.client("tcp -t 4 -b 10M --json"));
    server.running.line_with("TCP upload");
    server
        .serves("tcp -t 1")
        .failed(PEER, &["places are taken", "--max-clients"]);
    let run = inside.wait(Duration::from_secs(20)).done().json();
    assert!(!warnings(&run).contains(&"cut_short".to_owned()), "{run}");
    server.still_serves();
}

#[test]
fn a_client_of_a_full_server_waits_for_a_slot_that_becomes_free() {
    let server = Serve::start("--max-clients 1");
    let inside = RawClient::welcomed(server.port);
    let newcomer = Running::start(&mut server.client("tcp -n 100K --json"));
    thread::sleep(Duration::from_millis(100));
    drop(inside);
    newcomer.wait(Duration::from_secs(20)).done();
}

#[test]
fn a_network_that_is_not_allowed_is_turned_away() {
    let server = Serve::start("--allow 192.0.2.0/24");
    for _ in 0..3 {
        server
            .serves("udp -t 1")
            .failed(PEER, &["127.0.0.1 is not among the networks", "--allow"]);
    }
    let server = Serve::start("--allow 192.0.2.0/24,127.0.0.0/8");
    server.still_serves();
}

// A peer that misbehaves.

#[test]
fn a_server_that_misbehaves_at_any_step_costs_its_client_a_bounded_time() {
    let ways = [
        Instead::Nothing,
        Instead::Close,
        Instead::Garbage,
        Instead::TwoGigabytes,
        Instead::AnotherMessage,
        Instead::Chatter,
        Instead::Extremes,
    ];
    let all: Vec<_> = STEPS
        .into_iter()
        .flat_map(|step| ways.into_iter().map(move |instead| (step, instead)))
        .flat_map(|(step, instead)| ["tcp", "udp"].map(|kind| (step, instead, kind)))
        .collect();
    // Together: most of them spend their time waiting.
    let mut wrong = Vec::new();
    for some in all.chunks(28) {
        let started: Vec<_> = some
            .iter()
            .map(|(step, instead, kind)| {
                let fake = Fake::server(*step, *instead);
                let running = Running::start(&mut client_of(fake.port, &format!("{kind} -t 1")));
                (*step, *instead, *kind, fake, running)
            })
            .collect();
        let until = Instant::now() + Duration::from_secs(25);
        for (step, instead, kind, _fake, mut running) in started {
            while !running.is_over() && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            if !running.is_over() {
                wrong.push(format!("{kind}: {instead:?} at {step:?}: still running"));
                continue;
            }
            let ended = running.wait(Duration::from_secs(1));
            let measured = ended.stdout.contains("upload: ");
            let lines = ended.stderr.lines().count();
            let panicked = ended.stderr.contains("panicked");
            let code = ended.code.unwrap_or(-1);
            // A fake that ends a test in the right form has ended it.
            let fair = instead == Instead::Extremes && code == DONE;
            if panicked
                || !(fair || code == PEER || code == FAILED)
                || lines > 1
                || !measured && lines == 0
            {
                wrong.push(format!("{kind}: {instead:?} at {step:?}: {ended:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// How long a server may put up with a client that leads nowhere.
const MOST: Duration = Duration::from_secs(16);

fn gone_within(mut hand: RawClient, what: &str) {
    let took = hand.until_gone();
    assert!(took < MOST, "{what}: the server held on for {took:?}");
}

fn offered(port: u16) -> (RawClient, Value) {
    let mut hand = RawClient::welcomed(port);
    hand.say(&json!({"say": "offer", "plan": plan()}));
    let accepted = hand.hear_other_than_alive();
    assert_eq!(accepted["say"], "accepted", "{accepted}");
    (hand, accepted)
}

fn attached(port: u16) -> (RawClient, TcpStream) {
    let (mut hand, accepted) = offered(port);
    let data = data_connection(port, accepted["token"].as_str().unwrap(), 0);
    assert_eq!(hand.hear_other_than_alive()["say"], "ready");
    (hand, data)
}

fn data_connection(port: u16, token: &str, flow: u32) -> TcpStream {
    let token = caudal_wire::preamble::TestToken::from_hex(token).unwrap();
    let mut data = TcpStream::connect(("127.0.0.1", port)).unwrap();
    data.set_read_timeout(Some(Duration::from_secs(20)))
        .unwrap();
    data.write_all(&caudal_wire::preamble::Purpose::Data { token, flow }.encode())
        .unwrap();
    data
}

#[test]
fn a_client_that_misbehaves_at_any_step_costs_itself_only() {
    let server = Serve::start("--idle-timeout 3s");
    let innocent = Running::start(&mut server.client("tcp -t 12 -b 10M --json"));
    let port = server.port;
    let mut at_once: Vec<thread::JoinHandle<()>> = Vec::new();
    let mut step = |test: Box<dyn FnOnce() + Send>| at_once.push(thread::spawn(test));

    step(Box::new(move || {
        let silent = RawClient::over(TcpStream::connect(("127.0.0.1", port)).unwrap());
        gone_within(silent, "says nothing at all");
    }));
    step(Box::new(move || {
        let mut slow = TcpStream::connect(("127.0.0.1", port)).unwrap();
        let began = Instant::now();
        for byte in b"CAUDAL\x01C".iter().cycle() {
            if slow.write_all(&[*byte]).is_err() || began.elapsed() > MOST {
                break;
            }
            thread::sleep(Duration::from_millis(700));
        }
        assert!(
            began.elapsed() < MOST,
            "a preamble byte by byte is listened to for too long"
        );
    }));
    step(Box::new(move || {
        let mut stranger = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stranger
            .write_all(b"GET / HTTP/1.1\r\nHost: example\r\n\r\n")
            .unwrap();
        let mut hand = RawClient::over(stranger);
        assert!(
            hand.until_gone() < Duration::from_secs(5),
            "a web browser is shown out at once"
        );
    }));
    step(Box::new(move || {
        gone_within(RawClient::greeted(port), "never says hello");
    }));
    step(Box::new(move || {
        let mut slow = RawClient::greeted(port);
        let began = Instant::now();
        let mut bytes = 4_000_u32.to_be_bytes().to_vec();
        bytes.resize(4004, b' ');
        for byte in bytes {
            if slow.stream.write_all(&[byte]).is_err() || began.elapsed() > MOST {
                break;
            }
            thread::sleep(Duration::from_millis(200));
        }
        assert!(
            began.elapsed() < MOST,
            "a hello byte by byte is listened to for too long"
        );
    }));
    for garbage in [
        &[0x80, 0, 0, 0][..],
        &[0, 0, 0, 3, 0xff, 0xfe, 0xfd],
        b"\0\0\0\x10[[[[[[[[[[[[[[[[",
    ] {
        step(Box::new(move || {
            let mut hand = RawClient::welcomed(port);
            hand.stream.write_all(garbage).unwrap();
            assert_eq!(
                hand.hear_other_than_alive()["say"],
                "refused",
                "{garbage:?}"
            );
            assert!(hand.until_gone() < Duration::from_secs(5), "{garbage:?}");
        }));
    }
    step(Box::new(move || {
        let mut hand = RawClient::welcomed(port);
        let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        let _ = hand.stream.write_all(&(nested.len() as u32).to_be_bytes());
        let _ = hand.stream.write_all(nested.as_bytes());
        assert_eq!(hand.hear_other_than_alive()["say"], "refused");
    }));
    step(Box::new(move || {
        gone_within(RawClient::welcomed(port), "asks for nothing");
    }));
    step(Box::new(move || {
        let mut hand = RawClient::welcomed(port);
        let began = Instant::now();
        // Signs of life alone do not hold a place for ever.
        while began.elapsed() < MOST && hand.hear().is_some() {
            hand.say(&json!({"say": "ping", "t1": i64::MAX}));
            hand.say(&json!({"say": "alive"}));
        }
        assert!(began.elapsed() < MOST);
    }));
    for (what, value) in [
        ("parallel", json!(0)),
        ("parallel", json!(4_000_000_000_u32)),
        ("length", json!(0)),
        ("length", json!(u32::MAX)),
        ("rate", json!({"limit": 1})),
        ("rate", json!({"limit": u64::MAX})),
        ("end", json!({"time_ns": u64::MAX})),
        ("end", json!({"bytes": 0})),
        ("interval_ns", json!(0)),
        ("mss", json!(1)),
        ("dscp", json!(255)),
        ("window", json!(u64::MAX)),
        ("congestion", json!("../../../etc/passwd")),
        ("congestion", json!("x".repeat(100_000))),
        ("transport", json!("carrier pigeon")),
    ] {
        step(Box::new(move || {
            let mut hand = RawClient::welcomed(port);
            let mut plan = plan();
            plan[what] = value.clone();
            hand.say(&json!({"say": "offer", "plan": plan}));
            let mut answer = hand.hear_other_than_alive();
            if answer["say"] == "accepted" {
                // What only a kernel can judge is judged when the connections are there.
                let _data = data_connection(port, answer["token"].as_str().unwrap(), 0);
                answer = hand.hear_other_than_alive();
            }
            assert_eq!(answer["say"], "refused", "{what} {value}");
            let message = answer["message"].as_str().unwrap();
            assert!(message.len() < 1000, "{message}");
        }));
    }
    step(Box::new(move || {
        gone_within(offered(port).0, "offers and never connects");
    }));
    step(Box::new(move || {
        let (mut hand, _) = offered(port);
        let began = Instant::now();
        while began.elapsed() < MOST && hand.hear().is_some() {
            hand.say(&json!({"say": "ping", "t1": 1}));
        }
        // Nothing is heard unless asked, so ask first.
        let mut hand = offered(port).0;
        hand.say(&json!({"say": "ping", "t1": 1}));
        while began.elapsed() < 2 * MOST && hand.hear().is_some_and(|m| m["say"] != "refused") {
            hand.say(&json!({"say": "ping", "t1": 1}));
        }
        assert!(
            began.elapsed() < 2 * MOST,
            "questions hold a test open for ever"
        );
    }));
    step(Box::new(move || {
        let (_hand, accepted) = offered(port);
        let token = accepted["token"].as_str().unwrap();
        // A flow that is not in the plan, and one that is there twice.
        let other = data_connection(port, token, 77);
        let twins = [(); 2].map(|()| data_connection(port, token, 0));
        let attached = |mut data: TcpStream| {
            let mut answer = [0; ANSWER_BYTES];
            data.read_exact(&mut answer).is_ok() && answer == PreambleAnswer::Attached.encode()
        };
        // Which of the two is first is the kernel's to say; the other one is refused or hung up on.
        assert_eq!(
            twins
                .into_iter()
                .filter_map(|data| attached(data).then_some(()))
                .count(),
            1,
            "one flow is attached once"
        );
        assert!(
            !attached(other),
            "a flow that is not in the plan was attached"
        );
    }));
    step(Box::new(move || {
        let mut data = data_connection(port, &"00".repeat(16), 0);
        let mut answer = Vec::new();
        data.read_to_end(&mut answer).unwrap();
        assert_eq!(
            answer[..8],
            *b"CAUDAL\x01R",
            "a token nobody gave is refused"
        );
    }));
    step(Box::new(move || {
        let (hand, _data) = attached(port);
        gone_within(hand, "never starts");
    }));
    step(Box::new(move || {
        let (mut hand, _data) = attached(port);
        let began = Instant::now();
        while began.elapsed() < MOST {
            hand.say(&json!({"say": "ping", "t1": 1}));
            match hand.hear() {
                Some(message) if message["say"] != "refused" => {
                    thread::sleep(Duration::from_millis(50));
                }
                _ => break,
            }
        }
        assert!(
            began.elapsed() < MOST,
            "questions put the start off for ever"
        );
    }));
    step(Box::new(move || {
        let (mut hand, _data) = attached(port);
        hand.say(&json!({"say": "start"}));
        gone_within(hand, "starts and sends nothing");
    }));
    step(Box::new(move || {
        let (mut hand, data) = attached(port);
        hand.say(&json!({"say": "start"}));
        drop(data);
        hand.say(&json!({"say": "stop", "now": true, "sent": [[0, u64::MAX], [9, 1]]}));
        while !matches!(
            hand.hear_other_than_alive()["say"].as_str(),
            Some("finished") | None
        ) {}
        hand.say(&json!({"say": "start"}));
        assert_eq!(
            hand.hear_other_than_alive()["say"],
            "refused",
            "nothing was offered that could start"
        );
    }));
    step(Box::new(move || {
        // Vanishes without reading its refusal, over and over.
        for _ in 0..50 {
            let mut hand = RawClient::greeted(port);
            let _ = hand.stream.write_all(&0x8000_0000_u32.to_be_bytes());
        }
    }));
    step(Box::new(move || {
        // Datagrams of every kind to the server's port, none of them an answer to anything.
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        for length in [0, 1, 31, 32, 63, 64, 65, 1472] {
            for byte in [0, 0xCA, 0xff] {
                let _ = socket.send_to(&vec![byte; length], ("127.0.0.1", port));
            }
        }
        socket
            .set_read_timeout(Some(Duration::from_millis(300)))
            .unwrap();
        assert!(
            socket.recv(&mut [0; 2048]).is_err(),
            "a stranger was answered"
        );
    }));
    let failed: Vec<_> = at_once
        .into_iter()
        .filter_map(|step| step.join().err())
        .collect();
    let innocent = innocent.wait(Duration::from_secs(40)).done().json();
    assert!(
        failed.is_empty(),
        "{} steps failed, see above",
        failed.len()
    );
    assert!(
        warnings(&innocent).iter().all(|code| code != "cut_short"),
        "{innocent}"
    );
    let goodput = innocent["summary"]["goodput_bps"]["mean"].as_f64().unwrap();
    assert!(
        (goodput / 10e6 - 1.0).abs() < 0.05,
        "the innocent client was slowed to {goodput}"
    );
    server.still_serves();
}

#[test]
fn connections_that_never_say_what_they_are_do_not_keep_others_out() {
    let server = Serve::start("");
    let mut idle: Vec<TcpStream> = Vec::new();
    for _ in 0..600 {
        idle.extend(TcpStream::connect(("127.0.0.1", server.port)));
    }
    server.still_serves();
    drop(idle);
    server.still_serves();
}

// Cut in the middle.

#[test]
fn a_server_killed_in_the_middle_leaves_the_intervals_and_code_3() {
    for words in [
        "tcp -t 20 -b 10M -i 0.5",
        "tcp -t 20 -b 10M -i 0.5 -R",
        "udp -t 20 -b 1M -i 0.5 --bidir",
    ] {
        let mut server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        server.running.kill();
        let ended = client.wait(Duration::from_secs(15));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert_reported(&ended);
        assert!(ended.stdout.contains(" 0.00-"), "{ended:#?}");
    }
}

#[test]
fn a_client_killed_in_the_middle_frees_its_place() {
    let server = Serve::start("--max-clients 1");
    for words in ["tcp -t 30", "tcp -t 30 -R", "udp -t 30 -b 10M --bidir"] {
        let mut client = Running::start(&mut server.client(words));
        server.running.line_with("flow(s)");
        client.kill();
        server.running.line_with("left");
        server.still_serves();
        // The newcomers' own lines.
        server.running.line_with("left");
        server.running.line_with("left");
    }
}

#[test]
fn a_control_connection_cut_while_data_flows_ends_the_test_with_what_was_measured() {
    for words in ["tcp -t 20 -b 10M -i 0.5", "tcp -t 20 -b 10M -i 0.5 -R"] {
        let server = Serve::start("");
        let relay = Relay::to(server.port);
        let client = Running::start(&mut client_of(relay.port, words));
        client.two_intervals();
        relay.cut(Which::Control);
        let ended = client.wait(Duration::from_secs(15));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert_reported(&ended);
        server.running.line_with("left");
        server.still_serves();
    }
}

#[test]
fn a_control_connection_that_goes_dead_is_given_up_by_both_sides() {
    let server = Serve::start("--max-clients 1");
    let relay = Relay::to(server.port);
    let client = Running::start(&mut client_of(relay.port, "tcp -t 60 -b 10M -i 0.5"));
    client.two_intervals();
    relay.hush();
    let ended = client.wait(Duration::from_secs(25));
    assert_eq!(ended.code, Some(PEER), "{ended:#?}");
    assert_reported(&ended);
    server.running.line_with("left");
    server.still_serves();
}

#[test]
fn data_connections_cut_while_control_lives_are_reported_as_failed_flows() {
    for words in ["tcp -t 3 -b 10M --json", "tcp -t 3 -b 10M --json -R"] {
        let server = Serve::start("");
        let relay = Relay::to(server.port);
        let client = Running::start(&mut client_of(relay.port, words));
        server.running.line_with("flow(s)");
        thread::sleep(Duration::from_millis(700));
        relay.cut(Which::Data);
        let ended = client.wait(Duration::from_secs(20));
        let run = ended.json();
        assert!(
            warnings(&run).contains(&"flow_failed".to_owned()),
            "{words}: {ended:#?}"
        );
        assert!(
            run["flows"][0]["receiver"]["bytes"].as_u64() > Some(100_000),
            "{ended:#?}"
        );
        assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
        server.still_serves();
    }
}

#[test]
fn a_round_trip_test_is_cut_short_as_cleanly() {
    for proto in ["tcp", "udp"] {
        let words = format!("rtt --proto {proto} --sizes 64 --count 2000000 --clients 2");
        let mut server = Serve::start("");
        let client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        thread::sleep(Duration::from_millis(700));
        server.running.kill();
        let ended = client.wait(Duration::from_secs(25));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert!(
            !ended.stderr.contains("panicked") && ended.stderr.lines().count() <= 1,
            "{ended:#?}"
        );

        let server = Serve::start("--max-clients 1");
        let client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        thread::sleep(Duration::from_millis(700));
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        server.running.line_with("left");
        let mut client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        client.kill();
        server.running.line_with("left");
        server.still_serves();
    }
}

// Asked for what cannot be.

#[test]
fn numbers_beyond_their_ranges_are_bad_usage_before_anybody_is_bothered() {
    let cases = [
        "tcp -l 0",
        "tcp -l 17Mi",
        "tcp -l 99999999999999999999",
        "tcp -n 0",
        "tcp -t 0",
        "tcp -t 1000000h",
        "tcp -t -1",
        "tcp -i 0",
        "tcp -P 0",
        "tcp -P 1025",
        "tcp -P 99999999999",
        "tcp -b 99999999999999999999999",
        "tcp -b 0",
        "tcp -b 18446744073709551616",
        "tcp -b NaN",
        "tcp -b -5M",
        "tcp -M 1",
        "tcp --dscp 64",
        "tcp --dscp 256",
        "tcp -p 65536",
        "tcp --repeat 0",
        "tcp --confidence 2",
        "tcp --until 0%",
        "tcp -A 100000",
        "tcp -w 0",
        "tcp --frobnicate",
        "udp -l 31",
        "udp -l 65508",
        "udp --find-rate 90%",
        "tcp -p 0",
        "tcp --link-rate 0",
        "serve --max-rate 999",
        "serve --max-time 0",
        "serve --max-clients 0",
        "serve --idle-timeout 0s",
        "serve --allow 192.0.2.0/33",
        "serve --max-rate x",
        "",
    ];
    for words in cases {
        // A peer that is not there shows that it was not asked.
        let with_peer = match words.split_once(' ') {
            Some((kind @ ("tcp" | "udp"), rest)) => format!("{kind} nowhere.invalid {rest}"),
            _ => words.to_owned(),
        };
        let ended = run_caudal(&with_peer);
        assert_eq!(ended.code, Some(USAGE), "{words}: {ended:#?}");
        assert!(
            !ended.stderr.is_empty() && !ended.stderr.contains("panicked"),
            "{words}: {ended:#?}"
        );
    }
}

#[test]
fn a_window_the_kernel_does_not_grant_is_a_warning() {
    let server = Serve::start("");
    let run = server.serves("tcp -t 0.3 -w 1G --json").done().json();
    assert!(
        warnings(&run).iter().any(|code| code.contains("window")),
        "{:?}",
        warnings(&run)
    );
}

#[test]
fn a_congestion_control_that_does_not_exist_is_not_permitted() {
    let server = Serve::start("");
    server
        .serves("tcp -t 1 -C warp")
        .failed(NOT_PERMITTED, &["\"warp\"", "choose one of"]);
    // The server sends: its kernel refuses the congestion control.
    server
        .serves("tcp -t 1 -C warp -R")
        .failed(PEER, &["\"warp\"", "its own kernel"]);
    server.still_serves();
}

#[test]
fn an_interface_or_address_that_is_not_here_is_named() {
    let server = Serve::start("");
    server
        .serves("tcp -t 1 -B 203.0.113.77")
        .failed(NOT_PERMITTED, &["203.0.113.77"]);
    server
        .serves("udp -t 1 --device nosuch0")
        .failed(NOT_PERMITTED, &["nosuch0"]);
    server.serves("tcp -t 1 -B ::1").failed(USAGE, &["--bind"]);
}

#[test]
fn two_servers_do_not_share_a_port() {
    let server = Serve::start("");
    run_caudal(&format!("serve -p {}", server.port)).failed(NOT_PERMITTED, &["in use", "-p"]);
    server.still_serves();
}

// Nowhere to write.

#[test]
fn a_full_disk_costs_the_file_and_not_the_result() {
    for words in [
        "tcp -t 0.3 --json -o /dev/full",
        "tcp -t 0.3 -o /dev/full",
        "udp -t 0.3 --csv -o /dev/full",
    ] {
        let ended = run_caudal(words).failed(FAILED, &["/dev/full", "the disk is full"]);
        assert!(!ended.stdout.is_empty(), "the result is lost: {ended:#?}");
    }
    let ended =
        run_caudal("tcp -t 5 --json -o /nowhere/run.json").failed(FAILED, &["/nowhere/run.json"]);
    assert!(
        ended.took < Duration::from_secs(4),
        "reported before anything was measured: {ended:#?}"
    );
}

#[test]
fn a_reader_that_goes_away_ends_the_test_with_one_line_and_code_1() {
    for words in [
        "tcp -t 60 -i 0.1",
        "udp -t 60 -i 0.1 --json-stream",
        "udp -b 1M --find-rate 0 -t 1",
        "tcp -t 1 --json",
        "rtt --count 10",
    ] {
        let mut command = caudal(words.split_whitespace());
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let until = Instant::now() + Duration::from_secs(15);
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if Instant::now() > until {
                let _ = child.kill();
                panic!("{words}: still running");
            }
            thread::sleep(Duration::from_millis(10));
        };
        let mut said = String::new();
        child
            .stderr
            .take()
            .unwrap()
            .read_to_string(&mut said)
            .unwrap();
        assert_eq!(status.code(), Some(FAILED), "{words}");
        assert!(
            said.lines().count() == 1
                && said.starts_with("caudal: nobody reads standard output any more"),
            "{words}: {said}"
        );
    }
}

#[test]
fn quiet_shows_the_closing_block_beside_data_in_a_file() {
    let file = std::env::temp_dir().join(format!("caudal-quiet-{}", std::process::id()));
    for (words, closing) in [
        ("tcp -t 0.3 --json -q", "upload: "),
        ("udp -t 0.3 --csv -q", "upload: "),
        ("rtt --count 10 --sizes 64 --json -q", "64 B: "),
    ] {
        let ended = run_caudal(&format!("{words} -o {}", file.display())).done();
        assert!(
            ended.stdout.starts_with(closing) || ended.stdout.contains(&format!("\n{closing}")),
            "{words}: {ended:#?}"
        );
        assert!(!ended.stdout.contains("with this machine"), "{ended:#?}");
    }
    let _ = std::fs::remove_file(file);
}

#[test]
fn a_file_without_content_is_bad_usage() {
    for (path, why) in [
        ("/tmp", "directory"),
        ("/nowhere/file", "No such file"),
        ("/dev/null", "is empty"),
        ("-", "standard input is empty"),
    ] {
        run_caudal(&format!("tcp -F {path}")).failed(USAGE, &[why]);
    }
}

#[test]
fn a_run_cut_short_leaves_the_last_complete_one_in_the_closing_block() {
    let server = Serve::start("");
    let client = Running::start(&mut server.client("tcp -t 1 -b 10M --repeat 9"));
    server.running.line_with("flow(s)");
    server.running.line_with("done in");
    server.running.line_with("flow(s)");
    thread::sleep(Duration::from_millis(400));
    client.signal("INT");
    let ended = client.wait(Duration::from_secs(8));
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    for line in ["run 1, the last complete one, up:", "run 2 was cut short"] {
        assert!(ended.stdout.contains(line), "{line}: {ended:#?}");
    }
}

#[test]
fn no_row_is_wider_than_80_columns() {
    for words in [
        "tcp -t 0.4 -i 0.1 --omit 0.2 --bidir -P 2",
        "udp -t 0.4 -i 0.1 --omit 0.2 -b 10M",
        "udp --find-rate 1% -b 5M -t 0.3",
        "rtt --count 20",
    ] {
        let ended = run_caudal(words);
        for line in ended.stdout.lines() {
            assert!(line.chars().count() <= 80, "{words}: {line}");
        }
    }
}

// Told to stop.

#[test]
fn an_interrupted_client_still_reports_and_so_does_its_server() {
    for words in [
        "tcp -t 30 -b 10M -i 0.5",
        "tcp -t 30 -i 0.5 -R",
        "udp -t 30 -b 1M -i 0.5 --bidir",
        "tcp -i 0.5 -n 1T",
    ] {
        let server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
        assert_reported(&ended);
        assert!(ended.stdout.contains("interrupted"), "{ended:#?}");
        let line = server.running.line_with("done in");
        assert!(!line.contains(" 0 B received, 0 B sent"), "{line}");
        server.running.line_with("left");
        server.still_serves();
    }
}

#[test]
fn an_interrupted_client_keeps_its_json_whole() {
    let server = Serve::start("");
    let client = Running::start(&mut server.client("udp -t 30 -b 5M -l 1000 --json"));
    server.running.line_with("flow(s)");
    thread::sleep(Duration::from_millis(1500));
    client.signal("TERM");
    let ended = client.wait(Duration::from_secs(8));
    let run = ended.json();
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    assert!(warnings(&run).contains(&"cut_short".to_owned()), "{run}");
    let loss = &run["summary"]["directions"][0]["loss"];
    assert_eq!(loss["lost"], 0, "what was not sent is not lost: {loss}");
    assert!(loss["received"].as_u64() > Some(100), "{loss}");
}

#[test]
fn interrupted_before_anything_was_measured_is_said_in_one_line() {
    for step in [
        Step::Preamble,
        Step::Welcome,
        Step::Pong,
        Step::Accept,
        Step::Attach,
        Step::Ready,
    ] {
        let fake = Fake::server(step, Instead::Nothing);
        let client = Running::start(&mut client_of(fake.port, "tcp -t 5"));
        thread::sleep(Duration::from_millis(600));
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(3));
        ended.failed(FAILED, &["interrupted"]);
    }
}

#[test]
fn the_message_that_all_is_open_may_overtake_the_answer_of_a_connection() {
    let fake = Fake::server(Step::Attach, Instead::Late);
    let client = Running::start(&mut client_of(fake.port, "tcp -t 30"));
    thread::sleep(Duration::from_millis(1500));
    client.signal("INT");
    thread::sleep(Duration::from_millis(300));
    client.signal("INT");
    let ended = client.wait(Duration::from_millis(2500));
    assert!(!ended.stderr.contains("protocol"), "{ended:#?}");
}

#[test]
fn a_second_interrupt_does_not_wait_for_a_peer_that_is_silent() {
    let fake = Fake::server(Step::Finish, Instead::Nothing);
    let client = Running::start(&mut client_of(fake.port, "tcp -t 30"));
    thread::sleep(Duration::from_millis(1000));
    client.signal("INT");
    thread::sleep(Duration::from_millis(300));
    client.signal("INT");
    let ended = client.wait(Duration::from_millis(2500));
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
}

#[test]
fn a_server_that_is_stopped_lets_both_ends_report() {
    for (signal, words) in [
        ("TERM", "tcp -t 30 -b 10M -i 0.5"),
        ("INT", "tcp -t 30 -i 0.5 -R"),
        ("TERM", "udp -t 30 -b 1M -i 0.5"),
    ] {
        let server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        server.running.signal(signal);
        let served = server.running.wait(Duration::from_secs(8));
        assert_eq!(served.code, Some(DONE), "{served:#?}");
        assert!(
            served.stdout.contains("done in") && served.stdout.contains("stopped"),
            "{served:#?}"
        );
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        assert_reported(&ended);
        assert!(
            ended.stdout.contains("the server was stopped"),
            "{ended:#?}"
        );
        assert_eq!(ended.stderr, "", "{ended:#?}");
    }
}

// What a server limits.

#[test]
fn one_off_ends_after_one_visit() {
    let server = Serve::start("--one-off");
    // A stranger's connection is not a session.
    drop(TcpStream::connect(("127.0.0.1", server.port)).unwrap());
    server.serves("tcp -t 0.3").done();
    let served = server.running.wait(Duration::from_secs(5));
    assert_eq!(served.code, Some(DONE), "{served:#?}");
}

#[test]
fn a_server_holds_a_test_within_its_limits_and_says_so() {
    let server = Serve::start("--max-time 1s --max-rate 8M");
    for words in [
        "tcp -t 30 -P 2 --json",
        "tcp -t 30 -R --json",
        "udp -t 30 -b 100M --json",
    ] {
        let run = server.serves(words).done().json();
        let direction = &run["summary"]["directions"][0];
        let measured = direction["measured_s"].as_f64().unwrap();
        assert!((0.8..1.3).contains(&measured), "{words}: {measured}");
        let goodput = direction["goodput_bps"]["mean"]
            .as_f64()
            .unwrap_or_else(|| direction["bytes"].as_f64().unwrap() * 8.0 / measured);
        assert!(goodput < 8.8e6, "{words}: {goodput}");
        assert!(!warnings(&run).is_empty(), "{words}");
    }
    let ended = server.serves("tcp -n 1G --json");
    let run = ended.json();
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    assert!(
        run["warnings"].to_string().contains("time limit"),
        "{}",
        run["warnings"]
    );
    server.serves("tcp -n 100K --json").done();
}

#[test]
fn a_server_quiets_its_log_and_speaks_json_when_asked() {
    let running = Running::start(caudal(["serve", "-p", "0", "--json-log"]).env("TERM", "dumb"));
    let line = running.line_with("listening");
    let event: Value = serde_json::from_str(&line).unwrap();
    let port = event["port"].as_u64().unwrap();
    run(
        &mut client_of(port as u16, "tcp -t 0.2"),
        Duration::from_secs(10),
    )
    .done();
    for word in ["connected", "started", "finished", "left"] {
        let line = running.line_with(word);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["event"], word);
    }
}
