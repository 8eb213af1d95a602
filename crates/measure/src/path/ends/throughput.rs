//! The throughput of TCP by window (RFC 6349).

use super::ends_run::EndsRun;
use super::request::WindowTestRequest;
use crate::bulk_recorder::{SummaryOptions, bulk_run};
use caudal_analysis::framing::Framing;
use caudal_analysis::link::timestamps;
use caudal_analysis::window::{bandwidth_delay_product, window_rate};
use caudal_core::path::{
    DirectionThroughput, PathPhase, PathThroughput, ThroughputRun, WINDOW_SHARES, buffer_delay,
    tcp_efficiency, transfer_time_ratio,
};
use caudal_core::plan::{BulkPlan, Direction, Directions, Omit, Plan, Rate, TcpPlan, TestEnd};
use caudal_core::run::Run;
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::{LocalOptions, RunError};
use std::time::Duration;

/// The block that flows hand to the kernel at once, bytes.
const BLOCK: u32 = 128 << 10;
/// The part of a run before the measured one, in which windows open, and its maximum.
const WARM_UP: u32 = 5;
const MAX_WARM_UP: Duration = Duration::from_secs(2);
/// The time between two readings.
const INTERVAL: Duration = Duration::from_millis(100);
/// The duration of the run that shows how much of a buffer becomes window.
const TRIAL: Duration = Duration::from_millis(600);
/// The part of a buffer that a kernel may make a window of: less or more is taken for a window that had not opened.
const WINDOW_OF_BUFFER: std::ops::Range<f64> = 0.3..4.0;
/// The smallest buffer that is asked for, bytes.
const MIN_BUFFER: f64 = 4096.0;

/// What is run, and over what.
#[derive(Debug, Clone)]
pub(super) struct ThroughputSettings {
    /// What the user asked for.
    pub(super) asked: WindowTestRequest,
    /// The path MTU, bytes.
    pub(super) path_mtu: u32,
    /// The baseline round-trip time.
    pub(super) baseline_rtt: Duration,
    /// The confidence of intervals.
    pub(super) confidence: f64,
}

/// Runs one flow and several in a direction of this capacity with windows of 25 to 125 % of the bandwidth-delay product.
///
/// # Errors
/// When the other end is lost; what was measured stands in the run.
pub(super) fn measure_throughput(
    run: &mut EndsRun<'_>,
    settings: &ThroughputSettings,
    capacities: &[(Direction, BitRate)],
) -> Result<(), RunError> {
    run.begin(PathPhase::Throughput);
    run.found.throughput = Some(PathThroughput {
        path_mtu_bytes: ByteCount::new(settings.path_mtu.into()),
        baseline_rtt_ms: settings.baseline_rtt.as_secs_f64() * 1e3,
        run_s: settings.asked.run.as_secs_f64(),
        congestion: settings.asked.congestion.as_deref().map(Into::into),
        directions: Vec::new(),
    });
    for (direction, bottleneck) in capacities {
        let info = run.peer.info();
        let framing = Framing {
            mtu: settings.path_mtu,
            ip: info.ip_version(),
            timestamps: timestamps(&info.client),
            ..Framing::default()
        };
        let found = DirectionThroughput {
            direction: *direction,
            bottleneck_bps: *bottleneck,
            ideal_bps: framing.tcp_ceiling(*bottleneck),
            bdp_bytes: bandwidth_delay_product(*bottleneck, settings.baseline_rtt),
            runs: Vec::new(),
        };
        if let Some(throughput) = &mut run.found.throughput {
            throughput.directions.push(found.clone());
        }
        WindowSweep {
            run,
            settings,
            of: &found,
            window_of_buffer: 1.0,
            last_buffer: None,
        }
        .windows()?;
    }
    Ok(())
}

/// The runs of one direction.
struct WindowSweep<'s, 'r> {
    run: &'s mut EndsRun<'r>,
    settings: &'s ThroughputSettings,
    of: &'s DirectionThroughput,
    /// The window that a kernel makes of a buffer, as a part of what was asked for.
    window_of_buffer: f64,
    /// The flows and the buffer of each in the last run, bytes.
    last_buffer: Option<(u32, u64)>,
}

impl WindowSweep<'_, '_> {
    fn windows(mut self) -> Result<(), RunError> {
        self.one(1, 1.0, TRIAL)?;
        self.last_buffer = None;
        for flows in [1, self.settings.asked.flows] {
            for share in WINDOW_SHARES {
                if self.run.is_over() {
                    return Ok(());
                }
                let buffer = self.buffer(flows, share);
                if self.last_buffer == Some((flows, buffer)) {
                    // No kernel makes a smaller window: it would be the run before once more.
                    continue;
                }
                let done = self.one(flows, share, self.settings.asked.run)?;
                self.keep(done);
                self.run.show();
            }
            if self.settings.asked.flows <= 1 {
                break;
            }
        }
        Ok(())
    }

    /// The buffer of each flow to ask for so that their windows are this part of the bandwidth-delay product together, bytes.
    fn buffer(&self, flows: u32, share: f64) -> u64 {
        let window = self.of.bdp_bytes.as_f64() * share / f64::from(flows.max(1));
        (window / self.window_of_buffer).max(MIN_BUFFER) as u64
    }

    fn keep(&mut self, done: ThroughputRun) {
        let throughput = self.run.found.throughput.as_mut();
        if let Some(of) = throughput.and_then(|all| all.directions.last_mut()) {
            of.runs.push(done);
        }
    }

