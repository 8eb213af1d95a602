//! `caudal watch`: tests repeated, recorded, exported as metrics and compared with those before.

use crate::support::{Ended, Running, SOON, Serve, caudal, run};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

trials! {
    tests_are_repeated_recorded_and_exported,
    a_path_that_fails_is_down_and_has_no_value,
    a_scrape_begins_no_test,
    an_alert_is_raised_when_the_latest_tests_are_worse,
    quiet_hours_and_used_up_bytes_leave_tests_out,
    an_interrupt_ends_the_test_and_the_watch,
    a_test_that_hangs_is_ended,
    what_is_wrong_is_said_before_anything_runs,
}

/// A directory of its own, removed when dropped.
struct Place(PathBuf);

impl Place {
    fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("caudal-watch-{}-{number}", std::process::id());
        let directory = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&directory).unwrap();
        Self(directory)
    }

    fn store(&self) -> String {
        self.0.join("runs.db").display().to_string()
    }

    fn file(&self, text: &str) -> String {
        let path = self.0.join("paths.toml");
        std::fs::write(&path, text).unwrap();
        path.display().to_string()
    }

    /// A watch that records here.
    fn watch<'a>(&self, words: impl IntoIterator<Item = &'a str>) -> Command {
        let mut command = caudal(["watch", "--store", &self.store()]);
        command.args(words);
        command
    }

    fn list(&self, tag: &str) -> Vec<String> {
        let mut list = caudal([
            "report",
            "--store",
            &self.store(),
            "list",
            "--json",
            "--tag",
            tag,
        ]);
        let runs = run(&mut list, SOON).done().json();
        let runs = runs["entries"].as_array().or(runs.as_array()).unwrap();
        runs.iter().map(|one| one["id"].to_string()).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The port of the metrics that a watch has said.
fn metrics_port(watch: &Running) -> u16 {
    let line = watch.line_with("metrics on http://127.0.0.1:");
    let port = line.trim().trim_end_matches("/metrics").rsplit(':').next();
    port.and_then(|port| port.parse().ok()).unwrap()
}

fn scrape(port: u16) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
        .write_all(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
        .unwrap();
    let mut text = String::new();
    let _ = stream.read_to_string(&mut text);
    text
}

/// Waits until the metrics have a line that begins so.
#[track_caller]
fn awaited(port: u16, begins: &str) -> String {
    let until = Instant::now() + SOON;
    loop {
        let text = scrape(port);
        if text.lines().any(|line| line.starts_with(begins)) {
            return text;
        }
        assert!(Instant::now() < until, "no {begins:?} in\n{text}");
        thread::sleep(Duration::from_millis(50));
    }
}

fn tests_are_repeated_recorded_and_exported() {
    let (server, place) = (Serve::start(""), Place::new());
    let test = format!("rtt -p {} -t 200ms", server.port);
    let words = [
        "127.0.0.1",
        "--test",
        &test,
        "--every",
        "1s",
        "--jitter",
        "0s",
    ];
    let mut command = place.watch(words);
    command.args(["--count", "3", "--prometheus", "0"]);
    let watch = Running::start(&mut command);
    let port = metrics_port(&watch);
    let text = awaited(port, "caudal_path_up{");
    assert!(
        text.contains("target=\"rtt-127.0.0.1\",protocol=\"rtt\"} 1\n"),
        "{text}"
    );
    assert!(text.contains("caudal_path_rtt_seconds_count{"), "{text}");
    assert!(!text.contains("127.0.0.1:"), "no port is a label: {text}");
    let ended = watch.wait(SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let tested = ended
        .stdout
        .lines()
        .filter(|line| line.contains("rtt-127.0.0.1: "));
    assert_eq!(tested.count(), 3, "{ended:#?}");
    assert_eq!(place.list("watch:rtt-127.0.0.1").len(), 3);
    let mut timeline = caudal(["top", "--watch", "rtt-127.0.0.1", "--store", &place.store()]);
    let listed = run(&mut timeline, SOON);
    assert_eq!(listed.code, Some(0), "{listed:#?}");
    assert_eq!(listed.stdout.lines().count(), 4, "{listed:#?}");
    let mut other = caudal(["top", "--watch", "nowhere", "--store", &place.store()]);
    run(&mut other, SOON).failed(1, &["nowhere", "caudal report list"]);
}

fn a_path_that_fails_is_down_and_has_no_value() {
    let (server, place) = (Serve::start(""), Place::new());
    let file = place.file(&format!(
        "every = \"1s\"\njitter = \"0s\"\n\
         [[path]]\nname = \"gone\"\ntest = \"tcp 127.0.0.1 -p 9 -t 0.2\"\n\
         [[path]]\nname = \"there\"\ntest = \"tcp 127.0.0.1 -p {} -t 0.2\"\n",
        server.port
    ));
    let mut command = place.watch([file.as_str(), "--prometheus", "0", "--json-log"]);
    let watch = Running::start(&mut command);
    let line = watch.line_with("\"metrics\":\"127.0.0.1:");
    let line: serde_json::Value = serde_json::from_str(&line).unwrap();
    let port = line["metrics"]
        .as_str()
        .unwrap()
        .rsplit(':')
        .next()
        .unwrap();
    let port: u16 = port.parse().unwrap();
    let text = awaited(port, "caudal_path_goodput_bytes_per_second{");
    let of_gone = |name: &str| {
        let lines = text.lines();
        let mut found = lines.filter(|line| line.starts_with(name) && line.contains("\"gone\""));
        found.next().map(str::to_owned)
    };
    assert!(
        of_gone("caudal_path_up{").unwrap().ends_with(" 0"),
        "{text}"
    );
    assert_eq!(of_gone("caudal_path_goodput"), None, "{text}");
    let failed = watch.line_with("\"event\":\"failed\"");
    assert!(failed.contains("cannot connect"), "{failed}");
    watch.signal("INT");
    assert_eq!(watch.wait(SOON).code, Some(0));
}

fn a_scrape_begins_no_test() {
    let (server, place) = (Serve::start(""), Place::new());
    let test = format!("rtt -p {} -t 100ms", server.port);
    let words = [
        "127.0.0.1",
        "--test",
        &test,
        "--every",
        "1h",
        "--prometheus",
        "0",
    ];
    let watch = Running::start(&mut place.watch(words));
    let port = metrics_port(&watch);
    awaited(port, "caudal_path_up{");
    for _ in 0..50 {
        scrape(port);
    }
    let text = scrape(port);
    assert!(text.contains("result=\"completed\"} 1\n"), "{text}");
    assert_eq!(place.list("watch:rtt-127.0.0.1").len(), 1);
    watch.signal("INT");
    watch.wait(SOON);
}

fn an_alert_is_raised_when_the_latest_tests_are_worse() {
    let place = Place::new();
    let told = place.0.join("told");
    let watch = |server: &Serve, count: &str| -> Ended {
        let file = place.file(&format!(
            "every = \"1s\"\njitter = \"0s\"\n[[path]]\nname = \"far\"\ntest = \"tcp 127.0.0.1 -p {} -t 0.3\"\n",
            server.port
        ));
        let mut command = place.watch([file.as_str(), "--count", count, "--exit-on-alert"]);
        let say = format!("echo \"$CAUDAL_ALERT $CAUDAL_PATH\" >> {}", told.display());
        command.args(["--on-alert", &say]);
        run(&mut command, Duration::from_secs(60))
    };
    let usual = watch(&Serve::start("--max-rate 40M"), "5");
    assert_eq!(usual.code, Some(0), "{usual:#?}");
    assert!(!told.exists());
    let worse = watch(&Serve::start("--max-rate 10M"), "8");
    assert_eq!(worse.code, Some(5), "{worse:#?}");
    assert!(worse.stdout.contains("far: ALERT worse: "), "{worse:#?}");
    assert_eq!(std::fs::read_to_string(&told).unwrap(), "worse far\n");
}

fn quiet_hours_and_used_up_bytes_leave_tests_out() {
    let (server, place) = (Serve::start(""), Place::new());
    let test = format!("tcp -p {} -n 100K", server.port);
    let words = [
        "127.0.0.1",
        "--test",
        &test,
        "--every",
        "1s",
        "--jitter",
        "0s",
        "--count",
        "2",
    ];
    let mut quiet = place.watch(words);
    quiet.args([
        "--quiet-hours",
        "00:00-12:00",
        "--quiet-hours",
        "12:00-00:00",
    ]);
    let quiet = run(&mut quiet, SOON).done();
    assert_eq!(
        quiet.stdout.matches("left out: quiet hours").count(),
        2,
        "{quiet:#?}"
    );
    assert!(place.list("watch:tcp-127.0.0.1").is_empty());
    let mut poor = place.watch(words);
    poor.args(["--max-bytes", "150K"]);
    let poor = run(&mut poor, SOON).done();
    assert_eq!(
        poor.stdout
            .matches("left out: the bytes of the day")
            .count(),
        1,
        "{poor:#?}"
    );
    assert_eq!(place.list("watch:tcp-127.0.0.1").len(), 1);
    // What another watch has moved today counts.
    let mut next = place.watch(words);
    next.args(["--max-bytes", "100K"]);
    let next = run(&mut next, SOON).done();
    assert_eq!(next.stdout.matches("left out").count(), 2, "{next:#?}");
}

fn an_interrupt_ends_the_test_and_the_watch() {
    let (server, place) = (Serve::start(""), Place::new());
    let test = format!("tcp -p {} -t 60 -b 1M", server.port);
    let watch = Running::start(&mut place.watch(["127.0.0.1", "--test", &test]));
    watch.line_with("watching 1 paths");
    server.running.line_with("TCP upload");
    watch.signal("INT");
    assert_eq!(watch.wait(SOON).code, Some(0));
    server.still_serves();
}

fn a_test_that_hangs_is_ended() {
    let (server, place) = (Serve::start(""), Place::new());
    let test = format!("tcp -p {} -t 60 -b 1M", server.port);
    let words = [
        "127.0.0.1",
        "--test",
        &test,
        "--max-time",
        "1s",
        "--count",
        "1",
    ];
    let ended = run(&mut place.watch(words), SOON).done();
    assert!(
        ended.stdout.contains("failed: it did not end within 1s"),
        "{ended:#?}"
    );
}

fn what_is_wrong_is_said_before_anything_runs() {
    let place = Place::new();
    for (words, why) in [
        (vec!["far", "--test", "serve"], "cannot be watched"),
        (vec!["far", "--test", "tcp --json"], "watch decides"),
        (
            vec!["far", "--test", "tcp --no-such-flag"],
            "unexpected argument",
        ),
        (vec!["far", "--every", "10ms"], "at least 1s"),
        (vec!["far", "--recent", "2"], "--recent"),
        (vec!["far", "--quiet-hours", "late"], "22:00-06:00"),
        (vec!["/no/such/file.toml"], "cannot be read"),
    ] {
        let ended = run(&mut place.watch(words.iter().copied()), SOON);
        assert_eq!(ended.code, Some(2), "{words:?}: {ended:#?}");
        assert!(ended.stderr.contains(why), "{words:?}: {ended:#?}");
    }
    let file = place.file("[[path]]\ntest = ]\n");
    let ended = run(&mut place.watch([file.as_str()]), SOON);
    ended.failed(2, &["paths.toml", "line 2"]);
    let mut without = caudal(["watch", "far"]);
    without.env("CAUDAL_STORE", "none");
    run(&mut without, SOON).failed(2, &["--store"]);
}
