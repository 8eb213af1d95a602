//! The host at one end of a test, and the resources that end used.

use crate::drop_reasons::DropReasons;
use crate::host_drops::{HostDrops, InterfaceTraffic};
use crate::lab_link::LabLink;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The host at one end of a test, as that end describes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Host {
    /// The program and its version.
    pub tool: ExternalText,
    /// The host's name.
    pub name: ExternalText,
    /// The kernel's release.
    pub kernel: ExternalText,
    /// The processor's model.
    pub cpu: ExternalText,
    /// Processors this program may use.
    pub cpus: u32,
    /// The identifier of the kernel's boot; equal on both ends when they are one machine.
    pub boot_id: Option<ExternalText>,
    /// The time namespace of this program; clocks of one boot differ between them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub time_namespace: Option<ExternalText>,
    /// The default congestion control.
    pub congestion_control: Option<ExternalText>,
    /// The interface through which the other end is reached.
    pub interface: Option<ExternalText>,
    /// Its MTU, bytes.
    pub mtu: Option<u32>,
    /// Its speed, Mbit/s, as its driver reports it.
    pub speed_mbps: Option<u32>,
    /// Its driver.
    pub driver: Option<ExternalText>,
    /// The link of a lab behind it, where it belongs to one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab_link: Option<Box<LabLink>>,
    /// Its queueing discipline.
    pub qdisc: Option<ExternalText>,
    /// Its offloads that are enabled.
    pub offloads: Vec<ExternalText>,
    /// The sysctls that limit socket buffers and shape TCP, by name.
    pub sysctls: BTreeMap<ExternalText, ExternalText>,
    /// The load average over one minute.
    pub load_average: Option<f64>,
}

impl Host {
    /// `true` when both ends run on one boot of one kernel.
    #[must_use]
    pub fn shares_machine_with(&self, other: &Self) -> bool {
        self.boot_id.is_some() && self.boot_id == other.boot_id
    }

    /// `true` when both ends read one clock: that of one boot, in one time namespace.
    #[must_use]
    pub fn shares_clock_with(&self, other: &Self) -> bool {
        self.shares_machine_with(other)
            && self.time_namespace.is_some()
            && self.time_namespace == other.time_namespace
    }
}

/// The resources one end of a test used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// CPU time of the whole program, ns.
    pub cpu_ns: u64,
    /// Steal time: processor time the hypervisor gave to others, ns, over all processors.
    pub steal_ns: Option<u64>,
    /// Time for which the quotas of control groups held this program back, ns, over all processors; absent where none tells.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled_ns: Option<u64>,
    /// The time over which this was measured, ns.
    pub wall_ns: u64,
    /// Packets dropped by the queueing discipline of the sending interface, where it counts them.
    pub qdisc_drops: Option<u64>,
    /// Datagrams the kernel dropped because of full receive buffers, over all sockets of the host.
    pub host_receive_drops: Option<u64>,
    /// Datagrams the kernel dropped because their checksum was wrong, over all sockets of the host.
    pub udp_checksum_errors: Option<u64>,
    /// TCP segments the kernel dropped because their checksum was wrong, over all sockets of the host.
    pub tcp_checksum_errors: Option<u64>,
    /// Packets that the kernel dropped, of all traffic of the host; absent where it does not show its counters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drops: Option<HostDrops>,
    /// The packets that the kernel of the machine dropped, by its own reasons; absent where this program may not read them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop_reasons: Option<DropReasons>,
    /// The traffic of the interface towards the peer, of all programs; absent where there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<InterfaceTraffic>,
}

impl Usage {
    /// Maximum time that an account covers, ns: a year.
    const MAX_WALL_NS: u64 = 31_536_000 * 1_000_000_000;
    /// The processor time beyond the time measured that the granularity of accounts allows, ns.
    const SLACK_NS: u64 = 1_000_000_000;
    /// Maximum number of processors of a machine. Those that a program may use are fewer than those that steal time is counted over.
    const MAX_CPUS: u64 = 1 << 16;

