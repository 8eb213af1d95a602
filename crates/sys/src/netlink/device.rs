//! Network devices.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::attribute::{attributes, c_text, nested, push_attribute, text};
use super::socket::Netlink;
use crate::raw;

/// The length of a `struct ifinfomsg`.
const LINK_HEADER: usize = 16;

/// The counters of a device since it was created, in packets as its driver counts them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounters {
    /// Packets received.
    pub rx_packets: u64,
    /// Packets sent.
    pub tx_packets: u64,
    /// Bytes received, from destination address to the end of the payload.
    pub rx_bytes: u64,
    /// Bytes sent, from destination address to the end of the payload.
    pub tx_bytes: u64,
    /// Packets received with an error.
    pub rx_errors: u64,
    /// Packets not sent because of an error.
    pub tx_errors: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
    /// Collisions while sending.
    pub collisions: u64,
    /// Frames received with a length that is not allowed.
    pub rx_length_errors: u64,
    /// Frames received with CRC (FCS) errors.
    pub rx_crc_errors: u64,
    /// Frames received that are not whole bytes: `aAlignmentErrors`, IEEE 802.3 section 30.3.1.1.7.
    pub rx_frame_errors: u64,
    /// Packets that a queue of the device overflowed with.
    pub rx_fifo_errors: u64,
    /// Packets that the device had no buffer for.
    pub rx_missed_errors: u64,
    /// Frames not sent after too many collisions: `aFramesAbortedDueToXSColls`, IEEE 802.3 section 30.3.1.1.11.
    pub tx_aborted_errors: u64,
    /// Frames during which the carrier was lost: `aCarrierSenseErrors`, IEEE 802.3 section 30.3.1.1.13.
    pub tx_carrier_errors: u64,
    /// Late collisions: `aLateCollisions`, IEEE 802.3 section 30.3.1.1.10.
    pub tx_window_errors: u64,
}

/// The state of a device, and its counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceState {
    /// `true` when it is up.
    pub is_up: bool,
    /// `true` when it has a carrier.
    pub has_carrier: bool,
    /// The times its carrier was lost since it was created.
    pub carrier_losses: Option<u32>,
    /// Its counters.
    pub counters: DeviceCounters,
}

/// The settings to change of a device; `None` leaves one unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceSettings {
    /// `true` to bring it up.
    pub up: bool,
    /// The MTU, bytes.
    pub mtu: Option<u32>,
    /// The Ethernet address.
    pub address: Option<[u8; 6]>,
    /// The length of its transmit queue, frames.
    pub tx_queue_length: Option<u32>,
    /// The alias.
    pub alias: Option<String>,
    /// The maximum number of segments in a packet that it is given: 1 for no segmentation offload of TCP.
    pub gso_max_segments: Option<u32>,
}

impl Netlink {
    /// The index of the device called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn index_of(&self, name: &str) -> io::Result<u32> {
        let mut body = vec![0; LINK_HEADER];
        push_attribute(&mut body, libc::IFLA_IFNAME, &c_text(name));
        let replies = self.request(libc::RTM_GETLINK, 0, &body)?;
        let index = replies.first().and_then(|reply| raw::u32_at(reply, 4));
        index.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Creates a pair of veth devices, the second one in another namespace.
    ///
    /// # Errors
    /// When a name is taken, or the kernel has no veth devices.
    pub fn add_veth_pair(
        &self,
        name: &str,
        other: &str,
        namespace_of_other: impl AsFd,
        mtu: u32,
        addresses: [[u8; 6]; 2],
    ) -> io::Result<()> {
        const PEER: u16 = 1;
        let describe = |body: &mut Vec<u8>, name: &str, address: [u8; 6]| {
            push_attribute(body, libc::IFLA_IFNAME, &c_text(name));
            push_attribute(body, libc::IFLA_MTU, &mtu.to_ne_bytes());
            push_attribute(body, libc::IFLA_ADDRESS, &address);
        };
        let mut peer = vec![0; LINK_HEADER];
        describe(&mut peer, other, addresses[1]);
        let namespace = namespace_of_other.as_fd().as_raw_fd();
        push_attribute(&mut peer, libc::IFLA_NET_NS_FD, &namespace.to_ne_bytes());
        let data = nested(&[(PEER, &peer)]);
        let info = nested(&[
            (libc::IFLA_INFO_KIND, b"veth"),
            (libc::IFLA_INFO_DATA, &data),
        ]);
        let mut body = vec![0; LINK_HEADER];
        describe(&mut body, name, addresses[0]);
        push_attribute(&mut body, libc::IFLA_LINKINFO, &info);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.request_change(libc::RTM_NEWLINK, flags, &body)
    }

