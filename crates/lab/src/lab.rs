//! A topology that is up.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use caudal_core::units::BitRate;
use caudal_link::assembly::{Assembly, LinkEnd};
use caudal_link::cell::Setting;
use caudal_link::dice::Probability;
use caudal_sys::interface;
use caudal_sys::namespace::{Entry, NamespaceId, NetworkNamespace};
use caudal_sys::netlink::{DeviceSettings, Hop, Netlink};
use caudal_sys::packet::PacketRing;
use caudal_sys::schedule::{self, Preference};
use caudal_sys::tap::Tap;
use caudal_topology::{Course, Driver, Duplex, Link, Role, Topology};
use serde_json::json;

use crate::control::Change;
use crate::device::Device;
use crate::emulator::{Emulator, Told};
use crate::error::LabError;
use crate::host::{Allowed, HostSpace, no_namespace};
use crate::kernel_link;
use crate::processes;
use crate::report::{CourseState, EmulatorState, HostState, InterfaceState, LabReport, LinkState};

/// Frames that may wait between a host's kernel and the emulator: what comes while this machine stands still.
const READ_AHEAD: u32 = 10_000;

/// A topology that is up, until this value is dropped: hosts, links, the emulator, and every process on its hosts.
#[derive(Debug)]
pub struct Lab {
    name: String,
    topology: Topology,
    hosts: Vec<Option<HostSpace>>,
    emulator: Option<Emulator>,
    /// Present when packet sockets stand in for TAP devices: where their ends of the pairs are.
    far: Option<NetworkNamespace>,
    /// What `set` last said, by direction.
    changed: BTreeMap<LinkEnd, Changed>,
    hosts_file: PathBuf,
    since: Instant,
    warnings: Vec<String>,
    notes: Vec<String>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Changed {
    rate: Option<BitRate>,
    delay: Option<Duration>,
}

impl Lab {
    /// Builds `topology`, with the file it needs in `directory`, which exists and is the lab's own.
    ///
    /// `id` marks its namespaces, so that processes in them are found when whoever built them was killed.
    ///
    /// # Errors
    /// What is missing, and what to do about it. Nothing is left behind.
    pub fn build(
        topology: &Topology,
        name: &str,
        id: &str,
        directory: &Path,
    ) -> Result<Self, LabError> {
        let needed = 64 + 4 * topology.nodes.len() as u64 + 2 * topology.links.len() as u64;
        let may = schedule::raise_open_files().unwrap_or(1024);
        if may < needed {
            return Err(LabError::NotPermitted {
                what: format!("this topology needs {needed} open files, and {may} are allowed"),
                remedy: "raise the limit with ulimit -n".to_owned(),
            });
        }
        let hosts_file = directory.join("hosts");
        std::fs::write(&hosts_file, topology.hosts_file()).map_err(|cause| LabError::File {
            doing: "write",
            path: hosts_file.clone(),
            cause,
        })?;
        let mut lab = Self {
            name: name.to_owned(),
            topology: topology.clone(),
            hosts: Vec::with_capacity(topology.nodes.len()),
            emulator: None,
            far: None,
            changed: BTreeMap::new(),
            hosts_file,
            since: Instant::now(),
            warnings: Vec::new(),
            notes: Vec::new(),
        };
        let wanted = topology.nodes.iter().filter_map(|node| match &node.role {
            Role::Host(setup) | Role::Router(setup) => setup.congestion.as_deref(),
            Role::Switch(_) | Role::Hub(_) => None,
        });
        let allowed = Allowed::widen(wanted);
        for node in &topology.nodes {
            let space = node
                .has_addresses()
                .then(|| HostSpace::create(node, id))
                .transpose()?;
            lab.hosts.push(space);
        }
        drop(allowed);
        lab.tell_congestion();
        let mut devices = Vec::new();
        for link in 0..topology.links.len() {
            match topology.driver(link) {
                Driver::Kernel => lab.join(link)?,
                Driver::Auto | Driver::Emulated => lab.open(link, &mut devices)?,
            }
        }
        lab.address()?;
        lab.route()?;
        if !devices.is_empty() {
            let ours = |link| topology.driver(link) != Driver::Kernel;
            let assembly = Assembly::of(topology, ours)?;
            let started = Emulator::start(assembly, devices);
            lab.emulator = Some(started.map_err(LabError::kernel("start the emulator"))?);
        }
        Ok(lab)
    }

