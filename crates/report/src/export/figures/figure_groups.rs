//! The figures of the report of a study: those that the experiment asks for, or those that suit it.

use super::study_material::{StudyMaterial, is_load};
use super::{by_case, over_time, round_trips};
use crate::export::page::{Block, CaptionedFigure, FigureGroup};
use crate::size_results::size_results;
use caudal_experiment::{FigureFile, FigureKind, FlowKindFile};

/// The figures that the experiment asks for, or those that suit it.
#[must_use]
pub fn figure_groups(material: &StudyMaterial<'_>) -> Vec<FigureGroup> {
    let asked = &material.findings.figures;
    let defaults;
    let figures = if asked.is_empty() {
        defaults = usual(material);
        &defaults
    } else {
        asked
    };
    let mut groups: Vec<FigureGroup> = figures
        .iter()
        .flat_map(|figure| drawn(material, figure))
        .filter(|group| !group.figures.is_empty() || !group.notes.is_empty())
        .collect();
    // Names of files: their order, then what they show.
    let mut nth = 0;
    for group in &mut groups {
        for figure in &mut group.figures {
            nth += 1;
            figure.name = format!("{nth:02}-{}", file_name(&figure.name));
        }
    }
    groups
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

fn drawn(material: &StudyMaterial<'_>, figure: &FigureFile) -> Vec<FigureGroup> {
    let cases = match material.cases(figure) {
        Ok(cases) => cases,
        Err(why) => {
            return vec![FigureGroup {
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
        | FigureKind::Interfaces => vec![over_time::figure_group(material, figure, &cases)],
        FigureKind::Boxes | FigureKind::Bars => by_case::case_groups(material, figure, &cases),
        FigureKind::Sweep => by_case::sweep_groups(material, figure, &cases),
        FigureKind::Cdf => vec![round_trips::distribution_group(material, figure, &cases)],
        FigureKind::Sizes => vec![round_trips::by_size_group(material, figure, &cases)],
        FigureKind::First => vec![round_trips::first_group(material, figure, &cases)],
    }
}

/// The figures that suit an experiment that asks for none.
fn usual(material: &StudyMaterial<'_>) -> Vec<FigureFile> {
    let figure = |kind, title: &str| FigureFile {
        kind,
        title: title.to_owned(),
        ..FigureFile::default()
    };
    let flows = || material.trials.iter().flat_map(|trial| &trial.flows);
    let has = |of_kind: fn(FlowKindFile) -> bool| flows().any(|flow| of_kind(flow.kind));
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
            .any(|run| size_results(run).len() > 1);
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

/// The figures that there are, those of a row beside one another, each with a name that begins with its number.
pub fn numbered(rows: Vec<Vec<Option<CaptionedFigure>>>) -> Vec<Block> {
    let mut nth = 0;
    let mut block = |row: Vec<Option<CaptionedFigure>>| {
        let figures = row.into_iter().flatten().map(|mut figure| {
            nth += 1;
            figure.name = format!("{nth:02}-{}", figure.name);
            figure
        });
        let figures: Vec<CaptionedFigure> = figures.collect();
        (!figures.is_empty()).then(|| {
            Block::Figures(FigureGroup {
                title: String::new(),
                figures,
                notes: Vec::new(),
            })
        })
    };
    rows.into_iter().filter_map(&mut block).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(file_name("Rates: 80 % / <b>"), "rates-80-b");
        assert_eq!(file_name("../../etc"), "etc");
    }
}
