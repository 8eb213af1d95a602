//! A test on the screen.

use super::area::{write, write_right};
use super::chart::{Chart, ChartForm, SCALE_COLUMNS};
use super::help::{draw_help, draw_keys};
use super::layout::ScreenLayout;
use super::rows::TableRows;
use super::summary::{loss_is_retransmission, numbers, one_line, progress, rate, time_text};
use super::theme::Theme;
use crate::model::{Band, Model, TestPoint};
use crate::state::{Panel, ViewState};
use caudal_core::plan::PlanKind;
use caudal_views::text::{percent, time_us, truncated};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::Style;
use unicode_width::UnicodeWidthStr;

/// Draws a test as the keys have set it.
pub(crate) fn draw_test(buffer: &mut Buffer, screen: Rect, model: &Model, state: &ViewState) {
    let table = TableRows::of(model, state, screen.width);
    let wanted = wanted_panels(model, &table);
    let Some(layout) = ScreenLayout::of(screen, &wanted, state.expanded, table.rows.len()) else {
        write(
            buffer,
            screen,
            (0, 0),
            &one_line(model, state),
            Style::new(),
        );
        return;
    };
    if state.shows_help {
        draw_help(buffer, screen);
        return;
    }
    let progress = format!("  {}", progress(model, state));
    let room = usize::from(screen.width).saturating_sub(progress.width());
    let headline = truncated(&model.headline, room);
    write(buffer, layout.headline, (0, 0), &headline, Theme::title());
    write_right(buffer, layout.headline, 0, &progress, Theme::title());
    write(
        buffer,
        layout.numbers,
        (0, 0),
        &numbers(model, state),
        Style::new(),
    );
    let range_s = shown_range(model, state);
    let points = model.until(state.shown_until_s(model));
    for (panel, area) in &layout.panels {
        match panel {
            Panel::Rows => table.draw(buffer, *area, state.first_row),
            Panel::Throughput => draw_throughput(buffer, *area, (model, state), points, range_s),
            Panel::Latency => draw_latency(buffer, *area, model, points, range_s),
            Panel::Loss => draw_loss(buffer, *area, model, points, range_s),
        }
    }
    // The axis of time: one for all panels, in the line between the numbers and the panels.
    let has_chart = layout.panels.iter().any(|(panel, _)| *panel != Panel::Rows);
    if has_chart {
        let axis = Rect::new(screen.x, layout.numbers.y + 1, screen.width, 1);
        draw_axis(buffer, axis, range_s, model.began_s);
    }
    draw_keys(buffer, layout.keys, state.note.as_deref());
}

/// The panels that have something to show.
fn wanted_panels(model: &Model, table: &TableRows) -> Vec<Panel> {
    let has = |value: fn(&TestPoint) -> bool| model.points.iter().any(value);
    let is_rtt = matches!(model.kind, Some(PlanKind::Rtt | PlanKind::Stamp));
    let is_path = model.kind == Some(PlanKind::Path) || model.path.is_some();
    let has_rate = has(|point| {
        point.up_bps.is_some() || point.down_bps.is_some() || point.connections_per_s.is_some()
    });
    let mut panels = Vec::new();
    let is_empty = model.points.is_empty() && table.rows.is_empty();
    if has_rate || (is_empty && !is_rtt && !is_path) {
        panels.push(Panel::Throughput);
    }
    if is_rtt || has(|point| point.rtt_us.is_some()) {
        panels.push(Panel::Latency);
    }
    if has(|point| point.loss.is_some()) {
        panels.push(Panel::Loss);
    }
    if is_path || !table.rows.is_empty() {
        panels.push(Panel::Rows);
    }
    panels
}

/// The times that the panels show, s.
pub(crate) fn shown_range(model: &Model, state: &ViewState) -> (f64, f64) {
    let until_s = state.shown_until_s(model);
    match state.window_s {
        Some(window_s) => {
            let to_s = until_s.max(window_s);
            (to_s - window_s, to_s)
        }
        // A test whose length is known has its axis from the start.
        None => (
            0.0,
            model.planned_s.unwrap_or(0.0).max(model.end_s()).max(1.0),
        ),
    }
}

fn single(value: Option<f64>) -> Option<Band> {
    value.map(|value| Band {
        low: value,
        middle: value,
        high: value,
    })
}

