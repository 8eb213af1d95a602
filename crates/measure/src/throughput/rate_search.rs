//! The highest rate that a path carries: trials at one rate after another.

use super::recorder::{RecordedRun, RunSettings, record};
use super::request::UdpRequest;
use crate::bulk_recorder::SummaryOptions;
use crate::control::{MeasureControl, SilentObserver};
use crate::error::MeasureError;
use crate::measured::{MeasuredRun, RunEnding};
use crate::path_mtu::black_hole;
use crate::test_peer::TestPeer;
use caudal_analysis::search::{Search, TrialObservation, undelivered_fraction};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{MIN_INTERVAL, Omit, Plan, PlanRecord, Rate, TestEnd, UdpPlan};
use caudal_core::run::{Run, RunResult, SearchResult};
use caudal_core::units::BitRate;
use caudal_core::warning::{Warning, WarningCode};
use caudal_engine::LocalOptions;
use std::time::Duration;

/// Readings of each end in a trial: enough to see in its second half whether what arrives keeps up.
const READINGS: u32 = 20;
/// The duration of a trial whose plan ends with its bytes, for the interval of its readings.
const TRIAL: Duration = Duration::from_secs(2);

/// A search for the highest rate with at most so many of the datagrams lost.
#[derive(Debug, Clone)]
pub struct RateSearchRequest {
    /// A trial. Its rate is the highest that is tried; with none, it is what the sender reaches.
    pub udp: UdpRequest,
    /// The part of the datagrams that may be lost.
    pub loss_limit: f64,
    /// The link's rate and the confidence.
    pub summary: SummaryOptions,
    /// The settings that concern this end alone.
    pub local: LocalOptions,
}

impl RateSearchRequest {
    /// Fits the trials to the path to `peer`, and finds the highest rate to try.
    ///
    /// # Errors
    /// When the peer is lost, the user interrupts, or the sender's rate cannot be measured.
    pub fn prepare(&mut self, peer: &mut TestPeer) -> Result<(), MeasureError> {
        self.udp.fit(peer)?;
        let bulk = &mut self.udp.plan.bulk;
        bulk.same_machine = peer.info().is_same_machine;
        let each = bulk.duration().unwrap_or(TRIAL) / READINGS;
        bulk.interval = each.max(MIN_INTERVAL);
        if bulk.rate == Rate::Max {
            self.udp.plan.bulk.rate = Rate::Limit(self.sending_rate(peer)?);
        }
        Ok(())
    }

    /// Carries the trials out.
    ///
    /// # Errors
    /// When none was completed.
    pub fn measure(
        &self,
        peer: &mut TestPeer,
        control: &mut MeasureControl<'_>,
    ) -> Result<MeasuredRun, MeasureError> {
        let record = PlanRecord::from(&Plan::Udp(self.udp.plan.clone()));
        peer.begin_observation(control.started, &record)?;
        let max = match self.udp.plan.bulk.rate {
            Rate::Limit(max) => max,
            Rate::Max => self.sending_rate(peer)?,
        };
        let confidence = self.summary.confidence;
        let mut search = Search::new(self.loss_limit, max, confidence);
        let outcome = self.run_trials(peer, &mut search, control)?;
        let ending = RunEnding::from_cut_short(outcome.cut_short.as_ref());
        let info = peer.info();
        let plan = record.with_peer(info.address.to_string());
        let mut run = Run {
            environment: Some(info.environment()),
            result: Some(RunResult::Search(Box::new(SearchResult {
                loss_limit: self.loss_limit,
                confidence,
                found: search.outcome(),
                trials: search.trials().to_vec(),
            }))),
            warnings: warnings(outcome)
                .into_iter()
                .chain(black_hole(info))
                .collect(),
            ..Run::new(control.started.header.clone(), plan)
        };
        let ending = peer.end_observation(&mut run, ending);
        Ok(MeasuredRun {
            run,
            ending,
            peer: peer.info().address.ip(),
            arrivals: Vec::new(),
        })
    }

