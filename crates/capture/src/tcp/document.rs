//! What is said of a connection at its end.

use super::connection::TcpTracker;
use super::half::TcpHalf;
use super::location::{explain_offload, locate};
use crate::frame_rate::rate_of_frames;
use crate::model::{
    CaptureLocation, CapturePoint, FrameDirection, TcpAnalysis, TcpDirectionAnalysis, TcpEcnCounts,
    TcpEnding, TcpEndingKind, TcpWindowCounts,
};
use caudal_core::units::{BitRate, ByteCount};

impl TcpTracker {
    /// The analysis of a flow that began `start_s` after the capture.
    pub(crate) fn document(&self, start_s: f64) -> TcpAnalysis {
        let location = locate(&self.opening, &self.client, &self.server);
        let at_client = matches!(
            location.point,
            CapturePoint::ClientHost | CapturePoint::NearClient | CapturePoint::BothHosts
        );
        let half = |half, direction| self.direction(half, direction, &location, start_s);
        TcpAnalysis {
            handshake: self.opening.document(&self.client, &self.server),
            ending: self.ending(),
            to_server: half(&self.client, FrameDirection::ToServer),
            to_client: half(&self.server, FrameDirection::ToClient),
            responses: self.responses.document(at_client),
            location,
        }
    }

    fn ending(&self) -> TcpEnding {
        let acked = |sender: &TcpHalf, receiver: &TcpHalf| {
            sender.fin_end.is_some() && receiver.acked >= sender.fin_end
        };
        let (client, server) = (&self.client, &self.server);
        let both = client.fin_seen && server.fin_seen;
        let kind = match self.reset {
            Some(_) if both => TcpEndingKind::ResetAfterClose,
            Some(_) => TcpEndingKind::Reset,
            None if both && acked(client, server) && acked(server, client) => TcpEndingKind::Closed,
            None if both => TcpEndingKind::Closing,
            None if (client.fin_seen || server.fin_seen)
                && !(client.sent_any && server.sent_any) =>
            {
                TcpEndingKind::CannotTell
            }
            None if client.fin_seen || server.fin_seen => TcpEndingKind::HalfClosed,
            None => TcpEndingKind::Open,
        };
        TcpEnding {
            kind,
            client_fin_frame: client.fin_frame,
            server_fin_frame: server.fin_frame,
            reset_frame: self.reset.map(|(frame, _)| frame),
            reset_by_client: self.reset.map(|(_, by)| by == FrameDirection::ToServer),
        }
    }

    fn direction(
        &self,
        half: &TcpHalf,
        direction: FrameDirection,
        location: &CaptureLocation,
        start_s: f64,
    ) -> TcpDirectionAnalysis {
        let counts = &half.counts;
        let mut segmentation = half.segments.document();
        explain_offload(&mut segmentation, location, half, direction);
        TcpDirectionAnalysis {
            data_frames: counts.data_frames,
            pure_acks: counts.pure_acks,
            unique_bytes: ByteCount::new(counts.unique),
            missing_bytes: ByteCount::new(half.gaps.missing()),
            payload_rate_bps: rate(half, counts.payload),
            goodput_bps: rate(half, counts.unique),
            segmentation,
            messages: half.runs.document(),
            retransmissions: counts.retransmissions,
            out_of_order: counts.out_of_order,
            previous_not_captured: counts.beyond_gap,
            acked_not_captured: counts.acked_unseen,
            duplicate_acks: counts.duplicate_acks,
            sack_frames: counts.sack_frames,
            sack_blocks: counts.sack_blocks,
            duplicate_sacks: counts.duplicate_sacks,
            window: self.windows(half),
            ecn: TcpEcnCounts {
                ece: counts.ece,
                cwr: counts.cwr,
            },
            max_in_flight_bytes: counts.max_in_flight.map(ByteCount::new),
            ack_rtt: half.ack_rtt.document(),
            timestamp_rtt: half.timestamp_rtt.document(),
            partial_checksums: counts.partial_checksums,
            rate: half.bins.document(start_s),
            max_idle_s: counts.max_idle_ns as f64 / 1e9,
        }
    }

    fn windows(&self, half: &TcpHalf) -> TcpWindowCounts {
        let counts = &half.counts;
        TcpWindowCounts {
            min_bytes: counts.window_min.map(ByteCount::new),
            max_bytes: counts.window_min.map(|_| ByteCount::new(counts.window_max)),
            scale_known: self.scale_known,
            zero_windows: counts.zero_windows,
            filled: counts.window_filled,
            updates: counts.window_updates,
            zero_window_probes: counts.zero_window_probes,
            keep_alives: counts.keep_alives,
        }
    }
}

/// The rate of the payload in the frames of a direction.
fn rate(half: &TcpHalf, bytes: u64) -> Option<BitRate> {
    let ns = half.last_data_ns?.checked_sub(half.first_data_ns?)?;
    rate_of_frames(bytes, half.counts.data_frames, ns)
}
