//! The figures of a report, drawn from the findings and the trials.

mod by_case;
mod echo;
mod over_time;

pub use echo::{box_figure, cdf_figure, first_figure, sizes_figure};
pub use over_time::{lines_figure, loss_figure, rates_figure, rtt_figure, window_figure};

use super::page::{Drawn, Plate};
use super::words;
use crate::report::view;
use caudal_experiment::Trial;
use caudal_experiment::expression::Expression;
use caudal_experiment::findings::{CaseFindings, Findings};
use caudal_experiment::{FigureFile, FigureKind, FlowKindFile, Scalar};
use caudal_store::SampleSeries;

/// How many cases a kind of picture over time is drawn for.
const MOST_PANELS: usize = 6;
/// How many series one figure holds.
const MOST_SERIES: usize = 8;

/// What figures are drawn from.
pub struct Material<'a> {
    /// What the trials add up to.
    pub findings: &'a Findings,
    /// All trials.
    pub trials: &'a [Trial],
    /// Fetches the raw samples of a trial.
    pub series: &'a dyn Fn(&str) -> Vec<SampleSeries>,
}

/// The figures that the experiment asks for, or those that suit it.
#[must_use]
pub fn plates(material: &Material<'_>) -> Vec<Plate> {
    let asked = &material.findings.figures;
    let defaults;
    let figures = if asked.is_empty() {
        defaults = usual(material);
        &defaults
    } else {
        asked
    };
    let mut plates: Vec<Plate> = figures
        .iter()
        .flat_map(|figure| drawn(material, figure))
        .filter(|plate| !plate.figures.is_empty() || !plate.notes.is_empty())
        .collect();
    // Names of files: their order, then what they show.
    let mut nth = 0;
    for plate in &mut plates {
        for figure in &mut plate.figures {
            nth += 1;
            figure.name = format!("{nth:02}-{}", file_name(&figure.name));
        }
    }
    plates
}

/// A text as part of a file's name.
fn file_name(text: &str) -> String {
    let plain: String = text
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() {
                c.to_ascii_lowercase()
            } else {
                '-'
            }
        })
        .collect();
    let words: Vec<&str> = plain.split('-').filter(|word| !word.is_empty()).collect();
    let name: String = words.join("-").chars().take(48).collect();
    name.trim_matches('-').to_owned()
}

fn drawn(material: &Material<'_>, figure: &FigureFile) -> Vec<Plate> {
    let cases = match material.cases(figure) {
        Ok(cases) => cases,
        Err(why) => {
            return vec![Plate {
                title: figure.title.clone(),
                figures: Vec::new(),
                notes: vec![format!("Not drawn: {why}.")],
            }];
        }
    };
    match figure.kind {
        FigureKind::Rates
        | FigureKind::Share
        | FigureKind::Rtt
        | FigureKind::Window
        | FigureKind::Loss
        | FigureKind::Interfaces => vec![over_time::plate(material, figure, &cases)],
        FigureKind::Boxes | FigureKind::Bars => by_case::plates(material, figure, &cases),
        FigureKind::Sweep => by_case::sweeps(material, figure, &cases),
        FigureKind::Cdf => vec![echo::cdf(material, figure, &cases)],
        FigureKind::Sizes => vec![echo::sizes(material, figure, &cases)],
        FigureKind::First => vec![echo::first(material, figure, &cases)],
    }
}

