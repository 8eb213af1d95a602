//! One host or router: a network namespace, how its kernel is set, its interfaces.

use std::collections::BTreeSet;
use std::io;
use std::net::IpAddr;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::Duration;

use caudal_link::assembly::LinkEnd;
use caudal_sys::namespace::NetworkNamespace;
use caudal_sys::netlink::{DeviceSettings, Hop, Netlink};
use caudal_sys::tcp;
use caudal_topology::{HostSetup, Node, Role};

use crate::error::LabError;

/// What every host and router is told, so that it answers every probe, keeps nothing from one connection to the next, and
/// sends nothing by itself.
const ALL: [(&str, &str); 11] = [
    ("net.ipv4.tcp_no_metrics_save", "1"),
    ("net.ipv4.icmp_ratelimit", "0"),
    ("net.ipv4.icmp_msgs_per_sec", "1000000"),
    ("net.ipv4.icmp_msgs_burst", "100000"),
    ("net.ipv6.icmp.ratelimit", "0"),
    ("net.ipv4.ping_group_range", "0 2147483647"),
    ("net.ipv4.conf.all.rp_filter", "0"),
    ("net.ipv4.conf.default.rp_filter", "0"),
    ("net.ipv6.conf.all.accept_dad", "0"),
    ("net.ipv6.conf.default.accept_dad", "0"),
    ("net.ipv6.conf.default.router_solicitations", "0"),
];
/// What a router is told as well: forward, and spread flows by addresses and ports.
const ROUTER: [(&str, &str); 4] = [
    ("net.ipv4.ip_forward", "1"),
    ("net.ipv6.conf.all.forwarding", "1"),
    ("net.ipv4.fib_multipath_hash_policy", "1"),
    ("net.ipv6.fib_multipath_hash_policy", "1"),
];

/// A host or router that is up.
#[derive(Debug)]
pub(crate) struct HostSpace {
    pub(crate) namespace: NetworkNamespace,
    pub(crate) netlink: Netlink,
    pub(crate) interfaces: Vec<Interface>,
    /// The congestion control it was to have and could not be given.
    pub(crate) not_given: Option<String>,
}

/// An interface of a host.
#[derive(Debug, Clone)]
pub(crate) struct Interface {
    pub(crate) end: LinkEnd,
    pub(crate) name: String,
    pub(crate) index: u32,
    pub(crate) mtu: u32,
}

impl HostSpace {
    /// A namespace that belongs to lab `id`, set as `node` says.
    pub(crate) fn create(node: &Node, id: &str) -> Result<Self, LabError> {
        let namespace = NetworkNamespace::create().map_err(no_namespace)?;
        let setup = match &node.role {
            Role::Host(setup) | Role::Router(setup) => setup.clone(),
            Role::Switch(_) | Role::Hub(_) => HostSetup::default(),
        };
        let is_router = matches!(node.role, Role::Router(_));
        let name = &node.name;
        let answer = namespace.run(|| {
            let netlink = Netlink::open()?;
            let lo = netlink.index_of("lo")?;
            let settings = DeviceSettings {
                up: true,
                alias: Some(mark_of(id)),
                ..DeviceSettings::default()
            };
            netlink.set_device(lo, &settings)?;
            let router = ROUTER.iter().filter(|_| is_router);
            for (parameter, value) in ALL.iter().chain(router) {
                // A kernel without a parameter is told in the lab's warnings by what then does not work, not here.
                let _ = write_parameter(parameter, value);
            }
            Ok((netlink, set_as_told(name, &setup)))
        });
        let (netlink, told) = answer.map_err(LabError::kernel(format!("set up host {name}")))?;
        Ok(Self {
            not_given: told?,
            namespace,
            netlink,
            interfaces: Vec::new(),
        })
    }

    /// Takes an interface up and remembers it.
    pub(crate) fn take_up(
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
        self.interfaces.push(Interface {
            end,
            name: name.to_owned(),
            index,
            mtu,
        });
        Ok(index)
    }

    /// The interface at an end of a link.
    pub(crate) fn interface(&self, end: LinkEnd) -> Option<&Interface> {
        self.interfaces
            .iter()
            .find(|interface| interface.end == end)
    }

    /// Adds the way to a network.
    pub(crate) fn route(&self, network: (IpAddr, u8), hops: &[Hop]) -> io::Result<()> {
        self.netlink.add_route(network, hops)
    }
}

