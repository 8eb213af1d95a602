//! The rows of both ends as their reports.

use super::datagram_sender::END_MARKS;
use caudal_core::event::FlowTotals;
use caudal_core::sample::Role;
use caudal_wire::nttcp::{ReportedRow, ResultRow, TransferRequest};

/// The request of the other end: that of this end with the options that are for the other end alone.
#[must_use]
pub fn request_of_peer(request: &TransferRequest, more: &[String]) -> TransferRequest {
    let mut peer = request.clone();
    let mut options = more.iter().map(String::as_str);
    while let Some(option) = options.next() {
        // The options were checked when the command line was read.
        let _ = peer.take(option, &mut options);
    }
    peer.transmit = !request.transmit;
    peer
}

/// The totals of the other end, where it printed a row with a number of bytes; `own` is the row of this end.
pub(super) fn peer_totals(
    request: &TransferRequest,
    more: &[String],
    own: &ResultRow,
    lines: &[String],
) -> Option<FlowTotals> {
    let peer = request_of_peer(request, more);
    let row = lines
        .iter()
        .find_map(|line| ReportedRow::read(without_name(line), &peer.format))?;
    let bytes = row.bytes?;
    let mut totals = totals(role(&peer), elapsed_s(&row, bytes), bytes);
    if request.udp && peer.transmit {
        totals.datagrams = row.calls.and_then(|calls| calls.checked_sub(END_MARKS));
    } else if request.udp {
        count_received(
            &mut totals,
            own.calls.checked_sub(END_MARKS),
            sender_length(request, &peer),
        );
    }
    Some(totals)
}

/// The length of the buffers that are sent.
const fn sender_length(request: &TransferRequest, peer: &TransferRequest) -> u32 {
    if request.transmit {
        request.length
    } else {
        peer.length
    }
}

/// The totals of this end, whose row is `own`; `peer` are those of the other end.
pub(super) fn own_totals(
    request: &TransferRequest,
    more: &[String],
    own: &ResultRow,
    peer: Option<&FlowTotals>,
) -> FlowTotals {
    let length = sender_length(request, &request_of_peer(request, more));
    let mut totals = totals(role(request), own.real_s, own.bytes);
    if request.udp && request.transmit {
        totals.datagrams = own.calls.checked_sub(END_MARKS);
    } else if request.udp {
        let sent = peer.and_then(|peer| peer.datagrams);
        count_received(&mut totals, sent, length);
    }
    totals
}

const fn role(request: &TransferRequest) -> Role {
    if request.transmit {
        Role::Sender
    } else {
        Role::Receiver
    }
}

/// The totals that a row has.
const fn totals(role: Role, elapsed_s: f64, bytes: u64) -> FlowTotals {
    FlowTotals {
        flow: 0,
        role,
        elapsed_s,
        bytes,
        retransmits: None,
        datagrams: None,
        lost: None,
        reordered: None,
        jitter_s: None,
        transit: None,
    }
}

/// A line without the name that a verbose peer puts before it.
fn without_name(line: &str) -> &str {
    match line.split_once(": ") {
        Some((name, row)) if name.starts_with("nttcp-") => row,
        _ => line,
    }
}

/// The time of a row, s; 0 where it has none. Its rate has more digits than its time.
fn elapsed_s(row: &ReportedRow, bytes: u64) -> f64 {
    match row.real_mbps.filter(|mbps| *mbps > 0.0) {
        Some(mbps) => bytes as f64 * 8.0 / (mbps * 1e6),
        None => row.real_s.unwrap_or(0.0),
    }
}

/// Counts the datagrams of a receiver, of which `sent` were sent: all are of one length, so that the bytes give the number that
/// arrived.
fn count_received(totals: &mut FlowTotals, sent: Option<u64>, length: u32) {
    let arrived = received_datagrams(totals.bytes, length);
    if let (Some(sent), Some(arrived)) = (sent, arrived)
        && arrived <= sent
    {
        totals.datagrams = Some(sent);
        totals.lost = Some(sent - arrived);
    }
}

/// The datagrams of `length` bytes that make up `bytes`; `None` when they are no whole number.
pub(super) fn received_datagrams(bytes: u64, length: u32) -> Option<u64> {
    let length = u64::from(length.max(1));
    bytes.is_multiple_of(length).then(|| bytes / length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::nttcp::FORMAT;

    const ROW: ResultRow = ResultRow {
        length: 1000,
        count: 20,
        bytes: 20_000,
        calls: 23,
        real_s: 0.02,
        cpu_s: 0.001,
    };

    fn totals_of_peer(options: &str, own: ResultRow, line: &str, more: &[&str]) -> FlowTotals {
        let request = TransferRequest::decode(&format!("nttcp@{options}")).unwrap();
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        peer_totals(&request, &more, &own, &[line.to_owned()]).unwrap()
    }

    #[test]
    fn a_row_gives_the_totals_of_the_other_end() {
        let up = totals_of_peer("-t", ROW, &ROW.show('1', FORMAT), &[]);
        assert_eq!((up.role, up.bytes), (Role::Receiver, 20_000));
        assert!((up.elapsed_s - 0.02).abs() < 1e-9);
        let verbose = format!("nttcp-1: {}", ROW.show('1', FORMAT));
        let down = totals_of_peer("-r", ROW, &verbose, &[]);
        assert_eq!((down.role, down.datagrams), (Role::Sender, None));
        let format = "%9b%8c";
        let short = totals_of_peer("-t", ROW, &ROW.show('1', format), &["-f", format]);
        assert!(short.elapsed_s.abs() < 1e-12, "its row has no time");
    }

    #[test]
    fn datagrams_are_counted_without_the_marks_of_the_end() {
        let arrived = ResultRow {
            bytes: 18_000,
            calls: 19,
            ..ROW
        };
        let up = totals_of_peer("-t@-u@-l1000", ROW, &arrived.show('1', FORMAT), &[]);
        assert_eq!((up.datagrams, up.lost), (Some(20), Some(2)));
        let down = totals_of_peer("-r@-u@-l1000", arrived, &ROW.show('1', FORMAT), &[]);
        assert_eq!((down.datagrams, down.lost), (Some(20), None));
        let request = TransferRequest::decode("nttcp@-r@-u@-l1000").unwrap();
        let own = own_totals(&request, &[], &arrived, Some(&down));
        assert_eq!((own.datagrams, own.lost), (Some(20), Some(2)));
    }
}
