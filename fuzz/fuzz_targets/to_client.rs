//! What a server says, cut into pieces, and what the client reckons from its samples.
#![no_main]

use caudal_core::interval::Timeline;
use caudal_core::plan::{Direction, Directions, End, Omit, Rate, TrafficPlan, Transport};
use caudal_stats::ClockEstimate;
use caudal_wire::frame::Decoder;
use caudal_wire::message::ToClient;
use libfuzzer_sys::fuzz_target;
use std::time::Duration;

fn plan() -> TrafficPlan {
    TrafficPlan {
        transport: Transport::Udp,
        directions: Directions::Both,
        parallel: 2,
        end: End::Time(Duration::from_secs(1)),
        interval: Duration::from_millis(100),
        omit: Omit::Nothing,
        rate: Rate::Max,
        length: 1000,
        window: None,
        mss: None,
        congestion: None,
        no_delay: false,
        dscp: None,
        mptcp: false,
        discard: false,
        zero_copy: false,
        verify: false,
        same_machine: false,
    }
}

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let mut decoder = Decoder::default();
    let mut clock = ClockEstimate::default();
    let plan = plan();
    let mut timeline = Timeline::new(plan.flows(), &plan.ticks(), true);
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
        timeline.rest(),
        timeline.intervals(0),
        timeline.measured(1),
        clock.min_rtt_ns(),
    );
});
