//! Responses: of a page that may load nothing but its own files, and of errors in a line.

use super::request::RequestMethod;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

/// The time that a client may take to read a part of a response.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);
/// The time for which what a client still sends is read, so that it gets the response and no reset.
const CLOSE_TIMEOUT: Duration = Duration::from_millis(200);

/// What a page may load, and who may frame it. Nothing is inline, except in results, which run no script at all.
const PAGE_POLICY: &str = include_str!("../../page/page-policy.txt");
/// The same of the result of a test: its styles and figures are within it.
const RESULT_POLICY: &str = include_str!("../../page/result-policy.txt");

/// The statuses that are answered with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// 200.
    Ok,
    /// 400.
    BadRequest,
    /// 403.
    Forbidden,
    /// 404.
    NotFound,
    /// 426: a WebSocket was to be asked for.
    UpgradeRequired,
    /// 429.
    TooManyRequests,
    /// 431.
    HeadTooLarge,
    /// 503.
    Unavailable,
}

impl Status {
    const fn line(self) -> &'static str {
        match self {
            Self::Ok => "200 OK",
            Self::BadRequest => "400 Bad Request",
            Self::Forbidden => "403 Forbidden",
            Self::NotFound => "404 Not Found",
            Self::UpgradeRequired => "426 Upgrade Required",
            Self::TooManyRequests => "429 Too Many Requests",
            Self::HeadTooLarge => "431 Request Header Fields Too Large",
            Self::Unavailable => "503 Service Unavailable",
        }
    }
}

/// The content of a response.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Body<'a> {
    /// A file of the page, with its type.
    File(&'a [u8], &'static str),
    /// The result of a test, HTML.
    Result(&'a str),
    /// A line of text.
    Text(&'a str),
}

impl<'a> Body<'a> {
    fn parts(self) -> (&'a [u8], &'static str, &'static str) {
        match self {
            Self::File(bytes, kind) => (bytes, kind, PAGE_POLICY),
            Self::Result(html) => (html.as_bytes(), "text/html; charset=utf-8", RESULT_POLICY),
            Self::Text(text) => (text.as_bytes(), "text/plain; charset=utf-8", PAGE_POLICY),
        }
    }
}

/// A whole response.
pub(crate) fn whole_response(status: Status, method: RequestMethod, body: Body<'_>) -> Vec<u8> {
    let (content, kind, policy) = body.parts();
    let policy = policy.trim_end();
    let mut bytes = format!(
        "HTTP/1.1 {}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nContent-Security-Policy: {policy}\r\n\
         X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
         Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: no-cache\r\nConnection: close\r\n\r\n",
        status.line(),
        content.len()
    )
    .into_bytes();
    if method == RequestMethod::Get {
        bytes.extend_from_slice(content);
    }
    bytes
}

/// Answers a request, and ends its connection.
pub(crate) fn respond(
    mut stream: &TcpStream,
    status: Status,
    method: RequestMethod,
    body: Body<'_>,
) {
    let _ = stream.set_write_timeout(Some(WRITE_TIMEOUT));
    let _ = stream.write_all(&whole_response(status, method, body));
    let _ = stream.shutdown(Shutdown::Write);
    let _ = stream.set_read_timeout(Some(CLOSE_TIMEOUT));
    // A little, not as long as somebody goes on sending.
    for _ in 0..4 {
        match stream.read(&mut [0; 4096]) {
            Ok(1..) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_says_what_its_page_may_do_and_head_has_no_content() {
        let whole = whole_response(
            Status::NotFound,
            RequestMethod::Get,
            Body::Text("nothing here\n"),
        );
        let whole = String::from_utf8(whole).unwrap();
        assert!(whole.starts_with("HTTP/1.1 404 Not Found\r\n"));
        assert!(whole.contains("frame-ancestors 'none'") && whole.contains("nosniff"));
        assert!(whole.ends_with("\r\n\r\nnothing here\n"));
        let head = whole_response(Status::Ok, RequestMethod::Head, Body::Result("<p>x"));
        let head = String::from_utf8(head).unwrap();
        assert!(head.contains("Content-Length: 4\r\n") && head.ends_with("\r\n\r\n"));
        assert!(!head.contains("script-src"), "a result runs no script");
    }
}
