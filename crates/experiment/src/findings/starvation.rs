//! The load at which a flow starves, for each group of the other parameters.

use caudal_core::quantity::Unit;
use caudal_stats::Estimate;
use caudal_stats::contention::STARVATION_THRESHOLD;
use serde::{Deserialize, Serialize};

use super::case_findings::CaseFindings;
use super::format::format_value;
use crate::campaign::Campaign;
use crate::case::Case;
use crate::file::ContentionFile;
use crate::scalar::parse_number;

/// The starvation of a flow under growing load, for one group of the other parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Starvation {
    /// The name of the flow that may starve.
    pub victim: String,
    /// The other parameters of the group, as `congestion=cubic`.
    pub group: String,
    /// The name of the parameter that is the load.
    pub load: String,
    /// The loads, lowest first.
    pub steps: Vec<StarvationStep>,
    /// The lowest load at which the flow starves.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub begins: Option<f64>,
    /// The loads between which starvation begins: above the first, at or below the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub between: Option<(f64, f64)>,
    /// The result as a sentence without a full stop.
    pub verdict: String,
}

/// A flow at one load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StarvationStep {
    /// The key of the case.
    pub case: String,
    /// The load as the experiment writes it.
    pub load: String,
    /// The load as a number.
    pub value: f64,
    /// The goodput of the flow, bit/s.
    pub goodput: Option<Estimate>,
    /// Its goodput over its max–min fair share.
    pub share: Option<Estimate>,
    /// The harm to it, against its solo baseline.
    pub harm: Option<Estimate>,
    /// The share of the time below the limit.
    pub starved: Option<Estimate>,
    /// The longest continuous time below it, s.
    pub longest_s: Option<f64>,
    /// `true` when it starves at this load; absent where the interval of its share includes the limit.
    pub starves: Option<bool>,
}

/// The starvation of the victim over the load, for each group of the other parameters.
pub(super) fn find_starvation(campaign: &Campaign, cases: &[CaseFindings]) -> Vec<Starvation> {
    let Some(contention) = &campaign.experiment.contention else {
        return Vec::new();
    };
    let below = contention
        .below
        .as_deref()
        .and_then(parse_number)
        .unwrap_or(STARVATION_THRESHOLD);
    let mut groups: Vec<(String, Vec<StarvationStep>)> = Vec::new();
    for (index, case) in campaign.cases.iter().enumerate() {
        let has_victim = case.flows.iter().any(|flow| flow.name == contention.victim);
        let load = case
            .parameters
            .iter()
            .find(|(name, _)| *name == contention.load);
        let Some((_, load)) = load.filter(|_| has_victim && case.alone.is_none()) else {
            continue;
        };
        let Some(value) = load.number() else { continue };
        let group = group(campaign, case, contention);
        let step = step(&cases[index], contention, load.to_string(), value, below);
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, steps)) => steps.push(step),
            None => groups.push((group, vec![step])),
        }
    }
    let summarize = |(group, mut steps): (String, Vec<StarvationStep>)| {
        steps.sort_by(|a, b| a.value.total_cmp(&b.value));
        let begins = steps
            .iter()
            .find(|step| step.starves == Some(true))
            .map(|step| step.value);
        let between = begins.and_then(|begins| {
            let mut not = steps
                .iter()
                .filter(|step| step.value < begins && step.starves == Some(false));
            Some((not.next_back()?.value, begins))
        });
        let mut starvation = Starvation {
            victim: contention.victim.clone(),
            group,
            load: contention.load.clone(),
            steps,
            begins,
            between,
            verdict: String::new(),
        };
        starvation.verdict = sentence(campaign, cases, &starvation);
        starvation
    };
    // Without load nothing can starve.
    groups.retain(|(_, steps)| steps.iter().any(|step| step.value > 0.0));
    groups.into_iter().map(summarize).collect()
}

/// The other parameters by which the groups differ, and the name of a named case that does not set the load.
fn group(campaign: &Campaign, case: &Case, contention: &ContentionFile) -> String {
    let mut words = Vec::new();
    let sets_load = |name: &String| {
        let file = campaign
            .experiment
            .case
            .iter()
            .find(|file| file.name == *name);
        file.is_some_and(|file| file.set.contains_key(&contention.load))
    };
    let named = case.name.as_ref().filter(|name| !sets_load(name));
    words.extend(named.cloned());
    for (name, value) in &case.parameters {
        // What the named case sets is part of its name.
        let is_in_name = named.is_some_and(|named| {
            let file = campaign
                .experiment
                .case
                .iter()
                .find(|file| file.name == *named);
            file.is_some_and(|file| file.set.contains_key(name))
        });
        let differs = campaign.cases.iter().any(|other| {
            let there = other.parameters.iter().find(|(known, _)| known == name);
            there.is_some_and(|(_, there)| there != value)
        });
        if *name != contention.load && differs && !is_in_name {
            words.push(format!("{name}={value}"));
        }
    }
    words.join(" ")
}

