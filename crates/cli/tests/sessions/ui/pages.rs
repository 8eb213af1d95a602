//! The pages in a browser.

use crate::support::browser::{Browser, trial_in_browser};
use crate::support::served_ui::ServedUi;
use crate::support::{Running, SOON, Serve, caudal, run};
use libtest_mimic::Trial;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

pub fn trials() -> Vec<Trial> {
    vec![
        trial_in_browser("a_test_is_started_watched_stopped_and_found", started),
        trial_in_browser("two_runs_are_overlaid_and_compared", compared),
        trial_in_browser("names_are_text_whatever_is_in_them", hostile_names),
        trial_in_browser("two_browsers_see_the_same_test", two_browsers),
        trial_in_browser("a_log_and_a_capture_are_taken_in", taken_in),
        trial_in_browser("an_experiment_is_checked_as_one_types", experiment),
        trial_in_browser(
            "a_server_that_is_gone_is_said_so_and_comes_back",
            gone_and_back,
        ),
        trial_in_browser("tests_of_a_watched_path_are_shown_over_days", watched),
        trial_in_browser("from_elsewhere_it_takes_a_password", from_elsewhere),
        trial_in_browser("an_hour_at_ten_a_second_stays_bounded", an_hour),
    ]
}

fn open(ui: &ServedUi) -> Browser {
    let mut browser = Browser::open(1280);
    browser.goes_to(&ui.address());
    browser.shows("document.querySelector('#line')?.innerText.startsWith('caudal tcp')");
    // The token is nowhere that others look.
    assert_eq!(browser.evaluate("location.href.includes('t=')"), false);
    browser
}

/// Types into the field with this label.
fn types(browser: &mut Browser, label: &str, text: &str) {
    let (label, text) = (json!(label), json!(text));
    browser.evaluate(&format!(
        "(() => {{ const field = [...document.querySelectorAll('.field')].find((one) => \
         one.querySelector('.label').innerText === {label}).querySelector('input, textarea, select'); \
         field.value = {text}; field.dispatchEvent(new Event('input', {{bubbles: true}})); \
         field.dispatchEvent(new Event('change', {{bubbles: true}})); }})()"
    ));
}

fn goes(browser: &mut Browser, place: &str) {
    browser.evaluate(&format!("location.hash = {}", json!(place)));
}

