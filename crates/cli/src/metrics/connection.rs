//! One connection of a client that reads metrics: one request of HTTP/1, one answer.

use caudal_sys::poll::PollState;
use caudal_views::metrics::CONTENT_TYPE;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Maximum length of a request's header, bytes.
const MAX_REQUEST_BYTES: usize = 8 << 10;
/// The time a connection may take in all.
const CONNECTION_TIME: Duration = Duration::from_secs(3);
/// The time in which what a client still sends is read and dropped: closing at once would reset the connection, and the client
/// could lose its answer.
const TRAILING_TIME: Duration = Duration::from_millis(500);
/// Maximum length of what is read and dropped, bytes.
const MAX_TRAILING_BYTES: usize = 1 << 20;

/// The step of a connection.
enum HttpStep {
    /// The request is being received.
    Receiving(Vec<u8>),
    /// The answer is being sent, of which so many bytes have left.
    Sending(Vec<u8>, usize),
    /// What the client still sends is dropped: so many bytes by now.
    Trailing(usize),
}

/// A connection of a client that reads metrics.
pub(super) struct HttpConnection {
    pub(super) stream: TcpStream,
    step: HttpStep,
    /// The time at which it is closed, whatever its step.
    pub(super) deadline: Instant,
}

/// What is served.
pub(super) struct MetricsPage<'a> {
    /// The text.
    pub(super) metrics: &'a dyn Fn() -> String,
    /// The names of this host.
    pub(super) names: &'a [String],
}

/// What becomes of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HttpProgress {
    /// It goes on.
    Open,
    /// It is to be closed.
    Over,
}

impl HttpConnection {
    /// A connection that was accepted at `now`; it must not block.
    pub(super) fn new(stream: TcpStream, now: Instant) -> Self {
        Self {
            stream,
            step: HttpStep::Receiving(Vec::new()),
            deadline: now + CONNECTION_TIME,
        }
    }

    /// The state of its socket to wait for.
    pub(super) const fn awaited(&self) -> PollState {
        match self.step {
            HttpStep::Sending(..) => PollState::Writable,
            HttpStep::Receiving(_) | HttpStep::Trailing(_) => PollState::Readable,
        }
    }

    /// Goes on where its socket is ready; `page` makes the text.
    pub(super) fn advance(&mut self, now: Instant, page: &MetricsPage<'_>) -> HttpProgress {
        loop {
            let step = match &mut self.step {
                HttpStep::Receiving(request) => receive(&mut self.stream, request, page),
                HttpStep::Sending(answer, sent) => send(&mut self.stream, answer, sent),
                HttpStep::Trailing(dropped) => drop_trailing(&mut self.stream, dropped),
            };
            match step {
                Ok(step) => {
                    if matches!(step, HttpStep::Trailing(_)) {
                        let _ = self.stream.shutdown(Shutdown::Write);
                        self.deadline = self.deadline.min(now + TRAILING_TIME);
                    }
                    self.step = step;
                }
                Err(cause) if cause.kind() == ErrorKind::WouldBlock => return HttpProgress::Open,
                Err(cause) if cause.kind() == ErrorKind::Interrupted => {}
                Err(_) => return HttpProgress::Over,
            }
        }
    }
}

/// Receives until the request's header is complete: then its answer.
fn receive(
    stream: &mut TcpStream,
    request: &mut Vec<u8>,
    page: &MetricsPage<'_>,
) -> io::Result<HttpStep> {
    let mut chunk = [0; 1024];
    loop {
        let count = read_some(stream, &mut chunk)?;
        request.extend_from_slice(&chunk[..count]);
        if is_complete(request) {
            return Ok(HttpStep::Sending(answer(request, page), 0));
        }
        if request.len() >= MAX_REQUEST_BYTES {
            let answer = plain(431, "Request Header Fields Too Large", "");
            return Ok(HttpStep::Sending(answer, 0));
        }
    }
}

fn send(stream: &mut TcpStream, answer: &[u8], sent: &mut usize) -> io::Result<HttpStep> {
    while let Some(rest) = answer.get(*sent..).filter(|rest| !rest.is_empty()) {
        match stream.write(rest)? {
            0 => return Err(ErrorKind::WriteZero.into()),
            count => *sent += count,
        }
    }
    Ok(HttpStep::Trailing(0))
}

fn drop_trailing(stream: &mut TcpStream, dropped: &mut usize) -> io::Result<HttpStep> {
    let mut chunk = [0; 4096];
    while *dropped < MAX_TRAILING_BYTES {
        *dropped += read_some(stream, &mut chunk)?;
    }
    Err(ErrorKind::FileTooLarge.into())
}

/// Reads at least one byte; the end of the connection is an error.
fn read_some(stream: &mut TcpStream, chunk: &mut [u8]) -> io::Result<usize> {
    match stream.read(chunk)? {
        0 => Err(ErrorKind::UnexpectedEof.into()),
        count => Ok(count),
    }
}

/// `true` when the header has ended. A bare line feed ends a line as well (RFC 9112, 2.2).
fn is_complete(request: &[u8]) -> bool {
    let ends = |end: &[u8]| request.windows(end.len()).any(|window| window == end);
    ends(b"\r\n\r\n") || ends(b"\n\n")
}

