//! The driver of an interface: `SIOCETHTOOL`, ethtool(8).

use crate::netlink::text;
use crate::raw::{self, number};
use socket2::{Domain, Socket, Type};
use std::ffi::c_ulong;
use std::os::fd::AsRawFd;
use std::{io, mem};

/// A `struct ifreq` for the interface called `name`, with nothing else in it.
///
/// # Errors
/// `InvalidInput` for a name that is too long.
pub(crate) fn ifreq(name: &str) -> io::Result<libc::ifreq> {
    // SAFETY: every part of the structure is made of numbers and pointers, for which all zero bits are a value.
    let mut request: libc::ifreq = unsafe { mem::zeroed() };
    // The last byte stays zero, to end the name.
    if name.len() >= request.ifr_name.len() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    for (to, byte) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = byte as _;
    }
    Ok(request)
}

/// Commands to drivers. Source: include/uapi/linux/ethtool.h.
#[derive(Debug, Clone, Copy)]
#[repr(u32)]
pub(super) enum EthtoolCommand {
    GetSettings = 0x01,
    SetSettings = 0x02,
    GetDriverInfo = 0x03,
    GetStrings = 0x1b,
    GetStringSetInfo = 0x37,
    GetFeatures = 0x3a,
    SetFeatures = 0x3b,
    GetLinkSettings = 0x4c,
}

/// The set of strings that are the names of features: `ETH_SS_FEATURES`.
const FEATURES: u32 = 4;
/// The length of one string: `ETH_GSTRING_LEN`.
const STRING: usize = 32;
/// The length of a `struct ethtool_gstrings` before its strings.
const STRINGS_HEADER: usize = 12;
/// The room for a request and its reply. The longest are sets of strings, which [`string_set`] asks for only where they have room, and the
/// masks of link modes, 48 + 3 · 127 · 4 bytes at most: the number of their words is an `i8`.
const ROOM: usize = 8192;

/// Sends a command with its arguments to the driver of interface `name` and returns the reply, which begins with
/// the command.
///
/// # Errors
/// `InvalidInput` when the arguments have no room; any error of ioctl(2).
pub(super) fn ask_driver(
    name: &str,
    command: EthtoolCommand,
    arguments: &[u8],
) -> io::Result<Vec<u8>> {
    let mut buffer = vec![0; ROOM];
    let room = buffer
        .get_mut(4..4 + arguments.len())
        .ok_or(io::ErrorKind::InvalidInput)?;
    room.copy_from_slice(arguments);
    buffer[..4].copy_from_slice(&(command as u32).to_ne_bytes());
    let socket = Socket::new(Domain::IPV4, Type::DGRAM, None)?;
    let mut interface = ifreq(name)?;
    interface.ifr_ifru.ifru_data = buffer.as_mut_ptr().cast();
    let request = libc::SIOCETHTOOL as c_ulong;
    // SAFETY: `interface` is live and points at `ROOM` bytes, which is more than any of the commands reads or writes.
    number(unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut interface) })?;
    Ok(buffer)
}

/// Disables the offloads that coalesce or split packets or defer their checksums, as far as the driver allows.
///
/// # Errors
/// `Unsupported` when the driver does not report its features. Offloads that cannot be disabled stay enabled.
pub fn turn_offloads_off(name: &str) -> io::Result<()> {
    let (names, _) = feature_names(name).ok_or(io::ErrorKind::Unsupported)?;
    let wanted: Vec<(String, bool)> = names
        .into_iter()
        .filter(|name| {
            changes_packets(name) || name == "tx-gso-list" || name.starts_with("tx-sctp")
        })
        .map(|name| (name, false))
        .collect();
    request_offloads(name, &wanted)
}

/// `true` for the offloads that change the packets of a capture: these coalesce or split them, or defer their checksums.
fn changes_packets(feature: &str) -> bool {
    // Segmentation of TCP has further features, for segments with ECN among others.
    feature.starts_with("tx-tcp") || OFFLOADS.contains(&feature) && !KEPT.contains(&feature)
}

/// The state of an offload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadState {
    /// Its name, as `ethtool -k` prints it.
    pub name: String,
    /// `true` where it is asked for.
    pub is_requested: bool,
    /// `true` where it is enabled: it may depend on others.
    pub is_active: bool,
}

/// The offloads of interface `name` that change the packets of a capture and can be set.
///
/// # Errors
/// `Unsupported` when the driver does not report its features.
pub fn capture_offloads(name: &str) -> io::Result<Vec<OffloadState>> {
    let features = features(name).ok_or(io::ErrorKind::Unsupported)?;
    let offloads = features.into_iter().filter(|feature| {
        changes_packets(&feature.name) && feature.is_available && !feature.is_fixed
    });
    Ok(offloads
        .map(|feature| OffloadState {
            name: feature.name,
            is_requested: feature.is_requested,
            is_active: feature.is_active,
        })
        .collect())
}