fn draw_throughput(
    buffer: &mut Buffer,
    area: Rect,
    (model, state): (&Model, &ViewState),
    points: &[TestPoint],
    range_s: (f64, f64),
) {
    let has = |value: fn(&TestPoint) -> bool| model.points.iter().any(value);
    let show_rate = |bps: f64| rate(bps, state.unit);
    let chart =
        |title, value: &dyn Fn(&TestPoint) -> Option<Band>, style, area, buffer: &mut Buffer| {
            let chart = Chart {
                title,
                points,
                range_s,
                value,
                show: &show_rate,
                min_top: 1000.0,
                form: ChartForm::Filled,
                style,
                marks_s: &model.marks_s,
            };
            chart.draw(buffer, area);
        };
    let upload = |point: &TestPoint| single(point.up_bps);
    let download = |point: &TestPoint| single(point.down_bps);
    if has(|point| point.connections_per_s.is_some()) {
        let connections = Chart {
            title: "connections per second",
            points,
            range_s,
            value: &|point| single(point.connections_per_s),
            show: &|number| format!("{number:.0}"),
            min_top: 1.0,
            form: ChartForm::Filled,
            style: Theme::upload(),
            marks_s: &model.marks_s,
        };
        connections.draw(buffer, area);
        return;
    }
    let (has_up, has_down) = (
        has(|point| point.up_bps.is_some()),
        has(|point| point.down_bps.is_some()),
    );
    // Both on one scale each: halves that can be read, or the direction with more.
    if has_up && has_down && area.height >= 8 {
        let half = area.height / 2;
        let top = Rect::new(area.x, area.y, area.width, half);
        let below = Rect::new(area.x, area.y + half, area.width, area.height - half);
        chart("download", &download, Theme::download(), top, buffer);
        chart("upload", &upload, Theme::upload(), below, buffer);
    } else if has_up && has_down {
        let sum = |point: &TestPoint| {
            single(Some(
                point.up_bps.unwrap_or(0.0) + point.down_bps.unwrap_or(0.0),
            ))
        };
        chart("download + upload", &sum, Theme::upload(), area, buffer);
    } else if has_down {
        chart("download", &download, Theme::download(), area, buffer);
    } else {
        chart("upload", &upload, Theme::upload(), area, buffer);
    }
}

fn draw_latency(
    buffer: &mut Buffer,
    area: Rect,
    model: &Model,
    points: &[TestPoint],
    range_s: (f64, f64),
) {
    let title = match model.kind {
        Some(PlanKind::Connect) => "time to connect",
        _ => "round-trip time",
    };
    let chart = Chart {
        title,
        points,
        range_s,
        value: &|point| point.rtt_us,
        show: &|us| time_us(us),
        min_top: 10.0,
        form: ChartForm::Band,
        style: Theme::latency(),
        marks_s: &model.marks_s,
    };
    chart.draw(buffer, area);
}

fn draw_loss(
    buffer: &mut Buffer,
    area: Rect,
    model: &Model,
    points: &[TestPoint],
    range_s: (f64, f64),
) {
    let title = match (loss_is_retransmission(model), model.kind) {
        (true, _) => "retransmitted",
        (false, Some(PlanKind::Connect)) => "failed",
        (false, _) => "lost",
    };
    let chart = Chart {
        title,
        points,
        range_s,
        value: &|point| single(point.loss),
        show: &|share| percent(share),
        min_top: 0.01,
        form: ChartForm::Filled,
        style: Theme::loss(),
        marks_s: &model.marks_s,
    };
    chart.draw(buffer, area);
}

/// Draws the times under the panels: their start, middle and end.
fn draw_axis(buffer: &mut Buffer, area: Rect, (from_s, to_s): (f64, f64), began_s: Option<f64>) {
    let plot = Rect::new(
        area.x + SCALE_COLUMNS,
        area.y,
        area.width.saturating_sub(SCALE_COLUMNS),
        1,
    );
    let text = |time_s: f64| time_text(time_s, began_s);
    write(buffer, plot, (0, 0), &text(from_s), Theme::dim());
    let middle = text((from_s + to_s) / 2.0);
    let column = (plot.width / 2).saturating_sub(middle.len() as u16 / 2);
    write(buffer, plot, (column, 0), &middle, Theme::dim());
    write_right(buffer, plot, 0, &text(to_s), Theme::dim());
}
