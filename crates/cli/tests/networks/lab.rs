//! `caudal lab` as people use it: up, exec, show, set, stats, down; wrong usage, missing permissions, killed daemons.

mod counters;
mod life_cycle;
mod restricted;
mod usage;

use crate::support::network::missing;
use crate::support::place::Place;
use crate::support::trial;
use counters::{datagrams_in_a_token_bucket, impairments, picture, stats_documented};
use libtest_mimic::Trial;
use life_cycle::{interrupted, killed_daemon, killed_run, run_a_command, two_labs, up_and_down};
use restricted::{ordinary_user, without_tun};
use serde_json::Value;
use std::fs;
use std::path::Path;
use usage::{few_files, full_disk, presets, wrong_command_line, wrong_files};

pub fn trials() -> Vec<Trial> {
    vec![
        trial(
            "the_lab_of_a_command_ends_with_it_and_passes_on_its_exit_code",
            missing(&["ping"]),
            run_a_command,
        ),
        trial(
            "a_lab_stays_up_until_it_is_taken_down",
            missing(&["ping"]),
            up_and_down,
        ),
        trial("two_labs_are_distinguished_by_name", missing(&[]), two_labs),
        trial(
            "the_remains_of_a_killed_daemon_are_found_and_removed",
            missing(&["setsid"]),
            killed_daemon,
        ),
        trial(
            "an_interrupted_run_leaves_nothing",
            missing(&["sleep"]),
            interrupted,
        ),
        trial(
            "a_killed_run_leaves_nothing",
            missing(&["sleep"]),
            killed_run,
        ),
        trial(
            "an_ordinary_user_has_labs_of_packet_sockets",
            missing(&["setpriv", "ping"]),
            ordinary_user,
        ),
        trial(
            "without_tun_packet_sockets_replace_it",
            missing(&["unshare", "mount", "ping"]),
            without_tun,
        ),
        trial(
            "every_key_of_the_stats_is_documented",
            missing(&["ping"]),
            stats_documented,
        ),
        trial("the_drawing_is_well_formed", missing(&[]), picture),
        trial(
            "links_are_shown_with_queue_loss_and_jitter",
            missing(&[]),
            impairments,
        ),
        trial(
            "a_token_bucket_counts_every_datagram_of_a_segmentation_offload",
            missing(&[]),
            datagrams_in_a_token_bucket,
        ),
        trial(
            "a_full_disk_is_reported_and_nothing_is_left",
            missing(&["unshare", "mount"]),
            full_disk,
        ),
        trial(
            "too_few_open_files_are_reported",
            missing(&["bash"]),
            few_files,
        ),
        trial(
            "a_wrong_command_line_is_refused_in_one_line",
            None,
            wrong_command_line,
        ),
        trial("a_file_is_refused_with_line_and_key", None, wrong_files),
        trial("every_preset_prints_a_valid_topology_file", None, presets),
        trial("the_published_schema_is_that_of_the_code", None, schema),
    ]
}

/// The process of the daemon of a lab.
fn daemon_of(place: &Place, name: &str) -> u32 {
    let record = place.json(&format!("labs/{name}/lab.json"));
    u32::try_from(record["process"].as_u64().unwrap()).unwrap()
}

/// The processes that sleep for `mark` seconds.
fn sleepers(mark: &str) -> usize {
    let line = format!("sleep\0{mark}\0");
    let entries = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    entries
        .filter(|entry| entry.file_name().to_string_lossy().parse::<u32>().is_ok())
        .filter(|entry| {
            fs::read(entry.path().join("cmdline")).is_ok_and(|found| found == line.as_bytes())
        })
        .count()
}

fn schema() {
    let place = Place::of("lab");
    let printed = place.says("schema").done().stdout;
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/topology.schema.json");
    let published = fs::read_to_string(path).unwrap();
    assert_eq!(printed, published, "run `cargo run -p xtask -- reference`");
    let value: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(value["additionalProperties"], false);
}
