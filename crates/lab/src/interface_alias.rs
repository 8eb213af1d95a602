//! The aliases of a lab's interfaces, by which programs on its hosts know the link behind them.

use caudal_core::lab_link::LabLink;
use caudal_sys::netlink::DeviceSettings;
use caudal_topology::LinkEnd;

use crate::lab::Lab;

impl Lab {
    /// Writes the rates of a link into the aliases of its interfaces. A kernel that refuses an alias changes nothing else.
    pub(crate) fn write_aliases(&self, link: usize) {
        for end in [0, 1] {
            let at = LinkEnd::new(link, end);
            let node = self.topology.links[link].ends[end].node;
            let Some(host) = self.hosts[node].as_ref() else {
                continue;
            };
            let settings = DeviceSettings {
                alias: self.lab_link(at).to_alias(),
                ..DeviceSettings::default()
            };
            if let Some(interface) = host.interface(at) {
                let _ = host.netlink.set_device(interface.index, &settings);
            }
        }
    }

    /// A link as it is seen from one of its ends.
    fn lab_link(&self, at: LinkEnd) -> LabLink {
        LabLink {
            lab: self.id.as_str().into(),
            link: u32::try_from(at.link).unwrap_or(u32::MAX),
            out_bps: self.rate_bps(at),
            in_bps: self.rate_bps(at.opposite()),
        }
    }

    /// The rate of a direction at present, bit/s; `None` when it is not constant, or without limit.
    fn rate_bps(&self, from: LinkEnd) -> Option<u64> {
        let planned = self.topology.links[from.link].directions[from.end].constant_rate()?;
        let changed = self.changed.get(&from).and_then(|changed| changed.rate);
        Some(changed.unwrap_or(planned).bps())
    }
}
