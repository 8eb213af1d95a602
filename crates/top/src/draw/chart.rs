//! A quantity over time in rows of characters: filled from zero, or as a band.

use super::area::{write, write_right};
use super::theme::Theme;
use crate::model::{Band, ScreenColumn, TestPoint, columns};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};

/// The columns of the values beside a chart, the same for all so that they have one axis of time.
pub(super) const SCALE_COLUMNS: u16 = 13;
/// The heights of a part of a character, from an eighth on.
const EIGHTHS: [&str; 8] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"];

/// How values are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChartForm {
    /// Filled from zero to the mean.
    Filled,
    /// From the smallest to the largest, with the middle marked.
    Band,
}

/// A chart of one quantity.
pub(super) struct Chart<'a> {
    /// Its title.
    pub(super) title: &'a str,
    /// The intervals.
    pub(super) points: &'a [TestPoint],
    /// The times shown, s.
    pub(super) range_s: (f64, f64),
    /// The quantity.
    pub(super) value: &'a dyn Fn(&TestPoint) -> Option<Band>,
    /// The text of a value.
    pub(super) show: &'a dyn Fn(f64) -> String,
    /// The lowest top of the scale.
    pub(super) min_top: f64,
    /// How it is drawn.
    pub(super) form: ChartForm,
    /// Its colour.
    pub(super) style: Style,
    /// The moments marked, s.
    pub(super) marks_s: &'a [f64],
}

impl Chart<'_> {
    /// Draws the chart, its title in the first row.
    pub(super) fn draw(&self, buffer: &mut Buffer, area: Rect) {
        if area.height < 2 || area.width <= SCALE_COLUMNS + 1 {
            return;
        }
        write(buffer, area, (0, 0), self.title, Theme::title());
        let plot = Rect::new(
            area.x + SCALE_COLUMNS,
            area.y + 1,
            area.width - SCALE_COLUMNS,
            area.height - 1,
        );
        let count = usize::from(plot.width);
        let columns = columns(self.points, self.range_s, count, self.value);
        let highest = columns
            .iter()
            .flatten()
            .map(|column| match self.form {
                ChartForm::Filled => column.band.middle,
                ChartForm::Band => column.band.high,
            })
            .filter(|value| value.is_finite())
            .fold(0.0, f64::max);
        let top = round_up(highest.max(self.min_top));
        self.draw_scale(buffer, area, plot, top);
        self.draw_marks(buffer, plot);
        for (place, column) in columns.iter().enumerate() {
            if let Some(column) = column {
                self.draw_column(buffer, plot, place, column, top);
            }
        }
    }

    fn draw_scale(&self, buffer: &mut Buffer, area: Rect, plot: Rect, top: f64) {
        let scale = Rect::new(area.x, plot.y, SCALE_COLUMNS - 1, plot.height);
        write_right(buffer, scale, 0, &trimmed(&(self.show)(top)), Theme::dim());
        if plot.height >= 5 {
            let middle = (plot.height - 1) / 2;
            let share = 1.0 - (f64::from(middle) + 0.5) / f64::from(plot.height);
            let value = top * (share * 2.0).round() / 2.0;
            if value > 0.0 && value < top {
                write_right(
                    buffer,
                    scale,
                    middle,
                    &trimmed(&(self.show)(value)),
                    Theme::dim(),
                );
            }
        }
        if plot.height >= 2 {
            write_right(buffer, scale, plot.height - 1, "0", Theme::dim());
        }
        for row in 0..plot.height {
            let at = Rect::new(plot.x - 1, plot.y, 1, plot.height);
            write(buffer, at, (0, row), "│", Theme::dim());
        }
    }

    fn draw_marks(&self, buffer: &mut Buffer, plot: Rect) {
        let (from_s, to_s) = self.range_s;
        for &mark_s in self.marks_s {
            let place = (mark_s - from_s) / (to_s - from_s) * f64::from(plot.width);
            if place >= 0.0 && place < f64::from(plot.width) {
                for row in 0..plot.height {
                    write(buffer, plot, (place as u16, row), "┃", Theme::warning());
                }
            }
        }
    }

    fn draw_column(
        &self,
        buffer: &mut Buffer,
        plot: Rect,
        place: usize,
        column: &ScreenColumn,
        top: f64,
    ) {
        let rows = f64::from(plot.height);
        let height = |value: f64| (value / top * rows).clamp(0.0, rows);
        let style = match column.is_omitted {
            true => self.style.add_modifier(Modifier::DIM),
            false => self.style,
        };
        let place = place as u16;
        let mut set = |row_from_bottom: u16, symbol: &str, style: Style| {
            let row = plot.height - 1 - row_from_bottom;
            write(buffer, plot, (place, row), symbol, style);
        };
        match self.form {
            ChartForm::Filled => {
                let filled = height(column.band.middle);
                for row in 0..plot.height {
                    let part = filled - f64::from(row);
                    if part >= 1.0 {
                        set(row, "█", style);
                    } else if part > 0.0 {
                        let eighth = (part * 8.0).round() as usize;
                        if eighth > 0 {
                            set(row, EIGHTHS[eighth - 1], style);
                        } else if row == 0 && column.band.middle > 0.0 {
                            // What is not zero is seen.
                            set(row, EIGHTHS[0], style);
                        }
                    }
                }
            }
            ChartForm::Band => {
                let row_of = |value: f64| (height(value).ceil() as u16).clamp(1, plot.height) - 1;
                let (low, high) = (row_of(column.band.low), row_of(column.band.high));
                for row in low..=high {
                    set(row, "│", style.add_modifier(Modifier::DIM));
                }
                set(row_of(column.band.middle), "━", style);
            }
        }
    }
}

/// A value without the zeros at the end of its number, as scales are labelled: `1.5 %` for `1.500 %`.
fn trimmed(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    let number = match number.contains('.') {
        true => number.trim_end_matches('0').trim_end_matches('.'),
        false => number,
    };
    format!("{number} {unit}").trim_end().to_owned()
}

/// The next of 1, 2 and 5 times a power of ten, or finer steps between, at or above a value.
fn round_up(value: f64) -> f64 {
    if value <= 0.0 || !value.is_finite() {
        return 1.0;
    }
    let power = 10_f64.powf(value.log10().floor());
    let steps = [1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0];
    let step = steps
        .into_iter()
        .find(|step| step * power >= value * 0.999_999);
    step.unwrap_or(10.0) * power
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_of_scales_have_no_idle_zeros() {
        for (text, expected) in [
            ("1.500 %", "1.5 %"),
            ("12.00 ms", "12 ms"),
            ("500 Mbit/s", "500 Mbit/s"),
            ("0", "0"),
        ] {
            assert_eq!(trimmed(text), expected);
        }
    }

    #[test]
    fn scales_end_at_round_values_above_the_highest() {
        for (value, top) in [
            (47.8, 50.0),
            (50.0, 50.0),
            (1.01e9, 1.2e9),
            (0.003, 0.003),
            (9.9, 10.0),
            (0.0, 1.0),
            (f64::NAN, 1.0),
            (f64::INFINITY, 1.0),
        ] {
            let found = round_up(value);
            assert!((found - top).abs() < 1e-9 * top, "{value}: {found}");
        }
    }
}
