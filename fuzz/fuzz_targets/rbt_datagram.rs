//! Datagrams of RBT, as they come and with their CRC put right, at every end that reads them.
#![no_main]
#![expect(dead_code, reason = "the other target runs the rest")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/rbt/tests/hostile/event_script.rs"]
mod event_script;

fuzz_target!(|bytes: &[u8]| event_script::read_datagram(bytes));
