//! The check of a file transfer that a server accepted against the one that was offered.

use super::error::{AcceptanceError, check_rate, same};
use caudal_core::plan::{Direction, FileIdentity, TransferContent, TransferPlan, TransferSink};

/// Checks a file transfer: of a download the server fills in the file's size and time of change, and begins at its first byte where
/// the file is not the one whose beginning the client has; of an upload it fills in the bytes that it has, and may discard instead of
/// store.
pub(super) fn check_transfer(
    offered: &TransferPlan,
    accepted: &TransferPlan,
) -> Result<(), AcceptanceError> {
    let TransferPlan {
        via,
        direction,
        content,
        sink,
        resume_from,
        resume,
        overwrite,
        preserve,
        sparse,
        rate,
        congestion,
        dscp,
        interval,
        same_machine,
        certificate: _,
    } = accepted;
    same("protocol", &offered.via, via)?;
    same("direction", &offered.direction, direction)?;
    check_content(offered, content)?;
    if *sink != TransferSink::Discard || *direction == Direction::Down {
        same("sink", &offered.sink, sink)?;
    }
    same("setting of resumption", &offered.resume, resume)?;
    let may_begin_later = *direction == Direction::Up && *resume;
    let is_within = content.bytes().is_some_and(|bytes| *resume_from <= bytes);
    if resume_from.get() > 0 && !(may_begin_later && is_within) {
        same("first byte", &offered.resume_from, resume_from)?;
    }
    same("setting of replacement", &offered.overwrite, overwrite)?;
    same("setting of preservation", &offered.preserve, preserve)?;
    same("setting of holes", &offered.sparse, sparse)?;
    check_rate(offered.rate, *rate)?;
    same("congestion control", &offered.congestion, congestion)?;
    same("DSCP", &offered.dscp, dscp)?;
    same("reporting interval", &offered.interval, interval)?;
    same(
        "placement of both ends",
        &offered.same_machine,
        same_machine,
    )
}

fn check_content(
    offered: &TransferPlan,
    accepted: &TransferContent,
) -> Result<(), AcceptanceError> {
    match (&offered.content, accepted, offered.direction) {
        (TransferContent::File(asked), TransferContent::File(file), Direction::Down) => {
            let FileIdentity {
                name,
                bytes: _,
                modified_ns: _,
                permissions: _,
            } = file;
            same("file", &asked.name, name)
        }
        (offered, accepted, _) => same("content", offered, accepted),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{Rate, TcpTransferSettings, TransferVia};
    use caudal_core::units::ByteCount;
    use std::time::Duration;

    fn changed(plan: &TransferPlan, change: impl Fn(&mut TransferPlan)) -> TransferPlan {
        let mut plan = plan.clone();
        change(&mut plan);
        plan
    }

    fn transfer(direction: Direction) -> TransferPlan {
        TransferPlan {
            via: TransferVia::Quic,
            direction,
            content: TransferContent::File(FileIdentity {
                name: "a".to_owned(),
                bytes: Some(ByteCount::new(3 << 20)),
                modified_ns: Some(1),
                permissions: None,
            }),
            sink: TransferSink::File,
            resume_from: ByteCount::new(0),
            resume: true,
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

    #[test]
    fn a_server_fills_in_what_only_it_knows_of_a_file_transfer() {
        let (up, down) = (transfer(Direction::Up), transfer(Direction::Down));
        let file = |bytes| {
            TransferContent::File(FileIdentity {
                name: "a".to_owned(),
                bytes: Some(ByteCount::new(bytes)),
                modified_ns: Some(9),
                permissions: None,
            })
        };
        let has_a_part = changed(&up, |plan| plan.resume_from = ByteCount::new(1 << 20));
        assert_eq!(check_transfer(&up, &has_a_part), Ok(()));
        let discards = changed(&up, |plan| plan.sink = TransferSink::Discard);
        assert_eq!(check_transfer(&up, &discards), Ok(()));
        let encrypted = changed(&up, |plan| plan.certificate = Some("ab".repeat(32)));
        assert_eq!(check_transfer(&up, &encrypted), Ok(()));
        let known = changed(&down, |plan| plan.content = file(5));
        assert_eq!(check_transfer(&down, &known), Ok(()));
        let begun = changed(&down, |plan| plan.resume_from = ByteCount::new(1 << 20));
        assert_eq!(check_transfer(&begun, &known), Ok(()), "another file");
    }

    #[test]
    fn a_server_may_not_change_any_other_setting_of_a_file_transfer() {
        let up = transfer(Direction::Up);
        let changes: [fn(&mut TransferPlan); 12] = [
            |plan| plan.direction = Direction::Down,
            |plan| {
                plan.via = TransferVia::Tcp(TcpTransferSettings {
                    write_bytes: 1,
                    mss: None,
                    no_delay: false,
                    sendfile: false,
                });
            },
            |plan| {
                plan.content = TransferContent::Generated {
                    bytes: ByteCount::new(1),
                    seed: 1,
                    from_file: false,
                };
            },
            |plan| plan.sink = TransferSink::SyncedFile,
            |plan| plan.resume_from = ByteCount::new(4 << 20),
            |plan| plan.resume = false,
            |plan| plan.overwrite = true,
            |plan| plan.preserve = true,
            |plan| plan.sparse = true,
            |plan| plan.congestion = Some("cubic".to_owned()),
            |plan| plan.interval = Duration::from_secs(2),
            |plan| plan.same_machine = true,
        ];
        for (nth, change) in changes.into_iter().enumerate() {
            let outcome = check_transfer(&up, &changed(&up, change));
            assert!(
                matches!(outcome, Err(AcceptanceError::Different(_))),
                "change {nth}: {outcome:?}"
            );
        }
        let down = transfer(Direction::Down);
        let later = changed(&down, |plan| plan.resume_from = ByteCount::new(1 << 20));
        assert!(check_transfer(&down, &later).is_err());
        let discards = changed(&down, |plan| plan.sink = TransferSink::Discard);
        assert!(check_transfer(&down, &discards).is_err());
        let renamed = changed(&down, |plan| {
            if let TransferContent::File(file) = &mut plan.content {
                file.name = "b".to_owned();
            }
        });
        assert!(check_transfer(&down, &renamed).is_err());
    }
}
