//! The rate of a path that may be slow, measured before the test: its probes are to take a small part of it, and a full queue holds up
//! the answers.

use crate::test_peer::TestPeer;
use caudal_core::plan::{BulkPlan, Directions, Omit, Plan, ProbePeriods, Rate, TcpPlan, TestEnd};
use caudal_core::sample::{Counters, FlowRecord};
use caudal_core::units::ByteCount;
use caudal_engine::{LocalOptions, RunError};
use std::time::Duration;

/// The bytes that are sent each way: less than an initial window of ten segments (RFC 6928), which leaves at once.
const BYTES: ByteCount = ByteCount::new(14_000);
/// The bytes that are sent each way where these arrive quickly: more than the credit of most token buckets.
const MORE_BYTES: ByteCount = ByteCount::new(100_000);
/// The round trips of a slow start that those take beside the time on the link.
const MORE_RTTS: u32 = 4;
/// The congestion control that sends that window without pacing, and that every Linux has.
const UNPACED: &str = "reno";
/// The payload of the first segment, whose arrival the clock starts with, bytes.
const FIRST_SEGMENT: u64 = 1_448;
/// The part of the rate that probes may take (PTC of draft-ietf-ippm-responsiveness).
const PROBE_SHARE: f64 = 0.05;
/// The queue that the reply to a probe may have to wait for, bytes: 170 full frames.
const QUEUE_BYTES: f64 = 256_000.0;
/// The reading of one flow in a control message, bits.
const READING_BITS: f64 = 5_000.0;
/// Maximum time for a reply.
const MAX_TIMEOUT: Duration = Duration::from_secs(60);

/// A path that is too slow for the usual probes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SlowLink {
    /// The rate of its slower direction, bit/s of payload.
    pub bps: f64,
    /// Its round-trip time without load.
    idle_rtt: Duration,
}

impl SlowLink {
    /// The path to this peer, where the usual `probes` would take too much of it.
    ///
    /// # Errors
    /// When the user ends the test.
    pub(super) fn find(
        peer: &mut TestPeer,
        probes: ProbePeriods,
    ) -> Result<Option<Self>, RunError> {
        let Some(rtt_us) = peer.info().idle_rtt_us else {
            return Ok(None);
        };
        if peer.info().is_same_machine {
            return Ok(None);
        }
        let idle_rtt = Duration::from_secs_f64(rtt_us / 1e6);
        for (bytes, waits) in [(BYTES, Duration::ZERO), (MORE_BYTES, idle_rtt * MORE_RTTS)] {
            let rate = slower_rate(peer, bytes, waits)?;
            let slow = rate.map(|bps| Self { bps, idle_rtt });
            if let Some(slow) = slow.filter(|slow| probes.bps() > PROBE_SHARE * slow.bps) {
                return Ok(Some(slow));
            }
        }
        Ok(None)
    }

    /// The probes of which this path carries the usual part.
    pub(super) fn probes(&self, usual: ProbePeriods) -> ProbePeriods {
        usual.stretched(usual.bps() / (PROBE_SHARE * self.bps.max(1.0)))
    }

    /// The time for the reply to a probe: `usual` and that of a long queue.
    pub(super) fn timeout(&self, usual: Duration) -> Duration {
        let queue = Duration::from_secs_f64(QUEUE_BYTES * 8.0 / self.bps.max(1.0));
        let longer = queue
            .saturating_add(2 * self.idle_rtt)
            .saturating_add(usual);
        // Whole seconds read better, and nothing depends on their fractions.
        Duration::from_secs(longer.min(MAX_TIMEOUT).as_secs())
    }

    /// The interval of the counters' readings, which the server sends beside the load: `usual`, or one at which those of `flows` flows
    /// take no more of the path than the probes do.
    pub(super) fn interval(&self, usual: Duration, flows: u32) -> Duration {
        let bits = READING_BITS * f64::from(flows);
        usual.max(Duration::from_secs_f64(
            bits / (PROBE_SHARE * self.bps.max(1.0)),
        ))
    }
}

