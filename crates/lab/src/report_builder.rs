//! Collection of a lab's counters.

use std::collections::BTreeMap;
use std::io;

use caudal_core::units::BitRate;
use caudal_link::counters::{DropReason, FrameTotals};
use caudal_link::lab_report::{
    DirectionState, EmulatorState, InterfaceState, KernelCounters, LabReport, LinkCounters,
    LinkState, NodeState, PacketCount,
};
use caudal_link::probability::Probability;
use caudal_sys::schedule::ThreadPriority;
use caudal_topology::{Driver, Duplex, Link, LinkEnd, StationDuplex};

use crate::emulator::EmulatorReport;
use crate::error::LabError;
use crate::host::{HostInterface, HostNamespace};
use crate::lab::Lab;

impl Lab {
    /// All counters.
    ///
    /// # Errors
    /// When the emulator has ended.
    pub fn report(&self) -> Result<LabReport, LabError> {
        let mut emulator = match &self.emulator {
            Some(emulator) => Some(emulator.report().ok_or_else(|| {
                LabError::kernel("reach the emulator")(io::ErrorKind::BrokenPipe.into())
            })?),
            None => None,
        };
        let nodes = self.node_states();
        // The kernel dropped these frames between a host and its TAP device, where the emulator does not see them.
        if let Some(emulator) = &mut emulator
            && self.far_namespace.is_none()
        {
            let unread = self.unread(&nodes);
            for lateness in [&mut emulator.whole, &mut emulator.marked] {
                lateness.unread += unread;
                lateness.must_repeat |= unread > 0;
            }
        }
        let links = (0..self.topology.links.len())
            .map(|link| self.link_state(link, emulator.as_ref()))
            .collect();
        let mut warnings = self.warnings.clone();
        if emulator
            .as_ref()
            .is_some_and(|emulator| emulator.whole.must_repeat)
        {
            warnings.push(
                "the emulator stalled for more than 10 ms: repeat what was measured meanwhile"
                    .to_owned(),
            );
        }
        Ok(LabReport {
            schema: "caudal.lab/1".to_owned(),
            name: self.name.clone(),
            title: self.topology.title.clone(),
            seed: self.topology.seed,
            up_s: self.since.elapsed().as_secs_f64(),
            emulator: emulator.map(|emulator| self.emulator_state(emulator)),
            links,
            nodes,
            warnings,
            notes: self.notes.clone(),
        })
    }

    /// The packets that emulated interfaces dropped because the emulator did not read them in time.
    fn unread(&self, nodes: &[NodeState]) -> u64 {
        let interfaces = nodes.iter().flat_map(|node| &node.interfaces);
        let emulated = interfaces.filter(|interface| {
            let link = self.topology.link(&interface.link);
            link.is_some_and(|link| self.topology.driver(link) != Driver::Kernel)
        });
        emulated.map(|interface| interface.tx_dropped).sum()
    }

    fn emulator_state(&self, report: EmulatorReport) -> EmulatorState {
        let device = if self.far_namespace.is_some() {
            "packet"
        } else {
            "tap"
        };
        let scheduling = match report.priority {
            ThreadPriority::RealTime => "real-time",
            ThreadPriority::Raised => "nice",
            ThreadPriority::Ordinary => "ordinary",
        };
        EmulatorState {
            device: device.to_owned(),
            scheduling: scheduling.to_owned(),
            frames_read: report.frames_read,
            frames_delivered: report.frames_delivered,
            frames_refused: report.frames_refused,
            packets_read: report.packets_read,
            packets_delivered: report.packets_delivered,
            cpu_s: report.cpu.map(|cpu| cpu.as_secs_f64()),
            whole: report.whole,
            run: report.marked,
        }
    }

    fn link_state(&self, number: usize, emulator: Option<&EmulatorReport>) -> LinkState {
        let link = &self.topology.links[number];
        let node = |end: usize| self.topology.nodes[link.ends[end].node].name.clone();
        let emulated = emulator.and_then(|emulator| emulator.links.get(&number));
        let direction = |end: usize| {
            let from = LinkEnd::new(number, end);
            let counters = match emulated {
                Some(directions) => LinkCounters::Emulator(Box::new(directions[end].clone())),
                None => LinkCounters::Kernel(self.kernel_counters(from)),
            };
            self.direction_state(from, counters)
        };
        LinkState {
            name: link.name.clone(),
            between: [node(0), node(1)],
            devices: link.ends.each_ref().map(|end| end.device.clone()),
            driver: self.topology.driver(number).to_string(),
            duplex: duplex_name(link).to_owned(),
            mtu: link.mtu,
            segmentation: self.has_segmentation[number],
            forward: direction(0),
            backward: direction(1),
        }
    }

