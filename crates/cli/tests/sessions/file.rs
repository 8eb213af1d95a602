//! `caudal file`: transfers and comparisons over loopback, files that are sent and fetched, documents, bad input.

pub mod campaigns;
pub mod documents;
pub mod fetching;
pub mod generated;
pub mod quota;
pub mod refused;
pub mod sending;

use crate::support::place::Place;
use crate::support::{Ended, SOON, Serve, caudal, run};
use serde_json::Value;
use std::fs;
use std::process::Command;

/// A server that serves one directory and stores into another, and a client that runs beside them.
struct FilePair {
    place: Place,
    server: Serve,
}

impl FilePair {
    fn new() -> Self {
        Self::with(&[])
    }

    /// With further flags of the server.
    fn with(flags: &[&str]) -> Self {
        let place = Place::of("file");
        for directory in ["served", "stored", "here"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        let mut command = caudal(["serve", "-p", "0", "--files"]);
        command.arg(place.at("served"));
        command.arg("--accept-files").arg(place.at("stored"));
        command.args(flags);
        Self {
            server: Serve::of(&mut command),
            place,
        }
    }

    /// A client in the directory `here`.
    fn client(&self, words: &str) -> Command {
        let mut command = self.server.client(&format!("file {words}"));
        command.current_dir(self.place.at("here"));
        command
    }

    #[track_caller]
    fn runs(&self, words: &str) -> Ended {
        run(&mut self.client(words), SOON)
    }
}

/// Bytes that differ from place to place.
fn content(bytes: usize) -> Vec<u8> {
    (0..bytes as u64)
        .map(|at| (at.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8)
        .collect()
}

/// The result of file transfers in a document.
fn report(run: &Value) -> &Value {
    &run["file"]
}
