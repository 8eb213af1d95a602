//! What each end believes of the other: a plan that was accepted, and who is there.

pub mod acceptance;
pub mod older_peer;
pub mod protocols;
mod relay;
pub mod tokens;

use crate::support::place::Place;
use std::fs;
use std::os::unix::fs::PermissionsExt;

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
