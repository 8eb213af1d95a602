//! The results of each end of a test, in the form in which both exchange them.

use caudal_core::event::{CpuPercent, EndReport, FlowTotals, PeerOutput, ReportingEnd};
use caudal_core::plan::PlannedFlow;
use caudal_core::sample::{Counters, Role, Sample};
use caudal_sys::clock::Rusage;
use caudal_wire::iperf3::{Results, StreamResult, stream_id};
use std::time::Duration;

/// The result of one stream between the end of the warm-up and the end.
///
/// `sent` is the number of datagrams its sender reports: those missing behind the last that arrived are lost as well.
#[must_use]
pub(super) fn stream_result(
    id: u32,
    base: &Sample,
    last: &Sample,
    sent: Option<u64>,
) -> StreamResult {
    let start = StreamResult {
        id,
        start_s: Some(0.0),
        end_s: Some(seconds_between(base, last)),
        omitted_errors: Some(0),
        omitted_packets: Some(0),
        ..StreamResult::default()
    };
    match (base.counters, last.counters) {
        (Counters::Sender(base), Counters::Sender(last)) => StreamResult {
            bytes: last.bytes.saturating_sub(base.bytes),
            retransmits: last.tcp.map(|tcp| {
                let before = base.tcp.map_or(0, |tcp| tcp.retransmits);
                tcp.retransmits.saturating_sub(before)
            }),
            packets: last.datagrams,
            omitted_packets: Some(base.datagrams),
            ..start
        },
        (Counters::Receiver(base), Counters::Receiver(last)) => {
            let seen = last.datagrams + last.lost;
            let packets = seen.max(sent.unwrap_or(0));
            StreamResult {
                bytes: last.bytes.saturating_sub(base.bytes),
                jitter_s: last.jitter_rfc3550_ns as f64 / 1e9,
                errors: packets - last.datagrams,
                omitted_errors: Some(base.lost),
                packets,
                omitted_packets: Some(base.datagrams + base.lost),
                ..start
            }
        }
        _ => start,
    }
}

fn seconds_between(base: &Sample, last: &Sample) -> f64 {
    last.at_ns.saturating_sub(base.at_ns) as f64 / 1e9
}

/// The time over which the other end received, which measured for `elapsed_s` s: not less than the `sent_s` s over which this
/// end sent, where it measured as long.
fn without_idle(elapsed_s: f64, idle: Duration, sent_s: f64) -> f64 {
    (elapsed_s - idle.as_secs_f64()).max(sent_s).min(elapsed_s)
}

/// CPU time of this program since `before`, % of `elapsed_ns`: in total, in user space and in the kernel.
pub(super) fn cpu_percent(before: Option<Rusage>, elapsed_ns: u64) -> [f64; 3] {
    let (Some(before), Some(now)) = (before, Rusage::of_process()) else {
        return [0.0; 3];
    };
    let percent = |now: Duration, before: Duration| {
        now.saturating_sub(before).as_nanos() as f64 * 100.0 / elapsed_ns.max(1) as f64
    };
    let (user, system) = (
        percent(now.user, before.user),
        percent(now.system, before.system),
    );
    [user + system, user, system]
}

/// The readings of this end's streams from which reports are made.
pub(super) struct MeasuredStream<'a> {
    pub(super) flows: &'a [PlannedFlow],
    pub(super) base: &'a [Sample],
    pub(super) last: &'a [Sample],
}

impl MeasuredStream<'_> {
    /// The readings of a flow at the end of the warm-up and at the end.
    fn readings(&self, flow: u32) -> Option<(&Sample, &Sample)> {
        let of_flow = |sample: &&Sample| sample.flow == flow;
        let base = self.base.iter().find(of_flow)?;
        Some((base, self.last.iter().find(of_flow)?))
    }

    /// The results of this end's streams, of which the other end has reported `peer_results`.
    pub(super) fn stream_results(&self, peer_results: Option<&Results>) -> Vec<StreamResult> {
        self.flows
            .iter()
            .filter_map(|flow| {
                let id = stream_id(flow.id);
                let (base, last) = self.readings(flow.id)?;
                let reported = peer_results.and_then(|results| results.stream(id));
                let sent = reported.map(|reported| reported.packets);
                Some(stream_result(id, base, last, sent))
            })
            .collect()
    }

    /// The report of this end.
    pub(super) fn local_report(&self, own_results: &Results) -> EndReport {
        let mut report = self.report(ReportingEnd::Local, own_results, |flow, result| {
            let (base, _) = self.readings(flow)?;
            Some((
                role_of(base),
                result.end_s.unwrap_or(0.0),
                result.datagrams(),
            ))
        });
        // The results of iperf3 have no such count.
        for totals in &mut report.flows {
            totals.reordered = self.readings(totals.flow).and_then(reordered_between);
        }
        report
    }

    /// The report of the other end. Versions before 3.2 do not report the time: this end's is taken for it; versions before
    /// 3.14 not the datagrams of the warm-up: this end's count is.
    ///
    /// `idle` is the part of the other end's time in which nothing that this end sent could arrive: between the start of its
    /// clock and the first payload, and between the last and the end of the test. It is no part of the time over which the
    /// other end received.
    pub(super) fn peer_report(&self, peer_results: &Results, idle: Duration) -> EndReport {
        self.report(ReportingEnd::Peer, peer_results, |flow, result| {
            let (base, last) = self.readings(flow)?;
            let elapsed_s = result
                .end_s
                .map(|end| end - result.start_s.unwrap_or(0.0))
                .filter(|elapsed| *elapsed > 0.0)
                .unwrap_or_else(|| seconds_between(base, last));
            let elapsed_s = match role_of(base) {
                Role::Sender => without_idle(elapsed_s, idle, seconds_between(base, last)),
                Role::Receiver => elapsed_s,
            };
            let datagrams = match result.omitted_packets {
                Some(_) => result.datagrams(),
                None => result.packets.saturating_sub(omitted_datagrams(base)),
            };
            let role = match role_of(base) {
                Role::Sender => Role::Receiver,
                Role::Receiver => Role::Sender,
            };
            Some((role, elapsed_s, datagrams))
        })
    }

    fn report(
        &self,
        end: ReportingEnd,
        results: &Results,
        details: impl Fn(u32, &StreamResult) -> Option<(Role, f64, u64)>,
    ) -> EndReport {
        let [total, user, system] = results.cpu_percent;
        let flows = self.flows.iter().filter_map(|flow| {
            let result = results.stream(stream_id(flow.id))?;
            let (role, elapsed_s, datagrams) = details(flow.id, result)?;
            Some(FlowTotals {
                flow: flow.id,
                role,
                elapsed_s,
                bytes: result.bytes,
                retransmits: result.retransmits,
                datagrams: Some(datagrams),
                lost: Some(result.lost()),
                reordered: None,
                jitter_s: Some(result.jitter_s),
                transit: None,
            })
        });
        EndReport {
            end,
            flows: flows.collect(),
            cpu: Some(CpuPercent {
                total,
                user,
                system,
            }),
            congestion: results.congestion.clone(),
            output: match (&results.output_json, &results.output_text) {
                (Some(json), _) => Some(PeerOutput::Json(json.to_string().into())),
                (None, text) => text.clone().map(PeerOutput::Text),
            },
        }
    }
}

