//! Tests of ndt7 and with a page, carried out by a client that speaks as a browser does.

use super::client::{get, ndt7_download, ndt7_upload, open};
use crate::support::{SOON, Serve, caudal, run};
use serde_json::{Value, json};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};
use tungstenite::{Message, WebSocket};

trials! {
    a_download_of_ndt7_arrives_with_its_measurements,
    an_upload_of_ndt7_is_counted_by_the_receiver,
    the_limits_of_the_server_hold,
    a_test_with_a_page_is_measured_recorded_and_shown_to_its_visitor,
    a_page_that_leaves_ends_its_test,
    counts_that_cannot_be_true_are_not_believed,
    a_test_that_is_not_recorded_has_no_link,
}

fn a_download_of_ndt7_arrives_with_its_measurements() {
    let server = Serve::start("--web --max-time 1s");
    let (bytes, measurements) = ndt7_download(&server);
    assert!(bytes > 1_000_000, "{bytes}");
    let (first, last) = (&measurements[0], measurements.last().unwrap());
    assert_eq!(
        (&first["Origin"], &first["Test"]),
        (&json!("server"), &json!("download"))
    );
    assert!(
        first["ConnectionInfo"]["Client"]
            .as_str()
            .unwrap()
            .starts_with("127.0.0.1:")
    );
    assert!(
        last["AppInfo"]["NumBytes"].as_u64().unwrap() <= bytes,
        "{last}"
    );
    assert!(last["TCPInfo"]["BytesAcked"].as_u64().is_some(), "{last}");
    let line = server.running.line_with("done in");
    assert!(line.contains("a download over TCP"), "{line}");
}

fn an_upload_of_ndt7_is_counted_by_the_receiver() {
    let server = Serve::start("--web");
    let (sent, last) = ndt7_upload(&server, Duration::from_secs(1));
    assert_eq!(last["Test"], "upload");
    let counted = last["AppInfo"]["NumBytes"].as_u64().unwrap();
    assert!(counted > 0 && counted <= sent, "{counted} of {sent}");
    let line = server.running.line_with("done in");
    assert!(
        line.contains("received") && line.contains("an upload"),
        "{line}"
    );
}

fn the_limits_of_the_server_hold() {
    let server = Serve::start("--web --max-time 2s --max-rate 8M");
    let began = Instant::now();
    let (bytes, _) = ndt7_download(&server);
    let lasted_s = began.elapsed().as_secs_f64();
    // 1 MB/s, with a message that was begun before the end.
    assert!(
        (bytes as f64) < 1.2e6 * lasted_s.max(2.0),
        "{bytes} in {lasted_s} s"
    );
    let (_, last) = ndt7_upload(&server, Duration::from_secs(2));
    let counted = last["AppInfo"]["NumBytes"].as_u64().unwrap();
    assert!(counted < 6_000_000, "{counted}");
    let small = Serve::start("--web --max-bytes 200K");
    assert!(ndt7_download(&small).0 <= 200_000);
}

/// A page: its dialogue, and what its threads do.
struct Page<'a> {
    server: &'a Serve,
    dialogue: WebSocket<TcpStream>,
    session: String,
    threads: Vec<JoinHandle<()>>,
    received: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    /// What it claims to have received, for each byte.
    exaggerates: u64,
}

impl<'a> Page<'a> {
    fn open(server: &'a Serve) -> Self {
        let mut dialogue = open(server, "/test", None);
        let hello = next(&mut dialogue);
        assert_eq!(hello["t"], "hello", "{hello}");
        let session = hello["session"].as_str().unwrap().to_owned();
        let mut page = Self {
            server,
            dialogue,
            session,
            threads: Vec::new(),
            received: Arc::default(),
            is_over: Arc::default(),
            exaggerates: 1,
        };
        let mut probe = page.flow("probe");
        // Reading answers pings.
        page.threads
            .push(thread::spawn(move || while probe.read().is_ok() {}));
        page
    }

    fn flow(&self, kind: &str) -> WebSocket<TcpStream> {
        open(self.server, &format!("/s/{}/{kind}", self.session), None)
    }

    fn connect_flows(&mut self, phase: &Value) {
        for _ in 0..phase["streams"].as_u64().unwrap() {
            if phase["load"] != "upload" {
                let (mut flow, received) = (self.flow("down"), Arc::clone(&self.received));
                self.threads.push(thread::spawn(move || {
                    while let Ok(message) = flow.read() {
                        received.fetch_add(message.len() as u64, Relaxed);
                    }
                }));
            }
            if phase["load"] != "download" {
                let (mut flow, is_over) = (self.flow("up"), Arc::clone(&self.is_over));
                self.threads.push(thread::spawn(move || {
                    let payload = vec![7; 1 << 14];
                    while !is_over.load(Relaxed)
                        && flow.send(Message::Binary(payload.clone().into())).is_ok()
                    {
                    }
                }));
            }
        }
    }

