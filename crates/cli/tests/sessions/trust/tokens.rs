//! Servers and clients that authenticate each other by a token.

use super::relay::{MessageRelay, Way, replace};
use super::{PEER, TOKEN, USAGE, private_file};
use crate::support::peer::{Fake, RawClient};
use crate::support::place::Place;
use crate::support::{Ended, Running, SOON, Serve, caudal, run};
use caudal_wire::preamble::{ANSWER_BYTES, PREAMBLE_BYTES, PreambleAnswer};
use serde_json::json;
use std::io::{Read, Write};
use std::net::TcpStream;

trials! {
    both_ends_with_the_token_measure,
    a_client_with_another_token_or_none_is_refused,
    a_client_with_a_token_wants_a_server_with_the_token,
    a_recorded_dialogue_is_refused_when_it_is_replayed,
    an_altered_dialogue_is_refused,
    a_file_of_tokens_that_everybody_may_read_is_not_used,
}

/// A server on loopback with a file of tokens, one of which is that of the client's file.
struct Tokens {
    place: Place,
    server: Serve,
    client: String,
}

impl Tokens {
    fn new() -> Self {
        let place = Place::new();
        let lines = format!("# a test\nbob another-token-0123456789\nann {TOKEN}\n");
        let file = private_file(&place, "server", &lines);
        let client = private_file(&place, "client", &format!("{TOKEN}\n"));
        let server = Serve::start(&format!("-B 127.0.0.1 --token-file {file}"));
        Self {
            place,
            server,
            client,
        }
    }

    /// Runs a client of the server, or of what stands at `port` before it.
    fn run(&self, port: u16, words: &str) -> Ended {
        let mut words = words.split_whitespace();
        let mut command = caudal(words.next());
        command
            .args(["127.0.0.1", "-p", &port.to_string()])
            .args(words);
        run(&mut command, SOON)
    }

    fn with_token(&self, port: u16, words: &str) -> Ended {
        self.run(port, &format!("{words} --token-file {}", self.client))
    }
}

fn both_ends_with_the_token_measure() {
    let tokens = Tokens::new();
    let port = tokens.server.port;
    let ended = tokens.with_token(port, "tcp -n 100K --json").done();
    assert_eq!(ended.json()["flows"][0]["receiver"]["bytes"], 100_000);
    tokens.with_token(port, "udp -t 0.1 -b 1M -R").done();
    tokens.with_token(port, "rtt --count 5 -l 64").done();
    // Several tests on one connection.
    tokens.with_token(port, "tcp -n 10K --repeat 3").done();
    let mut command = tokens.server.client("tcp -n 10K");
    run(command.env("CAUDAL_TOKEN_FILE", &tokens.client), SOON).done();
    tokens.server.running.line_with("authenticated by ann");
    assert!(!tokens.server.running.said().contains(TOKEN));
}

fn a_client_with_another_token_or_none_is_refused() {
    let tokens = Tokens::new();
    let port = tokens.server.port;
    let other = private_file(&tokens.place, "other", "a-token-that-nobody-else-has\n");
    let words = format!("tcp -n 10K --token-file {other}");
    let ended = tokens.run(port, &words);
    ended.failed(PEER, &["the client's token is not one of its own"]);
    for words in ["tcp -n 10K", "udp -t 0.1", "rtt --count 5"] {
        let ended = tokens.run(port, words);
        ended.failed(
            PEER,
            &["only clients that have one of its tokens", "--token-file"],
        );
    }
    tokens.server.running.line_with("turned away");
    tokens.with_token(port, "tcp -n 10K").done();
}

fn a_client_with_a_token_wants_a_server_with_the_token() {
    let tokens = Tokens::new();
    let open = Serve::start("-B 127.0.0.1");
    let ended = tokens.with_token(open.port, "tcp -n 10K");
    ended.failed(PEER, &["it has no tokens"]);
    open.serves("tcp -n 10K").done();
    // One that welcomes everybody, and one that invents a proof.
    for is_challenging in [false, true] {
        let fake = Fake::start(move |stream| pretend(stream, is_challenging));
        let ended = tokens.with_token(fake.port, "tcp -n 10K");
        ended.failed(PEER, &["did not show that it has the token"]);
    }
    // One of before there was authentication.
    let old = Fake::start(|mut stream| {
        let mut preamble = [0; PREAMBLE_BYTES];
        stream.read_exact(&mut preamble).unwrap();
        let mut hand = RawClient::over(stream);
        let _ = hand.stream.write_all(&PreambleAnswer::Welcome.encode());
        let hello = hand.hear_other_than_alive();
        let feature = hello["required"][0].as_str().unwrap();
        let message = format!("this server does not know the feature {feature:?}");
        hand.say(&json!({"type": "refused", "reason": "feature", "message": message}));
    });
    let ended = tokens.with_token(old.port, "tcp -n 10K");
    ended.failed(PEER, &["does not know the feature \"authentication\""]);
}

