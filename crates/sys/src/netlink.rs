//! rtnetlink: devices, addresses, routes and queues of the network namespace a connection was opened in.
//!
//! Written out here because what is needed most, token buckets with their overhead and multipath routes, is what the
//! libraries leave to raw bytes, and because they come with an async runtime.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

use socket2::{Domain, Protocol, Socket, Type};

use crate::raw;

/// The length of a `struct nlmsghdr`.
const HEADER: usize = 16;
/// The length of a `struct ifinfomsg`.
const LINK_HEADER: usize = 16;

/// A connection to rtnetlink, bound to the namespace of the thread that opened it.
#[derive(Debug)]
pub struct Netlink(Socket);

/// What a device has counted since it was made, in packets as its driver saw them.
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
    /// Packets not sent for an error.
    pub tx_errors: u64,
    /// Packets received and dropped.
    pub rx_dropped: u64,
    /// Packets dropped before they were sent.
    pub tx_dropped: u64,
    /// Collisions while sending.
    pub collisions: u64,
}

/// What a device's outermost queue has counted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Bytes that left it.
    pub bytes: u64,
    /// Packets that left it.
    pub packets: u64,
    /// Packets waiting.
    pub waiting_packets: u32,
    /// Bytes waiting.
    pub waiting_bytes: u32,
    /// Packets dropped.
    pub drops: u32,
}

/// A token bucket in front of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Bytes per second.
    pub rate: u64,
    /// The bytes it lets through at once.
    pub burst: u32,
    /// The bytes that may wait.
    pub limit: u32,
    /// What every packet counts more than its own length.
    pub overhead: u16,
    /// What every packet counts at least, the overhead included.
    pub least: u16,
}

/// A next hop: the device, and the router's address; none where the network is at the device itself.
pub type Hop = (u32, Option<IpAddr>);

impl Netlink {
    /// Connects to the namespace the calling thread is in.
    ///
    /// # Errors
    /// Whatever the kernel has against another socket.
    pub fn open() -> io::Result<Self> {
        let domain = Domain::from(libc::AF_NETLINK);
        let protocol = Protocol::from(libc::NETLINK_ROUTE);
        let socket = Socket::new(domain, Type::RAW, Some(protocol))?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        Ok(Self(socket))
    }

