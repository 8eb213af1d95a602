//! The kinds of doubts, and their names.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;

/// The kinds of doubts there are. `Unknown` is for documents of newer versions only.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum WarningCode {
    /// The test ended before its plan did.
    CutShort,
    /// A test of an amount ended before all of it had arrived.
    NotAllArrived,
    /// A flow ended in an error.
    FlowFailed,
    /// The server is another program's.
    ForeignServer,
    /// The sender ran out of processor time.
    SenderCpu,
    /// The receiver ran out of processor time.
    ReceiverCpu,
    /// The hypervisor gave processor time to others.
    StolenCpu,
    /// The quota of a control group held an end back.
    ThrottledCpu,
    /// An end was too busy to measure delays.
    HostBusy,
    /// The sender did not reach the rate asked for.
    RateNotReached,
    /// The sender's kernel refused datagrams.
    SendRefused,
    /// The receiving socket's buffer overflowed.
    ReceiveBufferOverflow,
    /// Packets arrived damaged.
    ChecksumErrors,
    /// The receiving socket's buffer is small.
    ReceiveBufferSmall,
    /// The kernel granted less buffer than was asked for.
    WindowNotGranted,
    /// The congestion control paces a loopback.
    PacedLoopback,
    /// The rate was still changing.
    NotSteady,
    /// Too little was measured.
    TooShort,
    /// The server's count of datagrams cannot be true.
    ImplausibleCount,
    /// Multipath TCP fell back to TCP.
    MptcpNotUsed,
    /// Packets arrived with another DSCP than they were sent with.
    DscpRewritten,
    /// Packets arrived with another ECN field than they were sent with, other than marked CE.
    EcnChanged,
    /// ECN was asked for, and connections do not use it.
    EcnNotUsed,
    /// The server allowed less than was asked for.
    ServerChangedPlan,
    /// The repetitions ended before the precision asked for was reached.
    FewRepeats,
    /// IP fragments the datagrams.
    Fragmented,
    /// Message sizes that no datagram can have were left out.
    SizesLeftOut,
    /// Messages left later than their schedule.
    ScheduleLate,
    /// A file transfer did not complete, or its content is not the sender's.
    TransferFailed,
    /// Some of what is in a directory was not sent.
    FilesLeftOut,
    /// A file became larger while it was sent.
    FileHasGrown,
    /// An end did not honour an option.
    OptionNotHonoured,
    /// Datagrams are sent at a fixed rate without congestion control.
    NoCongestionControl,
    /// Transfers that are compared differ in more than their protocol.
    UnfairComparison,
    /// The times of a transfer vary widely.
    WideSpread,
    /// The times of a transfer are not independent of one another.
    CorrelatedRuns,
    /// The times of a transfer rose or fell over the campaign.
    Drift,
    /// The imported log breaks off.
    LogCutShort,
    /// The imported log contradicts itself.
    LogContradictory,
    /// The tool that wrote the imported log failed.
    ToolFailed,
    /// The imported log does not name the transport.
    KindAssumed,
    /// The imported log does not show which end wrote it.
    SideUnknown,
    /// The imported log lacks the server's report.
    NoServerReport,
    /// The imported log does not show the direction.
    DirectionAssumed,
    /// The imported log has figures that a run has no place for.
    FiguresLeftOut,
    /// Packets of one flow took another route while the path was probed.
    PathChanged,
    /// A hop limits the rate of its answers, so that probing takes longer.
    HopRateLimited,
    /// The host at the end of the path does not answer probes.
    HostSilent,
    /// What answers in the name of the host is not the host itself.
    HostAnsweredFor,
    /// Routers send packets to the host to one another.
    RoutingLoop,
    /// A router drops packets that are too large without saying so.
    PathMtuBlackHole,
    /// Answers come back over another number of hops than probes went.
    ReturnPathDiffers,
    /// The path drops some flows and carries others.
    FlowsDropped,
    /// The test was carried out with those of its flows that opened.
    PartialFlows,
    /// TCP is ended between both ends.
    TcpProxy,
    /// Nothing passed between the ends for a time.
    Outage,
    /// The rate of a direction was at several levels.
    SeveralLevels,
    /// Round trips were far longer than usual at times.
    DelayEpisodes,
    /// Round trips were at several levels.
    DelayLevels,
    /// The wall clock of this host was set.
    ClockStepped,
    /// The clocks of both ends are said to be synchronized and differ by more than their errors.
    ClocksDisagree,
    /// An end sent to the other by another route from a time on.
    RouteChanged,
    /// The interface that an end uses was down for a time.
    InterfaceDown,
    /// The interface that an end uses counted frames with errors.
    InterfaceErrors,
    /// The interface that an end uses had no buffer for frames that arrived.
    InterfaceDrops,
    /// A receiver's window was closed for a time.
    WindowClosed,
    /// A connection waited for retransmission timeouts.
    RetransmissionTimeouts,
    /// The peer's program stood still for a time.
    PeerStopped,
    /// This program, or its host, stood still for a time.
    ProgramStopped,
    /// A host dropped packets outside the sockets of the test.
    HostDrops,
    /// Other traffic passed the interface in use.
    OtherTraffic,
    /// Datagrams were lost in periods.
    LossPeriods,
    /// The server ran another test at the same time.
    AnotherTest,
    /// The browser was slower than the network.
    BrowserLimited,
    /// The page of a test was hidden for a time.
    PageHidden,
    /// A code this version does not know.
    Unknown(Box<str>),
}

