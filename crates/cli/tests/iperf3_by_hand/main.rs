//! iperf3's dialogue spoken by hand: versions Debian does not carry, and peers that break every rule.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

#[path = "../support/mod.rs"]
mod support;

mod amounts;
mod blocks;
mod clients;
mod raw;
mod rule_breakers;
mod servers;
