//! iperf 2 at either end: our client and server against the real ones, and against lies.

mod hostile;
mod older_versions;
mod real_programs;
mod server;

use crate::support::network::missing;
use crate::support::{SOON, Serve, run, trial, uninstalled};
use hostile::{lies, no_amplifier, silent_clients, unasked};
use libtest_mimic::Trial;
use older_versions::{bounceback, client_of_2_0_5, client_of_2_2};
use real_programs::{csv, many_at_once, program, variants};
use server::{
    allow_list, as_iperf2, failures, link, multicast, multicast_missing, no_connect_back,
    one_client, taken_port,
};
use std::net::UdpSocket;
use std::time::Duration;

pub fn trials() -> Vec<Trial> {
    let iperf = || uninstalled("iperf");
    vec![
        trial(
            "twenty_real_clients_and_twenty_of_ours_at_once_all_get_what_they_asked_for",
            iperf(),
            many_at_once,
        ),
        trial(
            "trip_times_peer_detection_and_no_header_work",
            iperf(),
            variants,
        ),
        trial("csv_has_the_columns_of_iperf_2", None, csv),
        trial(
            "a_client_of_2_0_5_gets_its_own_layout",
            None,
            client_of_2_0_5,
        ),
        trial("a_client_of_2_2_gets_its_own_layout", None, client_of_2_2),
        trial("requests_are_sent_back", None, bounceback),
        trial("lies_cost_the_liar_only", None, lies),
        trial("silent_clients_keep_nobody_out", None, silent_clients),
        trial(
            "the_last_datagram_of_nothing_is_not_answered",
            None,
            unasked,
        ),
        trial(
            "no_one_is_sent_more_than_came_from_there",
            missing(&["iperf"]),
            no_amplifier,
        ),
        trial("connecting_back_can_be_forbidden", None, no_connect_back),
        trial(
            "a_multicast_group_is_received",
            multicast_missing(),
            multicast,
        ),
        trial("an_allow_list_holds_for_iperf_2_too", None, allow_list),
        trial("a_port_that_is_taken_is_done_without", None, taken_port),
        trial("our_statistics_come_from_a_real_server", iperf(), as_iperf2),
        trial("a_link_by_that_name_is_that_tool", None, link),
        trial("failures_are_one_line_and_a_code", None, failures),
        trial("a_server_for_one_client_ends_after_it", iperf(), one_client),
    ]
}

/// The port of iperf 2 that a `caudal serve` chose.
fn iperf_port(server: &Serve) -> u16 {
    let line = server.running.line_with("iperf 2 on port ");
    let rest = line.split("iperf 2 on port ").nth(1).unwrap();
    rest.split(',').next().unwrap().trim().parse().unwrap()
}

fn serve(words: &str) -> (Serve, u16) {
    let server = Serve::start(&format!("--iperf2-port 0 {words}"));
    let port = iperf_port(&server);
    (server, port)
}

/// Fails unless a newcomer gets what it asks for, in iperf 2's words as in ours.
#[track_caller]
fn still_serves(server: &Serve, port: u16) {
    server.still_serves();
    let port = port.to_string();
    for words in [&["-n", "64K"][..], &["-u", "-n", "20K", "-b", "10m"]] {
        let mut client = program(true);
        client
            .args(["-c", "127.0.0.1", "-f", "B", "-p", &port])
            .args(words);
        let ended = run(&mut client, SOON);
        assert_eq!(ended.code, Some(0), "{ended:#?}");
    }
}

fn words(all: &[u32]) -> Vec<u8> {
    all.iter().flat_map(|word| word.to_be_bytes()).collect()
}

fn at(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// A socket towards a server.
fn udp_to(port: u16) -> UdpSocket {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(("127.0.0.1", port)).unwrap();
    socket
        .set_read_timeout(Some(Duration::from_secs(5)))
        .unwrap();
    socket
}
