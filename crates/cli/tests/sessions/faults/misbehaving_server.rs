//! Servers that misbehave, and the bounded time they cost.

use super::{DONE, FAILED, PEER, client_of};
use crate::support::Running;
use crate::support::peer::{Fake, Instead, STEPS};
use std::thread;
use std::time::{Duration, Instant};

trials! {
    a_server_that_misbehaves_at_any_step_costs_its_client_a_bounded_time,
}

fn a_server_that_misbehaves_at_any_step_costs_its_client_a_bounded_time() {
    let ways = [
        Instead::Nothing,
        Instead::Close,
        Instead::Garbage,
        Instead::TwoGigabytes,
        Instead::AnotherMessage,
        Instead::Chatter,
        Instead::Extremes,
    ];
    let all: Vec<_> = STEPS
        .into_iter()
        .flat_map(|step| ways.into_iter().map(move |instead| (step, instead)))
        .flat_map(|(step, instead)| ["tcp", "udp"].map(|kind| (step, instead, kind)))
        .collect();
    // Together: most of them spend their time waiting.
    let mut wrong = Vec::new();
    for some in all.chunks(96) {
        let started: Vec<_> = some
            .iter()
            .map(|(step, instead, kind)| {
                let fake = Fake::server(*step, *instead);
                let running = Running::start(&mut client_of(fake.port, &format!("{kind} -t 1")));
                (*step, *instead, *kind, fake, running)
            })
            .collect();
        let until = Instant::now() + Duration::from_secs(40);
        for (step, instead, kind, _fake, mut running) in started {
            while !running.is_over() && Instant::now() < until {
                thread::sleep(Duration::from_millis(20));
            }
            if !running.is_over() {
                wrong.push(format!("{kind}: {instead:?} at {step:?}: still running"));
                continue;
            }
            let ended = running.wait(Duration::from_secs(1));
            let measured = ended.stdout.contains("upload: ");
            let lines = ended.stderr.lines().count();
            let panicked = ended.stderr.contains("panicked");
            let code = ended.code.unwrap_or(-1);
            // A fake that ends a test in the right form has ended it.
            let fair = instead == Instead::Extremes && code == DONE;
            if panicked
                || !(fair || code == PEER || code == FAILED)
                || lines > 1
                || !measured && lines == 0
            {
                wrong.push(format!("{kind}: {instead:?} at {step:?}: {ended:#?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
