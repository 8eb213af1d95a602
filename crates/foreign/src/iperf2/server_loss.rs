//! The loss of a server in the middle of a test. A server of iperf 2 has no control connection, so that it shows in the ends of
//! the flows alone.

use super::request::Iperf2Request;
use caudal_core::quantity;
use caudal_core::sample::{Counters, FlowEnd, ReceiverCounters};
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use caudal_engine::server::StopReason;
use std::time::Duration;

/// Minimum time by which a flow ends before its time when its server has ended it, ns.
const MIN_EARLY_NS: u64 = 250_000_000;
/// The part of a test's time that is the minimum for long tests.
const EARLY_PART: u64 = 20;
/// The number of datagrams in a row that are not taken for lost one by one.
const MISSING_DATAGRAMS: u64 = 20;

/// The way in which a server was lost before a test had reached its end.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerLoss {
    /// It ended a connection in which this end sent, or the kernel gave it up.
    #[error("the connection to the server was lost after {}: {cause}", quantity::time(*after))]
    Connection {
        /// The time after the start.
        after: Duration,
        /// What was handed to the kernel until then, or received.
        bytes: ByteCount,
        /// The kernel's error.
        cause: ExternalText,
    },
    /// It closed a connection in which it was to send for longer.
    #[error(
        "the server closed the connection after {} of {}",
        quantity::time(*after),
        quantity::time(*planned)
    )]
    Closed {
        /// The time after the start.
        after: Duration,
        /// The time that was asked for.
        planned: Duration,
    },
    /// It closed a connection in which it was to send more.
    #[error(
        "the server closed the connection after {} of {}",
        quantity::size(*received),
        quantity::size(*asked)
    )]
    Incomplete {
        /// The payload that arrived.
        received: ByteCount,
        /// The payload that was asked for.
        asked: ByteCount,
    },
    /// It became silent.
    #[error("nothing arrived from the server after {}", quantity::time(*after))]
    Silent {
        /// The time of the last payload after the start.
        after: Duration,
    },
    /// It did not report what it received of a UDP flow.
    #[error(
        "the server did not report what it received: it has ended, or a firewall drops what either end sends"
    )]
    NotReported,
    /// It sent nothing at all.
    #[error("nothing was received from the server; versions before 2.1 can only receive")]
    NothingSent,
    /// It answered no request of a test of response times.
    #[error("the server answered no request; versions before 2.1.8 send no replies")]
    NothingAnswered,
}

/// The ends of the flows of a test, as far as they tell of its server.
pub(super) struct ServerLosses<'a> {
    pub(super) request: &'a Iperf2Request,
    /// The reason why the flows were stopped.
    pub(super) reason: Option<StopReason>,
    /// The flows that lost their connection.
    pub(super) lost: &'a [u32],
    /// The flows of which the server was to report and did not.
    pub(super) unreported: &'a [u32],
    /// The times at which flows ended, ns after the start.
    pub(super) ended: &'a [(u32, u64)],
}

