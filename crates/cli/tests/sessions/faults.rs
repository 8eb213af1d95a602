//! Bad input and faults: each is one clear line, the documented exit code and a bounded time; what was
//! measured is still reported, and the server and its other clients go on.

pub mod connecting;
pub mod cut_off;
pub mod interrupted;
pub mod misbehaving_client;
pub mod misbehaving_server;
pub mod output;
pub mod usage;

use crate::support::caudal;
use std::process::Command;

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
