//! iperf3's dialogue spoken by hand: versions Debian does not carry, and peers that break every rule.

pub mod amounts;
pub mod blocks;
pub mod clients;
mod raw;
pub mod rule_breakers;
pub mod servers;