/// Runs a test to its end: the id of its run.
fn measures(ui: &ServedUi, values: &Value) -> String {
    let (status, job) = ui.asks(
        "POST /api/tests",
        &json!({"command": "tcp", "values": values}),
    );
    assert_eq!(status, 201, "{job}");
    let until = std::time::Instant::now() + crate::support::SOON;
    loop {
        let (_, job) = ui.asks(&format!("GET /api/jobs/{}", job["id"]), &Value::Null);
        if job["state"] == "ended" {
            assert_eq!(job["code"], 0, "{job}");
            break;
        }
        assert!(std::time::Instant::now() < until, "{job}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let (_, list) = ui.asks("GET /api/runs?limit=1", &Value::Null);
    list["entries"][0]["id"].as_str().unwrap().to_owned()
}

fn started() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    types(&mut browser, "time", "60s");
    types(&mut browser, "rate", "20M");
    browser.shows("document.querySelector('#line').innerText.includes('--rate=20M')");
    browser.clicks_text("Start");
    browser.shows_text("Running: ");
    // The panel draws, and says in words what it draws.
    browser.shows("document.querySelector('.plot canvas')");
    browser.shows("document.querySelector('.plot').getAttribute('aria-label').includes('Mbit/s')");
    browser.clicks_text("Stop");
    browser.shows_text("Ended");
    browser.clicks_text("The recorded run");
    browser.shows_text("interrupted");
    goes(&mut browser, "#/runs");
    browser.shows("document.querySelectorAll('tbody tr').length === 1");
    browser.shows_text("tcp");
    // A word that no run has finds none.
    types(&mut browser, "search", "nowhere-to-be-found");
    browser.shows_text("Nothing here.");
}

fn compared() {
    let ui = ServedUi::start();
    let values = json!({"time": "500ms", "rate": "10M", "interval": "100ms"});
    let (first, second) = (measures(&ui, &values), measures(&ui, &values));
    let mut browser = open(&ui);
    goes(&mut browser, &format!("#/run/{first}"));
    browser.shows("document.querySelector('.plot canvas')");
    types(&mut browser, "beside it, on the same axes", &second);
    let label = format!("({})", &second[..8]);
    browser.shows(&format!(
        "document.querySelector('.plot').getAttribute('aria-label').includes({})",
        json!(label)
    ));
    types(&mut browser, "title of the figures", "My title");
    browser.shows_text("My title: throughput");
    goes(&mut browser, "#/runs");
    browser.shows("document.querySelectorAll('tbody input').length === 2");
    // The course of each is drawn beside its result.
    browser.shows("document.querySelectorAll('tbody polyline').length === 2");
    browser.evaluate("document.querySelectorAll('tbody input').forEach((one) => one.click())");
    browser.clicks_text("Compare the two");
    browser.shows_text("goodput");
    browser.shows_text("cannot tell: one run each");
}

fn hostile_names() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    let hostile = "</script><img src=x onerror=document.title='broken'>";
    types(&mut browser, "host", hostile);
    browser.shows("document.querySelector('#line').innerText.includes('onerror')");
    browser.clicks_text("Start");
    browser.shows_text("Ended");
    browser.shows("document.body.innerText.includes('onerror')");
    goes(&mut browser, "#/measure");
    browser.shows_text("Started here");
    assert_eq!(browser.evaluate("document.title"), "caudal");
    assert_eq!(
        browser.evaluate("document.querySelectorAll('img').length"),
        0
    );
}

fn two_browsers() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    types(&mut browser, "time", "60s");
    types(&mut browser, "rate", "5M");
    browser.clicks_text("Start");
    browser.shows_text("Running: ");
    let place = browser.evaluate("location.hash");
    let mut other = open(&ui);
    goes(&mut other, place.as_str().unwrap());
    other.shows_text("Running: ");
    other.shows("document.querySelector('.plot canvas')");
    other.clicks_text("Stop");
    browser.shows_text("Ended");
    other.shows_text("Ended");
}

/// A file dropped onto the page, by its bytes.
fn drops(browser: &mut Browser, name: &str, bytes: &[u8]) {
    let bytes = json!(bytes);
    browser.evaluate(&format!(
        "(() => {{ const data = new DataTransfer(); data.items.add(new File([new Uint8Array({bytes})], {})); \
         document.querySelector('main > div').dispatchEvent(new DragEvent('drop', \
         {{bubbles: true, cancelable: true, dataTransfer: data}})); }})()",
        json!(name)
    ));
}

