//! Transfers that break: files that change, damage on the way, stops.

use crate::support::{
    Scratch, bytes, connect, generated, interrupted_at_half, plan, refusal, server, slow_upload,
    tcp, transfer_at,
};
use caudal_core::event::{CutShort, Event};
use caudal_core::plan::{
    Direction, Plan, Rate, TcpTransferSettings, TransferPlan, TransferSink, TransferVia,
};
use caudal_core::units::BitRate;
use caudal_engine::peer::Peer;
use caudal_engine::{LocalOptions, PreparedContent, TransferLocalOptions};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

#[test]
fn a_file_that_changes_while_it_is_sent_ends_the_transfer() {
    type Change = fn(&Path);
    let changes: [Change; 2] = [
        |path| {
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_len(5_000_000).unwrap();
        },
        |path| {
            let file = std::fs::OpenOptions::new().write(true).open(path).unwrap();
            file.write_all_at(b"other", 19 << 20).unwrap();
        },
    ];
    for (change, sendfile) in [(0, false), (0, true), (1, false), (1, true)] {
        let name = format!("source-{change}-{sendfile}");
        let (source, stored) = (Scratch::new(&name), Scratch::new("stored"));
        // More than is read ahead.
        source.write("big", &bytes(20 << 20));
        let server = server(TransferLocalOptions {
            store: Some(stored.store()),
            ..TransferLocalOptions::default()
        });
        let (plan, files) = slow_upload(&source, "big");
        let plan = TransferPlan {
            via: TransferVia::Tcp(TcpTransferSettings { sendfile, ..tcp() }),
            ..plan
        };
        let changed = std::cell::Cell::new(false);
        let outcome = interrupted_at_half(&server, plan, files, |_| {
            if !changed.replace(true) {
                changes[change](&source.path().join("big"));
            }
        });
        let failure = outcome.failure.unwrap().to_string();
        assert!(
            failure.contains("has changed") || failure.contains("has become shorter"),
            "{failure}"
        );
        assert!(!stored.names().contains(&"big".to_owned()));
        drop(server);
    }
}

#[test]
fn a_file_that_grows_while_it_is_sent_arrives_as_it_was() {
    for sendfile in [false, true] {
        let name = format!("growing-{sendfile}");
        let (source, stored) = (Scratch::new(&name), Scratch::new("stored"));
        let content = bytes(20 << 20);
        source.write("log", &content);
        let server = server(TransferLocalOptions {
            store: Some(stored.store()),
            ..TransferLocalOptions::default()
        });
        let (plan, files) = slow_upload(&source, "log");
        let plan = TransferPlan {
            via: TransferVia::Tcp(TcpTransferSettings { sendfile, ..tcp() }),
            ..plan
        };
        let outcome = interrupted_at_half(&server, plan, files, |_| {
            let path = source.path().join("log");
            let mut file = std::fs::OpenOptions::new().append(true).open(path).unwrap();
            file.write_all(b"more").unwrap();
        });
        assert_eq!(outcome.failure, None);
        assert!(outcome.client.has_grown, "{:?}", outcome.client);
        assert!(stored.read("log") == content);
        drop(server);
    }
}

/// A relay that flips one bit of what a client sends, far behind what a control connection carries.
struct DamagingRelay(SocketAddr);

impl DamagingRelay {
    /// A relay to a server on loopback that damages the byte at `offset` of each connection.
    fn start(server: SocketAddr, offset: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let local = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let Ok(client) = client else { return };
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                let back = (server.try_clone().unwrap(), client.try_clone().unwrap());
                thread::spawn(move || copy(&client, &server, offset));
                thread::spawn(move || copy(&back.0, &back.1, u64::MAX));
            }
        });
        Self(local)
    }
}

/// Copies a direction of a connection to its end, with one byte damaged.
fn copy(mut from: &TcpStream, mut to: &TcpStream, damaged: u64) {
    let mut buffer = vec![0; 64 << 10];
    let mut offset = 0;
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if let Some(at) = damaged.checked_sub(offset)
            && at < count as u64
        {
            buffer[at as usize] ^= 1;
        }
        offset += count as u64;
        if to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
}

#[test]
fn a_content_that_was_damaged_on_the_way_is_an_error_and_thrown_away() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    source.write("file", &bytes(3_000_000));
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    let relay = DamagingRelay::start(server.local(), 1_500_000);
    let file = PreparedContent::file(&source.path().join("file"), "file").unwrap();
    for content in [file.content(), generated(3_000_000)] {
        let plan = plan(Direction::Up, content.clone(), TransferSink::File);
        let files = TransferLocalOptions {
            content: (content == file.content()).then(|| file.clone()),
            ..TransferLocalOptions::default()
        };
        let outcome = transfer_at(relay.0, plan, files, &mut |_| {}).unwrap();
        let failure = outcome.failure.unwrap().to_string();
        assert!(failure.contains("the digest"), "{failure}");
        assert_eq!(outcome.client.digest, None);
        assert!(outcome.server.unwrap().failure.is_some());
    }
    assert_eq!(stored.names(), [""; 0]);
}

#[test]
fn a_transfer_ends_soon_after_it_is_stopped() {
    let server = server(TransferLocalOptions::default());
    for direction in Direction::BOTH {
        let plan = TransferPlan {
            interval: Duration::from_millis(20),
            rate: Rate::Limit(BitRate::from_bps(8_000_000)),
            ..plan(direction, generated(100_000_000), TransferSink::Discard)
        };
        let options = LocalOptions::default();
        let mut has_stopped = false;
        let outcome = connect(server.local())
            .run(&Plan::Transfer(plan), &options, &mut |event| {
                if let Event::Transfer(progress) = event
                    && progress.bytes > 100_000
                    && !has_stopped
                {
                    options.quit.store(true, Relaxed);
                    has_stopped = true;
                }
            })
            .unwrap()
            .into_transfer()
            .unwrap();
        // The whole content would take 100 s.
        assert!(has_stopped, "{direction:?}");
        assert!(outcome.failure.is_some());
        assert_eq!(outcome.cut_short, Some(CutShort::Interrupted));
        assert!(outcome.server.is_some());
    }
}

#[test]
fn two_transfers_do_not_write_one_file_at_once() {
    let (source, stored) = (Scratch::new("source"), Scratch::new("stored"));
    source.write("big", &bytes(8 << 20));
    let server = server(TransferLocalOptions {
        store: Some(stored.store()),
        ..TransferLocalOptions::default()
    });
    let (plan, files) = slow_upload(&source, "big");
    let second = std::cell::RefCell::new(None);
    let outcome = interrupted_at_half(&server, plan.clone(), files.clone(), |_| {
        let mut message = second.borrow_mut();
        message.get_or_insert_with(|| refusal(&server, plan.clone(), files.clone()));
    });
    assert_eq!(outcome.failure, None);
    let message = second.into_inner().unwrap();
    assert!(message.contains("another transfer"), "{message}");
    assert_eq!(stored.names(), ["big"]);
}
