//! Network interfaces, the way to an address, and the queues in front of a device.
//!
//! Everything is asked through sockets and not read from `/sys`, which keeps showing the network
//! namespace it was mounted in to threads that have moved to another.

use std::ffi::{c_int, c_ulong};
use std::io;
use std::mem;
use std::net::IpAddr;
use std::os::fd::AsRawFd;

use socket2::{Domain, Socket, Type};

use crate::netlink::{Netlink, attributes, family, push_attribute, text};
use crate::raw::{self, number};

/// The way packets to one address leave this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The name of the interface they leave by.
    pub interface: String,
    /// The number of that interface.
    pub index: u32,
    /// The address they come from.
    pub source: IpAddr,
}

/// The way to `destination`; `None` when there is none.
pub fn route_to(destination: IpAddr) -> Option<Route> {
    let destination = destination.to_canonical();
    let octets = match destination {
        IpAddr::V4(address) => address.octets().to_vec(),
        IpAddr::V6(address) => address.octets().to_vec(),
    };
    // `struct rtmsg`: family and length of the destination, then ten bytes of no concern.
    let mut request = [0; 12];
    request[0] = family(destination);
    request[1] = (octets.len() * 8) as u8;
    let mut body = request.to_vec();
    push_attribute(&mut body, libc::RTA_DST, &octets);
    let answers = ask(libc::RTM_GETROUTE, 0, &body).ok()?;
    let attributes = attributes(answers.first()?.get(request.len()..)?);
    let index = raw::u32_at(attributes.get(&libc::RTA_OIF)?, 0)?;
    let source = address(attributes.get(&libc::RTA_PREFSRC)?)?;
    Some(Route {
        interface: Link::by_index(index)?.name,
        index,
        source,
    })
}

/// What a network interface is and how it is set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// Its name, such as `eth0`.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// The largest packet it takes, in bytes with the IP header.
    pub mtu: u32,
    /// What it says of its speed, in Mbit/s; virtual ones say nothing or make something up.
    pub speed_mbps: Option<u32>,
    /// `full` or `half`, when it says so.
    pub duplex: Option<String>,
    /// The driver's name.
    pub driver: Option<String>,
    /// Whether it leads back to this machine.
    pub is_loopback: bool,
    /// The kind of the queue in front of it, such as `fq_codel`.
    pub qdisc: Option<String>,
    /// Work the kernel leaves to it or does in larger pieces, by the names of `ethtool -k`.
    pub offloads: Vec<(String, bool)>,
}

impl Interface {
    /// The interface called `name`, in the network namespace of the calling thread.
    pub fn by_name(name: &str) -> Option<Self> {
        let link = Link::by_name(name)?;
        let settings = LinkSettings::of(name);
        Some(Self {
            name: link.name,
            index: link.index,
            mtu: link.mtu,
            speed_mbps: settings.and_then(|settings| settings.speed_mbps),
            duplex: settings
                .and_then(|settings| settings.duplex)
                .map(str::to_owned),
            driver: driver(name),
            is_loopback: link.flags & libc::IFF_LOOPBACK as u32 != 0,
            qdisc: link.qdisc,
            offloads: offloads(name).unwrap_or_default(),
        })
    }
}

/// How many packets the queues in front of interface `index` have dropped on the way out.
///
/// That is the count of the queue at the root: the kernel passes on to it what the queues below it
/// drop. `None` when the interface does not exist or has no queue.
pub fn qdisc_drops(index: u32) -> Option<u64> {
    // `struct tcmsg`: family and padding, then index, handle, parent and info.
    let body = [0; 20];
    let answers = ask(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &body).ok()?;
    answers.iter().find_map(|answer| root_drops(index, answer))
}

/// The drops in one answer to `RTM_GETQDISC`, if it is about the root queue of `index`.
fn root_drops(index: u32, answer: &[u8]) -> Option<u64> {
    const TC_H_ROOT: u32 = u32::MAX;
    /// In `TCA_STATS2`. Source: include/uapi/linux/gen_stats.h.
    const TCA_STATS_QUEUE: u16 = 3;
    let is_root = raw::u32_at(answer, 4)? == index && raw::u32_at(answer, 12)? == TC_H_ROOT;
    if !is_root {
        return None;
    }
    let attributes_of_queue = attributes(answer.get(20..)?);
    let statistics = attributes(attributes_of_queue.get(&libc::TCA_STATS2)?);
    // `struct gnet_stats_queue`: length, backlog, drops, requeues, overlimits.
    raw::u32_at(statistics.get(&TCA_STATS_QUEUE)?, 8).map(u64::from)
}