/// What the loopback device of every host of lab `id` is also known as.
pub(crate) fn mark_of(id: &str) -> String {
    format!("caudal lab {id}")
}

/// Why there is no network namespace.
pub(crate) fn no_namespace(cause: io::Error) -> LabError {
    match cause.kind() {
        io::ErrorKind::PermissionDenied => LabError::NotPermitted {
            what: "this user may not make a network namespace".to_owned(),
            remedy: "run as root".to_owned(),
        },
        io::ErrorKind::InvalidInput => LabError::NotPermitted {
            what: "this kernel has no network namespaces".to_owned(),
            remedy: "use one with CONFIG_NET_NS".to_owned(),
        },
        _ if cause.raw_os_error() == Some(28) => LabError::NotPermitted {
            what: "there are as many network namespaces as this system allows".to_owned(),
            remedy: "raise user.max_net_namespaces".to_owned(),
        },
        _ => LabError::kernel("make a network namespace")(cause),
    }
}

fn write_parameter(name: &str, value: &str) -> io::Result<()> {
    std::fs::write(format!("/proc/sys/{}", name.replace('.', "/")), value)
}

/// Lets every namespace have any of these congestion controls by default, until this is dropped.
///
/// The kernel gives the first namespace any, and others only what all users may choose. Which those are is a list of the first
/// namespace; it is put back once the hosts are there, which keep what they have.
#[derive(Debug)]
pub(crate) struct Allowed {
    before: String,
    meanwhile: String,
    /// Kept from others: what one puts back would take from another what it needs.
    _alone: UnixListener,
}

impl Allowed {
    const LIST: &str = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";

    /// `None` when nothing needs to be changed, or may be. Waits while another lab does the same.
    pub(crate) fn widen<'a>(wanted: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let wanted: Vec<&str> = wanted.into_iter().collect();
        if wanted.is_empty() {
            return None;
        }
        let alone = alone()?;
        let before = std::fs::read_to_string(Self::LIST).ok()?.trim().to_owned();
        let known = tcp::available_congestion_controls();
        let mut list: Vec<&str> = before.split_whitespace().collect();
        for name in wanted {
            if !list.contains(&name) && known.iter().any(|known| known == name) {
                list.push(name);
            }
        }
        let meanwhile = list.join(" ");
        if meanwhile == before {
            return None;
        }
        std::fs::write(Self::LIST, &meanwhile).ok()?;
        Some(Self {
            before,
            meanwhile,
            _alone: alone,
        })
    }
}

/// A name that one process of this network namespace has at a time, and loses when it ends; `None` when another keeps it for
/// longer than building takes.
fn alone() -> Option<UnixListener> {
    let name = SocketAddr::from_abstract_name("caudal lab congestion control").ok()?;
    for _ in 0..1000 {
        match UnixListener::bind_addr(&name) {
            Ok(alone) => return Some(alone),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
                thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return None,
        }
    }
    None
}

impl Drop for Allowed {
    fn drop(&mut self) {
        // What somebody else has written meanwhile stays.
        let now = std::fs::read_to_string(Self::LIST).unwrap_or_default();
        let words = |text: &str| -> BTreeSet<String> {
            text.split_whitespace().map(str::to_owned).collect()
        };
        if words(&now) == words(&self.meanwhile) {
            let _ = std::fs::write(Self::LIST, &self.before);
        }
    }
}

/// Sets what the topology asks for; here nothing may be left out. Answers the congestion control when it is not permitted.
fn set_as_told(host: &str, setup: &HostSetup) -> Result<Option<String>, LabError> {
    let mut not_given = None;
    if let Some(congestion) = &setup.congestion {
        let known = tcp::available_congestion_controls();
        match write_parameter("net.ipv4.tcp_congestion_control", congestion) {
            Ok(()) => {}
            Err(cause)
                if cause.kind() == io::ErrorKind::PermissionDenied
                    && known.contains(congestion) =>
            {
                not_given = Some(congestion.clone());
            }
            Err(_) => {
                return Err(LabError::unknown(
                    format!("{host} cannot have congestion control {congestion:?}"),
                    format!("this kernel offers {}", known.join(", ")),
                ));
            }
        }
    }
    for (name, value) in &setup.sysctl {
        write_parameter(name, value).map_err(|cause| {
            LabError::unknown(
                format!("{host} cannot have {name} = {value:?} ({cause})"),
                "take a parameter and a value this kernel knows",
            )
        })?;
    }
    Ok(not_given)
}
