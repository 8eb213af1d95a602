//! The run of a bulk transfer, made from what both ends measured.

use caudal_analysis::episode::bulk_episodes;
use caudal_analysis::run::flow_report;
use caudal_analysis::summary::{BulkSummary, Context, summarise};
use caudal_analysis::timeline::Timeline;
use caudal_core::episode::Episode;
use caudal_core::event::{CutShort, Event};
use caudal_core::interval::{IntervalRow, ServerAccount};
use caudal_core::plan::{BulkPlan, Plan, PlanRecord};
use caudal_core::run::{CpuReport, Run, RunHeader, RunResult, ThroughputSummary};
use caudal_core::sample::FlowRecord;
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::BulkOutcome;
use caudal_engine::peer::{Peer, PeerInfo};
use caudal_sys::clock::realtime_ns;

/// The settings a summary is made with.
#[derive(Debug, Clone, Copy)]
pub struct SummaryOptions {
    /// The rate of the link, where the user gave it.
    pub link_rate: Option<BitRate>,
    /// The confidence of intervals.
    pub confidence: f64,
}

/// A bulk transfer as it happens: its readings, paired into intervals.
#[derive(Debug)]
pub(crate) struct BulkRecorder {
    account: ServerAccount,
    timeline: Option<Timeline>,
    began_ns: Option<u64>,
    /// `true` where the kernel's account of a connection is not that of the path.
    is_behind_proxy: bool,
}

impl BulkRecorder {
    /// A recorder of a transfer with this plan, unless an event has another.
    pub(crate) fn new(plan: &Plan, account: ServerAccount) -> Self {
        Self {
            account,
            timeline: new_timeline(plan, account),
            began_ns: None,
            is_behind_proxy: false,
        }
    }

    /// The same, which leaves what a kernel knows of its connection out where that is not of the path.
    pub(crate) const fn behind_proxy(mut self, is_behind_proxy: bool) -> Self {
        self.is_behind_proxy = is_behind_proxy;
        self
    }

    /// A recorder of a transfer with this peer: where TCP is ended in the middle, what a kernel knows of its connection is left out.
    pub(crate) fn with_peer(plan: &Plan, info: &PeerInfo) -> Self {
        Self::new(plan, info.server_account).behind_proxy(info.tcp_proxy.is_some())
    }

