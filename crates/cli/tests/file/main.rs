//! `caudal file`: transfers and comparisons over loopback, files that are sent and fetched, documents, bad input.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "../support/mod.rs"]
mod support;

mod campaigns;
mod documents;
mod fetching;
mod generated;
mod refused;
mod sending;

use serde_json::Value;
use std::fs;
use std::process::Command;
use support::place::Place;
use support::{Ended, SOON, Serve, caudal, run};

/// A server that serves one directory and stores into another, and a client that runs beside them.
struct FilePair {
    place: Place,
    server: Serve,
}

impl FilePair {
    fn new() -> Self {
        let place = Place::of("file");
        for directory in ["served", "stored", "here"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        let mut command = caudal(["serve", "-p", "0", "--files"]);
        command.arg(place.at("served"));
        command.arg("--accept-files").arg(place.at("stored"));
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
