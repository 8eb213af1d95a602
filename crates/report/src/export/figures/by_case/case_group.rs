//! The group of boxes or bars: a figure for each metric.

use super::bars::bars_figure;
use super::boxes::boxes_figure;
use super::case_axes::{MAX_SIDE_BY_SIDE, category_count};
use super::metrics::{cases_with_metric, metrics_of_figure};
use crate::export::figures::selection::{left_out, spread};
use crate::export::figures::study_material::StudyMaterial;
use crate::export::page::{CaptionedFigure, FigureGroup};
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{FigureFile, FigureKind};

/// Maximum number of cases in one figure.
const MAX_CASES: usize = 24;

/// A figure for each metric.
pub fn case_groups(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> Vec<FigureGroup> {
    let mut figures = Vec::new();
    let mut notes = Vec::new();
    for metric in metrics_of_figure(material, figure, cases) {
        let known = cases_with_metric(cases, &metric);
        let (picked, more) = spread(&known, MAX_CASES);
        let drawn = match figure.kind {
            FigureKind::Boxes => boxes_figure(&metric, &picked),
            _ => bars_figure(&metric, &picked),
        };
        if let Some(drawn) = drawn {
            notes.extend(left_out(picked.len(), more, "cases"));
            figures.push(drawn);
        }
    }
    notes.dedup();
    // Many cases need the page's width.
    let is_wide = figures
        .iter()
        .any(|drawn| category_count(&drawn.figure) > MAX_SIDE_BY_SIDE);
    if is_wide && figures.len() > 1 {
        return one_group_each(&figure.title, figures, notes);
    }
    vec![FigureGroup {
        title: figure.title.clone(),
        figures,
        notes,
    }]
}

/// A group for each figure, one under the other: the title stands above the first, the notes below the last.
fn one_group_each(
    title: &str,
    figures: Vec<CaptionedFigure>,
    notes: Vec<String>,
) -> Vec<FigureGroup> {
    let mut groups: Vec<FigureGroup> = figures
        .into_iter()
        .map(|drawn| FigureGroup {
            title: String::new(),
            figures: vec![drawn],
            notes: Vec::new(),
        })
        .collect();
    if let Some(first) = groups.first_mut() {
        title.clone_into(&mut first.title);
    }
    if let Some(last) = groups.last_mut() {
        last.notes = notes;
    }
    groups
}
