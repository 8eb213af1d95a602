//! Dialogues of other versions of iperf3 and iperf 2, recorded from the real programs and replayed: their client plays
//! against our server, and their server against our client.

mod iperf2_client;
mod iperf2_datagrams;
mod iperf2_server;
mod iperf3_client;
mod iperf3_results;
mod iperf3_server;
mod traffic;
mod transcript;
mod udp_server;

use crate::support::trial;
use libtest_mimic::Trial;
use transcript::Dialogue;

pub fn trials() -> Vec<Trial> {
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
    trials
}
