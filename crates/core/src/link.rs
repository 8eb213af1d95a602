//! Which link two hosts are on, as far as they or the user can say.

use crate::host::Host;
use crate::units::BitRate;

/// Drivers of interfaces without a wire.
const VIRTUAL_DRIVERS: [&str; 9] = [
    "veth", "tun", "bridge", "dummy", "ifb", "vxlan", "macvlan", "ipvlan", "netkit",
];

/// Why the rate of a link cannot be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoLink {
    /// Both hosts are one, over its loopback.
    Loopback,
    /// An interface without a wire.
    Virtual,
    /// Neither interface says.
    Silent,
}

impl NoLink {
    /// Why, and what to do about it.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Loopback => "a loopback has no wire",
            Self::Virtual => {
                "a virtual interface has no speed of its own; give the link's with --link-rate"
            }
            Self::Silent => "neither interface says its speed; give the link's with --link-rate",
        }
    }
}

/// The rate of the link between two hosts, with who says so; or why it cannot be told.
///
/// What the user gives counts before what the interfaces say, of which the slower does. A virtual interface has no speed of
/// its own: veth says 10 Gbit/s whatever it does.
pub fn link_rate(
    given: Option<BitRate>,
    client: &Host,
    server: &Host,
    loopback: bool,
) -> Result<(BitRate, &'static str), NoLink> {
    if let Some(rate) = given {
        return Ok((rate, "--link-rate"));
    }
    if loopback {
        return Err(NoLink::Loopback);
    }
    let is_virtual = |host: &Host| {
        host.driver
            .as_deref()
            .is_some_and(|driver| VIRTUAL_DRIVERS.contains(&driver))
    };
    if is_virtual(client) || is_virtual(server) {
        return Err(NoLink::Virtual);
    }
    let slowest = match (client.speed_mbps, server.speed_mbps) {
        (Some(here), Some(there)) => Some(here.min(there)),
        (here, there) => here.or(there),
    };
    match slowest {
        Some(mbps) => Ok((
            BitRate::from_bps(u64::from(mbps) * 1_000_000),
            "the interface's speed",
        )),
        None => Err(NoLink::Silent),
    }
}

/// The largest packet on the link between two hosts: the smaller of what their interfaces say, else 1500.
#[must_use]
pub fn link_mtu(client: &Host, server: &Host) -> u32 {
    [client.mtu, server.mtu]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(1500)
}

/// Whether TCP segments from a host carry timestamps: unless its kernel is set not to.
#[must_use]
pub fn timestamps(host: &Host) -> bool {
    host.sysctls
        .get("net.ipv4.tcp_timestamps")
        .is_none_or(|on| on != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slower_interface_counts_unless_the_user_knows_better() {
        let host = |speed_mbps, driver: Option<&str>| Host {
            speed_mbps,
            driver: driver.map(str::to_owned),
            ..Host::default()
        };
        let (fast, slow) = (host(Some(10_000), None), host(Some(100), None));
        let rate =
            |given, loopback| link_rate(given, &fast, &slow, loopback).map(|(rate, _)| rate.bps());
        assert_eq!(rate(None, false), Ok(100_000_000));
        assert_eq!(rate(Some(BitRate::from_bps(7)), true), Ok(7));
        assert_eq!(rate(None, true), Err(NoLink::Loopback));
        let veth = host(Some(10_000), Some("veth"));
        assert_eq!(link_rate(None, &veth, &slow, false), Err(NoLink::Virtual));
        let silent = host(None, None);
        assert_eq!(
            link_rate(None, &silent, &silent, false),
            Err(NoLink::Silent)
        );
    }
}
