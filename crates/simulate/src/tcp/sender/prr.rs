//! Proportional rate reduction (RFC 6937).

/// The state of a reduction of the congestion window, in segments.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RateReduction {
    /// The window before the reduction.
    prior_cwnd: u64,
    /// Segments delivered since its start.
    delivered: u64,
    /// Segments sent since its start.
    sent: u64,
}

/// The effects of an acknowledgement that matter to a reduction.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReductionAck {
    /// Segments newly delivered.
    pub(super) delivered: u64,
    /// Segments newly marked lost.
    pub(super) lost: u64,
    /// Set when it acknowledges data in order.
    pub(super) advances: bool,
}

impl RateReduction {
    /// A reduction that starts at window `cwnd`.
    pub(super) fn start(cwnd: u64) -> Self {
        Self {
            prior_cwnd: cwnd,
            ..Self::default()
        }
    }

    /// Counts segments sent.
    pub(super) fn count_sent(&mut self, segments: u64) {
        self.sent += segments;
    }

    /// The window after an acknowledgement, with `in_flight` segments in flight; `None` when it stays as it is.
    ///
    /// Source: `tcp_cwnd_reduction()` in Linux, with the slow-start bound.
    pub(super) fn on_ack(
        &mut self,
        ack: ReductionAck,
        in_flight: u64,
        ssthresh: u64,
    ) -> Option<u64> {
        if ack.delivered == 0 || self.prior_cwnd == 0 {
            return None;
        }
        self.delivered += ack.delivered;
        let mut send = if in_flight > ssthresh {
            let proportional = (ssthresh * self.delivered).div_ceil(self.prior_cwnd);
            proportional.saturating_sub(self.sent)
        } else {
            let unsent = self.delivered.saturating_sub(self.sent);
            let mut send = unsent.max(ack.delivered);
            send += u64::from(ack.advances && ack.lost == 0);
            send.min(ssthresh - in_flight)
        };
        if self.sent == 0 {
            send = send.max(1);
        }
        Some(in_flight + send)
    }
}