impl WarningCode {
    /// Every code of this version.
    pub const ALL: [Self; 75] = [
        Self::CutShort,
        Self::NotAllArrived,
        Self::FlowFailed,
        Self::ForeignServer,
        Self::SenderCpu,
        Self::ReceiverCpu,
        Self::StolenCpu,
        Self::ThrottledCpu,
        Self::HostBusy,
        Self::RateNotReached,
        Self::SendRefused,
        Self::ReceiveBufferOverflow,
        Self::ChecksumErrors,
        Self::ReceiveBufferSmall,
        Self::WindowNotGranted,
        Self::PacedLoopback,
        Self::NotSteady,
        Self::TooShort,
        Self::ImplausibleCount,
        Self::MptcpNotUsed,
        Self::DscpRewritten,
        Self::EcnChanged,
        Self::EcnNotUsed,
        Self::ServerChangedPlan,
        Self::FewRepeats,
        Self::Fragmented,
        Self::SizesLeftOut,
        Self::ScheduleLate,
        Self::TransferFailed,
        Self::FilesLeftOut,
        Self::FileHasGrown,
        Self::OptionNotHonoured,
        Self::NoCongestionControl,
        Self::UnfairComparison,
        Self::WideSpread,
        Self::CorrelatedRuns,
        Self::Drift,
        Self::LogCutShort,
        Self::LogContradictory,
        Self::ToolFailed,
        Self::KindAssumed,
        Self::SideUnknown,
        Self::NoServerReport,
        Self::DirectionAssumed,
        Self::FiguresLeftOut,
        Self::PathChanged,
        Self::HopRateLimited,
        Self::HostSilent,
        Self::HostAnsweredFor,
        Self::RoutingLoop,
        Self::PathMtuBlackHole,
        Self::ReturnPathDiffers,
        Self::FlowsDropped,
        Self::PartialFlows,
        Self::TcpProxy,
        Self::Outage,
        Self::SeveralLevels,
        Self::DelayEpisodes,
        Self::DelayLevels,
        Self::ClockStepped,
        Self::ClocksDisagree,
        Self::RouteChanged,
        Self::InterfaceDown,
        Self::InterfaceErrors,
        Self::InterfaceDrops,
        Self::WindowClosed,
        Self::RetransmissionTimeouts,
        Self::PeerStopped,
        Self::ProgramStopped,
        Self::HostDrops,
        Self::OtherTraffic,
        Self::LossPeriods,
        Self::AnotherTest,
        Self::BrowserLimited,
        Self::PageHidden,
    ];

