//! Creation of links: veth pairs, TAP devices, packet sockets.

use std::io;

use caudal_sys::interface;
use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::netlink::{DeviceSettings, Netlink};
use caudal_sys::packet::PacketRing;
use caudal_sys::tap::Tap;
use caudal_topology::{Link, LinkEnd};

use crate::device::Device;
use crate::error::LabError;
use crate::host::namespace_error;
use crate::kernel_link;
use crate::lab::Lab;

/// The queue in frames between a host's kernel and the emulator, for frames sent while the emulator does not run.
const DEVICE_QUEUE_FRAMES: u32 = 10_000;
/// Ethernet header with a VLAN tag.
const MAX_HEADER_BYTES: usize = 18;

impl Lab {
    /// Creates a link whose driver is the kernel.
    pub(crate) fn create_kernel_link(&mut self, number: usize) -> Result<(), LabError> {
        let link = self.topology.links[number].clone();
        let [near, far] = link.ends.each_ref().map(|end| end.device.as_str());
        let failed = || format!("connect {near} and {far} for link {}", link.name);
        let far_namespace = self.host_mut(link.ends[1].node)?.namespace.clone();
        let addresses = [0, 1].map(|end| mac_address(number, end));
        let netlink = &self.host_mut(link.ends[0].node)?.netlink;
        netlink
            .add_veth_pair(near, far, &far_namespace, link.mtu, addresses)
            .map_err(LabError::kernel(failed()))?;
        for end in 0..2 {
            let created = self.bring_up_kernel_interface(&link, LinkEnd::new(number, end));
            let has_bucket = link.directions[end].constant_rate().is_some();
            created.map_err(|cause| match cause.kind() {
                io::ErrorKind::NotFound if has_bucket => LabError::NotPermitted {
                    what: "this kernel has no token bucket (sch_tbf)".to_owned(),
                    remedy: format!("give link {} driver = \"emulated\"", link.name),
                },
                _ => LabError::kernel(failed())(cause),
            })?;
        }
        Ok(())
    }

    fn bring_up_kernel_interface(&mut self, link: &Link, at: LinkEnd) -> io::Result<()> {
        let end = &link.ends[at.end];
        let host = self.hosts[end.node]
            .as_mut()
            .ok_or(io::ErrorKind::NotFound)?;
        let bucket = kernel_link::bucket(link, &link.directions[at.end]);
        let settings = DeviceSettings {
            mtu: Some(link.mtu),
            // With offloads, several packets in one would count as one frame.
            gso_max_segments: bucket.map(|_| 1),
            ..DeviceSettings::default()
        };
        let index = host.bring_up(at, &end.device, settings)?;
        if let Some(bucket) = bucket {
            host.namespace
                .run(|| interface::turn_offloads_off(&end.device))?;
            host.netlink.set_token_bucket(index, bucket)?;
        }
        Ok(())
    }

    /// Creates the interfaces of an emulated link, and adds the emulator's side of each to `devices`.
    pub(crate) fn create_emulated_interfaces(
        &mut self,
        number: usize,
        devices: &mut Vec<(LinkEnd, Device)>,
    ) -> Result<(), LabError> {
        let link = self.topology.links[number].clone();
        for at in [0, 1].map(|end| LinkEnd::new(number, end)) {
            let end = &link.ends[at.end];
            if self.hosts[end.node].is_none() {
                continue;
            }
            let device = match self.far_namespace {
                None => match self.create_tap(at, &link) {
                    Err(cause) if is_tap_missing(&cause) && devices.is_empty() => {
                        self.use_packet_sockets(&cause)?;
                        self.create_packet_ring(at, &link)
                    }
                    created => created,
                },
                Some(_) => self.create_packet_ring(at, &link),
            };
            let failed = format!("create {} for link {}", end.device, link.name);
            devices.push((at, device.map_err(LabError::kernel(failed))?));
        }
        Ok(())
    }

