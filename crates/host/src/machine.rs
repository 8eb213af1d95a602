//! The machine this program runs on: its properties, and its load from one point in time to another.

use caudal_core::run::{CpuShares, Machine, MachineInterface, MachineLoad};
use caudal_sys::affinity;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::host::{self, CpuTimes};
use caudal_sys::interface::{Interface, route_to};
use std::net::IpAddr;
use std::time::Duration;

/// The kernel settings that affect the performance of TCP and UDP.
const SYSCTLS: [&str; 38] = [
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.netdev_budget",
    "net.core.netdev_max_backlog",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_retrans",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_fastopen",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_recovery",
    "net.ipv4.tcp_reordering",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
];

/// Measures the load of this machine from its creation on.
#[derive(Debug, Clone)]
pub struct MachineMonitor {
    started_ns: u64,
    load_average: Option<[f64; 3]>,
    cpu: Option<CpuTimes>,
}

impl MachineMonitor {
    /// Starts measuring.
    #[must_use]
    pub fn start() -> Self {
        Self {
            started_ns: monotonic_ns(),
            load_average: host::load_average(),
            cpu: host::cpu_times(),
        }
    }

    /// This machine with the interface towards `peer`, and its load since the start.
    #[must_use]
    pub fn machine(&self, peer: Option<IpAddr>) -> Machine {
        let build = if cfg!(debug_assertions) {
            "debug"
        } else {
            "release"
        };
        let interface = peer
            .and_then(route_to)
            .and_then(|route| Interface::by_name(&route.interface));
        let sysctls = SYSCTLS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), host::sysctl(name)?)));
        Machine {
            caudal: Some(env!("CARGO_PKG_VERSION").to_owned()),
            build: Some(build.to_owned()),
            name: host::hostname(),
            kernel: host::kernel_release(),
            kernel_build: host::sysctl("kernel.version"),
            architecture: Some(std::env::consts::ARCH.to_owned()),
            cpu: host::cpu_model(),
            cpus: u32::try_from(affinity::available_cpus().len()).ok(),
            governor: host::cpu_governor(),
            clock_source: host::clock_source(),
            memory_bytes: host::memory_bytes(),
            interface: interface.map(machine_interface),
            sysctls: sysctls.collect(),
            meanwhile: Some(self.load()),
        }
    }

    /// The load since the start.
    fn load(&self) -> MachineLoad {
        MachineLoad {
            elapsed_s: monotonic_ns().saturating_sub(self.started_ns) as f64 / 1e9,
            load_average_before: self.load_average,
            load_average_after: host::load_average(),
            cpu: self
                .cpu
                .zip(host::cpu_times())
                .and_then(|(earlier, later)| cpu_shares(&earlier, &later)),
        }
    }
}

/// The shares of processor time between two readings; `None` when none passed.
fn cpu_shares(earlier: &CpuTimes, later: &CpuTimes) -> Option<CpuShares> {
    let spent = |field: fn(&CpuTimes) -> Duration| {
        field(later).saturating_sub(field(earlier)).as_secs_f64()
    };
    let times = CpuShares {
        user: spent(|cpu| cpu.user),
        nice: spent(|cpu| cpu.nice),
        system: spent(|cpu| cpu.system),
        idle: spent(|cpu| cpu.idle),
        io_wait: spent(|cpu| cpu.io_wait),
        irq: spent(|cpu| cpu.irq),
        soft_irq: spent(|cpu| cpu.soft_irq),
        steal: spent(|cpu| cpu.steal),
    };
    let total = times.user
        + times.nice
        + times.system
        + times.idle
        + times.io_wait
        + times.irq
        + times.soft_irq
        + times.steal;
    (total > 0.0).then(|| CpuShares {
        user: times.user / total,
        nice: times.nice / total,
        system: times.system / total,
        idle: times.idle / total,
        io_wait: times.io_wait / total,
        irq: times.irq / total,
        soft_irq: times.soft_irq / total,
        steal: times.steal / total,
    })
}

fn machine_interface(interface: Interface) -> MachineInterface {
    MachineInterface {
        name: interface.name,
        mtu: interface.mtu,
        speed_mbps: interface.speed_mbps,
        duplex: interface.duplex,
        driver: interface.driver,
        qdisc: interface.qdisc,
        offloads: interface.offloads.into_iter().collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_is_given_in_shares_of_the_total() {
        let earlier = CpuTimes {
            user: Duration::from_secs(10),
            ..CpuTimes::default()
        };
        let later = CpuTimes {
            user: Duration::from_secs(11),
            idle: Duration::from_secs(2),
            steal: Duration::from_secs(1),
            ..CpuTimes::default()
        };
        let expected = CpuShares {
            user: 0.25,
            idle: 0.5,
            steal: 0.25,
            ..CpuShares::default()
        };
        assert_eq!(cpu_shares(&earlier, &later), Some(expected));
        assert_eq!(cpu_shares(&later, &earlier), None);
    }

    #[test]
    fn this_machine_is_described_with_the_interface_towards_its_peer() {
        let monitor = MachineMonitor::start();
        let machine = monitor.machine(Some(std::net::Ipv4Addr::LOCALHOST.into()));
        let interface = machine.interface.unwrap();
        assert_eq!(interface.name, "lo");
        assert!(interface.mtu > 0);
        assert!(machine.kernel.is_some() && machine.memory_bytes.is_some());
        assert!(machine.sysctls.contains_key("net.ipv4.tcp_rmem"));
        let load = machine.meanwhile.unwrap();
        assert!(load.elapsed_s > 0.0);
        assert!(load.load_average_after.is_some());
        assert_eq!(monitor.machine(None).interface, None);
    }
}