/// An address of this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalAddress {
    /// The name of the interface it belongs to.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
}

/// The addresses of this machine, in the network namespace of the calling thread.
pub fn local_addresses() -> Vec<LocalAddress> {
    // `struct ifaddrmsg`: family, prefix length, flags, scope, then the index.
    let (links, addresses) = (
        ask(libc::RTM_GETLINK, libc::NLM_F_DUMP, &[0; 16]).unwrap_or_default(),
        ask(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; 8]).unwrap_or_default(),
    );
    let links: Vec<_> = links
        .iter()
        .filter_map(|answer| Link::decode(answer))
        .collect();
    let local = |answer: &Vec<u8>| {
        let index = raw::u32_at(answer, 4)?;
        let attributes = attributes(answer.get(8..)?);
        // On a point-to-point link `IFA_ADDRESS` is the other end.
        let own = attributes
            .get(&libc::IFA_LOCAL)
            .or(attributes.get(&libc::IFA_ADDRESS))?;
        let interface = links.iter().find(|link| link.index == index)?.name.clone();
        Some(LocalAddress {
            interface,
            address: address(own)?,
        })
    };
    addresses.iter().filter_map(local).collect()
}

/// What `RTM_GETLINK` says of an interface.
struct Link {
    name: String,
    index: u32,
    flags: u32,
    mtu: u32,
    qdisc: Option<String>,
}

impl Link {
    fn by_name(name: &str) -> Option<Self> {
        let mut body = vec![0; 16];
        push_attribute(
            &mut body,
            libc::IFLA_IFNAME,
            &[name.as_bytes(), &[0]].concat(),
        );
        Self::decode(ask(libc::RTM_GETLINK, 0, &body).ok()?.first()?)
    }

    fn by_index(index: u32) -> Option<Self> {
        let mut body = [0; 16];
        body[4..8].copy_from_slice(&index.to_ne_bytes());
        Self::decode(ask(libc::RTM_GETLINK, 0, &body).ok()?.first()?)
    }

    /// Reads a `struct ifinfomsg` (family, type, index, flags, change) and what follows it.
    fn decode(answer: &[u8]) -> Option<Self> {
        let attributes = attributes(answer.get(16..)?);
        Some(Self {
            name: text(attributes.get(&libc::IFLA_IFNAME)?),
            index: raw::u32_at(answer, 4)?,
            flags: raw::u32_at(answer, 8)?,
            mtu: raw::u32_at(attributes.get(&libc::IFLA_MTU)?, 0)?,
            qdisc: attributes.get(&libc::IFLA_QDISC).map(|kind| text(kind)),
        })
    }
}

/// Puts one question to rtnetlink and gathers the answers, each without its `struct nlmsghdr`.
fn ask(kind: u16, flags: c_int, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
    Netlink::open()?.ask(kind, flags, body)
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let v4 = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    v4.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from))
        .ok()
}

/// Numbers from include/uapi/linux/ethtool.h.
mod ethtool {
    pub(super) const GSET: u32 = 0x01;
    pub(super) const SSET: u32 = 0x02;
    pub(super) const GDRVINFO: u32 = 0x03;
    pub(super) const GSTRINGS: u32 = 0x1b;
    pub(super) const GSSET_INFO: u32 = 0x37;
    pub(super) const GFEATURES: u32 = 0x3a;
    pub(super) const SFEATURES: u32 = 0x3b;
    pub(super) const STRINGS_OF_FEATURES: u32 = 4;
    /// The length of one string.
    pub(super) const STRING: usize = 32;
}

/// Puts the command at the beginning of `request` to the driver of interface `name`, which answers
/// in its place.
///
/// # Safety
/// `request` must have room for whatever the command answers.
unsafe fn ask_driver(name: &str, request: &mut [u8]) -> io::Result<()> {
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    // SAFETY: every part of the structure is made of numbers and pointers; all zero is a value.
    let mut interface: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero, to end the name.
    if name.len() >= interface.ifr_name.len() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    for (into, byte) in interface.ifr_name.iter_mut().zip(name.bytes()) {
        *into = byte as _;
    }
    interface.ifr_ifru.ifru_data = request.as_mut_ptr().cast();
    let command = libc::SIOCETHTOOL as c_ulong;
    // SAFETY: `interface` is live, and the caller vouches for the room it points to.
    number(unsafe { libc::ioctl(socket.as_raw_fd(), command as _, &mut interface) }).map(drop)
}

