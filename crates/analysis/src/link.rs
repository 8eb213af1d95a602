//! The link between two hosts, as far as the user or their interfaces report it.

use crate::framing::{Framing, IpVersion};
use std::fmt;

use caudal_core::host::Host;
use caudal_core::plan::Direction;
use caudal_core::units::BitRate;

/// The drivers of interfaces without a physical link.
const VIRTUAL_DRIVERS: [&str; 9] = [
    "veth", "tun", "bridge", "dummy", "ifb", "vxlan", "macvlan", "ipvlan", "netkit",
];

/// The source of a link's rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LinkRateSource {
    /// The user.
    Given,
    /// The speed that the slower interface reports.
    Interface,
    /// The lab whose link connects the two hosts.
    Lab,
}

impl LinkRateSource {
    /// The source as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Given => "given",
            Self::Interface => "the interface's speed",
            Self::Lab => "the lab's link",
        }
    }
}

impl fmt::Display for LinkRateSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The reason why the rate of a link is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnknownLinkRate {
    /// Both hosts are one, over its loopback interface.
    Loopback,
    /// The interface is virtual.
    Virtual,
    /// Neither interface reports a speed.
    NotReported,
}

impl UnknownLinkRate {
    /// The reason, with the remedy.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Loopback => "a loopback has no wire",
            Self::Virtual => {
                "a virtual interface has no speed of its own; give the rate of the link"
            }
            Self::NotReported => "neither interface reports its speed; give the rate of the link",
        }
    }
}

/// The rate of the link between two hosts with its source, or the reason why it is unknown.
///
/// A `given` rate precedes all others. A link of a lab that connects the two hosts has the rate of the `direction`. Otherwise it is
/// the speed of the interfaces, of which the lower one counts. A virtual interface has no speed of its own: veth reports 10 Gbit/s
/// whatever its rate is.
///
/// # Errors
///
/// The reason why the rate is unknown.
pub fn link_rate(
    given: Option<BitRate>,
    client: &Host,
    server: &Host,
    loopback: bool,
    direction: Direction,
) -> Result<(BitRate, LinkRateSource), UnknownLinkRate> {
    if let Some(rate) = given {
        return Ok((rate, LinkRateSource::Given));
    }
    if loopback {
        return Err(UnknownLinkRate::Loopback);
    }
    if let (Some(here), Some(there)) = (&client.lab_link, &server.lab_link)
        && here.is_same_link(there)
        && let Some(rate) = here.rate(direction)
    {
        return Ok((rate, LinkRateSource::Lab));
    }
    let is_virtual = |host: &Host| {
        host.driver
            .as_ref()
            .is_some_and(|driver| VIRTUAL_DRIVERS.contains(&driver.as_received()))
    };
    if is_virtual(client) || is_virtual(server) {
        return Err(UnknownLinkRate::Virtual);
    }
    let slowest = match (client.speed_mbps, server.speed_mbps) {
        (Some(here), Some(there)) => Some(here.min(there)),
        (here, there) => here.or(there),
    };
    match slowest {
        Some(mbps) => Ok((
            BitRate::from_bps(u64::from(mbps) * 1_000_000),
            LinkRateSource::Interface,
        )),
        None => Err(UnknownLinkRate::NotReported),
    }
}

/// The goodput of TCP over IP of this version that fills the link between two hosts; `None` where its rate is not known.
#[must_use]
pub fn tcp_ceiling(
    (client, server): (&Host, &Host),
    loopback: bool,
    direction: Direction,
    ip: IpVersion,
) -> Option<BitRate> {
    let (rate, _) = link_rate(None, client, server, loopback, direction).ok()?;
    let framing = Framing {
        mtu: link_mtu(client, server),
        ip,
        vlan: false,
        timestamps: timestamps(client),
        sack_blocks: 0,
    };
    Some(framing.tcp_ceiling(rate))
}

/// The MTU of the link between two hosts: the smaller one of their interfaces, else 1500.
#[must_use]
pub fn link_mtu(client: &Host, server: &Host) -> u32 {
    [client.mtu, server.mtu]
        .into_iter()
        .flatten()
        .min()
        .unwrap_or(1500)
}

/// `true` when TCP segments from a host carry timestamps: unless its kernel has them disabled.
#[must_use]
pub fn timestamps(host: &Host) -> bool {
    host.sysctls
        .get("net.ipv4.tcp_timestamps")
        .is_none_or(|on| on != "0")
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::text::ExternalText;

    #[test]
    fn the_slower_interface_counts_unless_a_rate_is_given() {
        let host = |speed_mbps, driver: Option<&str>| Host {
            speed_mbps,
            driver: driver.map(ExternalText::from),
            ..Host::default()
        };
        let (fast, slow) = (host(Some(10_000), None), host(Some(100), None));
        let rate = |given, loopback| {
            link_rate(given, &fast, &slow, loopback, Direction::Up).map(|(rate, _)| rate.bps())
        };
        assert_eq!(rate(None, false), Ok(100_000_000));
        assert_eq!(rate(Some(BitRate::from_bps(7)), true), Ok(7));
        assert_eq!(rate(None, true), Err(UnknownLinkRate::Loopback));
        let veth = host(Some(10_000), Some("veth"));
        assert_eq!(
            link_rate(None, &veth, &slow, false, Direction::Up),
            Err(UnknownLinkRate::Virtual)
        );
        let no_speed = host(None, None);
        assert_eq!(
            link_rate(None, &no_speed, &no_speed, false, Direction::Up),
            Err(UnknownLinkRate::NotReported)
        );
    }
    #[test]
    fn the_link_of_a_lab_counts_where_it_connects_the_two_hosts() {
        use caudal_core::lab_link::LabLink;
        let host = |lab: &str, out_bps, in_bps| Host {
            driver: Some(ExternalText::from("tun")),
            lab_link: Some(Box::new(LabLink {
                lab: lab.into(),
                link: 1,
                out_bps,
                in_bps,
            })),
            ..Host::default()
        };
        let client = host("a", Some(5_000_000), Some(20_000_000));
        let server = host("a", Some(20_000_000), Some(5_000_000));
        let rate = |server, direction| {
            link_rate(None, &client, server, false, direction).map(|(rate, _)| rate.bps())
        };
        assert_eq!(rate(&server, Direction::Up), Ok(5_000_000));
        assert_eq!(rate(&server, Direction::Down), Ok(20_000_000));
        let elsewhere = host("b", Some(20_000_000), Some(5_000_000));
        assert_eq!(
            rate(&elsewhere, Direction::Up),
            Err(UnknownLinkRate::Virtual)
        );
    }
}
