//! Bad input and faults: each is one clear line, the documented exit code and a bounded time; what was
//! measured is still reported, and the server and its other clients go on.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "../support/mod.rs"]
mod support;

mod connecting;
mod cut_off;
mod interrupted;
mod misbehaving_client;
mod misbehaving_server;
mod output;
mod usage;

use std::process::Command;
use support::caudal;

const DONE: i32 = 0;
const FAILED: i32 = 1;
const USAGE: i32 = 2;
const PEER: i32 = 3;
const NOT_PERMITTED: i32 = 4;

fn client_of(port: u16, words: &str) -> Command {
    let mut words = words.split_whitespace();
    let mut command = caudal(words.next());
    command
        .args(["127.0.0.1", "-p", &port.to_string()])
        .args(words);
    command
}
