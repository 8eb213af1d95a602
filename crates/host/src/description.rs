//! The machine an end of a test runs on: its description, and the resources used during a test.

use crate::drop_meter::DropMeter;
use crate::drop_recorder::DropRecorder;
use caudal_analysis::window::WINDOW_SYSCTLS;
use caudal_core::host::{Host, Usage};
use caudal_sys::clock::{monotonic_ns, process_cpu};
use caudal_sys::{affinity, host, interface};
use std::net::SocketAddr;
use std::sync::Arc;

/// The kernel settings that limit what a test can reach, beside those that bound windows.
const SYSCTLS: [&str; 1] = ["net.core.default_qdisc"];

/// The description of this machine, with its interface towards `peer`.
#[must_use]
pub fn describe_host(tool: &str, peer: Option<SocketAddr>) -> Host {
    let route = peer.and_then(interface::route_to_socket);
    let device = route
        .as_ref()
        .and_then(|route| interface::Interface::by_name(&route.interface));
    Host {
        tool: tool.into(),
        name: host::hostname().unwrap_or_default().into(),
        kernel: host::kernel_release().unwrap_or_default().into(),
        cpu: host::cpu_model().unwrap_or_default().into(),
        cpus: affinity::available_cpus().len() as u32,
        boot_id: host::boot_id().map(Into::into),
        time_namespace: host::time_namespace().map(Into::into),
        congestion_control: host::sysctl("net.ipv4.tcp_congestion_control").map(Into::into),
        interface: route.map(|route| route.interface.into()),
        mtu: device.as_ref().map(|device| device.mtu),
        speed_mbps: device.as_ref().and_then(|device| device.speed_mbps),
        driver: device
            .as_ref()
            .and_then(|device| device.driver.clone())
            .map(Into::into),
        lab_link: device
            .as_ref()
            .and_then(|device| device.alias.as_ref()?.parse().ok())
            .map(Box::new),
        qdisc: device
            .as_ref()
            .and_then(|device| device.qdisc.clone())
            .map(Into::into),
        offloads: device.map_or_else(Vec::new, |device| {
            device
                .offloads
                .into_iter()
                .filter(|(_, on)| *on)
                .map(|(name, _)| name.into())
                .collect()
        }),
        sysctls: WINDOW_SYSCTLS
            .iter()
            .chain(&SYSCTLS)
            .filter_map(|name| Some(((*name).into(), host::sysctl(name)?.into())))
            .collect(),
        load_average: host::load_average().map(|load| load[0]),
    }
}

/// The counters of this machine as they were when a test began.
#[derive(Debug, Clone)]
pub struct UsageMeter {
    cpu_ns: u64,
    steal_ns: Option<u64>,
    throttled_ns: Option<u64>,
    at_ns: u64,
    interface: Option<u32>,
    qdisc_drops: Option<u64>,
    udp: Option<host::UdpMib>,
    tcp_checksum_errors: Option<u64>,
    drops: DropMeter,
    recorder: Option<Arc<DropRecorder>>,
}

impl UsageMeter {
    /// Reads the counters; the queueing discipline's on the interface towards `peer`.
    #[must_use]
    pub fn start(peer: SocketAddr) -> Self {
        let interface = interface::route_to_socket(peer).map(|route| route.index);
        Self {
            cpu_ns: process_cpu().as_nanos() as u64,
            steal_ns: host::steal_ns(),
            throttled_ns: host::throttled_ns(),
            at_ns: monotonic_ns(),
            interface,
            qdisc_drops: interface.and_then(interface::qdisc_drops),
            udp: host::udp_counters(),
            tcp_checksum_errors: host::tcp_checksum_errors(),
            drops: DropMeter::start(interface),
            recorder: None,
        }
    }

    /// The same, with the kernel's own record of the packets that it drops, where it may be had. It is not for a server: an instance of
    /// tracefs takes memory and time that whoever connects to one has not paid for.
    #[must_use]
    pub fn start_with_drop_reasons(peer: SocketAddr) -> Self {
        Self {
            recorder: DropRecorder::start().map(Arc::new),
            ..Self::start(peer)
        }
    }

    /// The resources used since.
    #[must_use]
    pub fn read(&self) -> Usage {
        let since = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        let udp = host::udp_counters();
        let device = self.drops.device();
        let udp_since =
            |counter: fn(host::UdpMib) -> u64| since(udp.map(counter), self.udp.map(counter));
        Usage {
            cpu_ns: (process_cpu().as_nanos() as u64).saturating_sub(self.cpu_ns),
            steal_ns: since(host::steal_ns(), self.steal_ns),
            throttled_ns: since(host::throttled_ns(), self.throttled_ns),
            wall_ns: monotonic_ns().saturating_sub(self.at_ns),
            qdisc_drops: since(
                self.interface.and_then(interface::qdisc_drops),
                self.qdisc_drops,
            ),
            host_receive_drops: udp_since(|udp| udp.rcvbuf_errors),
            udp_checksum_errors: udp_since(|udp| udp.checksum_errors),
            tcp_checksum_errors: since(host::tcp_checksum_errors(), self.tcp_checksum_errors),
            drops: self.drops.drops(device),
            drop_reasons: self.recorder.as_ref().and_then(|recorder| recorder.read()),
            interface: self.drops.traffic(device),
        }
    }
}
