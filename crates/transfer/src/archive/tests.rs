//! An archive from its files to its files.

use super::entry::{EntryHeader, EntryKind, HEADER_BYTES, MAX_FILE_BYTES};
use super::{ArchiveDestination, ArchiveMember, BuiltArchive};
use crate::run_sink::RunSink;
use crate::sink_worker::SinkSignals;
use crate::store_directory::StoreDirectory;
use crate::testing::ScratchDirectory;
use caudal_core::plan::{
    Direction, FileArchive, Rate, TransferContent, TransferPlan, TransferSink, TransferVia,
};
use caudal_core::transfer::RefusedFiles;
use caudal_core::units::ByteCount;
use std::thread;
use std::time::Duration;

fn plan(archive: &FileArchive) -> TransferPlan {
    TransferPlan {
        via: TransferVia::Quic,
        direction: Direction::Up,
        content: TransferContent::Archive(archive.clone()),
        sink: TransferSink::File,
        resume_from: ByteCount::ZERO,
        resume: false,
        overwrite: false,
        preserve: false,
        sparse: false,
        rate: Rate::Max,
        congestion: None,
        dscp: None,
        interval: Duration::from_secs(1),
        same_machine: false,
        certificate: None,
    }
}

/// What becomes of an archive that arrives in pieces of `piece` bytes, and the files that were not stored.
fn arrive(
    bytes: &[u8],
    piece: usize,
    plan: &TransferPlan,
    store: &StoreDirectory,
) -> (Result<bool, String>, RefusedFiles) {
    let TransferContent::Archive(archive) = &plan.content else {
        panic!("no archive");
    };
    let signals = SinkSignals::default();
    let destination = ArchiveDestination::new(plan, archive, store);
    let mut sink = destination.into_sink(&signals).unwrap();
    let outcome = bytes
        .chunks(piece)
        .try_for_each(|run| sink.write(run))
        .and_then(|()| sink.flush())
        .and_then(|()| {
            sink.begin_verification(blake3::hash(bytes).into());
            loop {
                match sink.verification() {
                    Some(outcome) => return outcome,
                    None => thread::yield_now(),
                }
            }
        });
    (outcome, signals.refused().unwrap_or_default())
}

fn reasons(refused: &RefusedFiles) -> Vec<String> {
    let first = refused.first.iter();
    first
        .map(|file| format!("{}: {}", file.name, file.reason))
        .collect()
}

fn file(from: &ScratchDirectory, name: &str) -> ArchiveMember {
    ArchiveMember::File {
        path: from.path().join(name),
        name: format!("tree/{name}"),
    }
}

fn directory(name: &str) -> ArchiveMember {
    ArchiveMember::Directory {
        path: None,
        name: name.to_owned(),
    }
}

/// An archive of one entry, whatever it says.
fn forged(kind: EntryKind, name: &[u8], content: &[u8]) -> Vec<u8> {
    let header = EntryHeader {
        kind,
        name_bytes: name.len(),
        file_bytes: content.len(),
        permissions: 0o600,
        modified_ns: 1,
        digest: blake3::hash(content).into(),
    };
    [&header.encode()[..], name, content].concat()
}

#[test]
fn files_and_directories_arrive_as_they_were() {
    let (from, to) = (ScratchDirectory::new("from"), ScratchDirectory::new("to"));
    let store = StoreDirectory::open(to.path()).unwrap();
    from.write("a", b"first");
    from.write("none", b"");
    from.write("large", &vec![7; 300_000]);
    let members = [
        file(&from, "a"),
        file(&from, "none"),
        file(&from, "large"),
        directory("tree/empty/deep"),
    ];
    let built = BuiltArchive::of(&members);
    let expected: u64 = [5, 0, 300_000, 0]
        .iter()
        .zip(&members)
        .map(|(bytes, member)| member.entry_bytes(*bytes))
        .sum();
    assert_eq!(built.bytes.len() as u64, expected);
    let mut plan = plan(&built.describe());
    for piece in [61, 4096, usize::MAX] {
        let (outcome, refused) = arrive(&built.bytes, piece, &plan, &store);
        assert_eq!(outcome, Ok(true));
        assert_eq!(reasons(&refused), [""; 0], "pieces of {piece}");
        assert_eq!(to.read("tree/a"), b"first");
        assert_eq!(to.read("tree/none"), b"");
        assert_eq!(to.read("tree/large"), vec![7; 300_000]);
        assert!(to.path().join("tree/empty/deep").is_dir());
        plan.overwrite = true;
    }
}

