//! `--top` and `caudal top` in a terminal of tmux: keys, signals, and a terminal that is given back as it was.

use crate::support::{SOON, Serve, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    let with_tmux = |name, test: fn()| trial(name, uninstalled("tmux"), test);
    vec![
        with_tmux(
            "a_test_is_shown_while_it_runs_and_as_text_after_it",
            a_test_is_shown_while_it_runs_and_as_text_after_it,
        ),
        with_tmux(
            "an_interrupt_ends_the_test_and_keeps_its_result",
            an_interrupt_ends_the_test_and_keeps_its_result,
        ),
        with_tmux(
            "a_view_that_is_stopped_goes_on_where_it_was",
            a_view_that_is_stopped_goes_on_where_it_was,
        ),
        with_tmux(
            "a_signal_gives_the_terminal_back",
            a_signal_gives_the_terminal_back,
        ),
        with_tmux("a_test_that_fails_says_why", a_test_that_fails_says_why),
        with_tmux("marks_are_kept_in_the_run", marks_are_kept_in_the_run),
        with_tmux("a_recorded_run_is_played", a_recorded_run_is_played),
        with_tmux(
            "a_server_is_shown_with_its_clients",
            a_server_is_shown_with_its_clients,
        ),
        with_tmux(
            "a_screen_of_another_size_is_drawn_anew",
            a_screen_of_another_size_is_drawn_anew,
        ),
        with_tmux(
            "a_view_whose_terminal_is_gone_ends",
            a_view_whose_terminal_is_gone_ends,
        ),
        trial(
            "what_is_no_terminal_gets_rows",
            None,
            what_is_no_terminal_gets_rows,
        ),
    ]
}

/// A terminal of tmux with a shell in it.
struct Terminal {
    socket: String,
}

impl Terminal {
    fn open(columns: u16, rows: u16) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let terminal = Self {
            socket: format!("caudal-test-{}-{number}", std::process::id()),
        };
        let size = [columns.to_string(), rows.to_string()];
        terminal.tmux(&[
            "-f",
            "/dev/null",
            "-u",
            "new-session",
            "-d",
            "-x",
            &size[0],
            "-y",
            &size[1],
            "env CAUDAL_STORE=none LC_ALL=C.UTF-8 PS1='ready> ' bash --norc --noprofile",
        ]);
        terminal.shows("ready>");
        terminal
    }

    fn tmux(&self, words: &[&str]) -> String {
        let mut command = Command::new("tmux");
        command.args(["-L", &self.socket]).args(words);
        let ended = run(&mut command, SOON);
        ended.stdout
    }

    /// Types a line.
    fn types(&self, line: &str) {
        self.tmux(&["send-keys", "-l", line]);
        self.key("Enter");
    }

    fn key(&self, key: &str) {
        self.tmux(&["send-keys", key]);
    }

    fn screen(&self) -> String {
        self.tmux(&["capture-pane", "-p", "-J"])
    }

    /// Waits until the screen shows a text.
    #[track_caller]
    fn shows(&self, text: &str) -> String {
        let until = Instant::now() + SOON;
        loop {
            let screen = self.screen();
            if screen.contains(text) {
                return screen;
            }
            assert!(Instant::now() < until, "no {text:?} in\n{screen}");
            thread::sleep(Duration::from_millis(50));
        }
    }

    /// The terminal echoes, shows its cursor and is no longer at another screen: as it was before.
    #[track_caller]
    fn is_given_back(&self) {
        self.types("clear; stty -a | grep -o ' -\\?echo ' | head -1; echo over");
        let screen = self.shows("\nover");
        assert!(
            screen.contains(" echo") && !screen.contains("-echo "),
            "{screen}"
        );
        let flags = self.tmux(&["display-message", "-p", "#{alternate_on} #{cursor_flag}"]);
        assert_eq!(flags.trim(), "0 1");
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        self.tmux(&["kill-server"]);
    }
}

fn program() -> &'static str {
    env!("CARGO_BIN_EXE_caudal")
}

/// The command line of a client of this server.
fn client(server: &Serve, words: &str) -> String {
    format!("{} {words} -p {}; echo code=$?", program(), server.port)
}

