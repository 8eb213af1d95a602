//! The frames behind findings.

use crate::model::{Finding, FindingCode};

/// How often something was seen, and in which frames first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FrameEvidence {
    pub(crate) code: FindingCode,
    pub(crate) count: u64,
    frames: [u64; Finding::MAX_FRAMES],
}

impl FrameEvidence {
    /// The first frames.
    pub(crate) fn frames(&self) -> Vec<u64> {
        let kept = self.count.min(Finding::MAX_FRAMES as u64) as usize;
        self.frames[..kept].to_vec()
    }
}

/// What was seen of each kind.
#[derive(Debug, Clone, Default)]
pub(crate) struct EvidenceLog {
    seen: Vec<FrameEvidence>,
}

impl EvidenceLog {
    /// Notes a frame.
    pub(crate) fn note(&mut self, code: FindingCode, frame: u64) {
        let at = self.seen.iter().position(|evidence| evidence.code == code);
        let at = at.unwrap_or_else(|| {
            self.seen.push(FrameEvidence {
                code,
                count: 0,
                frames: [0; Finding::MAX_FRAMES],
            });
            self.seen.len() - 1
        });
        let evidence = &mut self.seen[at];
        if let Some(slot) = evidence.frames.get_mut(evidence.count as usize) {
            *slot = frame;
        }
        evidence.count += 1;
    }

    /// What was seen of a kind.
    pub(crate) fn of(&self, code: &FindingCode) -> Option<&FrameEvidence> {
        self.seen.iter().find(|evidence| evidence.code == *code)
    }

    /// A finding with these frames.
    pub(crate) fn finding(&self, code: FindingCode, message: String) -> Finding {
        let mut finding = Finding::new(code, message);
        if let Some(evidence) = self.of(&finding.code) {
            finding.frames = evidence.frames();
            finding.count = evidence.count;
        }
        finding
    }
}