impl ServerLosses<'_> {
    /// The losses in a direction of which no flow reached its end; the first of them stands for all.
    pub(super) fn of_a_direction(&self, ends: &[FlowEnd]) -> Option<ServerLoss> {
        [true, false].into_iter().find_map(|is_sender| {
            let is_of_it =
                |end: &&FlowEnd| matches!(end.counters, Counters::Sender(_)) == is_sender;
            let losses = ends.iter().filter(is_of_it).map(|end| self.loss(end));
            let losses: Option<Vec<ServerLoss>> = losses.collect();
            losses?.into_iter().next()
        })
    }

    /// The loss that the end of a flow tells of.
    pub(super) fn loss(&self, end: &FlowEnd) -> Option<ServerLoss> {
        if self.reason == Some(StopReason::Stopped) {
            return None;
        }
        let is_lost = self.lost.contains(&end.flow);
        match (&end.failure, &end.counters) {
            // Something at this end.
            (Some(_), _) if !is_lost => None,
            (_, Counters::Receiver(received)) if received.bytes == 0 => {
                Some(match self.request.bounceback {
                    Some(_) => ServerLoss::NothingAnswered,
                    None => ServerLoss::NothingSent,
                })
            }
            (Some(cause), _) => Some(ServerLoss::Connection {
                after: Duration::from_nanos(self.ended_ns(end.flow)),
                bytes: ByteCount::new(match &end.counters {
                    Counters::Sender(sent) => sent.bytes,
                    Counters::Receiver(received) => received.bytes,
                }),
                cause: cause.clone(),
            }),
            (None, Counters::Sender(_)) => {
                let is_unreported = self.unreported.contains(&end.flow);
                is_unreported.then_some(ServerLoss::NotReported)
            }
            (None, Counters::Receiver(received)) => self.early_end(end.flow, received),
        }
    }

    fn ended_ns(&self, flow: u32) -> u64 {
        let ended = self.ended.iter().find(|(ended, _)| *ended == flow);
        ended.map_or(0, |(_, at_ns)| *at_ns)
    }

    /// The end of a flow of which something was received, where it was to be longer.
    fn early_end(&self, flow: u32, received: &ReceiverCounters) -> Option<ServerLoss> {
        let request = self.request;
        let silent = ServerLoss::Silent {
            after: Duration::from_nanos(received.last_ns),
        };
        if let Some(asked) = request.bytes {
            // Datagrams may be lost. A sender without end counts as the greatest number.
            let is_short = !request.is_udp() && received.bytes < asked && self.reason.is_none();
            return (is_short && asked < u64::MAX - 1).then_some(ServerLoss::Incomplete {
                received: ByteCount::new(received.bytes),
                asked: ByteCount::new(asked),
            });
        }
        let planned = request.time?;
        let planned_ns = planned.as_nanos() as u64;
        if request.is_udp() {
            // No version announces the end of what it sends over UDP for certain.
            let early_ns = self.early_ns(planned_ns);
            return (received.last_ns + early_ns < planned_ns).then_some(silent);
        }
        if self.reason == Some(StopReason::TimeOver) {
            // Payload that arrives late leaves the server slowly; its close would follow the last byte at once.
            return (received.last_ns < planned_ns).then_some(silent);
        }
        let ended_ns = self.ended_ns(flow);
        (ended_ns + self.early_ns(planned_ns) < planned_ns).then(|| ServerLoss::Closed {
            after: Duration::from_nanos(ended_ns),
            planned,
        })
    }

    /// The time before the planned end at which no server ends by itself.
    fn early_ns(&self, planned_ns: u64) -> u64 {
        let bits = u64::from(self.request.block_length()) * 8;
        let rate = self.request.rate.unwrap_or(0);
        let gap_ns = match self.request.is_udp() {
            true => (bits * 1_000_000_000).checked_div(rate).unwrap_or(0),
            false => 0,
        };
        MIN_EARLY_NS
            .max(planned_ns / EARLY_PART)
            .max(MISSING_DATAGRAMS * gap_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::Transport;
    use caudal_core::sample::SenderCounters;
    use caudal_wire::iperf2::TestMode;

    const SECOND_NS: u64 = 1_000_000_000;

    fn request(transport: Transport) -> Iperf2Request {
        Iperf2Request {
            transport,
            mode: TestMode::Reverse,
            time: Some(Duration::from_secs(10)),
            rate: Some(10_000_000),
            ..Iperf2Request::new(([127, 0, 0, 1], 5001).into())
        }
    }

    fn received(bytes: u64, last_ns: u64) -> FlowEnd {
        let received = ReceiverCounters {
            bytes,
            last_ns,
            ..ReceiverCounters::default()
        };
        FlowEnd::from_counters(0, Counters::Receiver(received))
    }

    /// The loss when a flow of a download ends at this time.
    fn loss(
        request: &Iperf2Request,
        end: &FlowEnd,
        at_ns: u64,
        reason: Option<StopReason>,
    ) -> Option<String> {
        let losses = ServerLosses {
            request,
            reason,
            lost: &[],
            unreported: &[],
            ended: &[(0, at_ns)],
        };
        losses.loss(end).map(|loss| loss.to_string())
    }

    #[test]
    fn a_download_that_its_server_ends_early_or_leaves_silent_is_lost() {
        let tcp = request(Transport::Tcp);
        let end = received(1000, 3 * SECOND_NS);
        assert_eq!(
            loss(&tcp, &end, 3 * SECOND_NS, None).as_deref(),
            Some("the server closed the connection after 3 s of 10 s")
        );
        assert_eq!(
            loss(&tcp, &end, 14 * SECOND_NS, Some(StopReason::TimeOver)).as_deref(),
            Some("nothing arrived from the server after 3 s")
        );
        let udp = request(Transport::Udp);
        assert_eq!(
            loss(&udp, &end, 10 * SECOND_NS, None).as_deref(),
            Some("nothing arrived from the server after 3 s")
        );
        assert!(loss(&tcp, &end, 3 * SECOND_NS, Some(StopReason::Stopped)).is_none());
    }

    #[test]
    fn a_download_of_its_whole_time_is_not_lost_however_slow_it_is() {
        let tcp = request(Transport::Tcp);
        let early = received(1000, SECOND_NS);
        assert_eq!(loss(&tcp, &early, 10 * SECOND_NS, None), None, "few blocks");
        let late = received(1000, 13 * SECOND_NS);
        let over = Some(StopReason::TimeOver);
        assert_eq!(loss(&tcp, &late, 14 * SECOND_NS, over), None, "a slow link");
        let slow = Iperf2Request {
            rate: Some(10_000),
            ..request(Transport::Udp)
        };
        let sparse = received(1000, 7 * SECOND_NS);
        assert_eq!(loss(&slow, &sparse, 10 * SECOND_NS, None), None);
    }

    #[test]
    fn a_download_of_an_amount_is_lost_below_it() {
        let request = Iperf2Request {
            bytes: Some(5000),
            ..request(Transport::Tcp)
        };
        let lost = loss(&request, &received(4999, SECOND_NS), SECOND_NS, None);
        assert_eq!(
            lost.as_deref(),
            Some("the server closed the connection after 4999 B of 5000 B")
        );
        assert_eq!(
            loss(&request, &received(5000, SECOND_NS), SECOND_NS, None),
            None
        );
    }

    #[test]
    fn a_direction_is_lost_when_all_its_flows_are() {
        let request = request(Transport::Tcp);
        let sent = |flow| {
            let counters = Counters::Sender(SenderCounters::default());
            let failure = Some("Broken pipe".into());
            FlowEnd {
                failure,
                ..FlowEnd::from_counters(flow, counters)
            }
        };
        let losses = |lost: &'static [u32]| ServerLosses {
            request: &request,
            reason: None,
            lost,
            unreported: &[],
            ended: &[(0, SECOND_NS)],
        };
        let ends = [sent(0), sent(1)];
        assert_eq!(losses(&[0]).of_a_direction(&ends), None);
        assert!(losses(&[0, 1]).of_a_direction(&ends).is_some());
        assert_eq!(losses(&[]).of_a_direction(&[]), None);
    }
}
