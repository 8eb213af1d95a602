//! The rows below the panels: flows, hops, message sizes, trials, transfers, or the result.

use super::area::write;
use super::summary::rate;
use super::theme::Theme;
use crate::model::{FlowHistory, FlowPoint, Model};
use crate::state::ViewState;
use caudal_core::plan::Direction;
use caudal_core::quantity::Unit;
use caudal_views::interval_table::Detail;
use caudal_views::list::kind_view;
use caudal_views::text::{bits, bytes, percent, time_us};
use caudal_views::text_form::TextForm;
use caudal_views::width::LineWidth;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;

/// The columns from which on a row has a small chart of its flow.
const CHART_COLUMNS: u16 = 110;
/// The columns of that chart.
const CHART_WIDTH: usize = 20;
/// The heights of a character's part.
const EIGHTHS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

/// The header and the rows of the table, each as one line.
pub(super) struct TableRows {
    pub(super) header: String,
    pub(super) rows: Vec<String>,
}

impl TableRows {
    /// The rows that go with the state of a test.
    pub(super) fn of(model: &Model, state: &ViewState, columns: u16) -> Self {
        let is_at_end = state.until_s.is_none();
        if let Some(run) = model.run.as_deref().filter(|_| is_at_end) {
            let width = LineWidth::of_columns(usize::from(columns));
            let form = TextForm {
                quiet: false,
                detail: Detail::Usual,
                size_columns: false,
                width,
            };
            let lines = kind_view(run.kind()).closing(run, form);
            let text: Vec<String> = lines.iter().map(|line| line.text(width)).collect();
            return Self {
                header: "result".to_owned(),
                rows: text
                    .iter()
                    .flat_map(|text| text.lines().map(str::to_owned))
                    .collect(),
            };
        }
        if model.path.is_some() {
            hop_rows(model)
        } else if !model.flows.is_empty() {
            flow_rows(model, state, columns)
        } else if !model.trials.is_empty() {
            trial_rows(model)
        } else if !model.sizes.is_empty() {
            size_rows(model)
        } else if !model.transfers.is_empty() {
            Self {
                header: "transfers".to_owned(),
                rows: model.transfers.clone(),
            }
        } else {
            Self {
                header: String::new(),
                rows: model.lines.clone(),
            }
        }
    }

    /// Draws the table from its `first` row on.
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect, first: usize) {
        write(buffer, area, (0, 0), &self.header, Theme::title());
        let room = usize::from(area.height.saturating_sub(1));
        let first = first.min(self.rows.len().saturating_sub(room.max(1)));
        for (place, row) in self.rows.iter().skip(first).take(room).enumerate() {
            write(buffer, area, (0, place as u16 + 1), row, Style::new());
        }
        let below = self.rows.len().saturating_sub(first + room);
        if below > 0 && room > 0 {
            let text = format!(" {below} more below (↓) ");
            super::area::write_right(buffer, area, 0, &text, Theme::dim());
        }
    }
}

fn or_dash<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or_else(|| "–".to_owned(), show)
}

fn flow_rows(model: &Model, state: &ViewState, columns: u16) -> TableRows {
    let now_s = state.shown_until_s(model) + 1e-9;
    let has_chart = columns >= CHART_COLUMNS;
    let is_tcp = model
        .flows
        .iter()
        .any(|flow| flow.points.iter().any(|point| point.cwnd_bytes.is_some()));
    let chart = |text: &str| match has_chart {
        true => format!("  {text:<CHART_WIDTH$}"),
        false => String::new(),
    };
    let header = match is_tcp {
        true => format!(
            "{:>4} {:<8}{} {:>14} {:>10} {:>10} {:>10}  limited by",
            "flow",
            "",
            chart("goodput"),
            "now",
            "rtt",
            "cwnd",
            "retransmit"
        ),
        false => format!(
            "{:>4} {:<8}{} {:>14} {:>10} {:>10}",
            "flow",
            "",
            chart("goodput"),
            "now",
            "jitter",
            "lost"
        ),
    };
    let row = |flow: &FlowHistory| {
        let nothing = FlowPoint::default();
        let point = flow.at(now_s).unwrap_or(&nothing);
        let direction = match flow.flow.direction {
            Direction::Up => "up",
            Direction::Down => "down",
        };
        let now = or_dash(point.goodput_bps, |bps| rate(bps, state.unit));
        let begin = format!(
            "{:>4} {direction:<8}{} {now:>14}",
            flow.flow.id,
            chart(&sparkline(flow, now_s))
        );
        match is_tcp {
            true => format!(
                "{begin} {:>10} {:>10} {:>10}  {}",
                or_dash(point.rtt_us, |us| time_us(f64::from(us))),
                or_dash(point.cwnd_bytes, bytes),
                or_dash(point.retransmitted_bytes, bytes),
                point.limited_by.unwrap_or("–")
            ),
            false => format!(
                "{begin} {:>10} {:>10}",
                or_dash(point.jitter_us, time_us),
                or_dash(point.lost, |lost| lost.to_string())
            ),
        }
    };
    TableRows {
        header,
        rows: model.flows.iter().map(row).collect(),
    }
}

