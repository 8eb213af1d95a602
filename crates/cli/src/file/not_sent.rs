//! What is not at the other end though it was to be sent.

use super::local_files::LeftOut;
use caudal_core::transfer::{RefusedFiles, TransferRecord};
use caudal_core::warning::{Warning, WarningCode};
use caudal_measure::UnreadMember;
use std::path::Path;

/// Maximum number of files that have a line each.
const MAX_LINES: usize = 50;

/// What is not at the other end though it was to be sent.
#[derive(Debug, Default)]
pub(super) struct NotSent {
    /// A line for each of the first.
    lines: Vec<String>,
    count: u64,
}

impl NotSent {
    /// What was left out of a directory, what could not be read, and what the server did not store.
    pub(super) fn new(
        left_out: &[LeftOut],
        unread: &[UnreadMember],
        transfers: &[TransferRecord],
    ) -> Self {
        let mut all = Self::default();
        for one in left_out {
            all.add(&one.path, &one.reason);
        }
        for one in unread {
            all.add(&one.path, &one.reason);
        }
        for refused in transfers.iter().filter_map(refused) {
            for file in &refused.first {
                all.push(format!("not stored: {}: {}", file.name, file.reason));
            }
            let named = u64::try_from(refused.first.len()).unwrap_or(u64::MAX);
            all.count = all
                .count
                .saturating_add(refused.count.saturating_sub(named));
        }
        all
    }

    /// `true` when everything is at the other end.
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// A line for each of the first, and one for the rest.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines = self.lines.clone();
        let more = self.count.saturating_sub(lines.len() as u64);
        if more > 0 {
            lines.push(format!("not sent or not stored: {more} more"));
        }
        lines
    }

    /// The warning of a document.
    pub(super) fn warning(&self) -> Warning {
        let are = if self.count == 1 { "is" } else { "are" };
        let message = format!(
            "{} of what is in the directory {are} not at the server",
            self.count
        );
        let is_there = |line: &String| line.contains("exists already");
        let mut warning = Warning::new(WarningCode::FilesLeftOut, message);
        if self.lines.iter().any(is_there) {
            let remedy = "--resume accepts files that are there with the same content, --force replaces them";
            warning.remedy = remedy.into();
        }
        warning
    }

    fn add(&mut self, path: &Path, reason: &str) {
        // Other control characters are escaped where it is written.
        let path = path.display().to_string().replace('\n', "\\n");
        self.push(format!("not sent: {path}: {reason}"));
    }

    fn push(&mut self, line: String) {
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
        self.count = self.count.saturating_add(1);
    }
}

/// What the receiver of a transfer did not store.
fn refused(transfer: &TransferRecord) -> Option<&RefusedFiles> {
    transfer.server.as_ref()?.refused.as_ref()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::{FilePlanRecord, PlanRecord};
    use caudal_core::transfer::{RefusedFile, TransferEnd};

    #[test]
    fn what_a_server_claims_to_have_refused_is_bounded_and_escaped() {
        let file = RefusedFile {
            name: "a\u{1b}[2J".into(),
            reason: "no\nreason".into(),
        };
        let transfer = TransferRecord {
            plan: PlanRecord::File(FilePlanRecord::default()),
            changed: Vec::new(),
            client: TransferEnd::default(),
            server: Some(TransferEnd {
                refused: Some(RefusedFiles {
                    count: u64::MAX,
                    first: vec![file; 200],
                }),
                ..TransferEnd::default()
            }),
            elapsed_s: 0.0,
            failure: None,
            cut_short: None,
        };
        let all = NotSent::new(&[], &[], &[transfer.clone(), transfer]);
        let lines = all.lines();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert!(!lines.concat().contains(['\u{1b}', '\n']), "{lines:?}");
    }

    #[test]
    fn the_first_have_a_line_each_and_all_are_counted() {
        let left_out: Vec<LeftOut> = (0..60)
            .map(|number| LeftOut {
                path: format!("tree/a\n{number}").into(),
                reason: "a socket, no regular file".to_owned(),
            })
            .collect();
        let all = NotSent::new(&left_out, &[], &[]);
        let lines = all.lines();
        assert_eq!(lines.len(), MAX_LINES + 1);
        assert_eq!(lines[0], "not sent: tree/a\\n0: a socket, no regular file");
        assert_eq!(lines[MAX_LINES], "not sent or not stored: 10 more");
        assert!(all.warning().message.to_string().starts_with("60 of what"));
        assert!(NotSent::new(&[], &[], &[]).is_empty());
    }
}
