//! A server's limits on rate, time, bytes and memory, judged by the bytes it counts itself, for every protocol.

pub mod download;
pub mod memory;
pub mod upload;

use crate::support::{Running, SOON, caudal};
use serde_json::Value;

/// The limit on the rate, bytes a second.
const RATE: f64 = 1e6;
/// The limit on the payload, bytes.
const BYTES: u64 = 1_000_000;
/// What a single read or the last block of a sender may add, bytes.
const BLOCK: u64 = 256 << 10;

/// A server of all protocols with its ports.
struct LimitedServer {
    running: Running,
    native: u16,
    iperf2: u16,
    nttcp: u16,
}

/// What a server counted of a test.
#[derive(Debug, Default)]
struct Counted {
    received: u64,
    sent: u64,
    took_s: f64,
    log: String,
}

impl LimitedServer {
    /// Starts a server with these words.
    fn start(words: &str) -> Self {
        let mut command = caudal("serve -p 0 --iperf2-port 0 --nttcp-port 0 --json-log".split(' '));
        let running = Running::start(command.args(words.split_whitespace()));
        let port = || {
            let line: Value = serde_json::from_str(&running.line_with("listening")).unwrap();
            u16::try_from(line["port"].as_u64().unwrap()).unwrap()
        };
        let (native, iperf2, nttcp) = (port(), port(), port());
        Self {
            running,
            native,
            iperf2,
            nttcp,
        }
    }

    /// What the server counted, once it has logged the end of a test.
    fn counted(self) -> Counted {
        self.running.line_with("\"finished\"");
        self.running.signal("INT");
        let ended = self.running.wait(SOON);
        let mut counted = Counted::default();
        for line in ended.stdout.lines() {
            let event: Value = serde_json::from_str(line).unwrap();
            if event["event"] == "finished" {
                counted.received += event["received_bytes"].as_u64().unwrap_or(0);
                counted.sent += event["sent_bytes"].as_u64().unwrap_or(0);
                counted.took_s += event["took_s"].as_f64().unwrap_or(0.0);
            }
        }
        counted.log = ended.stdout;
        counted
    }
}

/// Runs `case` for each of `cases` at once.
fn at_once<T: Copy + Sync>(cases: &[T], case: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for one in cases {
            scope.spawn(|| case(*one));
        }
    });
}