/// The latest goodputs of a flow as characters of eight heights.
fn sparkline(flow: &FlowHistory, now_s: f64) -> String {
    let shown = flow.points.iter().filter(|point| point.end_s <= now_s);
    let goodputs: Vec<f64> = shown
        .map(|point| point.goodput_bps.unwrap_or(0.0))
        .collect();
    let latest = &goodputs[goodputs.len().saturating_sub(CHART_WIDTH)..];
    let highest = latest.iter().copied().fold(0.0, f64::max);
    let character = |value: &f64| {
        if *value <= 0.0 || highest <= 0.0 {
            return ' ';
        }
        let eighth = (value / highest * 8.0).ceil() as usize;
        EIGHTHS[eighth.clamp(1, 8) - 1]
    };
    latest.iter().map(character).collect()
}

fn hop_rows(model: &Model) -> TableRows {
    let Some(round) = &model.path else {
        return TableRows {
            header: String::new(),
            rows: Vec::new(),
        };
    };
    let header = format!(
        "{:>3} {:<32} {:>7} {:>10} {:>10} {:>10}  {}",
        "hop", "address", "lost", "min", "p50", "max", "capacity of the link to it"
    );
    let time = |ms: Option<f64>| or_dash(ms, |ms| time_us(ms * 1e3));
    let rows = round.hops.iter().map(|hop| {
        let address = hop.address.map(|address| address.to_string());
        let name = hop.name.as_ref().map(ToString::to_string);
        let shown = name.or(address).unwrap_or_else(|| "–".to_owned());
        let lost = (hop.probes > 0).then(|| hop.unanswered as f64 / hop.probes as f64);
        let rtt = hop.rtt_ms.as_ref();
        let link = round.links.iter().find(|link| link.ttl == hop.ttl);
        let capacity = link.and_then(|link| link.capacity_and_interval().0);
        format!(
            "{:>3} {:<32} {:>7} {:>10} {:>10} {:>10}  {}",
            hop.ttl,
            caudal_views::text::truncated(&shown, 32),
            or_dash(lost, percent),
            time(rtt.map(|rtt| rtt.min)),
            time(rtt.map(|rtt| rtt.p50)),
            time(rtt.map(|rtt| rtt.max)),
            capacity.unwrap_or_else(|| "–".to_owned())
        )
    });
    TableRows {
        header,
        rows: rows.collect(),
    }
}

fn size_rows(model: &Model) -> TableRows {
    let row = |size: &caudal_core::event::SizeProgress| {
        format!(
            "{:>6} {:>10} {:>9} {:>10}",
            size.client,
            Unit::Bytes.show(f64::from(size.size_bytes)),
            size.replies,
            time_us(size.mean_us)
        )
    };
    TableRows {
        header: format!(
            "{:>6} {:>10} {:>9} {:>10}",
            "client", "message", "replies", "mean rtt"
        ),
        rows: model.sizes.iter().map(row).collect(),
    }
}

fn trial_rows(model: &Model) -> TableRows {
    let row = |trial: &caudal_core::search::SearchTrial| {
        format!(
            "{:>14} {:>10}  {}",
            bits(trial.rate_bps as f64),
            percent(trial.loss),
            trial.outcome.in_text()
        )
    };
    TableRows {
        header: format!("{:>14} {:>10}  outcome", "rate", "lost"),
        rows: model.trials.iter().map(row).collect(),
    }
}
