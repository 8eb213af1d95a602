//! Judging the settings of the kernel at one end by what a path needs.

use super::need::{MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, WindowNeed};
use super::setting::set_line;
use super::settings::{
    BufferRange, CONGESTION_CONTROL, MODERATE_RCVBUF, RMEM_MAX, SACK, TCP_RMEM, TCP_WMEM,
    TIMESTAMPS, WINDOW_SCALING, WMEM_MAX, WindowSettings, send_buffer_of_window,
};
use caudal_core::host::Host;
use caudal_core::sample::Role;
use caudal_core::text::ExternalText;
use caudal_core::units::ByteCount;
use caudal_core::window::{SettingEffect, SettingJudgement};
use std::time::Duration;

/// Largest value that these settings take, bytes: the kernel keeps them as `int` (net/ipv4/sysctl_net_ipv4.c).
pub(super) const MAX_SETTING: u64 = i32::MAX as u64;
/// Maximum time for Reno to have its window back after a loss. A choice: as long as a usual test.
const MAX_RECOVERY: Duration = Duration::from_secs(10);

/// The settings of the kernel of `host` at one end of a connection, each with what the path needs of it for a single connection, in the
/// order in which they bound a window. What the host did not report is unknown.
#[must_use]
pub fn judge_settings(host: &Host, end: Role, need: &WindowNeed) -> Vec<SettingJudgement> {
    let judge = Judge {
        host,
        end,
        settings: WindowSettings::of_host(host),
        need,
    };
    match end {
        Role::Sender => judge.sender(),
        Role::Receiver => judge.receiver(),
    }
}

/// What is judged, and by what.
struct Judge<'a> {
    host: &'a Host,
    end: Role,
    settings: WindowSettings,
    need: &'a WindowNeed,
}

impl Judge<'_> {
    fn receiver(&self) -> Vec<SettingJudgement> {
        let window = self.window();
        let settings = &self.settings;
        let buffer = settings.receive_buffer_of_window(window);
        // What a program sets is doubled by the kernel (socket(7), SO_RCVBUF).
        let set = ByteCount::new(buffer.get().div_ceil(2));
        vec![
            self.window_scaling(),
            self.tuned(TCP_RMEM, settings.rmem, buffer),
            self.switch(
                MODERATE_RCVBUF,
                SettingEffect::TunedWindow,
                settings.moderate_rcvbuf,
                self.is_above_default(buffer),
            ),
            self.size(RMEM_MAX, settings.rmem_max, set),
            self.sack(),
            self.timestamps(),
        ]
    }

    fn sender(&self) -> Vec<SettingJudgement> {
        let window = self.window();
        let settings = &self.settings;
        vec![
            self.window_scaling(),
            self.tuned(TCP_WMEM, settings.wmem, send_buffer_of_window(window)),
            // What a program sets is doubled by the kernel (socket(7), SO_SNDBUF).
            self.size(WMEM_MAX, settings.wmem_max, window),
            self.sack(),
            self.timestamps(),
            self.congestion_control(),
        ]
    }

    /// The window that one connection needs, as far as TCP has windows.
    fn window(&self) -> ByteCount {
        self.need.window().min(MAX_SCALED_WINDOW)
    }

    fn is_above_unscaled(&self) -> bool {
        self.window() > MAX_UNSCALED_WINDOW
    }

    /// `true` unless every receive buffer is large enough from its beginning.
    fn is_above_default(&self, buffer: ByteCount) -> bool {
        self.settings
            .rmem
            .is_none_or(|rmem| rmem.default < buffer.get())
    }

    fn judgement(
        &self,
        name: &str,
        effect: SettingEffect,
        needed: impl Into<String>,
    ) -> SettingJudgement {
        SettingJudgement {
            end: self.end,
            name: name.to_owned(),
            effect,
            // The kernel separates the parts of a value by tabs.
            value: self.host.sysctls.get(name).map(|value| {
                let parts: Vec<&str> = value.as_received().split_whitespace().collect();
                parts.join(" ").into()
            }),
            needed: needed.into(),
            needed_bytes: None,
            suffices: None,
            command: None,
        }
    }

    /// The three values of the kernel's own tuning, of which the third is the maximum.
    fn tuned(&self, name: &str, range: Option<BufferRange>, needed: ByteCount) -> SettingJudgement {
        let suffices = range.map(|range| range.max >= needed.get());
        let can_be_set = needed.get() <= MAX_SETTING;
        let wanted = range.filter(|_| suffices == Some(false) && can_be_set);
        SettingJudgement {
            needed_bytes: Some(needed.get()),
            suffices,
            command: wanted.map(|range| set_line(name, range.with_max(needed))),
            ..self.judgement(
                name,
                SettingEffect::TunedWindow,
                format!("a third value of at least {}", needed.get()),
            )
        }
    }

    /// A maximum of what programs may set.
    fn size(&self, name: &str, value: Option<u64>, needed: ByteCount) -> SettingJudgement {
        let suffices = value.map(|value| value >= needed.get());
        let wanted = suffices == Some(false) && needed.get() <= MAX_SETTING;
        SettingJudgement {
            needed_bytes: Some(needed.get()),
            suffices,
            command: wanted.then(|| set_line(name, needed.get())),
            ..self.judgement(
                name,
                SettingEffect::SetWindow,
                format!("at least {}", needed.get()),
            )
        }
    }

    /// A setting that is on or off; where the path does not need it, either will do.
    fn switch(
        &self,
        name: &str,
        effect: SettingEffect,
        is_on: Option<bool>,
        is_needed: bool,
    ) -> SettingJudgement {
        let suffices = is_on.map(|is_on| is_on || !is_needed);
        SettingJudgement {
            suffices,
            command: (suffices == Some(false)).then(|| set_line(name, 1)),
            ..self.judgement(name, effect, if is_needed { "1" } else { "0 or 1" })
        }
    }

    /// Without the option of RFC 7323 a window has 16 bits; both ends must send it.
    fn window_scaling(&self) -> SettingJudgement {
        self.switch(
            WINDOW_SCALING,
            SettingEffect::EveryWindow,
            self.settings.window_scaling,
            self.is_above_unscaled(),
        )
    }

    /// Without selective acknowledgements a window with several losses is repaired by one segment a round trip (RFC 2018, RFC 6675).
    fn sack(&self) -> SettingJudgement {
        self.switch(
            SACK,
            SettingEffect::Recovery,
            self.settings.sack,
            self.is_above_unscaled(),
        )
    }

    /// Timestamps measure the round-trip time of retransmissions too, and protect against sequence numbers that have wrapped
    /// (RFC 7323 sections 4 and 5).
    fn timestamps(&self) -> SettingJudgement {
        self.switch(
            TIMESTAMPS,
            SettingEffect::Recovery,
            self.settings.timestamps,
            self.is_above_unscaled(),
        )
    }

    /// Reno halves its window at a loss and adds a segment a round trip, so that it takes half a window of round trips to have it back
    /// (RFC 5681 section 3.1).
    fn congestion_control(&self) -> SettingJudgement {
        let half = self.need.segments().map(|all| all / 2);
        let recovery_s = half.map(|trips| trips as f64 * self.need.rtt().as_secs_f64());
        let is_slow = recovery_s.is_some_and(|time| time > MAX_RECOVERY.as_secs_f64());
        let control = self.settings.congestion_control.as_ref();
        let suffices = control.map(|name| !is_slow || !is_reno(name));
        SettingJudgement {
            suffices,
            command: (suffices == Some(false)).then(|| set_line(CONGESTION_CONTROL, "cubic")),
            ..self.judgement(
                CONGESTION_CONTROL,
                SettingEffect::Recovery,
                if is_slow { "cubic or bbr" } else { "any" },
            )
        }
    }
}