    /// Notes which hosts have another congestion control than they were to have.
    fn tell_congestion(&mut self) {
        let not_given: BTreeSet<String> = self
            .hosts
            .iter()
            .filter_map(|host| host.as_ref()?.not_given.clone())
            .collect();
        for congestion in not_given {
            self.warnings.push(format!(
                "{congestion} is not the default on the hosts that ask for it, because this user may not add it to \
                 net.ipv4.tcp_allowed_congestion_control: let programs ask for it themselves (-C {congestion})"
            ));
        }
    }

    /// What it is built from.
    #[must_use]
    pub const fn topology(&self) -> &Topology {
        &self.topology
    }

    /// Its hosts and routers, and the namespace of each.
    pub fn namespaces(&self) -> impl Iterator<Item = (&str, &NetworkNamespace)> {
        let nodes = self.topology.nodes.iter().zip(&self.hosts);
        nodes.filter_map(|(node, host)| Some((node.name.as_str(), &host.as_ref()?.namespace)))
    }

    /// What tells its namespaces from all others.
    pub(crate) fn ids(&self) -> BTreeSet<NamespaceId> {
        self.namespaces()
            .filter_map(|(_, namespace)| namespace.id().ok())
            .collect()
    }

    /// The file that hosts know each other by.
    #[must_use]
    pub fn hosts_file(&self) -> &Path {
        &self.hosts_file
    }

    /// Lets `program` start on `host` and no longer than the thread that starts it.
    ///
    /// # Errors
    /// When there is no such host.
    pub fn command(&self, host: &str, program: &str) -> Result<Command, LabError> {
        let mut command = Command::new(program);
        let entry = self.entry(host)?.dying_with_parent();
        entry.apply(&mut command);
        Ok(command)
    }

    /// The way onto `host`.
    fn entry(&self, host: &str) -> Result<Entry, LabError> {
        let found = self.namespaces().find(|(name, _)| *name == host);
        let Some((name, namespace)) = found else {
            let all: Vec<&str> = self.namespaces().map(|(name, _)| name).collect();
            return Err(LabError::unknown(
                format!("there is no host {host:?}"),
                format!("take one of {}", all.join(", ")),
            ));
        };
        let hosts_file = self.hosts_file.to_string_lossy();
        Entry::new(namespace.clone(), name, &hosts_file)
            .map_err(LabError::kernel(format!("enter {host}")))
    }

    fn host(&mut self, node: usize) -> Result<&mut HostSpace, LabError> {
        self.hosts[node].as_mut().ok_or_else(|| {
            LabError::unknown("a switch has no interfaces", "ask for a host or router")
        })
    }

    /// A link in the kernel's hands.
    fn join(&mut self, link: usize) -> Result<(), LabError> {
        let it = self.topology.links[link].clone();
        let [one, other] = it.ends.each_ref().map(|end| end.node);
        let [near, far] = it.ends.each_ref().map(|end| end.device.as_str());
        let namespace = self.host(other)?.namespace.clone();
        let addresses = [0, 1].map(|end| station(link, end));
        let failed = || format!("join {near} and {far} for link {}", it.name);
        let netlink = &self.host(one)?.netlink;
        netlink
            .add_pair(near, far, &namespace, it.mtu, addresses)
            .map_err(LabError::kernel(failed()))?;
        for (end, node) in [one, other].into_iter().enumerate() {
            let device = &it.ends[end].device;
            let bucket = kernel_link::bucket(&it, &it.courses[end]);
            let host = self.host(node)?;
            let done = host
                .take_up(
                    (link, end),
                    device,
                    DeviceSettings {
                        mtu: Some(it.mtu),
                        ..DeviceSettings::default()
                    },
                )
                .and_then(|index| {
                    let Some(bucket) = bucket else { return Ok(()) };
                    // A packet that is many would count as one frame.
                    host.namespace
                        .run(|| interface::turn_offloads_off(device))?;
                    host.netlink.set_token_bucket(index, bucket)
                });
            done.map_err(|cause| match cause.kind() {
                io::ErrorKind::NotFound if bucket.is_some() => LabError::NotPermitted {
                    what: "this kernel has no token bucket (sch_tbf)".to_owned(),
                    remedy: format!("give link {} driver = \"emulated\"", it.name),
                },
                _ => LabError::kernel(failed())(cause),
            })?;
        }
        Ok(())
    }

