//! Command lines as people write them who come from iperf3, and failures as programs read them.

use crate::support::reference::{Reference, disagreements};
use crate::support::{Ended, Running, SOON, Serve, caudal, run, run_caudal, warnings};
use caudal_cli::args::Cli;
use caudal_compat::iperf2::long_names;
use caudal_compat::iperf3::option_names;
use caudal_compat::iperf3_flags::{EQUIVALENTS, Equivalent, flag_table};
use caudal_compat::option_document::with_section;
use caudal_core::text::command_line;
use clap::CommandFactory;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

trials! {
    a_failure_is_json_where_json_is_asked_for,
    a_failure_without_json_is_a_line_alone,
    a_host_takes_its_port_with_it,
    time_0_is_a_test_until_the_user_ends_it,
    what_people_write_is_the_plan_they_mean,
    a_reader_that_goes_away_is_no_error_to_speak_of,
    the_page_for_those_who_come_from_iperf3_has_every_option,
    an_option_that_is_the_same_has_the_same_names,
    no_secret_of_any_option_is_recorded,
    a_name_the_store_does_not_have_is_answered_with_those_it_has,
}

/// Fails unless the failure is the documented object on standard output, with the line on standard error unchanged.
#[track_caller]
fn assert_failure_document(ended: Ended, code: i32, name: &str) -> Value {
    let ended = ended.failed(code, &[]);
    let document = ended.json();
    let rows = Reference::read("json.md").expand("error");
    let wrong = disagreements(&document, &rows, &["always"], &[]);
    assert!(wrong.is_empty(), "{}: {ended:#?}", wrong.join("\n"));
    let error = &document["error"];
    assert_eq!(error["exit_code"], code, "{ended:#?}");
    assert_eq!(error["code"], name, "{ended:#?}");
    let message = error["message"].as_str().unwrap();
    assert!(ended.stderr.contains(message), "{ended:#?}");
    document
}

fn a_failure_is_json_where_json_is_asked_for() {
    let port = crate::support::port::free_port();
    let closed = format!("tcp 127.0.0.1:{port} -t 1");
    for flag in ["--json", "-J"] {
        assert_failure_document(run_caudal(&format!("{closed} {flag}")), 3, "peer");
    }
    let document =
        assert_failure_document(run_caudal(&format!("{closed} --json-stream")), 3, "peer");
    assert_eq!(document["event"], "failed");
    for words in [
        "tcp --frobnicate --json",
        "udp -l 1 --json",
        "rtt --sizes 0 -J",
        "report list --json --store /nowhere/store.db --kind tpc",
        "lab stats --json --lab nosuch",
    ] {
        assert_failure_document(run_caudal(words), 2, "usage");
    }
    let file = std::env::temp_dir().join(format!("caudal-failure-{}.json", std::process::id()));
    run_caudal(&format!("{closed} --json -o {}", file.display())).failed(3, &[]);
    let kept = std::fs::read_to_string(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let kept: Value = serde_json::from_str(&kept).unwrap();
    assert_eq!(kept["error"]["exit_code"], 3);
}

fn a_failure_without_json_is_a_line_alone() {
    let ended = run_caudal("tcp --frobnicate").failed(2, &["--frobnicate"]);
    assert_eq!(ended.stdout, "");
}

fn a_host_takes_its_port_with_it() {
    let server = Serve::start("");
    let port = server.port;
    for host in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        let document = run_caudal(&format!("tcp {host} -n 100K -J")).done().json();
        assert_eq!(document["flows"][0]["receiver"]["bytes"], 100_000);
    }
    run_caudal(&format!("tcp 127.0.0.1:{port} -p 1 -n 100K")).failed(2, &["--port 1", "once"]);
}

fn time_0_is_a_test_until_the_user_ends_it() {
    for words in ["tcp -t 0 -i 0.1 -b 10M", "udp -t 0 -i 0.1 -b 10M"] {
        let running = Running::start(&mut caudal(words.split_whitespace()));
        running.line_with("until ^C");
        running.two_intervals();
        running.signal("INT");
        let ended = running.wait(SOON).done();
        assert!(!ended.stdout.contains("ended early"), "{ended:#?}");
    }
    run_caudal("tcp -t 0 --repeat 3").failed(2, &["--time 0", "--repeat"]);
    run_caudal("udp -t 0 --find-rate 0").failed(2, &["--time 0", "--find-rate"]);
}

fn what_people_write_is_the_plan_they_mean() {
    for (words, key, expected) in [
        ("tcp -t 0.2 -b 8mbit -J", "/rate/limit", 8_000_000),
        ("tcp -t 0.2 -b 0.008Gbit/s -J", "/rate/limit", 8_000_000),
        ("tcp -t 0.2 --dscp EF -J", "/dscp", 46),
        ("udp -t 0.2 -b 1Mbps --dscp af41 -J", "/dscp", 34),
        ("tcp -t 0.2 -l 64ki -J", "/length", 65_536),
        ("udp -4 -t 0.2 -J", "/length", 1472),
        ("udp -6 -t 0.2 -J", "/length", 1452),
    ] {
        let document = run_caudal(words).done().json();
        let found = document["plan"].pointer(key);
        assert_eq!(found, Some(&Value::from(expected)), "{words}");
    }
    let document = run_caudal("tcp -t 0.2 -b 0 -O 0.1 -J").done().json();
    assert_eq!(document["plan"]["rate"], "max");
    assert!(!warnings(&document).contains(&"cut_short".to_owned()));
}

