//! The loads at which flows starve.

use super::numbers::estimate_cell;
use crate::export::page::{Block, Cell, Mark, Table, TableColumn};
use crate::export::wording::{self, about, sentence};
use caudal_experiment::findings::Findings;
use caudal_stats::Estimate;

/// The starvation of each victim over the load, in a sentence and a table.
pub(super) fn starvation(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in &findings.contention {
        blocks.push(Block::Text(sentence(&group.verdict)));
        if group.steps.is_empty() {
            continue;
        }
        let group_name = if group.group.is_empty() {
            String::new()
        } else {
            format!(" ({})", group.group)
        };
        let rows = group.steps.iter().map(|step| {
            let answer = match step.starves {
                Some(true) => ("starves", Mark::Fails),
                Some(false) => ("no", Mark::Holds),
                None => ("cannot tell", Mark::Open),
            };
            let longest = step.longest_s.map_or(String::new(), |longest| {
                about(longest, caudal_core::quantity::Unit::Seconds)
            });
            let of_victim = |metric: &str, known: &Option<Estimate>, unit| {
                estimate_cell(known.as_ref(), &format!("{}.{metric}", group.victim), unit)
            };
            let cells = vec![
                of_victim("goodput", &step.goodput, "bit/s"),
                of_victim("share", &step.share, "share"),
                of_victim("harm", &step.harm, "ratio"),
                of_victim("starved", &step.starved, "share"),
                Cell::new(longest),
                Cell {
                    text: answer.0.to_owned(),
                    beside: None,
                    mark: Some(answer.1),
                },
            ];
            (step.load.clone(), cells)
        });
        let mut columns = [
            "goodput",
            "of its fair share",
            "harm",
            "time starved",
            "longest",
        ]
        .map(TableColumn::number)
        .to_vec();
        columns.push(TableColumn::words("starves"));
        blocks.push(Block::Table(Table {
            caption: format!(
                "{} by {}{group_name}",
                group.victim,
                wording::metric(&group.load)
            ),
            corner: wording::metric(&group.load),
            columns,
            rows: rows.collect(),
            note: None,
        }));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text(format!(
            "Fair share: max–min share of the link. Harm: the part of its solo goodput that the other flows \
             take from it (0 none, 1 all). Time starved: intervals below a tenth of the fair share. Intervals: {}.",
            wording::level(findings.confidence)
        )));
    }
    blocks
}
