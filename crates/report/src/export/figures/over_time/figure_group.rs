//! The group of one kind of figure over time: a figure for each case.

use super::interfaces::interfaces_figure;
use super::lines::rtt_figure;
use super::loss::loss_figure;
use super::rates::rates_figure;
use super::share::share_figure;
use super::window::window_figure;
use crate::export::figures::round_trips::band_figure;
use crate::export::figures::selection::{MAX_PANELS, label, left_out, spread};
use crate::export::figures::study_material::StudyMaterial;
use crate::export::page::{CaptionedFigure, FigureGroup};
use crate::export::wording;
use crate::timeline::quantities::{cwnd_bytes, lost};
use crate::timeline::{FlowTimeline, flows_of_trial};
use caudal_core::interval::Interval;
use caudal_experiment::Trial;
use caudal_experiment::findings::CaseFindings;
use caudal_experiment::{FigureFile, FigureKind};
use caudal_plot::Layer;

/// One kind of figure for each case, from the trial shown for it.
pub fn figure_group(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    cases: &[&CaseFindings],
) -> FigureGroup {
    // Cases without such flows are not missing; those with them are drawn up to a number.
    let able: Vec<&CaseFindings> = cases
        .iter()
        .copied()
        .filter(|case| {
            material
                .typical(case)
                .is_some_and(|(trial, _)| is_able(figure.kind, trial))
        })
        .collect();
    let (picked, more) = spread(&able, MAX_PANELS);
    let figures: Vec<CaptionedFigure> = picked
        .into_iter()
        .filter_map(|case| figure_of_case(material, figure, case))
        .collect();
    let notes = left_out(figures.len(), more, "cases").into_iter().collect();
    FigureGroup {
        title: figure.title.clone(),
        figures: same_range(figures),
        notes,
    }
}

/// `true` when a trial has what a kind of figure shows.
fn is_able(kind: FigureKind, trial: &Trial) -> bool {
    let flows = flows_of_trial(trial);
    let some =
        |has: &dyn Fn(&Interval) -> bool| flows.iter().any(|one| one.intervals.iter().any(has));
    match kind {
        FigureKind::Rates => some(&|interval| interval.goodput_bps.is_some()),
        FigureKind::Share => flows.len() > 1,
        FigureKind::Window => some(&|interval| cwnd_bytes(interval).is_some()),
        FigureKind::Loss => some(&|interval| lost(interval).is_some()),
        FigureKind::Interfaces => !trial.interfaces.is_empty(),
        _ => true,
    }
}

/// The figure of a case, from the trial shown for it.
fn figure_of_case(
    material: &StudyMaterial<'_>,
    figure: &FigureFile,
    case: &CaseFindings,
) -> Option<CaptionedFigure> {
    let (trial, how) = material.typical(case)?;
    let name = label(case);
    let title = case
        .title
        .as_ref()
        .map_or_else(|| name.clone(), |title| format!("{name}: {title}"));
    let flows = flows_of_trial(trial);
    let picked: Vec<FlowTimeline> = flows
        .into_iter()
        .filter(|flow| {
            figure.metrics.is_empty()
                || figure
                    .metrics
                    .iter()
                    .any(|metric| *metric == flow.name || wording::parts(metric).0 == flow.name)
        })
        .collect();
    let from = Some(trial.warm_up_s).filter(|from| *from > 0.0);
    let mut drawn = match figure.kind {
        FigureKind::Rates => rates_figure(&title, &picked, &[], from)?,
        FigureKind::Share => share_figure(&title, &picked, from)?,
        FigureKind::Window => window_figure(&title, &picked)?,
        FigureKind::Loss => loss_figure(&title, &picked)?,
        FigureKind::Rtt => {
            let series = (material.series)(&trial.id);
            band_figure(&title, trial, &series).or_else(|| rtt_figure(&title, &picked))?
        }
        FigureKind::Interfaces => interfaces_figure(&title, trial, &figure.metrics)?,
        _ => return None,
    };
    drawn.name = format!("{} {name}", drawn.name);
    drawn.source = Some(how);
    Some(drawn)
}

/// The figures with one vertical range, so that they can be compared.
fn same_range(mut figures: Vec<CaptionedFigure>) -> Vec<CaptionedFigure> {
    let most = figures
        .iter()
        .flat_map(|drawn| &drawn.figure.layers)
        .map(highest)
        .fold(0.0, f64::max);
    if figures.len() > 1 && most > 0.0 {
        for drawn in &mut figures {
            drawn.figure.y = drawn.figure.y.clone().including(&[most]);
        }
    }
    figures
}

/// The highest value of a layer; 0 of a layer that has no height.
fn highest(layer: &Layer) -> f64 {
    let max = |values: &mut dyn Iterator<Item = f64>| {
        values.filter(|value| value.is_finite()).fold(0.0, f64::max)
    };
    match layer {
        Layer::Line { points, .. } | Layer::Step { points, .. } | Layer::Points { points, .. } => {
            max(&mut points.iter().map(|point| point.1))
        }
        Layer::Band { points, .. } => max(&mut points.iter().map(|point| point.2)),
        Layer::Stack { edges, parts } => {
            let heights = (0..edges.len().saturating_sub(1)).map(|nth| {
                parts
                    .iter()
                    .filter_map(|(_, values)| values.get(nth))
                    .sum::<f64>()
            });
            max(&mut heights.into_iter())
        }
        _ => 0.0,
    }
}