    fn direction_state(&self, from: LinkEnd, counters: LinkCounters) -> DirectionState {
        let impairments = &self.topology.links[from.link].directions[from.end];
        let changed = self.changed.get(&from).copied().unwrap_or_default();
        let rate = changed.rate.or_else(|| impairments.constant_rate());
        let delay = changed.delay.unwrap_or(impairments.delay);
        let mut described = impairments.clone();
        described.loss = changed.loss.map_or(impairments.loss, Probability::fraction);
        DirectionState {
            rate_bps: rate.map(BitRate::bps),
            delay_us: delay.as_nanos() as f64 / 1e3,
            impairments: described.descriptions(),
            counters,
        }
    }

    /// The kernel's counters of the direction that starts at `from`, of a link whose driver is the kernel.
    fn kernel_counters(&self, from: LinkEnd) -> KernelCounters {
        let interface = |at: LinkEnd| {
            let host = self.hosts[self.topology.node_at(at)].as_ref()?;
            Some((host, host.interface(at)?.index))
        };
        let counters = |at| {
            let (host, index) = interface(at)?;
            host.netlink.counters(index).ok()
        };
        let sent = counters(from).unwrap_or_default();
        let received = counters(from.opposite()).unwrap_or_default();
        let queue = interface(from)
            .and_then(|(host, index)| host.netlink.queue_counters(index).ok()?)
            .unwrap_or_default();
        let held = FrameTotals {
            frames: u64::from(queue.queue_length),
            bytes: u64::from(queue.backlog),
        };
        let packets = u64::from(queue.drops);
        let mut dropped = BTreeMap::new();
        if packets > 0 {
            dropped.insert(DropReason::QueueFull, PacketCount { packets });
        }
        KernelCounters {
            offered: FrameTotals {
                frames: sent.tx_packets + held.frames + packets,
                bytes: sent.tx_bytes + held.bytes,
            },
            delivered: FrameTotals {
                frames: received.rx_packets,
                bytes: received.rx_bytes,
            },
            held,
            dropped,
        }
    }

    fn node_states(&self) -> Vec<NodeState> {
        let nodes = self.topology.nodes.iter().zip(&self.hosts);
        let state = nodes.map(|(node, host)| NodeState {
            name: node.name.clone(),
            kind: node.kind().to_owned(),
            interfaces: host.as_ref().map_or(Vec::new(), |host| {
                let interfaces = host.interfaces.iter();
                interfaces
                    .map(|interface| self.interface_state(host, interface))
                    .collect()
            }),
        });
        state.collect()
    }

    fn interface_state(&self, host: &HostNamespace, interface: &HostInterface) -> InterfaceState {
        let counters = host.netlink.counters(interface.index).unwrap_or_default();
        let addresses = self.topology.addresses(interface.end);
        let addresses = addresses.map_or(Vec::new(), |(_, v4, v6)| {
            let v4 = Some(v4.to_string());
            v4.into_iter().chain(v6.map(|v6| v6.to_string())).collect()
        });
        InterfaceState {
            name: interface.name.clone(),
            link: self.topology.links[interface.end.link].name.clone(),
            addresses,
            mtu: interface.mtu,
            tx_packets: counters.tx_packets,
            tx_bytes: counters.tx_bytes,
            tx_dropped: counters.tx_dropped,
            rx_packets: counters.rx_packets,
            rx_bytes: counters.rx_bytes,
            rx_dropped: counters.rx_dropped,
        }
    }
}

/// The duplex mode of a link as topology files write it.
fn duplex_name(link: &Link) -> &'static str {
    use StationDuplex::{Full, Half};
    match link.duplex {
        Duplex::Full => "full",
        Duplex::Half { ends, .. } => match ends {
            [Half, Full] => "half-full",
            [Full, Half] => "full-half",
            _ => "half",
        },
    }
}
