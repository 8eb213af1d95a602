//! Findings: what deserves attention in a capture, as typed values that runs carry as well.

mod finding;
mod finding_code;
mod severity;

pub use finding::Finding;
pub use finding_code::FindingCode;
pub use severity::FindingSeverity;
