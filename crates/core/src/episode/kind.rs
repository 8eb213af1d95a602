//! The kinds of episodes.

use crate::bottleneck::{Bottleneck, Cause};
use crate::plan::Direction;
use crate::warning::{Warning, WarningCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What happened in an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeKind {
    /// Nothing came from the peer, not even its kernel's acknowledgements: the path was interrupted, or the peer's host down.
    PathSilent,
    /// The peer's kernel acknowledged what was sent to it, and its program did not answer.
    PeerStopped,
    /// The peer's program waited for a processor, as it says itself.
    PeerStarved,
    /// No payload arrived in a direction, while the control connection was answered.
    DataSilent,
    /// A connection waited for a retransmission timeout (TCP).
    RetransmissionTimeout,
    /// The path drops segments of full size without saying so (TCP).
    MtuBlackHole,
    /// This program was stopped: it neither ran nor waited for a processor.
    ProgramStopped,
    /// This program waited for a processor.
    ProgramStarved,
    /// This host was suspended; the clock of the test stood still meanwhile.
    HostSuspended,
    /// The wall clock of this host was set.
    ClockStepped,
    /// The wall clock of the peer's host was set.
    PeerClockStepped,
    /// An end sent to the other by another route from then on.
    RouteChanged,
    /// The interface that an end uses was down, or had no carrier.
    InterfaceDown,
    /// The interface that an end uses counted frames with errors.
    InterfaceErrors,
    /// The interface that an end uses had no buffer for frames that arrived.
    InterfaceDrops,
    /// The receiver's window was closed (TCP).
    WindowClosed,
    /// The rate of a direction was at another level than the one that its goodput is given for.
    RateLevel,
    /// Round trips of messages on a schedule were far longer than usual.
    Delay,
    /// Round trips were at another level than the one that their mean is given for.
    DelayLevel,
    /// Datagrams were lost in periods, many next to each other.
    LossPeriods,
    /// The server ran a test of another client.
    AnotherTest,
    /// A kind of a newer version.
    #[serde(other)]
    Unknown,
}

impl EpisodeKind {
    /// The name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::PathSilent => "path_silent",
            Self::PeerStopped => "peer_stopped",
            Self::PeerStarved => "peer_starved",
            Self::DataSilent => "data_silent",
            Self::RetransmissionTimeout => "retransmission_timeout",
            Self::MtuBlackHole => "mtu_black_hole",
            Self::ProgramStopped => "program_stopped",
            Self::ProgramStarved => "program_starved",
            Self::HostSuspended => "host_suspended",
            Self::ClockStepped => "clock_stepped",
            Self::PeerClockStepped => "peer_clock_stepped",
            Self::RouteChanged => "route_changed",
            Self::InterfaceDown => "interface_down",
            Self::InterfaceErrors => "interface_errors",
            Self::InterfaceDrops => "interface_drops",
            Self::WindowClosed => "window_closed",
            Self::RateLevel => "rate_level",
            Self::Delay => "delay",
            Self::DelayLevel => "delay_level",
            Self::LossPeriods => "loss_periods",
            Self::AnotherTest => "another_test",
            Self::Unknown => "unknown",
        }
    }

    /// The name of one episode of this kind, and of several.
    #[must_use]
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::PathSilent | Self::DataSilent => ("outage", "outages"),
            Self::PeerStopped => ("stop of the peer", "stops of the peer"),
            Self::PeerStarved => (
                "wait of the peer for a processor",
                "waits of the peer for a processor",
            ),
            Self::RetransmissionTimeout => ("retransmission timeout", "retransmission timeouts"),
            Self::MtuBlackHole => ("MTU black hole", "MTU black holes"),
            Self::ProgramStopped => ("stop of this program", "stops of this program"),
            Self::ProgramStarved => ("wait for a processor", "waits for a processor"),
            Self::HostSuspended => ("suspension", "suspensions"),
            Self::ClockStepped => ("step of the clock", "steps of the clock"),
            Self::PeerClockStepped => ("step of the peer's clock", "steps of the peer's clock"),
            Self::RouteChanged => ("change of the route", "changes of the route"),
            Self::InterfaceDown => ("outage of an interface", "outages of an interface"),
            Self::InterfaceErrors => ("interface with errors", "interfaces with errors"),
            Self::InterfaceDrops => ("interface out of buffers", "interfaces out of buffers"),
            Self::WindowClosed => ("closed window", "closed windows"),
            Self::RateLevel => ("other level of the rate", "other levels of the rate"),
            Self::Delay => ("delay episode", "delay episodes"),
            Self::DelayLevel => ("other level of the delay", "other levels of the delay"),
            Self::LossPeriods => ("loss in periods", "losses in periods"),
            Self::AnotherTest => ("other test of the server", "other tests of the server"),
            Self::Unknown => ("other episode", "other episodes"),
        }
    }

    /// `true` where the episode is about this end, not about the path or the peer.
    #[must_use]
    pub const fn is_own(self) -> bool {
        matches!(
            self,
            Self::ProgramStopped | Self::ProgramStarved | Self::HostSuspended
        )
    }

    /// The warning about episodes of this kind.
    pub(super) fn warning(self, message: String) -> Warning {
        let warning = Warning::new(self.warning_code(), message);
        match self {
            Self::MtuBlackHole => warning.with_remedy(
                "a router drops what is too large without ICMP: let ICMP type 3 code 4 (ICMPv6 type 2) pass there, clamp \
                 the MSS, or set net.ipv4.tcp_mtu_probing=1 on the sending host; `caudal path` names the hop",
            ),
            Self::ProgramStarved | Self::PeerStarved => {
                warning.with_remedy("measure on a machine that is less busy")
            }
            _ => warning,
        }
    }

    /// The code of the warning about an episode of this kind.
    const fn warning_code(self) -> WarningCode {
        match self {
            Self::PathSilent | Self::DataSilent | Self::Unknown => WarningCode::Outage,
            Self::RetransmissionTimeout => WarningCode::RetransmissionTimeouts,
            Self::MtuBlackHole => WarningCode::PathMtuBlackHole,
            Self::PeerStopped | Self::PeerStarved => WarningCode::PeerStopped,
            Self::ClockStepped | Self::PeerClockStepped => WarningCode::ClockStepped,
            Self::RouteChanged => WarningCode::RouteChanged,
            Self::InterfaceDown => WarningCode::InterfaceDown,
            Self::InterfaceErrors => WarningCode::InterfaceErrors,
            Self::InterfaceDrops => WarningCode::InterfaceDrops,
            Self::WindowClosed => WarningCode::WindowClosed,
            Self::RateLevel => WarningCode::SeveralLevels,
            Self::Delay => WarningCode::DelayEpisodes,
            Self::DelayLevel => WarningCode::DelayLevels,
            Self::AnotherTest => WarningCode::AnotherTest,
            Self::LossPeriods => WarningCode::LossPeriods,
            Self::ProgramStopped | Self::ProgramStarved | Self::HostSuspended => {
                WarningCode::ProgramStopped
            }
        }
    }

    /// What limited a direction in such an episode, and how; `None` where it does not interrupt.
    #[must_use]
    pub const fn limit(self, direction: Direction) -> Option<(Bottleneck, Cause)> {
        let own = match direction {
            Direction::Up => Bottleneck::Sender,
            Direction::Down => Bottleneck::Receiver,
        };
        let peers = match direction {
            Direction::Up => Bottleneck::Receiver,
            Direction::Down => Bottleneck::Sender,
        };
        Some(match self {
            // What a peer short of processor time limited is shown by its threads.
            Self::PeerStarved
            | Self::ClockStepped
            | Self::PeerClockStepped
            | Self::RouteChanged
            | Self::InterfaceDown
            | Self::InterfaceErrors
            | Self::InterfaceDrops
            | Self::WindowClosed
            | Self::RetransmissionTimeout
            | Self::RateLevel
            | Self::Delay
            | Self::DelayLevel
            | Self::AnotherTest
            | Self::LossPeriods => return None,
            Self::PathSilent | Self::DataSilent | Self::Unknown => {
                (Bottleneck::Network, Cause::Outage)
            }
            Self::MtuBlackHole => (Bottleneck::Network, Cause::MtuBlackHole),
            Self::PeerStopped => (peers, Cause::Stopped),
            Self::ProgramStopped | Self::HostSuspended => (own, Cause::Stopped),
            Self::ProgramStarved => (own, Cause::Cpu),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_json() {
        for kind in [
            EpisodeKind::PathSilent,
            EpisodeKind::PeerStopped,
            EpisodeKind::PeerStarved,
            EpisodeKind::DataSilent,
            EpisodeKind::RetransmissionTimeout,
            EpisodeKind::MtuBlackHole,
            EpisodeKind::ProgramStopped,
            EpisodeKind::ProgramStarved,
            EpisodeKind::HostSuspended,
            EpisodeKind::ClockStepped,
            EpisodeKind::PeerClockStepped,
            EpisodeKind::RouteChanged,
            EpisodeKind::InterfaceDown,
            EpisodeKind::InterfaceErrors,
            EpisodeKind::InterfaceDrops,
            EpisodeKind::WindowClosed,
            EpisodeKind::RateLevel,
            EpisodeKind::Delay,
            EpisodeKind::DelayLevel,
            EpisodeKind::LossPeriods,
            EpisodeKind::AnotherTest,
            EpisodeKind::Unknown,
        ] {
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
    }
}