fn step(
    case: &CaseFindings,
    contention: &ContentionFile,
    load: String,
    value: f64,
    below: f64,
) -> StarvationStep {
    let metric = |name: &str| {
        let name = format!("{}.{name}", contention.victim);
        case.observed(&name).copied()
    };
    let share = metric("share");
    let longest = format!("{}.starved_longest", contention.victim);
    let longest = case.metrics.get(&longest);
    StarvationStep {
        case: case.key.clone(),
        load,
        value,
        goodput: metric("goodput"),
        share,
        harm: metric("harm"),
        starved: metric("starved"),
        longest_s: longest.and_then(|metric| metric.values.iter().copied().reduce(f64::max)),
        starves: share.and_then(|share| starves(&share, below)),
    }
}

/// `true` when the whole interval of a share lies below the limit, `false` when it lies above; `None` when it includes the limit.
fn starves(share: &Estimate, below: f64) -> Option<bool> {
    if share.high < below {
        Some(true)
    } else if share.low >= below {
        Some(false)
    } else {
        None
    }
}

fn format_rate(estimate: &Estimate) -> String {
    format_value(estimate.mean, Some(Unit::BitPerSecond))
}

/// The result as a sentence without a full stop.
fn sentence(campaign: &Campaign, cases: &[CaseFindings], found: &Starvation) -> String {
    let title = campaign
        .experiment
        .parameter
        .iter()
        .find(|parameter| parameter.name == found.load)
        .and_then(|parameter| parameter.title.clone())
        .unwrap_or_else(|| found.load.clone());
    let victim = &found.victim;
    let group = if found.group.is_empty() {
        String::new()
    } else {
        format!(" ({})", found.group)
    };
    let known: Vec<&StarvationStep> = found
        .steps
        .iter()
        .filter(|step| step.share.is_some())
        .collect();
    let Some(last) = known.last() else {
        return format!("{victim}{group}: no load has been measured yet");
    };
    let Some(begins) = found.begins else {
        let uncertain: Vec<&str> = known
            .iter()
            .filter(|step| step.starves.is_none())
            .map(|step| step.load.as_str())
            .collect();
        let keeps = last
            .share
            .as_ref()
            .zip(last.goodput.as_ref())
            .map(|(share, goodput)| {
                format!(
                    ": {} there, {} of its fair share",
                    format_rate(goodput),
                    format_value(share.mean, Some(Unit::Share))
                )
            });
        let keeps = keeps.unwrap_or_default();
        if uncertain.is_empty() {
            return format!(
                "{victim} does not starve up to {title} {}{group}{keeps}",
                last.load
            );
        }
        return format!(
            "it is uncertain whether {victim} starves at {title} {}{group}{keeps}",
            uncertain.join(", ")
        );
    };
    let first = known
        .iter()
        .find(|step| step.value == begins)
        .unwrap_or(last);
    let alone = campaign
        .case(&first.case)
        .and_then(|case| case.baselines.get(victim))
        .and_then(|key| campaign.cases.iter().position(|case| case.key == *key))
        .and_then(|index| cases[index].observed(&format!("{victim}.goodput")));
    let mut text = format!(
        "{victim} starves at {title} {} and above{group}",
        first.load
    );
    if let Some(goodput) = &first.goodput {
        text.push_str(&format!(": {}", format_rate(goodput)));
        if let Some(alone) = alone {
            text.push_str(&format!(", alone {}", format_rate(alone)));
        }
        if let Some(harm) = &first.harm {
            text.push_str(&format!(", harm {:.2}", harm.mean));
        }
    }
    match found.between {
        Some((above, _)) => {
            let load = known.iter().find(|step| step.value == above);
            let load = load.map_or_else(String::new, |step| step.load.clone());
            text.push_str(&format!("; it begins above {load}"));
        }
        None => text.push_str("; no lower load was found at which it does not"),
    }
    let exceptions: Vec<&str> = known
        .iter()
        .filter(|step| step.value > begins && step.starves == Some(false))
        .map(|step| step.load.as_str())
        .collect();
    if !exceptions.is_empty() {
        text.push_str(&format!(", but not at {}", exceptions.join(", ")));
    }
    text
}
