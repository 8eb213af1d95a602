//! A test of nttcp as it is kept: this side's figures, and those of the row that the other has printed.

use caudal_core::plan::{Direction, Transport};
use caudal_core::run::ImportSide as Side;
use caudal_core::sample::Role as End;
use caudal_engine::nttcp::Outcome;
use caudal_report::import::{Log, LogCounts as Count, LogFlow as Flow, LogFormat as Format};
use caudal_wire::nttcp::{Request, Row, Told};
use std::net::SocketAddr;

/// Calls of a sender of datagrams that mark the end and carry nothing.
const MARKS: u64 = 3;

/// The test that `local` asked for and for whose far side `more` was said.
#[must_use]
pub fn log(outcome: &Outcome, peer: SocketAddr, local: &Request, more: &[String]) -> Log {
    let far = far_side(local, more);
    let told = outcome.remote.iter().find_map(|line| {
        // A talkative side says its name first.
        let line = match line.split_once(": ") {
            Some((name, row)) if name.starts_with("nttcp-") => row,
            _ => line,
        };
        Told::read(line, &far.format)
    });
    let (sender, near, direction) = if local.transmit {
        (local, End::Sender, Direction::Up)
    } else {
        (&far, End::Receiver, Direction::Down)
    };
    let mut log = Log::new(Format::NttcpRows);
    log.side = Some(Side::Client);
    log.protocol = Some(if local.udp {
        Transport::Udp
    } else {
        Transport::Tcp
    });
    log.peer = Some(peer.to_string());
    log.length = Some(sender.length.into());
    log.bytes = Some(sender.bytes() as f64);
    let (own, theirs) = (own(&outcome.local), told.map(|told| theirs(&told)));
    let mut flow = Flow::new(direction, near);
    (flow.sender, flow.receiver) = match near {
        End::Sender => (Some(own), theirs),
        End::Receiver => (theirs, Some(own)),
    };
    if local.udp {
        let calls = match near {
            End::Sender => Some(outcome.local.calls),
            End::Receiver => told.and_then(|told| told.calls),
        };
        let sent = calls.and_then(|calls| calls.checked_sub(MARKS));
        datagrams(&mut flow, sent, sender.length);
    }
    log.flows.push(flow);
    log
}

/// What the far side does: what this one does not, and what was said for it alone.
fn far_side(local: &Request, more: &[String]) -> Request {
    let mut far = local.clone();
    let mut words = more.iter().map(String::as_str);
    while let Some(word) = words.next() {
        // The words were read once when the command line was.
        let _ = far.take(word, &mut words);
    }
    far
}

fn own(row: &Row) -> Count {
    Count {
        end_s: row.real_s,
        bytes: Some(row.bytes as f64),
        bps: (row.real_s > 0.0).then(|| row.bytes as f64 * 8.0 / row.real_s),
        ..Count::default()
    }
}

fn theirs(told: &Told) -> Count {
    let bytes = told.bytes.map(|bytes| bytes as f64);
    let bps = told.real_mbps.map(|rate| rate * 1e6);
    // The rate has more digits than the time.
    let took = bytes
        .zip(bps)
        .filter(|(_, bps)| *bps > 0.0)
        .map(|(bytes, bps)| bytes * 8.0 / bps);
    Count {
        end_s: took.or(told.real_s).unwrap_or(0.0),
        bytes,
        bps,
        ..Count::default()
    }
}

/// Counts datagrams: all are of one length, so bytes tell how many arrived.
fn datagrams(flow: &mut Flow, sent: Option<u64>, length: u32) {
    let sent = sent.map(|sent| sent as f64);
    if let Some(sender) = &mut flow.sender {
        sender.datagrams = sent;
    }
    let Some(receiver) = &mut flow.receiver else {
        return;
    };
    let arrived = receiver.bytes.map(|bytes| bytes / f64::from(length));
    let arrived = arrived.filter(|arrived| arrived.fract() == 0.0);
    if let (Some(sent), Some(arrived)) = (sent, arrived)
        && arrived <= sent
    {
        receiver.datagrams = Some(sent);
        receiver.lost = Some(sent - arrived);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_wire::nttcp::FORMAT;

    fn of(request: &Request, local: Row, remote: &str, more: &[&str]) -> Flow {
        let outcome = Outcome {
            local,
            remote: vec![remote.to_owned()],
        };
        let more: Vec<String> = more.iter().map(|word| (*word).to_owned()).collect();
        let peer = "192.0.2.1:5037".parse().unwrap();
        log(&outcome, peer, request, &more).flows[0].clone()
    }

    const ROW: Row = Row {
        length: 1000,
        count: 20,
        bytes: 20_000,
        calls: 20,
        real_s: 0.01,
        cpu_s: 0.001,
    };

    #[test]
    fn each_side_of_a_test_has_its_own_count() {
        let far = Row {
            calls: 33,
            real_s: 0.02,
            ..ROW
        };
        let up = of(&Request::default(), ROW, &far.show('1', FORMAT), &[]);
        assert_eq!(up.sender.unwrap().bps, Some(16e6));
        assert_eq!(up.receiver.unwrap().bps, Some(8e6));
        let down = Request::decode("nttcp@-r").unwrap();
        let down = of(&down, far, &ROW.show('1', FORMAT), &[]);
        assert_eq!(down.direction, Direction::Down);
        assert_eq!(down.sender.unwrap().bps, Some(16e6));
        assert_eq!(down.receiver.unwrap().bps, Some(8e6));
    }

    #[test]
    fn datagrams_are_counted_without_the_marks_of_the_end() {
        let udp = Request::decode("nttcp@-t@-u@-l1000@-n20").unwrap();
        let sent = Row { calls: 23, ..ROW };
        let arrived = Row {
            bytes: 15_000,
            ..ROW
        };
        let flow = of(&udp, sent, &arrived.show('1', FORMAT), &[]);
        assert_eq!(flow.sender.unwrap().datagrams, Some(20.0));
        let receiver = flow.receiver.unwrap();
        assert_eq!((receiver.datagrams, receiver.lost), (Some(20.0), Some(5.0)));
    }

    #[test]
    fn what_the_other_side_did_not_tell_stays_unknown() {
        let flow = of(&Request::default(), ROW, "nttcp: cannot", &[]);
        assert!(flow.sender.is_some());
        assert_eq!(flow.receiver, None, "what was sent is not what arrived");
        let format = "%9b";
        let short = of(
            &Request::default(),
            ROW,
            &ROW.show('1', format),
            &["-f", format],
        );
        let receiver = short.receiver.unwrap();
        assert_eq!((receiver.bytes, receiver.bps), (Some(20_000.0), None));
    }
}