/// What the driver says of the wire.
#[derive(Clone, Copy)]
struct LinkSettings {
    speed_mbps: Option<u32>,
    duplex: Option<&'static str>,
}

impl LinkSettings {
    fn of(name: &str) -> Option<Self> {
        let mut request = [0; 44];
        request[..4].copy_from_slice(&ethtool::GSET.to_ne_bytes());
        // SAFETY: the answer is a `struct ethtool_cmd`, which is 44 bytes.
        unsafe { ask_driver(name, &mut request) }.ok()?;
        let low = u32::from(raw::u16_at(&request, 12)?);
        let speed = low | u32::from(raw::u16_at(&request, 28)?) << 16;
        let duplex = match request[14] {
            0 => Some("half"),
            1 => Some("full"),
            _ => None,
        };
        // All ones is unknown; drivers that know no better also say so in 16 bits, or say 0.
        let is_known = ![0, 0xffff, u32::MAX].contains(&speed);
        Some(Self {
            speed_mbps: is_known.then_some(speed),
            duplex,
        })
    }
}

/// Lets a device that has no wire say that it has one of this speed, in Mbit/s, and duplex.
///
/// # Errors
/// When the driver refuses; a TAP device takes it, a veth does not.
pub fn set_speed(name: &str, mbps: u32, half_duplex: bool) -> io::Result<()> {
    // `struct ethtool_cmd`: the speed's halves at 12 and 28, the duplex at 14.
    let mut request = [0; 44];
    request[..4].copy_from_slice(&ethtool::SSET.to_ne_bytes());
    request[12..14].copy_from_slice(&(mbps as u16).to_ne_bytes());
    request[28..30].copy_from_slice(&((mbps >> 16) as u16).to_ne_bytes());
    request[14] = u8::from(!half_duplex);
    // SAFETY: the command takes a `struct ethtool_cmd`, which is 44 bytes, and answers nothing more.
    unsafe { ask_driver(name, &mut request) }
}

/// Turns off what joins or splits packets, or leaves their checksums to somebody else, as far as the driver lets.
///
/// # Errors
/// When the driver does not tell its features. What cannot be turned off stays on.
pub fn turn_offloads_off(name: &str) -> io::Result<()> {
    let Some((names, blocks)) = feature_names(name) else {
        return Err(io::ErrorKind::Unsupported.into());
    };
    // `struct ethtool_sfeatures`: command, count of blocks, then what is chosen and what is wanted of 32 features each.
    let mut request = [ethtool::SFEATURES, blocks as u32]
        .map(u32::to_ne_bytes)
        .concat();
    request.resize(request.len() + blocks * 8, 0);
    for (feature, name) in names.iter().enumerate() {
        let joins = OFFLOADS.contains(&name.as_str()) && !KEPT.contains(&name.as_str());
        if joins || name == "tx-gso-list" || name.starts_with("tx-sctp") {
            request[8 + feature / 32 * 8 + feature % 32 / 8] |= 1 << (feature % 8);
        }
    }
    // SAFETY: the command takes the blocks that the count announces, and answers nothing more.
    unsafe { ask_driver(name, &mut request) }
}

fn driver(name: &str) -> Option<String> {
    let mut request = [0; 196];
    request[..4].copy_from_slice(&ethtool::GDRVINFO.to_ne_bytes());
    // SAFETY: the answer is a `struct ethtool_drvinfo`, which is 196 bytes.
    unsafe { ask_driver(name, &mut request) }.ok()?;
    Some(text(&request[4..36])).filter(|driver| !driver.is_empty())
}

/// The offloads that change what a measurement sees.
const OFFLOADS: [&str; 13] = [
    "rx-checksum",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-lro",
    "rx-udp-gro-forwarding",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-generic-segmentation",
    "tx-scatter-gather",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
];

/// Those that change nothing of what is on the wire.
const KEPT: [&str; 2] = ["rx-checksum", "tx-scatter-gather"];