    /// Does what the server says until it tells the result.
    fn run(mut self) -> Value {
        let mut began = Instant::now();
        let mut number = Value::Null;
        loop {
            let message = next(&mut self.dialogue);
            match message["t"].as_str().unwrap() {
                "phase" => self.connect_flows(&message),
                "go" => {
                    self.received.store(0, Relaxed);
                    (began, number) = (Instant::now(), message["number"].clone());
                }
                "progress" => {
                    let bytes = self.received.load(Relaxed).saturating_mul(self.exaggerates);
                    let ms = began.elapsed().as_secs_f64() * 1e3;
                    let count = json!({"t": "count", "number": number, "ms": ms, "bytes": bytes});
                    let text = Message::text(count.to_string());
                    self.dialogue.send(text).unwrap();
                }
                "over" => {}
                _ => {
                    self.is_over.store(true, Relaxed);
                    return message;
                }
            }
        }
    }
}

fn next(dialogue: &mut WebSocket<TcpStream>) -> Value {
    loop {
        if let Message::Text(text) = dialogue.read().unwrap() {
            return serde_json::from_str(&text).unwrap();
        }
    }
}

fn store(name: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("caudal-web-{name}-{}.db", std::process::id()));
    let _ = std::fs::remove_file(&path);
    path
}

fn a_test_with_a_page_is_measured_recorded_and_shown_to_its_visitor() {
    let store = store("recorded");
    let words = format!(
        "--web --max-time 1s --max-rate 1G --web-store {}",
        store.display()
    );
    let server = Serve::start(&words);
    let result = Page::open(&server).run();
    assert_eq!(result["t"], "result", "{result}");
    for key in ["down_bps", "up_bps", "idle_ms"] {
        assert!(result[key].as_f64().unwrap() > 0.0, "{key}: {result}");
    }
    let link = result["link"].as_str().unwrap();
    let (head, body) = get(&server, link);
    assert!(
        head.starts_with("HTTP/1.1 200") && body.contains("<svg"),
        "{head}"
    );
    assert!(!head.contains("script-src"), "{head}");
    let mut shown = caudal(["report", "show", "last", "--json", "--store"]);
    shown.arg(&store);
    let recorded = run(&mut shown, SOON).done().json();
    assert_eq!(recorded["id"], link.trim_start_matches("/r/"));
    let phases = recorded["quality"]["phases"].as_array().unwrap();
    let loads: Vec<_> = phases.iter().map(|phase| &phase["load"]).collect();
    assert_eq!(loads, ["idle", "download", "upload", "both"]);
    assert_eq!(phases[0]["probes"][0]["probe"], "web_socket", "{recorded}");
    assert_eq!(
        phases[1]["directions"][0]["goodput_bps"]["mean"],
        result["down_bps"]
    );
    // Nothing of the server's machine is shown to strangers.
    assert_eq!(
        recorded["environment"]["machine"],
        Value::Null,
        "{recorded}"
    );
    let _ = std::fs::remove_file(store);
}

fn a_page_that_leaves_ends_its_test() {
    let server = Serve::start("--web --web-keep 0");
    let mut page = Page::open(&server);
    loop {
        let message = next(&mut page.dialogue);
        match message["t"].as_str().unwrap() {
            "phase" => page.connect_flows(&message),
            "go" => break,
            _ => {}
        }
    }
    let until = Instant::now() + SOON;
    while page.received.load(Relaxed) == 0 {
        assert!(Instant::now() < until, "no payload arrives");
        thread::sleep(Duration::from_millis(10));
    }
    drop(page.dialogue);
    let line = server.running.line_with("done in");
    assert!(line.contains("the page was closed"), "{line}");
    // What it moved until then is charged to its source.
    assert!(!line.contains(" 0 B sent"), "{line}");
    server.still_serves();
}

fn counts_that_cannot_be_true_are_not_believed() {
    let server = Serve::start("--web --web-keep 0 --max-time 1s --max-rate 80M");
    let page = Page {
        exaggerates: 1000,
        ..Page::open(&server)
    };
    let result = page.run();
    let down = result["down_bps"].as_f64().unwrap_or(0.0);
    assert!(down < 200e6, "{result}");
}

fn a_test_that_is_not_recorded_has_no_link() {
    let server = Serve::start("--web --web-keep 0 --max-time 300ms --max-rate 1G");
    let result = Page::open(&server).run();
    assert_eq!(
        (&result["t"], &result["link"]),
        (&json!("result"), &Value::Null),
        "{result}"
    );
}
