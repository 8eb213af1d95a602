//! Choosing the remedy of what limited a connection.

use super::judge::MAX_SETTING;
use super::need::{MAX_SCALED_WINDOW, MAX_UNSCALED_WINDOW, WindowNeed};
use super::setting::set_line;
use super::settings::{
    BufferRange, MODERATE_RCVBUF, RMEM_MAX, TCP_RMEM, TCP_WMEM, WINDOW_SCALING, WMEM_MAX,
    WindowSettings, send_buffer_of_window,
};
use crate::bottleneck::FULL;
use caudal_core::bottleneck::{Bottleneck, Cause, LimitedBy};
use caudal_core::sample::Role;
use caudal_core::units::ByteCount;
use caudal_core::window::{
    Remedy, SettingEffect, SettingJudgement, WindowReport, WindowSufficiency,
};
use std::time::Duration;

/// Minimum time of a test that is to be longer, s. The default of a test.
const MIN_TIME_S: f64 = 10.0;
/// The round trips of slow start are to be at most one part in this many of a test.
const SLOW_START_PART: f64 = 20.0;
/// The segments with which slow start begins. Source: RFC 6928.
const INITIAL_SEGMENTS: u64 = 10;
/// The part of the largest window that counts as having reached it: the kernel's tuning stops a little below.
const AT_MAXIMUM: f64 = 0.75;

/// What decides on the remedy of what limited a connection.
#[derive(Debug, Clone, Copy)]
pub struct StepEvidence<'a> {
    /// The bottleneck.
    pub limited_by: &'a LimitedBy,
    /// The share that was reached of what the link carries, in the best interval; `None` where its rate is not known.
    pub peak_share: Option<f64>,
    /// The window that the path needs; `None` where no rate is known.
    pub need: Option<WindowNeed>,
    /// `true` when the path may need more: its rate is what was measured.
    pub is_lower_bound: bool,
    /// The number of flows.
    pub flows: u64,
    /// The socket buffers that were asked for; `None` where they were left to the kernel.
    pub window_set: Option<ByteCount>,
    /// The largest window of one flow: advertised, or in flight where the send buffer bounds it.
    pub window: Option<ByteCount>,
    /// The settings of the sender's kernel.
    pub sender: &'a WindowSettings,
    /// The settings of the receiver's kernel.
    pub receiver: &'a WindowSettings,
    /// `true` when the server is another program's, which reports less.
    pub is_foreign: bool,
    /// The length of the measured part.
    pub measured: Duration,
}

/// The remedy of what limited a connection, or the measurement that finds it.
#[must_use]
pub fn next_step(evidence: &StepEvidence<'_>) -> Remedy {
    match (evidence.limited_by.limit, evidence.limited_by.cause) {
        (Bottleneck::Network, cause) => evidence.after_network(cause),
        (Bottleneck::ReceiverWindow, _) => evidence.larger_receive_window(),
        (Bottleneck::SendBuffer, _) => evidence.larger_send_buffer(),
        (Bottleneck::Pacing, _) => Remedy::RaiseRate,
        (Bottleneck::Sender, Some(Cause::Cpu)) => Remedy::RelieveProcessor { end: Role::Sender },
        (Bottleneck::Receiver, Some(Cause::Cpu)) => Remedy::RelieveProcessor {
            end: Role::Receiver,
        },
        (Bottleneck::Sender | Bottleneck::Receiver, Some(Cause::Stopped)) => Remedy::MeasureAgain,
        (Bottleneck::Sender, _) => Remedy::CheckProgram { end: Role::Sender },
        (Bottleneck::Receiver, _) => Remedy::CheckProgram {
            end: Role::Receiver,
        },
        (Bottleneck::Unknown, _) if evidence.is_foreign => Remedy::RunServer,
        (Bottleneck::Unknown, _) => Remedy::MeasureAgain,
    }
}

/// The remedy of a path that no connection has tried: the setting that keeps its window too small, or a test.
#[must_use]
pub fn next_step_of_settings(report: &WindowReport) -> Remedy {
    if report.rate_bps.is_none() {
        return Remedy::GiveLinkRate;
    }
    let end = match report.sufficiency {
        WindowSufficiency::Sufficient => return Remedy::MeasureThroughput,
        WindowSufficiency::Unknown => return Remedy::RunServer,
        WindowSufficiency::ReceiverTooSmall => Role::Receiver,
        WindowSufficiency::SenderTooSmall => Role::Sender,
    };
    let is_bound = |setting: &&SettingJudgement| {
        let bounds = [SettingEffect::EveryWindow, SettingEffect::TunedWindow];
        setting.end == end && bounds.contains(&setting.effect)
    };
    let command = report
        .insufficient()
        .find(is_bound)
        .and_then(|setting| setting.command.clone());
    match (command, report.flows_needed) {
        (Some(command), _) => set(end, command),
        (None, Some(flows)) => Remedy::MoreFlows { flows },
        (None, None) => Remedy::MeasureThroughput,
    }
}

