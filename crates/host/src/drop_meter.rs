//! The packets that this machine's kernel drops during a test.

use caudal_core::host_drops::{HostDrops, InterfaceTraffic};
use caudal_sys::host::{DropCounters, drop_counters};
use caudal_sys::interface::interface_counters;
use caudal_sys::netlink::DeviceCounters;

/// Packets that may be between two of the kernel's counters when these are read.
const MAX_BETWEEN: i64 = 4;

/// The counters of dropped packets as they were when a test began.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DropMeter {
    interface: Option<u32>,
    device: Option<DeviceCounters>,
    drops: Option<DropCounters>,
}

impl DropMeter {
    /// Reads the counters, those of interface `interface` among them.
    pub(crate) fn start(interface: Option<u32>) -> Self {
        Self {
            interface,
            device: interface.and_then(interface_counters),
            drops: drop_counters(),
        }
    }

    /// The packets dropped since; `None` where the kernel does not show its counters.
    pub(crate) fn drops(&self, device: Option<DeviceCounters>) -> Option<HostDrops> {
        let (then, now) = (self.drops?, drop_counters()?);
        let since = |of: fn(&DropCounters) -> u64| of(&now).saturating_sub(of(&then));
        let undelivered = now.undelivered - then.undelivered;
        let of_device = |of: fn(&DeviceCounters) -> u64| {
            let both = device.as_ref().zip(self.device.as_ref());
            both.map_or(0, |(now, then)| of(now).saturating_sub(of(then)))
        };
        Some(HostDrops {
            interface_ring: of_device(|all| all.rx_missed_errors + all.rx_fifo_errors),
            interface_receive: of_device(|all| all.rx_dropped),
            interface_send: of_device(|all| all.tx_dropped),
            backlog: since(|all| all.backlog),
            ip_input: since(|all| all.ip_input),
            reverse_path: since(|all| all.reverse_path),
            firewall: match undelivered {
                ..=MAX_BETWEEN => 0,
                more => more.unsigned_abs(),
            },
            reassembly: since(|all| all.reassembly),
            ip_output: since(|all| all.ip_output),
            udp_no_port: since(|all| all.udp_no_port),
            udp_memory: since(|all| all.udp_memory),
            tcp_socket: since(|all| all.tcp_socket),
        })
    }

    /// The counters of the interface now.
    pub(crate) fn device(&self) -> Option<DeviceCounters> {
        self.interface.and_then(interface_counters)
    }

    /// The traffic of the interface until its counters were these.
    pub(crate) fn traffic(&self, device: Option<DeviceCounters>) -> Option<InterfaceTraffic> {
        let (now, then) = (device?, self.device?);
        Some(InterfaceTraffic {
            received_bytes: now.rx_bytes.saturating_sub(then.rx_bytes),
            sent_bytes: now.tx_bytes.saturating_sub(then.tx_bytes),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quiet_host_drops_nothing_and_what_it_sends_is_counted() {
        let loopback = Some(1);
        let meter = DropMeter::start(loopback);
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        socket
            .send_to(&[0; 1000], socket.local_addr().unwrap())
            .unwrap();
        let device = meter.device();
        let traffic = meter.traffic(device).unwrap();
        assert!(traffic.sent_bytes >= 1028, "{traffic:?}");
        let drops = meter.drops(device).unwrap();
        assert_eq!(drops.interface_ring, 0);
    }
}
