//! Numbers beyond their ranges, and what this machine does not have or permit.

use super::{NOT_PERMITTED, PEER, USAGE};
use crate::support::{Serve, run_caudal, warnings};

trials! {
    numbers_beyond_their_ranges_are_bad_usage_before_anybody_is_bothered,
    a_window_the_kernel_does_not_grant_is_a_warning,
    a_congestion_control_that_does_not_exist_is_not_permitted,
    an_interface_or_address_that_is_not_here_is_named,
}

fn numbers_beyond_their_ranges_are_bad_usage_before_anybody_is_bothered() {
    let cases = [
        "tcp -l 0",
        "tcp -l 17Mi",
        "tcp -l 99999999999999999999",
        "tcp -n 0",
        "tcp -t 1000000h",
        "tcp -t -1",
        "tcp -i 0",
        "tcp -P 0",
        "tcp -P 1025",
        "tcp -P 99999999999",
        "tcp -b 99999999999999999999999",
        "tcp -b 18446744073709551616",
        "tcp -b NaN",
        "tcp -b -5M",
        "tcp -M 1",
        "tcp --dscp 64",
        "tcp --dscp 256",
        "tcp -p 65536",
        "tcp --repeat 0",
        "tcp --confidence 2",
        "tcp --until 0%",
        "tcp -A 100000",
        "tcp -w 0",
        "tcp --frobnicate",
        "udp -l 31",
        "udp -l 65508",
        "udp --find-rate 90%",
        "tcp -p 0",
        "tcp --link-rate 0",
        "serve --max-rate 999",
        "serve --max-time 0",
        "serve --max-clients 0",
        "serve --idle-timeout 0s",
        "serve --allow 192.0.2.0/33",
        "serve --max-rate x",
        "serve --files /no/such/directory",
        "serve --files /etc/passwd",
        "serve --accept-files /no/such/directory",
        "serve --accept-files /etc/passwd",
        "",
    ];
    for words in cases {
        // A peer that is not there shows that it was not asked.
        let with_peer = match words.split_once(' ') {
            Some((kind @ ("tcp" | "udp"), rest)) => format!("{kind} nowhere.invalid {rest}"),
            _ => words.to_owned(),
        };
        let ended = run_caudal(&with_peer);
        assert_eq!(ended.code, Some(USAGE), "{words}: {ended:#?}");
        assert!(
            !ended.stderr.is_empty() && !ended.stderr.contains("panicked"),
            "{words}: {ended:#?}"
        );
    }
}

fn a_window_the_kernel_does_not_grant_is_a_warning() {
    let server = Serve::start("");
    let run = server.serves("tcp -t 0.3 -w 1G --json").done().json();
    assert!(
        warnings(&run).iter().any(|code| code.contains("window")),
        "{:?}",
        warnings(&run)
    );
}

fn a_congestion_control_that_does_not_exist_is_not_permitted() {
    let server = Serve::start("");
    server
        .serves("tcp -t 1 -C warp")
        .failed(NOT_PERMITTED, &["\"warp\"", "choose one of"]);
    // The server sends: its kernel refuses the congestion control.
    server
        .serves("tcp -t 1 -C warp -R")
        .failed(PEER, &["\"warp\"", "its own kernel"]);
    server.still_serves();
}

fn an_interface_or_address_that_is_not_here_is_named() {
    let server = Serve::start("");
    server
        .serves("tcp -t 1 -B 203.0.113.77")
        .failed(NOT_PERMITTED, &["203.0.113.77"]);
    server
        .serves("udp -t 1 --device nosuch0")
        .failed(NOT_PERMITTED, &["nosuch0"]);
    server.serves("tcp -t 1 -B ::1").failed(USAGE, &["--bind"]);
}