    fn settings(&self) -> RunSettings<'_> {
        RunSettings {
            local: &self.local,
            summary: self.summary,
            is_endless: false,
        }
    }

    fn run_trials(
        &self,
        peer: &mut TestPeer,
        search: &mut Search,
        control: &mut MeasureControl<'_>,
    ) -> Result<SearchEnd, MeasureError> {
        let plan = &self.udp.plan;
        let mut end = SearchEnd::default();
        while let Some(rate) = search.next_rate() {
            if control.interrupt.count() > 0 {
                end.cut_short = Some(CutShort::Interrupted);
                break;
            }
            let mut trial = plan.clone();
            trial.bulk.rate = Rate::Limit(rate);
            let trial = Plan::Udp(trial);
            let run = match record(peer, &trial, self.settings(), 1, &mut SilentObserver) {
                Ok(run) => run,
                Err(error) if search.trials().is_empty() => return Err(error.into()),
                Err(error) => {
                    end.cut_short = Some(CutShort::Lost(error.to_string().into()));
                    break;
                }
            };
            if !run.bulk.is_complete() {
                end.cut_short.clone_from(&run.bulk.outcome.cut_short);
                break;
            }
            let Some(observed) = observed(&run, plan) else {
                let why = "the receiver's final report did not arrive".to_owned();
                end.cut_short = Some(CutShort::Lost(why.into()));
                break;
            };
            let Some(trial) = search.record(observed) else {
                break;
            };
            control.observer.event(&Event::Trial { trial });
            end.last = Some(run);
            if control.observer.is_unread() {
                return Err(MeasureError::Unread);
            }
        }
        Ok(end)
    }

    /// The rate the sender reaches without a limit: the upper bound of a search that was given none.
    fn sending_rate(&self, peer: &mut TestPeer) -> Result<BitRate, MeasureError> {
        let mut plan = self.udp.plan.clone();
        plan.bulk.rate = Rate::Max;
        plan.bulk.end = TestEnd::Time(Duration::from_secs(1));
        plan.bulk.omit = Omit::Nothing;
        let plan = Plan::Udp(plan);
        let run = record(peer, &plan, self.settings(), 0, &mut SilentObserver)?;
        let flows = &run.bulk.outcome.flows;
        let sent = flows.iter().filter_map(|record| Some(record.sent()?.bytes));
        let each = sent.sum::<u64>() as f64 * 8.0 / flows.len().max(1) as f64;
        Ok(BitRate::from_f64(each).unwrap_or(BitRate::from_bps(1_000_000)))
    }
}

/// The end of a search.
#[derive(Default)]
struct SearchEnd {
    cut_short: Option<CutShort>,
    last: Option<RecordedRun>,
}

/// The result of a trial; `None` without the receiver's final report.
fn observed(run: &RecordedRun, plan: &UdpPlan) -> Option<TrialObservation> {
    let direction = run.bulk.summary.directions.first()?;
    let loss = direction.loss.as_ref().filter(|loss| loss.is_complete())?;
    let flows = run.bulk.outcome.flows.len().max(1) as f64;
    let seconds = plan.bulk.duration().map_or(1.0, |time| time.as_secs_f64());
    Some(TrialObservation {
        sent: loss.sent?,
        lost: loss.lost?,
        reached_bps: direction.sent_bytes.unwrap_or(0) as f64 * 8.0 / seconds / flows,
        undelivered: undelivered_fraction(&run.bulk.outcome.samples, plan.bulk.length),
    })
}

/// The warnings of the last trial that concern the whole search, and the one about its end.
fn warnings(end: SearchEnd) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = end
        .last
        .map_or_else(Vec::new, |run| run.bulk.summary.warnings);
    warnings.retain(|warning| {
        !matches!(
            warning.code,
            WarningCode::TooShort | WarningCode::NotSteady | WarningCode::RateNotReached
        )
    });
    if let Some(cut) = &end.cut_short {
        warnings.push(Warning::new(
            WarningCode::CutShort,
            format!("the search ended early: {cut}"),
        ));
    }
    warnings
}
