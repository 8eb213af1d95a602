//! What a server refuses, and its limits.

use crate::support::{Scratch, generated, named, plan, refusal, server, server_with, transfer};
use caudal_core::plan::{Direction, Rate, TransferPlan, TransferSink};
use caudal_core::units::{BitRate, ByteCount};
use caudal_engine::{PreparedContent, ServerOptions, SessionLimits, TransferLocalOptions};
use std::time::Duration;

#[test]
fn what_a_client_may_not_get_is_refused_in_one_line() {
    let (served, stored) = (Scratch::new("served"), Scratch::new("stored"));
    served.write("file", b"abc");
    std::fs::create_dir(served.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("/etc/passwd", served.path().join("link")).unwrap();
    let sends = server(TransferLocalOptions {
        served: Some(served.served()),
        ..TransferLocalOptions::default()
    });
    let files = || TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    };
    let get = |name: &str| plan(Direction::Down, named(name), TransferSink::File);
    for (name, reason) in [
        ("missing", "there is no file \"missing\""),
        ("dir", "\"dir\" is not a regular file"),
        ("link", "symbolic link"),
        ("../file", "must not have the component . or .."),
        ("/etc/passwd", "it must be relative"),
        ("a\nb", "must not have control characters"),
        ("", "empty"),
    ] {
        let message = refusal(&sends, get(name), files());
        assert!(message.contains(reason), "{name:?}: {message}");
    }
    let nothing = server(TransferLocalOptions::default());
    let message = refusal(&nothing, get("file"), files());
    assert!(message.contains("serves no files"), "{message}");
    assert_eq!(stored.names(), [""; 0]);
}

#[test]
fn what_a_client_may_not_store_is_refused_in_one_line() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    let path = source.write("any", b"new");
    stored.write("exists", b"old");
    std::fs::create_dir(stored.path().join("dir")).unwrap();
    std::os::unix::fs::symlink("/tmp", stored.path().join("link")).unwrap();
    let stores = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    let send = |name: &str| {
        let file = PreparedContent::file(&path, name).unwrap();
        let plan = plan(Direction::Up, file.content(), TransferSink::File);
        let files = TransferLocalOptions {
            content: Some(file),
            ..TransferLocalOptions::default()
        };
        (plan, files)
    };
    for (name, overwrite, reason) in [
        ("exists", false, "\"exists\" exists already"),
        ("dir", true, "\"dir\" is not a regular file"),
        ("link/file", false, "symbolic link"),
        ("exists/below", false, "exists/below"),
    ] {
        let (plan, files) = send(name);
        let message = refusal(&stores, TransferPlan { overwrite, ..plan }, files);
        assert!(message.contains(reason), "{name:?}: {message}");
    }
    let nothing = server(TransferLocalOptions::default());
    let (plan, files) = send("name");
    let message = refusal(&nothing, plan, files);
    assert!(message.contains("stores no files"), "{message}");
    assert_eq!(stored.read("exists"), b"old");
    assert_eq!(stored.names(), ["dir", "exists", "link"]);
}

#[test]
fn a_server_keeps_its_limits() {
    let limits = |limits: SessionLimits| {
        server_with(ServerOptions {
            limits,
            ..ServerOptions::default()
        })
    };
    let unlimited = SessionLimits::unlimited;
    let few_bytes = limits(SessionLimits {
        max_bytes: Some(ByteCount::new(1_000_000)),
        ..unlimited()
    });
    for direction in Direction::BOTH {
        let plan = plan(direction, generated(1_000_001), TransferSink::Discard);
        let message = refusal(&few_bytes, plan, TransferLocalOptions::default());
        assert!(message.contains("more than the 1 MB"), "{message}");
    }
    let slow = limits(SessionLimits {
        max_rate: Some(BitRate::from_bps(40_000_000)),
        ..unlimited()
    });
    let short = limits(SessionLimits {
        max_time: Some(Duration::from_millis(300)),
        ..unlimited()
    });
    for direction in Direction::BOTH {
        let plan = plan(direction, generated(2_000_000), TransferSink::Discard);
        let files = TransferLocalOptions::default();
        let outcome = transfer(&slow, plan.clone(), files.clone()).unwrap();
        assert_eq!(outcome.failure, None);
        assert!(
            outcome.plan.rate.limit().is_some() && !outcome.changed.is_empty(),
            "{:?}",
            outcome.changed
        );
        let took_ns = outcome.sender().unwrap().last_byte_ns;
        assert!(took_ns > 300_000_000, "{took_ns}");
        let plan = TransferPlan {
            rate: Rate::Limit(BitRate::from_bps(1_000_000)),
            ..plan
        };
        let outcome = transfer(&short, plan, files).unwrap();
        let failure = outcome.failure.unwrap().to_string();
        assert!(failure.contains("time limit"), "{failure}");
    }
}