fn a_test_is_shown_while_it_runs_and_as_text_after_it() {
    let server = Serve::start("");
    let terminal = Terminal::open(100, 30);
    terminal.types(&client(&server, "tcp 127.0.0.1 -b 50M -t 3 -i 0.2 --top"));
    let screen = terminal.shows("of 3.0 s");
    assert!(
        screen.contains("upload") && screen.contains("q  quit"),
        "{screen}"
    );
    terminal.shows("done  3.");
    terminal.shows("result");
    // It stays until the user has seen it.
    terminal.key("q");
    let screen = terminal.shows("code=0");
    assert!(screen.contains("upload: "), "{screen}");
    terminal.is_given_back();
}

fn an_interrupt_ends_the_test_and_keeps_its_result() {
    let server = Serve::start("");
    for (key, columns) in [("C-c", 100), ("q", 50)] {
        let terminal = Terminal::open(columns, 30);
        terminal.types(&client(&server, "tcp 127.0.0.1 -b 50M -t 60 -i 0.2 --top"));
        terminal.shows("of 60.0 s");
        terminal.key(key);
        let screen = terminal.shows("code=1");
        assert!(screen.contains("upload: "), "{screen}");
        assert!(screen.contains("interrupted"), "{screen}");
        terminal.is_given_back();
    }
    server.still_serves();
}

fn a_view_that_is_stopped_goes_on_where_it_was() {
    let terminal = Terminal::open(100, 30);
    terminal.types(&replayed());
    terminal.shows("q  quit");
    terminal.key("C-z");
    terminal.shows("Stopped");
    terminal.is_given_back();
    terminal.types("fg");
    terminal.shows("q  quit");
    terminal.key("q");
    terminal.shows("ready> ");
    terminal.is_given_back();
}

fn a_signal_gives_the_terminal_back() {
    let server = Serve::start("");
    let terminal = Terminal::open(100, 30);
    terminal.types(&client(&server, "tcp 127.0.0.1 -b 50M -t 60 -i 0.2 --top"));
    terminal.shows("of 60.0 s");
    let pids = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
    let mut kill = Command::new("pkill");
    kill.args(["-TERM", "-P", pids.trim(), "caudal"]);
    run(&mut kill, SOON);
    let screen = terminal.shows("code=1");
    assert!(screen.contains("interrupted"), "{screen}");
    terminal.is_given_back();
}

fn a_test_that_fails_says_why() {
    let terminal = Terminal::open(100, 30);
    // Nobody listens on the port of the discard protocol here.
    terminal.types(&format!(
        "{} tcp 127.0.0.1 -p 9 --top; echo code=$?",
        program()
    ));
    let screen = terminal.shows("code=3");
    assert!(screen.contains("caudal: "), "{screen}");
    terminal.is_given_back();
}

fn marks_are_kept_in_the_run() {
    let server = Serve::start("");
    let terminal = Terminal::open(100, 30);
    let store = std::env::temp_dir().join(format!("caudal-top-{}.db", std::process::id()));
    let line = format!(
        "tcp 127.0.0.1 -b 50M -t 2 -i 0.2 --top --store {}",
        store.display()
    );
    terminal.types(&client(&server, &line));
    terminal.shows("of 2.0 s");
    terminal.key("m");
    terminal.shows("marked");
    terminal.shows("done  2.");
    terminal.key("q");
    terminal.shows("code=0");
    let mut shown = caudal(["report", "show", "last", "--json", "--store"]);
    shown.arg(&store);
    let run = run(&mut shown, SOON).done().json();
    let _ = std::fs::remove_file(&store);
    let marks = run["marks_s"].as_array().unwrap();
    assert_eq!(marks.len(), 1);
    assert!((0.0..=2.0).contains(&marks[0].as_f64().unwrap()));
    assert!(!run["command"].as_str().unwrap().contains("--top"));
}

/// The command line that plays the recorded runs of the documentation.
fn replayed() -> String {
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminals/runs.db");
    let copy: PathBuf =
        std::env::temp_dir().join(format!("caudal-replay-{}.db", std::process::id()));
    std::fs::copy(store, &copy).unwrap();
    format!(
        "{} top last --speed 1 --store {}; echo code=$?",
        program(),
        copy.display()
    )
}