#[test]
fn permissions_and_times_are_kept_where_that_is_asked_for() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (from, to) = (ScratchDirectory::new("from"), ScratchDirectory::new("to"));
    let store = StoreDirectory::open(to.path()).unwrap();
    from.write("tool", b"#!/bin/sh");
    let tool = std::fs::File::open(from.path().join("tool")).unwrap();
    tool.set_permissions(std::fs::Permissions::from_mode(0o4751))
        .unwrap();
    let at = std::time::UNIX_EPOCH + Duration::new(1_000_000_000, 123_456_000);
    tool.set_modified(at).unwrap();
    let built = BuiltArchive::of(&[file(&from, "tool")]);
    let mut plan = plan(&built.describe());
    let stored = |plan: &TransferPlan| {
        let (outcome, refused) = arrive(&built.bytes, 4096, plan, &store);
        assert_eq!((outcome, refused.count), (Ok(true), 0));
        std::fs::metadata(to.path().join("tree/tool")).unwrap()
    };
    let new = stored(&plan);
    assert!(new.modified().unwrap() > at && new.mode() & 0o111 == 0);
    (plan.preserve, plan.overwrite) = (true, true);
    let kept = stored(&plan);
    assert_eq!(kept.modified().unwrap(), at);
    // Whoever sends it, it runs as whoever starts it.
    assert_eq!(kept.mode() & 0o7777, 0o751);
}

#[test]
fn directories_keep_their_attributes_where_the_client_made_them() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let (from, to) = (ScratchDirectory::new("from"), ScratchDirectory::new("to"));
    let store = StoreDirectory::open(to.path()).unwrap();
    let source = |last: u8| std::net::IpAddr::from([192, 0, 2, last]).into();
    let (own, other) = (store.of_source(source(1)), store.of_source(source(2)));
    from.write("a", b"x");
    let at = std::time::UNIX_EPOCH + Duration::new(1_000_000_000, 0);
    let directory = std::fs::File::open(from.path()).unwrap();
    directory
        .set_permissions(std::fs::Permissions::from_mode(0o2750))
        .unwrap();
    directory.set_modified(at).unwrap();
    let files = BuiltArchive::of(&[file(&from, "a")]);
    let last = BuiltArchive::of(&[ArchiveMember::Directory {
        path: Some(from.path().to_owned()),
        name: "tree".to_owned(),
    }]);
    let arrives = |archive: &BuiltArchive, store: &StoreDirectory, preserve, overwrite| {
        let mut plan = plan(&archive.describe());
        (plan.preserve, plan.overwrite) = (preserve, overwrite);
        let (outcome, refused) = arrive(&archive.bytes, 4096, &plan, store);
        assert_eq!((outcome, refused.count), (Ok(true), 0));
        let meta = std::fs::metadata(to.path().join("tree")).unwrap();
        (meta.mode() & 0o7777, meta.modified().unwrap() == at)
    };
    let (usual, is_kept) = arrives(&files, &own, true, false);
    assert!(usual != 0o750 && !is_kept);
    // Another client's directory stays as it is, as does one whose attributes nobody asked for.
    assert_eq!(arrives(&last, &other, true, false), (usual, false));
    assert_eq!(arrives(&last, &own, false, false), (usual, false));
    assert_eq!(arrives(&last, &own, true, false), (0o750, true));
    std::fs::set_permissions(
        to.path().join("tree"),
        std::fs::Permissions::from_mode(0o700),
    )
    .unwrap();
    // Replacing files gives nobody the directories of others.
    assert_eq!(arrives(&last, &other, true, true), (0o700, true));
}