/// Asks the driver of interface `name` to enable or disable offloads.
///
/// # Errors
/// `Unsupported` when the driver does not report its features; any error of ioctl(2), as without the capability `CAP_NET_ADMIN`. A driver
/// that refuses an offload is no error: [`capture_offloads`] reports what is enabled.
pub fn request_offloads(name: &str, wanted: &[(String, bool)]) -> io::Result<()> {
    let (names, blocks) = feature_names(name).ok_or(io::ErrorKind::Unsupported)?;
    // `struct ethtool_sfeatures`: count of blocks, then the features to change and their states, 32 features a block.
    let mut arguments = (blocks as u32).to_ne_bytes().to_vec();
    arguments.resize(4 + blocks * 8, 0);
    for (feature, is_enabled) in wanted {
        let Some(at) = names.iter().position(|name| name == feature) else {
            continue;
        };
        let (byte, bit) = (4 + at / 32 * 8 + at % 32 / 8, 1 << (at % 8));
        arguments[byte] |= bit;
        if *is_enabled {
            arguments[byte + 4] |= bit;
        }
    }
    ask_driver(name, EthtoolCommand::SetFeatures, &arguments).map(drop)
}

/// The name of the driver of interface `name`.
pub(super) fn driver(name: &str) -> Option<String> {
    // `struct ethtool_drvinfo`: command, then the driver's name in 32 bytes.
    let reply = ask_driver(name, EthtoolCommand::GetDriverInfo, &[]).ok()?;
    Some(text(&reply[4..36])).filter(|driver| !driver.is_empty())
}

/// The offloads that change the packets a measurement sees.
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

/// Those that leave the packets on the wire unchanged.
const KEPT: [&str; 2] = ["rx-checksum", "tx-scatter-gather"];

/// The names of a driver's features in their order, and the number of blocks of 32 they take.
fn feature_names(name: &str) -> Option<(Vec<String>, usize)> {
    let names = string_set(name, FEATURES)?;
    let blocks = names.len().div_ceil(32);
    Some((names, blocks))
}

/// A set of strings that the driver of interface `name` has, `ETH_SS_…`; `None` when it has no such set, or one that is too long.
pub(super) fn string_set(name: &str, set: u32) -> Option<Vec<String>> {
    let words = |words: &[u32]| -> Vec<u8> { words.iter().flat_map(|w| w.to_ne_bytes()).collect() };

    // `struct ethtool_sset_info`: reserved, 64 bits that select sets, then one count for each of them.
    let mut selection = words(&[0]);
    selection.extend_from_slice(&(1_u64 << set).to_ne_bytes());
    let info = ask_driver(name, EthtoolCommand::GetStringSetInfo, &selection).ok()?;
    // The kernel clears the bits of sets that it does not have.
    let count = (raw::u64_at(&info, 8)? != 0).then(|| raw::u32_at(&info, 16))??;
    let end = STRINGS_HEADER + count as usize * STRING;
    if end > ROOM {
        return None;
    }

    // `struct ethtool_gstrings`: set, count, then the strings.
    let set = words(&[set, count]);
    let reply = ask_driver(name, EthtoolCommand::GetStrings, &set).ok()?;
    let strings = reply.get(STRINGS_HEADER..end)?;
    Some(strings.chunks_exact(STRING).map(text).collect())
}

/// A feature of a driver.
struct Feature {
    name: String,
    is_available: bool,
    is_requested: bool,
    is_active: bool,
    is_fixed: bool,
}

/// The features of the driver of interface `name`.
fn features(name: &str) -> Option<Vec<Feature>> {
    let (names, blocks) = feature_names(name)?;
    // `struct ethtool_gfeatures`: count of blocks, then blocks of four words, 32 features each: available, requested, active, and
    // never changed.
    let count = (blocks as u32).to_ne_bytes();
    let states = ask_driver(name, EthtoolCommand::GetFeatures, &count).ok()?;
    let bit = |feature: usize, word: usize| {
        let word = raw::u32_at(&states, 8 + feature / 32 * 16 + word * 4)?;
        Some(word >> (feature % 32) & 1 != 0)
    };
    let features = names.into_iter().enumerate().map(|(at, name)| {
        Some(Feature {
            name,
            is_available: bit(at, 0)?,
            is_requested: bit(at, 1)?,
            is_active: bit(at, 2)?,
            is_fixed: bit(at, 3)?,
        })
    });
    features.collect()
}

/// The offloads of interface `name` and whether they are enabled, sorted by name.
pub(super) fn offloads(name: &str) -> Option<Vec<(String, bool)>> {
    let features = features(name)?.into_iter();
    let known = features.filter(|feature| OFFLOADS.contains(&feature.name.as_str()));
    let mut found: Vec<_> = known
        .map(|feature| (feature.name, feature.is_active))
        .collect();
    found.sort();
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_strings_has_the_kernels_names_and_an_unknown_one_none() {
        // `ETH_SS_LINK_MODES`, which no driver has to offer.
        let modes = string_set("lo", 9).unwrap();
        assert_eq!(
            modes[..3],
            ["10baseT/Half", "10baseT/Full", "100baseT/Half"]
        );
        assert_eq!(string_set("lo", 63), None);
        assert_eq!(string_set("no-such-name", 9), None);
    }
}
