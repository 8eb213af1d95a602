//! The store over the program itself: what runs leave there, how it is found again, and that no trouble with it
//! ever costs a result.

mod damaged;
mod file_systems;
mod interrupted;
mod listing;
mod other_tools;
mod place;
mod recording;

use crate::support::place::Place;
use crate::support::{Ended, trial, uninstalled};
use damaged::{damaged, newer, nowhere_to_write};
use file_systems::{full_disk, read_only};
use interrupted::{interrupted, killed, two_at_once};
use libtest_mimic::{Failed, Trial};
use listing::{filters, ids};
use other_tools::{
    foreign_server, iperf2_kept, iperf3_kept, nttcp_kept, other_ways_interrupted,
    other_ways_without_a_store,
};
use place::{no_home, not_wanted, places};
use recording::{document_unchanged, machines_kept, recorded_and_shown, samples_kept};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// A run that takes hardly any time, and enough of it for a rate.
const QUICK: &str = "tcp -n 16M";

/// The entries of the list.
#[track_caller]
fn entries_in(place: &Place, words: &str) -> Vec<Value> {
    let list = place
        .says(&format!("report list --json {words}"))
        .done()
        .json();
    assert_eq!(list["schema"], "caudal.list/1");
    list["entries"].as_array().unwrap().clone()
}

/// Puts many runs at once where a test needs ids that it knows: the store itself, as SQL sees it.
fn sql(at: &Path) -> rusqlite::Connection {
    rusqlite::Connection::open(at).unwrap()
}

/// The warning on standard error is one line with all of these words, and the run is whole all the same.
#[track_caller]
fn shown_but_not_recorded(ended: &Ended, words: &[&str]) {
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:#?}");
    assert!(
        ended
            .stderr
            .starts_with("caudal: warning: the run is not recorded: "),
        "{ended:#?}"
    );
    for word in words {
        assert!(
            ended.stderr.contains(word),
            "{word:?} is missing: {ended:#?}"
        );
    }
    crate::support::assert_reported(ended);
    assert!(!ended.stdout.contains("saved as"), "{ended:#?}");
}

pub fn trials() -> Vec<Trial> {
    let namespaces = || {
        uninstalled("unshare").or_else(|| {
            let probe = Command::new("unshare").args(["-m", "true"]).output();
            let has = probe.is_ok_and(|probe| probe.status.success());
            (!has).then(|| "mount namespaces take root".to_owned())
        })
    };
    let plain = |name: &str, test: fn()| {
        Trial::test(name, move || {
            test();
            Ok::<(), Failed>(())
        })
    };
    vec![
        plain("a_run_is_kept_and_shown_as_it_closed", recorded_and_shown),
        plain("the_kept_document_is_the_printed_one", document_unchanged),
        plain("every_sample_of_round_trips_is_kept", samples_kept),
        plain(
            "the_machine_is_kept_once_and_its_load_each_time",
            machines_kept,
        ),
        plain("a_list_shows_what_is_asked_for", filters),
        plain("digits_stand_for_one_id_or_say_which_they_may_be", ids),
        plain("commands_that_end_at_once_are_all_kept", two_at_once),
        plain("a_run_that_is_cut_short_is_kept_as_such", interrupted),
        plain(
            "a_command_killed_after_its_result_leaves_a_whole_store",
            killed,
        ),
        plain("the_store_is_where_flag_variable_or_home_say", places),
        plain("without_a_home_the_run_is_shown_and_not_kept", no_home),
        plain("nothing_is_kept_where_that_is_not_wanted", not_wanted),
        plain(
            "a_damaged_or_foreign_file_costs_no_result_and_stays_as_it_is",
            damaged,
        ),
        plain(
            "a_store_of_a_newer_version_costs_no_result_and_stays_as_it_is",
            newer,
        ),
        plain("a_place_that_cannot_be_costs_no_result", nowhere_to_write),
        plain("a_run_with_another_programs_server_is_kept", foreign_server),
        plain("a_client_in_the_ways_of_iperf3_is_kept", iperf3_kept),
        plain("a_client_in_the_ways_of_iperf_2_is_kept", iperf2_kept),
        plain("a_client_in_the_ways_of_nttcp_is_kept", nttcp_kept),
        plain(
            "a_client_in_another_programs_ways_goes_on_without_a_store",
            other_ways_without_a_store,
        ),
        plain(
            "a_client_in_another_programs_ways_is_kept_when_it_is_cut_short",
            other_ways_interrupted,
        ),
        trial(
            "a_store_that_may_only_be_read_is_read",
            namespaces(),
            read_only,
        ),
        trial(
            "a_full_disk_costs_no_result_and_nothing_that_was_kept",
            namespaces(),
            full_disk,
        ),
    ]
}
