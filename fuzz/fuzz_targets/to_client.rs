//! The messages of a server in pieces, and the client's arithmetic on its samples.
#![no_main]

use caudal_analysis::timeline::Timeline;
use caudal_core::interval::ServerAccount;
use caudal_core::plan::{BulkPlan, Direction, Directions, Omit, Rate, TestEnd, Transport, UdpPlan};
use caudal_stats::ClockEstimate;
use caudal_wire::frame::Decoder;
use caudal_wire::message::ToClient;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fn plan() -> UdpPlan {
    UdpPlan {
        pacing: caudal_core::plan::Pacing::Precise,
        ecn: caudal_core::marks::Ecn::NotEct,
        bulk: BulkPlan {
            directions: Directions::Both,
            parallel: 2,
            end: TestEnd::Time(Duration::from_secs(1)),
            interval: Duration::from_millis(100),
            omit: Omit::Nothing,
            rate: Rate::Max,
            length: 1000,
            window: None,
            dscp: None,
            same_machine: false,
        },
        verify: false,
    }
}

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let mut decoder = Decoder::default();
    let mut clock = ClockEstimate::default();
    let plan = plan();
    let mut timeline = Timeline::new(
        plan.bulk.flows(),
        &plan.bulk.ticks(),
        Transport::Udp,
        ServerAccount::Full,
    );
    for piece in bytes.chunks(usize::from(cut) + 1) {
        decoder.feed(piece);
        loop {
            match decoder.next_message::<ToClient>() {
                Ok(Some(ToClient::Samples { samples })) => {
                    for sample in samples {
                        timeline.push(&sample);
                        while let Some(row) = timeline.next_row() {
                            let _ = (row.sum(Direction::Up), row.sum(Direction::Down));
                        }
                    }
                }
                Ok(Some(ToClient::Pong { t1, t2, t3 })) => {
                    clock.push(t1, t2, t3, t1.saturating_add(1000))
                }
                Ok(Some(ToClient::Accepted { plan, .. })) => {
                    let _ = plan.check();
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
    let _ = (
        timeline.remaining_rows(),
        timeline.intervals(0),
        timeline.measured(1),
        clock.min_rtt_ns(),
    );
});
