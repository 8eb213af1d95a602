//! The sequence diagram as text, and the words of its steps.

use super::chosen_flow::ChosenFlow;
use crate::text::{WIDTH, indented_within, truncated};
use crate::width::LineWidth;
use caudal_capture::{FrameDirection, Ladder, LadderStep};
use caudal_core::quantity::short;

/// The columns in front of the left line: number and time.
const MARGIN: usize = 21;
/// The columns of an arrow.
const ARROW: usize = WIDTH - MARGIN - 2;

/// The lines of the diagram: the client left, the server right.
#[must_use]
pub fn ladder_lines(ladder: &Ladder, chosen: &ChosenFlow, width: LineWidth) -> Vec<String> {
    let mut lines = indented_within(&chosen.title(), "", "    ", width);
    let (client, server) = (ladder.client.to_string(), ladder.server.to_string());
    let room = ARROW + 2;
    if client.len() + server.len() + 2 <= room {
        let gap = room - client.len() - server.len();
        lines.push(format!(
            "{:>8}  {:>9}  {client}{:gap$}{server}",
            "frame", "time", ""
        ));
    } else {
        lines.push(format!(
            "{:>8}  {:>9}  client left, server right",
            "frame", "time"
        ));
    }
    for step in &ladder.steps {
        lines.extend(step_lines(step));
    }
    if ladder.left_out > 0 {
        lines.push(format!(
            "and {} more frames of the flow",
            short(ladder.left_out as f64)
        ));
    }
    lines
}

/// The line of one step, and another for what is notable about it.
fn step_lines(step: &LadderStep) -> Vec<String> {
    let words = step_words(step);
    let words = truncated(&words, ARROW - 6);
    let dashes = ARROW.saturating_sub(words.chars().count() + 3);
    let (before, after) = (dashes / 2, dashes - dashes / 2);
    let arrow = match step.direction {
        FrameDirection::ToServer => {
            format!("{} {words} {}>", "-".repeat(before), "-".repeat(after))
        }
        FrameDirection::ToClient => {
            format!("<{} {words} {}", "-".repeat(before), "-".repeat(after))
        }
    };
    let mut lines = vec![format!("{:>8}  {}  |{arrow}|", step.frame, time(step))];
    if !step.label.is_empty() {
        let label = step.label.to_string();
        let label = truncated(&label, ARROW - 2);
        let gap = ARROW - label.chars().count();
        let (before, after) = (gap / 2, gap - gap / 2);
        lines.push(format!(
            "{:MARGIN$}|{:before$}{label}{:after$}|",
            "", "", ""
        ));
    }
    lines
}

/// The time of a step after the first frame, in seconds with the microseconds that most captures have.
pub(super) fn time(step: &LadderStep) -> String {
    format!("{:>9.6}", step.time_s)
}

/// Flags, numbers and payload, as in `PSH, ACK seq 1449 ack 1 len 600`.
pub(super) fn step_words(step: &LadderStep) -> String {
    let mut words = Vec::new();
    if !step.flags.is_empty() {
        words.push(step.flags.clone());
    }
    words.extend(step.seq.map(|seq| format!("seq {seq}")));
    words.extend(step.ack.map(|ack| format!("ack {ack}")));
    if step.payload_bytes > 0 || step.seq.is_none() {
        words.push(format!("len {}", step.payload_bytes));
    }
    words.extend(step.window_bytes.map(|window| format!("win {window}")));
    words.join(" ")
}
