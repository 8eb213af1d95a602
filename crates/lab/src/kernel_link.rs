//! Links whose driver is the kernel: a veth pair, or with a rate one to each side of a bridge with token buckets.

use std::io;

use caudal_sys::interface;
use caudal_sys::netlink::DeviceSettings;
use caudal_topology::{Link, LinkEnd};

use crate::bucket::bucket;
use crate::error::LabError;
use crate::lab::Lab;
use crate::mac_address::mac_address;
use crate::shaper::ShaperNamespace;

impl Lab {
    /// Creates a link whose driver is the kernel.
    pub(crate) fn create_kernel_link(&mut self, number: usize) -> Result<(), LabError> {
        let link = self.topology.links[number].clone();
        let has_rate = |end: usize| link.directions[end].constant_rate().is_some();
        if has_rate(0) || has_rate(1) {
            return self.create_shaped_link(number, &link);
        }
        let [near, far] = link.ends.each_ref().map(|end| end.device.as_str());
        let failed = || format!("connect {near} and {far} for link {}", link.name);
        let far_namespace = self.host_mut(link.ends[1].node)?.namespace.clone();
        let addresses = [0, 1].map(|end| mac_address(number, end));
        let netlink = &self.host_mut(link.ends[0].node)?.netlink;
        netlink
            .add_veth_pair(near, far, &far_namespace, link.mtu, addresses)
            .map_err(LabError::kernel(failed()))?;
        for end in 0..2 {
            let host = self.host_mut(link.ends[end].node)?;
            host.bring_up(
                LinkEnd::new(number, end),
                &link.ends[end].device,
                device_settings(&link),
            )
            .map_err(LabError::kernel(failed()))?;
        }
        Ok(())
    }

    /// Creates a link with token buckets.
    fn create_shaped_link(&mut self, number: usize, link: &Link) -> Result<(), LabError> {
        let shapers = match self.shapers.take() {
            Some(shapers) => shapers,
            None => ShaperNamespace::create()?,
        };
        let shapers = self.shapers.insert(shapers);
        let bridge = shapers
            .add_bridge(number)
            .map_err(|cause| kernel_lacks("bridges", link, cause))?;
        for end in 0..2 {
            let at = LinkEnd::new(number, end);
            let device = &link.ends[end].device;
            let host = self.hosts[link.ends[end].node].as_mut();
            let host = host.ok_or_else(|| {
                LabError::invalid("a switch has no interfaces", "name a host or router")
            })?;
            let created = shapers
                .add_port(at, bridge, link, &host.namespace)
                .and_then(|()| host.namespace.run(|| interface::turn_offloads_off(device)))
                .and_then(|()| host.bring_up(at, device, device_settings(link)));
            created.map_err(LabError::kernel(format!(
                "create {device} for link {}",
                link.name
            )))?;
        }
        for end in 0..2 {
            if let Some(bucket) = bucket(link, &link.directions[end]) {
                shapers
                    .set_bucket(LinkEnd::new(number, end), bucket)
                    .map_err(|cause| kernel_lacks("token bucket (sch_tbf)", link, cause))?;
            }
        }
        Ok(())
    }
}

/// The error for a shaped link that this kernel cannot have.
fn kernel_lacks(what: &str, link: &Link, cause: io::Error) -> LabError {
    match cause.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::Unsupported => LabError::NotPermitted {
            what: format!("this kernel has no {what}"),
            remedy: format!("give link {} driver = \"emulated\"", link.name),
        },
        _ => LabError::kernel(format!("create link {}", link.name))(cause),
    }
}

/// The settings of a host's interface to `link`.
fn device_settings(link: &Link) -> DeviceSettings {
    DeviceSettings {
        mtu: Some(link.mtu),
        ..DeviceSettings::default()
    }
}
