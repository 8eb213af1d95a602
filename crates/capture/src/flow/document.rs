//! What is said of a flow at its end.

use super::state::{DirectionTraffic, FlowKindState, FlowState};
use crate::model::{
    CapturedDirection, CapturedFlow, DscpFrames, EcnFrames, TcpAnalysis, UdpAnalysis,
};
use caudal_core::units::ByteCount;

impl FlowState {
    /// The flow as documents have it, in a capture that began at `capture_ns`.
    pub(crate) fn document(&self, capture_ns: u64) -> CapturedFlow {
        let start_s = self.first_ns.saturating_sub(capture_ns) as f64 / 1e9;
        let (mut tcp, mut udp) = match &self.kind {
            FlowKindState::Tcp(tracker) => (Some(Box::new(tracker.document(start_s))), None),
            FlowKindState::Udp(tracker) => (None, Some(Box::new(tracker.document()))),
            FlowKindState::Plain => (None, None),
        };
        if self.times.is_stepped || self.times.untimed > 0 {
            tcp.iter_mut().for_each(|tcp| forget_rates(tcp));
            let sides = udp
                .iter_mut()
                .flat_map(|udp| [&mut udp.to_server, &mut udp.to_client]);
            sides.for_each(|side| side.payload_rate_bps = None);
        }
        if self.times.untimed > 0 {
            tcp.iter_mut().for_each(|tcp| forget_times(tcp));
            udp.iter_mut().for_each(|udp| forget_gaps(udp));
        }
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

/// The clock was set within the flow: what it carried is known, how fast is not.
fn forget_rates(tcp: &mut TcpAnalysis) {
    for side in [&mut tcp.to_server, &mut tcp.to_client] {
        (side.payload_rate_bps, side.goodput_bps) = (None, None);
    }
}

/// Frames of the flow have no time: neither have round trips nor delays.
fn forget_times(tcp: &mut TcpAnalysis) {
    let handshake = &mut tcp.handshake;
    (
        handshake.rtt_us,
        handshake.syn_to_syn_ack_us,
        handshake.syn_ack_to_ack_us,
    ) = (None, None, None);
    tcp.responses = None;
    for side in [&mut tcp.to_server, &mut tcp.to_client] {
        (side.ack_rtt, side.timestamp_rtt) = (None, None);
    }
}

fn forget_gaps(udp: &mut UdpAnalysis) {
    udp.responses = None;
    for side in [&mut udp.to_server, &mut udp.to_client] {
        side.gaps = None;
        if let Some(numbers) = &mut side.numbers {
            numbers.jitter_us = None;
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