    /// `true` where any machine can have used as much in that time: an end may report anything.
    #[must_use]
    pub fn is_possible(&self) -> bool {
        let each_ns = self.wall_ns.saturating_add(Self::SLACK_NS);
        let all_ns = each_ns.saturating_mul(Self::MAX_CPUS);
        let times = [Some(self.cpu_ns), self.steal_ns, self.throttled_ns];
        self.wall_ns <= Self::MAX_WALL_NS && times.into_iter().flatten().all(|ns| ns <= all_ns)
    }

    /// The share of the time of all processors, of which there are this many, that the hypervisor gave to others; `None` where it is not
    /// known.
    #[must_use]
    pub fn stolen_share(&self, cpus: u32) -> Option<f64> {
        let all_ns = self.wall_ns.max(1) as f64 * f64::from(cpus.max(1));
        Some((self.steal_ns? as f64 / all_ns).min(1.0))
    }

    /// The resources used over several times; `None` where those of one are not known, and of none.
    pub fn total<'a>(each: impl IntoIterator<Item = Option<&'a Self>>) -> Option<Self> {
        let add = |sum: Option<u64>, more: Option<u64>| Some(sum?.saturating_add(more?));
        each.into_iter()
            .collect::<Option<Vec<&Self>>>()?
            .into_iter()
            .copied()
            .reduce(|sum, more| Self {
                cpu_ns: sum.cpu_ns.saturating_add(more.cpu_ns),
                steal_ns: add(sum.steal_ns, more.steal_ns),
                throttled_ns: add(sum.throttled_ns, more.throttled_ns),
                wall_ns: sum.wall_ns.saturating_add(more.wall_ns),
                qdisc_drops: add(sum.qdisc_drops, more.qdisc_drops),
                host_receive_drops: add(sum.host_receive_drops, more.host_receive_drops),
                udp_checksum_errors: add(sum.udp_checksum_errors, more.udp_checksum_errors),
                tcp_checksum_errors: add(sum.tcp_checksum_errors, more.tcp_checksum_errors),
                drops: sum.drops.zip(more.drops).map(|(sum, more)| sum.plus(&more)),
                drop_reasons: sum
                    .drop_reasons
                    .zip(more.drop_reasons)
                    .map(|(sum, more)| sum.plus(more)),
                interface: sum
                    .interface
                    .zip(more.interface)
                    .map(|(sum, more)| sum.plus(&more)),
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_processor_time_than_there_is_cannot_be() {
        let second = 1_000_000_000;
        let usage = Usage {
            cpu_ns: 15 * second,
            steal_ns: Some(4 * second),
            throttled_ns: Some(2 * second),
            wall_ns: 10 * second,
            ..Usage::default()
        };
        assert!(usage.is_possible());
        for (cpu_ns, steal_ns, wall_ns) in [
            (u64::MAX, 0, 10 * second),
            (0, u64::MAX, 10 * second),
            (0, 0, u64::MAX),
        ] {
            let usage = Usage {
                cpu_ns,
                steal_ns: Some(steal_ns),
                wall_ns,
                ..usage
            };
            assert!(!usage.is_possible(), "{usage:?}");
            assert!(usage.stolen_share(2).is_some_and(|share| share <= 1.0));
            let _ = Usage::total([Some(&usage), Some(&usage)]);
        }
    }

    #[test]
    fn one_clock_takes_one_boot_and_one_time_namespace() {
        let host = |boot_id: &str, time_namespace: Option<&str>| Host {
            boot_id: Some(boot_id.into()),
            time_namespace: time_namespace.map(str::to_owned).map(Into::into),
            ..Host::default()
        };
        let near = host("a", Some("time:[1]"));
        assert!(near.shares_clock_with(&host("a", Some("time:[1]"))));
        assert!(!near.shares_clock_with(&host("a", Some("time:[2]"))));
        assert!(!near.shares_clock_with(&host("b", Some("time:[1]"))));
        assert!(!host("a", None).shares_clock_with(&host("a", None)));
        assert!(!Host::default().shares_machine_with(&Host::default()));
    }
}
