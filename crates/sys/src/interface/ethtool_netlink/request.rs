//! Requests about one interface.

use crate::netlink::{GenericNetlink, push_attribute, push_nested};

/// Requests for what a driver reports. Source: include/uapi/linux/ethtool_netlink.h.
#[derive(Debug, Clone, Copy)]
#[repr(u8)]
pub(super) enum EthtoolRequest {
    LinkModes = 4,
    LinkState = 6,
    Statistics = 32,
}

impl EthtoolRequest {
    /// The attribute that names the interface.
    fn header_attribute(self) -> u16 {
        match self {
            Self::LinkModes | Self::LinkState => 1,
            Self::Statistics => 2,
        }
    }
}

/// A connection to the family `ethtool`, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub(in crate::interface) struct EthtoolNetlink(GenericNetlink);

impl EthtoolNetlink {
    /// A connection; `None` when the kernel lacks the family.
    pub(in crate::interface) fn open() -> Option<Self> {
        GenericNetlink::open("ethtool").ok()?.map(Self)
    }

    /// The attributes of the reply to a request about interface `index`, with `more` attributes; `None` when its driver does not
    /// report them.
    pub(super) fn ask(&self, request: EthtoolRequest, index: u32, more: &[u8]) -> Option<Vec<u8>> {
        const DEVICE_INDEX: u16 = 1;
        let mut header = Vec::new();
        push_attribute(&mut header, DEVICE_INDEX, &index.to_ne_bytes());
        let mut attributes = Vec::new();
        push_nested(&mut attributes, request.header_attribute(), &header);
        attributes.extend_from_slice(more);
        self.0.request(request as u8, &attributes).ok()
    }
}
