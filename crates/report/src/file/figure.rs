//! The figure of file transfers: where the time of one went, or the goodput of several beside one another.

use crate::export::page::CaptionedFigure;
use crate::export::wording::{about, count, sentence};
use caudal_core::quantity::Unit;
use caudal_core::transfer::{FileReport, TransferCellReport};
use caudal_plot::{Axis, AxisQuantity, Bar, Figure, Layer};

/// Maximum number of contents that are drawn beside one another.
const MAX_CONTENTS: usize = 16;
/// Maximum number of transfers that have a point each.
const MAX_POINTS: usize = 20;
/// Height of a bar with its distance from the next, and of everything around the bars, px.
const ROW: (u32, u32) = (26, 150);

/// The figure; `None` where nothing was transferred, or too much to be drawn.
pub(super) fn figure(report: &FileReport) -> Option<CaptionedFigure> {
    match report.cells.as_slice() {
        [one] => times_figure(one),
        several => goodput_figure(report, several),
    }
}

fn times_figure(cell: &TransferCellReport) -> Option<CaptionedFigure> {
    cell.time_s?;
    let parts: Vec<(&str, f64)> = cell.times.parts().collect();
    let (longest, most_s) = *parts
        .iter()
        .max_by(|one, other| one.1.total_cmp(&other.1))?;
    let bars = parts.iter().map(|(_, s)| Some(Bar::new(*s))).collect();
    let names = parts.iter().map(|(name, _)| (*name).to_owned()).collect();
    let figure = bar_figure(
        "Where the time went",
        names,
        Axis::linear("time", AxisQuantity::Seconds).from_zero(),
        vec![("mean", bars)],
    );
    let caption = sentence(&format!(
        "the longest part is {longest}: {}",
        about(most_s, Unit::Seconds)
    ));
    Some(CaptionedFigure::new("times", figure, caption))
}

fn goodput_figure(report: &FileReport, cells: &[TransferCellReport]) -> Option<CaptionedFigure> {
    let mut contents: Vec<String> = Vec::new();
    let mut protocols: Vec<String> = Vec::new();
    for cell in cells {
        let (content, protocol) = (cell.cell.content(), cell.cell.name());
        if !contents.contains(&content) {
            contents.push(content);
        }
        if !protocols.contains(&protocol) {
            protocols.push(protocol);
        }
        if contents.len() > MAX_CONTENTS {
            return None;
        }
    }
    let bar = |content: &String, protocol: &String| {
        let is_meant = |cell: &&TransferCellReport| {
            cell.cell.content() == *content && cell.cell.name() == *protocol
        };
        let at = cells.iter().position(|cell| is_meant(&cell))?;
        let value = cells[at].goodput_bps?;
        let of_cell = report.runs.iter().filter(|run| run.cell as usize == at);
        let samples: Vec<f64> = of_cell
            .filter(|run| run.result.verified)
            .filter_map(|run| run.result.goodput_bps)
            .collect();
        let is_shown = (2..=MAX_POINTS).contains(&samples.len());
        Some(Bar {
            samples: if is_shown { samples } else { Vec::new() },
            ..Bar::new(value)
        })
    };
    let layers: Vec<(&str, Vec<Option<Bar>>)> = protocols
        .iter()
        .map(|protocol| {
            let bars = contents.iter().map(|content| bar(content, protocol));
            (protocol.as_str(), bars.collect())
        })
        .collect();
    let has_bars = layers
        .iter()
        .any(|(_, bars)| bars.iter().any(Option::is_some));
    if !has_bars {
        return None;
    }
    let number = contents.len();
    let figure = bar_figure(
        "Goodput",
        contents,
        Axis::linear("goodput", AxisQuantity::Rate).from_zero(),
        layers,
    );
    let contents = count(number as u64, "content");
    let protocols = count(protocols.len() as u64, "protocol");
    let caption = sentence(&format!(
        "{contents} by {protocols}: the bytes of a file by the time it took"
    ));
    Some(CaptionedFigure::new("goodput", figure, caption))
}

/// Horizontal bars of several series by category.
fn bar_figure(
    title: &str,
    names: Vec<String>,
    value: Axis,
    layers: Vec<(&str, Vec<Option<Bar>>)>,
) -> Figure {
    let rows = u32::try_from(names.len() * layers.len()).unwrap_or(u32::MAX);
    let (row, around) = ROW;
    let layers = layers.into_iter().map(|(name, bars)| Layer::Bars {
        name: name.to_owned(),
        bars,
    });
    Figure {
        title: title.to_owned(),
        description: format!("{title}, a bar each."),
        x: value,
        y: Axis::categories("", names),
        layers: layers.collect(),
        size: (Figure::SIZE.0, around + row.saturating_mul(rows.min(100))),
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::TransferVia;
    use caudal_core::transfer::TransferCell;
    use serde_json::{Value, json};

    fn cell(content: &str, goodput_bps: Option<f64>) -> Value {
        let cell = TransferCell {
            via: TransferVia::Quic,
            size_bytes: None,
            file: Some(content.into()),
        };
        let mut cell = serde_json::to_value(cell).unwrap();
        cell["n"] = json!(u64::from(goodput_bps.is_some()));
        cell["times"] = json!({"handshake_ns": 20_000_000, "transfer_ns": 400_000_000});
        if let Some(bps) = goodput_bps {
            let s = 8e6 / bps;
            cell["goodput_bps"] = json!(bps);
            cell["time_s"] = json!(caudal_stats::Estimate::single(s));
        }
        cell
    }

    fn report(cells: &[Value]) -> FileReport {
        serde_json::from_value(json!({
            "seed": 1, "discarded": 0, "goal": {"error": 0.1, "confidence": 0.95}, "cells": cells, "runs": [],
        }))
        .unwrap()
    }

    #[test]
    fn one_transfer_shows_where_its_time_went_and_several_their_goodput() {
        let one = figure(&report(&[cell("a", Some(8e6))])).unwrap();
        assert_eq!(one.caption, "The longest part is transfer: 400 ms.");
        let two = report(&[cell("a", Some(8e6)), cell("b", Some(4e6))]);
        let Layer::Bars { bars, .. } = &figure(&two).unwrap().figure.layers[0] else {
            panic!("another layer");
        };
        let values: Vec<f64> = bars.iter().flatten().map(|bar| bar.value).collect();
        assert_eq!(values, [8e6, 4e6]);
        assert!(figure(&report(&[cell("a", None)])).is_none());
        let many: Vec<Value> = (0..40)
            .map(|nth| cell(&nth.to_string(), Some(1e6)))
            .collect();
        assert!(figure(&report(&many)).is_none());
    }
}
