//! The lines that a program has printed, numbered, with a bound on what is kept of them.

use std::collections::VecDeque;

/// Maximum amount that is kept, bytes: an hour of ten events a second.
const MAX_BYTES: usize = 64 << 20;
/// Maximum number of lines given at once.
const MAX_LINES: usize = 500;

/// Numbered lines.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// The number of the first that is kept.
    first: u64,
    lines: VecDeque<String>,
    bytes: usize,
}

impl History {
    /// Adds a line.
    pub(crate) fn push(&mut self, line: String) {
        self.bytes += line.len();
        self.lines.push_back(line);
        while self.bytes > MAX_BYTES {
            let Some(oldest) = self.lines.pop_front() else {
                return;
            };
            self.bytes -= oldest.len();
            self.first += 1;
        }
    }

    /// The number that the next line will have.
    pub(crate) fn end(&self) -> u64 {
        self.first + self.lines.len() as u64
    }

    /// Some lines from number `from` on, with the number of the line after them.
    pub(crate) fn from(&self, from: u64) -> (Vec<&str>, u64) {
        let from = from.clamp(self.first, self.end());
        let skipped = usize::try_from(from - self.first).unwrap_or(usize::MAX);
        let lines: Vec<&str> = self
            .lines
            .iter()
            .skip(skipped)
            .take(MAX_LINES)
            .map(String::as_str)
            .collect();
        let next = from + lines.len() as u64;
        (lines, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_given_from_a_number_on_and_the_oldest_are_forgotten() {
        let mut history = History::default();
        for nth in 0..600 {
            history.push(nth.to_string());
        }
        assert_eq!(history.from(598), (vec!["598", "599"], 600));
        assert_eq!(history.from(0).1, 500);
        assert_eq!(history.from(9999), (Vec::new(), 600));
        history.push("x".repeat(MAX_BYTES));
        assert_eq!((history.first, history.end()), (600, 601));
        assert_eq!(history.from(0).1, 601);
    }
}
