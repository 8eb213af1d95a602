//! The window of one direction of TCP, and what to do next about what limited it.

use super::context::{Context, DirectionFlows};
use crate::link::link_rate;
use crate::timeline::MeasuredFlow;
use crate::window::{
    PathRate, StepEvidence, WindowPath, WindowSettings, allowed_bps, flows_that_fill, next_step,
};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::host::Host;
use caudal_core::plan::{Direction, Transport};
use caudal_core::readings::SenderReadings;
use caudal_core::summary::TcpSummary;
use caudal_core::units::{BitRate, ByteCount};
use caudal_core::window::{
    BaselineRtt, BaselineSource, NextStep, PathRateSource, Remedy, WindowReport, WindowSufficiency,
};
use std::time::Duration;

/// What is known of a direction once its bottleneck is.
pub(super) struct DirectionEvidence<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) flows: &'a DirectionFlows<'a>,
    pub(super) tcp: Option<&'a TcpSummary>,
    pub(super) goodput_bps: f64,
    pub(super) limited_by: &'a LimitedBy,
    /// The payload that the link can carry, bit/s; `None` where its rate is not known.
    pub(super) ceiling_bps: Option<f64>,
}

/// The window of a direction and its next step.
#[derive(Default)]
pub(super) struct WindowDiagnosis {
    pub(super) window: Option<WindowReport>,
    pub(super) next_step: Option<NextStep>,
}

impl DirectionEvidence<'_> {
    /// The window that the direction needs and was granted, and the next step: of TCP between hosts, as a loopback has no path, and one
    /// connection of several has another one.
    pub(super) fn diagnose(&self) -> WindowDiagnosis {
        let context = self.context;
        let has_path = !context.loopback && context.tcp_proxy.is_none();
        if context.transport() != Transport::Tcp || !has_path {
            return WindowDiagnosis::default();
        }
        let path = self.path();
        let windows = GrantedWindows::of_flows(&self.flows.measured);
        WindowDiagnosis {
            window: path.map(|path| self.report(&path, &windows)),
            next_step: Some(self.next_step(path.as_ref(), &windows).into()),
        }
    }

    /// The hosts that send and receive.
    fn hosts(&self) -> (&Host, &Host) {
        match self.flows.direction {
            Direction::Up => (self.context.client, self.context.server),
            Direction::Down => (self.context.server, self.context.client),
        }
    }

    /// The path with its baseline and its rate; `None` where no round-trip time is known.
    fn path(&self) -> Option<WindowPath<'_>> {
        let min_us = self.tcp.and_then(|tcp| tcp.rtt_min_us);
        let baseline = BaselineRtt::lowest(&[
            (BaselineSource::Idle, self.context.idle_rtt_us),
            (BaselineSource::Tcp, min_us.map(f64::from)),
            (BaselineSource::Handshake, self.context.connect_us),
        ])?;
        let (sender, receiver) = self.hosts();
        let senders = self.flows.records.iter();
        let mss = senders.filter_map(|record| record.sender.as_ref()?.granted.mss);
        Some(WindowPath {
            baseline,
            rate: self.rate(),
            mss: mss.min(),
            sender,
            receiver,
        })
    }

    /// The rate of the link where it is known, else the highest delivery rate of a single flow, else the goodput.
    fn rate(&self) -> Option<PathRate> {
        let context = self.context;
        let known = link_rate(
            context.link_rate,
            context.client,
            context.server,
            context.loopback,
            self.flows.direction,
        );
        if let Ok((rate, source)) = known {
            return Some(PathRate::of_link(rate, source));
        }
        // Several flows do not have their highest rates at one time.
        let delivered = match self.flows.measured.as_slice() {
            [only] => only.sender_readings.map(|all| all.max_delivery_rate_bps),
            _ => None,
        };
        let delivered = delivered.filter(|bps| *bps > 0).map(BitRate::from_bps);
        let (rate, source) = match delivered {
            Some(rate) => (rate, PathRateSource::DeliveryRate),
            None => (
                BitRate::from_f64(self.goodput_bps)?,
                PathRateSource::Goodput,
            ),
        };
        let is_full = matches!(
            self.limited_by.cause,
            Some(Cause::LinkRate | Cause::Bufferbloat)
        );
        (rate > BitRate::ZERO).then_some(PathRate {
            rate,
            source,
            is_lower_bound: !is_full,
        })
    }

    /// The highest rate of an interval, of all flows together, bit/s; `None` without intervals.
    fn peak_bps(&self) -> Option<f64> {
        let intervals = &self.flows.intervals;
        let count = intervals.iter().map(Vec::len).max()?;
        let rate = |nth: usize| -> f64 {
            let of_flows = intervals
                .iter()
                .filter_map(|flow| flow.get(nth)?.goodput_bps);
            of_flows.sum()
        };
        (0..count).map(rate).reduce(f64::max)
    }

    fn report(&self, path: &WindowPath<'_>, windows: &GrantedWindows) -> WindowReport {
        let report = path.report();
        let sufficiency = sufficiency(self.limited_by.limit);
        let buffer = |of_sender: bool| -> Option<u64> {
            let records = self.flows.records.iter();
            let buffers = records.map(|record| match of_sender {
                true => record.sender.as_ref()?.granted.send_buffer_bytes,
                false => record.receiver.as_ref()?.granted.receive_buffer_bytes,
            });
            buffers.sum()
        };
        let (all, largest) = windows.bound(sufficiency);
        WindowReport {
            advertised_bytes: windows.advertised,
            cwnd_mean_bytes: windows.cwnd,
            in_flight_mean_bytes: windows.in_flight,
            receive_buffer_bytes: buffer(false),
            send_buffer_bytes: buffer(true),
            allowed_bps: allowed_bps(&report, all),
            flows_needed: flows_that_fill(&report, largest, sufficiency),
            sufficiency,
            ..report
        }
    }

    fn next_step(&self, path: Option<&WindowPath<'_>>, windows: &GrantedWindows) -> Remedy {
        let context = self.context;
        let (sender, receiver) = self.hosts();
        let (_, largest) = windows.bound(sufficiency(self.limited_by.limit));
        let elapsed_ns = self.flows.measured.iter().map(|flow| flow.elapsed_ns).max();
        next_step(&StepEvidence {
            limited_by: self.limited_by,
            peak_share: self
                .peak_bps()
                .zip(self.ceiling_bps)
                .map(|(peak, max)| peak / max),
            need: path.and_then(WindowPath::need),
            is_lower_bound: path
                .and_then(|path| path.rate)
                .is_some_and(|rate| rate.is_lower_bound),
            flows: self.flows.records.len().max(1) as u64,
            window_set: context.bulk.window,
            window: largest.map(ByteCount::new),
            sender: &WindowSettings::of_host(sender),
            receiver: &WindowSettings::of_host(receiver),
            is_foreign: !context.timeline.server_account().is_full(),
            measured: Duration::from_nanos(elapsed_ns.unwrap_or(0)),
        })
    }
}

