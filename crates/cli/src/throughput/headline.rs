//! A bulk transfer in a line, before it begins.

use super::plan::is_endless;
use crate::args::TrafficArgs;
use crate::output::fold;
use crate::peer::describe;
use caudal_core::plan::{Directions, Omit, Plan, Rate, TestEnd, Transport};
use caudal_core::units::format_duration;
use caudal_measure::TestPeer;

/// The test in a line: what is sent, to whom, for how long.
pub(super) fn headline(peer: &TestPeer, plan: &Plan, traffic: &TrafficArgs) -> String {
    let Some(bulk) = plan.bulk() else {
        return String::new();
    };
    let directions = match bulk.directions {
        Directions::Up => "upload",
        Directions::Down => "download",
        Directions::Both => "both directions",
    };
    let end = match bulk.end {
        TestEnd::Time(_) if is_endless(traffic) => " until ^C".to_owned(),
        TestEnd::Time(time) => format!(" for {}", format_duration(time)),
        TestEnd::Bytes(bytes) if bytes.get() >= u64::MAX - 1 => {
            ", to the end of the input".to_owned()
        }
        TestEnd::Bytes(bytes) => format!(", {bytes} a direction"),
    };
    let warm_up = match bulk.omit {
        Omit::Time(time) => format!(" after a warm-up (*) of {}", format_duration(time)),
        Omit::Nothing | Omit::Auto => String::new(),
    };
    let rate = match bulk.rate {
        Rate::Max => String::new(),
        Rate::Limit(rate) => format!(", {rate} a flow"),
    };
    let unit = match plan.transport() {
        Transport::Tcp => "blocks",
        Transport::Udp => "datagrams",
    };
    fold(
        &format!(
            "{} with {}, {directions}, {} flow{}{end}{warm_up}{rate}, {unit} of {} B",
            plan.transport(),
            describe(peer),
            bulk.parallel,
            if bulk.parallel == 1 { "" } else { "s" },
            bulk.length
        ),
        4,
    )
}
