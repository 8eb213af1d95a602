//! From which load on a flow starves, group by group of the other parameters.

use caudal_core::quantity::Unit;
use caudal_experiment::{Campaign, Case, ContentionFile, parse_number};
use caudal_stats::Estimate;
use caudal_stats::contention::STARVATION_THRESHOLD;

use super::lookup::show;
use super::numbers::Numbers;
use super::{Starvation, StarvationStep};

/// How the victim fares over the load, a group each.
pub(super) fn of(campaign: &Campaign, numbers: &Numbers) -> Vec<Starvation> {
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
        let takes_part = case.flows.iter().any(|flow| flow.name == contention.victim);
        let load = case
            .parameters
            .iter()
            .find(|(name, _)| *name == contention.load);
        let Some((_, load)) = load.filter(|_| takes_part && case.alone.is_none()) else {
            continue;
        };
        let Some(value) = load.number() else { continue };
        let group = group(campaign, case, contention);
        let step = step(numbers, index, contention, load.to_string(), value, below);
        match groups.iter_mut().find(|(known, _)| *known == group) {
            Some((_, steps)) => steps.push(step),
            None => groups.push((group, vec![step])),
        }
    }
    let finish = |(group, mut steps): (String, Vec<StarvationStep>)| {
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
        starvation.verdict = verdict(campaign, numbers, &starvation);
        starvation
    };
    // Where there is no load at all, nothing can starve from it.
    groups.retain(|(_, steps)| steps.iter().any(|step| step.value > 0.0));
    groups.into_iter().map(finish).collect()
}

/// The other parameters that tell the groups apart, and the name of a case that does not set the load.
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
        // What the named case sets is said by its name.
        let said = named.is_some_and(|named| {
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
        if *name != contention.load && differs && !said {
            words.push(format!("{name}={value}"));
        }
    }
    words.join(" ")
}

fn step(
    numbers: &Numbers,
    index: usize,
    contention: &ContentionFile,
    load: String,
    value: f64,
    below: f64,
) -> StarvationStep {
    let metric = |name: &str| {
        let name = format!("{}.{name}", contention.victim);
        numbers.observed(index, &name).copied()
    };
    let share = metric("share");
    let longest = format!("{}.starved_longest", contention.victim);
    let longest = numbers.cases[index].metrics.get(&longest);
    StarvationStep {
        case: numbers.cases[index].key.clone(),
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

/// Whether a share lies below the limit with its whole interval, or above it; a single value is taken as it is.
fn starves(share: &Estimate, below: f64) -> Option<bool> {
    if share.high < below {
        Some(true)
    } else if share.low >= below {
        Some(false)
    } else {
        None
    }
}

fn rate(estimate: &Estimate) -> String {
    show(estimate.mean, Some(Unit::BitPerSecond))
}

fn verdict(campaign: &Campaign, numbers: &Numbers, found: &Starvation) -> String {
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
        let unsure: Vec<&str> = known
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
                    rate(goodput),
                    show(share.mean, Some(Unit::Share))
                )
            });
        let keeps = keeps.unwrap_or_default();
        if unsure.is_empty() {
            return format!(
                "{victim} does not starve up to {title} {}{group}{keeps}",
                last.load
            );
        }
        return format!(
            "whether {victim} starves cannot be told at {title} {}{group}{keeps}",
            unsure.join(", ")
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
        .and_then(|index| numbers.observed(index, &format!("{victim}.goodput")));
    let mut text = format!("{victim} starves from {title} {} on{group}", first.load);
    if let Some(goodput) = &first.goodput {
        text.push_str(&format!(": {}", rate(goodput)));
        if let Some(alone) = alone {
            text.push_str(&format!(" of {} alone", rate(alone)));
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
        None => text.push_str("; no lower load is known at which it does not"),
    }
    let spared: Vec<&str> = known
        .iter()
        .filter(|step| step.value > begins && step.starves == Some(false))
        .map(|step| step.load.as_str())
        .collect();
    if !spared.is_empty() {
        text.push_str(&format!(", but not at {}", spared.join(", ")));
    }
    text
}
