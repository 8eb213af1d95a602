//! A server of the pages, and requests to it.

use super::{Running, SOON, caudal};
use serde_json::Value;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// A server of the pages with a store of its own.
pub struct ServedUi {
    pub running: Running,
    pub port: u16,
    pub token: String,
    pub store: PathBuf,
}

impl ServedUi {
    pub fn start() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("caudal-ui-{}-{number}.db", std::process::id());
        let store = std::env::temp_dir().join(name);
        let _ = std::fs::remove_file(&store);
        Self::at(0, store)
    }

    /// One at this port with this store.
    pub fn at(port: u16, store: PathBuf) -> Self {
        let mut command = caudal(["ui", "-p", &port.to_string(), "--store"]);
        command.arg(&store);
        let running = Running::start(&mut command);
        let line = running.line_with("listening at 127.0.0.1:");
        let path = line.rsplit(" is in ").next().unwrap().trim().to_owned();
        let address = std::fs::read_to_string(path).unwrap();
        let (before, token) = address.trim().split_once("/#t=").unwrap();
        let port = before.rsplit(':').next().unwrap().parse().unwrap();
        Self {
            running,
            port,
            token: token.to_owned(),
            store,
        }
    }

    /// The address that a user opens.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/#t={}", self.port, self.token)
    }

    /// The status and the body of the answer to a request with these fields and this body.
    pub fn send(&self, line: &str, fields: &str, body: &[u8]) -> (u16, String) {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let head = format!(
            "{line} HTTP/1.1\r\n{fields}Content-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = stream.write_all(head.as_bytes());
        let _ = stream.write_all(body);
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        (status.unwrap_or(0), format!("{head}\r\n\r\n{body}"))
    }

    /// The fields of a request of the server's own page.
    pub fn own(&self) -> String {
        format!(
            "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nOrigin: http://127.0.0.1:{}\r\nSec-Fetch-Site: same-origin\r\n",
            self.port, self.token, self.port
        )
    }

    /// The JSON that the API answers a request of its own page with.
    #[track_caller]
    pub fn asks(&self, line: &str, body: &Value) -> (u16, Value) {
        let fields = format!("{}Content-Type: application/json\r\n", self.own());
        let body = if body.is_null() {
            Vec::new()
        } else {
            body.to_string().into_bytes()
        };
        let (status, text) = self.send(line, &fields, &body);
        let content = text.split_once("\r\n\r\n").unwrap().1;
        let begin = content.find(['{', '[']).unwrap_or(content.len());
        let end = content.rfind(['}', ']']).map_or(content.len(), |at| at + 1);
        let json = content.get(begin..end).unwrap_or_default();
        (status, serde_json::from_str(json).unwrap_or(Value::Null))
    }
}

impl Drop for ServedUi {
    fn drop(&mut self) {
        // By itself, so that it leaves nothing behind.
        self.running.signal("TERM");
        let until = Instant::now() + SOON;
        while TcpStream::connect(("127.0.0.1", self.port)).is_ok() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        std::thread::sleep(Duration::from_millis(50));
        let _ = std::fs::remove_file(&self.store);
    }
}