impl<'a> Material<'a> {
    /// The cases a figure is about: those its condition picks, without solo baselines unless there is nothing else.
    fn cases(&self, figure: &FigureFile) -> Result<Vec<&'a CaseFindings>, String> {
        let condition = figure
            .when
            .as_deref()
            .map(Expression::parse)
            .transpose()
            .map_err(|error| format!("its condition {:?}: {}", figure.when, error.problem))?;
        let all = || self.findings.cases.iter();
        let any = all().any(|case| case.alone.is_none());
        Ok(all()
            .filter(|case| case.alone.is_none() || !any)
            .filter(|case| {
                condition
                    .as_ref()
                    .is_none_or(|when| when.holds_for(&case.parameters).unwrap_or(false))
            })
            .collect())
    }

    /// The trials of a case that count.
    fn trials_of(&self, case: &CaseFindings) -> Vec<&'a Trial> {
        self.trials
            .iter()
            .filter(|trial| trial.case == case.key && trial.discarded.is_none())
            .collect()
    }

    /// The trial that stands for its case: the one nearest the case's medians, with how it was chosen.
    fn typical(&self, case: &CaseFindings) -> Option<(&'a Trial, String)> {
        let trials = self.trials_of(case);
        let first = *trials.first()?;
        let metrics = main_metrics(first);
        let off = |trial: &Trial| -> f64 {
            metrics
                .iter()
                .filter_map(|metric| {
                    let all: Vec<f64> = trials
                        .iter()
                        .filter_map(|trial| trial.metrics.get(metric).copied())
                        .collect();
                    let median = view::median(&all)?;
                    let value = trial.metrics.get(metric)?;
                    let scale = all.iter().fold(0.0_f64, |most, one| most.max(one.abs()));
                    (scale > 0.0).then(|| (value - median).abs() / scale)
                })
                .sum()
        };
        let chosen = trials
            .iter()
            .min_by(|a, b| off(a).total_cmp(&off(b)))
            .copied()?;
        let how = if trials.len() == 1 {
            "The only trial of this case.".to_owned()
        } else {
            let names: Vec<String> = metrics.iter().map(|name| words::metric(name)).collect();
            format!(
                "Trial {} of {}, the one nearest the case's median{}.",
                chosen.repeat,
                trials.len(),
                if names.is_empty() {
                    String::new()
                } else {
                    format!(" of {}", words::list(&names))
                }
            )
        };
        Some((chosen, how))
    }
}

/// The metrics by which trials are compared: the goodput of each flow, or its round-trip time.
fn main_metrics(trial: &Trial) -> Vec<String> {
    let load = trial.flows.iter().any(|flow| is_load(flow.kind));
    trial
        .flows
        .iter()
        .filter(|flow| is_load(flow.kind) == load)
        .map(|flow| format!("{}.{}", flow.name, if load { "goodput" } else { "rtt" }))
        .filter(|name| trial.metrics.contains_key(name))
        .collect()
}

const fn is_load(kind: FlowKindFile) -> bool {
    matches!(kind, FlowKindFile::Tcp | FlowKindFile::Udp)
}

/// A case in as few words as tell it from others: its name, or the values of its parameters.
#[must_use]
pub fn label(case: &CaseFindings) -> String {
    if case.alone.is_some() || !case.key.contains('=') {
        return case.key.clone();
    }
    let words = case.key.split(' ');
    let named: Vec<&str> = words.take_while(|word| !word.contains('=')).collect();
    let named = (!named.is_empty()).then(|| named.join(" "));
    let in_key = |(name, _): &&(String, Scalar)| case.key.contains(&format!("{name}="));
    let values = case
        .parameters
        .iter()
        .filter(in_key)
        .map(|(_, value)| value.to_string());
    let words: Vec<String> = named.into_iter().chain(values).collect();
    if words.is_empty() {
        case.key.clone()
    } else {
        words.join(", ")
    }
}

/// At most `most` of them, the first and the last among them, and how many are left out.
fn spread<T: Copy>(items: &[T], most: usize) -> (Vec<T>, usize) {
    if items.len() <= most {
        return (items.to_vec(), 0);
    }
    let last = items.len() - 1;
    let picked = (0..most).map(|nth| items[(nth * last + (most - 1) / 2) / (most - 1)]);
    (picked.collect(), items.len() - most)
}

/// The sentence for what is not drawn.
fn left_out(drawn: usize, more: usize, what: &str) -> Option<String> {
    (more > 0).then(|| {
        format!(
            "{drawn} of {} {what} are drawn, from the first to the last; the other {more} are in the data.",
            drawn + more
        )
    })
}

