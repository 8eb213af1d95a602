//! This machine, as it was while something was measured: what one looks at when two results differ.

use caudal_sys::affinity;
use caudal_sys::clock::monotonic_ns;
use caudal_sys::host::{self, CpuTimes};
use caudal_sys::interface::{Interface, route_to};
use serde_json::{Map, Value, json};
use std::net::IpAddr;

/// The kernel settings that decide what TCP and UDP can reach.
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

/// This machine from a moment on.
#[derive(Debug, Clone)]
pub struct Watch {
    at_ns: u64,
    load: Option<[f64; 3]>,
    cpu: Option<CpuTimes>,
}

impl Watch {
    /// Looks at this machine from now on.
    #[must_use]
    pub fn start() -> Self {
        Self {
            at_ns: monotonic_ns(),
            load: host::load_average(),
            cpu: host::cpu_times(),
        }
    }

    /// What this machine is, with the interface towards `peer`, and what it did meanwhile: docs/store.md
    /// documents the keys. What the kernel does not say is absent.
    #[must_use]
    pub fn read(&self, peer: Option<IpAddr>) -> Value {
        let interface = peer
            .and_then(route_to)
            .and_then(|route| Interface::by_name(&route.interface));
        let sysctls: Map<String, Value> = SYSCTLS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), json!(host::sysctl(name)?))))
            .collect();
        let mut machine = json!({
            "caudal": env!("CARGO_PKG_VERSION"),
            "build": if cfg!(debug_assertions) { "debug" } else { "release" },
            "name": host::hostname(),
            "kernel": host::kernel_release(),
            "kernel_build": host::sysctl("kernel.version"),
            "architecture": std::env::consts::ARCH,
            "cpu": host::cpu_model(),
            "cpus": affinity::available_cpus().len(),
            "governor": host::cpu_governor(),
            "clock_source": host::clock_source(),
            "memory_bytes": host::memory_bytes(),
            "interface": interface.as_ref().map(described),
            "sysctls": sysctls,
            "meanwhile": self.meanwhile(),
        });
        without_nulls(&mut machine);
        machine
    }

    /// What the machine did since, its processors in shares of all of their time.
    fn meanwhile(&self) -> Value {
        let cpu = self
            .cpu
            .zip(host::cpu_times())
            .and_then(|(then, now)| shares(&then, &now));
        json!({
            "elapsed_s": monotonic_ns().saturating_sub(self.at_ns) as f64 / 1e9,
            "load_average_before": self.load,
            "load_average_after": host::load_average(),
            "cpu": cpu,
        })
    }
}

/// What the processors did between two readings; `None` when no time passed between them.
fn shares(then: &CpuTimes, now: &CpuTimes) -> Option<Value> {
    let parts = |cpu: &CpuTimes| {
        [
            ("user", cpu.user),
            ("nice", cpu.nice),
            ("system", cpu.system),
            ("idle", cpu.idle),
            ("io_wait", cpu.io_wait),
            ("irq", cpu.irq),
            ("soft_irq", cpu.soft_irq),
            ("steal", cpu.steal),
        ]
    };
    let both = parts(then).into_iter().zip(parts(now));
    let spent: Vec<(&str, f64)> = both
        .map(|((name, then), (_, now))| (name, now.saturating_sub(then).as_secs_f64()))
        .collect();
    let all: f64 = spent.iter().map(|(_, time)| time).sum();
    (all > 0.0).then(|| {
        let shares = spent
            .iter()
            .map(|(name, time)| ((*name).to_owned(), json!(time / all)));
        Value::Object(shares.collect())
    })
}

fn described(interface: &Interface) -> Value {
    let offloads: Map<String, Value> = interface
        .offloads
        .iter()
        .map(|(name, on)| (name.clone(), json!(on)))
        .collect();
    json!({
        "name": interface.name,
        "mtu": interface.mtu,
        "speed_mbps": interface.speed_mbps,
        "duplex": interface.duplex,
        "driver": interface.driver,
        "qdisc": interface.qdisc,
        "offloads": offloads,
    })
}

fn without_nulls(value: &mut Value) {
    if let Value::Object(map) = value {
        map.retain(|_, what| !what.is_null());
        map.values_mut().for_each(without_nulls);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn processors_are_told_in_shares_of_all_their_time() {
        let then = CpuTimes {
            user: Duration::from_secs(10),
            ..CpuTimes::default()
        };
        let now = CpuTimes {
            user: Duration::from_secs(11),
            idle: Duration::from_secs(2),
            steal: Duration::from_secs(1),
            ..CpuTimes::default()
        };
        let told = shares(&then, &now).unwrap();
        assert_eq!(told["user"], 0.25);
        assert_eq!(told["idle"], 0.5);
        assert_eq!(told["steal"], 0.25);
        assert_eq!(told["nice"], 0.0);
        assert_eq!(shares(&now, &now), None);
    }

    #[test]
    fn this_machine_is_described_with_the_interface_towards_its_peer() {
        let watch = Watch::start();
        let told = watch.read(Some(std::net::Ipv4Addr::LOCALHOST.into()));
        assert_eq!(told["interface"]["name"], "lo");
        assert!(told["interface"]["mtu"].as_u64() > Some(0));
        assert!(told["kernel"].is_string() && told["memory_bytes"].is_u64());
        assert!(told["sysctls"]["net.ipv4.tcp_rmem"].is_string());
        assert!(told["meanwhile"]["elapsed_s"].as_f64() > Some(0.0));
        assert!(told["meanwhile"]["load_average_after"].is_array());
        assert_eq!(watch.read(None).get("interface"), None);
    }
}
