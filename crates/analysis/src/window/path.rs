//! The window of one direction of a path: what it needs, and the settings behind that.

use super::judge::judge_settings;
use super::need::{WindowNeed, flows_needed, window_rate};
use super::rate::PathRate;
use super::settings::WindowSettings;
use caudal_core::host::Host;
use caudal_core::sample::Role;
use caudal_core::units::{BitRate, ByteCount};
use caudal_core::window::{BaselineRtt, WindowReport, WindowSufficiency};
use std::time::Duration;

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

    /// What the path needs and what the kernels' settings are, without anything granted to a connection.
    #[must_use]
    pub fn report(&self) -> WindowReport {
        let need = self.need();
        let receiver_max = WindowSettings::of_host(self.receiver).max_receive_window();
        let sender_max = WindowSettings::of_host(self.sender).max_send_window();
        let settings = need.iter().flat_map(|need| {
            let ends = [(self.sender, Role::Sender), (self.receiver, Role::Receiver)];
            ends.into_iter()
                .flat_map(|(host, end)| judge_settings(host, end, need))
        });
        WindowReport {
            rtt_us: self.baseline.as_us(),
            rtt_source: self.baseline.source,
            rate_bps: self.rate.map(|rate| rate.rate.bps()),
            rate_source: self.rate.map(|rate| rate.source),
            rate_at_least: self.rate.is_some_and(|rate| rate.is_lower_bound),
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
    pub fn idle_report(&self) -> WindowReport {
        let report = self.report();
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
        WindowReport {
            allowed_bps: allowed_bps(&report, smaller),
            flows_needed: flows_that_fill(&report, smaller, sufficiency),
            sufficiency,
            ..report
        }
    }
}

/// The rate that a window of this many bytes allows, bit/s.
#[must_use]
pub fn allowed_bps(report: &WindowReport, window_bytes: Option<u64>) -> Option<u64> {
    let rtt = Duration::try_from_secs_f64(report.rtt_us / 1e6).ok()?;
    let allowed = window_rate(ByteCount::new(window_bytes?), rtt);
    allowed.map(BitRate::bps)
}

/// The number of flows that fill the path with windows of this many bytes each, where such a window does not.
#[must_use]
pub fn flows_that_fill(
    report: &WindowReport,
    window_bytes: Option<u64>,
    sufficiency: WindowSufficiency,
) -> Option<u64> {
    let is_too_small = matches!(
        sufficiency,
        WindowSufficiency::ReceiverTooSmall | WindowSufficiency::SenderTooSmall
    );
    let (product, window) = (report.bdp_bytes?, window_bytes.filter(|_| is_too_small)?);
    flows_needed(ByteCount::new(product), ByteCount::new(window))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::window::{BaselineSource, PathRateSource};

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
        WindowPath {
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
        }
        .idle_report()
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