#[test]
fn what_is_there_is_kept_and_named_and_the_others_are_stored() {
    let (from, to) = (ScratchDirectory::new("from"), ScratchDirectory::new("to"));
    let store = StoreDirectory::open(to.path()).unwrap();
    from.write("a", b"new");
    from.write("b", b"same");
    from.write("c", b"missing");
    std::fs::create_dir(to.path().join("tree")).unwrap();
    to.write("tree/a", b"old");
    to.write("tree/b", b"same");
    let built = BuiltArchive::of(&[file(&from, "a"), file(&from, "b"), file(&from, "c")]);
    let mut plan = plan(&built.describe());
    plan.resume = true;
    let (outcome, refused) = arrive(&built.bytes, 100, &plan, &store);
    assert_eq!(outcome, Ok(true));
    assert_eq!(reasons(&refused), ["tree/a: it exists already"]);
    assert_eq!(to.read("tree/a"), b"old");
    assert_eq!(to.read("tree/c"), b"missing");
    plan.resume = false;
    let (_, refused) = arrive(&built.bytes, 100, &plan, &store);
    assert_eq!(refused.count, 3);
    plan.overwrite = true;
    let (_, refused) = arrive(&built.bytes, 100, &plan, &store);
    assert_eq!(refused.count, 0);
    assert_eq!(to.read("tree/a"), b"new");
}

