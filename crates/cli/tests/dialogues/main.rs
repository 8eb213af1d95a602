//! Dialogues of other versions of iperf3 and iperf 2, recorded from the real programs and replayed: their client plays
//! against our server, and their server against our client.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod iperf2_client;
mod iperf2_datagrams;
mod iperf2_server;
mod iperf3_client;
mod iperf3_results;
mod iperf3_server;
#[path = "../support/mod.rs"]
mod support;
mod traffic;
mod transcript;
mod udp_server;

use libtest_mimic::{Arguments, Trial};
use std::process::ExitCode;
use support::trial;
use transcript::Dialogue;

fn main() -> ExitCode {
    let mut trials: Vec<Trial> = Vec::new();
    for dialogue in transcript::all() {
        let mut plays = |role: &str, play: fn(&Dialogue)| {
            let dialogue = dialogue.clone();
            let name = format!("{}_{role}", dialogue.name());
            trials.push(trial(&name, None, move || play(&dialogue)));
        };
        match dialogue.tool.as_str() {
            "iperf3" => {
                plays("client", iperf3_client::play);
                plays("server", iperf3_server::play);
            }
            _ => {
                plays("client", iperf2_client::play);
                if iperf2_server::is_playable(&dialogue) {
                    plays("server", iperf2_server::play);
                }
            }
        }
    }
    let mut arguments = Arguments::from_args();
    // They wait for clocks more than they compute.
    arguments.test_threads.get_or_insert(16);
    libtest_mimic::run(&arguments, trials).exit_code()
}
