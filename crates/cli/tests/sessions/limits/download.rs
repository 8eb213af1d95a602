//! What a server sends, and what it refuses beforehand.

use super::{BYTES, LimitedServer, RATE, at_once};
use crate::support::{Ended, SOON, caudal, run};

trials! {
    what_is_sent_keeps_the_rate_and_the_time,
    what_is_sent_ends_at_the_amount,
    a_test_that_asks_for_more_than_is_allowed_is_refused_beforehand,
}

/// A client of this program in a protocol, with its words.
type Client = (&'static str, &'static str);

fn asks(server: &LimitedServer, (protocol, words): Client) -> Ended {
    let port = match protocol {
        "iperf" => server.iperf2,
        "nttcp" => server.nttcp,
        _ => server.native,
    };
    let mut command = caudal([protocol]);
    if matches!(protocol, "iperf" | "iperf3") {
        command.arg("-c");
    }
    if protocol == "nttcp" {
        command.args(["-p", &port.to_string()]);
        command.args(words.split_whitespace()).arg("127.0.0.1");
    } else {
        command.args(["127.0.0.1", "-p", &port.to_string()]);
        command.args(words.split_whitespace());
    }
    run(&mut command, SOON)
}

fn what_is_sent_keeps_the_rate_and_the_time() {
    let clients = [
        ("tcp", "-R -t 30"),
        ("udp", "-R -t 30 -b 1G"),
        ("iperf3", "-R -t 1"),
        ("iperf3", "-u -R -t 1 -b 8M"),
        ("iperf", "-R -t 30"),
        ("nttcp", "-r -l 4096 -n 100000"),
    ];
    at_once(&clients, |client| {
        let server = LimitedServer::start("--max-rate 8M --max-time 1s");
        let ended = asks(&server, client);
        let counted = server.counted();
        let fair = RATE * counted.took_s;
        let allowed = fair / 2.0..=fair * 1.2 + RATE / 10.0;
        assert!(
            allowed.contains(&(counted.sent as f64)),
            "{client:?}: {counted:?} {ended:?}"
        );
    });
}

fn what_is_sent_ends_at_the_amount() {
    let clients = [
        ("tcp", "-R -t 30"),
        ("tcp", "-R -n 1G"),
        ("udp", "-R -t 30 -b 1G -l 1000"),
        ("iperf3", "-R -t 30"),
        ("iperf3", "-u -R -t 30 -b 100M -l 1000"),
        ("iperf", "-R -t 30"),
    ];
    at_once(&clients, |client| {
        let server = LimitedServer::start("--max-bytes 1M");
        let ended = asks(&server, client);
        let counted = server.counted();
        let allowed = BYTES - 2000..=BYTES + 2000;
        assert!(
            allowed.contains(&counted.sent),
            "{client:?}: {counted:?} {ended:?}"
        );
    });
}

fn a_test_that_asks_for_more_than_is_allowed_is_refused_beforehand() {
    let server = LimitedServer::start("--max-rate 8M --max-time 2s --max-bytes 1M");
    for (client, expected) in [
        (("iperf3", "-t 3"), "exceeds the server's maximum"),
        (("iperf3", "-t 1 -b 9M"), "larger than server limit"),
        (("iperf3", "-u -t 1 -b 0"), "larger than server limit"),
        (("iperf3", "-n 2M"), "the server has terminated"),
        (("nttcp", "-l 1000 -n 1001"), "limit of 1 MB"),
    ] {
        let ended = asks(&server, client);
        let text = format!("{}{}", ended.stdout, ended.stderr);
        assert!(text.contains(expected), "{client:?}: {ended:#?}");
    }
    let log = server.running.said();
    assert!(!log.contains("\"started\""), "{log}");
}
