//! The window of one direction of a path: what it needs, what it got, and the settings behind that.

use super::baseline::{BaselineRtt, BaselineSource};
use super::judge::judge_settings;
use super::need::WindowNeed;
use super::rate::{PathRate, PathRateSource};
use super::setting::SettingJudgement;
use super::settings::WindowSettings;
use crate::host::Host;
use crate::sample::Role;
use crate::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Whether a window fills its path, and at which end it does not: where at both, at that of the smaller one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WindowSufficiency {
    /// The window does not limit the rate.
    Sufficient,
    /// What the receiver advertises is too small.
    ReceiverTooSmall,
    /// What the sender's buffer holds is too small.
    SenderTooSmall,
    /// There is too little to tell.
    #[default]
    Unknown,
}

/// The window that one direction of a path needs and what both ends grant.
///
/// Sizes of several flows are those of all of them together; those of the kernels' settings are of one connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WindowReport {
    /// The baseline round-trip time, without load, µs.
    pub rtt_us: f64,
    /// What it was measured with.
    pub rtt_source: BaselineSource,
    /// The rate that the window is for, bit/s; absent where none is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_bps: Option<u64>,
    /// Where it comes from: a link's rate, or one that was measured, of payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_source: Option<PathRateSource>,
    /// `true` when the path may carry more, so that all that follows from the rate is a lower bound.
    #[serde(default)]
    pub rate_at_least: bool,
    /// The bandwidth-delay product, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bdp_bytes: Option<u64>,
    /// The same in full segments, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bdp_segments: Option<u64>,
    /// The window that the path needs, bytes: 1.25 times that product.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_bytes: Option<u64>,
    /// The largest window that the receiver advertised, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub advertised_bytes: Option<u64>,
    /// The mean congestion window, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwnd_mean_bytes: Option<u64>,
    /// The mean payload in flight, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_flight_mean_bytes: Option<u64>,
    /// The receive buffer at the end, as the kernel accounts it, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_buffer_bytes: Option<u64>,
    /// The send buffer at the end, as the kernel accounts it, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_buffer_bytes: Option<u64>,
    /// About the largest window that the receiver's kernel advertises by its own tuning, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receiver_max_bytes: Option<u64>,
    /// About the largest window that the sender's kernel keeps by its own tuning, bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender_max_bytes: Option<u64>,
    /// The rate that the window allows at the baseline round-trip time, bit/s: of the one advertised, or, without a connection, of the
    /// smaller one that the kernels' tuning reaches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_bps: Option<u64>,
    /// The number of flows that fill the path with windows as small as these; absent where the window suffices.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows_needed: Option<u64>,
    /// Whether the window fills the path.
    #[serde(default)]
    pub sufficiency: WindowSufficiency,
    /// The settings of both kernels, the sender's first; none where no rate is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<SettingJudgement>,
}

/// A direction of a path: its baseline, its rate, and the hosts at its ends.
#[derive(Debug, Clone, Copy)]
pub struct WindowPath<'a> {
    /// The baseline round-trip time.
    pub baseline: BaselineRtt,
    /// The rate; `None` where none is known.
    pub rate: Option<PathRate>,
    /// The payload of a full segment, bytes; `None` where it is not known.
    pub mss: Option<u32>,
    /// The host that sends the payload.
    pub sender: &'a Host,
    /// The host that receives it.
    pub receiver: &'a Host,
}

impl WindowPath<'_> {
    /// The window that the path needs; `None` where its rate is not known.
    #[must_use]
    pub fn need(&self) -> Option<WindowNeed> {
        let need = WindowNeed::new(self.rate?.rate, self.baseline.rtt);
        Some(need.with_mss(self.mss.unwrap_or(0)))
    }
}

impl WindowReport {
    /// What the path needs and what the kernels' settings are, without anything granted to a connection.
    #[must_use]
    pub fn of_path(path: &WindowPath<'_>) -> Self {
        let need = path.need();
        let receiver_max = WindowSettings::of_host(path.receiver).max_receive_window();
        let sender_max = WindowSettings::of_host(path.sender).max_send_window();
        let settings = need.iter().flat_map(|need| {
            let ends = [(path.sender, Role::Sender), (path.receiver, Role::Receiver)];
            ends.into_iter()
                .flat_map(|(host, end)| judge_settings(host, end, need))
        });
        Self {
            rtt_us: path.baseline.as_us(),
            rtt_source: path.baseline.source,
            rate_bps: path.rate.map(|rate| rate.rate.bps()),
            rate_source: path.rate.map(|rate| rate.source),
            rate_at_least: path.rate.is_some_and(|rate| rate.is_lower_bound),
            bdp_bytes: need.map(|need| need.bdp().get()),
            bdp_segments: need.and_then(|need| need.segments()),
            needed_bytes: need.map(|need| need.window().get()),
            advertised_bytes: None,
            cwnd_mean_bytes: None,
            in_flight_mean_bytes: None,
            receive_buffer_bytes: None,
            send_buffer_bytes: None,
            receiver_max_bytes: receiver_max.map(ByteCount::get),
            sender_max_bytes: sender_max.map(ByteCount::get),
            allowed_bps: None,
            flows_needed: None,
            sufficiency: WindowSufficiency::Unknown,
            settings: settings.collect(),
        }
    }

