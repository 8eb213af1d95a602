//! Against the real iperf3, in both roles: its options, its output and many clients at once. What both ends count is held
//! against one another in `interoperability`.

use crate::support::place::Place;
use crate::support::port::{self, free_port};
use crate::support::{Running, SOON, Serve, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use serde_json::Value;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    let more: [(&str, fn()); 10] = [
        (
            "our_json_has_every_key_of_the_real_one_with_its_type",
            same_keys,
        ),
        ("fifty_iperf3_clients_at_1_mbit_all_finish", fifty_clients),
        (
            "the_options_of_a_real_client_are_taken",
            options_of_a_real_client,
        ),
        ("a_real_client_is_shown_our_output", shown_output),
        ("our_options_reach_a_real_server", our_options),
        ("our_own_tests_run_against_a_real_server", native_commands),
        ("a_stopped_server_tells_its_iperf3_clients", stopped_server),
        ("a_client_is_told_of_limits", limits),
        ("a_name_makes_it_iperf3", called_by_name),
        ("the_log_of_a_server_has_what_it_counted", logged_counts),
    ];
    for (name, test) in more {
        trials.push(trial(name, uninstalled("iperf3"), test));
    }
    trials.push(trial(
        "logins_are_checked_in_both_roles",
        uninstalled("iperf3").or_else(|| uninstalled("openssl")),
        logins,
    ));
    trials.push(trial(
        "twenty_clients_each_of_iperf3_iperf_2_and_our_own_at_once",
        uninstalled("iperf3").or_else(|| uninstalled("iperf")),
        mixed_load,
    ));
    trials
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Program {
    Ours,
    Real,
}

/// A real server for one test, with these words, once it listens.
fn real_server(words: &str) -> (Running, u16) {
    port::real_server("iperf3", &format!("--forceflush {words}"))
}

fn client(program: Program, port: u16, words: &str) -> Command {
    let mut command = match program {
        Program::Ours => caudal(["iperf3"]),
        Program::Real => Command::new("iperf3"),
    };
    command
        .args(["-c", "127.0.0.1", "-p", &port.to_string()])
        .args(words.split_whitespace());
    command
}

fn number(value: &Value) -> u64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("{value} is no number")) as u64
}

fn logged_counts() {
    for (words, logged, shown) in [
        ("-n 1M", "received_bytes", "sum_received"),
        (
            "-u -n 100K -b 10M -l 1000",
            "received_bytes",
            "sum_received",
        ),
        ("-t 1 -b 8M -R", "sent_bytes", "sum_sent"),
    ] {
        let server = Running::start(&mut caudal(["serve", "-p", "0", "-1", "--json-log"]));
        let line = server.line_with("\"listening\"");
        let event: Value = serde_json::from_str(&line).unwrap();
        let port = u16::try_from(event["port"].as_u64().unwrap()).unwrap();
        let ended = run(client(Program::Real, port, words).arg("-J"), SOON);
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
        let log = server.wait(SOON);
        let finished = log
            .stdout
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|event| event["event"] == "finished")
            .unwrap_or_else(|| panic!("{log:#?}"));
        assert_eq!(finished["stopped"], Value::Null, "{words}: {log:#?}");
        let told = ended.json();
        let shown = number(&told["end"][shown]["bytes"]);
        assert_eq!(number(&finished[logged]), shown, "{words}: {told}");
    }
}

/// Fails unless `ours` has every key of `real`, with a value of the same type.
fn covers(ours: &Value, real: &Value, place: &str) {
    match (ours, real) {
        (Value::Object(ours), Value::Object(real)) => {
            for (key, value) in real {
                let own = ours
                    .get(key)
                    .unwrap_or_else(|| panic!("{place}.{key} is missing"));
                covers(own, value, &format!("{place}.{key}"));
            }
        }
        (Value::Array(ours), Value::Array(real)) => {
            if let (Some(own), Some(value)) = (ours.first(), real.first()) {
                covers(own, value, &format!("{place}[0]"));
            }
            // Whether a test of milliseconds sees the end of an interval is chance.
            if !place.ends_with(".intervals") {
                assert_eq!(ours.is_empty(), real.is_empty(), "{place}");
            }
        }
        _ => assert_eq!(
            std::mem::discriminant(ours),
            std::mem::discriminant(real),
            "{place}: {ours} {real}"
        ),
    }
}