fn taken_in() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    goes(&mut browser, "#/runs");
    browser.shows_text("Nothing here.");
    let log = "PING far (192.0.2.1) 56(84) bytes of data.\n\
               64 bytes from 192.0.2.1: icmp_seq=1 ttl=64 time=1.50 ms\n\
               64 bytes from 192.0.2.1: icmp_seq=2 ttl=64 time=2.50 ms\n\n\
               --- far ping statistics ---\n2 packets transmitted, 2 received, 0% packet loss, time 1001ms\n\
               rtt min/avg/max/mdev = 1.500/2.000/2.500/0.500 ms\n";
    drops(&mut browser, "ping.log", log.as_bytes());
    browser.shows("document.querySelectorAll('tbody tr').length === 1");
    browser.shows_text("2.000 ms");
    // A capture of no packets, and what is none.
    let mut pcap = vec![0xD4, 0xC3, 0xB2, 0xA1, 2, 0, 4, 0];
    pcap.extend([0; 8]);
    pcap.extend(65_535_u32.to_le_bytes());
    pcap.extend(1_u32.to_le_bytes());
    drops(&mut browser, "empty.pcap", &pcap);
    browser.shows("document.querySelector('[role=status]').innerText.startsWith('empty.pcap')");
    drops(&mut browser, "junk", &[0xFF; 64]);
    browser.shows("document.querySelector('[role=status]').innerText.startsWith('junk: ')");
    // A frame that a finding names is found in the sequence diagram of its flow.
    let path = "/../capture/tests/captures/seed000-offload-on.pcap";
    let capture = std::fs::read(format!("{}{path}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    drops(&mut browser, "echo.pcap", &capture);
    browser.shows("document.querySelector('[role=status]').innerText.startsWith('echo.pcap')");
    browser.clicks_text("Its flows and sequence diagrams");
    browser.shows_text("the server reset the connection");
    browser.clicks_text("180");
    browser.shows("document.activeElement?.id === 'frame-180'");
    browser.shows(
        "document.activeElement.querySelector('.arrow.to_client').innerText.includes('RST')",
    );
    browser.clicks_text("2 tcp");
    browser.shows_text("Sequence diagram");
    browser.shows("document.getElementById('frame-182')");
    browser.clicks_text("rtt");
    browser.shows("document.querySelector('img.figure')?.naturalWidth > 100");
    // What is no number of a capture here is none.
    for path in ["9", "0/x", "0/1/graph/nonsense", "0/99"] {
        let (status, _) = ui.asks(&format!("GET /api/captures/{path}"), &Value::Null);
        assert!((400..500).contains(&status), "{path}: {status}");
    }
}

fn experiment() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    goes(&mut browser, "#/studies");
    browser.clicks_text("echo-capacity");
    browser.shows("document.querySelector('textarea')?.value.includes('title =')");
    browser.shows_text("cases:");
    types(&mut browser, "the experiment", "title = 5");
    browser.shows("document.querySelector('pre.problem')");
    let run =
        "[...document.querySelectorAll('button')].find((one) => one.innerText === 'Run').disabled";
    browser.shows(run);
}

fn gone_and_back() {
    let ui = ServedUi::start();
    let mut browser = open(&ui);
    let (port, token) = (ui.port, ui.token.clone());
    drop(ui);
    goes(&mut browser, "#/runs");
    browser.shows_text("The server does not answer");
    // Another server at its port has another token: that is said too.
    let store = std::env::temp_dir().join(format!("caudal-ui-back-{port}.db"));
    let again = ServedUi::at(port, store);
    assert_ne!(again.token, token);
    browser.shows_text("The token is missing or wrong");
    browser.goes_to("about:blank");
    browser.goes_to(&again.address());
    browser.shows("document.querySelector('#line')?.innerText.startsWith('caudal tcp')");
}