    /// One run of `flows` whose windows are this part of the bandwidth-delay product together.
    fn one(&mut self, flows: u32, share: f64, time: Duration) -> Result<ThroughputRun, RunError> {
        let (bdp, buffer) = (self.of.bdp_bytes.as_f64(), self.buffer(flows, share));
        self.last_buffer = Some((flows, buffer));
        let mut done = ThroughputRun {
            flows,
            share_of_bdp: share,
            window_bytes: ByteCount::new((bdp * share) as u64),
            advertised_bytes: None,
            advertised_share_of_bdp: None,
            expected_bps: None,
            goodput_bps: None,
            transfer_time_ratio: None,
            efficiency: None,
            rtt_ms: None,
            buffer_delay: None,
            limited_by: None,
            failure: None,
        };
        let plan = Plan::Tcp(self.plan(flows, buffer, time));
        let outcome = self.run.carry_out(&plan, &LocalOptions::default())?;
        let options = SummaryOptions {
            link_rate: Some(self.of.bottleneck_bps),
            confidence: self.settings.confidence,
        };
        let bulk = outcome.into_bulk();
        // It is no document of its own.
        let header = self.run.started.header.clone();
        let peer = &*self.run.peer.peer_mut();
        let run = bulk.and_then(|bulk| bulk_run(header, peer, bulk, options));
        if let Some(run) = &run {
            self.take(run, &mut done);
        }
        done.failure.clone_from(&self.run.found.cut_short);
        if let Some(advertised) = done.advertised_bytes.map(ByteCount::as_f64) {
            done.advertised_share_of_bdp = (bdp > 0.0).then(|| advertised / bdp);
            let part = window_of_buffer(advertised, flows, buffer);
            self.window_of_buffer = part.unwrap_or(self.window_of_buffer);
        }
        Ok(done)
    }

    fn plan(&self, flows: u32, buffer: u64, time: Duration) -> TcpPlan {
        TcpPlan {
            bulk: BulkPlan {
                directions: match self.of.direction {
                    Direction::Up => Directions::Up,
                    Direction::Down => Directions::Down,
                },
                parallel: flows,
                end: TestEnd::Time(time),
                interval: INTERVAL,
                omit: Omit::Time(MAX_WARM_UP.min(time / WARM_UP)),
                rate: Rate::Max,
                length: BLOCK,
                window: Some(ByteCount::new(buffer)),
                dscp: None,
                same_machine: self.run.peer.info().is_same_machine,
            },
            mss: None,
            congestion: self.settings.asked.congestion.clone(),
            no_delay: false,
            mptcp: false,
            discard: false,
            zero_copy: false,
            ask_ecn: None,
        }
    }

    /// Takes what a run measured.
    fn take(&self, run: &Run, done: &mut ThroughputRun) {
        let Some(summary) = run.directions().first() else {
            return;
        };
        let senders = run.flows().iter().filter_map(|flow| flow.sender.as_ref());
        let advertised: Option<u64> = senders
            .map(|sender| sender.tcp.as_ref()?.receiver_window_bytes)
            .sum();
        done.advertised_bytes = advertised.filter(|all| *all > 0).map(ByteCount::new);
        let window = done.advertised_bytes.unwrap_or(done.window_bytes);
        let allowed = window_rate(window, self.settings.baseline_rtt);
        done.expected_bps = allowed.map(|rate| rate.min(self.of.ideal_bps));
        done.goodput_bps = summary.goodput_bps;
        done.transfer_time_ratio = summary
            .goodput_mean()
            .and_then(|mean| transfer_time_ratio(self.of.ideal_bps, mean));
        done.efficiency = efficiency(run);
        done.rtt_ms = summary.tcp.and_then(|tcp| Some(tcp.rtt_mean_us? / 1e3));
        done.buffer_delay = done
            .rtt_ms
            .and_then(|rtt| buffer_delay(rtt, self.settings.baseline_rtt.as_secs_f64() * 1e3));
        let limit = summary.limited_by.as_ref();
        done.limited_by = limit.map(|limit| limit.name().into());
    }
}

/// The window that kernels make of a buffer, as a part of it, from what `flows` with one of so many bytes each have `advertised` together;
/// `None` where that is no part that kernels make.
fn window_of_buffer(advertised: f64, flows: u32, buffer: u64) -> Option<f64> {
    let part = advertised / (f64::from(flows) * buffer as f64);
    WINDOW_OF_BUFFER.contains(&part).then_some(part)
}

/// The part of what senders sent that was not sent again, the warm-up included.
fn efficiency(run: &Run) -> Option<f64> {
    let (mut sent, mut again) = (0, 0);
    for flow in run.flows() {
        let tcp = flow.sender.as_ref()?.tcp.as_ref()?;
        sent += tcp.bytes_sent?;
        again += tcp.retransmitted_bytes?;
    }
    tcp_efficiency(sent, again)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_that_a_buffer_makes_is_that_of_each_flow() {
        // Four flows with the smallest buffer that is asked for.
        assert_eq!(window_of_buffer(24_576.0, 4, 4096), Some(1.5));
        assert_eq!(window_of_buffer(66_000.0, 1, 50_000), Some(1.32));
        // A window that had not opened.
        assert_eq!(window_of_buffer(2_000.0, 1, 49_648), None);
    }
}