    /// The interfaces of an emulated link.
    fn open(&mut self, link: usize, devices: &mut Vec<(LinkEnd, Device)>) -> Result<(), LabError> {
        let it = self.topology.links[link].clone();
        for (end, at) in it.ends.iter().enumerate() {
            if self.hosts[at.node].is_none() {
                continue;
            }
            let failed = format!("make {} for link {}", at.device, it.name);
            let device = match self.far {
                None => match self.tap((link, end), &it) {
                    Err(cause) if tap_is_missing(&cause) && devices.is_empty() => {
                        self.stand_in(&cause)?;
                        self.ring((link, end), &it)
                    }
                    made => made,
                },
                Some(_) => self.ring((link, end), &it),
            };
            let device = device.map_err(LabError::kernel(failed))?;
            devices.push(((link, end), device));
        }
        Ok(())
    }

    /// Packet sockets from now on.
    fn stand_in(&mut self, cause: &io::Error) -> Result<(), LabError> {
        let far = NetworkNamespace::create().map_err(no_namespace)?;
        // What it says by itself would be taken for a host's.
        let quiet = far.run(|| {
            std::fs::write("/proc/sys/net/ipv6/conf/default/disable_ipv6", "1")?;
            std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")
        });
        if let Err(cause) = quiet
            && cause.kind() != io::ErrorKind::NotFound
        {
            return Err(LabError::kernel("keep the emulator's side quiet")(cause));
        }
        self.notes.push(format!(
            "/dev/net/tun cannot be opened ({cause}): packet sockets on veth pairs stand in, and ethtool shows no speed"
        ));
        self.far = Some(far);
        Ok(())
    }

    fn settings(it: &Link, at: LinkEnd) -> DeviceSettings {
        DeviceSettings {
            up: true,
            mtu: Some(it.mtu),
            address: Some(station(at.0, at.1)),
            queue_frames: Some(READ_AHEAD),
            alias: None,
        }
    }

    fn tap(&mut self, at: LinkEnd, it: &Link) -> io::Result<Device> {
        let end = &it.ends[at.1];
        let speed = it.courses[at.1].rate().map(|rate| rate.bps() / 1_000_000);
        let half = matches!(it.duplex, Duplex::Half { ends, .. } if ends[at.1]);
        let host = self.hosts[end.node]
            .as_mut()
            .ok_or(io::ErrorKind::NotFound)?;
        let tap = host.namespace.run(|| {
            let tap = Tap::create(&end.device)?;
            interface::turn_offloads_off(&end.device)?;
            if let Some(speed) = speed.and_then(|speed| u32::try_from(speed).ok())
                && speed > 0
            {
                // Shown by ethtool only; a driver that refuses changes nothing else.
                let _ = interface::set_speed(&end.device, speed, half);
            }
            Ok(tap)
        })?;
        host.take_up(at, &end.device, Self::settings(it, at))?;
        Ok(Device::Tap(tap))
    }

    fn ring(&mut self, at: LinkEnd, it: &Link) -> io::Result<Device> {
        let far = self.far.clone().ok_or(io::ErrorKind::NotFound)?;
        let end = &it.ends[at.1];
        let host = self.hosts[end.node]
            .as_mut()
            .ok_or(io::ErrorKind::NotFound)?;
        let name = format!("p{}-{}", at.0, at.1);
        let own = station(at.0, at.1);
        let theirs = station(at.0, at.1 + 2);
        host.netlink
            .add_pair(&end.device, &name, &far, it.mtu, [own, theirs])?;
        host.namespace
            .run(|| interface::turn_offloads_off(&end.device))?;
        let ring = far.run(|| {
            interface::turn_offloads_off(&name)?;
            let netlink = Netlink::open()?;
            let index = netlink.index_of(&name)?;
            let settings = DeviceSettings {
                up: true,
                queue_frames: Some(READ_AHEAD),
                ..DeviceSettings::default()
            };
            netlink.set_device(index, &settings)?;
            PacketRing::open(index, it.mtu as usize + 18)
        })?;
        host.take_up(at, &end.device, Self::settings(it, at))?;
        Ok(Device::Packet(ring))
    }

