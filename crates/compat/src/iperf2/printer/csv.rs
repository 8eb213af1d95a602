//! Lines of comma-separated values: nine columns, and five more over UDP.

use super::address::shown_address;
use super::counts::{DatagramCounts, SpanCounts};
use super::flow::ShownFlow;
use crate::iperf2::options::Options;
use caudal_core::sample::Role;
use caudal_sys::clock::LocalTime;
use std::fmt::Write;

/// The subject of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CsvSubject {
    /// One flow.
    Flow,
    /// All flows of a group.
    Sum,
}

/// The line of a flow, or of the sum over its group, printed at `now`.
pub(super) fn csv_line(
    options: &Options,
    now: Option<&LocalTime>,
    flow: &ShownFlow,
    counts: &SpanCounts,
    subject: CsvSubject,
) -> String {
    let at = now.map_or_else(String::new, |at| {
        format!(
            "{:04}{:02}{:02}{:02}{:02}{:02}",
            at.year, at.month, at.day, at.hour, at.minute, at.second
        )
    });
    let (from, to) = match flow.role {
        Role::Sender => (flow.local, flow.peer),
        Role::Receiver => (flow.peer, flow.local),
    };
    let (id, from_port) = match subject {
        // A sum is over several ports of the client.
        CsvSubject::Sum => ("-1".to_owned(), 0),
        CsvSubject::Flow => (flow.number.to_string(), from.port()),
    };
    let mut line = format!(
        "{at},{},{from_port},{},{},{id},{:.1}-{:.1},{},{:.0}",
        shown_address(options, from),
        shown_address(options, to),
        to.port(),
        counts.start_s,
        counts.end_s,
        counts.bytes,
        counts.bps().floor()
    );
    if flow.is_udp() {
        let received = counts.received.unwrap_or(DatagramCounts {
            total: counts.datagrams,
            ..DatagramCounts::default()
        });
        let lost_percent = 100.0 * received.lost as f64 / received.total.max(1) as f64;
        let _ = write!(
            line,
            ",{:.3},{},{},{lost_percent:.3},{}",
            received.jitter_ms, received.lost, received.total, received.out_of_order
        );
    }
    line
}
