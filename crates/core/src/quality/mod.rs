//! Latency under load: what a test of it measures, and what that adds up to.
//!
//! Sources: draft-ietf-ippm-responsiveness-09 (responsiveness), RFC 2679 and 2681 (delay), the grades of DSLReports.

mod added;
mod advice;
mod call;
mod fill;
mod grade;
mod interval;
mod one_way;
mod phase;
mod probe;
mod report;
mod responsiveness;
mod sender_queue;
mod via;

pub use added::{AddedDelay, DelayIncrease, ProtocolIncreases};
pub use advice::{Advice, AdviceCode};
pub use call::CallQuality;
pub use fill::{FillVerdict, PathFill};
pub use grade::{Grade, GradeReport};
pub use interval::QualityInterval;
pub use one_way::OneWayReport;
pub use phase::{PhaseDirection, PhaseReport};
pub use probe::{ConnectProbe, ProbeKind, ProbeSummary};
pub use report::QualityReport;
pub use responsiveness::{Responsiveness, ResponsivenessConfidence};
pub use sender_queue::SenderQueue;
pub use via::{ViaHost, ViaPhase};