    /// Gives every interface its addresses.
    fn address(&mut self) -> Result<(), LabError> {
        let mut without_v6 = false;
        for segment in &self.topology.segments {
            for (position, end) in segment.members.iter().enumerate() {
                let node = self.topology.links[end.0].ends[end.1].node;
                let Some(host) = self.hosts[node].as_ref() else {
                    continue;
                };
                let Some(interface) = host.interface(*end) else {
                    continue;
                };
                let v4 = IpAddr::V4(segment.address4(position));
                host.netlink
                    .add_address(interface.index, v4, segment.v4.prefix)
                    .and_then(|()| {
                        let network = (IpAddr::V4(segment.v4.base), segment.v4.prefix);
                        host.route(network, &[(interface.index, None)])
                    })
                    .map_err(LabError::kernel(format!("give {} {v4}", interface.name)))?;
                if let (Some(v6), Some(network)) = (segment.address6(position), segment.v6) {
                    let given = host
                        .netlink
                        .add_address(interface.index, IpAddr::V6(v6), network.prefix)
                        .and_then(|()| {
                            let network = (IpAddr::V6(network.base), network.prefix);
                            host.route(network, &[(interface.index, None)])
                        });
                    without_v6 |= given.is_err();
                }
            }
        }
        if without_v6 {
            self.warnings
                .push("this kernel gives no IPv6 addresses: the lab speaks IPv4 only".to_owned());
        }
        Ok(())
    }

    /// Tells every host and router the ways to the others.
    fn route(&self) -> Result<(), LabError> {
        for (node, routes) in self.topology.routes().into_iter().enumerate() {
            let Some(host) = self.hosts[node].as_ref() else {
                continue;
            };
            for route in routes {
                let segment = &self.topology.segments[route.segment];
                let index = |end| host.interface(end).map(|interface| interface.index);
                let v4: Vec<Hop> = route
                    .hops
                    .iter()
                    .filter_map(|hop| Some((index(hop.from)?, Some(IpAddr::V4(hop.to.0)))))
                    .collect();
                host.route((IpAddr::V4(segment.v4.base), segment.v4.prefix), &v4)
                    .map_err(LabError::kernel(format!(
                        "tell {} the way to {}",
                        self.topology.nodes[node].name, segment.v4
                    )))?;
                let v6: Vec<Hop> = route
                    .hops
                    .iter()
                    .filter_map(|hop| Some((index(hop.from)?, Some(IpAddr::V6(hop.to.1?)))))
                    .collect();
                if let Some(network) = segment.v6
                    && !v6.is_empty()
                {
                    // Without IPv6 there were no addresses, and that has been said.
                    let _ = host.route((IpAddr::V6(network.base), network.prefix), &v6);
                }
            }
        }
        Ok(())
    }

    /// Counts lateness anew from here on.
    pub fn mark(&self) {
        if let Some(emulator) = &self.emulator {
            emulator.mark();
        }
    }

    /// Changes a link while frames flow.
    ///
    /// # Errors
    /// When there is no such link, it has no such thing, or the value is none it can have.
    pub fn set(&mut self, change: &Change) -> Result<(), LabError> {
        let Some(link) = self.topology.link(&change.link) else {
            let all: Vec<&str> = self
                .topology
                .links
                .iter()
                .map(|link| link.name.as_str())
                .collect();
            return Err(LabError::unknown(
                format!("there is no link {:?}", change.link),
                format!("take one of {}", all.join(", ")),
            ));
        };
        let ends = change.end.map_or(vec![0, 1], |end| vec![end.min(1)]);
        let mut settings = Vec::new();
        settings.extend(
            change
                .rate_bps
                .map(|bps| ("rate", Setting::Rate(BitRate::from_bps(bps)))),
        );
        let delay = change.delay_ns.map(Duration::from_nanos);
        settings.extend(delay.map(|delay| ("delay", Setting::Delay(delay))));
        if let Some(loss) = change.loss {
            settings.push(("loss", Setting::Loss(Probability::new(loss)?)));
        }
        for (what, setting) in settings {
            for end in &ends {
                if !self.set_one((link, *end), setting)? {
                    return Err(LabError::unknown(
                        format!(
                            "link {} has no {what} that can be set while it is up",
                            change.link
                        ),
                        "give it one in the topology, or driver = \"emulated\"; half duplex keeps its rate",
                    ));
                }
                let changed = self.changed.entry((link, *end)).or_default();
                match setting {
                    Setting::Rate(rate) => changed.rate = Some(rate),
                    Setting::Delay(delay) => changed.delay = Some(delay),
                    Setting::Loss(_) => {}
                }
            }
        }
        Ok(())
    }

