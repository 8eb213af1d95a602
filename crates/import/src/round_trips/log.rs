//! The round trips of one host as a log reports them, and the result that they make.

use crate::log::LogFormat;
use crate::log_head::{LogHead, left_out};
use caudal_core::echo::{OneWaySummary, ReplySummary, SizeSummary};
use caudal_core::plan::{EchoSchedule, PlanRecord, RttPlanRecord, Transport};
use caudal_core::run::{RoundTripSummary, RunResult};
use caudal_stats::{DistributionSummary, Estimate, wilson};
use std::time::Duration;

/// The confidence of the intervals.
const CONFIDENCE: f64 = 0.95;

/// The round trips of one host.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundTripLog {
    /// What every log reports.
    pub head: LogHead,
    /// The transport protocol; `None` for ICMP.
    pub transport: Option<Transport>,
    /// Payload of a message, bytes.
    pub size_bytes: Option<u32>,
    /// The time between two messages, s.
    pub period_s: Option<f64>,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// The round-trip times in the order of their messages, µs; empty where the log has a summary alone.
    pub times_us: Vec<f64>,
    /// Messages sent.
    pub sent: u64,
    /// Messages without a reply.
    pub lost: u64,
    /// Replies that came twice.
    pub duplicate: u64,
    /// Replies that came after their time.
    pub late: u64,
    /// The mean of a log that has a summary alone, µs.
    pub mean_us: Option<f64>,
    /// The duration, s.
    pub elapsed_s: Option<f64>,
    /// The variation of the delay to the server.
    pub up: Option<OneWaySummary>,
    /// The variation of the delay from the server.
    pub down: Option<OneWaySummary>,
    /// Figures that a run has no place for.
    pub left_out: Vec<String>,
}

impl RoundTripLog {
    /// A log without round trips.
    #[must_use]
    pub const fn new(format: LogFormat) -> Self {
        Self {
            head: LogHead::new(format),
            transport: None,
            size_bytes: None,
            period_s: None,
            dscp: None,
            times_us: Vec::new(),
            sent: 0,
            lost: 0,
            duplicate: 0,
            late: 0,
            mean_us: None,
            elapsed_s: None,
            up: None,
            down: None,
            left_out: Vec::new(),
        }
    }

    /// The log with the warning that names what is left out.
    #[must_use]
    pub fn finished(mut self) -> Self {
        self.head.warnings.extend(left_out(&self.left_out));
        self
    }

    /// The plan, as far as the log shows it.
    #[must_use]
    pub fn plan(&self) -> PlanRecord {
        let period = self.period_s.filter(|s| (1e-6..1e6).contains(s));
        PlanRecord::Rtt(RttPlanRecord {
            peer: self.head.peer.clone().map(Into::into),
            transport: self.transport,
            sizes: self.size_bytes.map(|size| vec![size]),
            count: Some(self.sent),
            clients: Some(1),
            schedule: period.map(|s| EchoSchedule::Every {
                period: Duration::from_secs_f64(s),
                poisson: false,
            }),
            dscp: self.dscp.map(Some),
            ..RttPlanRecord::default()
        })
    }

    /// The result.
    #[must_use]
    pub fn result(&self) -> RunResult {
        let rtt_us = DistributionSummary::from_series(&self.times_us, CONFIDENCE);
        let mean_us = match &rtt_us {
            Some(summary) => Some(summary.mean_estimate()),
            None => self.mean_us.map(Estimate::single),
        };
        let loss = wilson(self.lost, self.sent, CONFIDENCE);
        let pooled = ReplySummary {
            sent: self.sent,
            lost: self.lost,
            late: self.late,
            duplicate: self.duplicate,
            loss,
            rtt_us,
            mean_us,
            up: self.up,
            down: self.down,
            ..ReplySummary::default()
        };
        RunResult::RoundTrips(Box::new(RoundTripSummary {
            rtt_us,
            mean_us,
            sizes: vec![SizeSummary {
                size_bytes: self.size_bytes.unwrap_or(0),
                pooled,
                clients: Vec::new(),
            }],
            include_first: true,
            messages: self.sent,
            lost: self.lost,
            loss,
            elapsed_s: self.elapsed_s.unwrap_or(0.0),
            idle_rtt_us: None,
            connect_us: None,
            kernel_stamps_missing: None,
            clock: None,
            window_up: None,
            window_down: None,
            next_step_up: None,
            next_step_down: None,
            marks_up: None,
            marks_down: None,
            cpu: None,
            cut_short: None,
        }))
    }

    /// What was measured in half a line: `ICMP, 5 sent, mean 0.048 ms, 0 lost`.
    #[must_use]
    pub fn description(&self) -> Vec<String> {
        let n = self.times_us.len() as f64;
        let mean_us = match self.times_us.is_empty() {
            true => self.mean_us,
            false => Some(self.times_us.iter().sum::<f64>() / n),
        };
        let protocol = self.transport.map_or("ICMP", |transport| match transport {
            Transport::Tcp => "TCP",
            Transport::Udp => "UDP",
        });
        let mean = mean_us.map(|us| format!("mean RTT {:.3} ms", us / 1e3));
        vec![
            format!("{protocol} round trips"),
            format!("{} sent", self.sent),
            mean.unwrap_or_else(|| "no reply".to_owned()),
            format!("{} lost", self.lost),
        ]
    }
}
