//! The tests and flows of a server in its log.

use super::text;
use caudal_core::event::{DataConnection, EndedFlow, EndedTest};
use caudal_core::plan::{Direction, Transport};
use caudal_core::sample::Counters;
use caudal_core::units::{BitRate, ByteCount};
use std::fmt;
use std::time::Duration;

/// What a test carried, with the rates.
#[derive(Debug)]
pub struct TestResult<'a> {
    ended: &'a EndedTest,
    /// The rate of what was received, bit/s; `None` for nothing, and where no time passed.
    pub received_bps: Option<u64>,
    /// The rate of what was sent, bit/s.
    pub sent_bps: Option<u64>,
}

impl<'a> From<&'a EndedTest> for TestResult<'a> {
    fn from(ended: &'a EndedTest) -> Self {
        let rate = |bytes| rate_bps(bytes, ended.elapsed_s);
        Self {
            received_bps: rate(ended.received_bytes),
            sent_bps: rate(ended.sent_bytes),
            ended,
        }
    }
}

impl fmt::Display for TestResult<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ended = self.ended;
        f.write_str(&amount("received", ended.received_bytes, self.received_bps))?;
        if let (Some(received), Some(lost)) = (ended.received_datagrams, ended.lost_datagrams) {
            write!(f, " ({lost} of {} datagrams lost)", received + lost)?;
        }
        write!(f, ", {}", amount("sent", ended.sent_bytes, self.sent_bps))
    }
}

/// An amount of payload with its rate.
fn amount(what: &str, bytes: u64, bps: Option<u64>) -> String {
    let rate = bps.map_or_else(String::new, |bps| format!(" at {}", BitRate::from_bps(bps)));
    format!("{} {what}{rate}", text::bytes(bytes))
}

/// The rate of `bytes` in so many seconds, bit/s.
fn rate_bps(bytes: u64, seconds: f64) -> Option<u64> {
    let elapsed = Duration::try_from_secs_f64(seconds).ok()?;
    let rate = ByteCount::new(bytes).per(elapsed).filter(|_| bytes > 0);
    rate.map(BitRate::bps)
}

/// A flow of another program's test, as it begins.
#[must_use]
pub fn opened_flow(connection: &DataConnection) -> String {
    let direction = match connection.flow.direction {
        Direction::Up => "upload",
        Direction::Down => "download",
    };
    format!("{} {direction}", connection.transport)
}

/// The end of a flow as a line, and its payload bytes received and sent.
#[must_use]
pub fn ended_flow(ended: &EndedFlow) -> (String, (u64, u64)) {
    let seconds = ended.at_ns as f64 / 1e9;
    let (what, bytes, datagrams, lost) = match ended.end.counters {
        Counters::Sender(sent) => ("sent", sent.bytes, sent.datagrams, None),
        Counters::Receiver(received) => {
            let datagrams = received.datagrams + received.lost;
            ("received", received.bytes, datagrams, Some(received.lost))
        }
    };
    let transport = transport_name(datagrams > 0);
    let mut line = format!(
        "{transport} {what}, {} in {seconds:.2} s",
        text::bytes(bytes)
    );
    if let Some(bps) = rate_bps(bytes, seconds) {
        line += &format!(" at {}", BitRate::from_bps(bps));
    }
    if let Some(lost) = lost.filter(|_| datagrams > 0) {
        line += &format!(", {lost} of {datagrams} datagrams lost");
    }
    if let Some(failure) = &ended.end.failure {
        line += &format!("; ended early: {failure}");
    }
    let is_sent = lost.is_none();
    (line, if is_sent { (0, bytes) } else { (bytes, 0) })
}

fn transport_name(is_udp: bool) -> Transport {
    if is_udp {
        Transport::Udp
    } else {
        Transport::Tcp
    }
}
