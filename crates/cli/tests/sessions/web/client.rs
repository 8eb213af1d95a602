//! A client of a server's web protocols, as a browser speaks to it.

use crate::support::{SOON, Serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use tungstenite::client::IntoClientRequest;
use tungstenite::http::HeaderValue;
use tungstenite::{Message, WebSocket};

/// A connection to the server.
pub fn connect(server: &Serve) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// What the server answers to these bytes: the head and the body.
pub fn answer(server: &Serve, request: &[u8]) -> (String, String) {
    let mut stream = connect(server);
    // The server may answer before it has received everything.
    let _ = stream.write_all(request);
    let mut bytes = Vec::new();
    let _ = stream.read_to_end(&mut bytes);
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
    (head.to_owned(), body.to_owned())
}

/// The answer to a GET of a path.
pub fn get(server: &Serve, path: &str) -> (String, String) {
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n\r\n",
        server.port
    );
    answer(server, request.as_bytes())
}

/// The request for a WebSocket with these fields.
pub fn upgrade(server: &Serve, path: &str, fields: &str) -> Vec<u8> {
    format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n{fields}\r\n",
        server.port
    )
    .into_bytes()
}

/// A WebSocket of this path.
pub fn open(server: &Serve, path: &str, protocol: Option<&'static str>) -> WebSocket<TcpStream> {
    let url = format!("ws://127.0.0.1:{}{path}", server.port);
    let mut request = url.into_client_request().unwrap();
    if let Some(protocol) = protocol {
        let name = "Sec-WebSocket-Protocol";
        request
            .headers_mut()
            .insert(name, HeaderValue::from_static(protocol));
    }
    let (socket, _) = tungstenite::client(request, connect(server)).unwrap();
    socket
}

/// The protocol of ndt7.
pub const NDT7: &str = "net.measurementlab.ndt.v7";

/// What a download of ndt7 brought: payload, and the measurements of the server.
pub fn ndt7_download(server: &Serve) -> (u64, Vec<serde_json::Value>) {
    let mut socket = open(server, "/ndt/v7/download?client_name=test", Some(NDT7));
    let (mut bytes, mut measurements) = (0, Vec::new());
    loop {
        match socket.read() {
            Ok(Message::Binary(payload)) => bytes += payload.len() as u64,
            Ok(Message::Text(text)) => measurements.push(serde_json::from_str(&text).unwrap()),
            Ok(Message::Close(_)) | Err(_) => return (bytes, measurements),
            Ok(_) => {}
        }
    }
}

/// Sends for this long in an upload of ndt7: what was sent, and the last measurement of the server.
pub fn ndt7_upload(server: &Serve, time: Duration) -> (u64, serde_json::Value) {
    let mut socket = open(server, "/ndt/v7/upload", Some(NDT7));
    let until = std::time::Instant::now() + time;
    let (mut bytes, payload) = (0, vec![7; 1 << 13]);
    while std::time::Instant::now() < until {
        match socket.send(Message::Binary(payload.clone().into())) {
            Ok(()) => bytes += payload.len() as u64,
            Err(_) => break,
        }
    }
    let _ = socket.close(None);
    let mut last = serde_json::Value::Null;
    while let Ok(message) = socket.read() {
        if let Message::Text(text) = message {
            last = serde_json::from_str(&text).unwrap();
        }
    }
    (bytes, last)
}
