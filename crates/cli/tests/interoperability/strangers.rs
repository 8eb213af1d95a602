//! Real programs of another protocol on the port: recognised, and told from ours.

use crate::support::port::free_port;
use crate::support::{Running, Serve, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use std::net::TcpStream;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "iperf_2_on_the_port_is_recognised",
            uninstalled("iperf"),
            || {
                a_client_reports_the_program_it_found("iperf", "does not speak caudal's protocol");
            },
        ),
        trial(
            "an_iperf_2_client_is_sent_away_and_the_server_lives_on",
            uninstalled("iperf"),
            || {
                a_server_sends_it_away("iperf");
            },
        ),
    ]
}

fn a_client_reports_the_program_it_found(program: &str, words: &str) {
    let port = free_port().to_string();
    let _server = Running::start(Command::new(program).args(["-s", "-p", &port]));
    let until = Instant::now() + Duration::from_secs(10);
    while TcpStream::connect(format!("127.0.0.1:{port}")).is_err() {
        assert!(Instant::now() < until, "{program} does not listen");
        thread::sleep(Duration::from_millis(50));
    }
    let ended = run(
        &mut caudal(["tcp", "127.0.0.1", "-p", &port, "-t", "1"]),
        Duration::from_secs(15),
    );
    ended.failed(3, &[words, "caudal serve"]);
}

fn a_server_sends_it_away(program: &str) {
    let server = Serve::start("");
    let port = server.port.to_string();
    let mut stranger =
        Running::start(Command::new(program).args(["-c", "127.0.0.1", "-p", &port, "-t", "1"]));
    let until = Instant::now() + Duration::from_secs(20);
    while !stranger.is_over() && Instant::now() < until {
        thread::sleep(Duration::from_millis(20));
    }
    assert!(stranger.is_over(), "{program} is kept waiting");
    server.still_serves();
}
