//! The formats of exports.

/// The format of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportFormat {
    /// A report for people in one file, without scripts or other files.
    Html,
    /// A report for people as text with tables.
    Markdown,
    /// All values, a row each.
    Csv,
    /// The document.
    Json,
    /// The figures.
    Svg,
}
