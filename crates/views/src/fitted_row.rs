//! A row of a table that grows, fitted to the terminal: where it is narrow, the columns that matter least are left out.

use crate::width::LineWidth;

/// A cell of a row, aligned to the right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FittedCell {
    text: String,
    /// The columns that it takes, with the gap before it.
    width: usize,
    /// The larger, the earlier it is left out; 0 for never.
    rank: u8,
}

impl FittedCell {
    /// A cell of so many columns, with the gap before it.
    pub(crate) fn new(text: impl Into<String>, width: usize, rank: u8) -> Self {
        let text = text.into();
        Self { text, width, rank }
    }
}

/// The row of these cells in a line of this width. Which are left out follows from their widths alone, so that rows and their header have
/// the same columns.
pub(crate) fn fitted_row(cells: &[FittedCell], width: LineWidth) -> String {
    let room = width.columns().unwrap_or(usize::MAX);
    let taken = |max_rank: u8| -> usize {
        let kept = cells.iter().filter(|cell| cell.rank <= max_rank);
        kept.map(|cell| cell.width).sum()
    };
    let most = cells.iter().map(|cell| cell.rank).max().unwrap_or(0);
    let fits = (0..=most).rev().find(|rank| taken(*rank) <= room);
    let kept = cells.iter().filter(|cell| cell.rank <= fits.unwrap_or(0));
    kept.map(|cell| format!("{:>1$}", cell.text, cell.width))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_the_highest_rank_go_first_and_those_without_one_never() {
        let cells = [
            FittedCell::new("time", 6, 0),
            FittedCell::new("less", 10, 2),
            FittedCell::new("more", 10, 1),
        ];
        let of = |columns: usize| fitted_row(&cells, LineWidth::of_columns(columns));
        // 40 is the narrowest.
        assert_eq!(of(40), "  time      less      more");
        let wide = cells.clone().map(|cell| FittedCell {
            width: cell.width * 2,
            ..cell
        });
        let of = |columns: usize| fitted_row(&wide, LineWidth::of_columns(columns));
        assert_eq!(of(40), format!("{:>12}{:>20}", "time", "more"));
        assert_eq!(of(52).len(), 52);
        assert_eq!(fitted_row(&wide, LineWidth::UNLIMITED).len(), 52);
    }
}