    /// The code as documents write it.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::CutShort => "cut_short",
            Self::NotAllArrived => "not_all_arrived",
            Self::FlowFailed => "flow_failed",
            Self::ForeignServer => "foreign_server",
            Self::SenderCpu => "sender_cpu",
            Self::ReceiverCpu => "receiver_cpu",
            Self::StolenCpu => "stolen_cpu",
            Self::ThrottledCpu => "throttled_cpu",
            Self::HostBusy => "host_busy",
            Self::RateNotReached => "rate_not_reached",
            Self::SendRefused => "send_refused",
            Self::ReceiveBufferOverflow => "receive_buffer_overflow",
            Self::ChecksumErrors => "checksum_errors",
            Self::ReceiveBufferSmall => "receive_buffer_small",
            Self::WindowNotGranted => "window_not_granted",
            Self::PacedLoopback => "paced_loopback",
            Self::NotSteady => "not_steady",
            Self::TooShort => "too_short",
            Self::ImplausibleCount => "implausible_count",
            Self::MptcpNotUsed => "mptcp_not_used",
            Self::DscpRewritten => "dscp_rewritten",
            Self::EcnChanged => "ecn_changed",
            Self::EcnNotUsed => "ecn_not_used",
            Self::ServerChangedPlan => "server_changed_plan",
            Self::FewRepeats => "few_repeats",
            Self::Fragmented => "fragmented",
            Self::SizesLeftOut => "sizes_left_out",
            Self::ScheduleLate => "schedule_late",
            Self::TransferFailed => "transfer_failed",
            Self::FilesLeftOut => "files_left_out",
            Self::FileHasGrown => "file_has_grown",
            Self::OptionNotHonoured => "option_not_honoured",
            Self::NoCongestionControl => "no_congestion_control",
            Self::UnfairComparison => "unfair_comparison",
            Self::WideSpread => "wide_spread",
            Self::CorrelatedRuns => "correlated_runs",
            Self::Drift => "drift",
            Self::LogCutShort => "log_cut_short",
            Self::LogContradictory => "log_contradictory",
            Self::ToolFailed => "tool_failed",
            Self::KindAssumed => "kind_assumed",
            Self::SideUnknown => "side_unknown",
            Self::NoServerReport => "no_server_report",
            Self::DirectionAssumed => "direction_assumed",
            Self::FiguresLeftOut => "figures_left_out",
            Self::PathChanged => "path_changed",
            Self::HopRateLimited => "hop_rate_limited",
            Self::HostSilent => "host_silent",
            Self::HostAnsweredFor => "host_answered_for",
            Self::RoutingLoop => "routing_loop",
            Self::PathMtuBlackHole => "path_mtu_black_hole",
            Self::ReturnPathDiffers => "return_path_differs",
            Self::FlowsDropped => "flows_dropped",
            Self::PartialFlows => "partial_flows",
            Self::TcpProxy => "tcp_proxy",
            Self::Outage => "outage",
            Self::SeveralLevels => "several_levels",
            Self::DelayEpisodes => "delay_episodes",
            Self::DelayLevels => "delay_levels",
            Self::ClockStepped => "clock_stepped",
            Self::ClocksDisagree => "clocks_disagree",
            Self::RouteChanged => "route_changed",
            Self::InterfaceDown => "interface_down",
            Self::InterfaceErrors => "interface_errors",
            Self::InterfaceDrops => "interface_drops",
            Self::WindowClosed => "window_closed",
            Self::RetransmissionTimeouts => "retransmission_timeouts",
            Self::PeerStopped => "peer_stopped",
            Self::ProgramStopped => "program_stopped",
            Self::HostDrops => "host_drops",
            Self::OtherTraffic => "other_traffic",
            Self::LossPeriods => "loss_periods",
            Self::AnotherTest => "another_test",
            Self::BrowserLimited => "browser_limited",
            Self::PageHidden => "page_hidden",
            Self::Unknown(name) => name,
        }
    }
}

impl fmt::Display for WarningCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for WarningCode {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for WarningCode {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        let name = match name.as_ref() {
            // Written so before the first release.
            "done_otherwise" => Cow::Borrowed("option_not_honoured"),
            _ => name,
        };
        let known = Self::ALL.into_iter().find(|code| code.name() == name);
        Ok(known.unwrap_or_else(|| Self::Unknown(name.into_owned().into_boxed_str())))
    }
}

impl JsonSchema for WarningCode {
    fn schema_name() -> Cow<'static, str> {
        "WarningCode".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names: Vec<String> = Self::ALL
            .iter()
            .map(|code| code.name().to_owned())
            .collect();
        json_schema!({
            "description": "The stable name of a doubt; newer versions may add some.",
            "type": "string",
            "examples": names,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::warning::Warning;

    #[test]
    fn every_code_reads_back_and_has_a_meaning() {
        for code in WarningCode::ALL {
            let text = serde_json::to_string(&code).unwrap();
            assert_eq!(serde_json::from_str::<WarningCode>(&text).unwrap(), code);
            assert!(!code.meaning().is_empty());
        }
    }

    #[test]
    fn the_name_that_a_code_had_before_is_read() {
        let code: WarningCode = serde_json::from_str(r#""done_otherwise""#).unwrap();
        assert_eq!(code, WarningCode::OptionNotHonoured);
    }

    #[test]
    fn a_code_of_a_newer_version_survives() {
        let text = r#"{"code":"too_dark","message":"night","remedy":"wait"}"#;
        let warning: Warning = serde_json::from_str(text).unwrap();
        assert_eq!(warning.code.name(), "too_dark");
        assert_eq!(serde_json::to_string(&warning).unwrap(), text);
    }
}
