//! Who starves whom, and from which load on.

use super::super::page::{Block, Cell, Column, Mark, Table};
use super::super::pictures::sentence;
use super::super::words::{self, about};
use super::estimate;
use caudal_experiment::findings::Findings;
use caudal_stats::Estimate;

pub(super) fn contention(findings: &Findings) -> Vec<Block> {
    let mut blocks = Vec::new();
    for group in &findings.contention {
        blocks.push(Block::Text(sentence(&group.verdict)));
        if group.steps.is_empty() {
            continue;
        }
        let group_words = if group.group.is_empty() {
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
                estimate(known.as_ref(), &format!("{}.{metric}", group.victim), unit)
            };
            let cells = vec![
                of_victim("goodput", &step.goodput, "bit/s"),
                of_victim("share", &step.share, "share"),
                of_victim("harm", &step.harm, "ratio"),
                of_victim("starved", &step.starved, "share"),
                Cell::of(longest),
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
        .map(Column::number)
        .to_vec();
        columns.push(Column::words("starves"));
        blocks.push(Block::Table(Table {
            caption: format!(
                "{} by {}{group_words}",
                group.victim,
                words::metric(&group.load)
            ),
            corner: words::metric(&group.load),
            columns,
            rows: rows.collect(),
            note: None,
        }));
    }
    if !blocks.is_empty() {
        blocks.push(Block::Text(format!(
            "Fair share: max–min share of the link. Harm: the part of what the flow reaches alone that the others \
             take from it (0 none, 1 all). Time starved: intervals below a tenth of the fair share. Intervals: {}.",
            words::level(findings.confidence)
        )));
    }
    blocks
}
