//! Transfers that are continued.

use crate::support::{
    Scratch, bytes, interrupted_at_half, named, plan, server, slow_upload, transfer,
};
use caudal_core::plan::{Direction, Rate, TransferPlan, TransferSink};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::{LocalOptions, TransferLocalOptions};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

#[test]
fn a_transfer_that_was_stopped_is_continued_behind_what_has_arrived() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    let content = bytes((8 << 20) + 333);
    source.write("big", &content);
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        served: Some(source.served()),
        ..TransferLocalOptions::default()
    });
    let (plan, files) = slow_upload(&source, "big");
    let stop = |options: &LocalOptions| {
        options.quit.store(true, Relaxed);
    };
    let stopped = interrupted_at_half(&server, plan.clone(), files.clone(), stop);
    assert!(stopped.failure.is_some() && stopped.cut_short.is_some());
    assert_eq!(stored.names(), ["big.part", "big.part.journal"]);
    let resumed = TransferPlan {
        resume: true,
        rate: Rate::Max,
        ..plan
    };
    let outcome = transfer(&server, resumed, files).unwrap();
    assert_eq!(outcome.failure, None);
    let from = outcome.plan.resume_from.get();
    assert!(from >= 3 << 20 && from.is_multiple_of(1 << 20), "{from}");
    assert_eq!(
        outcome.receiver().unwrap().bytes,
        content.len() as u64 - from
    );
    assert_eq!(stored.read("big"), content);
    assert_eq!(stored.names(), ["big"]);
}

#[test]
fn a_download_is_continued_and_begins_anew_where_the_file_has_changed() {
    let (served, stored) = (Scratch::new("served"), Scratch::new("stored"));
    let content = bytes((8 << 20) + 333);
    served.write("big", &content);
    let server = server(TransferLocalOptions {
        served: Some(served.served()),
        ..TransferLocalOptions::default()
    });
    let files = TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    };
    let stop = |options: &LocalOptions| {
        options.quit.store(true, Relaxed);
    };
    let slow = TransferPlan {
        rate: Rate::Limit(BitRate::from_bps(80_000_000)),
        interval: Duration::from_millis(10),
        ..plan(Direction::Down, named("big"), TransferSink::File)
    };
    let get = |name: &str| plan(Direction::Down, named(name), TransferSink::File);
    for changes in [false, true] {
        interrupted_at_half(&server, slow.clone(), files.clone(), stop);
        assert_eq!(stored.names(), ["big.part", "big.part.journal"]);
        let expected = match changes {
            true => {
                let other: Vec<u8> = content.iter().rev().copied().collect();
                served.write("big", &other);
                other
            }
            false => content.clone(),
        };
        let resumed = stored.store().resume(get("big"), None);
        assert!(resumed.resume_from.get() >= 3 << 20);
        let outcome = transfer(&server, resumed.clone(), files.clone()).unwrap();
        assert_eq!(outcome.failure, None);
        let from = match changes {
            true => ByteCount::new(0),
            false => resumed.resume_from,
        };
        assert_eq!(outcome.plan.resume_from, from);
        assert_eq!(stored.read("big"), expected);
        assert_eq!(stored.names(), ["big"]);
        std::fs::remove_file(stored.path().join("big")).unwrap();
    }
}

#[test]
fn a_part_that_was_damaged_meanwhile_is_sent_again() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    let content = bytes((8 << 20) + 333);
    source.write("big", &content);
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    let (plan, files) = slow_upload(&source, "big");
    let stop = |options: &LocalOptions| {
        options.quit.store(true, Relaxed);
    };
    interrupted_at_half(&server, plan.clone(), files.clone(), stop);
    let mut part = stored.read("big.part");
    part[(1 << 20) + 7] ^= 1;
    stored.write("big.part", &part);
    let resumed = TransferPlan {
        resume: true,
        rate: Rate::Max,
        ..plan
    };
    let outcome = transfer(&server, resumed, files).unwrap();
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.plan.resume_from.get(), 1 << 20);
    assert_eq!(stored.read("big"), content);
}