    fn set_one(&self, at: LinkEnd, setting: Setting) -> Result<bool, LabError> {
        let it = &self.topology.links[at.0];
        if self.topology.driver(at.0) != Driver::Kernel {
            let Some(emulator) = &self.emulator else {
                return Ok(false);
            };
            let answer = emulator.set(at, setting).ok_or_else(|| {
                LabError::kernel("reach the emulator")(io::ErrorKind::BrokenPipe.into())
            })?;
            return Ok(answer?);
        }
        let Setting::Rate(rate) = setting else {
            return Ok(false);
        };
        let bucket = kernel_link::at_rate(it, &it.courses[at.1], rate);
        let host = self.hosts[it.ends[at.1].node].as_ref();
        let (Some(bucket), Some(host)) = (bucket, host) else {
            return Ok(false);
        };
        let Some(interface) = host.interface(at) else {
            return Ok(false);
        };
        if rate.bps() < 8 {
            return Err(LabError::unknown(
                format!("{rate} never delivers"),
                "give it a rate above zero",
            ));
        }
        host.netlink
            .set_token_bucket(interface.index, bucket)
            .map_err(LabError::kernel(format!("set link {}", it.name)))?;
        Ok(true)
    }

    /// Everything that was counted.
    ///
    /// # Errors
    /// When the emulator has ended.
    pub fn report(&self) -> Result<LabReport, LabError> {
        let mut told = match &self.emulator {
            Some(emulator) => Some(emulator.report().ok_or_else(|| {
                LabError::kernel("reach the emulator")(io::ErrorKind::BrokenPipe.into())
            })?),
            None => None,
        };
        let nodes = self.nodes();
        // What the kernel dropped between a host and the emulator, the emulator never saw.
        if let Some(told) = &mut told
            && self.far.is_none()
        {
            let unread = self.unread(&nodes);
            told.whole.unread += unread;
            told.whole.must_repeat |= unread > 0;
            told.marked.unread += unread;
            told.marked.must_repeat |= unread > 0;
        }
        let links = (0..self.topology.links.len()).map(|link| self.link_state(link, told.as_ref()));
        let mut warnings = self.warnings.clone();
        if told.as_ref().is_some_and(|told| told.whole.must_repeat) {
            warnings.push(
                "this machine stood still for more than 10 ms: repeat what was measured meanwhile"
                    .to_owned(),
            );
        }
        Ok(LabReport {
            schema: "caudal.lab/1".to_owned(),
            name: self.name.clone(),
            title: self.topology.title.clone(),
            seed: self.topology.seed,
            up_s: self.since.elapsed().as_secs_f64(),
            emulator: told.as_ref().map(|told| self.emulator_state(told)),
            links: links.collect(),
            nodes,
            warnings,
            notes: self.notes.clone(),
        })
    }

    /// Packets that emulated interfaces dropped because nobody read them.
    fn unread(&self, nodes: &[HostState]) -> u64 {
        let interfaces = nodes.iter().flat_map(|node| &node.interfaces);
        let emulated = interfaces.filter(|interface| {
            let link = self.topology.link(&interface.link);
            link.is_some_and(|link| self.topology.driver(link) != Driver::Kernel)
        });
        emulated.map(|interface| interface.tx_dropped).sum()
    }

    fn emulator_state(&self, told: &Told) -> EmulatorState {
        EmulatorState {
            device: if self.far.is_some() { "packet" } else { "tap" }.to_owned(),
            scheduling: match told.preference {
                Preference::RealTime => "real-time",
                Preference::Nice => "nice",
                Preference::None => "ordinary",
            }
            .to_owned(),
            frames_read: told.frames.0,
            frames_delivered: told.frames.1,
            frames_refused: told.refused,
            cpu_s: told.cpu.map(|cpu| cpu.as_secs_f64()),
            whole: told.whole.clone(),
            run: told.marked.clone(),
        }
    }

    fn link_state(&self, link: usize, told: Option<&Told>) -> LinkState {
        let it = &self.topology.links[link];
        let name = |end: usize| self.topology.nodes[it.ends[end].node].name.clone();
        let counted = told.and_then(|told| told.links.get(&link));
        let course = |end: usize| {
            let (unit, counted) = match counted {
                Some(courses) => ("frames", json!(courses[end])),
                None => ("packets", self.kernel_counters(it, link, end)),
            };
            self.course_state(&it.courses[end], (link, end), unit, counted)
        };
        LinkState {
            name: it.name.clone(),
            between: [name(0), name(1)],
            devices: it.ends.each_ref().map(|end| end.device.clone()),
            driver: self.topology.driver(link).to_string(),
            duplex: duplex_name(it.duplex).to_owned(),
            mtu: it.mtu,
            forward: course(0),
            backward: course(1),
        }
    }