/// Whether the window was what limited a direction.
const fn sufficiency(limit: Bottleneck) -> WindowSufficiency {
    match limit {
        Bottleneck::ReceiverWindow => WindowSufficiency::ReceiverTooSmall,
        Bottleneck::SendBuffer => WindowSufficiency::SenderTooSmall,
        Bottleneck::Unknown => WindowSufficiency::Unknown,
        Bottleneck::Network | Bottleneck::Pacing | Bottleneck::Sender | Bottleneck::Receiver => {
            WindowSufficiency::Sufficient
        }
    }
}

/// The windows that flows were granted, bytes: of all of them together, and the largest of one. Where one of them did not report, that of
/// all is not known.
struct GrantedWindows {
    advertised: Option<u64>,
    largest_advertised: Option<u64>,
    cwnd: Option<u64>,
    in_flight: Option<u64>,
    largest_in_flight: Option<u64>,
}

impl GrantedWindows {
    fn of_flows(flows: &[MeasuredFlow]) -> Self {
        let mean = |flow: &MeasuredFlow, sum: fn(&SenderReadings) -> u64| {
            let readings = flow.sender_readings.filter(|all| all.count > 0)?;
            Some(readings.mean(sum(&readings)).round() as u64)
        };
        let in_flight = |flow: &MeasuredFlow| mean(flow, |all| all.in_flight_sum_bytes);
        let cwnd = |flow: &MeasuredFlow| mean(flow, |all| all.cwnd_sum_bytes);
        let sum = |window: &dyn Fn(&MeasuredFlow) -> Option<u64>| {
            let all: Option<u64> = flows.iter().map(window).sum();
            all.filter(|bytes| *bytes > 0)
        };
        Self {
            advertised: sum(&advertised),
            largest_advertised: flows.iter().filter_map(advertised).max(),
            cwnd: sum(&cwnd),
            in_flight: sum(&in_flight),
            largest_in_flight: flows.iter().filter_map(in_flight).max(),
        }
    }

