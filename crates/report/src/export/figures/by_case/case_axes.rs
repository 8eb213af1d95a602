//! The axes of figures by case.

use caudal_plot::{Axis, Figure};

/// Maximum number of cases side by side; more stand one under the other, where their names have room.
pub const MAX_SIDE_BY_SIDE: usize = 7;

/// The axes of a figure by case, and its size: upright where there are few cases, else lying, with room for every name.
pub fn case_axes(names: Vec<String>, value: Axis, series: usize) -> (Axis, Axis, (u32, u32)) {
    let count = names.len();
    let cases = Axis::categories("", names);
    if count <= MAX_SIDE_BY_SIDE {
        (cases, value, Figure::SIZE)
    } else {
        let high = (120 + count * (14 * series.max(1) + 12)).clamp(300, 1100);
        (value, cases, (800, high as u32))
    }
}

/// The number of cases along an axis of a figure.
pub fn category_count(figure: &Figure) -> usize {
    let count = |axis: &Axis| axis.categories.as_ref().map_or(0, Vec::len);
    count(&figure.x).max(count(&figure.y))
}
