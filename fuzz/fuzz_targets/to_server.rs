//! What a client says, cut into pieces: the server's decoder and the plan's check see it first.
#![no_main]

use caudal_wire::frame::{Decoder, LONGEST_MESSAGE, encode};
use caudal_wire::message::ToServer;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: (u8, &[u8])| {
    let (cut, bytes) = input;
    let mut decoder = Decoder::default();
    for piece in bytes.chunks(usize::from(cut) + 1) {
        decoder.feed(piece);
        loop {
            match decoder.next_message::<ToServer>() {
                Ok(Some(message)) => {
                    if let ToServer::Offer { plan } = &message
                        && plan.check().is_ok()
                        && let caudal_core::plan::Plan::Traffic(plan) = plan
                    {
                        let ticks = plan.ticks();
                        let _ = (
                            ticks.at(0),
                            ticks.at(1),
                            ticks.at(u64::MAX),
                            ticks.total(),
                            ticks.first_measured(),
                        );
                        assert!(plan.flows().count() <= 2048);
                    }
                    let again =
                        encode(&message).expect("what was read is no longer than what is written");
                    assert!(again.len() <= LONGEST_MESSAGE + 4);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