    /// Changes the settings of a device.
    ///
    /// # Errors
    /// When the driver refuses a setting.
    pub fn set_device(&self, index: u32, settings: &DeviceSettings) -> io::Result<()> {
        let mut body = vec![0; LINK_HEADER];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        if settings.up {
            let up = (libc::IFF_UP as u32).to_ne_bytes();
            body[8..12].copy_from_slice(&up);
            body[12..16].copy_from_slice(&up);
        }
        if let Some(mtu) = settings.mtu {
            push_attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
        }
        if let Some(address) = settings.address {
            push_attribute(&mut body, libc::IFLA_ADDRESS, &address);
        }
        if let Some(length) = settings.tx_queue_length {
            push_attribute(&mut body, libc::IFLA_TXQLEN, &length.to_ne_bytes());
        }
        if let Some(alias) = &settings.alias {
            push_attribute(&mut body, libc::IFLA_IFALIAS, &c_text(alias));
        }
        if let Some(segments) = settings.gso_max_segments {
            push_attribute(&mut body, libc::IFLA_GSO_MAX_SEGS, &segments.to_ne_bytes());
        }
        self.request_change(libc::RTM_NEWLINK, 0, &body)
    }

    /// The alias of the device called `name`.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn alias_of(&self, name: &str) -> io::Result<Option<String>> {
        let mut body = vec![0; LINK_HEADER];
        push_attribute(&mut body, libc::IFLA_IFNAME, &c_text(name));
        let replies = self.request(libc::RTM_GETLINK, 0, &body)?;
        let reply = replies.first().and_then(|reply| reply.get(LINK_HEADER..));
        let attributes = attributes(reply.unwrap_or_default());
        Ok(attributes.get(&libc::IFLA_IFALIAS).map(|alias| text(alias)))
    }

    /// The counters of a device.
    ///
    /// # Errors
    /// When there is no device of this index.
    pub fn counters(&self, index: u32) -> io::Result<DeviceCounters> {
        Ok(self.device_state(index)?.counters)
    }

    /// The state of a device.
    ///
    /// # Errors
    /// When there is no device of this index.
    pub fn device_state(&self, index: u32) -> io::Result<DeviceState> {
        let mut body = vec![0; LINK_HEADER];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        let replies = self.request(libc::RTM_GETLINK, 0, &body)?;
        let reply = replies.first().ok_or(io::ErrorKind::NotFound)?;
        DeviceState::decode(reply).ok_or_else(|| io::ErrorKind::Unsupported.into())
    }
}

impl DeviceState {
    /// Decodes a `struct ifinfomsg` with its attributes; `None` where it has no counters.
    fn decode(message: &[u8]) -> Option<Self> {
        let flags = raw::u32_at(message, 8)?;
        let attributes = attributes(message.get(LINK_HEADER..)?);
        let losses = attributes.get(&libc::IFLA_CARRIER_DOWN_COUNT);
        Some(Self {
            is_up: flags & libc::IFF_UP as u32 != 0,
            has_carrier: flags & libc::IFF_LOWER_UP as u32 != 0,
            carrier_losses: losses.and_then(|count| raw::u32_at(count, 0)),
            counters: DeviceCounters::decode(attributes.get(&libc::IFLA_STATS64)?),
        })
    }
}

impl DeviceCounters {
    /// Decodes a `struct rtnl_link_stats64`, include/uapi/linux/if_link.h, the meaning of whose counters is in
    /// Documentation/networking/statistics.rst; those that an older kernel lacks are 0.
    fn decode(counted: &[u8]) -> Self {
        let word = |at: usize| raw::u64_at(counted, 8 * at).unwrap_or(0);
        Self {
            rx_packets: word(0),
            tx_packets: word(1),
            rx_bytes: word(2),
            tx_bytes: word(3),
            rx_errors: word(4),
            tx_errors: word(5),
            rx_dropped: word(6),
            tx_dropped: word(7),
            collisions: word(9),
            rx_length_errors: word(10),
            rx_crc_errors: word(12),
            rx_frame_errors: word(13),
            rx_fifo_errors: word(14),
            rx_missed_errors: word(15),
            tx_aborted_errors: word(16),
            tx_carrier_errors: word(17),
            tx_window_errors: word(20),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_at_their_places_and_those_that_are_missing_are_zero() {
        let counted: Vec<u8> = (0..25_u64).flat_map(u64::to_ne_bytes).collect();
        let all = DeviceCounters {
            rx_packets: 0,
            tx_packets: 1,
            rx_bytes: 2,
            tx_bytes: 3,
            rx_errors: 4,
            tx_errors: 5,
            rx_dropped: 6,
            tx_dropped: 7,
            collisions: 9,
            rx_length_errors: 10,
            rx_crc_errors: 12,
            rx_frame_errors: 13,
            rx_fifo_errors: 14,
            rx_missed_errors: 15,
            tx_aborted_errors: 16,
            tx_carrier_errors: 17,
            tx_window_errors: 20,
        };
        assert_eq!(DeviceCounters::decode(&counted), all);
        let cut = DeviceCounters::decode(&counted[..12 * 8 + 3]);
        assert_eq!((cut.rx_length_errors, cut.rx_crc_errors), (10, 0));
    }
}
