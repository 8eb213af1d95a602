//! The figure of the rates at which interfaces send over time.

use super::time_figure::time_figure;
use crate::export::figures::selection::MAX_SERIES;
use crate::export::page::CaptionedFigure;
use crate::export::wording::{self, about};
use caudal_core::quantity::Unit;
use caudal_experiment::{InterfaceSeries, Trial};
use caudal_plot::{Axis, AxisQuantity, Layer};

/// The rate at which an interface sends, headers included.
struct InterfaceRate {
    /// The node, the interface, and the link between parentheses.
    name: String,
    /// The mean, bit/s.
    mean_bps: f64,
    /// The begin of each step, s, and its rate, bit/s; the last point ends the last step.
    points: Vec<(f64, f64)>,
}

impl InterfaceRate {
    /// The rates between the readings of an interface; `None` without readings.
    fn from_series(series: &InterfaceSeries) -> Option<Self> {
        let counted = series.at_s.iter().zip(&series.tx_bytes);
        let counted: Vec<(f64, u64)> = counted.map(|(at, bytes)| (*at, *bytes)).collect();
        let mut points: Vec<(f64, f64)> = counted
            .windows(2)
            .map(|pair| (pair[0].0, rate_between(pair[0], pair[1])))
            .collect();
        if let (Some(last), Some(end)) = (points.last().copied(), counted.last()) {
            points.push((end.0, last.1));
        }
        let took = counted.last()?.0 - counted.first()?.0;
        Some(Self {
            name: format!("{} {} ({})", series.node, series.interface, series.link),
            mean_bps: if took > 0.0 {
                sent_bytes(series) * 8.0 / took
            } else {
                0.0
            },
            points,
        })
    }
}

/// The rates at which interfaces send over time: those named, else the busier end of each link.
pub fn interfaces_figure(title: &str, trial: &Trial, names: &[String]) -> Option<CaptionedFigure> {
    let mut rates = trial
        .interfaces
        .iter()
        .filter(|one| {
            if names.is_empty() {
                is_busier_end(one, &trial.interfaces)
            } else {
                is_named(one, names)
            }
        })
        .map(InterfaceRate::from_series)
        .collect::<Option<Vec<InterfaceRate>>>()?;
    rates.sort_by(|a, b| b.mean_bps.total_cmp(&a.mean_bps));
    let more = rates.len().saturating_sub(MAX_SERIES);
    rates.truncate(MAX_SERIES);
    if rates.is_empty() {
        return None;
    }
    let caption = interfaces_caption(&rates, more);
    let layers = rates
        .into_iter()
        .map(|InterfaceRate { name, points, .. }| Layer::Step { name, points })
        .collect();
    let y = Axis::linear("sent by the interface", AxisQuantity::Rate).from_zero();
    let figure = time_figure(title, "Bits sent per second, headers included", y, layers);
    Some(CaptionedFigure::new("interfaces", figure, caption))
}

/// `true` when the node, the interface, the link, or `node.interface` is among the names.
fn is_named(series: &InterfaceSeries, names: &[String]) -> bool {
    let whole = format!("{}.{}", series.node, series.interface);
    names
        .iter()
        .any(|name| [&series.node, &series.interface, &series.link, &whole].contains(&name))
}

/// `true` when no other interface of the link sent more. Both ends of a link count the same frames.
fn is_busier_end(series: &InterfaceSeries, all: &[InterfaceSeries]) -> bool {
    let sent = sent_bytes(series);
    !all.iter().any(|other| {
        other.link == series.link
            && (&other.node, &other.interface) != (&series.node, &series.interface)
            && sent_bytes(other) > sent
    })
}

/// The bytes sent between the first reading and the last.
fn sent_bytes(series: &InterfaceSeries) -> f64 {
    let (first, last) = (series.tx_bytes.first(), series.tx_bytes.last());
    let (first, last) = (first.copied().unwrap_or(0), last.copied().unwrap_or(0));
    last.saturating_sub(first) as f64
}

/// The rate between two readings of a time in s and a count of bytes, bit/s; NaN where the count went back.
fn rate_between((from_s, before): (f64, u64), (to_s, after): (f64, u64)) -> f64 {
    let took = to_s - from_s;
    if took > 0.0 && after >= before {
        (after - before) as f64 * 8.0 / took
    } else {
        f64::NAN
    }
}

/// The sentence on the mean rates, and on the number of interfaces that are not drawn.
fn interfaces_caption(rates: &[InterfaceRate], more: usize) -> String {
    let means: Vec<String> = rates
        .iter()
        .map(|one| format!("{} {}", one.name, about(one.mean_bps, Unit::BitPerSecond)))
        .collect();
    let mut caption = format!("On average {} were sent.", wording::list(&means));
    if more > 0 {
        caption += &format!(" {more} quieter interfaces are not drawn.");
    }
    caption
}
