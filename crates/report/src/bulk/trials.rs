//! The trials of a search for the highest rate: a figure of the loss at each rate, and a table.

use crate::export::figures::numbered;
use crate::export::page::{Block, CaptionedFigure, Cell, Mark, Table, TableColumn};
use crate::export::wording::{about, count, span};
use caudal_core::quantity::Unit;
use caudal_core::run::SearchResult;
use caudal_core::search::{SearchTrial, TrialOutcome};
use caudal_plot::{Axis, AxisQuantity, Figure, Layer, Scale};

/// Maximum number of trials that a page shows.
const MAX_TRIALS: usize = 100;
/// Minimum ratio of the highest rate to the lowest on a logarithmic axis.
const MIN_LOG_RATIO: f64 = 20.0;
/// The outcomes in the order of their series.
const OUTCOMES: [TrialOutcome; 5] = [
    TrialOutcome::Held,
    TrialOutcome::Failed,
    TrialOutcome::Queueing,
    TrialOutcome::Unreached,
    TrialOutcome::Undecided,
];

/// The figure and the table; nothing of a search without trials.
pub(super) fn blocks(search: &SearchResult) -> Vec<Block> {
    if search.trials.is_empty() {
        return Vec::new();
    }
    let mut blocks = numbered(vec![vec![Some(figure(search))]]);
    let table = Block::Table(table(search));
    blocks.extend(Block::folded("Each trial", vec![table]));
    blocks
}

fn figure(search: &SearchResult) -> CaptionedFigure {
    let mut layers: Vec<Layer> = Vec::new();
    for outcome in OUTCOMES {
        let of_outcome = search.trials.iter().filter(|one| one.outcome == outcome);
        let points: Vec<_> = of_outcome
            .map(|one| (one.rate_bps as f64, one.loss, Some((one.low, one.high))))
            .collect();
        if !points.is_empty() {
            layers.push(Layer::Intervals {
                name: outcome.in_text().to_owned(),
                points,
            });
        }
    }
    layers.push(Layer::Rule {
        at: search.loss_limit,
        label: "loss that is allowed".to_owned(),
    });
    layers.extend(search.found.rate_bps.map(|rate| Layer::Event {
        at: rate as f64,
        label: "highest rate".to_owned(),
    }));
    let rates = || search.trials.iter().map(|one| one.rate_bps as f64);
    let (low, high) = (
        rates().fold(f64::INFINITY, f64::min),
        rates().fold(0.0, f64::max),
    );
    let scale = if high >= low * MIN_LOG_RATIO {
        Scale::Log
    } else {
        Scale::Linear
    };
    let figure = Figure {
        title: "Loss at each rate that was tried".to_owned(),
        description: "The part of the datagrams that was lost at each rate, with its interval."
            .to_owned(),
        x: Axis::new("rate of payload a flow", AxisQuantity::Rate, scale),
        y: Axis::linear("lost", AxisQuantity::Percent).from_zero(),
        layers,
        size: Figure::SIZE,
        note: None,
    };
    CaptionedFigure::new("trials", figure, caption(search))
}

fn caption(search: &SearchResult) -> String {
    let trials = count(search.trials.len() as u64, "trial");
    let limit = about(search.loss_limit, Unit::Share);
    let confidence = about(search.confidence, Unit::Share);
    format!(
        "{trials}; at most {limit} of the datagrams may be lost. Bars: {confidence} intervals (Wilson) over all trials of a rate."
    )
}

fn table(search: &SearchResult) -> Table {
    let row = |trial: &SearchTrial| {
        let mark = match trial.outcome {
            TrialOutcome::Held => Mark::Holds,
            TrialOutcome::Failed | TrialOutcome::Queueing => Mark::Fails,
            TrialOutcome::Unreached | TrialOutcome::Undecided => Mark::Open,
        };
        let cells = vec![
            Cell::new(trial.sent.to_string()),
            Cell::new(trial.lost.to_string()),
            Cell {
                beside: Some(span(trial.low, trial.high, Unit::Share)),
                ..Cell::new(about(trial.loss, Unit::Share))
            },
            Cell {
                mark: Some(mark),
                ..Cell::new(trial.outcome.in_text())
            },
        ];
        (about(trial.rate_bps as f64, Unit::BitPerSecond), cells)
    };
    let mut columns = ["sent", "lost", "loss"].map(TableColumn::number).to_vec();
    columns.push(TableColumn::words("outcome"));
    let more = search.trials.len().saturating_sub(MAX_TRIALS);
    Table {
        caption: "The trials in their order".to_owned(),
        corner: "rate".to_owned(),
        columns,
        rows: search.trials.iter().take(MAX_TRIALS).map(row).collect(),
        note: (more > 0).then(|| format!("{} are in the data.", count(more as u64, "more trial"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::search::SearchOutcome;

    fn trial(rate_bps: u64, lost: u64, outcome: TrialOutcome) -> SearchTrial {
        SearchTrial {
            rate_bps,
            sent: 1000,
            lost,
            loss: lost as f64 / 1000.0,
            low: 0.0,
            high: 0.1,
            outcome,
        }
    }

    #[test]
    fn every_outcome_is_a_series_and_the_result_is_marked() {
        let search = SearchResult {
            loss_limit: 0.01,
            confidence: 0.95,
            found: SearchOutcome {
                rate_bps: Some(50_000_000),
                failed_bps: Some(51_000_000),
                sender_bound: false,
                undecided: false,
            },
            trials: vec![
                trial(1_000_000, 0, TrialOutcome::Held),
                trial(100_000_000, 500, TrialOutcome::Failed),
                trial(50_000_000, 2, TrialOutcome::Held),
            ],
        };
        let drawn = figure(&search).figure;
        assert_eq!(drawn.x.scale, Scale::Log);
        let names: Vec<&str> = drawn
            .layers
            .iter()
            .map(|layer| match layer {
                Layer::Intervals { name, .. } => name.as_str(),
                Layer::Rule { label, .. } | Layer::Event { label, .. } => label.as_str(),
                _ => "another",
            })
            .collect();
        let expected = ["held", "failed", "loss that is allowed", "highest rate"];
        assert_eq!(names, expected);
        let rows = table(&search).rows;
        assert_eq!((rows.len(), rows[1].1[3].text.as_str()), (3, "failed"));
        assert!(
            blocks(&SearchResult {
                trials: Vec::new(),
                ..search
            })
            .is_empty()
        );
    }
}
