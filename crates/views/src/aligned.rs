//! Tables of text whose columns are as wide as their widest cells.

use unicode_width::UnicodeWidthStr;

/// The side to which the cells of a column are aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Names.
    Left,
    /// Numbers.
    Right,
}

/// The lines of a table with two blanks between columns and none at the end of a line. A row may lack its last cells; columns beyond the
/// alignments are aligned as the last one.
#[must_use]
pub fn aligned<Row: AsRef<[String]>>(rows: &[Row], alignments: &[Alignment]) -> Vec<String> {
    let rows = rows.iter().map(AsRef::as_ref);
    let mut widths: Vec<usize> = Vec::new();
    for row in rows.clone() {
        widths.resize(widths.len().max(row.len()), 0);
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = cell.width().max(*width);
        }
    }
    let last = alignments.last().copied().unwrap_or(Alignment::Left);
    let line = |row: &[String]| {
        let mut line = String::new();
        for (column, (cell, width)) in row.iter().zip(&widths).enumerate() {
            if column > 0 {
                line += "  ";
            }
            let blanks = " ".repeat(width - cell.width());
            match alignments.get(column).unwrap_or(&last) {
                Alignment::Left => line += &format!("{cell}{blanks}"),
                Alignment::Right => line += &format!("{blanks}{cell}"),
            }
        }
        line.truncate(line.trim_end().len());
        line
    };
    rows.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_aligned_to_the_left_and_numbers_to_the_right() {
        let rows = [["", "n"], ["goodput", "10"], ["東京", "7"]];
        let rows = rows.map(|row| row.map(str::to_owned));
        assert_eq!(
            aligned(&rows, &[Alignment::Left, Alignment::Right]),
            ["          n", "goodput  10", "東京      7"]
        );
        let short = [vec!["a".to_owned()], vec!["b".to_owned(), "c".to_owned()]];
        assert_eq!(aligned(&short, &[Alignment::Right]), ["a", "b  c"]);
    }
}
