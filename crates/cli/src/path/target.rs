//! The host at the end of a path.

use super::args::NetworkPathArgs;
use super::link_local::{is_own, route_by, scope_of, with_plain_zone};
use crate::args::HostArg;
use crate::exit::{Exit, Failure};
use caudal_engine::{AddressFamily, LocalBinding, Target};
use caudal_sys::interface::{Interface, Route, route_from};
use std::net::IpAddr;

/// The host and the way out of this machine.
#[derive(Debug)]
pub(super) struct ResolvedTarget {
    pub(super) address: IpAddr,
    /// The index of the interface of a link-local address; 0 for any other.
    pub(super) scope: u32,
    pub(super) route: Route,
    /// The MTU of the interface, bytes.
    pub(super) mtu: u32,
}

/// Finds the host's address and the route to it.
///
/// # Errors
/// When the host has no address, there is no route, or the host is this machine.
pub(super) fn resolve(args: &NetworkPathArgs) -> Result<ResolvedTarget, Failure> {
    if let Some(port) = args.host.port.filter(|_| !args.measures_both_ends()) {
        return Err(Failure::usage(
            format!("{} names port {port}, and probes need none", args.host),
            "give the host alone",
        ));
    }
    let family = match (args.ipv4, args.ipv6) {
        (true, _) => Some(AddressFamily::V4),
        (_, true) => Some(AddressFamily::V6),
        _ => None,
    };
    resolve_host(&args.host, family, args.bind)
}

/// Finds the address of a host, of this family and reached from this address where they are given, and the route to it.
///
/// # Errors
/// When the host has no address, there is no route, or the host is this machine.
pub(super) fn resolve_host(
    host: &HostArg,
    family: Option<AddressFamily>,
    bind: Option<IpAddr>,
) -> Result<ResolvedTarget, Failure> {
    let target = Target {
        host: with_plain_zone(&host.host),
        port: caudal_probe::prober::PROBE_PORT,
        family,
        binding: LocalBinding {
            address: bind,
            ..LocalBinding::default()
        },
        token: None,
    };
    let addresses = target.resolve()?;
    let Some(first) = addresses.first() else {
        return Err(Failure::new(
            Exit::Peer,
            format!("{host} has no address of the family asked for"),
            "leave -4, -6 or --bind out",
        ));
    };
    // The first to which there is a route: a host with an IPv6 address may be reached over IPv4 only.
    let mut routed = None;
    for address in &addresses {
        let scope = scope_of(address)?;
        let address = address.ip().to_canonical();
        let route = match scope {
            0 => route_from(bind, address),
            scope => route_by(scope, bind),
        };
        if let Some(route) = route {
            routed = Some((address, scope, route));
            break;
        }
    }
    let Some((address, scope, route)) = routed else {
        return Err(Failure::new(
            Exit::Peer,
            format!("there is no route to {}", first.ip()),
            "see `ip route get`",
        ));
    };
    let interface = Interface::by_name(&route.interface);
    if is_own(address) || interface.as_ref().is_some_and(|one| one.is_loopback) {
        return Err(Failure::usage(
            format!("{address} is this machine: there is no link to measure"),
            "name a host on the network",
        ));
    }
    let mtu = interface.map_or(1500, |one| one.mtu);
    Ok(ResolvedTarget {
        address,
        scope,
        route,
        mtu,
    })
}