fn is_reno(name: &ExternalText) -> bool {
    name == "reno"
}

impl BufferRange {
    /// The same values with another maximum, as the setting takes them.
    pub(super) fn with_max(self, max: ByteCount) -> String {
        format!("{} {} {}", self.min, self.default, max.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::units::BitRate;
    use proptest::prelude::*;

    /// 100 Mbit/s and 50 ms: a window of 781 920 bytes, 540 segments.
    fn need() -> WindowNeed {
        WindowNeed::new(BitRate::from_bps(100_000_000), Duration::from_millis(50)).with_mss(1448)
    }

    fn host(changed: &[(&str, &str)]) -> Host {
        let usual = [
            (RMEM_MAX, "212992"),
            (WMEM_MAX, "212992"),
            (TCP_RMEM, "4096\t131072\t6291456"),
            (TCP_WMEM, "4096\t16384\t4194304"),
            (WINDOW_SCALING, "1"),
            (MODERATE_RCVBUF, "1"),
            (SACK, "1"),
            (TIMESTAMPS, "1"),
            (CONGESTION_CONTROL, "cubic"),
        ];
        let all = usual.iter().chain(changed);
        Host {
            kernel: "6.18.44".into(),
            sysctls: all
                .map(|(name, value)| ((*name).into(), (*value).into()))
                .collect(),
            ..Host::default()
        }
    }

    /// Settings that differ from the usual ones.
    type Changed = &'static [(&'static str, &'static str)];

    /// The commands that are advised for a host with these settings.
    fn commands(end: Role, need: &WindowNeed, changed: &[(&str, &str)]) -> Vec<String> {
        let all = judge_settings(&host(changed), end, need);
        all.into_iter().filter_map(|one| one.command).collect()
    }

    #[test]
    fn what_is_too_small_comes_with_the_line_that_sets_it() {
        let rmem_max = "sysctl -w net.core.rmem_max=\"781920\"";
        let wmem_max = "sysctl -w net.core.wmem_max=\"781920\"";
        let cases: [(Role, Changed, &[&str]); 8] = [
            (Role::Receiver, &[], &[rmem_max]),
            (Role::Sender, &[], &[wmem_max]),
            (
                Role::Receiver,
                &[(TCP_RMEM, "4096 131072 131072"), (RMEM_MAX, "8388608")],
                &["sysctl -w net.ipv4.tcp_rmem=\"4096 131072 1563840\""],
            ),
            (
                Role::Sender,
                &[(TCP_WMEM, "4096 16384 65536"), (WMEM_MAX, "8388608")],
                &["sysctl -w net.ipv4.tcp_wmem=\"4096 16384 1563840\""],
            ),
            (
                Role::Receiver,
                &[(MODERATE_RCVBUF, "0"), (RMEM_MAX, "8388608")],
                &["sysctl -w net.ipv4.tcp_moderate_rcvbuf=\"1\""],
            ),
            (
                Role::Sender,
                &[(WINDOW_SCALING, "0"), (SACK, "0"), (WMEM_MAX, "8388608")],
                &[
                    "sysctl -w net.ipv4.tcp_window_scaling=\"1\"",
                    "sysctl -w net.ipv4.tcp_sack=\"1\"",
                ],
            ),
            (
                Role::Sender,
                &[(CONGESTION_CONTROL, "reno"), (WMEM_MAX, "8388608")],
                &["sysctl -w net.ipv4.tcp_congestion_control=\"cubic\""],
            ),
            (
                Role::Receiver,
                &[(TIMESTAMPS, "2"), (RMEM_MAX, "781920")],
                &[],
            ),
        ];
        for (end, changed, expected) in cases {
            assert_eq!(commands(end, &need(), changed), expected, "{changed:?}");
        }
    }

    #[test]
    fn a_short_path_needs_nothing_of_all_this() {
        let short =
            WindowNeed::new(BitRate::from_bps(10_000_000), Duration::from_millis(1)).with_mss(1448);
        let worst = [
            (WINDOW_SCALING, "0"),
            (SACK, "0"),
            (TIMESTAMPS, "0"),
            (MODERATE_RCVBUF, "0"),
            (CONGESTION_CONTROL, "reno"),
            (TCP_RMEM, "4096 16384 16384"),
        ];
        for end in [Role::Sender, Role::Receiver] {
            assert_eq!(commands(end, &short, &worst), [""; 0]);
        }
    }

    #[test]
    fn what_a_host_did_not_report_is_unknown() {
        for end in [Role::Sender, Role::Receiver] {
            for one in judge_settings(&Host::default(), end, &need()) {
                assert_eq!((one.end, one.suffices, one.command), (end, None, None));
                assert!(one.value.is_none() && !one.needed.is_empty());
            }
        }
    }

    #[test]
    fn what_a_setting_cannot_hold_is_not_advised() {
        let moon = WindowNeed::new(BitRate::from_bps(100_000_000_000), Duration::from_secs(2));
        let rmem = |host: &Host| {
            let all = judge_settings(host, Role::Receiver, &moon);
            all.into_iter().find(|one| one.name == TCP_RMEM).unwrap()
        };
        // The largest window of TCP, of which such a path takes several.
        assert_eq!(
            rmem(&host(&[])).command.unwrap(),
            "sysctl -w net.ipv4.tcp_rmem=\"4096 131072 2147450880\""
        );
        let quarter = Host {
            kernel: "5.15.0".into(),
            ..host(&[("net.ipv4.tcp_adv_win_scale", "-2")])
        };
        let rmem = rmem(&quarter);
        assert_eq!((rmem.suffices, rmem.command), (Some(false), None));
    }

    #[test]
    fn a_setting_is_never_the_text_that_the_other_end_sent() {
        let hostile = [(TCP_RMEM, "4096 131072 1; reboot"), (RMEM_MAX, "$(reboot)")];
        let all = commands(Role::Receiver, &need(), &hostile);
        assert!(all.iter().all(|line| !line.contains("reboot")), "{all:?}");
    }

    proptest! {
        #[test]
        fn no_path_overflows_and_what_is_set_suffices(bps: u64, nanos: u64, mss: u32) {
            let need = WindowNeed::new(BitRate::from_bps(bps), Duration::from_nanos(nanos)).with_mss(mss);
            let settings = |end| judge_settings(&host(&[]), end, &need);
            for one in settings(Role::Receiver).into_iter().chain(settings(Role::Sender)) {
                if let Some((name, value)) = one.command.as_deref().and_then(|line| line.strip_prefix("sysctl -w ")?.split_once('=')) {
                    let set = host(&[(name, value.trim_matches('"'))]);
                    let again = judge_settings(&set, one.end, &need);
                    prop_assert!(again.iter().any(|same| same.name == name && same.suffices == Some(true)));
                }
            }
        }
    }
}