const fn role_of(sample: &Sample) -> Role {
    match sample.counters {
        Counters::Sender(_) => Role::Sender,
        Counters::Receiver(_) => Role::Receiver,
    }
}

/// Datagrams that arrived after a later one between two readings; `None` where no datagrams arrive.
fn reordered_between((base, last): (&Sample, &Sample)) -> Option<u64> {
    match (base.counters, last.counters) {
        (Counters::Receiver(base), Counters::Receiver(last)) if last.datagrams + last.lost > 0 => {
            Some(last.reordered.saturating_sub(base.reordered))
        }
        _ => None,
    }
}

/// Datagrams of the warm-up, as this end has counted them.
const fn omitted_datagrams(base: &Sample) -> u64 {
    match base.counters {
        Counters::Sender(counters) => counters.datagrams,
        Counters::Receiver(counters) => counters.datagrams + counters.lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::sample::{ReceiverCounters, SenderCounters};

    fn received(at_ns: u64, datagrams: u64, lost: u64) -> Sample {
        Sample {
            flow: 0,
            tick: 0,
            at_ns,
            counters: Counters::Receiver(ReceiverCounters {
                bytes: datagrams * 1000,
                datagrams,
                lost,
                ..ReceiverCounters::default()
            }),
        }
    }

    #[test]
    fn datagrams_sent_are_those_received_and_those_lost() {
        let (base, last) = (received(0, 0, 0), received(2_000_000_000, 90, 4));
        let seen = stream_result(1, &base, &last, None);
        assert_eq!((seen.packets, seen.errors, seen.end_s), (94, 4, Some(2.0)));
        // Six more were sent behind the last that arrived.
        let reported = stream_result(1, &base, &last, Some(100));
        assert_eq!(
            (reported.packets, reported.errors, reported.bytes),
            (100, 10, 90_000)
        );
        // A sender that reports less than arrived is not believed.
        assert_eq!(stream_result(1, &base, &last, Some(7)).packets, 94);
    }

    #[test]
    fn datagrams_out_of_order_are_those_after_the_warm_up() {
        let reordered = |sample: Sample, count: u64| Sample {
            counters: match sample.counters {
                Counters::Receiver(counters) => Counters::Receiver(ReceiverCounters {
                    reordered: count,
                    ..counters
                }),
                sender @ Counters::Sender(_) => sender,
            },
            ..sample
        };
        let base = reordered(received(0, 40, 0), 3);
        let last = reordered(received(2_000_000_000, 90, 4), 5);
        assert_eq!(reordered_between((&base, &last)), Some(2));
        let nothing = received(0, 0, 0);
        assert_eq!(reordered_between((&nothing, &nothing)), None);
    }

    #[test]
    fn the_warm_up_is_reported_apart() {
        let (base, last) = (
            received(1_000_000_000, 40, 1),
            received(2_000_000_000, 90, 4),
        );
        let one = stream_result(3, &base, &last, None);
        assert_eq!((one.lost(), one.datagrams(), one.bytes), (3, 53, 50_000));
        let sent = |datagrams| Sample {
            counters: Counters::Sender(SenderCounters {
                datagrams,
                bytes: datagrams * 10,
                ..SenderCounters::default()
            }),
            ..base
        };
        let one = stream_result(3, &sent(40), &sent(100), None);
        assert_eq!(
            (one.datagrams(), one.bytes, one.retransmits),
            (60, 600, None)
        );
    }

    #[test]
    fn the_time_in_which_nothing_could_arrive_is_no_part_of_a_receivers_time() {
        let idle = Duration::from_millis(12);
        let rounded = |seconds: f64| (seconds * 1e6).round() as u64;
        // The server's clock ran for a round trip and 2 ms longer than this end sent.
        assert_eq!(rounded(without_idle(0.054, idle, 0.042)), 42_000);
        // Never less than this end sent for, and never more than the server measured.
        assert_eq!(rounded(without_idle(1.005, idle, 1.0)), 1_000_000);
        assert_eq!(rounded(without_idle(0.990, idle, 1.0)), 990_000);
        assert_eq!(rounded(without_idle(2.0, Duration::ZERO, 1.0)), 2_000_000);
    }
}
