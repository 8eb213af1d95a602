//! Clients that do not behave: none keeps others out, none gets more than its share.

use super::client::{NDT7, answer, connect, get, ndt7_download, open, upgrade};
use crate::support::{SOON, Serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

trials! {
    a_head_that_never_ends_is_given_up,
    a_head_that_is_too_large_is_refused,
    what_is_no_request_is_refused,
    a_page_of_another_origin_may_not_measure,
    a_websocket_without_its_protocol_is_refused,
    frames_that_no_client_sends_end_the_test,
    starts_of_a_source_are_limited,
    payload_of_a_source_is_limited,
    a_thousand_idle_connections_keep_nobody_out,
    a_flood_of_upgrades_keeps_nobody_out,
    words_of_a_browser_reach_the_log_as_text,
}

fn until_closed(mut stream: TcpStream) -> Vec<u8> {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    bytes
}

fn a_head_that_never_ends_is_given_up() {
    let server = Serve::start("--web");
    let mut stream = connect(&server);
    stream.write_all(b"GET / HTTP/1.1\r\nX-Slow: ").unwrap();
    let began = Instant::now();
    let mut answer = Vec::new();
    // A byte now and then does not buy more time.
    stream
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    loop {
        assert!(began.elapsed() < SOON, "it is still read");
        if stream.write_all(b"x").is_err() {
            break;
        }
        let mut room = [0; 512];
        match stream.read(&mut room) {
            Ok(0) => break,
            Ok(count) => answer.extend_from_slice(&room[..count]),
            Err(_) => {}
        }
    }
    let text = String::from_utf8_lossy(&answer);
    assert!(
        text.is_empty() || text.starts_with("HTTP/1.1 400"),
        "{text}"
    );
    server.still_serves();
}

fn a_head_that_is_too_large_is_refused() {
    let server = Serve::start("--web");
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(20_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(1000));
    for request in [long, many] {
        let (head, _) = answer(&server, request.as_bytes());
        assert!(
            head.is_empty() || head.starts_with("HTTP/1.1 431"),
            "{head}"
        );
    }
    server.still_serves();
}

fn what_is_no_request_is_refused() {
    let server = Serve::start("--web");
    for request in [
        "GET / HTTQ/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /\0 HTTP/1.1\r\n\r\n",
    ] {
        let (head, _) = answer(&server, request.as_bytes());
        assert!(head.starts_with("HTTP/1.1 400"), "{request:?}: {head}");
    }
    for other in ["POST / HTTP/1.1\r\n\r\n", "OPTIONS * HTTP/1.1\r\n\r\n"] {
        let (head, _) = answer(&server, other.as_bytes());
        assert_eq!(head, "", "{other:?}");
    }
    server.still_serves();
}

fn a_page_of_another_origin_may_not_measure() {
    let server = Serve::start("--web --web-origin https://example.net");
    let port = server.port;
    let status = |origin: &str| {
        let fields = format!("Origin: {origin}\r\n");
        let mut stream = connect(&server);
        stream
            .write_all(&upgrade(&server, "/test", &fields))
            .unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).unwrap();
        String::from_utf8_lossy(&first).into_owned()
    };
    assert_eq!(status("http://evil.example"), "HTTP/1.1 403");
    assert_eq!(status("null"), "HTTP/1.1 403");
    assert_eq!(status("https://example.net"), "HTTP/1.1 101");
    assert_eq!(status(&format!("http://127.0.0.1:{port}")), "HTTP/1.1 101");
}

fn a_websocket_without_its_protocol_is_refused() {
    let server = Serve::start("--web");
    let (head, _) = answer(&server, &upgrade(&server, "/ndt/v7/download", ""));
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
    // What follows a request before its answer was not meant for this server.
    let mut early = upgrade(&server, "/test", "");
    early.extend_from_slice(b"early");
    let (head, _) = answer(&server, &early);
    assert!(head.starts_with("HTTP/1.1 400"), "{head}");
}