    /// Uses packet sockets on veth pairs from now on, because TAP devices are not available.
    fn use_packet_sockets(&mut self, cause: &io::Error) -> Result<(), LabError> {
        let namespace = NetworkNamespace::create().map_err(namespace_error)?;
        // Packets that this namespace sends of its own accord would appear as packets from the host's peer.
        let disabled = namespace.run(|| {
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")
        });
        if let Err(cause) = disabled
            && cause.kind() != io::ErrorKind::NotFound
        {
            return Err(LabError::kernel("disable IPv6 in the emulator's namespace")(cause));
        }
        self.notes.push(format!(
            "/dev/net/tun cannot be opened ({cause}): packet sockets on veth pairs replace TAP devices, and ethtool shows \
             no speed"
        ));
        self.far_namespace = Some(namespace);
        Ok(())
    }

    fn device_settings(link: &Link, at: LinkEnd) -> DeviceSettings {
        DeviceSettings {
            up: true,
            mtu: Some(link.mtu),
            address: Some(mac_address(at.link, at.end)),
            tx_queue_length: Some(DEVICE_QUEUE_FRAMES),
            ..DeviceSettings::default()
        }
    }

    fn create_tap(&mut self, at: LinkEnd, link: &Link) -> io::Result<Device> {
        let end = &link.ends[at.end];
        let rate = link.directions[at.end].constant_rate();
        let speed = rate.map(|rate| rate.bps() / 1_000_000);
        let is_half_duplex = link.duplex.is_half_at(at.end);
        let host = self.hosts[end.node]
            .as_mut()
            .ok_or(io::ErrorKind::NotFound)?;
        let tap = host.namespace.run(|| {
            let tap = Tap::create(&end.device)?;
            // Single frames, until the emulator runs.
            interface::turn_offloads_off(&end.device)?;
            if let Some(speed) = speed.and_then(|speed| u32::try_from(speed).ok())
                && speed > 0
            {
                // For ethtool only; a driver that refuses it changes nothing else.
                let _ = interface::set_speed(&end.device, speed, is_half_duplex);
            }
            Ok(tap)
        })?;
        host.bring_up(at, &end.device, Self::device_settings(link, at))?;
        Ok(Device::Tap(tap))
    }

    fn create_packet_ring(&mut self, at: LinkEnd, link: &Link) -> io::Result<Device> {
        let far_namespace = self.far_namespace.clone().ok_or(io::ErrorKind::NotFound)?;
        let end = &link.ends[at.end];
        let host = self.hosts[end.node]
            .as_mut()
            .ok_or(io::ErrorKind::NotFound)?;
        let far_device = format!("p{}-{}", at.link, at.end);
        let addresses = [at.end, at.end + 2].map(|end| mac_address(at.link, end));
        host.netlink.add_veth_pair(
            &end.device,
            &far_device,
            &far_namespace,
            link.mtu,
            addresses,
        )?;
        host.namespace
            .run(|| interface::turn_offloads_off(&end.device))?;
        let ring = far_namespace.run(|| {
            interface::turn_offloads_off(&far_device)?;
            let netlink = Netlink::open()?;
            let index = netlink.index_of(&far_device)?;
            let settings = DeviceSettings {
                up: true,
                tx_queue_length: Some(DEVICE_QUEUE_FRAMES),
                ..DeviceSettings::default()
            };
            netlink.set_device(index, &settings)?;
            PacketRing::open(index, link.mtu as usize + MAX_HEADER_BYTES)
        })?;
        host.bring_up(at, &end.device, Self::device_settings(link, at))?;
        Ok(Device::Packet(ring))
    }
}

/// The Ethernet address of an interface: locally administered, the same every time.
fn mac_address(link: usize, end: usize) -> [u8; 6] {
    let [high, low] = (link as u16).to_be_bytes();
    [0x02, 0xca, 0x0d, high, low, end as u8]
}

/// `true` when TAP devices are not available to this user, and packet sockets may replace them.
fn is_tap_missing(cause: &io::Error) -> bool {
    // ENXIO and ENODEV.
    const NO_SUCH_DEVICE: [i32; 2] = [6, 19];
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) || cause
        .raw_os_error()
        .is_some_and(|code| NO_SUCH_DEVICE.contains(&code))
}
