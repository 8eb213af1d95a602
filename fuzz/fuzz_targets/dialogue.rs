//! A native dialogue, a message a line: what either end reads it writes the same, and what a client accepts can be carried out.
#![no_main]

use caudal_core::plan::Plan;
use caudal_wire::acceptance::check_accepted;
use caudal_wire::frame::{Decoder, encode};
use caudal_wire::message::{ToClient, ToServer};
use libfuzzer_sys::fuzz_target;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// The message in a frame.
fn read<M: DeserializeOwned>(frame: &[u8]) -> Option<M> {
    let mut decoder = Decoder::default();
    decoder.feed(frame);
    decoder.next_message().ok().flatten()
}

/// Numbers that are no integers lose nothing either.
fn is_written_as_read<M: Serialize + DeserializeOwned + PartialEq + Debug>(message: &M) {
    let frame = encode(message).expect("what was read is no longer than what is written");
    assert_eq!(read::<M>(&frame).as_ref(), Some(message));
}

fuzz_target!(|bytes: &[u8]| {
    let mut offered: Option<Plan> = None;
    for line in bytes.split(|byte| *byte == b'\n').take(64) {
        let mut frame = (line.len() as u32).to_be_bytes().to_vec();
        frame.extend_from_slice(line);
        if let Some(message) = read::<ToServer>(&frame) {
            is_written_as_read(&message);
            if let ToServer::Offer { plan } = message
                && plan.check().is_ok()
            {
                assert_eq!(check_accepted(&plan, &plan), Ok(()));
                offered = Some(plan);
            }
        }
        if let Some(message) = read::<ToClient>(&frame) {
            is_written_as_read(&message);
            match (message, &offered) {
                (ToClient::Accepted { plan, .. }, Some(offered)) => {
                    if check_accepted(offered, &plan).is_ok() {
                        assert_eq!(plan.bulk().is_some(), offered.bulk().is_some());
                    }
                }
                (ToClient::Finished { report, .. }, _) => {
                    let _ = report.clone().into_flows();
                    let _ = report.clone().into_transfer();
                    let _ = report.into_trains();
                }
                _ => {}
            }
        }
    }
});