fn a_reader_that_goes_away_is_no_error_to_speak_of() {
    for words in [
        "--help",
        "tcp --help",
        "report schema",
        "lab preset dumbbell",
        "study list",
        "study show starvation",
        "predict link --rate 1G --mtu 576..9000/50 --csv",
        "tcp -t 30 -i 0.1",
        "iperf3 --help",
    ] {
        let mut command = caudal(words.split_whitespace());
        crate::support::keep_nothing(&mut command);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        drop(child.stdout.take());
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(said, "", "{words}");
        assert!(ended.status.code().is_some(), "{words}: {:?}", ended.status);
    }
}

fn document(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

fn the_page_for_those_who_come_from_iperf3_has_every_option() {
    let page = document("from-iperf3.md");
    let generated = with_section(&page, &flag_table());
    assert!(
        generated.as_ref() == Some(&page),
        "docs/from-iperf3.md is out of date: cargo run -p xtask -- reference"
    );
    for names in option_names() {
        for name in names.long {
            assert!(page.contains(&format!("`--{name}`")), "--{name} is missing");
        }
    }
}

fn an_option_that_is_the_same_has_the_same_names() {
    let mut cli = Cli::command();
    cli.build();
    let flags: Vec<(Option<char>, &str)> = ["tcp", "udp", "serve"]
        .iter()
        .flat_map(|name| cli.find_subcommand(name).unwrap().get_arguments())
        .filter_map(|argument| Some((argument.get_short(), argument.get_long()?)))
        .collect();
    for row in EQUIVALENTS
        .iter()
        .filter(|row| row.here == Equivalent::Same)
    {
        let names = option_names().find(|names| names.long.contains(&row.option));
        let short = names.unwrap().short;
        assert!(
            flags.contains(&(short, row.option)),
            "no command has {short:?} for --{}",
            row.option
        );
    }
}

/// What is in the names of options that are about secrets.
const SECRET_WORDS: [&str; 6] = ["key", "secret", "pass", "token", "credential", "login"];
/// Those whose values are no secrets: names of files, and times.
const NOT_SECRET: [&str; 9] = [
    "token-file",
    "rsa-private-key-path",
    "rsa-public-key-path",
    "password-file",
    "make-password",
    "tls-key",
    "permit-key-timeout",
    "key-file",
    "stamp-key-file",
];

/// The long names of all options of a command and of those below it.
fn names_below(command: &clap::Command, names: &mut Vec<String>) {
    let own = command.get_arguments().filter_map(clap::Arg::get_long);
    names.extend(own.map(str::to_owned));
    for below in command.get_subcommands() {
        names_below(below, names);
    }
}

fn no_secret_of_any_option_is_recorded() {
    let mut cli = Cli::command();
    cli.build();
    let mut names = Vec::new();
    names_below(&cli, &mut names);
    assert!(names.len() > 100, "{names:?}");
    names.extend(long_names().map(str::to_owned));
    let of_iperf3 = option_names().flat_map(|names| names.long.iter().copied());
    names.extend(of_iperf3.map(str::to_owned));
    let is_about_secrets = |name: &str| SECRET_WORDS.iter().any(|word| name.contains(word));
    let mut held = 0;
    for name in names.iter().filter(|name| is_about_secrets(name)) {
        if NOT_SECRET.contains(&name.as_str()) {
            continue;
        }
        let line = command_line(["iperf2", &format!("--{name}=hunter2")]);
        assert!(!line.contains("hunter2"), "--{name} is recorded: {line}");
        held += 1;
    }
    assert!(held > 0, "no option with a secret is known any more");
}

/// A copy of the store of an earlier version, removed with the value.
struct StoreCopy(PathBuf);

impl StoreCopy {
    fn new() -> Self {
        let to = std::env::temp_dir().join(format!("caudal-names-{}.db", std::process::id()));
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/stores/version-2.db");
        std::fs::copy(from, &to).unwrap();
        Self(to)
    }

    fn report(&self, words: &str) -> Ended {
        let mut command = caudal(["report", "--store"]);
        command.arg(&self.0).args(words.split_whitespace());
        run(&mut command, Duration::from_secs(30))
    }
}

impl Drop for StoreCopy {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

fn a_name_the_store_does_not_have_is_answered_with_those_it_has() {
    let store = StoreCopy::new();
    let ids = store.report("list --json").done().json();
    let runs = ids["entries"].as_array().unwrap().iter();
    let id = runs
        .filter(|entry| entry["kind"] == "tcp")
        .find_map(|entry| entry["id"].as_str())
        .unwrap()
        .to_owned();
    store.report(&format!("tag {id} before")).done();
    store.report("list --kind bulk").failed(
        2,
        &["tcp, udp, rtt, connect, quality, file, path, check, stamp, find-rate, trial, study"],
    );
    let ended = store.report("list --tag after").done();
    assert!(ended.stdout.contains("before"), "{ended:#?}");
    store
        .report("compare tag:after tag:before")
        .failed(2, &["tag:after", "before"]);
    store
        .report("compare before last")
        .failed(2, &["write tag:before"]);
    for command in ["show", "replay", "export --md"] {
        store
            .report(&format!("{command} before"))
            .failed(2, &["is a tag", "--tag before"]);
    }
    store
        .report(&format!("compare {id} {id} --metric goodputt"))
        .failed(2, &["goodputt", "sent"]);
}
