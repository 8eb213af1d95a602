//! `caudal serve --prometheus`: counters in OpenMetrics, under clients that behave and clients that do not.

use crate::support::peer::RawClient;
use crate::support::{SOON, Serve, caudal, run};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    tests_are_counted_by_protocol_and_result,
    a_client_that_is_connected_shows_and_one_that_leaves_in_its_test_ended_early,
    refusals_are_counted_by_reason,
    the_text_is_openmetrics,
    requests_that_are_slow_huge_or_many_keep_nobody_out,
    an_address_that_is_taken_or_none_is_refused,
}

/// A server with its metrics, on ports of its own.
struct Metered {
    server: Serve,
    port: u16,
}

impl Metered {
    fn start(words: &str) -> Self {
        let server = Serve::start(&format!("--prometheus 0 {words}"));
        let line = server.running.line_with("metrics on http://127.0.0.1:");
        let port = line.trim().rsplit(':').next().unwrap();
        let port = port.trim_end_matches("/metrics").parse().unwrap();
        Self { server, port }
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        stream
    }

    /// The answer to a request: header and body.
    fn answer(&self, request: &[u8]) -> (String, String) {
        let mut stream = self.connect();
        // The server may answer before it has received everything.
        let _ = stream.write_all(request);
        read_answer(stream)
    }

    /// The value of a sample.
    fn value(&self, sample: &str) -> f64 {
        let (_, body) = self.answer(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let line = body.lines().find(|line| {
            let rest = line.strip_prefix(sample);
            rest.is_some_and(|rest| rest.starts_with(' '))
        });
        let line = line.unwrap_or_else(|| panic!("{sample} is missing: {body}"));
        line.rsplit(' ').next().unwrap().parse().unwrap()
    }

    /// Waits until a sample has a value.
    #[track_caller]
    fn await_value(&self, sample: &str, value: f64) {
        let until = Instant::now() + SOON;
        while self.value(sample) != value {
            assert!(Instant::now() < until, "{sample}: {}", self.value(sample));
            thread::sleep(Duration::from_millis(20));
        }
    }
}

fn read_answer(mut stream: TcpStream) -> (String, String) {
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8(bytes).unwrap();
    let (header, body) = text
        .split_once("\r\n\r\n")
        .unwrap_or_else(|| panic!("no answer: {text:?}"));
    (header.to_owned(), body.to_owned())
}

fn tests_are_counted_by_protocol_and_result() {
    let metered = Metered::start("--iperf2-port 0");
    let native = "{protocol=\"caudal\"";
    metered.server.serves("tcp -n 100K").done();
    metered.await_value(&format!("caudal_received_bytes_total{native}}}"), 100_000.0);
    let completed = format!("caudal_tests_total{native},result=\"completed\"}}");
    metered.await_value(&completed, 1.0);
    metered.server.serves("udp -b 1M -t 0.2 --reverse").done();
    metered.await_value(&completed, 2.0);
    assert!(metered.value(&format!("caudal_sent_bytes_total{native}}}")) > 10_000.0);
    assert!(metered.value(&format!("caudal_test_seconds_total{native}}}")) > 0.1);
    for gauge in ["caudal_clients", "caudal_running_tests"] {
        metered.await_value(&format!("{gauge}{native}}}"), 0.0);
    }
    assert_eq!(
        metered.value("caudal_tests_total{protocol=\"iperf3\",result=\"completed\"}"),
        0.0
    );
}

fn a_client_that_is_connected_shows_and_one_that_leaves_in_its_test_ended_early() {
    let metered = Metered::start("");
    let client = RawClient::welcomed(metered.server.port);
    metered.await_value("caudal_clients{protocol=\"caudal\"}", 1.0);
    drop(client);
    metered.await_value("caudal_clients{protocol=\"caudal\"}", 0.0);
    let mut client = metered.server.client("tcp -t 30");
    let mut running = crate::support::Running::start(&mut client);
    metered.await_value("caudal_running_tests{protocol=\"caudal\"}", 1.0);
    running.kill();
    metered.await_value(
        "caudal_tests_total{protocol=\"caudal\",result=\"ended_early\"}",
        1.0,
    );
    metered.await_value("caudal_running_tests{protocol=\"caudal\"}", 0.0);
}

fn refusals_are_counted_by_reason() {
    let metered = Metered::start("--allow 192.0.2.0/24");
    metered
        .server
        .serves("tcp -n 1K")
        .failed(3, &["not among the networks"]);
    metered.await_value(
        "caudal_refusals_total{protocol=\"caudal\",reason=\"denied\"}",
        1.0,
    );
    assert_eq!(
        metered.value("caudal_refusals_total{protocol=\"caudal\",reason=\"full\"}"),
        0.0
    );
}

fn the_text_is_openmetrics() {
    let metered = Metered::start("");
    let (header, body) = metered.answer(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert!(header.starts_with("HTTP/1.1 200 OK\r\n"), "{header}");
    let content_type = "Content-Type: application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert!(header.contains(content_type), "{header}");
    assert!(header.contains(&format!("Content-Length: {}", body.len())));
    assert!(body.ends_with("# EOF\n"));
    let mut family = "";
    for line in body.lines() {
        if let Some(described) = line.strip_prefix("# TYPE ") {
            family = described.split(' ').next().unwrap();
        }
        // Whatever follows belongs to the family whose type came before.
        let is_of_family = line == "# EOF"
            || line.starts_with(family)
            || ["# TYPE ", "# HELP ", "# UNIT "].iter().any(|start| {
                line.strip_prefix(start)
                    .is_some_and(|rest| rest.starts_with(family))
            });
        assert!(is_of_family, "{line}");
    }
}

fn requests_that_are_slow_huge_or_many_keep_nobody_out() {
    let metered = Metered::start("");
    let sample = "caudal_clients{protocol=\"caudal\"}";
    // More than the server holds, each with half a request.
    let slow: Vec<TcpStream> = (0..200)
        .map(|_| {
            let mut stream = metered.connect();
            let _ = stream.write_all(b"GET /metrics HTTP/1.1\r\nHost:");
            stream
        })
        .collect();
    assert_eq!(metered.value(sample), 0.0);
    drop(slow);
    let endless = [b"GET /metrics HTTP/1.1\r\nA: ".as_slice(), &[b'a'; 200_000]].concat();
    let (header, _) = metered.answer(&endless);
    assert!(header.starts_with("HTTP/1.1 431 "), "{header}");
    for (request, status) in [
        ("GET /etc/passwd HTTP/1.1\r\n\r\n", "404"),
        ("DELETE /metrics HTTP/1.1\r\n\r\n", "405"),
        ("\u{1}\u{2}\r\n\r\n", "400"),
    ] {
        let (header, _) = metered.answer(request.as_bytes());
        assert!(
            header.starts_with(&format!("HTTP/1.1 {status} ")),
            "{header}"
        );
    }
    // One that sends nothing is closed by the server.
    let mut silent = metered.connect();
    assert_eq!(silent.read(&mut [0; 1]).unwrap_or(0), 0);
    assert_eq!(metered.value(sample), 0.0);
    metered.server.still_serves();
}

fn an_address_that_is_taken_or_none_is_refused() {
    let held = std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = held.local_addr().unwrap().port();
    let words = format!("serve -p 0 --prometheus {port}");
    run(&mut caudal(words.split(' ')), SOON).failed(4, &["cannot serve metrics", "--prometheus"]);
    let mut named = caudal(["serve", "-p", "0", "--prometheus", "localhost:1"]);
    run(&mut named, SOON).failed(2, &["expected a port, or an address and a port"]);
}
