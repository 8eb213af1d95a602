//! What a capture beside a test shows, for people.

use super::findings::{FindingsShown, findings_lines};
use super::interval_table::Detail;
use super::text::fold;
use super::text_form::TextForm;
use super::width::LineWidth;
use caudal_core::run::{Run, RunCapture, RunOffload};
use caudal_core::text::{ExternalText, command_line};

/// The lines on a run's capture and offloads; none without. Findings that are mere information are among every detail only.
#[must_use]
pub fn capture_lines(run: &Run, form: TextForm) -> Vec<String> {
    let mut lines = Vec::new();
    if let Some(offload) = &run.offload {
        lines.push(fold(&offload_line(offload), 4, form.width));
    }
    if let Some(capture) = &run.capture {
        lines.push(fold(&capture_line(capture), 4, form.width));
        // Not folded, so that it can be copied.
        lines.push(format!("  → {} explains it", command(capture)));
        let shown = match form.detail {
            Detail::Usual => FindingsShown::Unusual,
            Detail::Every => FindingsShown::All,
        };
        lines.extend(findings_lines(&capture.findings, 0, shown, form.width));
    }
    lines
}

/// The line on a run's capture where frames are missing, which is said in any case; none otherwise.
#[must_use]
pub fn incomplete_capture_lines(run: &Run, width: LineWidth) -> Vec<String> {
    let capture = run.capture.iter();
    let incomplete =
        capture.filter(|capture| capture.dropped_frames > 0 || capture.cut_short.is_some());
    incomplete
        .map(|capture| fold(&capture_line(capture), 4, width))
        .collect()
}

fn offload_line(offload: &RunOffload) -> String {
    let state = if offload.enabled { "on" } else { "off" };
    let names = |list: &[ExternalText]| {
        let names: Vec<String> = list.iter().map(ToString::to_string).collect();
        names.join(", ")
    };
    let changed = match offload.changed.as_slice() {
        [] => format!("all were {state} before"),
        changed => names(changed),
    };
    let refused = match offload.refused.as_slice() {
        [] => String::new(),
        refused => format!("; the driver did not turn {state} {}", names(refused)),
    };
    format!(
        "offloads of {} {state} during the test: {changed}{refused}; restored",
        offload.interface
    )
}

fn capture_line(capture: &RunCapture) -> String {
    let RunCapture {
        file,
        interface,
        frames,
        dropped_frames,
        ..
    } = capture;
    let flows = match capture.flows {
        Some(1) => " of 1 flow".to_owned(),
        Some(flows) => format!(" of {flows} flows"),
        None => String::new(),
    };
    let dropped = match dropped_frames {
        0 => "none dropped".to_owned(),
        n => format!("{n} more dropped"),
    };
    let end = match &capture.cut_short {
        Some(why) => format!("; it ended early: {why}"),
        None => String::new(),
    };
    let unit = if *frames == 1 { "frame" } else { "frames" };
    format!("capture: {frames} {unit}{flows} at {interface}, {dropped}, in {file}{end}")
}

/// The command that explains the file.
fn command(capture: &RunCapture) -> String {
    let file = capture.file.as_received();
    // Not an option, nor standard input.
    let file = match file.starts_with('-') {
        true => format!("./{file}"),
        false => file.to_owned(),
    };
    command_line(["pcap", file.as_str()])
}