/// The rate of the slower direction of a transfer of so many bytes each way, of which the sender `waits` for acknowledgements in some time,
/// bit/s; `None` where it takes no more.
///
/// # Errors
/// When the user ends the test, its connections do not open, or the peer is lost.
fn slower_rate(
    peer: &mut TestPeer,
    bytes: ByteCount,
    waits: Duration,
) -> Result<Option<f64>, RunError> {
    let plan = Plan::Tcp(short_transfer(bytes, peer.info().is_same_machine));
    let local = LocalOptions::default();
    let outcome = match peer.peer_mut().run(&plan, &local, &mut |_| {}) {
        Ok(outcome) => outcome.into_bulk(),
        // After connections that did not open the server still waits for them, and takes no other plan.
        Err(
            error @ (RunError::Interrupted
            | RunError::Unopened { .. }
            | RunError::SeveralServers { .. }
            | RunError::Lost { .. }),
        ) => return Err(error),
        // What keeps this from being measured shows in the test itself.
        Err(_) => None,
    };
    let flows = outcome.into_iter().flat_map(|bulk| bulk.flows);
    Ok(flows
        .filter_map(|flow| arrival_rate(&flow, waits))
        .reduce(f64::min))
}

/// A few kB in each direction at once.
fn short_transfer(bytes: ByteCount, same_machine: bool) -> TcpPlan {
    TcpPlan {
        bulk: BulkPlan {
            directions: Directions::Both,
            parallel: 1,
            end: TestEnd::Bytes(bytes),
            interval: Duration::from_secs(1),
            omit: Omit::Nothing,
            rate: Rate::Max,
            length: bytes.get() as u32,
            window: None,
            dscp: None,
            same_machine,
        },
        mss: None,
        congestion: Some(UNPACED.to_owned()),
        no_delay: false,
        mptcp: false,
        discard: false,
        zero_copy: false,
        ask_ecn: None,
    }
}

/// The rate at which the bytes of a flow arrived behind the first segment, without the time in which its sender `waits`, bit/s; `None`
/// where no time is left.
fn arrival_rate(flow: &FlowRecord, waits: Duration) -> Option<f64> {
    let Counters::Receiver(counters) = flow.receiver.as_ref()?.counters else {
        return None;
    };
    let between_ns = counters
        .last_ns
        .saturating_sub(counters.first_ns)
        .saturating_sub(waits.as_nanos() as u64);
    let behind = counters.bytes.saturating_sub(FIRST_SEGMENT);
    (between_ns > 0).then(|| behind as f64 * 8e9 / between_ns as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Direction, PlannedFlow};
    use caudal_core::sample::{FlowEnd, ReceiverCounters};

    const USUAL: ProbePeriods = ProbePeriods {
        udp_ns: 15_000_000,
        tcp_ns: 100_000_000,
        connect_ns: 200_000_000,
    };

    #[test]
    fn probes_take_a_twentieth_of_the_rate_and_wait_for_a_long_queue() {
        for bps in [40e3, 128e3, 256e3] {
            let slow = SlowLink {
                bps,
                idle_rtt: Duration::from_millis(20),
            };
            let taken = slow.probes(USUAL).bps() / bps;
            assert!((taken - 0.05).abs() < 1e-3, "{bps}: {taken}");
        }
        let slow = SlowLink {
            bps: 1e6,
            idle_rtt: Duration::from_millis(20),
        };
        let interval = |flows| slow.interval(Duration::from_millis(200), flows).as_millis();
        assert_eq!((interval(1), interval(4)), (200, 400));
        let timeout = |bps, idle_ms| {
            let idle_rtt = Duration::from_millis(idle_ms);
            SlowLink { bps, idle_rtt }
                .timeout(Duration::from_secs(5))
                .as_secs()
        };
        assert_eq!(timeout(1e6, 20), 7);
        assert_eq!(timeout(128e3, 20), 21);
        assert_eq!(timeout(128e3, 2000), 25);
        assert_eq!(timeout(40e3, 20), 56);
        assert_eq!(timeout(10e3, 20), 60);
    }

    #[test]
    fn the_rate_is_that_behind_the_first_segment() {
        let rate = |last_ns| {
            let counters = Counters::Receiver(ReceiverCounters {
                bytes: 14_000,
                first_ns: 1_000_000,
                last_ns,
                ..ReceiverCounters::default()
            });
            let flow = PlannedFlow {
                id: 0,
                direction: Direction::Up,
            };
            let received = FlowEnd::from_counters(0, counters);
            arrival_rate(
                &FlowRecord::new(flow, None, Some(received)),
                Duration::from_millis(5),
            )
        };
        // 12 552 bytes in 780 ms, 5 ms more of which its sender waited.
        let found = rate(786_000_000).unwrap();
        assert!((found - 128_738.0).abs() < 1.0, "{found}");
        assert_eq!(rate(1_000_000), None);
    }
}
