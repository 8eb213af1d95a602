//! The messages of a client in pieces: the server's decoder and the check of the plan see them first.
#![no_main]

use caudal_wire::frame::{Decoder, MAX_MESSAGE_BYTES, encode};
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
                        && let Some(bulk) = plan.bulk()
                    {
                        let ticks = bulk.ticks();
                        let _ = (
                            ticks.at(0),
                            ticks.at(1),
                            ticks.at(u64::MAX),
                            ticks.total(),
                            ticks.first_measured(),
                        );
                        assert!(bulk.flows().count() <= 2048);
                    }
                    let again =
                        encode(&message).expect("what was read is no longer than what is written");
                    assert!(again.len() <= MAX_MESSAGE_BYTES + 4);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