    /// Puts one question and gathers the answers, each without its `struct nlmsghdr`.
    pub(crate) fn ask(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        let flags = (libc::NLM_F_REQUEST | flags) as u16;
        let mut request = ((HEADER + body.len()) as u32).to_ne_bytes().to_vec();
        request.extend_from_slice(&kind.to_ne_bytes());
        request.extend_from_slice(&flags.to_ne_bytes());
        request.extend_from_slice(&[0; 8]);
        request.extend_from_slice(body);
        self.0.send(&request)?;
        let is_long = c_int::from(flags) & (libc::NLM_F_DUMP | libc::NLM_F_ACK) != 0;
        let mut answers = Vec::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let length = raw::receive_with_control(&self.0, &mut buffer, 0)?.length;
            let mut rest = &buffer[..length];
            while let (Some(length), Some(kind)) = (raw::u32_at(rest, 0), raw::u16_at(rest, 4)) {
                let message = rest
                    .get(HEADER..length as usize)
                    .ok_or(io::ErrorKind::InvalidData)?;
                match c_int::from(kind) {
                    libc::NLMSG_DONE => return Ok(answers),
                    libc::NLMSG_ERROR => {
                        return match raw::u32_at(message, 0).unwrap_or(0).cast_signed() {
                            0 => Ok(answers),
                            error => Err(io::Error::from_raw_os_error(-error)),
                        };
                    }
                    _ => answers.push(message.to_vec()),
                }
                rest = rest
                    .get((length as usize).next_multiple_of(4)..)
                    .unwrap_or_default();
            }
            if !is_long {
                return Ok(answers);
            }
        }
    }

    fn order(&self, kind: u16, flags: c_int, body: &[u8]) -> io::Result<()> {
        self.ask(kind, flags | libc::NLM_F_ACK, body).map(drop)
    }

    /// The number of the device called `name`.
    ///
    /// # Errors
    /// When there is none.
    pub fn index_of(&self, name: &str) -> io::Result<u32> {
        let mut body = vec![0; LINK_HEADER];
        push_attribute(&mut body, libc::IFLA_IFNAME, &c_text(name));
        let answers = self.ask(libc::RTM_GETLINK, 0, &body)?;
        let index = answers.first().and_then(|answer| raw::u32_at(answer, 4));
        index.ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Makes a pair of devices that are joined, the second one in another namespace.
    ///
    /// # Errors
    /// When a name is taken, or the kernel has no such devices.
    pub fn add_pair(
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
        self.order(libc::RTM_NEWLINK, flags, &body)
    }

    /// Sets what is given of a device, and takes it up when told so.
    ///
    /// # Errors
    /// What the driver refuses.
    pub fn set_device(&self, index: u32, device: &DeviceSettings) -> io::Result<()> {
        let mut body = vec![0; LINK_HEADER];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        if device.up {
            let up = (libc::IFF_UP as u32).to_ne_bytes();
            body[8..12].copy_from_slice(&up);
            body[12..16].copy_from_slice(&up);
        }
        if let Some(mtu) = device.mtu {
            push_attribute(&mut body, libc::IFLA_MTU, &mtu.to_ne_bytes());
        }
        if let Some(address) = device.address {
            push_attribute(&mut body, libc::IFLA_ADDRESS, &address);
        }
        if let Some(frames) = device.queue_frames {
            push_attribute(&mut body, libc::IFLA_TXQLEN, &frames.to_ne_bytes());
        }
        if let Some(alias) = &device.alias {
            push_attribute(&mut body, libc::IFLA_IFALIAS, &c_text(alias));
        }
        self.order(libc::RTM_NEWLINK, 0, &body)
    }

    /// What the device called `name` is also known as.
    ///
    /// # Errors
    /// When there is no such device.
    pub fn alias_of(&self, name: &str) -> io::Result<Option<String>> {
        let mut body = vec![0; LINK_HEADER];
        push_attribute(&mut body, libc::IFLA_IFNAME, &c_text(name));
        let answers = self.ask(libc::RTM_GETLINK, 0, &body)?;
        let answer = answers.first().and_then(|answer| answer.get(LINK_HEADER..));
        let attributes = attributes(answer.unwrap_or_default());
        Ok(attributes.get(&libc::IFLA_IFALIAS).map(|alias| text(alias)))
    }

    /// Gives a device an address that is used at once, without asking others for duplicates, and no way to the network
    /// it is in: that is for [`Self::add_route`].
    ///
    /// # Errors
    /// When it has it already, or the kernel lacks the family.
    pub fn add_address(&self, index: u32, address: IpAddr, prefix: u8) -> io::Result<()> {
        let octets = octets(address);
        // `struct ifaddrmsg`: family, prefix length, flags, scope, index.
        let flags = if address.is_ipv6() {
            libc::IFA_F_NODAD as u8
        } else {
            0
        };
        let mut body = vec![family(address), prefix, flags, 0];
        body.extend_from_slice(&index.to_ne_bytes());
        push_attribute(&mut body, libc::IFA_LOCAL, &octets);
        push_attribute(&mut body, libc::IFA_ADDRESS, &octets);
        let flags = u32::from(flags) | libc::IFA_F_NOPREFIXROUTE;
        push_attribute(&mut body, libc::IFA_FLAGS, &flags.to_ne_bytes());
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.order(libc::RTM_NEWADDR, flags, &body)
    }

    /// Adds the way to a network over any of these next hops, all alike.
    ///
    /// # Errors
    /// When there is one already, a next hop is out of reach, or there is none.
    pub fn add_route(&self, (network, prefix): (IpAddr, u8), hops: &[Hop]) -> io::Result<()> {
        let is_direct = matches!(hops, [(_, None)]);
        let scope = if is_direct && network.is_ipv4() {
            libc::RT_SCOPE_LINK
        } else {
            libc::RT_SCOPE_UNIVERSE
        };
        // `struct rtmsg`: family, lengths of destination and source, type of service, table, protocol, scope, type, flags.
        let mut body = vec![
            family(network),
            prefix,
            0,
            0,
            libc::RT_TABLE_MAIN,
            libc::RTPROT_STATIC,
            scope,
            libc::RTN_UNICAST,
        ];
        body.extend_from_slice(&[0; 4]);
        push_attribute(&mut body, libc::RTA_DST, &octets(network));
        match hops {
            [] => return Err(io::ErrorKind::InvalidInput.into()),
            [(index, gateway)] => {
                if let Some(gateway) = gateway {
                    push_attribute(&mut body, libc::RTA_GATEWAY, &octets(*gateway));
                }
                push_attribute(&mut body, libc::RTA_OIF, &index.to_ne_bytes());
            }
            several => {
                let mut list = Vec::new();
                for (index, gateway) in several {
                    // `struct rtnexthop`: length, flags, weight less one, index.
                    let mut hop = vec![0; 8];
                    hop[4..8].copy_from_slice(&index.to_ne_bytes());
                    if let Some(gateway) = gateway {
                        push_attribute(&mut hop, libc::RTA_GATEWAY, &octets(*gateway));
                    }
                    let length = (hop.len() as u16).to_ne_bytes();
                    hop[..2].copy_from_slice(&length);
                    list.extend_from_slice(&hop);
                }
                push_attribute(&mut body, libc::RTA_MULTIPATH, &list);
            }
        }
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        self.order(libc::RTM_NEWROUTE, flags, &body)
    }

    /// Puts a token bucket in front of a device, or changes the one there.
    ///
    /// # Errors
    /// When the kernel has no such queue, or refuses the numbers.
    pub fn set_token_bucket(&self, index: u32, bucket: TokenBucket) -> io::Result<()> {
        const ROOT: u32 = 0xffff_ffff;
        const HANDLE: u32 = 0x0001_0000;
        // include/uapi/linux/pkt_sched.h
        const PARAMETERS: u16 = 1;
        const RATE_64: u16 = 4;
        const BURST: u16 = 6;
        const ETHERNET: u8 = 1;
        // `struct tc_ratespec`: cell, link layer, overhead, cell alignment, least, rate.
        let rate = |bytes: u64| {
            let mut spec = vec![0, ETHERNET];
            spec.extend_from_slice(&bucket.overhead.to_ne_bytes());
            spec.extend_from_slice(&0_u16.to_ne_bytes());
            spec.extend_from_slice(&bucket.least.to_ne_bytes());
            spec.extend_from_slice(&u32::try_from(bytes).unwrap_or(u32::MAX).to_ne_bytes());
            spec
        };
        // `struct tc_tbf_qopt`: rate, peak rate, limit, buffer, mtu.
        let mut parameters = rate(bucket.rate);
        parameters.extend_from_slice(&[0; 12]);
        parameters.extend_from_slice(&bucket.limit.to_ne_bytes());
        parameters.extend_from_slice(&[0; 8]);
        let options = nested(&[
            (PARAMETERS, &parameters),
            (RATE_64, &bucket.rate.to_ne_bytes()),
            (BURST, &bucket.burst.to_ne_bytes()),
        ]);
        // `struct tcmsg`: family, index, handle, parent, info.
        let words = [0, index, HANDLE, ROOT, 0];
        let mut body = words.map(u32::to_ne_bytes).concat();
        push_attribute(&mut body, libc::TCA_KIND, &c_text("tbf"));
        push_attribute(&mut body, libc::TCA_OPTIONS, &options);
        let flags = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
        self.order(libc::RTM_NEWQDISC, flags, &body)
    }

    /// What a device has counted.
    ///
    /// # Errors
    /// When there is none of this number.
    pub fn counters(&self, index: u32) -> io::Result<DeviceCounters> {
        let mut body = vec![0; LINK_HEADER];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        let answers = self.ask(libc::RTM_GETLINK, 0, &body)?;
        let answer = answers.first().and_then(|answer| answer.get(LINK_HEADER..));
        let attributes = attributes(answer.unwrap_or_default());
        let counted = attributes
            .get(&libc::IFLA_STATS64)
            .ok_or(io::ErrorKind::Unsupported)?;
        // `struct rtnl_link_stats64`, include/uapi/linux/if_link.h.
        let word = |at: usize| raw::u64_at(counted, 8 * at).unwrap_or(0);
        Ok(DeviceCounters {
            rx_packets: word(0),
            tx_packets: word(1),
            rx_bytes: word(2),
            tx_bytes: word(3),
            rx_errors: word(4),
            tx_errors: word(5),
            rx_dropped: word(6),
            tx_dropped: word(7),
            collisions: word(9),
        })
    }

    /// What the outermost queue of a device has counted; `None` when it has none that counts.
    ///
    /// # Errors
    /// Whatever the kernel has against the question.
    pub fn queue_counters(&self, index: u32) -> io::Result<Option<QueueCounters>> {
        let words = [0, index, 0, 0, 0];
        let body = words.map(u32::to_ne_bytes).concat();
        let answers = self.ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &body)?;
        let found = answers.iter().find_map(|answer| {
            let (of, parent) = (raw::u32_at(answer, 4)?, raw::u32_at(answer, 12)?);
            if (of, parent) != (index, u32::MAX) {
                return None;
            }
            let all = attributes(answer.get(20..)?);
            let counted = attributes(all.get(&libc::TCA_STATS2)?);
            // include/uapi/linux/gen_stats.h: basic is bytes and packets, queue is length, backlog, drops.
            let (basic, queue) = (counted.get(&1)?, counted.get(&3)?);
            Some(QueueCounters {
                bytes: raw::u64_at(basic, 0)?,
                packets: counted
                    .get(&8)
                    .and_then(|packets| raw::u64_at(packets, 0))
                    .or_else(|| raw::u32_at(basic, 8).map(u64::from))?,
                waiting_packets: raw::u32_at(queue, 0)?,
                waiting_bytes: raw::u32_at(queue, 4)?,
                drops: raw::u32_at(queue, 8)?,
            })
        });
        Ok(found)
    }
}