impl StepEvidence<'_> {
    fn after_network(&self, cause: Option<Cause>) -> Remedy {
        match cause {
            Some(Cause::Bufferbloat) => Remedy::MeasureQueue,
            // The mean contains the start of the connection.
            Some(Cause::LinkRate) if self.peak_share.is_some_and(|share| share >= FULL) => {
                Remedy::Nothing
            }
            Some(Cause::RandomLoss | Cause::MtuBlackHole) => Remedy::FindLoss,
            Some(Cause::Outage) => Remedy::MeasureAgain,
            Some(Cause::Reordering) => Remedy::FindReordering,
            Some(Cause::Policer) => Remedy::FindPolicedRate,
            Some(Cause::SlowStart) => self.longer(),
            Some(
                Cause::LinkRate
                | Cause::CongestionMarks
                | Cause::Cpu
                | Cause::Application
                | Cause::Stopped
                | Cause::ServerLimit,
            )
            | None => Remedy::FindNarrowLink,
        }
    }

    /// A test of which slow start is a small part.
    fn longer(&self) -> Remedy {
        let slow_start_s = self.need.map_or(0.0, |need| {
            let segments = need.segments().unwrap_or(0).max(1);
            let rounds = (segments as f64 / INITIAL_SEGMENTS as f64)
                .log2()
                .ceil()
                .max(1.0);
            rounds * need.rtt().as_secs_f64()
        });
        let seconds = (SLOW_START_PART * slow_start_s)
            .max(MIN_TIME_S)
            .max(2.0 * self.measured.as_secs_f64());
        Remedy::MeasureLonger {
            seconds: seconds.ceil() as u64,
        }
    }

    /// The window that each flow is to have: what the path needs, or, where that is not known, twice what it had.
    fn wanted(&self) -> Option<ByteCount> {
        let needed = self.need.map(|need| need.window_of_each(self.flows));
        let doubled = self
            .window
            .map(|window| ByteCount::new(window.get().saturating_mul(2)));
        if self.is_lower_bound {
            needed.max(doubled)
        } else {
            needed.or(doubled)
        }
    }

    fn larger_receive_window(&self) -> Remedy {
        let Some(wanted) = self.wanted() else {
            return Remedy::GiveLinkRate;
        };
        let buffer = self.receiver.receive_buffer_of_window(wanted);
        if self.window_set.is_some() {
            // What is asked for is doubled by the kernel (socket(7), SO_RCVBUF).
            let asked = ByteCount::new(buffer.get().div_ceil(2));
            return self.set_window(Role::Receiver, RMEM_MAX, self.receiver.rmem_max, asked);
        }
        if let Some(scaling) = self.window_scaling(wanted) {
            return scaling;
        }
        if self.receiver.moderate_rcvbuf == Some(false) {
            return set(Role::Receiver, set_line(MODERATE_RCVBUF, 1));
        }
        match self.receiver.rmem {
            None => self.more_flows(),
            Some(range) if range.max < buffer.get() && buffer.get() <= MAX_SETTING => {
                set(Role::Receiver, set_line(TCP_RMEM, range.with_max(buffer)))
            }
            Some(range) if range.max < buffer.get() => self.more_flows(),
            Some(range) => self.within_receive_buffer(range),
        }
    }

    /// The remedy where the kernel should have advertised enough: less of its buffer is payload than usual, its tuning has not come to
    /// it, or the receiver's program keeps it from tuning.
    fn within_receive_buffer(&self, range: BufferRange) -> Remedy {
        let max = self.receiver.max_receive_window();
        let is_at_max = self
            .window
            .zip(max)
            .is_some_and(|(window, max)| window.as_f64() >= AT_MAXIMUM * max.as_f64());
        let doubled = ByteCount::new(range.max.saturating_mul(2));
        if is_at_max && doubled.get() <= MAX_SETTING {
            return set(Role::Receiver, set_line(TCP_RMEM, range.with_max(doubled)));
        }
        if self.measured.as_secs_f64() < MIN_TIME_S {
            return self.longer();
        }
        Remedy::LeaveToKernel {
            end: Role::Receiver,
        }
    }

    fn larger_send_buffer(&self) -> Remedy {
        let Some(wanted) = self.wanted() else {
            return Remedy::GiveLinkRate;
        };
        if self.window_set.is_some() {
            return self.set_window(Role::Sender, WMEM_MAX, self.sender.wmem_max, wanted);
        }
        let Some(range) = self.sender.wmem else {
            return self.more_flows();
        };
        // A buffer that was the limit is too small, whatever it should hold.
        let doubled = ByteCount::new(range.max.saturating_mul(2));
        let buffer = match send_buffer_of_window(wanted) {
            buffer if range.max < buffer.get() => buffer,
            _ => doubled,
        };
        if buffer.get() > MAX_SETTING {
            return self.more_flows();
        }
        set(Role::Sender, set_line(TCP_WMEM, range.with_max(buffer)))
    }

    /// A larger window to ask for, or the setting that does not let programs ask for it.
    fn set_window(&self, end: Role, name: &str, max: Option<u64>, asked: ByteCount) -> Remedy {
        match max {
            _ if asked > MAX_SCALED_WINDOW => self.more_flows(),
            Some(max) if max < asked.get() => set(end, set_line(name, asked.get())),
            _ => Remedy::SetWindow {
                window_bytes: asked.get(),
            },
        }
    }

    /// Window scaling at the end that has it off, for a window that needs it.
    fn window_scaling(&self, wanted: ByteCount) -> Option<Remedy> {
        let ends = [(Role::Receiver, self.receiver), (Role::Sender, self.sender)];
        let is_off =
            |(_, settings): &(Role, &WindowSettings)| settings.window_scaling == Some(false);
        let (end, _) = ends.into_iter().find(is_off)?;
        (wanted > MAX_UNSCALED_WINDOW).then(|| set(end, set_line(WINDOW_SCALING, 1)))
    }

    /// The flows that fill the path with the window that each has; where the need is not known, twice as many.
    fn more_flows(&self) -> Remedy {
        let needed = self
            .need
            .zip(self.window)
            .filter(|_| !self.is_lower_bound)
            .and_then(|(need, window)| need.flows(window));
        let doubled = self.flows.saturating_mul(2);
        Remedy::MoreFlows {
            flows: needed.map_or(doubled, |needed| needed.max(self.flows + 1)),
        }
    }
}

