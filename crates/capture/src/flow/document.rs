//! What is said of a flow at its end.

use super::state::{DirectionTraffic, FlowKindState, FlowState};
use crate::model::{CapturedDirection, CapturedFlow, DscpFrames, EcnFrames};
use caudal_core::units::ByteCount;

impl FlowState {
    /// The flow as documents have it, in a capture that began at `capture_ns`.
    pub(crate) fn document(&self, capture_ns: u64) -> CapturedFlow {
        let start_s = self.first_ns.saturating_sub(capture_ns) as f64 / 1e9;
        let (tcp, udp) = match &self.kind {
            FlowKindState::Tcp(tracker) => (Some(Box::new(tracker.document(start_s))), None),
            FlowKindState::Udp(tracker) => (None, Some(Box::new(tracker.document()))),
            FlowKindState::Plain => (None, None),
        };
        let from_udp = match &self.kind {
            FlowKindState::Udp(tracker) => tracker.application,
            _ => None,
        };
        CapturedFlow {
            number: self.number,
            transport: self.tuple.transport(),
            client: self.tuple.end(self.client_is_low),
            server: self.tuple.end(!self.client_is_low),
            roles: self.roles,
            application: self.application.or(from_udp),
            first_frame: self.first_frame,
            last_frame: self.last_frame,
            start_s,
            duration_s: self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9,
            frames: self.to_server.frames + self.to_client.frames,
            bytes: ByteCount::new(self.to_server.bytes + self.to_client.bytes),
            to_server: direction(&self.to_server),
            to_client: direction(&self.to_client),
            icmp_errors: self.icmp_errors,
            tcp,
            udp,
        }
    }
}

fn direction(state: &DirectionTraffic) -> CapturedDirection {
    let first = state.first.map(|_| &state.first_dscp);
    let mut dscp: Vec<DscpFrames> = first
        .into_iter()
        .chain(&state.other_dscp)
        .map(|(dscp, frames)| DscpFrames {
            dscp: *dscp,
            frames: *frames,
        })
        .collect();
    dscp.sort_unstable_by_key(|entry| (std::cmp::Reverse(entry.frames), entry.dscp));
    let [not_ect, ect1, ect0, ce] = state.ecn;
    CapturedDirection {
        frames: state.frames,
        bytes: ByteCount::new(state.bytes),
        payload_bytes: ByteCount::new(state.payload),
        max_frame_bytes: state.max_frame,
        ttl_min: state.ttl.map(|ttl| ttl.0),
        ttl_max: state.ttl.map(|ttl| ttl.1),
        df_frames: state.df,
        fragments: state.fragments,
        dscp,
        ecn: EcnFrames {
            not_ect,
            ect1,
            ect0,
            ce,
        },
        first_frame: state.first.map(|first| first.0),
        duration_s: state.first.map_or(0.0, |first| {
            state.last_ns.saturating_sub(first.1) as f64 / 1e9
        }),
    }
}