/// What is to be set of a device; what is `None` stays.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeviceSettings {
    /// Takes it up.
    pub up: bool,
    /// The largest packet in bytes.
    pub mtu: Option<u32>,
    /// The Ethernet address.
    pub address: Option<[u8; 6]>,
    /// The frames that wait for the device.
    pub queue_frames: Option<u32>,
    /// What it is also known as.
    pub alias: Option<String>,
}

/// Appends a `struct rtattr` with `data`, padded to four bytes.
pub(crate) fn push_attribute(body: &mut Vec<u8>, kind: u16, data: &[u8]) {
    body.extend_from_slice(&((4 + data.len()) as u16).to_ne_bytes());
    body.extend_from_slice(&kind.to_ne_bytes());
    body.extend_from_slice(data);
    body.resize(body.len().next_multiple_of(4), 0);
}

fn nested(parts: &[(u16, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (kind, data) in parts {
        push_attribute(&mut body, *kind, data);
    }
    body
}

/// The `struct rtattr` that `bytes` consist of, by kind.
pub(crate) fn attributes(mut bytes: &[u8]) -> BTreeMap<u16, &[u8]> {
    let mut found = BTreeMap::new();
    while let (Some(length), Some(kind)) = (raw::u16_at(bytes, 0), raw::u16_at(bytes, 2)) {
        let length = usize::from(length);
        let Some(data) = bytes.get(4..length) else {
            break;
        };
        // The two highest bits say how the data is written, not what it is.
        found.insert(kind & 0x3fff, data);
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    found
}

pub(crate) fn family(address: IpAddr) -> u8 {
    match address {
        IpAddr::V4(_) => libc::AF_INET as u8,
        IpAddr::V6(_) => libc::AF_INET6 as u8,
    }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    }
}

fn c_text(text: &str) -> Vec<u8> {
    [text.as_bytes(), &[0]].concat()
}

/// The text before the first zero byte.
pub(crate) fn text(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(text).into_owned()
}