/// The answer to a request whose header is complete.
fn answer(request: &[u8], page: &MetricsPage<'_>) -> Vec<u8> {
    let line = request
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = std::str::from_utf8(line).unwrap_or_default().trim_end();
    let mut words = line.split(' ');
    let (method, target, version) = (words.next(), words.next(), words.next());
    let is_http = version.is_some_and(|version| version.starts_with("HTTP/1."));
    if !is_http || words.next().is_some() {
        return plain(400, "Bad Request", "");
    }
    let path = target.unwrap_or_default();
    let path = path.split_once('?').map_or(path, |(path, _)| path);
    match (method, path) {
        _ if !is_of_this_host(request, page.names) => {
            plain(421, "Misdirected Request (see --prometheus-host)", "")
        }
        (Some("GET"), "/metrics") => with_body(&(page.metrics)(), AnswerPart::Whole),
        (Some("HEAD"), "/metrics") => with_body(&(page.metrics)(), AnswerPart::Header),
        (Some("GET" | "HEAD"), _) => plain(404, "Not Found", ""),
        _ => plain(405, "Method Not Allowed", "Allow: GET, HEAD\r\n"),
    }
}

/// `true` where the request's Host is an address, `localhost`, or a name of this host, without its domain too. A page of another name
/// that a browser was led to this address by (DNS rebinding) is to read nothing. A request without a Host is from no browser.
fn is_of_this_host(request: &[u8], names: &[String]) -> bool {
    let request = String::from_utf8_lossy(request);
    let mut named = request.lines().skip(1).filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("host").then(|| value.trim())
    });
    named.all(|value| {
        let name = match value.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => value,
        };
        let address = name.trim_start_matches('[').trim_end_matches(']');
        // Not this host's name with any domain: whoever has a domain has each name in it.
        let is_own = names.iter().any(|own| {
            let label = own.split('.').next().unwrap_or_default();
            name.eq_ignore_ascii_case(own) || name.eq_ignore_ascii_case(label)
        });
        let is_named = !name.is_empty() && (name.eq_ignore_ascii_case("localhost") || is_own);
        address.parse::<IpAddr>().is_ok() || is_named
    })
}

/// The part of an answer that is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AnswerPart {
    /// The header and the text.
    Whole,
    /// The header alone.
    Header,
}

fn with_body(text: &str, part: AnswerPart) -> Vec<u8> {
    let header = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Connection: close\r\n\r\n",
        text.len()
    );
    match part {
        AnswerPart::Whole => (header + text).into_bytes(),
        AnswerPart::Header => header.into_bytes(),
    }
}

/// An answer that says no more than its status.
fn plain(status: u16, reason: &str, header: &str) -> Vec<u8> {
    let text = format!("{status} {reason}; the metrics are at /metrics\n");
    format!(
        "HTTP/1.1 {status} {reason}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\n{header}\
         Connection: close\r\n\r\n{text}",
        text.len()
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(request: &str) -> String {
        let page = MetricsPage {
            metrics: &|| "text\n".to_owned(),
            names: &["server1".to_owned(), "metrics.example".to_owned()],
        };
        String::from_utf8(answer(request.as_bytes(), &page)).unwrap()
    }

    #[test]
    fn only_metrics_are_answered() {
        let cases = [
            ("GET /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 200 OK\r\n"),
            (
                "GET /metrics?name[]=x HTTP/1.0\r\n\r\n",
                "HTTP/1.1 200 OK\r\n",
            ),
            ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
            ("GET /metrics/../x HTTP/1.1\r\n\r\n", "HTTP/1.1 404 "),
            ("POST /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 405 "),
            ("GET /metrics\r\n\r\n", "HTTP/1.1 400 "),
            ("GET  /metrics HTTP/1.1\r\n\r\n", "HTTP/1.1 400 "),
            ("\r\n\r\n", "HTTP/1.1 400 "),
            ("GET /metrics HTTP/2\r\n\r\n", "HTTP/1.1 400 "),
        ];
        for (request, start) in cases {
            let answer = answered(request);
            assert!(answer.starts_with(start), "{request:?}: {answer}");
        }
    }

    #[test]
    fn requests_for_a_host_of_another_name_are_refused() {
        for (host, is_answered) in [
            ("192.0.2.1", true),
            ("192.0.2.1:9521", true),
            ("[2001:db8::1]:9521", true),
            ("LocalHost:9521", true),
            ("Server1", true),
            ("server1.attacker.example", false),
            ("server1:80", true),
            ("metrics.example:9521", true),
            ("metrics", true),
            ("attacker.example", false),
            ("server1x.example", false),
            ("attacker.example:9521", false),
            ("", false),
        ] {
            let answer = answered(&format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n\r\n"));
            let is_200 = answer.starts_with("HTTP/1.1 200 ");
            assert_eq!(is_200, is_answered, "{host:?}: {answer}");
            assert!(is_200 || answer.starts_with("HTTP/1.1 421 "), "{answer}");
        }
        let two = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\n\r\n";
        assert!(answered(two).starts_with("HTTP/1.1 421 "));
    }

    #[test]
    fn an_answer_tells_its_length_and_its_type() {
        let answer = answered("GET /metrics HTTP/1.1\r\nHost: server1:9521\r\n\r\n");
        let (header, body) = answer.split_once("\r\n\r\n").unwrap();
        assert_eq!(body, "text\n");
        assert!(header.contains("Content-Length: 5\r\n"), "{header}");
        assert!(header.contains("application/openmetrics-text; version=1.0.0; charset=utf-8"));
        let head = answered("HEAD /metrics HTTP/1.1\n\n");
        assert!(
            head.contains("Content-Length: 5\r\n") && head.ends_with("\r\n\r\n"),
            "{head}"
        );
    }

    #[test]
    fn a_header_ends_with_an_empty_line() {
        assert!(is_complete(b"GET / HTTP/1.1\r\nA: b\r\n\r\n"));
        assert!(is_complete(b"GET / HTTP/1.1\n\n"));
        assert!(!is_complete(b"GET / HTTP/1.1\r\nA: b\r\n"));
    }
}
