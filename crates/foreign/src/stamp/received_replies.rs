//! What the replies of a test say, beside their times.

use caudal_analysis::stamp::{ReplyNumbers, SessionCounts};
use caudal_core::marks::MarkCounter;
use caudal_wire::stamp::{
    AnsweredExtension, ErrorEstimate, ExtensionKind, TimeSource, TimestampFormat, extensions,
};
use std::collections::HashMap;
use std::net::SocketAddr;

/// What the replies say, beside their times.
#[derive(Default)]
pub(super) struct ReceivedReplies {
    pub(super) answered: u64,
    pub(super) numbers: Vec<ReplyNumbers>,
    pub(super) counts: Option<(u32, SessionCounts)>,
    pub(super) departed_ns: HashMap<u32, u64>,
    pub(super) reflector_clock: Option<ErrorEstimate>,
    pub(super) format: Option<TimestampFormat>,
    pub(super) time_source: Option<TimeSource>,
    pub(super) seen_from: Option<SocketAddr>,
    pub(super) ttl: (Option<u8>, Option<u8>),
    pub(super) marks_up: MarkCounter,
    pub(super) marks_down: MarkCounter,
    pub(super) honoured: Vec<ExtensionKind>,
    pub(super) duplicate: u64,
    pub(super) late: u64,
    pub(super) discarded: u64,
    pub(super) without_kernel_time: bool,
}

impl ReceivedReplies {
    /// Takes the extensions of the reply with this number.
    pub(super) fn take_extensions(
        &mut self,
        after: &[u8],
        reply: u32,
        format: TimestampFormat,
        near_ns: u64,
    ) {
        for one in extensions(after).filter(AnsweredExtension::is_honoured) {
            let Some(kind) = one.kind() else { continue };
            if !self.honoured.contains(&kind) {
                self.honoured.push(kind);
            }
            if let Some(counts) = one.direct_measurement()
                && self.counts.is_none_or(|(latest, _)| reply >= latest)
            {
                let counts = SessionCounts {
                    sent: counts.sent,
                    received: counts.received,
                };
                self.counts = Some((reply, counts));
            }
            if let Some(tos) = one.arrived_tos() {
                self.marks_up.add(tos, 1);
            }
            if let Some((source, ..)) = one.timestamp_information() {
                self.time_source = source;
            }
            // At most one for each reply, whatever the replies say.
            if let Some(follow_up) = one.follow_up()
                && self.departed_ns.len() < self.numbers.len()
            {
                self.departed_ns.insert(
                    follow_up.sequence,
                    format.decode(follow_up.timestamp, near_ns),
                );
            }
            if let Some((source, _)) = one.location() {
                self.seen_from = source;
            }
        }
    }
}
