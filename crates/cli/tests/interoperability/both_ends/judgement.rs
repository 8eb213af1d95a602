//! When a test passes: both ends' counts against each other and against what was asked for.

use super::account::{Account, Figures};
use super::case::{BLOCK, Case, Command, DATAGRAM, Directions, Tool, Transport, Until};
use std::fs;

/// One direction of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Fails unless two counts of the same thing are within half a percent, or within `slack`.
fn assert_equal_counts(one: u64, other: u64, slack: u64, what: &str) {
    let allowed = (one.max(other) / 200).max(slack);
    assert!(one.abs_diff(other) <= allowed, "{one} and {other}: {what}");
}

/// The bytes that a receiver may have left in the sockets.
///
/// The real tools stop reading at the end of a test. At a rate the sockets are all but empty then, but for the last block of each flow where the
/// end of the one direction ends the other.
fn unread(case: &Case) -> u64 {
    if case.rate.is_some() {
        return match case.directions {
            Directions::Both => case.flows * BLOCK,
            _ => 0,
        };
    }
    let buffers: u64 = ["tcp_rmem", "tcp_wmem"]
        .iter()
        .map(|name| {
            let limits = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).unwrap();
            let limit = limits.split_whitespace().nth(2).unwrap();
            limit.parse::<u64>().unwrap()
        })
        .sum();
    buffers * case.flows
}

/// Holds the accounts of both ends against each other and against what was asked for.
pub fn judge(case: &Case, client: &Account, server: &Account, context: &str) {
    let what = |direction: &str| {
        format!(
            "{direction} of {}: client {client:?}, server {server:?}\n{context}",
            case.name()
        )
    };
    if case.directions.has_up() {
        let what = what("up");
        let (sender, receiver) = ((case.client, &client.up), (case.server, &server.up));
        hold_ends(case, sender, receiver, &what);
        told(case, &client.up, &server.up, &what);
        asked_for(case, Direction::Up, &client.up, &what);
    }
    if case.directions.has_down() {
        let what = what("down");
        let (sender, receiver) = ((case.server, &server.down), (case.client, &client.down));
        hold_ends(case, sender, receiver, &what);
        told(case, &client.down, &server.down, &what);
        asked_for(case, Direction::Down, &server.down, &what);
    }
}

/// What was sent was received, lost, or left unread.
fn hold_ends(
    case: &Case,
    (sender, sending): (Command, &Figures),
    (receiver, receiving): (Command, &Figures),
    what: &str,
) {
    let (Some(sent), Some(arrived)) = (sending.sent, receiving.received) else {
        panic!("an end has not counted: {what}");
    };
    assert!(sent > 0 && arrived > 0, "nothing was counted: {what}");
    // A client of iperf3's protocol ends a download by its own clock, whatever is still to come.
    let is_left_by_client =
        case.tool == Tool::Iperf3 && case.directions == Directions::Both && case.rate.is_none();
    match case.transport {
        // What arrives at ours is counted to the end; a real sender does not count the block that it has not finished.
        Transport::Tcp if receiver != Command::Real && !is_left_by_client => {
            let unfinished = if sender == Command::Real {
                case.flows * BLOCK
            } else {
                0
            };
            assert!(
                (sent..=sent + unfinished).contains(&arrived),
                "{sent} sent, {arrived} received: {what}"
            );
        }
        Transport::Tcp => assert_equal_counts(sent, arrived, unread(case), what),
        Transport::Udp => {
            let lost = receiving.lost.unwrap_or(0) * DATAGRAM;
            assert!(lost <= sent, "more was lost than sent: {what}");
            // iperf 2's server takes the first datagrams of later flows for those of the first, which has gaps then.
            let is_mixed = case.tool == Tool::Iperf2 && receiver == Command::Real && case.flows > 1;
            let slack = if is_mixed { 10 } else { 2 };
            assert_equal_counts(sent, arrived + lost, slack * case.flows * DATAGRAM, what);
        }
    }
}

/// What the client shows of the server is what the server shows itself.
fn told(case: &Case, client: &Figures, server: &Figures, what: &str) {
    let slack = match case.transport {
        Transport::Tcp => 0,
        Transport::Udp => 2 * case.flows * DATAGRAM,
    };
    for (shown, own) in [
        (client.sent, server.sent),
        (client.received, server.received),
    ] {
        if let (Some(shown), Some(own)) = (shown, own) {
            assert_equal_counts(shown, own, slack, what);
        }
    }
    if let (Some(shown), Some(own)) = (client.lost, server.lost) {
        assert_equal_counts(shown, own, 2 * case.flows, what);
    }
}

/// The amount that was asked for is what our own sender has sent.
fn asked_for(case: &Case, direction: Direction, sent: &Figures, what: &str) {
    let sender = match direction {
        Direction::Up => case.client,
        Direction::Down => case.server,
    };
    let (Some(sent), true) = (sent.sent, sender != Command::Real) else {
        return;
    };
    let block = case.flows * case.unit();
    if let Some(amount) = case.amount()
        && case.directions != Directions::Both
    {
        // A client of iperf3 counts what a read returns as a block, also where that is less than one, and ends the test by that count.
        let counts_reads = direction == Direction::Down
            && case.client == Command::Real
            && matches!(case.until, Until::Blocks(_));
        let least = if counts_reads { amount / 2 } else { amount };
        assert!(sent >= least, "{amount} were asked for: {what}");
        let is_each = case.tool == Tool::Iperf2 || case.client == Command::Native;
        let most = amount * if is_each { case.flows } else { 1 };
        // A sender in reverse goes on until the client says that it has enough.
        let is_exact = direction == Direction::Up;
        assert!(
            !is_exact || sent <= most + 2 * block,
            "{most} were asked for: {what}"
        );
    }
}
