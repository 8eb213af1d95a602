//! A test network that is up: as a tree and a table of text, and as a drawing.

mod drawing;
mod quantities;
mod stats;
mod tree;

pub use drawing::lab_svg;
pub use stats::lab_stats;
pub use tree::lab_tree;
