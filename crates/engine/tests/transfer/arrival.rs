//! Contents that arrive, in both directions and at every sink.

use crate::support::{Scratch, bytes, generated, named, plan, server, tcp, transfer, transfer_at};
use caudal_core::event::Event;
use caudal_core::plan::{Direction, TcpTransferSettings, TransferPlan, TransferSink, TransferVia};
use caudal_engine::{MAX_READ_BEFORE, PreparedContent, TransferLocalOptions};

#[test]
fn generated_content_arrives_in_both_directions_at_every_sink() {
    let scratch = Scratch::new("store");
    let files = TransferLocalOptions {
        store: Some(scratch.store()),
        ..TransferLocalOptions::default()
    };
    let server = server(files.clone());
    for direction in Direction::BOTH {
        for sink in [
            TransferSink::Discard,
            TransferSink::File,
            TransferSink::SyncedFile,
        ] {
            for size in [0, 1, 1 << 20, 5_000_001] {
                let outcome = transfer(
                    &server,
                    plan(direction, generated(size), sink),
                    files.clone(),
                )
                .unwrap();
                assert_eq!(outcome.failure, None, "{direction:?} {sink:?} {size}");
                let (sender, receiver) = (outcome.sender().unwrap(), outcome.receiver().unwrap());
                assert_eq!((sender.bytes, receiver.bytes), (size, size));
                assert_eq!(sender.digest, receiver.digest);
                assert!(sender.digest.is_some());
                assert!(sender.acknowledged_ns.unwrap() <= sender.verified_ns.unwrap());
                assert_eq!(
                    receiver.synced_ns.is_some(),
                    sink == TransferSink::SyncedFile
                );
            }
        }
    }
    assert_eq!(scratch.names(), [""; 0]);
}

#[test]
fn a_large_file_is_read_when_the_server_has_accepted_it() {
    let (source, stored) = (Scratch::new("large"), Scratch::new("stored"));
    let content = bytes(MAX_READ_BEFORE as usize + 12_345);
    let path = source.write("large", &content);
    let file = PreparedContent::file(&path, "large").unwrap();
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    for sendfile in [true, false] {
        let plan = TransferPlan {
            via: TransferVia::Tcp(TcpTransferSettings { sendfile, ..tcp() }),
            overwrite: true,
            ..plan(Direction::Up, file.content(), TransferSink::File)
        };
        let files = TransferLocalOptions {
            content: Some(file.clone()),
            ..TransferLocalOptions::default()
        };
        let outcome = transfer_at(server.local(), plan, files, &mut |_| ()).unwrap();
        assert_eq!(outcome.failure, None);
        assert!(stored.read("large") == content);
    }
    // One that has changed since it was named is not sent as what it was.
    std::fs::write(&path, &content[1..]).unwrap();
    let plan = plan(Direction::Up, file.content(), TransferSink::Discard);
    let files = TransferLocalOptions {
        content: Some(file),
        ..TransferLocalOptions::default()
    };
    let outcome = transfer_at(server.local(), plan, files, &mut |_| ()).unwrap();
    let failure = outcome.failure.unwrap().to_string();
    assert!(failure.contains("has changed"), "{failure}");
}

#[test]
fn a_file_is_sent_and_stored_under_its_name_and_progress_is_reported() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    let content = bytes(3_000_017);
    let path = source.write("any", &content);
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    for (name, sendfile) in [("a b", false), ("dir/sub/name", true)] {
        let file = PreparedContent::file(&path, name).unwrap();
        let plan = TransferPlan {
            via: TransferVia::Tcp(TcpTransferSettings { sendfile, ..tcp() }),
            ..plan(Direction::Up, file.content(), TransferSink::SyncedFile)
        };
        let files = TransferLocalOptions {
            content: Some(file),
            ..TransferLocalOptions::default()
        };
        let mut last = None;
        let outcome = transfer_at(server.local(), plan, files, &mut |event| {
            if let Event::Transfer(progress) = event {
                last = Some(progress);
            }
        })
        .unwrap();
        assert_eq!(outcome.failure, None);
        assert_eq!(stored.read(name), content);
        let last = last.unwrap();
        assert_eq!((last.bytes, last.total_bytes), (3_000_017, Some(3_000_017)));
        let sender = outcome.sender().unwrap();
        assert!(sender.tcp.is_some() && sender.congestion.is_some());
        assert!(sender.handshake_ns > 0 && sender.calls > 0 && sender.cpu_ns > 0);
        assert!(sender.notes.is_empty());
    }
    assert_eq!(stored.names(), ["a b", "dir"]);
}

#[test]
fn a_file_is_got_from_the_directory_that_is_served() {
    let (served, stored) = (Scratch::new("served"), Scratch::new("stored"));
    let content = bytes(2_500_000);
    std::fs::create_dir(served.path().join("sub")).unwrap();
    served.write("sub/file", &content);
    served.write("empty", b"");
    let server = server(TransferLocalOptions {
        served: Some(served.served()),
        ..TransferLocalOptions::default()
    });
    for (name, store_as, expected) in [
        ("sub/file", None, "file"),
        ("sub/file", Some("other"), "other"),
        ("empty", None, "empty"),
    ] {
        let plan = plan(Direction::Down, named(name), TransferSink::File);
        let files = TransferLocalOptions {
            store: Some(stored.store()),
            store_as: store_as.map(str::to_owned),
            ..TransferLocalOptions::default()
        };
        let outcome = transfer(&server, plan, files).unwrap();
        assert_eq!(outcome.failure, None);
        assert_eq!(stored.read(expected), served.read(name));
        assert!(outcome.plan.content.bytes().is_some(), "the server says");
    }
    assert_eq!(stored.names(), ["empty", "file", "other"]);
}

#[test]
fn an_existing_file_is_replaced_only_where_that_is_asked_for() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    let path = source.write("any", b"new");
    stored.write("exists", b"old and longer");
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    let file = PreparedContent::file(&path, "exists").unwrap();
    let plan = TransferPlan {
        overwrite: true,
        preserve: false,
        sparse: false,
        ..plan(Direction::Up, file.content(), TransferSink::File)
    };
    let files = TransferLocalOptions {
        content: Some(file),
        ..TransferLocalOptions::default()
    };
    assert_eq!(transfer(&server, plan, files).unwrap().failure, None);
    assert_eq!(stored.read("exists"), b"new");
    assert_eq!(stored.names(), ["exists"]);
}

#[test]
fn a_server_that_stores_nothing_discards_what_is_generated_and_says_so() {
    let server = server(TransferLocalOptions::default());
    let plan = plan(Direction::Up, generated(1000), TransferSink::File);
    let outcome = transfer(&server, plan, TransferLocalOptions::default()).unwrap();
    assert_eq!(outcome.failure, None);
    assert_eq!(outcome.plan.sink, TransferSink::Discard);
    assert!(outcome.changed[0].as_received().contains("discarded"));
}