fn a_recorded_run_is_played() {
    let terminal = Terminal::open(100, 30);
    terminal.types(&replayed());
    // Not "replay", which is in the command line as well: a key before the screen is there is lost.
    terminal.shows("pause view");
    terminal.key("Space");
    terminal.shows("replay paused");
    terminal.key("End");
    terminal.shows("done");
    terminal.key("?");
    terminal.shows("any key closes this");
    terminal.key("x");
    terminal.shows("q  quit");
    terminal.key("q");
    terminal.shows("code=0");
    terminal.is_given_back();
}

fn a_server_is_shown_with_its_clients() {
    let server = Serve::start("");
    let mut client = server.client("tcp -b 20M -t 60 -R");
    let client = crate::support::Running::start(&mut client);
    let terminal = Terminal::open(120, 30);
    terminal.types(&format!(
        "{} top --serve {}; echo code=$?",
        program(),
        server.port
    ));
    let screen = terminal.shows("tcp download");
    assert!(
        screen.contains("127.0.0.1") || screen.contains("::1"),
        "{screen}"
    );
    // The rate of what the server sends, once two readings are there.
    let until = Instant::now() + SOON;
    loop {
        let screen = terminal.screen();
        let total = screen.lines().find(|line| line.contains("1 running"));
        if total.is_some_and(|line| line.contains("sent 2") && line.contains("Mbit/s")) {
            break;
        }
        assert!(Instant::now() < until, "{screen}");
        thread::sleep(Duration::from_millis(100));
    }
    client.signal("INT");
    terminal.shows("(over)");
    terminal.key("q");
    terminal.shows("code=0");
    client.wait(SOON);
}

fn a_screen_of_another_size_is_drawn_anew() {
    let terminal = Terminal::open(100, 30);
    terminal.types(&replayed());
    terminal.shows("q  quit");
    terminal.tmux(&["resize-window", "-x", "50", "-y", "10"]);
    let until = Instant::now() + SOON;
    while terminal.screen().contains("q  quit") {
        assert!(Instant::now() < until);
        thread::sleep(Duration::from_millis(50));
    }
    terminal.tmux(&["resize-window", "-x", "120", "-y", "40"]);
    terminal.shows("q  quit");
    terminal.key("q");
    terminal.shows("code=0");
}

fn a_view_whose_terminal_is_gone_ends() {
    let server = Serve::start("");
    for words in [
        replayed(),
        client(&server, "tcp 127.0.0.1 -b 1M -t 60 --top"),
    ] {
        let terminal = Terminal::open(100, 30);
        terminal.types(&words);
        terminal.shows("q  quit");
        let pane = terminal.tmux(&["display-message", "-p", "#{pane_pid}"]);
        let mut find = Command::new("pgrep");
        find.args(["-P", pane.trim(), "caudal"]);
        let pid = run(&mut find, SOON).stdout.trim().to_owned();
        assert!(!pid.is_empty());
        drop(terminal);
        let until = Instant::now() + SOON;
        while Path::new(&format!("/proc/{pid}/exe")).exists() {
            assert!(Instant::now() < until, "process {pid} is still there");
            thread::sleep(Duration::from_millis(50));
        }
    }
}

fn what_is_no_terminal_gets_rows() {
    let server = Serve::start("");
    let ended = run(&mut server.client("tcp -b 10M -t 0.4 -i 0.2 --top"), SOON);
    assert!(ended.stderr.contains("no terminal"), "{ended:#?}");
    assert!(ended.stdout.contains("    0.00-0."), "{ended:#?}");
    let mut status = caudal(["top", "--serve", &server.port.to_string()]);
    let status = run(&mut status, SOON);
    assert_eq!(status.code, Some(0), "{status:#?}");
    assert!(status.stdout.contains("1 tests completed"), "{status:#?}");
    let other = run(&mut caudal(["top", "--serve", "1"]), SOON);
    other.failed(3, &["port 1", "caudal serve"]);
    let store = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/terminals/runs.db");
    let mut none = caudal(["top", "--study", "--store"]);
    run(none.arg(store), SOON).failed(1, &["no study is recorded"]);
    let both = run(&mut caudal(["top", "--serve", "--lab"]), SOON);
    both.failed(2, &["--lab"]);
}