/// The names of a driver's features in their order, and how many blocks of 32 they fill.
fn feature_names(name: &str) -> Option<(Vec<String>, usize)> {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_ne_bytes()).collect() };

    // `struct ethtool_sset_info`: command, reserved, 64 bits that choose, one count for each.
    let mut request = words(&[ethtool::GSSET_INFO, 0, 0, 0, 0]);
    let chosen = (1_u64 << ethtool::STRINGS_OF_FEATURES).to_ne_bytes();
    request[8..16].copy_from_slice(&chosen);
    // SAFETY: one set is asked for, so one count follows the 16 bytes before.
    unsafe { ask_driver(name, &mut request) }.ok()?;
    let many = raw::u32_at(&request, 16)? as usize;

    // `struct ethtool_gstrings`: command, set, count, then the strings.
    let mut names = words(&[ethtool::GSTRINGS, ethtool::STRINGS_OF_FEATURES, many as u32]);
    names.resize(names.len() + many * ethtool::STRING, 0);
    // SAFETY: there is room for as many strings as this kernel just said it has, a build constant.
    unsafe { ask_driver(name, &mut names) }.ok()?;

    let all = names[12..].chunks_exact(ethtool::STRING).map(text);
    Some((all.collect(), many.div_ceil(32)))
}

fn offloads(name: &str) -> Option<Vec<(String, bool)>> {
    let (names, blocks) = feature_names(name)?;
    // `struct ethtool_gfeatures`: command, count of blocks, then blocks of four words, 32 features each.
    let mut states = [ethtool::GFEATURES, blocks as u32]
        .map(u32::to_ne_bytes)
        .concat();
    states.resize(states.len() + blocks * 16, 0);
    // SAFETY: the kernel writes no more blocks than the count says there is room for.
    unsafe { ask_driver(name, &mut states) }.ok()?;

    let is_active = |feature: usize| {
        // The third word of a block tells what is active.
        let active = raw::u32_at(&states, 8 + feature / 32 * 16 + 8)?;
        Some(active >> (feature % 32) & 1 != 0)
    };
    let all = names.into_iter().enumerate();
    let known = all.filter(|(_, name)| OFFLOADS.contains(&name.as_str()));
    let mut found: Vec<_> = known
        .filter_map(|(feature, name)| Some((name, is_active(feature)?)))
        .collect();
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    #[test]
    fn this_machine_reaches_itself_by_loopback() {
        for destination in ["127.0.0.1", "::ffff:127.0.0.1"] {
            let route = route_to(destination.parse().unwrap()).unwrap();
            assert_eq!(route.interface, "lo");
            assert_eq!(route.source, IpAddr::from(Ipv4Addr::LOCALHOST));
            assert_eq!(Interface::by_name("lo").unwrap().index, route.index);
        }
    }

    #[test]
    fn every_local_address_is_reached_from_itself() {
        let addresses = local_addresses();
        assert!(
            addresses
                .iter()
                .any(|local| local.address == Ipv4Addr::LOCALHOST)
        );
        for local in addresses.iter().filter(|local| local.address.is_ipv4()) {
            assert_eq!(route_to(local.address).unwrap().source, local.address);
            assert!(Interface::by_name(&local.interface).is_some());
        }
    }

    #[test]
    fn loopback_describes_itself() {
        let lo = Interface::by_name("lo").unwrap();
        assert!(lo.is_loopback && lo.mtu >= 1280);
        assert_eq!((lo.speed_mbps, lo.duplex), (None, None));
        assert!(
            lo.offloads
                .contains(&("tx-udp-segmentation".to_owned(), true))
        );
    }

    #[test]
    fn an_interface_that_does_not_exist_is_none() {
        for name in ["", "no-such-name", "a-name-far-beyond-the-limit"] {
            assert_eq!(Interface::by_name(name), None, "{name}");
        }
        assert_eq!(qdisc_drops(u32::MAX), None);
    }

    #[test]
    fn the_drops_are_those_of_the_root_queue() {
        let answer = |index: u32, parent: u32, drops: u32| {
            let words = [0, index, 0, parent, 0].map(u32::to_ne_bytes).concat();
            let mut statistics = Vec::new();
            let queue = [7, 8, drops, 9, 10].map(u32::to_ne_bytes).concat();
            push_attribute(&mut statistics, 3, &queue);
            let mut answer = words;
            push_attribute(&mut answer, libc::TCA_STATS2, &statistics);
            answer
        };
        let table = [
            (2, u32::MAX, Some(5)),
            (3, u32::MAX, None),
            (2, 0x1_0000, None),
        ];
        for (index, parent, drops) in table {
            assert_eq!(root_drops(2, &answer(index, parent, 5)), drops);
        }
    }
}
