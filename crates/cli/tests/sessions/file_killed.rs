//! Either end of a file transfer is killed at a random moment, and the transfer continued: the file is the same.

use crate::support::place::Place;
use crate::support::{Running, SOON, Serve, caudal, keep_nothing, run};
use caudal_stats::random::SplitMix64;
use std::fs;
use std::process::Command;
use std::thread;
use std::time::Duration;

trials! {
    a_transfer_whose_ends_are_killed_is_continued_and_its_content_equal,
}

/// Transfers in all, each of which is interrupted at least once.
const TRANSFERS: usize = 200;
/// Transfers at the same time.
const LANES: usize = 8;
/// The number of times that a server may still hold the file for the client that was killed.
const MAX_TRIES: u32 = 100;
/// The size of the file: several units of resumption.
const BYTES: usize = 6_300_017;

/// A server that can be killed, and its directories.
struct Lane {
    place: Place,
    server: Serve,
    rng: SplitMix64,
}

impl Lane {
    fn new(number: u64) -> Self {
        let place = Place::new();
        for directory in ["here", "served", "stored"] {
            fs::create_dir(place.at(directory)).unwrap();
        }
        let server = start(&place);
        Self {
            place,
            server,
            rng: SplitMix64::new(number),
        }
    }

    fn client(&self, words: &str) -> Command {
        let mut command = caudal(["file", "127.0.0.1", "-p", &self.server.port.to_string()]);
        command
            .args(words.split_whitespace())
            .current_dir(self.place.at("here"));
        keep_nothing(&mut command);
        command
    }

    /// One file that is sent or fetched, interrupted once or more, and continued to its end.
    fn transfer(&mut self, number: usize) {
        let content: Vec<u8> = {
            let mut rng = SplitMix64::new(self.rng.next_u64());
            (0..BYTES.div_ceil(8))
                .flat_map(|_| rng.next_u64().to_le_bytes())
                .take(BYTES)
                .collect()
        };
        let is_sent = self.rng.below(2) == 0;
        let via = ["tcp", "rbt"][self.rng.below(2) as usize];
        let name = format!("file-{number}");
        let (source, arrived, words) = if is_sent {
            let words = format!("--send {name} --via {via} --resume");
            ("here", "stored", words)
        } else {
            (
                "served",
                "here",
                format!("--get {name} --via {via} --resume"),
            )
        };
        let case = format!("seeded transfer {number}: {words}");
        fs::write(self.place.at(source).join(&name), &content).unwrap();
        let interruptions = 1 + self.rng.below(2);
        for _ in 0..interruptions {
            let mut client = Running::start(&mut self.client(&format!("{words} -b 400M")));
            thread::sleep(Duration::from_millis(10 + self.rng.below(150)));
            if self.rng.below(2) == 0 {
                client.kill();
            } else {
                self.server.running.kill();
                client.kill();
                self.server = start(&self.place);
            }
        }
        // The last try: it may have arrived before it was interrupted.
        let destination = self.place.at(arrived).join(&name);
        let mut tries = 0;
        while !destination.exists() {
            let ended = run(&mut self.client(&words), SOON);
            // A server may need a moment to see that the client before is gone.
            let is_held = ended.stderr.contains("being written by another transfer");
            // Everything had arrived when the client was killed, and the server has put it in place meanwhile.
            let is_complete = ended.stderr.contains("exists already") && destination.exists();
            tries += 1;
            assert!(
                ended.code == Some(0) || is_complete || (is_held && tries < MAX_TRIES),
                "{case}: {ended:#?}"
            );
            thread::sleep(Duration::from_millis(if is_held { 100 } else { 0 }));
        }
        assert!(fs::read(&destination).unwrap() == content, "{case}");
        let left: Vec<_> = fs::read_dir(self.place.at(arrived))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .filter(|entry| entry.contains(&name) && *entry != name)
            .collect();
        assert!(left.is_empty(), "{case}: {left:?}");
        for directory in [source, arrived] {
            let _ = fs::remove_file(self.place.at(directory).join(&name));
        }
    }
}

/// Starts a server on a free port: that of one that was killed may not be free yet.
fn start(place: &Place) -> Serve {
    let mut command = caudal(["serve", "-p", "0", "--files"]);
    command
        .arg(place.at("served"))
        .arg("--accept-files")
        .arg(place.at("stored"));
    Serve::of(&mut command)
}

fn a_transfer_whose_ends_are_killed_is_continued_and_its_content_equal() {
    let lanes: Vec<_> = (0..LANES)
        .map(|lane| {
            thread::spawn(move || {
                let mut state = Lane::new(lane as u64);
                for number in (lane..TRANSFERS).step_by(LANES) {
                    state.transfer(number);
                }
            })
        })
        .collect();
    // All of them end, and stop their servers, before one that failed is told.
    let ended: Vec<_> = lanes.into_iter().map(thread::JoinHandle::join).collect();
    assert!(ended.iter().all(Result::is_ok), "a lane failed: see above");
}