fn same_keys() {
    for words in [
        "-t 1 -b 10M",
        "-t 1 -b 10M -R -P 2",
        "-t 1 -b 10M --bidir",
        "-u -t 1 -l 1000",
        "-u -t 1 -l 1000 -R",
        "-u -t 1 -l 1000 --bidir -P 2",
        "-n 100K -T title --extra-data extra --get-server-output",
    ] {
        let [ours, real] = [Program::Ours, Program::Real].map(|program| {
            let (_server, port) = real_server("-1");
            let ended = run(client(program, port, words).arg("-J"), SOON);
            assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
            ended.json()
        });
        covers(&ours, &real, words);
    }
    let [ours, real] = [Program::Ours, Program::Real]
        .map(|program| run(client(program, free_port(), "-t 1").arg("-J"), SOON).json());
    covers(&ours, &real, "refused");
    let (_server, port) = real_server("-1");
    let stream = run(
        client(Program::Ours, port, "-t 1 -b 1M").arg("--json-stream"),
        SOON,
    );
    let events: Vec<String> = stream
        .stdout
        .lines()
        .map(|line| {
            let event: Value = serde_json::from_str(line).unwrap();
            assert!(event.get("data").is_some(), "{line}");
            event["event"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(events, ["start", "interval", "end"]);
}

fn mixed_load() {
    let server = Serve::start("--iperf2-port 0");
    let line = server.running.line_with("iperf 2 on port ");
    let rest = line.split("iperf 2 on port ").nth(1).unwrap();
    let iperf2_port = rest.split(',').next().unwrap().trim();
    let foreign = [
        "-t 1 -b 1M -J",
        "-t 1 -b 1M -R -J",
        "-u -t 1 -b 1M -l 1000 -J",
        "-u -t 1 -b 1M -l 1000 -R -J",
        "-u -t 1 -b 1M -l 1000 --bidir -P 2 -J",
    ];
    let iperf2 = [
        "-n 250K",
        "-n 250K -R",
        "-u -n 200K -b 2m",
        "-t 1 -b 1m -l 10K -P 2",
        "-u -t 1 -b 1m -R",
    ];
    let native = [
        "udp -n 100K -b 1M -l 1000 --json",
        "tcp -n 100K -b 1M --json",
        "tcp -n 100K -b 1M -R --json",
        "udp -n 100K -b 1M -l 1000 --bidir --json",
    ];
    let theirs: Vec<Running> = (0..20)
        .map(|nth| {
            Running::start(&mut client(
                Program::Real,
                server.port,
                foreign[nth % foreign.len()],
            ))
        })
        .collect();
    let ours: Vec<Running> = (0..20)
        .map(|nth| Running::start(&mut server.client(native[nth % native.len()])))
        .collect();
    let older: Vec<(&str, Running)> = (0..20)
        .map(|nth| {
            let words = iperf2[nth % iperf2.len()];
            let mut client = Command::new("iperf");
            client
                .args(["-c", "127.0.0.1", "-f", "B", "-p", iperf2_port])
                .args(words.split_whitespace());
            (words, Running::start(&mut client))
        })
        .collect();
    for (words, client) in older {
        let ended = client.wait(Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
        let rows: Vec<&str> = ended
            .stdout
            .lines()
            .filter(|line| line.contains(" sec "))
            .collect();
        assert!(!rows.is_empty(), "{words}: {ended:#?}");
        if words.starts_with("-n 250K") {
            assert!(rows[0].contains("256000 Bytes"), "{words}: {ended:#?}");
        }
        for row in rows {
            assert!(!row.contains(" 0 Bytes "), "{words}: {ended:#?}");
        }
        assert!(!ended.stderr.contains("rror"), "{words}: {ended:#?}");
    }
    for client in theirs {
        let ended = client.wait(Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let told = ended.json();
        assert!(told.get("error").is_none(), "{told}");
        assert!(
            number(&told["end"]["sum_received"]["bytes"]) > 50_000,
            "{told}"
        );
    }
    for client in ours {
        let told = client.wait(Duration::from_secs(60)).done().json();
        for flow in told["flows"].as_array().unwrap() {
            assert_eq!(flow["receiver"]["bytes"], 100_000, "{flow}");
        }
    }
    server.still_serves();
}

fn fifty_clients() {
    let server = Serve::start("");
    let clients: Vec<Running> = (0..50)
        .map(|nth| {
            let words = if nth % 2 == 0 {
                "-t 2 -b 1M -J"
            } else {
                "-u -t 2 -b 1M -l 1000 -J"
            };
            Running::start(&mut client(Program::Real, server.port, words))
        })
        .collect();
    for client in clients {
        let ended = client.wait(Duration::from_secs(60));
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        let told = ended.json();
        assert!(told.get("error").is_none(), "{told}");
        let received = number(&told["end"]["sum_received"]["bytes"]);
        assert!((150_000..500_000).contains(&received), "{told}");
    }
    server.still_serves();
}

fn options_of_a_real_client() {
    let server = Serve::start("");
    for words in [
        "-n 1M -w 256K -M 1000 -C reno -N -S 0x10 -l 64K -Z",
        "-n 1M -R -w 256K -M 1000 -C reno -N -S 0x10 -l 64K -Z",
        "-k 20 -l 10K",
        "-t 1 -O 1 -b 5M",
        "-u -t 1 -O 1 -b 5M -R",
        "-u -n 100K -b 10M --udp-counters-64bit --dont-fragment --repeating-payload -l 1000",
        "-u -n 100K -R -b 10M/5 --udp-counters-64bit --repeating-payload -l 1000",
        "-n 100K -R --repeating-payload --fq-rate 100M",
        "-n 100K -T title --extra-data extra",
        "-6 -n 100K",
        "-A 0,0 -n 100K",
    ] {
        let mut command = client(Program::Real, server.port, words);
        if words.starts_with("-6") {
            command = Command::new("iperf3");
            let port = server.port.to_string();
            command.args(["-c", "::1", "-p", &port, "-6", "-n", "100K"]);
            if TcpStream::connect(("::1", server.port)).is_err() {
                // A machine without IPv6.
                continue;
            }
        }
        let ended = run(command.arg("-J"), SOON);
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
        assert!(ended.json().get("error").is_none(), "{words}: {ended:#?}");
    }
    server.still_serves();
}

fn shown_output() {
    let server = Serve::start("");
    let ended = run(
        &mut client(Program::Real, server.port, "-n 1M --get-server-output"),
        SOON,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    for words in [
        "Server output:\nAccepted connection from 127.0.0.1, port ",
        "[ ID] Interval           Transfer     Bitrate\n",
        "receiver\n",
    ] {
        assert!(ended.stdout.contains(words), "{words:?}: {}", ended.stdout);
    }
}

fn our_options() {
    for words in [
        "-n 1M -w 256K -M 1000 -C reno -N --dscp cs1 -l 64K -Z",
        "-n 1M -R -w 256K -M 1000 -N -S 0x10 -l 64K -Z --skip-rx-copy",
        "-k 20 -l 10K --get-server-output",
        "-u -n 100K -b 10M/3 --udp-counters-64bit --dont-fragment --repeating-payload -l 1000",
        "-u -n 100K -R -b 10M --udp-counters-64bit -l 1000 --gsro",
        "-t 1 -O 1 -b 5M",
        "-n 100K -T title --extra-data extra -B 127.0.0.1 --cport 0",
    ] {
        let (server, port) = real_server("-1");
        let mut words = words.to_owned();
        if words.contains("--cport 0") {
            words = words.replace("--cport 0", &format!("--cport {}", free_port()));
        }
        let ended = run(client(Program::Ours, port, &words).arg("-J"), SOON);
        assert_eq!(ended.code, Some(0), "{words}: {ended:#?}");
        let told = ended.json();
        assert!(told.get("error").is_none(), "{words}: {told}");
        assert!(
            told["start"]["version"]
                .as_str()
                .unwrap()
                .starts_with("iperf 3")
        );
        if words.contains("--get-server-output") {
            assert!(
                told["server_output_text"]
                    .as_str()
                    .unwrap()
                    .contains("receiver")
            );
        }
        assert_eq!(server.wait(SOON).code, Some(0), "{words}");
    }
}

fn native_commands() {
    let (_server, port) = real_server("");
    for words in [
        "tcp -t 1",
        "tcp -n 5M -R",
        "tcp -t 1.5 --bidir -P 2 -b 20M",
        "udp -t 1 -b 10M -l 1000",
        "udp -t 1 -b 10M -l 1000 -R",
    ] {
        let mut all = words.split_whitespace();
        let mut command = caudal(all.next());
        command.args([
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "--as",
            "iperf3",
            "--json",
        ]);
        // The real server takes a moment between tests.
        thread::sleep(Duration::from_millis(300));
        let told = run(command.args(all), SOON).done().json();
        assert_eq!(told["schema"], "caudal.run/1", "{words}");
        for flow in told["flows"].as_array().unwrap() {
            let (sent, received) = (&flow["sender"]["bytes"], &flow["receiver"]["bytes"]);
            assert!(received.as_u64() > Some(0), "{words}: {flow}");
            assert!(sent.as_u64() >= received.as_u64(), "{words}: {flow}");
        }
        let way = &told["summary"]["directions"][0];
        assert!(
            way["goodput_bps"]["mean"].as_f64() > Some(1e6),
            "{words}: {way}"
        );
        assert!(
            crate::support::warnings(&told).contains(&"foreign_server".to_owned()),
            "{words}: {told}"
        );
    }
    // Nobody has to say what it is.
    thread::sleep(Duration::from_millis(300));
    let ended = run(
        &mut caudal([
            "tcp",
            "127.0.0.1",
            "-p",
            &port.to_string(),
            "-n",
            "1M",
            "--json",
        ]),
        SOON,
    );
    assert_eq!(
        ended.done().json()["flows"][0]["receiver"]["bytes"],
        1_000_000
    );
}

fn stopped_server() {
    let server = Serve::start("");
    let real = Running::start(&mut client(
        Program::Real,
        server.port,
        "-t 20 -b 1M --forceflush",
    ));
    let ours = Running::start(&mut client(Program::Ours, server.port, "-t 20 -b 1M"));
    for client in [&real, &ours] {
        client.line_with("sec ");
    }
    server.running.signal("INT");
    for client in [real, ours] {
        let ended = client.wait(SOON);
        assert_eq!(ended.code, Some(1), "{ended:#?}");
        assert!(
            ended.stderr.contains("the server has terminated"),
            "{ended:#?}"
        );
        assert!(
            ended.stdout.contains("- - - -"),
            "what was measured is shown: {ended:#?}"
        );
    }
    assert_eq!(server.running.wait(SOON).code, Some(0));
}

fn limits() {
    let server = Serve::start("--max-rate 10M --max-time 5s --max-clients 1");
    for words in ["-t 6", "-t 1 -b 20M", "-u -t 1 -b 6M --bidir"] {
        for program in [Program::Ours, Program::Real] {
            let ended = run(&mut client(program, server.port, words), SOON);
            assert_eq!(ended.code, Some(1), "{words}: {ended:#?}");
            assert!(ended.stderr.contains("error - "), "{words}: {ended:#?}");
        }
    }
    // Where it sends itself it keeps the limit.
    let ended = run(&mut client(Program::Real, server.port, "-t 1 -R -J"), SOON);
    let bps = ended.json()["end"]["sum_sent"]["bits_per_second"].as_f64();
    assert!(bps.is_some_and(|bps| bps < 15e6), "{ended:#?}");
    // One client at a time is what was allowed: the other is told that it is busy.
    let first = Running::start(&mut client(
        Program::Real,
        server.port,
        "-t 3 -b 1M --forceflush",
    ));
    first.line_with("connected to");
    let second = run(&mut client(Program::Real, server.port, "-t 1"), SOON);
    assert_eq!(second.code, Some(1), "{second:#?}");
    assert!(second.stderr.contains("busy"), "{second:#?}");
    assert_eq!(first.wait(SOON).code, Some(0));
    server.still_serves();
}

fn called_by_name() {
    let place = Place::new();
    let link = place.at("iperf3");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_caudal"), &link).unwrap();
    let port = free_port().to_string();
    let server = Running::start(Command::new(&link).args(["-s", "-1", "-p", &port]));
    server.line_with("Server listening on ");
    let ended = run(
        Command::new(&link).args(["-c", "127.0.0.1", "-p", &port, "-n", "1M"]),
        SOON,
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(ended.stdout.ends_with("\niperf Done.\n"), "{ended:#?}");
    let served = server.wait(SOON);
    assert_eq!(served.code, Some(0), "{served:#?}");
    assert!(served.stdout.contains("receiver"), "{served:#?}");
    let version = run(Command::new(&link).arg("--version"), SOON);
    assert!(version.stdout.starts_with("iperf 3"), "{version:#?}");
}

fn openssl(words: &[&str]) {
    let done = Command::new("openssl").args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {done:?}");
}

fn logins() {
    let place = Place::new();
    let path = |name: &str| place.at(name).display().to_string();
    let (private, public) = (path("private.pem"), path("public.pem"));
    openssl(&["genrsa", "-out", &private, "2048"]);
    openssl(&["rsa", "-in", &private, "-pubout", "-out", &public]);
    // SHA-256 of {ann}secret.
    let hash = Command::new("sh")
        .args([
            "-c",
            "printf '{ann}secret' | openssl dgst -sha256 -r | cut -d ' ' -f 1",
        ])
        .output()
        .unwrap();
    let hash = String::from_utf8(hash.stdout).unwrap();
    let users = place.file("users.csv", &format!("# users\nann,{hash}"));
    let server = Serve::start(&format!(
        "--rsa-private-key-path {private} --authorized-users-path {users} --use-pkcs1-padding"
    ));
    let login = format!("-n 100K --username ann --rsa-public-key-path {public}");
    let attempt = |program, port, words: &str, password: &str| {
        let mut command = client(program, port, words);
        run(command.env("IPERF3_PASSWORD", password), SOON)
    };
    for program in [Program::Ours, Program::Real] {
        let ended = attempt(program, server.port, &login, "secret");
        assert_eq!(ended.code, Some(0), "{ended:#?}");
        for (words, password) in [(login.as_str(), "guess"), ("-n 100K", "secret")] {
            let ended = attempt(program, server.port, words, password);
            assert_eq!(ended.code, Some(1), "{ended:#?}");
            assert!(ended.stderr.contains("authorization failed"), "{ended:#?}");
        }
    }
    // The real server of before 3.17 takes the old padding only.
    let (real, port) = real_server(&format!(
        "-1 --rsa-private-key-path {private} --authorized-users-path {users}"
    ));
    let ended = attempt(
        Program::Ours,
        port,
        &format!("{login} --use-pkcs1-padding"),
        "secret",
    );
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(real.wait(SOON).code, Some(0));
}
