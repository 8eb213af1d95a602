//! What a screen has room for: whole panels go where there is less, none shrinks beyond use.

use crate::state::Panel;
use ratatui::layout::Rect;

/// The columns and rows below which one line is all that is shown.
const MIN_SCREEN: (u16, u16) = (60, 12);
/// The columns and rows from which on all panels are shown.
const FULL_SCREEN: (u16, u16) = (100, 24);
/// The rows of a panel that can be read: a title and four rows of values.
const MIN_PANEL_ROWS: u16 = 5;
/// The rows of the smallest table: a title and two rows.
const MIN_TABLE_ROWS: u16 = 3;

/// The parts of a screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ScreenLayout {
    /// The test in a line.
    pub(super) headline: Rect,
    /// The numbers of now.
    pub(super) numbers: Rect,
    /// The panels that are shown, from the top.
    pub(super) panels: Vec<(Panel, Rect)>,
    /// The keys.
    pub(super) keys: Rect,
}

impl ScreenLayout {
    /// The parts of a screen that shows these panels; `None` where it has room for one line only.
    ///
    /// `rows` is the number of rows that the table would fill.
    pub(super) fn of(
        screen: Rect,
        wanted: &[Panel],
        expanded: Option<Panel>,
        rows: usize,
    ) -> Option<Self> {
        if screen.width < MIN_SCREEN.0 || screen.height < MIN_SCREEN.1 {
            return None;
        }
        let line = |row: u16| Rect::new(screen.x, screen.y + row, screen.width, 1);
        let body = Rect::new(screen.x, screen.y + 3, screen.width, screen.height - 4);
        let shown = match expanded.filter(|panel| wanted.contains(panel)) {
            Some(panel) => vec![panel],
            None => Self::chosen(screen, body.height, wanted),
        };
        Some(Self {
            headline: line(0),
            numbers: line(1),
            panels: divided(body, &shown, rows),
            keys: line(screen.height - 1),
        })
    }

    /// The panels that a screen has room for.
    fn chosen(screen: Rect, height: u16, wanted: &[Panel]) -> Vec<Panel> {
        let is_full = screen.width >= FULL_SCREEN.0 && screen.height >= FULL_SCREEN.1;
        let mut shown = wanted.to_vec();
        if !is_full && wanted.contains(&Panel::Latency) && wanted.len() > 2 {
            shown.retain(|panel| *panel != Panel::Loss);
        }
        // What matters least goes first.
        for panel in [Panel::Loss, Panel::Rows, Panel::Latency] {
            if shown.len() > 1 && needed(&shown) > height {
                shown.retain(|one| *one != panel);
            }
        }
        shown
    }
}

/// The rows that panels need.
fn needed(panels: &[Panel]) -> u16 {
    let rows = |panel: &Panel| match panel {
        Panel::Rows => MIN_TABLE_ROWS,
        _ => MIN_PANEL_ROWS,
    };
    panels.iter().map(rows).sum()
}

/// An area divided among panels: the table gets what it fills, at most a third unless it is alone; the others share the rest.
fn divided(body: Rect, panels: &[Panel], rows: usize) -> Vec<(Panel, Rect)> {
    let has_table = panels.contains(&Panel::Rows);
    let others = panels.len() - usize::from(has_table);
    let wanted = u16::try_from(rows).unwrap_or(u16::MAX).saturating_add(1);
    let table = match (has_table, others) {
        (false, _) => 0,
        (true, 0) => body.height,
        (true, _) => wanted.clamp(MIN_TABLE_ROWS, (body.height / 3).max(MIN_TABLE_ROWS)),
    };
    let mut left = body.height.saturating_sub(table);
    let mut weight: u16 = panels.iter().map(|panel| share(*panel)).sum();
    let mut y = body.y;
    let mut placed = Vec::with_capacity(panels.len());
    for panel in panels {
        let height = if *panel == Panel::Rows {
            table
        } else {
            let height = left * share(*panel) / weight.max(1);
            weight -= share(*panel);
            left -= height;
            height
        };
        placed.push((*panel, Rect::new(body.x, y, body.width, height)));
        y += height;
    }
    placed
}

const fn share(panel: Panel) -> u16 {
    match panel {
        Panel::Throughput => 4,
        Panel::Latency => 3,
        Panel::Loss => 2,
        Panel::Rows => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(columns: u16, rows: u16) -> Option<Vec<Panel>> {
        let screen = Rect::new(0, 0, columns, rows);
        let layout = ScreenLayout::of(screen, &Panel::ALL, None, 4)?;
        Some(layout.panels.iter().map(|(panel, _)| *panel).collect())
    }

    #[test]
    fn whole_panels_go_where_there_is_less_room() {
        assert_eq!(shown(120, 40), Some(Panel::ALL.to_vec()));
        let small = [Panel::Throughput, Panel::Latency, Panel::Rows];
        assert_eq!(shown(80, 24), Some(small.to_vec()));
        assert_eq!(shown(80, 14), Some(vec![Panel::Throughput, Panel::Latency]));
        assert_eq!(shown(60, 12), Some(vec![Panel::Throughput]));
        assert_eq!(shown(59, 40), None);
        assert_eq!(shown(120, 11), None);
    }

    #[test]
    fn panels_fill_the_screen_without_overlap_at_any_size() {
        for columns in [60, 80, 100, 132] {
            for rows in 12..80 {
                for expanded in [None, Some(Panel::Loss), Some(Panel::Rows)] {
                    let screen = Rect::new(0, 0, columns, rows);
                    let layout = ScreenLayout::of(screen, &Panel::ALL, expanded, 9).unwrap();
                    let mut y = 3;
                    for (panel, area) in &layout.panels {
                        assert_eq!(area.y, y, "{columns}x{rows} {panel:?}");
                        assert!(area.height >= 3, "{columns}x{rows} {panel:?}");
                        y += area.height;
                    }
                    assert_eq!(y, rows - 1, "{columns}x{rows}");
                }
            }
        }
    }
}