/// A server that has no token and says that it has.
fn pretend(mut stream: TcpStream, is_challenging: bool) {
    let mut preamble = [0; PREAMBLE_BYTES];
    if stream.read_exact(&mut preamble).is_err() {
        return;
    }
    let mut hand = RawClient::over(stream);
    let _ = hand.stream.write_all(&PreambleAnswer::Welcome.encode());
    hand.hear_other_than_alive();
    if is_challenging {
        let zeros = "00".repeat(32);
        hand.say(&json!({"type": "challenge", "nonce": zeros}));
        hand.hear_other_than_alive();
        hand.say(&json!({"type": "authenticated", "proof": zeros}));
    } else {
        hand.say(&json!({"type": "welcome", "host": {"tool": "by hand"}}));
    }
    hand.until_gone();
}

fn a_recorded_dialogue_is_refused_when_it_is_replayed() {
    let tokens = Tokens::new();
    let relay = MessageRelay::start(tokens.server.port, |_, _| {});
    tokens.with_token(relay.port, "tcp -n 10K").done();
    let recorded = relay.recorded.lock().unwrap().clone();
    let mut stream = TcpStream::connect(("127.0.0.1", tokens.server.port)).unwrap();
    stream.write_all(&recorded).unwrap();
    let mut hand = RawClient::over(stream);
    let mut answer = [0; ANSWER_BYTES];
    hand.stream.read_exact(&mut answer).unwrap();
    assert_eq!(hand.hear_other_than_alive()["type"], "challenge");
    let refused = hand.hear_other_than_alive();
    assert_eq!(refused["type"], "refused", "{refused}");
    assert_eq!(refused["reason"], "authentication", "{refused}");
    assert_eq!(hand.hear(), None, "nothing follows");
}

fn an_altered_dialogue_is_refused() {
    let tokens = Tokens::new();
    let altered = |alter: fn(Way, &mut [u8]), words: &[&str]| {
        let relay = MessageRelay::start(tokens.server.port, alter);
        let ended = tokens.with_token(relay.port, "tcp -n 10K -P 1");
        ended.failed(PEER, words);
    };
    // The hello: its proof is over the bytes that the client sent.
    let hello =
        |_: Way, message: &mut [u8]| replace(message, "\"tool\":\"caudal", "\"tool\":\"CAUDAL");
    altered(hello, &["the client's token is not one of its own"]);
    // The plan, on its way to the server and back.
    let altered_code = "a message was altered, repeated or forged";
    let offer = |way: Way, message: &mut [u8]| {
        if way == Way::ToServer {
            replace(message, "\"parallel\":1", "\"parallel\":9");
        }
    };
    altered(offer, &[altered_code]);
    let accepted = |way: Way, message: &mut [u8]| {
        if way == Way::ToClient {
            replace(message, "\"bytes\":10000", "\"bytes\":99999");
        }
    };
    altered(accepted, &[altered_code]);
    tokens.with_token(tokens.server.port, "tcp -n 10K").done();
}

fn a_file_of_tokens_that_everybody_may_read_is_not_used() {
    let place = Place::new();
    let open = place.file("open", &format!("{TOKEN}\n"));
    let short = private_file(&place, "short", "secret-1\n");
    let good = private_file(&place, "good", &format!("{TOKEN}\n"));
    let several = private_file(&place, "several", &format!("{TOKEN}\n{TOKEN}\n"));
    for (words, expected) in [
        (format!("serve -p 0 --token-file {open}"), "chmod 600"),
        (format!("tcp ::1 --token-file {open}"), "chmod 600"),
        (format!("serve -p 0 --token-file {short}"), "line 1"),
        (format!("tcp ::1 --token-file {several}"), "2 tokens"),
        ("serve -p 0 --token-file /nowhere".to_owned(), "cannot read"),
        (
            format!("tcp ::1 --as iperf3 --token-file {good}"),
            "not of iperf3",
        ),
        (
            "serve -p 0 --allow-unauthenticated nttcp".to_owned(),
            "no client must",
        ),
        (
            format!("serve -p 0 --token-file {good} --allow-unauthenticated nttcp"),
            "which is not answered",
        ),
    ] {
        let ended = Running::start(&mut caudal(words.split_whitespace())).wait(SOON);
        assert!(!ended.stderr.contains(TOKEN) && !ended.stderr.contains("secret-1"));
        ended.failed(USAGE, &[expected]);
    }
}
