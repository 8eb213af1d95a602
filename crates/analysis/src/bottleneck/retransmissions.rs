//! What a TCP connection retransmitted, and what that says of the network.

use super::evidence::{Evidence, MIN_SHARE};
use super::loss_pattern::{LossPattern, SIMILAR};
use super::round_trip::{min_rtt_s, round_trips};
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::readings::SenderReadings;
use caudal_core::sample::TcpSnapshot;

/// Share of DSACKed retransmissions that makes them spurious.
const MIN_SPURIOUS: f64 = 0.5;
/// Minimum fraction of the payload retransmitted that can limit a connection.
const MIN_LOSS: f64 = 0.001;
/// Minimum number of retransmitted segments for their pattern to be examined.
const MIN_RETRANSMITS: u64 = 4;
/// Reordering rate above which the RTT shows no queue: reordering events per segment sent.
const MIN_REORDERED: f64 = 0.1;
/// Minimum time of a retransmission timeout, s. Source: `TCP_RTO_MIN`, include/net/tcp.h.
const MIN_TIMEOUT_S: f64 = 0.2;
/// Minimum share of what a link can carry for a rate between losses to be that of the link.
const MIN_LINK_PART: f64 = 0.9;
/// Minimum share at which bursts at a queue too short to be seen keep to a rate like that of a policer.
const MIN_SHORT_QUEUE_PART: f64 = 0.7;

/// What one connection retransmitted, with what its sender was found in meanwhile.
pub(super) struct Retransmissions<'a> {
    pub(super) evidence: &'a Evidence<'a>,
    pub(super) readings: &'a SenderReadings,
    pub(super) first: &'a TcpSnapshot,
    pub(super) last: &'a TcpSnapshot,
}

