//! Layers of one kind that stand side by side.

/// The index of a layer among those of its kind.
#[derive(Clone, Copy)]
pub(super) struct SideBySide {
    /// The index, from 0.
    pub index: usize,
    /// The number of layers of the kind.
    pub count: usize,
}

impl SideBySide {
    /// The offset of this layer from the middle of a position, and its width, when all together take `room`.
    pub(super) fn offset_and_width(self, room: f64) -> (f64, f64) {
        let width = room / self.count.max(1) as f64;
        ((self.index as f64 + 0.5) * width - room / 2.0, width)
    }
}
