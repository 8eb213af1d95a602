//! When a packet counts as lost (RFC 9002, section 6.1), and what a mistake teaches.

/// The initial packet threshold (kPacketThreshold).
const PACKET_THRESHOLD: u64 = 3;
/// Largest packet threshold that reordering raises it to.
const MAX_PACKET_THRESHOLD: u64 = 1 << 15;
/// The initial time threshold, eighths of a round trip (kTimeThreshold = 9/8).
const TIME_THRESHOLD: u64 = 9;
/// Maximum time threshold that reordering raises it to, eighths of a round trip.
const MAX_TIME_THRESHOLD: u64 = 24;

/// One reaction to loss, which is undone when every packet of it arrives after all.
#[derive(Debug, Clone, Copy)]
struct LossEpisode {
    first_pn: u64,
    lost: u64,
    spurious: u64,
}

/// The thresholds of loss detection and the reaction under way.
#[derive(Debug)]
pub(super) struct LossDetector {
    /// The highest number acknowledged.
    pub(super) largest_acked: Option<u64>,
    /// Every packet below is no longer in flight.
    pub(super) first_open: u64,
    /// The time at which a packet in flight will count as lost, ns.
    pub(super) due_ns: Option<u64>,
    /// Packets that overtook one that is lost.
    pub(super) packet_threshold: u64,
    time_threshold: u64,
    episode: Option<LossEpisode>,
    /// Packets sent from this number on are not of the latest episode.
    recovery_end: u64,
    /// The departure of the first packet of an unbroken run of lost ones.
    run_start_ns: Option<u64>,
}

impl LossDetector {
    pub(super) const fn new(first_pn: u64) -> Self {
        Self {
            largest_acked: None,
            first_open: first_pn,
            due_ns: None,
            packet_threshold: PACKET_THRESHOLD,
            time_threshold: TIME_THRESHOLD,
            episode: None,
            recovery_end: first_pn,
            run_start_ns: None,
        }
    }

    /// The time after its departure at which a packet counts as lost once a later one was acknowledged, ns.
    pub(super) fn delay(&self, rtt_ns: u64, granularity_ns: u64) -> u64 {
        (rtt_ns / 8)
            .saturating_mul(self.time_threshold)
            .max(granularity_ns)
    }

    /// Packets were declared lost, the newest of them `newest_pn`, when the next one to be sent was `next_pn`.
    pub(super) const fn on_lost(
        &mut self,
        first_pn: u64,
        newest_pn: u64,
        count: u64,
        next_pn: u64,
    ) {
        match &mut self.episode {
            Some(episode) if newest_pn < self.recovery_end => episode.lost += count,
            _ => {
                self.episode = Some(LossEpisode {
                    first_pn,
                    lost: count,
                    spurious: 0,
                });
                self.recovery_end = next_pn;
            }
        }
    }

    /// A packet that was declared lost has arrived after all, `age_ns` after it was sent: `true` when the reaction is to be undone.
    pub(super) fn on_spurious(&mut self, pn: u64, age_ns: u64, rtt_ns: u64) -> bool {
        let overtaken = self
            .largest_acked
            .map_or(0, |largest| largest.saturating_sub(pn) + 1);
        self.packet_threshold = self
            .packet_threshold
            .max(overtaken.min(MAX_PACKET_THRESHOLD));
        let eighths = age_ns.saturating_mul(8) / rtt_ns.max(1) + 1;
        self.time_threshold = self.time_threshold.max(eighths.min(MAX_TIME_THRESHOLD));
        let Some(episode) = self
            .episode
            .as_mut()
            .filter(|episode| pn >= episode.first_pn)
        else {
            return false;
        };
        episode.spurious += 1;
        let is_undone = episode.spurious >= episode.lost;
        if is_undone {
            self.episode = None;
        }
        is_undone
    }

    /// A packet that is not lost lies between those that are.
    pub(super) const fn end_run(&mut self) {
        self.run_start_ns = None;
    }

    /// A packet that left at `sent_ns` was lost: the time since the departure of the first of the run.
    pub(super) fn extend_run(&mut self, sent_ns: u64) -> u64 {
        sent_ns.saturating_sub(*self.run_start_ns.get_or_insert(sent_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reaction_is_undone_when_each_of_its_packets_has_arrived() {
        let mut loss = LossDetector::new(0);
        loss.largest_acked = Some(20);
        loss.on_lost(5, 6, 2, 30);
        loss.on_lost(8, 8, 1, 32);
        assert!(!loss.on_spurious(5, 10, 8));
        assert!(!loss.on_spurious(6, 10, 8));
        assert!(loss.on_spurious(8, 10, 8));
        assert_eq!(loss.packet_threshold, 16);
    }

    #[test]
    fn a_packet_of_an_earlier_reaction_undoes_nothing() {
        let mut loss = LossDetector::new(0);
        loss.on_lost(5, 5, 1, 10);
        loss.on_lost(12, 12, 1, 20);
        assert!(!loss.on_spurious(5, 1, 1));
    }

    #[test]
    fn the_time_threshold_follows_how_late_packets_were_up_to_three_round_trips() {
        let mut loss = LossDetector::new(0);
        assert_eq!(loss.delay(800, 1), 900);
        loss.on_spurious(1, 1500, 800);
        assert_eq!(loss.delay(800, 1), 1600);
        loss.on_spurious(1, 1 << 40, 800);
        assert_eq!(loss.delay(800, 1), 2400);
        assert_eq!(loss.delay(800, 5000), 5000);
    }
}