    fn course_state(
        &self,
        course: &Course,
        at: LinkEnd,
        unit: &str,
        counted: serde_json::Value,
    ) -> CourseState {
        let changed = self.changed.get(&at).copied().unwrap_or_default();
        let rate = changed.rate.or_else(|| course.rate());
        let delay = changed.delay.unwrap_or(course.delay);
        CourseState {
            rate_bps: rate.map(BitRate::bps),
            delay_us: delay.as_nanos() as f64 / 1e3,
            unit: unit.to_owned(),
            counted,
        }
    }

    /// What the kernel counted of one direction of a link that is in its hands.
    fn kernel_counters(&self, it: &Link, link: usize, end: usize) -> serde_json::Value {
        let at = |end: usize| {
            let host = self.hosts[it.ends[end].node].as_ref()?;
            let index = host.interface((link, end))?.index;
            Some((host, index))
        };
        let sent = at(end).and_then(|(host, index)| host.netlink.counters(index).ok());
        let received = at(1 - end).and_then(|(host, index)| host.netlink.counters(index).ok());
        let queue = at(end).and_then(|(host, index)| host.netlink.queue_counters(index).ok()?);
        let (sent, received) = (sent.unwrap_or_default(), received.unwrap_or_default());
        let queue = queue.unwrap_or_default();
        let (waiting, drops) = (u64::from(queue.waiting_packets), u64::from(queue.drops));
        let mut dropped = serde_json::Map::new();
        if drops > 0 {
            // The kernel tells how many, not how long they were.
            dropped.insert("queue_full".to_owned(), json!({"frames": drops}));
        }
        json!({
            "offered": {"frames": sent.tx_packets + waiting + drops, "bytes": sent.tx_bytes + u64::from(queue.waiting_bytes)},
            "delivered": {"frames": received.rx_packets, "bytes": received.rx_bytes},
            "held": {"frames": waiting, "bytes": queue.waiting_bytes},
            "dropped": dropped,
        })
    }

    fn nodes(&self) -> Vec<HostState> {
        let nodes = self.topology.nodes.iter().zip(&self.hosts);
        let state = nodes.map(|(node, host)| HostState {
            name: node.name.clone(),
            kind: node.kind().to_owned(),
            interfaces: host.as_ref().map_or(Vec::new(), |host| {
                let interfaces = host.interfaces.iter();
                interfaces
                    .map(|interface| self.interface_state(host, interface))
                    .collect()
            }),
        });
        state.collect()
    }

    fn interface_state(
        &self,
        host: &HostSpace,
        interface: &crate::host::Interface,
    ) -> InterfaceState {
        let counters = host.netlink.counters(interface.index).unwrap_or_default();
        let addresses = self.topology.addresses(interface.end.0, interface.end.1);
        let addresses = addresses.map_or(Vec::new(), |(_, v4, v6)| {
            let v4 = Some(v4.to_string());
            v4.into_iter().chain(v6.map(|v6| v6.to_string())).collect()
        });
        InterfaceState {
            name: interface.name.clone(),
            link: self.topology.links[interface.end.0].name.clone(),
            addresses,
            mtu: interface.mtu,
            tx_packets: counters.tx_packets,
            tx_bytes: counters.tx_bytes,
            tx_dropped: counters.tx_dropped,
            rx_packets: counters.rx_packets,
            rx_bytes: counters.rx_bytes,
            rx_dropped: counters.rx_dropped,
        }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        processes::kill(&self.ids());
        self.emulator = None;
        // A file that stays is in a directory that is removed with the lab.
        let _ = std::fs::remove_file(&self.hosts_file);
    }
}

/// The duplex of a link in a word.
pub(crate) fn duplex_name(duplex: Duplex) -> &'static str {
    match duplex {
        Duplex::Full => "full",
        Duplex::Half { ends, .. } => match ends {
            [true, false] => "half-full",
            [false, true] => "full-half",
            _ => "half",
        },
    }
}

/// The Ethernet address of an interface: locally administered, the same in every run.
fn station(link: usize, end: usize) -> [u8; 6] {
    let [high, low] = (link as u16).to_be_bytes();
    [0x02, 0xca, 0x0d, high, low, end as u8]
}

/// Whether there is no TAP device for us, and packet sockets may stand in.
fn tap_is_missing(cause: &io::Error) -> bool {
    const NO_SUCH_DEVICE: [i32; 2] = [6, 19];
    matches!(
        cause.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    ) || cause
        .raw_os_error()
        .is_some_and(|code| NO_SUCH_DEVICE.contains(&code))
}
