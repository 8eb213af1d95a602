//! Debian's Chromium, driven over its DevTools protocol.

use super::uninstalled;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tungstenite::stream::MaybeTlsStream;
use tungstenite::{Message, WebSocket};

/// The time that a page may take to show something.
const PATIENCE: Duration = Duration::from_secs(60);

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A trial that needs a browser: ignored where there is none, with the reason, also under `CI=true`.
pub fn trial_in_browser(name: &str, test: impl FnOnce() + Send + 'static) -> libtest_mimic::Trial {
    let body = move || {
        test();
        Ok(())
    };
    match uninstalled("chromium") {
        Some(why) => {
            eprintln!("ignored: {name}: {why}");
            libtest_mimic::Trial::test(name, body).with_ignored_flag(true)
        }
        None => libtest_mimic::Trial::test(name, body),
    }
}

/// A browser with one page.
pub struct Browser {
    child: Child,
    socket: WebSocket<MaybeTlsStream<TcpStream>>,
    profile: PathBuf,
    last: u64,
}

impl Browser {
    /// A browser whose page is empty and this wide.
    pub fn open(width: u32) -> Self {
        let nth = NEXT.fetch_add(1, Relaxed);
        let name = format!("caudal-browser-{}-{nth}", std::process::id());
        let profile = std::env::temp_dir().join(name);
        let mut child = Command::new("chromium")
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--no-first-run",
            ])
            .args(["--remote-debugging-port=0", "--disable-dev-shm-usage"])
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let port = lines
            .by_ref()
            .map_while(Result::ok)
            .find_map(|line| {
                let rest = line.split_once("DevTools listening on ws://127.0.0.1:")?.1;
                rest.split('/').next()?.parse::<u16>().ok()
            })
            .expect("the browser does not say where it listens");
        // What it still says has a reader, or it would stop at a full pipe.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let socket = page_socket(port);
        let mut browser = Self {
            child,
            socket,
            profile,
            last: 0,
        };
        let metrics =
            json!({"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", &metrics);
        browser.call("Page.enable", &json!({}));
        browser
    }

    /// Calls a method of the protocol: its result.
    #[track_caller]
    pub fn call(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let request = json!({"id": self.last, "method": method, "params": params});
        self.socket
            .send(Message::text(request.to_string()))
            .unwrap();
        loop {
            if let Message::Text(text) = self.socket.read().unwrap() {
                let answer: Value = serde_json::from_str(&text).unwrap();
                if answer["id"] == self.last {
                    assert_eq!(answer["error"], Value::Null, "{method}: {answer}");
                    return answer["result"].clone();
                }
            }
        }
    }

    /// Opens a page.
    pub fn goes_to(&mut self, url: &str) {
        self.call("Page.navigate", &json!({"url": url}));
        self.shows("document.readyState === 'complete'");
    }

    /// The value of an expression in the page, waited for where it is a promise.
    #[track_caller]
    pub fn evaluate(&mut self, expression: &str) -> Value {
        let params = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", &params);
        assert_eq!(
            result["exceptionDetails"],
            Value::Null,
            "{expression}: {result}"
        );
        result["result"]["value"].clone()
    }

    /// Waits until a condition holds in the page.
    #[track_caller]
    pub fn shows(&mut self, condition: &str) {
        let until = Instant::now() + PATIENCE;
        while self.evaluate(&format!("Boolean({condition})")) != true {
            let text = || "document.body ? document.body.innerText : ''";
            if Instant::now() >= until {
                panic!("not {condition}:\n{}", self.evaluate(text()));
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the page shows a text.
    #[track_caller]
    pub fn shows_text(&mut self, text: &str) {
        self.shows(&format!(
            "document.body.innerText.includes({})",
            json!(text)
        ));
    }

    /// Clicks what a selector finds.
    #[track_caller]
    pub fn clicks(&mut self, selector: &str) {
        let selector = json!(selector);
        self.shows(&format!("document.querySelector({selector})"));
        self.evaluate(&format!("document.querySelector({selector}).click()"));
    }

    /// Clicks the button, link or summary with this text.
    #[track_caller]
    pub fn clicks_text(&mut self, text: &str) {
        let text = json!(text);
        let find = format!(
            "[...document.querySelectorAll('button, a, summary')].find((one) => one.innerText === {text})"
        );
        self.shows(&find);
        self.evaluate(&format!("{find}.click()"));
    }

    /// Presses a key, as a keyboard does.
    pub fn presses(&mut self, key: &str) {
        let code = match key {
            "Enter" => 13,
            "Tab" => 9,
            "Escape" => 27,
            _ => 0,
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let params = json!({"type": kind, "key": key, "code": key, "text": text,
                                "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &params);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // With all its processes: some outlive the first.
        let group = format!("-{}", self.child.id());
        let _ = Command::new("kill").args(["-KILL", "--", &group]).status();
        let _ = self.child.wait();
        // What they wrote last may appear while it is removed.
        for _ in 0..50 {
            let _ = std::fs::remove_dir_all(&self.profile);
            if !self.profile.exists() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// The connection to the browser's page.
fn page_socket(port: u16) -> WebSocket<MaybeTlsStream<TcpStream>> {
    use std::io::{Read, Write};
    let until = Instant::now() + PATIENCE;
    loop {
        let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
        stream
            .write_all(
                format!(
                    "GET /json/list HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n"
                )
                .as_bytes(),
            )
            .unwrap();
        stream
            .set_read_timeout(Some(Duration::from_millis(500)))
            .unwrap();
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let pages: Value = text
            .split_once("\r\n\r\n")
            .and_then(|(_, body)| serde_json::from_str(body.trim()).ok())
            .unwrap_or_default();
        let mut all = pages.as_array().into_iter().flatten();
        if let Some(page) = all.find(|one| one["type"] == "page") {
            let url = page["webSocketDebuggerUrl"].as_str().unwrap();
            return tungstenite::connect(url).unwrap().0;
        }
        assert!(Instant::now() < until, "the browser has no page: {text}");
        std::thread::sleep(Duration::from_millis(100));
    }
}