    /// The same of a path without a connection: what the kernels' own tuning allows is compared with what the path needs.
    #[must_use]
    pub fn of_idle_path(path: &WindowPath<'_>) -> Self {
        let report = Self::of_path(path);
        let (receiver, sender) = (report.receiver_max_bytes, report.sender_max_bytes);
        let smaller = report.kernels_max_bytes();
        let sufficiency = match (report.needed_bytes, receiver, sender) {
            (Some(needed), Some(receiver), sender)
                if receiver < needed && sender.is_none_or(|sender| receiver <= sender) =>
            {
                WindowSufficiency::ReceiverTooSmall
            }
            (Some(needed), _, Some(sender)) if sender < needed => WindowSufficiency::SenderTooSmall,
            (Some(_), Some(_), Some(_)) => WindowSufficiency::Sufficient,
            _ => WindowSufficiency::Unknown,
        };
        Self {
            allowed_bps: report.rate_of(smaller),
            flows_needed: report.flows_of(smaller, sufficiency),
            sufficiency,
            ..report
        }
    }

    /// About the largest window that both kernels reach by their own tuning, bytes; `None` where that of one is not known.
    #[must_use]
    pub fn kernels_max_bytes(&self) -> Option<u64> {
        Some(self.receiver_max_bytes?.min(self.sender_max_bytes?))
    }

    /// The rate that a window of this many bytes allows, bit/s.
    #[must_use]
    pub fn rate_of(&self, window_bytes: Option<u64>) -> Option<u64> {
        let rtt = Duration::try_from_secs_f64(self.rtt_us / 1e6).ok()?;
        let allowed = super::need::window_rate(ByteCount::new(window_bytes?), rtt);
        allowed.map(BitRate::bps)
    }

    /// The number of flows that fill the path with windows of this many bytes each, where such a window does not.
    #[must_use]
    pub fn flows_of(
        &self,
        window_bytes: Option<u64>,
        sufficiency: WindowSufficiency,
    ) -> Option<u64> {
        let is_too_small = matches!(
            sufficiency,
            WindowSufficiency::ReceiverTooSmall | WindowSufficiency::SenderTooSmall
        );
        let (product, window) = (self.bdp_bytes?, window_bytes.filter(|_| is_too_small)?);
        super::need::flows_needed(ByteCount::new(product), ByteCount::new(window))
    }

    /// The settings that are not what the path needs.
    pub fn insufficient(&self) -> impl Iterator<Item = &SettingJudgement> {
        self.settings
            .iter()
            .filter(|setting| setting.suffices == Some(false))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(rmem: &str, wmem: &str) -> Host {
        let sysctls = [
            ("net.ipv4.tcp_rmem", rmem),
            ("net.ipv4.tcp_wmem", wmem),
            ("net.ipv4.tcp_moderate_rcvbuf", "1"),
            ("net.ipv4.tcp_window_scaling", "1"),
        ];
        Host {
            kernel: "6.18.44".into(),
            sysctls: sysctls
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            ..Host::default()
        }
    }

    fn report(rate: Option<u64>, sender: &Host, receiver: &Host) -> WindowReport {
        WindowReport::of_idle_path(&WindowPath {
            baseline: BaselineRtt {
                rtt: Duration::from_millis(50),
                source: BaselineSource::Messages,
            },
            rate: rate.map(|bps| PathRate {
                rate: BitRate::from_bps(bps),
                source: PathRateSource::Given,
                is_lower_bound: false,
            }),
            mss: Some(1448),
            sender,
            receiver,
        })
    }

    const USUAL: (&str, &str) = ("4096 131072 6291456", "4096 16384 4194304");

    #[test]
    fn the_kernels_tuning_is_compared_with_the_need_of_the_path() {
        use WindowSufficiency::{ReceiverTooSmall, SenderTooSmall, Sufficient, Unknown};
        let usual = host(USUAL.0, USUAL.1);
        let fast = 100_000_000;
        for (rate, sender, receiver, expected) in [
            (Some(fast), &usual, &usual, Sufficient),
            (
                Some(fast),
                &usual,
                &host("4096 131072 131072", USUAL.1),
                ReceiverTooSmall,
            ),
            (
                Some(fast),
                &host(USUAL.0, "4096 16384 65536"),
                &usual,
                SenderTooSmall,
            ),
            // The smaller one of both is named.
            (Some(10 * fast), &usual, &usual, SenderTooSmall),
            (Some(fast), &usual, &Host::default(), Unknown),
            (None, &usual, &usual, Unknown),
        ] {
            let report = report(rate, sender, receiver);
            assert_eq!(report.sufficiency, expected, "{report:?}");
            let is_small = matches!(expected, ReceiverTooSmall | SenderTooSmall);
            assert_eq!(report.flows_needed.is_some(), is_small, "{report:?}");
        }
    }

    #[test]
    fn without_a_rate_the_largest_window_over_the_round_trip_is_an_answer() {
        let usual = host(USUAL.0, USUAL.1);
        let report = report(None, &usual, &usual);
        assert_eq!(report.bdp_bytes, None);
        // 2 MiB in 50 ms, the smaller one of both.
        assert_eq!(report.allowed_bps, Some(335_544_320));
        assert!(report.settings.is_empty());
    }

    #[test]
    fn a_report_reads_as_it_was_written() {
        let usual = host(USUAL.0, USUAL.1);
        for rate in [None, Some(1_000_000_000)] {
            let report = report(rate, &usual, &usual);
            let text = serde_json::to_string(&report).unwrap();
            assert_eq!(serde_json::from_str::<WindowReport>(&text).unwrap(), report);
        }
    }
}