fn watched() {
    let ui = ServedUi::start();
    for _ in 0..2 {
        let mut test = caudal(["rtt", "--count", "5", "--tag", "watch:far", "--store"]);
        test.arg(&ui.store);
        let ended = run(&mut test, SOON);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
    let mut browser = open(&ui);
    browser.clicks_text("Watched");
    browser.clicks_text("far");
    browser.shows_text("2 tests with a result, 0 without. No change is shown by them.");
    browser.shows("document.querySelector('.plot canvas')");
}

fn from_elsewhere() {
    let directory = std::env::temp_dir().join(format!("caudal-ui-tls-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let place = |name: &str| directory.join(name).display().to_string();
    let pair = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    std::fs::write(place("cert.pem"), pem("CERTIFICATE", pair.cert.der())).unwrap();
    std::fs::write(
        place("key.pem"),
        pem("PRIVATE KEY", &pair.signing_key.serialize_der()),
    )
    .unwrap();
    let mut make = caudal(["ui", "--make-password"]);
    let line = with_input(&mut make, b"correct horse battery\n");
    assert!(line.starts_with("$argon2id$"), "{line}");
    std::fs::write(place("password"), line).unwrap();
    let mode = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(place("password"), mode).unwrap();
    let mut command = caudal([
        "ui",
        "-p",
        "0",
        "--listen",
        "127.0.0.1",
        "--host",
        "localhost",
    ]);
    command
        .args(["--password-file", &place("password")])
        .args([
            "--tls-cert",
            &place("cert.pem"),
            "--tls-key",
            &place("key.pem"),
        ])
        .env("CAUDAL_STORE", "none");
    let running = Running::start(&mut command);
    let told = running.line_with("with TLS and a password");
    assert!(!told.contains("#t="), "{told}");
    let address = told
        .split(", ")
        .next()
        .unwrap()
        .replace("listening at ", "");
    let port = address.trim().rsplit(':').next().unwrap();
    let mut browser = Browser::open(400);
    browser.call(
        "Security.setIgnoreCertificateErrors",
        &json!({"ignore": true}),
    );
    browser.goes_to(&format!("https://localhost:{port}/"));
    browser.shows("document.querySelector('input[type=password]')");
    types(&mut browser, "password", "wrong");
    browser.clicks_text("Log in");
    browser.shows_text("this is not the password");
    types(&mut browser, "password", "correct horse battery");
    browser.clicks_text("Log in");
    browser.shows("document.querySelector('#line')?.innerText.startsWith('caudal tcp')");
    // Without TLS nothing is answered.
    let mut plain = std::net::TcpStream::connect(("127.0.0.1", port.parse().unwrap())).unwrap();
    plain
        .write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut answer = Vec::new();
    let _ = plain.read_to_end(&mut answer);
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let _ = std::fs::remove_dir_all(directory);
}

/// Bytes in PEM.
fn pem(label: &str, bytes: &[u8]) -> String {
    use base64ct::{Base64, Encoding};
    let text = Base64::encode_string(bytes);
    format!("-----BEGIN {label}-----\n{text}\n-----END {label}-----\n")
}

/// What a command prints that reads this.
fn with_input(command: &mut std::process::Command, input: &[u8]) -> String {
    use std::process::Stdio;
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

fn an_hour() {
    let server = Serve::start("");
    drop(server);
    let ui = ServedUi::start();
    // A run of an hour with a reading every tenth of a second, as imported from a document.
    let intervals: Vec<Value> = (0..36_000)
        .map(|nth| {
            let start = f64::from(nth) / 10.0;
            json!({"load": "download", "start_s": start, "end_s": start + 0.1, "down_bps": 1e6 + f64::from(nth % 100),
                   "rtt_us": 1000.0, "rtt_max_us": 2000.0, "probes": 2, "lost": 0})
        })
        .collect();
    let id = "ab".repeat(16);
    let run = json!({"schema": "caudal.run/1", "id": id, "started": "2026-11-28T10:00:00Z", "tool": {"name": "caudal"},
                     "plan": {"kind": "quality", "peer": "far"},
                     "quality": {"phases": [], "advice": [], "intervals": intervals, "confidence": 0.95}});
    let run: caudal_core::run::Run = serde_json::from_value(run).unwrap();
    let stored = caudal_store::StoredRun::new(run, 1, caudal_core::run::RunOutcome::Done);
    caudal_store::Store::open(&ui.store)
        .unwrap()
        .record(&stored)
        .unwrap();
    let mut browser = open(&ui);
    goes(&mut browser, &format!("#/run/{id}"));
    browser.shows("document.querySelector('.plot canvas')");
    let label = browser.evaluate("document.querySelector('.plot').getAttribute('aria-label')");
    assert!(
        label.as_str().unwrap().contains("highest 1.000 Mbit/s"),
        "{label}"
    );
    let heap = browser.evaluate("performance.memory.usedJSHeapSize");
    assert!(heap.as_f64().unwrap() < 200e6, "{heap}");
}
