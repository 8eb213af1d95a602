//! What each end believes of the other: a plan that was accepted, and who is there.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod acceptance;
mod older_peer;
mod protocols;
mod relay;
#[path = "../support/mod.rs"]
mod support;
mod tokens;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use support::place::Place;

/// The exit code of a peer that refuses, or that is refused.
const PEER: i32 = 3;
/// The exit code of a command line that is refused.
const USAGE: i32 = 2;

const TOKEN: &str = "a-token-of-this-test-0123456789";

/// A file that only its owner may read.
fn private_file(place: &Place, name: &str, text: &str) -> String {
    let path = place.file(name, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    path
}
