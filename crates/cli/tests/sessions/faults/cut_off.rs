//! Tests that are cut off in the middle.

use super::{FAILED, PEER, client_of};
use crate::support::relay::{Relay, Which};
use crate::support::{Running, Serve, assert_reported, warnings};
use std::thread;
use std::time::Duration;

trials! {
    a_server_killed_in_the_middle_leaves_the_intervals_and_code_3,
    a_client_killed_in_the_middle_frees_its_place,
    a_control_connection_cut_while_data_flows_ends_the_test_with_what_was_measured,
    a_control_connection_that_goes_dead_is_given_up_by_both_sides,
    data_connections_cut_while_control_lives_are_reported_as_failed_flows,
    a_round_trip_test_is_cut_short_as_cleanly,
}

fn a_server_killed_in_the_middle_leaves_the_intervals_and_code_3() {
    for words in [
        "tcp -t 20 -b 10M -i 0.5",
        "tcp -t 20 -b 10M -i 0.5 -R",
        "udp -t 20 -b 1M -i 0.5 --bidir",
    ] {
        let mut server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        server.running.kill();
        let ended = client.wait(Duration::from_secs(15));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert_reported(&ended);
        assert!(ended.stdout.contains(" 0.00-"), "{ended:#?}");
    }
}

fn a_client_killed_in_the_middle_frees_its_place() {
    let server = Serve::start("--max-clients 1");
    for words in ["tcp -t 30", "tcp -t 30 -R", "udp -t 30 -b 10M --bidir"] {
        let mut client = Running::start(&mut server.client(words));
        server.running.line_with("flow(s)");
        client.kill();
        server.running.line_with("left");
        server.still_serves();
        // The newcomers' own lines.
        server.running.line_with("left");
        server.running.line_with("left");
    }
}

fn a_control_connection_cut_while_data_flows_ends_the_test_with_what_was_measured() {
    for words in ["tcp -t 20 -b 10M -i 0.5", "tcp -t 20 -b 10M -i 0.5 -R"] {
        let server = Serve::start("");
        let relay = Relay::to(server.port);
        let client = Running::start(&mut client_of(relay.port, words));
        client.two_intervals();
        relay.cut(Which::Control);
        let ended = client.wait(Duration::from_secs(15));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert_reported(&ended);
        server.running.line_with("left");
        server.still_serves();
    }
}

fn a_control_connection_that_goes_dead_is_given_up_by_both_sides() {
    let server = Serve::start("--max-clients 1");
    let relay = Relay::to(server.port);
    let client = Running::start(&mut client_of(relay.port, "tcp -t 60 -b 10M -i 0.5"));
    client.two_intervals();
    relay.hush();
    let ended = client.wait(Duration::from_secs(25));
    assert_eq!(ended.code, Some(PEER), "{ended:#?}");
    assert_reported(&ended);
    server.running.line_with("left");
    server.still_serves();
}

fn data_connections_cut_while_control_lives_are_reported_as_failed_flows() {
    for words in ["tcp -t 3 -b 10M --json", "tcp -t 3 -b 10M --json -R"] {
        let server = Serve::start("");
        let relay = Relay::to(server.port);
        let client = Running::start(&mut client_of(relay.port, words));
        server.running.line_with("flow(s)");
        thread::sleep(Duration::from_millis(700));
        relay.cut(Which::Data);
        let ended = client.wait(Duration::from_secs(20));
        let run = ended.json();
        assert!(
            warnings(&run).contains(&"flow_failed".to_owned()),
            "{words}: {ended:#?}"
        );
        assert!(
            run["flows"][0]["receiver"]["bytes"].as_u64() > Some(100_000),
            "{ended:#?}"
        );
        assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
        server.still_serves();
    }
}

fn a_round_trip_test_is_cut_short_as_cleanly() {
    for proto in ["tcp", "udp"] {
        let words = format!("rtt --proto {proto} --sizes 64 --count 2000000 --clients 2");
        let mut server = Serve::start("");
        let client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        thread::sleep(Duration::from_millis(700));
        server.running.kill();
        let ended = client.wait(Duration::from_secs(25));
        assert_eq!(ended.code, Some(PEER), "{words}: {ended:#?}");
        assert!(
            !ended.stderr.contains("panicked") && ended.stderr.lines().count() <= 1,
            "{ended:#?}"
        );

        let server = Serve::start("--max-clients 1");
        let client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        thread::sleep(Duration::from_millis(700));
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        server.running.line_with("left");
        let mut client = Running::start(&mut server.client(&words));
        server.running.line_with("echo over");
        client.kill();
        server.running.line_with("left");
        server.still_serves();
    }
}
