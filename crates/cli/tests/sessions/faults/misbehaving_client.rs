//! Clients that misbehave, and what they may cost others.

use crate::support::peer::{RawClient, plan};
use crate::support::{Running, Serve, warnings};
use caudal_wire::preamble::{ANSWER_BYTES, PreambleAnswer};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::thread;
use std::time::{Duration, Instant};

trials! {
    a_client_that_misbehaves_at_any_step_costs_itself_only,
    connections_that_never_say_what_they_are_do_not_keep_others_out,
}

/// How long a server may put up with a client that leads nowhere.
const MOST: Duration = Duration::from_secs(16);

fn gone_within(mut hand: RawClient, what: &str) {
    let took = hand.until_gone();
    assert!(took < MOST, "{what}: the server held on for {took:?}");
}

fn offered(port: u16) -> (RawClient, Value) {
    let mut hand = RawClient::welcomed(port);
    hand.say(&json!({"type": "offer", "plan": plan()}));
    let accepted = hand.hear_other_than_alive();
    assert_eq!(accepted["type"], "accepted", "{accepted}");
    (hand, accepted)
}

fn attached(port: u16) -> (RawClient, TcpStream) {
    let (mut hand, accepted) = offered(port);
    let data = data_connection(port, accepted["token"].as_str().unwrap(), 0);
    assert_eq!(hand.hear_other_than_alive()["type"], "ready");
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
        for byte in b"CAUDAL\x02C".iter().cycle() {
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
                hand.hear_other_than_alive()["type"],
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
        assert_eq!(hand.hear_other_than_alive()["type"], "refused");
    }));
    step(Box::new(move || {
        gone_within(RawClient::welcomed(port), "asks for nothing");
    }));
    step(Box::new(move || {
        let mut hand = RawClient::welcomed(port);
        let began = Instant::now();
        // Signs of life alone do not hold a place for ever.
        while began.elapsed() < MOST && hand.hear().is_some() {
            hand.say(&json!({"type": "ping", "t1": i64::MAX}));
            hand.say(&json!({"type": "alive"}));
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
            hand.say(&json!({"type": "offer", "plan": plan}));
            let mut answer = hand.hear_other_than_alive();
            if answer["type"] == "accepted" {
                // What only a kernel can judge is judged when the connections are there.
                let _data = data_connection(port, answer["token"].as_str().unwrap(), 0);
                answer = hand.hear_other_than_alive();
            }
            assert_eq!(answer["type"], "refused", "{what} {value}");
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
            hand.say(&json!({"type": "ping", "t1": 1}));
        }
        // Nothing is heard unless asked, so ask first.
        let mut hand = offered(port).0;
        hand.say(&json!({"type": "ping", "t1": 1}));
        while began.elapsed() < 2 * MOST && hand.hear().is_some_and(|m| m["type"] != "refused") {
            hand.say(&json!({"type": "ping", "t1": 1}));
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
            *b"CAUDAL\x02R",
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
            hand.say(&json!({"type": "ping", "t1": 1}));
            match hand.hear() {
                Some(message) if message["type"] != "refused" => {
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
        hand.say(&json!({"type": "start"}));
        gone_within(hand, "starts and sends nothing");
    }));
    step(Box::new(move || {
        let (mut hand, data) = attached(port);
        hand.say(&json!({"type": "start"}));
        drop(data);
        hand.say(&json!({"type": "stop", "now": true, "sent": [[0, u64::MAX], [9, 1]]}));
        while !matches!(
            hand.hear_other_than_alive()["type"].as_str(),
            Some("finished") | None
        ) {}
        hand.say(&json!({"type": "start"}));
        assert_eq!(
            hand.hear_other_than_alive()["type"],
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
