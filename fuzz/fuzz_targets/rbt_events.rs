//! Events on a sender and a receiver of RBT: time, loss, reordering, forged datagrams.
#![no_main]
#![expect(dead_code, reason = "the other target runs the rest")]

use libfuzzer_sys::fuzz_target;

#[path = "../../crates/rbt/tests/hostile/event_script.rs"]
mod event_script;

fuzz_target!(|bytes: &[u8]| event_script::run_events(bytes));
