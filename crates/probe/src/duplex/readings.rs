//! What was measured of a link in both directions.

use super::end_link::EndLink;
use super::statement::LinkSide;
use caudal_core::interface::LinkErrors;
use caudal_core::units::BitRate;

/// A value of each direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EachWay<T> {
    /// From the near end to the far one.
    pub forward: T,
    /// From the far end to the near one.
    pub back: T,
}

impl<T: Copy> EachWay<T> {
    /// Both, the forward one first.
    pub(super) fn both(self) -> [T; 2] {
        [self.forward, self.back]
    }
}

/// The datagrams of one direction of one run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunLoss {
    /// Datagrams sent.
    pub sent: u64,
    /// Of these, lost.
    pub lost: u64,
}

impl RunLoss {
    /// The fraction lost; `None` when nothing was sent, or more lost than sent.
    #[must_use]
    pub fn fraction(self) -> Option<f64> {
        (self.sent > 0 && self.lost <= self.sent).then(|| self.lost as f64 / self.sent as f64)
    }
}

/// Runs of UDP with random gaps at a small part of the capacity: each way alone, then both ways at once.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LightRuns {
    /// The load of each direction, as a fraction of the lower capacity: 0.05 to 0.2.
    pub load: f64,
    /// The run of each direction alone.
    pub alone: EachWay<RunLoss>,
    /// The run of both directions at once.
    pub together: EachWay<RunLoss>,
}

/// Runs of UDP at more than the capacity: goodputs of each way alone, then both ways at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaturatingRuns {
    /// The goodput of each direction alone.
    pub alone: EachWay<BitRate>,
    /// The goodput of both directions at once.
    pub together: EachWay<BitRate>,
}

/// How much the counters of an end's interface grew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EndErrors {
    /// Late collisions over all runs.
    pub late_collisions: u64,
    /// Frames with CRC (FCS) errors, misaligned or too short, during runs of one direction.
    pub bad_frames_alone: u64,
    /// The same during runs of both directions.
    pub bad_frames_together: u64,
}

impl EndErrors {
    /// The errors of an interface whose counters grew by `alone` during the runs of one direction and by `together` during those of both.
    ///
    /// Of late collisions and of CRC errors there are two counters each, the kernel's and that of IEEE 802.3, which count one event
    /// twice: those of late collisions are taken from the latter where there is one, of those of CRC errors the larger. Frames of a
    /// wrong length count only as fragments: drivers count frames longer than the MTU too. What was not counted is 0 and decides nothing,
    /// and CRC errors that were not counted in both phases are 0 in both.
    #[must_use]
    pub fn from_growth(alone: &LinkErrors, together: &LinkErrors) -> Self {
        let late = |grown: &LinkErrors| grown.late_collisions.or(grown.tx_window_errors);
        let late_collisions = [alone, together]
            .into_iter()
            .filter_map(late)
            .fold(0, u64::saturating_add);
        let bad_frames = crc_errors(alone).zip(crc_errors(together));
        let (bad_frames_alone, bad_frames_together) = bad_frames.unwrap_or_default();
        Self {
            late_collisions,
            bad_frames_alone,
            bad_frames_together,
        }
    }

    /// Frames with CRC (FCS) errors, misaligned or too short, during all runs.
    pub(super) fn bad_frames(&self) -> u64 {
        self.bad_frames_alone
            .saturating_add(self.bad_frames_together)
    }
}

/// Frames received with CRC (FCS) errors, misaligned or cut; `None` when no counter has them.
fn crc_errors(grown: &LinkErrors) -> Option<u64> {
    let total = |counters: &[Option<u64>]| {
        let known = counters.iter().copied().flatten();
        known.reduce(u64::saturating_add)
    };
    let of_mac = total(&[
        grown.frame_check_sequence_errors,
        grown.alignment_errors,
        grown.fragments,
    ]);
    // `None` is less than any number.
    of_mac.max(total(&[grown.rx_crc_errors, grown.rx_frame_errors]))
}

/// All that was measured; what was not is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DuplexReadings {
    /// Light runs of large datagrams, 1472 bytes of payload.
    pub light: Option<LightRuns>,
    /// The same at twice the load.
    pub doubled: Option<LightRuns>,
    /// Light runs of small datagrams in one direction, in frames hardly longer than the slot time, against large ones in the other: `together`
    /// has the losses of the small ones of each direction.
    pub small: Option<LightRuns>,
    /// Saturating runs.
    pub saturating: Option<SaturatingRuns>,
    /// The goodput of one TCP flow of each direction alone.
    pub tcp_alone: Option<EachWay<BitRate>>,
    /// The counters of the near end.
    pub near_errors: Option<EndErrors>,
    /// The counters of the far end.
    pub far_errors: Option<EndErrors>,
    /// The rates of the interfaces: `forward` of the near end, `back` of the far one.
    pub interface_rates: Option<EachWay<BitRate>>,
    /// The capacity of the path.
    pub capacity: Option<BitRate>,
    /// The link of the near end, by its own interface.
    pub near_link: Option<EndLink>,
    /// The link of the far end, by its own interface.
    pub far_link: Option<EndLink>,
    /// `true` when the path has one hop: both interfaces are on one network, on one cable or with switches between.
    pub is_one_hop: bool,
}

impl DuplexReadings {
    /// The links of both ends, as far as their interfaces were read.
    pub(super) fn end_links(&self) -> impl Iterator<Item = (LinkSide, EndLink)> {
        let ends = [
            (LinkSide::Near, self.near_link),
            (LinkSide::Far, self.far_link),
        ];
        ends.into_iter()
            .filter_map(|(side, link)| Some((side, link?)))
    }

    /// `true` when a load of the path is a load of this link too: the path carries at least half its rate. A path that is much slower than
    /// a link does not test the link.
    pub(super) fn loads(&self, link: EndLink) -> bool {
        let rates = self.capacity.zip(link.rate);
        rates.is_some_and(|(capacity, rate)| capacity.as_f64() >= rate.as_f64() / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_that_two_counters_have_counts_once() {
        let alone = LinkErrors {
            rx_crc_errors: Some(0),
            rx_frame_errors: Some(0),
            tx_window_errors: Some(2),
            ..LinkErrors::default()
        };
        let together = LinkErrors {
            rx_crc_errors: Some(40),
            rx_frame_errors: Some(2),
            rx_length_errors: Some(500),
            frame_check_sequence_errors: Some(40),
            alignment_errors: Some(2),
            fragments: Some(9),
            late_collisions: Some(7),
            tx_window_errors: Some(7),
            ..LinkErrors::default()
        };
        let expected = EndErrors {
            late_collisions: 9,
            bad_frames_alone: 0,
            bad_frames_together: 51,
        };
        assert_eq!(EndErrors::from_growth(&alone, &together), expected);
    }

    #[test]
    fn what_was_not_counted_in_both_phases_decides_nothing() {
        let counted = LinkErrors {
            rx_crc_errors: Some(40),
            ..LinkErrors::default()
        };
        let unknown = LinkErrors::default();
        for (alone, together) in [(unknown, counted), (counted, unknown), (unknown, unknown)] {
            let errors = EndErrors::from_growth(&alone, &together);
            assert_eq!(errors, EndErrors::default());
        }
    }
}
