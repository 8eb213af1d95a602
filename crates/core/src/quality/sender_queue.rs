//! The queue in front of a sender's own interface while it sends.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The root queueing discipline of the interface towards the other end, read at intervals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SenderQueue {
    /// Readings.
    pub n: u64,
    /// The mean of its backlog, bytes.
    pub mean_bytes: f64,
    /// The maximum of it, bytes.
    pub max_bytes: u64,
}

impl SenderQueue {
    /// Takes in the next reading of the backlog.
    pub fn push(&mut self, bytes: u64) {
        self.n += 1;
        self.mean_bytes += (bytes as f64 - self.mean_bytes) / self.n as f64;
        self.max_bytes = self.max_bytes.max(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_backlog_is_averaged_over_the_readings() {
        let mut queue = SenderQueue::default();
        for bytes in [0, 3000, 6000] {
            queue.push(bytes);
        }
        assert_eq!((queue.n, queue.max_bytes), (3, 6000));
        assert!((queue.mean_bytes - 3000.0).abs() < 1e-9);
    }
}