fn set(end: Role, command: String) -> Remedy {
    Remedy::SetKernel { end, command }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::host::Host;
    use caudal_core::units::BitRate;

    /// A direction of 100 Mbit/s and 50 ms whose window needs 781 920 bytes, with usual kernels at both ends.
    struct Direction {
        limit: Bottleneck,
        cause: Option<Cause>,
        peak_share: Option<f64>,
        need: Option<WindowNeed>,
        is_lower_bound: bool,
        flows: u64,
        window_set: Option<u64>,
        window: Option<u64>,
        sysctls: Vec<(Role, &'static str, &'static str)>,
        has_settings: bool,
        is_foreign: bool,
        measured_s: u64,
    }

    fn direction(limit: Bottleneck, cause: Option<Cause>) -> Direction {
        Direction {
            limit,
            cause,
            peak_share: Some(0.14),
            need: Some(
                WindowNeed::new(BitRate::from_bps(100_000_000), Duration::from_millis(50))
                    .with_mss(1448),
            ),
            is_lower_bound: false,
            flows: 1,
            window_set: None,
            window: Some(85_632),
            sysctls: Vec::new(),
            has_settings: true,
            is_foreign: false,
            measured_s: 10,
        }
    }

    impl Direction {
        fn settings(&self, end: Role) -> WindowSettings {
            let mut host = Host {
                kernel: "6.18.44".into(),
                ..Host::default()
            };
            let usual = [
                (RMEM_MAX, "212992"),
                (WMEM_MAX, "212992"),
                (TCP_RMEM, "4096 131072 6291456"),
                (TCP_WMEM, "4096 16384 4194304"),
                (WINDOW_SCALING, "1"),
                (MODERATE_RCVBUF, "1"),
            ];
            if self.has_settings {
                for (name, value) in usual {
                    host.sysctls.insert(name.into(), value.into());
                }
            }
            for (_, name, value) in self.sysctls.iter().filter(|one| one.0 == end) {
                host.sysctls.insert((*name).into(), (*value).into());
            }
            WindowSettings::of_host(&host)
        }

        fn step(&self) -> Remedy {
            let limited_by = LimitedBy {
                cause: self.cause,
                limit: self.limit,
                ..LimitedBy::unknown("")
            };
            next_step(&StepEvidence {
                limited_by: &limited_by,
                peak_share: self.peak_share,
                need: self.need,
                is_lower_bound: self.is_lower_bound,
                flows: self.flows,
                window_set: self.window_set.map(ByteCount::new),
                window: self.window.map(ByteCount::new),
                sender: &self.settings(Role::Sender),
                receiver: &self.settings(Role::Receiver),
                is_foreign: self.is_foreign,
                measured: Duration::from_secs(self.measured_s),
            })
        }
    }

    /// The remedy of a direction limited by the receiver's window, changed in one respect.
    fn receiver_window(change: impl FnOnce(&mut Direction)) -> Remedy {
        let mut all = direction(Bottleneck::ReceiverWindow, None);
        change(&mut all);
        all.step()
    }

    fn at(end: Role, line: &str) -> Remedy {
        set(end, format!("sysctl -w {line}"))
    }

    #[test]
    fn every_bottleneck_has_a_remedy() {
        use Bottleneck::{Network, Pacing, Receiver, Sender, Unknown};
        let longer = Remedy::MeasureLonger { seconds: 20 };
        for (limit, cause, remedy) in [
            (Network, Some(Cause::Bufferbloat), Remedy::MeasureQueue),
            (Network, Some(Cause::LinkRate), Remedy::FindNarrowLink),
            (Network, Some(Cause::RandomLoss), Remedy::FindLoss),
            (Network, Some(Cause::Reordering), Remedy::FindReordering),
            (Network, Some(Cause::Policer), Remedy::FindPolicedRate),
            (Network, Some(Cause::SlowStart), longer),
            (Network, None, Remedy::FindNarrowLink),
            (Pacing, None, Remedy::RaiseRate),
            (
                Sender,
                Some(Cause::Cpu),
                Remedy::RelieveProcessor { end: Role::Sender },
            ),
            (Sender, None, Remedy::CheckProgram { end: Role::Sender }),
            (
                Receiver,
                Some(Cause::Application),
                Remedy::CheckProgram {
                    end: Role::Receiver,
                },
            ),
            (Unknown, None, Remedy::MeasureAgain),
        ] {
            assert_eq!(direction(limit, cause).step(), remedy);
        }
        let full = Direction {
            peak_share: Some(0.99),
            ..direction(Network, Some(Cause::LinkRate))
        };
        assert_eq!(full.step(), Remedy::Nothing);
        let foreign = Direction {
            is_foreign: true,
            ..direction(Unknown, None)
        };
        assert_eq!(foreign.step(), Remedy::RunServer);
    }

    #[test]
    fn a_small_receive_buffer_is_raised_where_it_is_bounded() {
        let receiver = Role::Receiver;
        let small = |all: &mut Direction| {
            all.sysctls = vec![(Role::Receiver, TCP_RMEM, "4096 131072 131072")];
        };
        let line = "net.ipv4.tcp_rmem=\"4096 131072 1563840\"";
        assert_eq!(receiver_window(small), at(receiver, line));
        // Four flows need a quarter each.
        let shared = receiver_window(|all| {
            small(all);
            all.flows = 4;
        });
        let line = "net.ipv4.tcp_rmem=\"4096 131072 390960\"";
        assert_eq!(shared, at(receiver, line));
        // The rate is only what this window gave: twice as much, and see.
        let unknown = receiver_window(|all| {
            small(all);
            let rate = BitRate::from_bps(13_700_000);
            all.need = Some(WindowNeed::new(rate, Duration::from_millis(50)));
            all.is_lower_bound = true;
        });
        let line = "net.ipv4.tcp_rmem=\"4096 131072 342528\"";
        assert_eq!(unknown, at(receiver, line));
        let untuned = receiver_window(|all| {
            all.sysctls = vec![(Role::Receiver, MODERATE_RCVBUF, "0")];
        });
        assert_eq!(untuned, at(receiver, "net.ipv4.tcp_moderate_rcvbuf=\"1\""));
        for end in [Role::Sender, receiver] {
            let unscaled = receiver_window(|all| all.sysctls = vec![(end, WINDOW_SCALING, "0")]);
            assert_eq!(unscaled, at(end, "net.ipv4.tcp_window_scaling=\"1\""));
        }
    }

    #[test]
    fn a_window_that_was_asked_for_is_asked_for_larger() {
        let set = |all: &mut Direction| all.window_set = Some(65_536);
        let rmem_max = at(Role::Receiver, "net.core.rmem_max=\"781920\"");
        assert_eq!(receiver_window(set), rmem_max);
        let allowed = receiver_window(|all| {
            set(all);
            all.sysctls = vec![(Role::Receiver, RMEM_MAX, "8388608")];
        });
        let window_bytes = 781_920;
        assert_eq!(allowed, Remedy::SetWindow { window_bytes });
        let unknown = receiver_window(|all| {
            set(all);
            all.has_settings = false;
        });
        assert_eq!(unknown, Remedy::SetWindow { window_bytes });
    }

    #[test]
    fn without_the_receivers_settings_more_flows_are_the_remedy() {
        let flows = |change: fn(&mut Direction)| {
            receiver_window(|all| {
                all.has_settings = false;
                change(all);
            })
        };
        assert_eq!(flows(|_| {}), Remedy::MoreFlows { flows: 8 });
        let lower_bound = flows(|all| (all.is_lower_bound, all.flows) = (true, 3));
        assert_eq!(lower_bound, Remedy::MoreFlows { flows: 6 });
        let nothing = flows(|all| (all.need, all.window) = (None, None));
        assert_eq!(nothing, Remedy::GiveLinkRate);
        // No kernel holds what this path needs.
        let moon = receiver_window(|all| {
            let rate = BitRate::from_bps(100_000_000_000);
            all.need = Some(WindowNeed::new(rate, Duration::from_secs(2)));
            all.window = Some(1_000_000_000);
        });
        assert_eq!(moon, Remedy::MoreFlows { flows: 25 });
    }

    #[test]
    fn a_window_below_what_the_kernel_allows_is_given_time_or_belongs_to_the_program() {
        let short = receiver_window(|all| all.measured_s = 2);
        assert_eq!(short, Remedy::MeasureLonger { seconds: 10 });
        let end = Role::Receiver;
        assert_eq!(receiver_window(|_| {}), Remedy::LeaveToKernel { end });
        // A device whose packets take more memory than usual.
        let at_max = receiver_window(|all| all.window = Some(3_100_000));
        let line = "net.ipv4.tcp_rmem=\"4096 131072 12582912\"";
        assert_eq!(at_max, at(end, line));
    }

    #[test]
    fn a_small_send_buffer_is_raised_at_the_sender() {
        let send_buffer = |change: fn(&mut Direction)| {
            let mut all = direction(Bottleneck::SendBuffer, None);
            change(&mut all);
            all.step()
        };
        let sender = Role::Sender;
        let small = send_buffer(|all| {
            all.sysctls = vec![(Role::Sender, TCP_WMEM, "4096 16384 65536")];
        });
        let line = "net.ipv4.tcp_wmem=\"4096 16384 1563840\"";
        assert_eq!(small, at(sender, line));
        let line = "net.ipv4.tcp_wmem=\"4096 16384 8388608\"";
        assert_eq!(send_buffer(|_| {}), at(sender, line));
        let set = send_buffer(|all| all.window_set = Some(65_536));
        assert_eq!(set, at(sender, "net.core.wmem_max=\"781920\""));
        let unknown = send_buffer(|all| all.has_settings = false);
        assert_eq!(unknown, Remedy::MoreFlows { flows: 8 });
    }

    #[test]
    fn a_path_that_no_connection_has_tried_is_judged_by_its_settings() {
        let report = |json: serde_json::Value| -> WindowReport {
            let mut all = serde_json::json!({"rtt_us": 50_000.0, "rtt_source": "idle"});
            all.as_object_mut()
                .unwrap()
                .extend(json.as_object().unwrap().clone());
            serde_json::from_value(all).unwrap()
        };
        let setting = |end: &str, effect: &str, command: Option<&str>| serde_json::json!({"end": end, "name": "", "effect": effect, "needed": "", "suffices": false, "command": command});
        let small = |settings: serde_json::Value| {
            report(serde_json::json!({
                "rate_bps": 1, "flows_needed": 3, "sufficiency": "sender_too_small", "settings": settings,
            }))
        };
        let settings = serde_json::json!([
            setting("receiver", "tuned_window", Some("of the receiver")),
            setting("sender", "set_window", Some("of programs")),
            setting("sender", "tuned_window", Some("of the sender")),
        ]);
        let command = "of the sender".to_owned();
        assert_eq!(
            next_step_of_settings(&small(settings)),
            set(Role::Sender, command)
        );
        let cannot_be_set = serde_json::json!([setting("sender", "tuned_window", None)]);
        assert_eq!(
            next_step_of_settings(&small(cannot_be_set)),
            Remedy::MoreFlows { flows: 3 }
        );
        for (json, remedy) in [
            (serde_json::json!({}), Remedy::GiveLinkRate),
            (serde_json::json!({"rate_bps": 1}), Remedy::RunServer),
            (
                serde_json::json!({"rate_bps": 1, "sufficiency": "sufficient"}),
                Remedy::MeasureThroughput,
            ),
        ] {
            assert_eq!(next_step_of_settings(&report(json)), remedy);
        }
    }
}
