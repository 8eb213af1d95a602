//! Where the store is, and runs that are not recorded.

use super::{QUICK, shown_but_not_recorded};
use crate::support::place::Place;
use crate::support::{SOON, caudal, run};
use std::fs;

pub(crate) fn places() {
    let place = Place::new();
    let home = place.at("home");
    fs::create_dir(&home).unwrap();
    let within = |words: &str| {
        let mut command = caudal(words.split_whitespace());
        command
            .env_remove("CAUDAL_STORE")
            .env_remove("XDG_DATA_HOME")
            .env("HOME", &home);
        command
    };
    let of_home = home.join(".local/share/caudal/store.db");
    run(&mut within(QUICK), SOON).done();
    assert!(of_home.is_file());
    let data = place.at("data");
    run(within(QUICK).env("XDG_DATA_HOME", &data), SOON).done();
    assert!(data.join("caudal/store.db").is_file());
    let path = run(&mut within("report path"), SOON).done().stdout;
    assert!(
        path.starts_with(&format!("{}\n", of_home.display())),
        "{path}"
    );
    assert!(path.contains("1 run outside studies"), "{path}");
    // By flag, which goes before all else.
    let flag = place.at("by-flag.db");
    let words = format!("{QUICK} --store {}", flag.display());
    let ended = run(within(&words).env("CAUDAL_STORE", "none"), SOON).done();
    assert!(
        ended
            .stdout
            .lines()
            .last()
            .unwrap()
            .starts_with("saved as "),
        "{ended:#?}"
    );
    assert!(flag.is_file());
    let listed = run(
        &mut within(&format!("report list --store {}", flag.display())),
        SOON,
    )
    .done();
    assert_eq!(listed.stdout.lines().count(), 2);
}

pub(crate) fn no_home() {
    // A home that is no place: such as a service or a container has.
    let mut command = caudal(QUICK.split_whitespace());
    command
        .env_remove("CAUDAL_STORE")
        .env_remove("XDG_DATA_HOME")
        .env("HOME", "nowhere");
    let ended = run(&mut command, SOON);
    shown_but_not_recorded(&ended, &["no home directory", "--store FILE", "--no-store"]);
    let mut command = caudal(["report", "list"]);
    command
        .env_remove("CAUDAL_STORE")
        .env_remove("XDG_DATA_HOME")
        .env("HOME", "nowhere");
    run(&mut command, SOON).failed(2, &["no home directory", "--store FILE"]);
}

pub(crate) fn not_wanted() {
    let place = Place::new();
    let data = place.at("data");
    for (words, store) in [
        ("tcp -n 64K --no-store", None),
        ("tcp -n 64K", Some("none")),
        ("rtt --count 5 --sizes 1", Some("")),
        ("udp -t 0.2 -b 1M --no-store", Some("/no/such/place.db")),
    ] {
        let mut command = caudal(words.split_whitespace());
        command
            .env("XDG_DATA_HOME", &data)
            .env_remove("CAUDAL_STORE");
        if let Some(store) = store {
            command.env("CAUDAL_STORE", store);
        }
        let ended = run(&mut command, SOON).done();
        assert!(!ended.stdout.contains("saved as"), "{words}: {ended:#?}");
    }
    assert!(!data.exists());
    let mut command = caudal(["report", "list"]);
    run(command.env("CAUDAL_STORE", "none"), SOON).failed(2, &["CAUDAL_STORE disables the store"]);
    place
        .says("tcp --no-store --store x")
        .failed(2, &["--no-store", "--store"]);
}
