//! `caudal pcap` as people and programs use it: captures of a study, captures made here, and every kind of bad input.

mod bad_input;
mod drawings;
mod generated;
mod recorded;
mod two_ends;

use crate::support::{Ended, SOON, caudal, run, trial, uninstalled};
use libtest_mimic::Trial;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A capture of the study: the message of 2048 bytes of its figure 16.
const SMALL: &str = "seed000-2048-bytes.pcap";
/// A capture of the study: all sizes, with offloads.
const OFFLOADED: &str = "seed000-offload-on.pcap";

/// The path of a capture of the study.
fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../capture/tests/captures")
        .join(name)
}

/// Runs `caudal pcap` on a capture of the study.
#[track_caller]
fn pcap(name: &str, words: &str) -> Ended {
    let mut command = caudal(["pcap"]);
    command.arg(capture(name)).args(words.split_whitespace());
    run(&mut command, SOON)
}

/// Runs `caudal pcap` with bytes on standard input.
fn piped(bytes: &[u8], words: &[&str]) -> Ended {
    let mut command = caudal(["pcap"]);
    command
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    // What is no capture is not read to its end.
    let writer = std::thread::spawn(move || drop(input.write_all(&bytes)));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    Ended {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
        took: std::time::Duration::ZERO,
    }
}

/// A folder of its own for a test.
fn folder(test: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("pcap-{test}"));
    std::fs::create_dir_all(&path).unwrap();
    path
}

#[track_caller]
fn assert_width(text: &str) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= 80,
            "wider than 80 columns: {line:?}"
        );
    }
}

pub fn trials() -> Vec<Trial> {
    vec![
        trial("a_capture_is_summed_up", None, recorded::summary),
        trial("a_compressed_capture_is_read", None, recorded::compressed),
        trial("super_packets_are_named", None, recorded::super_packets),
        trial("flows_are_listed", None, recorded::flows),
        trial("a_flow_is_shown_in_detail", None, recorded::one_flow),
        trial("few_frames_give_no_rate", None, recorded::no_rate),
        trial("flows_are_rows_of_values", None, recorded::csv),
        trial(
            "the_document_is_that_of_the_reference",
            None,
            recorded::documented,
        ),
        trial("a_filter_leaves_frames_out", None, recorded::filters),
        trial(
            "standard_input_gives_the_same",
            None,
            recorded::standard_input,
        ),
        trial(
            "several_files_are_one_capture",
            None,
            recorded::several_files,
        ),
        trial("the_ladder_is_that_of_figure_16", None, drawings::ladder),
        trial("a_ladder_is_drawn", None, drawings::ladder_svg),
        trial(
            "a_ladder_begins_at_a_frame",
            None,
            drawings::ladder_from_frame,
        ),
        trial("every_graph_is_drawn", None, drawings::graphs),
        trial("the_largest_flow_is_chosen", None, drawings::largest),
        trial("two_ends_tell_loss_and_delay", None, two_ends::compared),
        trial("two_ends_are_a_document", None, two_ends::document),
        trial("an_incomplete_end_is_named", None, two_ends::incomplete),
        trial("two_ends_need_one_flow", None, two_ends::different),
        trial(
            "a_capture_of_tcpdump_is_read",
            uninstalled("tcpdump"),
            recorded::from_tcpdump,
        ),
        trial("what_is_no_capture_is_refused", None, bad_input::no_capture),
        trial("a_truncated_file_is_a_finding", None, bad_input::truncated),
        trial(
            "a_capture_that_cannot_be_read_is_named",
            None,
            bad_input::unreadable,
        ),
        trial("any_bytes_end_in_a_line", None, bad_input::any_bytes),
        trial("usage_is_checked", None, bad_input::usage),
        trial("a_filter_may_match_nothing", None, bad_input::nothing_left),
        trial("a_closed_pipe_is_no_error", None, bad_input::closed_pipe),
        trial("names_are_escaped", None, bad_input::hostile_name),
        trial(
            "the_capture_is_not_overwritten",
            None,
            bad_input::overwriting,
        ),
    ]
}