#[test]
fn links_are_kept_and_lead_nowhere_else() {
    let to = ScratchDirectory::new("to");
    let store = StoreDirectory::open(to.path()).unwrap();
    let link = |target: &str, name: &str| ArchiveMember::Link {
        target: target.into(),
        name: name.to_owned(),
    };
    let built = BuiltArchive::of(&[
        link("sub/file", "tree/link"),
        link("../link", "tree/sub/other"),
    ]);
    let mut plan = plan(&built.describe());
    let leads_to = |name: &str| std::fs::read_link(to.path().join(name)).unwrap();
    let (outcome, refused) = arrive(&built.bytes, 9, &plan, &store);
    assert_eq!((outcome, reasons(&refused)), (Ok(true), Vec::new()));
    assert_eq!(leads_to("tree/link").as_os_str(), "sub/file");
    assert_eq!(leads_to("tree/sub/other").as_os_str(), "../link");
    // The same again: with --resume no obstacle.
    assert_eq!(arrive(&built.bytes, 9, &plan, &store).1.count, 2);
    plan.resume = true;
    assert_eq!(arrive(&built.bytes, 9, &plan, &store).1.count, 0);
    let elsewhere = BuiltArchive::of(&[link("sub", "tree/link"), link("x", "tree/sub")]);
    let (_, refused) = arrive(&elsewhere.bytes, 9, &plan, &store);
    let expected = [
        "tree/link: it exists already",
        "tree/sub: it exists already",
    ];
    assert_eq!(reasons(&refused), expected);
    (plan.resume, plan.overwrite) = (false, true);
    let (_, refused) = arrive(&elsewhere.bytes, 9, &plan, &store);
    // A directory is not replaced.
    assert_eq!(refused.count, 1, "{refused:?}");
    assert_eq!(leads_to("tree/link").as_os_str(), "sub");
    // What arrives under that name at the moment is not taken away.
    let arriving = std::fs::File::create(to.path().join("tree/link.part")).unwrap();
    rustix::fs::flock(&arriving, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let (_, refused) = arrive(&elsewhere.bytes, 9, &plan, &store);
    assert_eq!(refused.count, 2, "{refused:?}");
    assert!(to.path().join("tree/link.part").is_file());
    drop(arriving);
    std::fs::remove_file(to.path().join("tree/link.part")).unwrap();
    assert!(to.path().join("tree/sub").is_dir());
    let one = FileArchive {
        entries: 1,
        bytes: ByteCount::new(1000),
    };
    plan.content = TransferContent::Archive(one);
    for (name, target) in [
        ("tree/escape", "../secret"),
        ("tree/escape", "/etc/passwd"),
        ("tree/escape", "link/.."),
        ("tree/escape", ""),
        ("../escape", "x"),
        ("tree/escape.part", "x"),
        ("tree/link/escape", "x"),
    ] {
        let bytes = forged(EntryKind::Link, name.as_bytes(), target.as_bytes());
        let (outcome, refused) = arrive(&bytes, 10, &plan, &store);
        assert_eq!((outcome, refused.count), (Ok(true), 1), "{name} → {target}");
    }
    assert_eq!(to.names(), ["tree"]);
    assert!(!to.path().join("tree/escape").is_symlink());
}

#[test]
fn a_name_leads_nowhere_else_and_a_quota_is_kept() {
    let to = ScratchDirectory::new("to");
    let inner = to.path().join("store");
    std::fs::create_dir(&inner).unwrap();
    std::os::unix::fs::symlink(to.path(), inner.join("out")).unwrap();
    to.write("store/taken", b"");
    let store = StoreDirectory::open(&inner).unwrap();
    let plan = plan(&FileArchive {
        entries: 1,
        bytes: ByteCount::new(1000),
    });
    for (kind, name) in [
        (EntryKind::File, "../escaped"),
        (EntryKind::File, "/tmp/escaped"),
        (EntryKind::File, "out/escaped"),
        (EntryKind::File, "new\nline"),
        (EntryKind::File, "a.part"),
        (EntryKind::File, "out"),
        (EntryKind::Directory, "../escaped"),
        (EntryKind::Directory, "out/escaped"),
        (EntryKind::Directory, "taken"),
        (EntryKind::Directory, "out"),
        (EntryKind::Directory, ""),
    ] {
        let bytes = forged(kind, name.as_bytes(), b"");
        let (outcome, refused) = arrive(&bytes, 10, &plan, &store);
        assert_eq!((outcome, refused.count), (Ok(true), 1), "{name:?}");
    }
    assert_eq!(to.names(), ["store"]);
    let small = store.with_quota(Some(ByteCount::new(20_000)));
    let bytes = forged(EntryKind::File, b"fits", &[1; 5000]);
    assert_eq!(arrive(&bytes, 999, &plan, &small).1.count, 0);
    let bytes = forged(EntryKind::File, b"more", &[1; 10_000]);
    let (_, refused) = arrive(&bytes, 999, &plan, &small);
    assert!(
        reasons(&refused)[0].contains("--accept-bytes"),
        "{refused:?}"
    );
    assert!(!inner.join("more").exists());
}

#[test]
fn what_is_no_archive_is_a_failure_and_stores_nothing_more() {
    let to = ScratchDirectory::new("to");
    let store = StoreDirectory::open(to.path()).unwrap();
    let plan = plan(&FileArchive {
        entries: 1,
        bytes: ByteCount::new(1000),
    });
    let whole = forged(EntryKind::File, b"whole", b"content");
    let twice = [whole.clone(), forged(EntryKind::File, b"second", b"")].concat();
    let mut unknown = whole.clone();
    unknown[0] = b'P';
    let mut huge = whole.clone();
    huge[3..7].copy_from_slice(&(MAX_FILE_BYTES as u32 + 1).to_le_bytes());
    let mut long = whole.clone();
    long[1..3].copy_from_slice(&1025_u16.to_le_bytes());
    let not_text = forged(EntryKind::File, b"\xff", b"");
    let full_directory = forged(EntryKind::Directory, b"d", b"x");
    for (what, bytes) in [
        ("nothing", Vec::new()),
        ("half a header", whole[..HEADER_BYTES / 2].to_vec()),
        ("half a file", whole[..whole.len() - 1].to_vec()),
        ("one too many", twice),
        ("an unknown kind", unknown),
        ("too large", huge),
        ("too long a name", long),
        ("no text", not_text),
        ("a directory with content", full_directory),
    ] {
        let (outcome, _) = arrive(&bytes, 7, &plan, &store);
        assert!(outcome.is_err(), "{what}: {outcome:?}");
    }
    // The one before the one too many was whole.
    assert_eq!(to.names(), ["whole"]);
    let mut altered = forged(EntryKind::File, b"altered", b"content");
    *altered.last_mut().unwrap() ^= 1;
    let (_, refused) = arrive(&altered, 7, &plan, &store);
    assert_eq!(
        reasons(&refused),
        ["altered: its digest is not the sender's"]
    );
    assert_eq!(to.names(), ["whole"]);
}

#[test]
fn a_file_that_has_grown_or_gone_keeps_none_of_the_others_back() {
    let from = ScratchDirectory::new("from");
    from.write("a", b"x");
    from.write("grown", &vec![0; MAX_FILE_BYTES + 1]);
    std::os::unix::fs::symlink("a", from.path().join("link")).unwrap();
    let names = ["a", "grown", "gone", "link"];
    let built = BuiltArchive::of(&names.map(|name| file(&from, name)));
    assert_eq!(built.describe().entries, 1);
    let unread = built.unread.iter();
    let left: Vec<String> = unread
        .map(|one| one.path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["grown", "gone", "link"]);
}