impl Retransmissions<'_> {
    /// What limits the connection of reordering, loss and timeouts; without a queue, whose tail drops are the link's.
    pub(super) fn limited_by(&self, pattern: Option<LossPattern>) -> Option<LimitedBy> {
        self.limited_by_reordering()
            .or_else(|| self.limited_by_pattern(pattern?))
            .or_else(|| self.limited_by_timeouts())
    }

    /// What losses with this pattern say of the network.
    pub(super) fn limited_by_pattern(&self, pattern: LossPattern) -> Option<LimitedBy> {
        let retransmitted = format!(
            "{} segments retransmitted ({:.2} %), {}",
            self.retransmits(),
            self.loss()? * 100.0,
            self.round_trips()
        );
        let by = |cause, text: String| Some(LimitedBy::because(cause, Bottleneck::Network, text));
        let ms = |s: f64| format!("{:.1} ms", s * 1e3);
        match pattern {
            LossPattern::FullLink { queue_s } => by(
                Cause::LinkRate,
                format!(
                    "the path is full: a queue of {} most of the time; {retransmitted}",
                    ms(queue_s)
                ),
            ),
            LossPattern::Overflow { queue_s } => by(
                Cause::LinkRate,
                format!(
                    "the queue before it overflows at {} whenever the window fills it; {retransmitted}",
                    ms(queue_s)
                ),
            ),
            LossPattern::SteadyAfterStart { queue_s } => by(
                Cause::LinkRate,
                format!(
                    "the rate was steady after a queue of {} overflowed at the start; {retransmitted}",
                    ms(queue_s)
                ),
            ),
            LossPattern::SlowStartOverflow {
                queue_s,
                round_trips,
            } => {
                let of_path = queue_s / min_rtt_s(self.last).max(1e-6) * 100.0;
                by(
                    Cause::SlowStart,
                    format!(
                        "a queue of {} ({of_path:.0} % of the BDP) overflowed in slow start, and {:.1} s ({round_trips:.0} RTT) later the \
                         connection was still recovering: measure longer, or with --omit; {retransmitted}",
                        ms(queue_s),
                        round_trips * min_rtt_s(self.last)
                    ),
                )
            }
            LossPattern::Policer { rate_bps } => {
                let max = self.evidence.ceiling_bps.unwrap_or(f64::INFINITY);
                let rate = format!("about {:.2} Mbit/s", rate_bps / 1e6);
                if rate_bps >= MIN_LINK_PART * max {
                    let text = format!(
                        "losses at {rate}, which is what the link can carry: its queue was full for short times only; {retransmitted}"
                    );
                    return by(Cause::LinkRate, text);
                }
                if rate_bps >= MIN_SHORT_QUEUE_PART * max {
                    return Some(LimitedBy::new(
                        Bottleneck::Network,
                        format!("cannot tell how: losses at {rate}, {SIMILAR}; {retransmitted}"),
                    ));
                }
                by(
                    Cause::Policer,
                    format!("{rate}, at which the losses came without a queue; {retransmitted}"),
                )
            }
            LossPattern::Random {
                loss,
                is_steady: true,
            } => by(
                Cause::LinkRate,
                format!(
                    "the rate was steady; {:.3} % of the segments were lost at random, for which this congestion control does not slow \
                     down; {retransmitted}",
                    loss * 100.0
                ),
            ),
            LossPattern::Random {
                loss,
                is_steady: false,
            } => {
                let mss = f64::from(self.last.mss.max(1));
                let reno_bps = mss * 8.0 / self.rtt_s().max(1e-6) * (1.5 / loss.max(1e-9)).sqrt();
                by(
                    Cause::RandomLoss,
                    format!(
                        "{:.3} % of the segments were lost at random after the start; Reno reaches {:.2} Mbit/s at such a loss; \
                         {retransmitted}",
                        loss * 100.0,
                        reno_bps / 1e6
                    ),
                )
            }
            LossPattern::Heavy => Some(LimitedBy::new(
                Bottleneck::Network,
                format!("cannot tell how: {SIMILAR}; {retransmitted}"),
            )),
            LossPattern::Unknown(why) if self.loss()? >= MIN_LOSS => Some(LimitedBy::new(
                Bottleneck::Network,
                format!("cannot tell how: {why}; {retransmitted}"),
            )),
            LossPattern::Unknown(_) => None,
        }
    }

    /// Reordering so frequent that the round-trip time tells nothing about a queue.
    pub(super) fn limited_by_frequent_reordering(&self) -> Option<LimitedBy> {
        let sent = self.since(|tcp| tcp.bytes_sent)?;
        let segments = sent / u64::from(self.last.mss.max(1));
        let events = self.since(|tcp| tcp.reordering_seen)?;
        (events as f64 >= MIN_REORDERED * segments.max(1) as f64)
            .then(|| self.limited_by_reordering())
            .flatten()
    }

    /// Reordering that TCP took for loss: most of what it retransmitted arrived twice, and the kernel has seen segments overtake others.
    ///
    /// The receiver reports a segment that arrives again (DSACK, RFC 2883), so a retransmission that was not needed shows.
    fn limited_by_reordering(&self) -> Option<LimitedBy> {
        let retransmits = self.retransmits();
        let twice = self.since(|tcp| tcp.duplicate_sacks)?;
        let events = self.since(|tcp| tcp.reordering_seen)?;
        let is_spurious = twice as f64 >= MIN_SPURIOUS * retransmits as f64;
        let is_enough = retransmits >= MIN_RETRANSMITS && self.loss()? >= MIN_LOSS;
        (is_spurious && events > 0 && is_enough).then(|| {
            LimitedBy::because(
                Cause::Reordering,
                Bottleneck::Network,
                format!(
                    "{retransmits} segments retransmitted, of which {twice} had arrived after all; {events} times segments \
                     overtook others, {}",
                    self.round_trips()
                ),
            )
        })
    }

    /// Retransmission timeouts, in which nothing is sent, where they take a considerable part of the time: an outage, or losses of whole
    /// windows.
    fn limited_by_timeouts(&self) -> Option<LimitedBy> {
        let timeouts = self.since(|tcp| tcp.timeouts)?;
        let waited_s = timeouts as f64 * MIN_TIMEOUT_S;
        let elapsed_s = self.evidence.measured.elapsed_ns as f64 / 1e9;
        (waited_s >= MIN_SHARE * elapsed_s).then(|| {
            LimitedBy::new(
                Bottleneck::Network,
                format!(
                    "{timeouts} retransmission timeouts, of at least {:.0} ms each without an acknowledgement: the path lost \
                     all that was sent",
                    MIN_TIMEOUT_S * 1e3
                ),
            )
        })
    }

    /// The increase of a counter; `None` where the kernel does not report it.
    fn since(&self, counter: fn(&TcpSnapshot) -> Option<u64>) -> Option<u64> {
        Some(counter(self.last)?.saturating_sub(counter(self.first)?))
    }

    /// The fraction of the payload that was retransmitted.
    fn loss(&self) -> Option<f64> {
        let again = self.since(|tcp| tcp.retransmitted_bytes)?;
        Some(again as f64 / self.since(|tcp| tcp.bytes_sent)?.max(1) as f64)
    }

    fn retransmits(&self) -> u64 {
        self.last.retransmits.saturating_sub(self.first.retransmits)
    }

    /// The mean round-trip time, s.
    fn rtt_s(&self) -> f64 {
        self.readings.mean(self.readings.rtt_sum_us) / 1e6
    }

    fn round_trips(&self) -> String {
        round_trips(self.rtt_s(), self.last)
    }
}