fn frames_that_no_client_sends_end_the_test() {
    let server = Serve::start("--web");
    let unmasked = [0x82, 0x01, 0x00].as_slice();
    let endless = &[0x82, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
    let garbage = &[0xFF; 64];
    let fields = format!("Sec-WebSocket-Protocol: {NDT7}\r\n");
    for bytes in [unmasked, endless, garbage] {
        for path in ["/ndt/v7/upload", "/test"] {
            let mut stream = connect(&server);
            stream.write_all(&upgrade(&server, path, &fields)).unwrap();
            stream.write_all(b"").unwrap();
            let mut head = [0; 12];
            stream.read_exact(&mut head).unwrap();
            assert_eq!(&head, b"HTTP/1.1 101");
            stream.write_all(bytes).unwrap();
            until_closed(stream);
        }
    }
    server.still_serves();
}

fn starts_of_a_source_are_limited() {
    let server = Serve::start("--web --web-starts 2 --max-time 200ms");
    for _ in 0..2 {
        assert!(ndt7_download(&server).0 > 0);
    }
    let fields = format!("Sec-WebSocket-Protocol: {NDT7}\r\n");
    let (head, body) = answer(&server, &upgrade(&server, "/ndt/v7/download", &fields));
    assert!(head.starts_with("HTTP/1.1 429"), "{head}");
    assert!(body.contains("try again in"), "{body}");
    // The page itself is no test.
    assert!(get(&server, "/").0.starts_with("HTTP/1.1 200"));
}

fn payload_of_a_source_is_limited() {
    let server = Serve::start("--web --web-bytes 300K --max-time 2s");
    // Half of what is left each, until too little is.
    let (first, _) = ndt7_download(&server);
    assert!((100_000..=150_000).contains(&first), "{first}");
    let until = Instant::now() + SOON;
    let fields = format!("Sec-WebSocket-Protocol: {NDT7}\r\n");
    let request = upgrade(&server, "/ndt/v7/download", &fields);
    while !answer(&server, &request).0.starts_with("HTTP/1.1 429") {
        assert!(Instant::now() < until, "it is never used up");
    }
}

fn a_thousand_idle_connections_keep_nobody_out() {
    let server = Serve::start("--web");
    let beginnings: [&[u8]; 3] = [b"GET", b"GET / HTTP/1.1\r\nX: ", b"GET /s/0123"];
    let idle: Vec<TcpStream> = (0..1000)
        .filter_map(|nth| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
            stream.write_all(beginnings[nth % 3]).ok()?;
            Some(stream)
        })
        .collect();
    let until = Instant::now() + SOON;
    // Those that have said nothing give way.
    while !get(&server, "/").0.starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < until, "the page is not answered");
    }
    server.still_serves();
    drop(idle);
}

fn a_flood_of_upgrades_keeps_nobody_out() {
    let server = Serve::start("--web");
    let flood: Vec<_> = (0..100)
        .filter_map(|_| {
            let mut stream = TcpStream::connect(("127.0.0.1", server.port)).ok()?;
            stream.write_all(&upgrade(&server, "/test", "")).ok()?;
            Some(stream)
        })
        .collect();
    let until = Instant::now() + SOON;
    while !get(&server, "/").0.starts_with("HTTP/1.1 200") {
        assert!(Instant::now() < until, "the page is not answered");
    }
    drop(flood);
    let until = Instant::now() + SOON;
    while server.serves("tcp -n 100K").code != Some(0) {
        assert!(Instant::now() < until, "no place becomes free");
    }
}

fn words_of_a_browser_reach_the_log_as_text() {
    let server = Serve::start("--web --max-time 200ms");
    let mut stream = connect(&server);
    let fields =
        format!("Sec-WebSocket-Protocol: {NDT7}\r\nUser-Agent: x\x1b]0;title\x07\u{202e}y\r\n");
    stream
        .write_all(&upgrade(&server, "/ndt/v7/download", &fields))
        .unwrap();
    until_closed(stream);
    let _ = open(&server, "/test", None).close(None);
    let line = server.running.line_with("client");
    assert!(
        !line.contains('\x1b') && !line.contains('\u{202e}'),
        "{line:?}"
    );
}
