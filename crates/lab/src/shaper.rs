//! The namespace of the token buckets.

use std::collections::BTreeMap;
use std::io;

use caudal_sys::interface;
use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::netlink::{DeviceSettings, Netlink, QueueCounters, TbfSettings};
use caudal_topology::{Link, LinkEnd};

use crate::error::LabError;
use crate::host;
use crate::mac_address::mac_address;

/// The namespace of the token buckets of links whose driver is the kernel.
///
/// A queueing discipline sees packets before segmentation: it would count the framing of many datagrams once, and one drop
/// for all of them. So the buckets are not at the interfaces of the hosts. These have no offloads; each is a veth whose
/// other end is a port of the link's bridge here, and what leaves a port towards a host are single frames.
#[derive(Debug)]
pub(crate) struct ShaperNamespace {
    namespace: NetworkNamespace,
    netlink: Netlink,
    /// The index of the port that is connected to the host at each link end.
    ports: BTreeMap<LinkEnd, u32>,
}

impl ShaperNamespace {
    /// A namespace without bridges.
    pub(crate) fn create() -> Result<Self, LabError> {
        let namespace = host::create_silent_namespace()?;
        let netlink = namespace
            .run(Netlink::open)
            .map_err(LabError::kernel("open rtnetlink"))?;
        Ok(Self {
            namespace,
            netlink,
            ports: BTreeMap::new(),
        })
    }

    /// Creates the bridge of link `number`; gives its index.
    pub(crate) fn add_bridge(&self, number: usize) -> io::Result<u32> {
        let name = format!("bridge{number}");
        self.netlink.add_bridge(&name)?;
        let index = self.netlink.index_of(&name)?;
        let settings = DeviceSettings {
            up: true,
            ..DeviceSettings::default()
        };
        self.netlink.set_device(index, &settings)?;
        Ok(index)
    }

    /// Creates the interface of `link` at `at` in the namespace of its host, connected to a port of `bridge`.
    pub(crate) fn add_port(
        &mut self,
        at: LinkEnd,
        bridge: u32,
        link: &Link,
        host: &NetworkNamespace,
    ) -> io::Result<()> {
        let port = format!("p{}-{}", at.link, at.end);
        let device = &link.ends[at.end].device;
        let addresses = [at.end + 2, at.end].map(|end| mac_address(at.link, end));
        self.netlink
            .add_veth_pair(&port, device, host, link.mtu, addresses)?;
        self.namespace.run(|| interface::turn_offloads_off(&port))?;
        let index = self.netlink.index_of(&port)?;
        let settings = DeviceSettings {
            up: true,
            mtu: Some(link.mtu),
            bridge: Some(bridge),
            ..DeviceSettings::default()
        };
        self.netlink.set_device(index, &settings)?;
        self.ports.insert(at, index);
        Ok(())
    }

    /// Sets the token bucket of the direction that starts at `from`.
    pub(crate) fn set_bucket(&self, from: LinkEnd, bucket: TbfSettings) -> io::Result<()> {
        let port = self.port_towards(from.opposite());
        self.netlink
            .set_token_bucket(port.ok_or(io::ErrorKind::NotFound)?, bucket)
    }

    /// The counters of the token bucket of the direction that starts at `from`; `None` without one.
    pub(crate) fn counters(&self, from: LinkEnd) -> Option<QueueCounters> {
        let port = self.port_towards(from.opposite())?;
        self.netlink.queue_counters(port).ok()?
    }

    fn port_towards(&self, at: LinkEnd) -> Option<u32> {
        self.ports.get(&at).copied()
    }
}