    /// Takes an event: the intervals that are complete with it.
    pub(crate) fn event(&mut self, event: &Event) -> Vec<IntervalRow> {
        match event {
            // The server may allow less than was asked for.
            Event::Agreed(agreement) => {
                if let Ok(plan) = Plan::try_from(&agreement.plan)
                    && plan.bulk().is_some()
                {
                    self.timeline = new_timeline(&plan, self.account);
                }
                Vec::new()
            }
            Event::Started { .. } => {
                self.began_ns = Some(realtime_ns());
                Vec::new()
            }
            Event::Sampled(sample) => {
                let Some(timeline) = &mut self.timeline else {
                    return Vec::new();
                };
                match self.is_behind_proxy {
                    true => timeline.push(&sample.without_tcp()),
                    false => timeline.push(sample),
                }
                std::iter::from_fn(|| timeline.next_row()).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The recorded transfer, and the intervals that were complete only at its end; `None` for any other workload.
    pub(crate) fn finish(
        self,
        mut outcome: BulkOutcome,
        info: &PeerInfo,
        options: SummaryOptions,
    ) -> Option<(RecordedBulk, Vec<IntervalRow>)> {
        let mut timeline = self.timeline?;
        let idle_rtt_s = info.idle_rtt_us.unwrap_or(0.0) / 1e6;
        let episodes = bulk_episodes(&outcome.episodes, &outcome.arrivals, &timeline, idle_rtt_s);
        end_by_silence(&mut outcome, &mut timeline, &episodes);
        for record in &outcome.flows {
            timeline.close(record, outcome.cut_short.is_none());
        }
        let rows = timeline.remaining_rows();
        let cut_short = outcome.cut_short.as_ref().map(ToString::to_string);
        let mut recorded = RecordedBulk {
            outcome,
            timeline,
            summary: BulkSummary {
                directions: Vec::new(),
                warnings: Vec::new(),
                episodes: Vec::new(),
            },
            episodes,
            began_ns: self.began_ns,
            cut_short: cut_short.map(Into::into),
            options,
        };
        let mut summary = summarise(&recorded.context(info)?);
        recorded.episodes.append(&mut summary.episodes);
        recorded
            .episodes
            .sort_by(|a, b| a.from_s.total_cmp(&b.from_s));
        summary.warnings.extend(foreign_server(info));
        let transport = recorded.outcome.plan.transport();
        summary.warnings.extend(info.path_warnings(transport));
        recorded.summary = summary;
        Some((recorded, rows))
    }
}

/// Ends a test that a silence lasted to the end of: what was measured until then is the result.
fn end_by_silence(outcome: &mut BulkOutcome, timeline: &mut Timeline, episodes: &[Episode]) {
    let Some(silence) = episodes.iter().rfind(|episode| episode.is_open()) else {
        return;
    };
    if silence.direction.is_none() {
        timeline.cut_at((silence.from_s * 1e9) as u64);
    }
    let reason = || CutShort::Lost(silence.text().into());
    outcome.cut_short.get_or_insert_with(reason);
}

fn new_timeline(plan: &Plan, account: ServerAccount) -> Option<Timeline> {
    let bulk: &BulkPlan = plan.bulk()?;
    Some(Timeline::new(
        bulk.flows(),
        &bulk.ticks(),
        plan.transport(),
        account,
    ))
}

/// A bulk transfer that was carried out, with its arithmetic done.
#[derive(Debug)]
pub(crate) struct RecordedBulk {
    /// The measurements.
    pub(crate) outcome: BulkOutcome,
    /// The readings.
    pub(crate) timeline: Timeline,
    /// The summary.
    pub(crate) summary: BulkSummary,
    /// Outages and programs that stood still.
    pub(crate) episodes: Vec<Episode>,
    /// The time traffic began, ns since 1970; `None` when it did not.
    pub(crate) began_ns: Option<u64>,
    /// The reason why it ended before its plan did.
    pub(crate) cut_short: Option<ExternalText>,
    options: SummaryOptions,
}

impl RecordedBulk {
    /// `true` unless it was cut short.
    pub(crate) const fn is_complete(&self) -> bool {
        self.outcome.cut_short.is_none()
    }

    /// `true` when it was completed and carried not a byte.
    pub(crate) fn sent_nothing(&self) -> bool {
        let sent = self.outcome.flows.iter().filter_map(FlowRecord::sent);
        self.is_complete() && sent.map(|sent| sent.bytes).sum::<u64>() == 0
    }

    /// The measurements and their conditions, to compare with predictions; `None` for any other workload.
    pub(crate) fn context<'a>(&'a self, info: &'a PeerInfo) -> Option<Context<'a>> {
        let outcome = &self.outcome;
        Some(Context {
            plan: &outcome.plan,
            bulk: outcome.plan.bulk()?,
            records: &outcome.flows,
            timeline: &self.timeline,
            arrivals: &outcome.arrivals,
            client: &info.client,
            server: &info.server,
            client_usage: &outcome.client_usage,
            server_usage: outcome.server_usage.as_ref(),
            ip: info.ip_version(),
            loopback: info.is_loopback(),
            idle_rtt_us: info.idle_rtt_us,
            connect_us: Some(info.connect_us()),
            tcp_proxy: info.tcp_proxy.as_ref(),
            link_rate: self.options.link_rate,
            confidence: self.options.confidence,
            episodes: &self.episodes,
            cut_short: self.cut_short.as_ref().map(ExternalText::as_received),
            changed: &outcome.changed,
            server_set_rate: outcome.server_set_rate,
        })
    }

    /// The run, without predictions.
    pub(crate) fn into_run(self, header: RunHeader, info: &PeerInfo) -> Run {
        let Self {
            outcome,
            timeline,
            summary,
            episodes,
            ..
        } = self;
        let goodput_bps = match summary.directions.as_slice() {
            [only] => only.goodput_bps,
            _ => None,
        };
        let flows = outcome.flows.iter().map(|record| {
            let intervals = timeline.intervals(record.flow.id);
            flow_report(record, intervals, timeline.server_account())
        });
        let plan = PlanRecord::from(&outcome.plan).with_peer(info.address.to_string());
        Run {
            began_s: self.began_ns.map(seconds_to_the_microsecond),
            environment: Some(info.environment()),
            flows: Some(flows.collect()),
            result: Some(RunResult::Throughput(Box::new(ThroughputSummary {
                goodput_bps,
                directions: summary.directions,
                idle_rtt_us: info.idle_rtt_us,
                connect_us: Some(info.connect_us()),
                cpu: Some(CpuReport {
                    client: Some(outcome.client_usage),
                    server: outcome.server_usage,
                }),
            }))),
            episodes,
            warnings: summary.warnings,
            ..Run::new(header, plan)
        }
    }
}

/// The run of a bulk transfer with `peer` that has ended, without predictions and without the time it began.
///
/// `None` when the outcome is of any other workload.
pub(crate) fn bulk_run(
    header: RunHeader,
    peer: &dyn Peer,
    outcome: BulkOutcome,
    options: SummaryOptions,
) -> Option<Run> {
    let info = peer.info();
    let mut recorder = BulkRecorder::with_peer(&outcome.plan, info);
    for sample in &outcome.samples {
        recorder.event(&Event::Sampled(*sample));
    }
    let (recorded, _) = recorder.finish(outcome, info, options)?;
    Some(recorded.into_run(header, info))
}

/// Seconds of nanoseconds, to the microsecond.
pub(crate) fn seconds_to_the_microsecond(ns: u64) -> f64 {
    (ns / 1000) as f64 / 1e6
}

/// The warning about a server of another program.
fn foreign_server(info: &PeerInfo) -> Option<Warning> {
    let ServerAccount::Totals { reordered } = info.server_account else {
        return None;
    };
    Some(Warning::new(
        WarningCode::ForeignServer,
        format!(
            "the server is {}'s: it reports totals of what it receives, at the end, without duplicates, {}its CPU or \
             its socket's drops; intervals of a TCP upload are what its kernel acknowledged",
            info.server.tool,
            if reordered { "" } else { "reordering, " }
        ),
    ))
}