/// The figures that suit an experiment that asks for none.
fn usual(material: &Material<'_>) -> Vec<FigureFile> {
    let figure = |kind, title: &str| FigureFile {
        kind,
        title: title.to_owned(),
        ..FigureFile::default()
    };
    let flows = || material.trials.iter().flat_map(|trial| &trial.flows);
    let has = |of: fn(FlowKindFile) -> bool| flows().any(|flow| of(flow.kind));
    let loads = material
        .trials
        .iter()
        .map(|trial| trial.flows.iter().filter(|flow| is_load(flow.kind)).count())
        .max()
        .unwrap_or(0);
    let cases = material
        .findings
        .cases
        .iter()
        .filter(|case| case.alone.is_none())
        .count();
    let mut figures = Vec::new();
    let mut swept: Vec<(&str, &str)> = Vec::new();
    for group in &material.findings.contention {
        let one = (group.victim.as_str(), group.load.as_str());
        if !swept.contains(&one) {
            swept.push(one);
            figures.push(FigureFile {
                metrics: vec![format!("{}.goodput", group.victim)],
                over: Some(group.load.clone()),
                ..figure(
                    FigureKind::Sweep,
                    &format!("Goodput of {} by {}", group.victim, group.load),
                )
            });
        }
    }
    if loads > 0 {
        if cases > 1 {
            figures.push(figure(FigureKind::Bars, "Goodput by case"));
        }
        figures.push(figure(FigureKind::Rates, "Goodput over time"));
        if loads > 1 {
            figures.push(figure(FigureKind::Share, "Who gets how much"));
        }
    }
    if has(|kind| kind == FlowKindFile::Tcp) {
        figures.push(figure(FigureKind::Window, "Congestion window"));
    }
    if has(|kind| kind == FlowKindFile::Udp) {
        figures.push(figure(FigureKind::Loss, "Loss and reordering"));
    }
    if has(|kind| !is_load(kind)) {
        let several_sizes = flows()
            .filter_map(|flow| flow.run.as_ref())
            .any(|run| view::echo_sizes(&serde_json::json!(run)).len() > 1);
        if several_sizes {
            figures.push(figure(FigureKind::Sizes, "Round-trip time by message size"));
        }
        figures.push(figure(FigureKind::Cdf, "Distribution of round-trip times"));
        if loads > 0 {
            figures.push(figure(FigureKind::Rtt, "Round-trip time over time"));
        }
    }
    figures
}

/// A sentence with a capital letter at its beginning, unless that is a name, and a stop at its end.
#[must_use]
pub fn sentence(text: &str) -> String {
    let word = text.split(' ').next().unwrap_or("");
    let rest = &text[word.len()..];
    let first = match word {
        "tcp" | "udp" | "rtt" => word.to_uppercase(),
        "tcp's" => "TCP's".to_owned(),
        "udp's" => "UDP's".to_owned(),
        name if name
            .chars()
            .all(|c| c.is_alphabetic() || "'’,:;".contains(c)) =>
        {
            let mut chars = name.chars();
            let first = chars.next().map(|c| c.to_uppercase().collect::<String>());
            first.unwrap_or_default() + chars.as_str()
        }
        name => name.to_owned(),
    };
    let stop = if text.ends_with(['.', '?', '!']) {
        ""
    } else {
        "."
    };
    format!("{first}{rest}{stop}")
}

/// A figure of a name, drawn later under another.
fn named(name: &str, figure: caudal_plot::Figure, says: String, from: Option<String>) -> Drawn {
    Drawn {
        name: name.to_owned(),
        figure,
        says,
        from,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_the_first_and_the_last_are_among_those_drawn() {
        let all: Vec<usize> = (0..19).collect();
        let (picked, more) = spread(&all, 6);
        assert_eq!((picked.len(), more), (6, 13));
        assert_eq!((picked[0], picked[5]), (0, 18));
        assert_eq!(spread(&all[..6], 6), ((0..6).collect(), 0));
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Rates: 80 % / <b>"), "rates-80-b");
        assert_eq!(file_name("../../etc"), "etc");
    }
}
