//! Sizes of text and margins, in pixels.

/// The font size of the title.
pub(crate) const TITLE_SIZE: f64 = 16.0;
/// The font size of all other text.
pub(crate) const TEXT_SIZE: f64 = 12.0;
/// The height of a line of text as a multiple of its font size.
pub(crate) const LINE_HEIGHT: f64 = 1.35;
/// The width of bold text as a multiple of that of the width table.
pub(crate) const BOLD_WIDTH: f64 = 1.17;
/// The margin around the figure.
pub(crate) const MARGIN: f64 = 16.0;
/// The gap between the plot and its tick labels.
pub(crate) const TICK_GAP: f64 = 8.0;
/// The width from which on a figure has room for its plot to begin at [`PLOT_LEFT`].
pub(crate) const WIDE: f64 = 600.0;
/// The left end of the plot of a wide figure, unless its labels need more room: plots of figures below one another begin at one place.
pub(crate) const PLOT_LEFT: f64 = 108.0;
