//! An experiment that is ready to run: its cases with their testbeds, and the time and traffic that they take.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use caudal_experiment::{
    Campaign, Case, CasePredictions, DEFAULT_MESSAGES, FlowKindFile, FlowSpec,
};

use crate::duration::{time_of_trial, trial_duration};
use crate::error::StudyError;
use crate::flow_times::{FlowTimes, message_sizes};
use crate::source::ExperimentSource;
use crate::testbed::{HostAddress, Testbed, TestbedResolver, is_echo, offered_rate};

/// An experiment that is ready to run.
#[derive(Debug)]
pub struct PreparedExperiment {
    /// Its source.
    pub source: ExperimentSource,
    /// The hosts that replace its network.
    pub hosts: Option<BTreeMap<String, HostAddress>>,
    /// Its campaign.
    pub campaign: Campaign,
    /// The testbed of each case.
    pub testbeds: Vec<Testbed>,
}

impl PreparedExperiment {
    /// Unfolds an experiment and resolves its networks.
    ///
    /// # Errors
    /// Names file, line and key.
    pub fn new(
        mut source: ExperimentSource,
        hosts: Option<BTreeMap<String, HostAddress>>,
    ) -> Result<Self, StudyError> {
        let campaign = source.campaign()?;
        let mut resolver = TestbedResolver::default();
        let testbeds: Result<Vec<Testbed>, StudyError> = campaign
            .cases
            .iter()
            .map(|case| resolver.resolve(case, &mut source, hosts.as_ref()))
            .collect();
        let testbeds = testbeds?;
        let mut links = BTreeSet::new();
        for network in testbeds.iter().filter_map(Testbed::network) {
            links.extend(network.topology.links.iter().map(|link| link.name.clone()));
        }
        if !links.is_empty() {
            let links: Vec<String> = links.into_iter().collect();
            campaign
                .check_links(&links)
                .map_err(|error| source.error_at(&error.at, &error.problem, &error.remedy))?;
        }
        Ok(Self {
            source,
            hosts,
            campaign,
            testbeds,
        })
    }

    /// `true` when some case is captured.
    #[must_use]
    pub fn is_captured(&self) -> bool {
        self.campaign.cases.iter().any(|case| case.capture)
    }

    /// The time that a trial of the case at `index` takes with everything around it.
    #[must_use]
    pub fn trial_time(&self, index: usize) -> Duration {
        time_of_trial(&self.campaign.cases[index], &self.testbeds[index])
    }

    /// The minimum and the maximum number of trials.
    #[must_use]
    pub fn trials(&self) -> (u64, u64) {
        let rule = &self.campaign.rule;
        let cases = self.campaign.cases.len() as u64;
        let max = if rule.relative_error.is_finite() {
            rule.max
        } else {
            rule.min
        };
        (cases * rule.min, cases * max.max(rule.min))
    }

    /// The time that the minimum and the maximum number of trials take.
    #[must_use]
    pub fn time(&self) -> (Duration, Duration) {
        let cases = self.campaign.cases.len();
        let once: Duration = (0..cases).map(|case| self.trial_time(case)).sum();
        let (min, max) = self.trials();
        let cases = cases.max(1) as u64;
        let time_of = |trials: u64| once.mul_f64((trials / cases) as f64);
        (time_of(min), time_of(max))
    }

    /// The payload that the minimum number of trials sends as far as it is known, bytes; for UDP with that which is lost.
    #[must_use]
    pub fn payload_bytes(&self, predictions: &BTreeMap<String, CasePredictions>) -> f64 {
        let cases = self.campaign.cases.iter().zip(&self.testbeds);
        let once: f64 = cases
            .map(|(case, testbed)| case_payload(case, testbed, predictions.get(&case.key)))
            .sum();
        once * self.campaign.rule.min as f64
    }
}

/// The payload of a trial of a case, bytes.
fn case_payload(case: &Case, testbed: &Testbed, predictions: Option<&CasePredictions>) -> f64 {
    let flows = case.flows.iter();
    flows
        .map(|flow| flow_payload(case, flow, testbed, predictions))
        .sum()
}

/// The payload of a flow in a trial, bytes.
fn flow_payload(
    case: &Case,
    flow: &FlowSpec,
    testbed: &Testbed,
    predictions: Option<&CasePredictions>,
) -> f64 {
    if let Some(bytes) = flow.bytes {
        return bytes.as_f64();
    }
    let count = f64::from(flow.count);
    if is_echo(flow) {
        let sizes: f64 = message_sizes(flow).into_iter().map(f64::from).sum();
        return 2.0 * sizes * flow.messages.unwrap_or(DEFAULT_MESSAGES) as f64 * count;
    }
    let times = FlowTimes::new(case, flow);
    let time = times.time.map(|time| {
        // What is sent beside a path that is probed ends with the trial.
        let to_the_end = trial_duration(case, testbed).saturating_sub(times.start);
        (times.omit + time).min(to_the_end)
    });
    let seconds = time.unwrap_or_default().as_secs_f64();
    let offered = offered_rate(flow, testbed)
        .ok()
        .flatten()
        .map(|bps| bps * count);
    let metric = format!("{}.goodput", flow.name);
    let predicted = predictions.and_then(|all| all.predicted.get(&metric).copied());
    let rate = match flow.kind {
        FlowKindFile::Udp => offered.or(predicted),
        _ => predicted.or(offered),
    };
    rate.unwrap_or(0.0) * seconds / 8.0
}
