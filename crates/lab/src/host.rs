//! Hosts and routers: network namespaces, their kernel settings and interfaces.

use std::io;
use std::net::IpAddr;

use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::netlink::{DeviceSettings, Netlink, RouteHop};
use caudal_sys::tcp;
use caudal_topology::{HostSetup, LinkEnd, Node, NodeRole};

use crate::error::LabError;

/// The kernel parameters of every host and router: it sends nothing of its own accord, has its addresses at once, and lets any
/// user ping. Everything else is the kernel's default, or what the topology says.
const HOST_PARAMETERS: [(&str, &str); 6] = [
    ("net.ipv4.ping_group_range", "0 2147483647"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];
/// Further parameters of routers: forwarding, and load balancing by addresses and ports.
const ROUTER_PARAMETERS: [(&str, &str); 4] = [
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
];

/// A host or router that is up.
#[derive(Debug)]
pub(crate) struct HostNamespace {
    pub(crate) namespace: NetworkNamespace,
    pub(crate) netlink: Netlink,
    pub(crate) interfaces: Vec<HostInterface>,
    /// The congestion control that it should have as a default, but that this user may not set.
    pub(crate) refused_congestion: Option<String>,
}

/// An interface of a host or router.
#[derive(Debug, Clone)]
pub(crate) struct HostInterface {
    pub(crate) end: LinkEnd,
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
}

impl HostNamespace {
    /// A namespace of lab `id`, with the settings of `node`.
    pub(crate) fn create(node: &Node, id: &str) -> Result<Self, LabError> {
        let namespace = NetworkNamespace::create().map_err(namespace_error)?;
        let setup = match &node.role {
            NodeRole::Host(setup) | NodeRole::Router(setup) => setup.clone(),
            NodeRole::Switch(_) | NodeRole::Hub(_) => HostSetup::default(),
        };
        let is_router = matches!(node.role, NodeRole::Router(_));
        let name = &node.name;
        let created = namespace.run(|| {
            let netlink = Netlink::open()?;
            let lo = netlink.index_of("lo")?;
            let settings = DeviceSettings {
                up: true,
                alias: Some(loopback_alias(id)),
                ..DeviceSettings::default()
            };
            netlink.set_device(lo, &settings)?;
            let router = ROUTER_PARAMETERS.iter().filter(|_| is_router);
            for (parameter, value) in HOST_PARAMETERS.iter().chain(router) {
                // Older kernels lack some parameters; what does not work without them is reported elsewhere.
                let _ = write_parameter(parameter, value);
            }
            Ok((netlink, apply(name, &setup)))
        });
        let (netlink, applied) =
            created.map_err(LabError::kernel(format!("set up host {name}")))?;
        Ok(Self {
            refused_congestion: applied?,
            namespace,
            netlink,
            interfaces: Vec::new(),
        })
    }

    /// Brings an interface up and adds it to the host's; gives its index.
    pub(crate) fn bring_up(
        &mut self,
        end: LinkEnd,
        name: &str,
        settings: DeviceSettings,
    ) -> io::Result<u32> {
        let index = self.netlink.index_of(name)?;
        let mtu = settings.mtu.unwrap_or(1500);
        let up = DeviceSettings {
            up: true,
            ..settings
        };
        self.netlink.set_device(index, &up)?;
        self.interfaces.push(HostInterface {
            end,
            name: name.to_owned(),
            index,
            mtu,
        });
        Ok(index)
    }

    /// The interface at a link end.
    pub(crate) fn interface(&self, end: LinkEnd) -> Option<&HostInterface> {
        self.interfaces
            .iter()
            .find(|interface| interface.end == end)
    }

    /// Adds a route to a network.
    pub(crate) fn add_route(&self, network: (IpAddr, u8), hops: &[RouteHop]) -> io::Result<()> {
        self.netlink.add_route(network, hops)
    }
}

/// The alias of the loopback device of every host of lab `id`, which identifies the lab's namespaces.
pub(crate) fn loopback_alias(id: &str) -> String {
    format!("caudal lab {id}")
}

/// The error for a network namespace that cannot be created.
pub(crate) fn namespace_error(cause: io::Error) -> LabError {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => LabError::NotPermitted {
            what: "this user may not create a network namespace".to_owned(),
            remedy: "run as root".to_owned(),
        },
        io::ErrorKind::InvalidInput => LabError::NotPermitted {
            what: "this kernel has no network namespaces".to_owned(),
            remedy: "use one with CONFIG_NET_NS".to_owned(),
        },
        _ if cause.raw_os_error() == Some(28) => LabError::NotPermitted {
            what: "the limit of network namespaces on this system is reached".to_owned(),
            remedy: "raise user.max_net_namespaces".to_owned(),
        },
        _ => LabError::kernel("create a network namespace")(cause),
    }
}

fn write_parameter(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
}

/// Applies the settings of a host. Gives the congestion control if this user may not set it.
fn apply(host: &str, setup: &HostSetup) -> Result<Option<String>, LabError> {
    let mut refused = None;
    if let Some(congestion) = &setup.congestion {
        let available = tcp::available_congestion_controls();
        match write_parameter("net.ipv4.tcp_congestion_control", congestion) {
            Ok(()) => {}
            Err(cause)
                if cause.kind() == io::ErrorKind::PermissionDenied
                    && available.contains(congestion) =>
            {
                refused = Some(congestion.clone());
            }
            Err(_) => {
                return Err(LabError::invalid(
                    format!("{host} cannot have congestion control {congestion:?}"),
                    format!("this kernel offers {}", available.join(", ")),
                ));
            }
        }
    }
    for (name, value) in &setup.sysctl {
        write_parameter(name, value).map_err(|cause| {
            LabError::invalid(
                format!("{host} cannot have {name} = {value:?} ({cause})"),
                "use a parameter and a value that this kernel knows",
            )
        })?;
    }
    Ok(refused)
}
