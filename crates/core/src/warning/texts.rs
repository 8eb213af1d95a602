//! What the doubts mean, and what to do about them.

use super::code::WarningCode;

impl WarningCode {
    /// The meaning of the code, as the reference documents it.
    #[must_use]
    pub const fn meaning(&self) -> &'static str {
        match self {
            Self::CutShort => {
                "the test ended before its plan did; the result covers the time until then"
            }
            Self::NotAllArrived => {
                "a test of an amount ended before all of it had arrived; the command ends with code 1"
            }
            Self::FlowFailed => "a flow ended in an error; the others went on",
            Self::ForeignServer => {
                "the server is another program's, which reports totals at the end: what it does not count is absent"
            }
            Self::SenderCpu => "the sender ran out of CPU: the network may give more",
            Self::ReceiverCpu => "the receiver ran out of CPU: the network may give more",
            Self::StolenCpu => "the hypervisor gave processor time to others during the test",
            Self::ThrottledCpu => {
                "the quota of a control group (a container's limit of processors) held an end back during the test"
            }
            Self::HostBusy => {
                "an end of the test was too busy to measure: its own waits look like those of a queue"
            }
            Self::RateNotReached => "the sender did not reach the rate asked for",
            Self::SendRefused => "the sender's own kernel refused datagrams",
            Self::ReceiveBufferOverflow => {
                "the receiving socket's buffer overflowed: the receiver, not the network, lost datagrams"
            }
            Self::ChecksumErrors => {
                "the receiver's kernel dropped packets whose checksum was wrong: the network damages them"
            }
            Self::ReceiveBufferSmall => {
                "the kernel granted less receive buffer than a burst can fill"
            }
            Self::WindowNotGranted => "the kernel granted less buffer than was asked for",
            Self::PacedLoopback => {
                "the congestion control paces a loopback, which has no bottleneck to find"
            }
            Self::NotSteady => "the rate was still changing over the test",
            Self::TooShort => "the test is too short for the precision of its mean to be known",
            Self::ImplausibleCount => {
                "the server reported more datagrams lost than there were: its report was discarded"
            }
            Self::MptcpNotUsed => "Multipath TCP was asked for and fell back to TCP",
            Self::DscpRewritten => {
                "packets arrived with another DSCP than they were sent with: a device on the path, or a firewall of an end, rewrites it"
            }
            Self::EcnNotUsed => {
                "ECN was asked for, and connections do not use it: the server's kernel, or a device on the path, declined"
            }
            Self::EcnChanged => {
                "packets arrived with another ECN field than they were sent with, other than marked CE: ECN cannot be relied on over this path"
            }
            Self::ServerChangedPlan => "the server allowed less than was asked for",
            Self::FewRepeats => {
                "the repetitions ended before the relative error asked for was reached"
            }
            Self::Fragmented => {
                "the datagrams or messages are larger than the path MTU: IP fragments them"
            }
            Self::SizesLeftOut => "sizes that no datagram can have were left out",
            Self::ScheduleLate => {
                "messages left later than their schedule by more than a tenth of its period"
            }
            Self::TransferFailed => {
                "a file transfer did not complete, or its content is not the sender's: it is no result; the command ends with code 1"
            }
            Self::FilesLeftOut => {
                "some of what is in the directory is not at the server: pipes, devices, links, what cannot be read, names that no server takes, and what the server did not store; the command ends with code 1"
            }
            Self::FileHasGrown => {
                "a file became larger while it was sent: what it had at the start was sent, and is verified"
            }
            Self::OptionNotHonoured => {
                "an option was not honoured, such as the way in which datagrams are handed to the kernel"
            }
            Self::NoCongestionControl => {
                "datagrams were sent at a fixed rate, whatever the network lost: other traffic gives way"
            }
            Self::UnfairComparison => {
                "transfers that are compared differ in more than their protocol: in encryption, or in the family of their congestion control"
            }
            Self::WideSpread => {
                "the times of a transfer vary by more than half their mean: the mean says little about the next one"
            }
            Self::CorrelatedRuns => {
                "the times of a transfer are correlated with those before them: the interval is too narrow"
            }
            Self::Drift => {
                "the times of a transfer rose or fell from the first half of the runs to the second"
            }
            Self::LogCutShort => "the imported log breaks off before the end of the test",
            Self::LogContradictory => {
                "the imported log contradicts itself: its end and its intervals, or its counts, cannot all be right"
            }
            Self::ToolFailed => "the tool that wrote the imported log ended with an error",
            Self::KindAssumed => "the imported log does not name the transport: TCP is assumed",
            Self::SideUnknown => {
                "the imported log does not show which end wrote it, so a direction or a count may be the other end's"
            }
            Self::NoServerReport => {
                "the imported log lacks the server's report: loss and goodput are not known"
            }
            Self::DirectionAssumed => "the imported log does not show the direction: it is assumed",
            Self::FiguresLeftOut => {
                "the imported log has figures that a run has no place for: they are named and left out"
            }
            Self::PathChanged => "packets of one flow took another route while the path was probed",
            Self::HopRateLimited => {
                "a hop limits the rate of its answers, so that probing takes longer"
            }
            Self::HostSilent => "the host at the end of the path does not answer probes",
            Self::HostAnsweredFor => "another device answers for the host",
            Self::RoutingLoop => {
                "routers send packets to the host to one another until their TTL ends"
            }
            Self::PathMtuBlackHole => "a router drops packets that are too large without saying so",
            Self::ReturnPathDiffers => {
                "answers come back over another number of hops than probes went"
            }
            Self::FlowsDropped => {
                "the path drops packets of some source ports and carries those of others"
            }
            Self::PartialFlows => {
                "some flows did not open, and the test was carried out with the others, as --partial asks"
            }
            Self::TcpProxy => {
                "TCP is ended in the middle (a proxy, an ssh tunnel or a port forward): what a kernel knows of its connection \
                 is of a part of the path"
            }
            Self::Outage => {
                "nothing passed between the ends for a time: the path was interrupted, or the peer's host was down"
            }
            Self::DelayEpisodes => {
                "round trips were far longer than usual at times: the mean is that of the others"
            }
            Self::RetransmissionTimeouts => {
                "a TCP connection stood still until its retransmission timer ran out: the last segments of a window, or retransmissions, were lost"
            }
            Self::InterfaceDown => {
                "the interface that an end uses was taken down, had no carrier, or was removed: nothing passed it meanwhile"
            }
            Self::InterfaceErrors => {
                "the interface that an end uses counted frames with errors: they were lost at that link, not in the network"
            }
            Self::InterfaceDrops => {
                "frames arrived at the interface that an end uses when it had no buffer for them: they were lost in that host"
            }
            Self::WindowClosed => {
                "a receiver took nothing for a time, and told the sender to wait: that is the receiving program's, not the path's"
            }
            Self::ClockStepped => {
                "the wall clock of an end was set during the test: one-way delays that are taken by it differ by the step"
            }
            Self::ClocksDisagree => {
                "the clocks of both ends are said to be synchronized, and differ by more than the errors they name: the delay each way is known to half a round trip only"
            }
            Self::RouteChanged => {
                "the route by which an end sends to the other changed during the test: what was measured is of two paths"
            }
            Self::DelayLevels => {
                "round trips were at several levels, each steady: the mean is that of the longest"
            }
            Self::SeveralLevels => {
                "the rate was at several levels, each steady: the result is that of the longest"
            }
            Self::PeerStopped => {
                "the peer's program stood still for a time, while its host went on acknowledging"
            }
            Self::ProgramStopped => {
                "this program was stopped, or its host suspended, for a time: what was not measured then says nothing about the path"
            }
            Self::HostDrops => {
                "a host dropped packets outside the sockets of the test, which may be those that the test lost"
            }
            Self::OtherTraffic => {
                "other traffic passed the interface in use during the test, and may have taken a part of the path"
            }
            Self::LossPeriods => {
                "datagrams were lost many next to each other: what happened for a time, not chance"
            }
            Self::AnotherTest => "the server ran another test at the same time",
            Self::BrowserLimited => {
                "the browser of a visitor, or the machine it runs on, was slower than the network: the network gives more"
            }
            Self::PageHidden => {
                "the page of a visitor's test was hidden for a time, in which browsers slow its script down"
            }
            Self::Unknown(_) => "a warning of a newer version",
        }
    }

    /// The usual remedy; empty where there is none.
    #[must_use]
    pub const fn remedy(&self) -> &'static str {
        match self {
            Self::CutShort => "run again for a whole test",
            Self::NotAllArrived => {
                "the connection was given up before its data was delivered; check whether the path is interrupted, and run again"
            }
            Self::FlowFailed => {
                "check whether a firewall or the peer closed the connection, and run again"
            }
            Self::ForeignServer => "run `caudal serve` there for the full account",
            Self::SenderCpu => {
                "use larger sends, zero copy or more parallel flows; the network may give more"
            }
            Self::ReceiverCpu => {
                "let the receiver discard in the kernel, or use more parallel flows; the network may give more"
            }
            Self::StolenCpu => "repeat and compare, or measure on a quieter machine",
            Self::ThrottledCpu => "raise the limit (cpu.max, `docker run --cpus`), or ask for less",
            Self::HostBusy => {
                "measure again while the host does nothing else, or from another host"
            }
            Self::RateNotReached => "ask for less, or see what limited it",
            Self::SendRefused => "lower the rate, or check whether the receiver still listens",
            Self::ReceiveBufferOverflow => {
                "raise net.core.rmem_max on the receiver, or lower the rate"
            }
            Self::ChecksumErrors => {
                "look for a faulty interface, cable or memory on the path, or a wrong checksum offload"
            }
            Self::ReceiveBufferSmall => {
                "raise net.core.rmem_max on the receiver to 8388608, or run its server as root"
            }
            Self::WindowNotGranted => "raise net.core.rmem_max and net.core.wmem_max on both hosts",
            Self::PacedLoopback => "use cubic to see what this machine's TCP can do",
            Self::NotSteady => "measure longer, or exclude warm-up",
            Self::TooShort => "measure longer",
            Self::ImplausibleCount => {
                "check the version of the server's program; `caudal serve` there counts exactly"
            }
            Self::MptcpNotUsed => "enable net.mptcp.enabled on both hosts",
            Self::EcnNotUsed => {
                "set net.ipv4.tcp_ecn to 1 or 2 at the server; where it is, a device on the path removes ECN from the handshake"
            }
            Self::DscpRewritten | Self::EcnChanged => {
                "caudal path --marks HOST names the hop after which it has changed"
            }
            Self::ServerChangedPlan => "ask for less, or ask the server's administrator for more",
            Self::FewRepeats => "allow more repetitions, or measure longer each time",
            Self::Fragmented => {
                "one lost fragment loses the whole datagram; use sizes that fit the path MTU"
            }
            Self::SizesLeftOut => "use TCP for larger messages",
            Self::ScheduleLate => "use a longer period, fewer clients, or a less busy machine",
            Self::TransferFailed => "see the reason, and transfer it again",
            Self::FilesLeftOut => {
                "send an archive of the directory, from standard input, to keep everything in it"
            }
            Self::FileHasGrown => "send it again for what was added",
            Self::OptionNotHonoured => "compare with runs in which the option was honoured",
            Self::NoCongestionControl => {
                "use it on isolated links only; cubic, newreno and bbr share a link"
            }
            Self::UnfairComparison => "compare tcp with rbt, or tls with quic, with the same -C",
            Self::WideSpread => {
                "look for other load on both machines, transfer larger files, or make more runs"
            }
            Self::CorrelatedRuns => "make more runs on a quieter machine",
            Self::Drift => {
                "repeat it on a quieter machine; the ratios, paired by block, suffer less"
            }
            Self::PathChanged => {
                "measure again; where it keeps changing, values of the hops behind the change mix two routes"
            }
            Self::HopRateLimited => {
                "probe for longer; on a Linux router of your own, sysctl net.ipv4.icmp_ratelimit=0 lifts the limit"
            }
            Self::HostSilent => {
                "let it answer UDP to closed ports (ICMP port unreachable), or name a host that answers"
            }
            Self::HostAnsweredFor => {
                "the hops end at the firewall: probe from inside of it for what lies behind"
            }
            Self::RoutingLoop => "compare the routes to the host on these routers",
            Self::PathMtuBlackHole => {
                "let ICMP type 3 code 4 (ICMPv6 type 2) pass on that router, or clamp the MSS there"
            }
            Self::ReturnPathDiffers => "read round-trip times with care: the return path differs",
            Self::FlowsDropped => {
                "look for a bad member among links that share traffic by flow (ECMP, link aggregation), behind the last hop that answers"
            }
            Self::PartialFlows => {
                "raise the limit on connections, or have the path repaired, and run again for all flows"
            }
            Self::TcpProxy => {
                "measure to the server's own address, without what stands between, to learn about the path"
            }
            Self::Outage => "look at what the network, or the peer's host, did at that time",
            Self::DelayEpisodes => {
                "look for other traffic that comes in bursts; what a queue adds under load is measured by `caudal quality`"
            }
            Self::RetransmissionTimeouts => {
                "look for what drops segments next to each other: a queue or a policer of a few segments, or a bad line"
            }
            Self::InterfaceDown => {
                "look at that host's cable, its switch port, and its log (`dmesg`, `ip -s link`)"
            }
            Self::InterfaceErrors => {
                "look at the cable, the transceiver and the duplex of both its ends: `ethtool -S` names the errors"
            }
            Self::InterfaceDrops => {
                "enlarge the ring (`ethtool -g`, `ethtool -G … rx N`), spread the interrupts, or measure at a lower rate"
            }
            Self::WindowClosed => {
                "look at what the receiving program waited for: its disk, its processor, or a limit of its own"
            }
            Self::ClockStepped => {
                "let the time service settle before one-way delays are measured; all else runs by the monotonic clock"
            }
            Self::ClocksDisagree => {
                "look at the time service of both ends (chronyc tracking, timedatectl); a clock on the timescale of PTP is ahead of UTC by the leap seconds"
            }
            Self::RouteChanged => {
                "look at what changes the routes of that host (a VPN, DHCP, a routing daemon, a router's redirects), and measure again when it has settled"
            }
            Self::DelayLevels => {
                "look for a change of the route (`caudal path`), or for other traffic that filled a queue"
            }
            Self::SeveralLevels => {
                "a higher rate at the beginning is credit that a provider's token bucket grants: measure longer, or exclude it (--omit); \
                 otherwise look for other traffic"
            }
            Self::PeerStopped => {
                "see whether the peer's program was stopped, or waits for something, such as a disk or a processor"
            }
            Self::ProgramStopped => {
                "measure again without stopping it; a frozen cgroup or a paused machine stops it too"
            }
            Self::HostDrops => {
                "look at the counters of that host: `nstat -az`, `ip -s link`, `nft list ruleset`"
            }
            Self::OtherTraffic => {
                "measure without it, or take the sum for what the interface carried"
            }
            Self::LossPeriods => {
                "look for what interrupts the path, or fills its queue, for that long: other traffic in bursts, a radio link, a router"
            }
            Self::AnotherTest => "measure again while nobody else does",
            Self::BrowserLimited => "measure with `caudal quality` on the same machine",
            Self::PageHidden => "measure again, and leave the page in front",
            Self::LogContradictory => {
                "trust the intervals rather than the end; a newer version of the tool may not do this"
            }
            Self::LogCutShort
            | Self::ToolFailed
            | Self::KindAssumed
            | Self::SideUnknown
            | Self::NoServerReport
            | Self::DirectionAssumed
            | Self::FiguresLeftOut
            | Self::Unknown(_) => "",
        }
    }
}
