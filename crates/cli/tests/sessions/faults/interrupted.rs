//! Interrupts of clients and servers, and a server's limits and log.

use super::{DONE, FAILED, client_of};
use crate::support::peer::{Fake, Instead, Step};
use crate::support::{Running, Serve, assert_reported, caudal, run, warnings};
use serde_json::Value;
use std::net::TcpStream;
use std::thread;
use std::time::Duration;

trials! {
    an_interrupted_client_still_reports_and_so_does_its_server,
    an_interrupted_client_keeps_its_json_whole,
    interrupted_before_anything_was_measured_is_said_in_one_line,
    the_message_that_all_is_open_may_overtake_the_answer_of_a_connection,
    a_second_interrupt_does_not_wait_for_a_peer_that_is_silent,
    a_server_that_is_stopped_lets_both_ends_report,
    one_off_ends_after_one_visit,
    a_server_holds_a_test_within_its_limits_and_says_so,
    a_server_quiets_its_log_and_speaks_json_when_asked,
}

fn an_interrupted_client_still_reports_and_so_does_its_server() {
    for words in [
        "tcp -t 30 -b 10M -i 0.5",
        "tcp -t 30 -i 0.5 -R",
        "udp -t 30 -b 1M -i 0.5 --bidir",
        "tcp -i 0.5 -n 1T",
    ] {
        let server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        assert!(!ended.stderr.contains("panicked"), "{ended:#?}");
        assert_reported(&ended);
        assert!(ended.stdout.contains("interrupted"), "{ended:#?}");
        let line = server.running.line_with("done in");
        assert!(!line.contains(" 0 B received, 0 B sent"), "{line}");
        server.running.line_with("left");
        server.still_serves();
    }
}

fn an_interrupted_client_keeps_its_json_whole() {
    let server = Serve::start("");
    let client = Running::start(&mut server.client("udp -t 30 -b 5M -l 1000 --json"));
    server.running.line_with("flow(s)");
    thread::sleep(Duration::from_millis(1500));
    client.signal("TERM");
    let ended = client.wait(Duration::from_secs(8));
    let run = ended.json();
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    assert!(warnings(&run).contains(&"cut_short".to_owned()), "{run}");
    let loss = &run["summary"]["directions"][0]["loss"];
    assert_eq!(loss["lost"], 0, "what was not sent is not lost: {loss}");
    assert!(loss["received"].as_u64() > Some(100), "{loss}");
}

fn interrupted_before_anything_was_measured_is_said_in_one_line() {
    for step in [
        Step::Preamble,
        Step::Welcome,
        Step::Pong,
        Step::Accept,
        Step::Attach,
        Step::Ready,
    ] {
        let fake = Fake::server(step, Instead::Nothing);
        let client = Running::start(&mut client_of(fake.port, "tcp -t 5"));
        thread::sleep(Duration::from_millis(600));
        client.signal("INT");
        let ended = client.wait(Duration::from_secs(3));
        ended.failed(FAILED, &["interrupted"]);
    }
}

fn the_message_that_all_is_open_may_overtake_the_answer_of_a_connection() {
    let fake = Fake::server(Step::Attach, Instead::Late);
    let client = Running::start(&mut client_of(fake.port, "tcp -t 30"));
    thread::sleep(Duration::from_millis(1500));
    client.signal("INT");
    thread::sleep(Duration::from_millis(300));
    client.signal("INT");
    let ended = client.wait(Duration::from_millis(2500));
    assert!(!ended.stderr.contains("protocol"), "{ended:#?}");
}

fn a_second_interrupt_does_not_wait_for_a_peer_that_is_silent() {
    let fake = Fake::server(Step::Finish, Instead::Nothing);
    let client = Running::start(&mut client_of(fake.port, "tcp -t 30"));
    thread::sleep(Duration::from_millis(1000));
    client.signal("INT");
    thread::sleep(Duration::from_millis(300));
    client.signal("INT");
    let ended = client.wait(Duration::from_millis(2500));
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
}

fn a_server_that_is_stopped_lets_both_ends_report() {
    for (signal, words) in [
        ("TERM", "tcp -t 30 -b 10M -i 0.5"),
        ("INT", "tcp -t 30 -i 0.5 -R"),
        ("TERM", "udp -t 30 -b 1M -i 0.5"),
    ] {
        let server = Serve::start("");
        let client = Running::start(&mut server.client(words));
        client.two_intervals();
        server.running.signal(signal);
        let served = server.running.wait(Duration::from_secs(8));
        assert_eq!(served.code, Some(DONE), "{served:#?}");
        assert!(
            served.stdout.contains("done in") && served.stdout.contains("stopped"),
            "{served:#?}"
        );
        let ended = client.wait(Duration::from_secs(8));
        assert_eq!(ended.code, Some(FAILED), "{words}: {ended:#?}");
        assert_reported(&ended);
        assert!(
            ended.stdout.contains("the server was stopped"),
            "{ended:#?}"
        );
        assert_eq!(ended.stderr, "", "{ended:#?}");
    }
}

fn one_off_ends_after_one_visit() {
    let server = Serve::start("--one-off");
    // A stranger's connection is not a session.
    drop(TcpStream::connect(("127.0.0.1", server.port)).unwrap());
    server.serves("tcp -t 0.3").done();
    let served = server.running.wait(Duration::from_secs(5));
    assert_eq!(served.code, Some(DONE), "{served:#?}");
}

fn a_server_holds_a_test_within_its_limits_and_says_so() {
    let server = Serve::start("--max-time 1s --max-rate 8M");
    for words in [
        "tcp -t 30 -P 2 --json",
        "tcp -t 30 -R --json",
        "udp -t 30 -b 100M --json",
    ] {
        let run = server.serves(words).done().json();
        let direction = &run["summary"]["directions"][0];
        let measured = direction["measured_s"].as_f64().unwrap();
        assert!((0.8..1.3).contains(&measured), "{words}: {measured}");
        let goodput = direction["goodput_bps"]["mean"]
            .as_f64()
            .unwrap_or_else(|| direction["bytes"].as_f64().unwrap() * 8.0 / measured);
        assert!(goodput < 8.8e6, "{words}: {goodput}");
        assert!(!warnings(&run).is_empty(), "{words}");
    }
    let ended = server.serves("tcp -n 1G --json");
    let run = ended.json();
    assert_eq!(ended.code, Some(FAILED), "{ended:#?}");
    assert!(
        run["warnings"].to_string().contains("time limit"),
        "{}",
        run["warnings"]
    );
    server.serves("tcp -n 100K --json").done();
}

fn a_server_quiets_its_log_and_speaks_json_when_asked() {
    let running = Running::start(caudal(["serve", "-p", "0", "--json-log"]).env("TERM", "dumb"));
    let line = running.line_with("listening");
    let event: Value = serde_json::from_str(&line).unwrap();
    let port = event["port"].as_u64().unwrap();
    run(
        &mut client_of(port as u16, "tcp -t 0.2"),
        Duration::from_secs(10),
    )
    .done();
    for word in ["connected", "started", "finished", "left"] {
        let line = running.line_with(word);
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap()["event"], word);
    }
}
