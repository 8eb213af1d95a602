//! Options of `caudal iperf3` that both ends are needed for: files, the background, the server's output, interrupts.

use crate::support::place::Place;
use crate::support::port::{free_port, real_server};
use crate::support::{Ended, Running, SOON, caudal, run, signal};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

trials! {
    a_file_is_sent_and_written_in_both_roles,
    the_output_of_a_server_with_json_comes_as_json,
    a_server_runs_in_the_background,
    an_interrupted_client_has_not_failed,
    a_warm_up_of_part_of_a_second_is_rounded_up_and_an_amount_of_nothing_is_none,
    a_server_may_be_named_with_an_interface,
}

/// The program under the name by which it is iperf3.
fn iperf3(place: &Place) -> PathBuf {
    let link = place.at("iperf3");
    symlink(env!("CARGO_BIN_EXE_caudal"), &link).unwrap();
    link
}

/// A server with these words, and its port.
fn server(place: &Place, words: &str) -> (Running, u16) {
    real_server(iperf3(place).to_str().unwrap(), words)
}

fn client(port: u16, words: &str) -> Ended {
    let mut command = caudal(["iperf3", "-c", "127.0.0.1", "-p", &port.to_string()]);
    run(command.args(words.split_whitespace()), SOON)
}

fn a_file_is_sent_and_written_in_both_roles() {
    let place = Place::new();
    let content: Vec<u8> = (0..3_000_000_u32).map(|nth| (nth % 251) as u8).collect();
    let [sent, written] = ["sent", "written"].map(|name| place.at(name));
    fs::write(&sent, &content).unwrap();
    let (server, port) = server(&place, &format!("-F {}", written.display()));
    let ended = client(port, &format!("-F {}", sent.display())).done();
    let line = format!(
        "        Sent 2.86 MBytes / 2.86 MBytes (100%) of {}",
        sent.display()
    );
    assert!(ended.stdout.contains(&line), "{ended:#?}");
    assert!(fs::read(&written).unwrap() == content);
    // The server wrote it before the client was done, and shows its own file.
    assert!(server.line_with("(100%) of ").contains("written"));
    let ended = client(port, &format!("-F {} -J", sent.display())).done();
    let file = &ended.json()["end"]["streams"][0]["diskfile"];
    assert_eq!(
        [
            &file["sent"],
            &file["received"],
            &file["size"],
            &file["percent_sent"],
            &file["percent_received"]
        ],
        [3_000_000, 3_000_000, 3_000_000, 100, 100],
        "{file}"
    );
    assert_eq!(file["filename"], sent.to_str().unwrap(), "{file}");
    // In the other direction the server sends its file and the client writes one.
    let back = place.at("back");
    client(port, &format!("-F {} -R -t 1", back.display())).done();
    assert!(fs::read(&back).unwrap() == content);
}

fn the_output_of_a_server_with_json_comes_as_json() {
    let place = Place::new();
    let (_server, port) = server(&place, "-J");
    let json = client(port, "-n 100K -J --get-server-output").done().json();
    let server = &json["server_output_json"];
    assert_eq!(server["end"]["sum_received"]["bytes"], 102_400, "{json}");
    assert_eq!(server["start"]["cookie"], json["start"]["cookie"], "{json}");
}

fn a_server_runs_in_the_background() {
    let place = Place::new();
    let (port, pid_file) = (free_port(), place.at("pid"));
    let words = format!("iperf3 -s -1 -D -p {port} -I {}", pid_file.display());
    let began = Instant::now();
    let ended = run(&mut caudal(words.split_whitespace()), SOON).done();
    assert_eq!(ended.stdout, "");
    // It is there when its file is, and its port a little later.
    let done = loop {
        let ended = client(port, "-n 100K");
        if ended.code == Some(0) {
            break true;
        }
        if began.elapsed() > SOON {
            break false;
        }
        thread::sleep(Duration::from_millis(50));
    };
    if let Ok(pid) = fs::read_to_string(&pid_file)
        && let Ok(pid) = pid.trim().parse()
    {
        // After one client it has ended by itself, or is about to.
        signal(pid, "TERM");
    }
    assert!(done, "no server came into being");
}

fn an_interrupted_client_has_not_failed() {
    let place = Place::new();
    let (_server, port) = server(&place, "");
    let words = format!("iperf3 -c 127.0.0.1 -p {port} -t 30 -i 0.1");
    let client = Running::start(&mut caudal(words.split_whitespace()));
    client.line_with("0.00-0.10");
    client.signal("INT");
    let ended = client.wait(SOON);
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert!(
        ended
            .stderr
            .contains("interrupt - the client has terminated"),
        "{ended:#?}"
    );
}

fn a_warm_up_of_part_of_a_second_is_rounded_up_and_an_amount_of_nothing_is_none() {
    let place = Place::new();
    let (_server, port) = server(&place, "");
    let json = client(port, "-O 0.5 -n 0 -t 1 -b 1M -l 1000 -J")
        .done()
        .json();
    let start = &json["start"]["test_start"];
    assert_eq!(
        [&start["omit"], &start["duration"], &start["bytes"]],
        [1, 1, 0],
        "{start}"
    );
    // What is integral is an integer, also where it need not be.
    assert!(start["interval"].is_u64(), "{start}");
}

fn a_server_may_be_named_with_an_interface() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        return;
    }
    let place = Place::new();
    let (_server, port) = server(&place, "");
    for words in ["-c ::1%lo", "-c ::1 -L 77 -P 2", "-c 127.0.0.1%lo"] {
        let words = format!("iperf3 {words} -p {port} -n 100K");
        run(&mut caudal(words.split_whitespace()), SOON).done();
    }
    let words = format!("iperf3 -c 127.0.0.1 -L 77 -p {port} -n 100K");
    let ended = run(&mut caudal(words.split_whitespace()), SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stderr.contains("flow label"), "{ended:#?}");
}