    /// The window that bounds the flows, of all together and of one: what the receiver advertises, or what the send buffer holds.
    const fn bound(&self, sufficiency: WindowSufficiency) -> (Option<u64>, Option<u64>) {
        match sufficiency {
            WindowSufficiency::SenderTooSmall => (self.in_flight, self.largest_in_flight),
            _ => (self.advertised, self.largest_advertised),
        }
    }
}

/// The largest window that a receiver advertised to a flow, bytes: of all readings, else at the end.
fn advertised(flow: &MeasuredFlow) -> Option<u64> {
    let read = flow
        .sender_readings
        .map(|all| all.max_receiver_window_bytes);
    let last = flow.tcp.and_then(|(_, last)| last.receiver_window_bytes);
    read.filter(|bytes| *bytes > 0)
        .max(last)
        .filter(|bytes| *bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::framing::IpVersion;
    use crate::timeline::Timeline;
    use caudal_core::host::Usage;
    use caudal_core::interval::{Interval, ServerAccount};
    use caudal_core::plan::{BulkPlan, Directions, Omit, Plan, Rate, TcpPlan, TestEnd, Ticks};
    use caudal_core::sample::TcpSnapshot;

    /// An upload over a path of 50 ms, with what is known of each flow.
    struct Upload {
        flows: Vec<MeasuredFlow>,
        link_rate: Option<u64>,
        idle_rtt_us: Option<f64>,
        loopback: bool,
        limited_by: LimitedBy,
        goodput_bps: f64,
    }

    fn flow(advertised: u64, delivery_rate_bps: u64) -> MeasuredFlow {
        MeasuredFlow {
            elapsed_ns: 10_000_000_000,
            sender_readings: Some(SenderReadings {
                count: 10,
                cwnd_sum_bytes: 10 * 160_000,
                in_flight_sum_bytes: 10 * 80_000,
                max_receiver_window_bytes: advertised,
                max_delivery_rate_bps: delivery_rate_bps,
                ..SenderReadings::default()
            }),
            ..MeasuredFlow::default()
        }
    }

    fn limited(limit: Bottleneck, cause: Option<Cause>) -> LimitedBy {
        LimitedBy {
            limit,
            cause,
            ..LimitedBy::unknown("")
        }
    }

    fn upload(limit: Bottleneck, cause: Option<Cause>) -> Upload {
        Upload {
            flows: vec![flow(85_000, 13_600_000)],
            link_rate: Some(100_000_000),
            idle_rtt_us: Some(50_000.0),
            loopback: false,
            limited_by: limited(limit, cause),
            goodput_bps: 13e6,
        }
    }

    fn bulk() -> BulkPlan {
        BulkPlan {
            directions: Directions::Up,
            parallel: 1,
            end: TestEnd::Time(Duration::from_secs(10)),
            interval: Duration::from_secs(1),
            omit: Omit::Nothing,
            rate: Rate::Max,
            length: 128 << 10,
            window: None,
            dscp: None,
            same_machine: false,
        }
    }

    impl Upload {
        fn diagnose(&self) -> WindowDiagnosis {
            let bulk = bulk();
            let plan = Plan::Tcp(TcpPlan {
                bulk: bulk.clone(),
                mss: None,
                congestion: None,
                no_delay: false,
                mptcp: false,
                discard: false,
                zero_copy: false,
                ask_ecn: None,
            });
            let ticks = Ticks::new(Duration::from_secs(1), Duration::ZERO, None);
            let context = Context {
                plan: &plan,
                bulk: &bulk,
                records: &[],
                timeline: &Timeline::new([], &ticks, Transport::Tcp, ServerAccount::Full),
                arrivals: &[],
                client: &Host::default(),
                server: &Host::default(),
                client_usage: &Usage::default(),
                server_usage: None,
                ip: IpVersion::V4,
                loopback: self.loopback,
                idle_rtt_us: self.idle_rtt_us,
                connect_us: Some(0.0),
                tcp_proxy: None,
                link_rate: self.link_rate.map(BitRate::from_bps),
                confidence: 0.95,
                episodes: &[],
                cut_short: None,
                changed: &[],
                server_set_rate: false,
            };
            // Slow start, and then all that the link carries.
            let interval = |bps| Interval {
                goodput_bps: Some(bps),
                ..Interval::default()
            };
            let flows = DirectionFlows {
                direction: Direction::Up,
                records: Vec::new(),
                intervals: vec![vec![interval(40e6), interval(94e6)]],
                measured: self.flows.clone(),
            };
            let evidence = DirectionEvidence {
                context: &context,
                flows: &flows,
                tcp: None,
                goodput_bps: self.goodput_bps,
                limited_by: &self.limited_by,
                ceiling_bps: self.link_rate.map(|bps| 0.949 * bps as f64),
            };
            evidence.diagnose()
        }

        fn window(&self) -> WindowReport {
            self.diagnose().window.unwrap()
        }
    }

    #[test]
    fn the_window_granted_is_beside_the_one_needed() {
        let window = upload(Bottleneck::ReceiverWindow, None).window();
        assert_eq!(window.bdp_bytes, Some(625_000));
        assert_eq!(window.needed_bytes, Some(781_250));
        assert_eq!(window.rate_source, Some(PathRateSource::Given));
        assert_eq!(window.advertised_bytes, Some(85_000));
        assert_eq!(window.in_flight_mean_bytes, Some(80_000));
        assert_eq!(window.allowed_bps, Some(13_600_000));
        assert_eq!(window.flows_needed, Some(8));
        assert_eq!(window.sufficiency, WindowSufficiency::ReceiverTooSmall);
        let small_buffer = upload(Bottleneck::SendBuffer, None).window();
        assert_eq!(small_buffer.sufficiency, WindowSufficiency::SenderTooSmall);
        assert_eq!(small_buffer.allowed_bps, Some(12_800_000));
        let full = upload(Bottleneck::Network, Some(Cause::LinkRate));
        assert_eq!(full.window().flows_needed, None);
        assert_eq!(full.diagnose().next_step.unwrap().remedy, Remedy::Nothing);
    }

    #[test]
    fn without_a_known_link_the_rate_is_the_highest_one_seen() {
        let unknown = |flows: usize, cause| {
            let window = Upload {
                flows: vec![flow(85_000, 13_600_000); flows],
                link_rate: None,
                ..upload(Bottleneck::Network, cause)
            }
            .window();
            (window.rate_bps, window.rate_source, window.rate_at_least)
        };
        let delivery = Some(PathRateSource::DeliveryRate);
        assert_eq!(unknown(1, None), (Some(13_600_000), delivery, true));
        let full = Some(Cause::LinkRate);
        assert_eq!(unknown(1, full), (Some(13_600_000), delivery, false));
        // The highest rates of several flows need not be of one time.
        let goodput = Some(PathRateSource::Goodput);
        assert_eq!(unknown(2, None), (Some(13_000_000), goodput, true));
    }

    #[test]
    fn windows_of_several_flows_add_up_and_what_one_lacks_is_unknown() {
        let of = |flows: Vec<MeasuredFlow>| {
            let window = Upload {
                flows,
                ..upload(Bottleneck::ReceiverWindow, None)
            }
            .window();
            (window.advertised_bytes, window.cwnd_mean_bytes)
        };
        let read = flow(85_000, 0);
        assert_eq!(of(vec![read; 2]), (Some(170_000), Some(320_000)));
        let last = TcpSnapshot {
            receiver_window_bytes: Some(64_000),
            ..TcpSnapshot::default()
        };
        let without_readings = MeasuredFlow {
            tcp: Some((last, last)),
            sender_readings: None,
            ..read
        };
        assert_eq!(of(vec![read, without_readings]), (Some(149_000), None));
        assert_eq!(of(vec![read, MeasuredFlow::default()]), (None, None));
    }

    #[test]
    fn a_loopback_has_no_window_and_a_path_without_a_round_trip_time_only_a_step() {
        let limit = Bottleneck::ReceiverWindow;
        let loopback = Upload {
            loopback: true,
            ..upload(limit, None)
        };
        let diagnosis = loopback.diagnose();
        assert!(diagnosis.window.is_none() && diagnosis.next_step.is_none());
        let unknown = Upload {
            idle_rtt_us: None,
            ..upload(limit, None)
        };
        let diagnosis = unknown.diagnose();
        assert!(diagnosis.window.is_none());
        assert_eq!(
            diagnosis.next_step.unwrap().remedy,
            Remedy::MoreFlows { flows: 2 }
        );
    }
}
