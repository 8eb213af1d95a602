//! What a file leaves open, filled in; what it says that cannot be, refused.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::address::{Network4, Network6, Segment};
use super::file::{
    BalanceFile, BucketFile, CourseFile, DisciplineFile, DistributionFile, Driver, DuplexFile,
    HostFile, JitterFile, LateCollisionFile, LinkFile, MeasureFile, QueueFile, SwitchFile,
    TopologyFile, TraceFile,
};
use super::scalar::Rate;
use super::{
    BucketSetup, BurstLossSetup, Course, Discipline, Distribution, Duplex, End, HostSetup,
    JitterSetup, Link, Location, Node, QueueLimit, QueueSetup, RateSetup, ReorderSetup, Role,
    SwitchSetup, Topology, TopologyError,
};
use caudal_core::units::{BitRate, ByteCount, format_duration};

const NODES: usize = 256;
const LINKS: usize = 512;
const PATHS: usize = 64;
const SLOWEST: BitRate = BitRate::from_bps(1_000);
const FASTEST: BitRate = BitRate::from_bps(100_000_000_000);
const LONGEST: Duration = Duration::from_secs(3600);
const MTU: std::ops::RangeInclusive<u32> = 68..=65_521;
/// A frame of the common MTU, from destination address to check sequence.
const FULL_FRAME: u64 = 1518;

type Result<T> = std::result::Result<T, TopologyError>;

impl Topology {
    /// The network that `file` describes, with every default filled in.
    ///
    /// # Errors
    /// The first thing that cannot be built, and where the file says so.
    pub fn resolve(file: &TopologyFile) -> Result<Self> {
        if file
            .title
            .iter()
            .any(|title| title.contains(char::is_control))
        {
            return Err(TopologyError::new(
                &Location::default().key("title"),
                "the title has control characters",
                "write it as one line of text",
            ));
        }
        let nodes = nodes(file)?;
        let links = links(file, &nodes)?;
        let mut topology = Self {
            title: file.title.clone(),
            seed: file.seed.unwrap_or(1),
            nodes,
            links,
            segments: Vec::new(),
        };
        for (index, link) in topology.links.iter().enumerate() {
            if link.driver == Driver::Kernel
                && let Err(reason) = topology.kernel_can(index)
            {
                return Err(TopologyError::new(
                    &Location::of("link", index).key("driver"),
                    format!(
                        "link {:?} cannot have driver \"kernel\": {reason}",
                        link.name
                    ),
                    "leave the driver out",
                ));
            }
        }
        for (number, node) in topology.nodes.iter().enumerate() {
            if topology.nodes.len() > 1 && topology.attachments(number).next().is_none() {
                return Err(TopologyError::new(
                    &Location::default(),
                    format!("no link leads to {} {}", node.kind(), node.name),
                    "add a [[link]] between it and another",
                ));
            }
        }
        topology.no_loop()?;
        topology.segments = topology.segments(file)?;
        if let Some((one, other)) = topology.unreachable() {
            let name = |node: usize| &topology.nodes[node].name;
            return Err(TopologyError::new(
                &Location::default(),
                format!("nothing leads from {} to {}", name(one), name(other)),
                "add a link, or make what is between them a router",
            ));
        }
        Ok(topology)
    }

    /// Refuses switches and hubs in a ring, where a broadcast would circle for ever.
    fn no_loop(&self) -> Result<()> {
        let mut part: Vec<usize> = (0..self.nodes.len()).collect();
        for (index, link) in self.links.iter().enumerate() {
            let [one, other] = [0, 1].map(|end| link.ends[end].node);
            if [one, other]
                .iter()
                .any(|node| self.nodes[*node].has_addresses())
            {
                continue;
            }
            let (kept, replaced) = (part[one], part[other]);
            if kept == replaced {
                return Err(TopologyError::new(
                    &Location::of("link", index),
                    format!(
                        "link {:?} closes a loop of switches, and no switch here runs a spanning tree",
                        link.name
                    ),
                    "leave it out, or make one of them a router",
                ));
            }
            for part in &mut part {
                if *part == replaced {
                    *part = kept;
                }
            }
        }
        Ok(())
    }

    /// The broadcast domains, in the order of their first link.
    fn segments(&self, file: &TopologyFile) -> Result<Vec<Segment>> {
        let at = Location(Vec::new()).key("addresses");
        let addresses = file.addresses.clone().unwrap_or_default();
        let text4 = addresses.ipv4.as_deref().unwrap_or("10.0.0.0/16");
        let space4 = Network4::read(text4).ok_or_else(|| {
            TopologyError::new(
                &at.key("ipv4"),
                format!("{text4:?} is no IPv4 network"),
                "write one such as 10.0.0.0/16",
            )
        })?;
        let text6 = addresses.ipv6.as_deref().unwrap_or("fd00:ca:da::/48");
        let space6 = Network6::read(text6).ok_or_else(|| {
            TopologyError::new(
                &at.key("ipv6"),
                format!("{text6:?} is no IPv6 network"),
                "write one such as fd00:ca:da::/48",
            )
        })?;
        // Links are in one domain when a switch or hub joins them.
        let mut domain: Vec<usize> = (0..self.links.len()).collect();
        for node in (0..self.nodes.len()).filter(|node| !self.nodes[*node].has_addresses()) {
            let attached: Vec<usize> = self
                .attachments(node)
                .map(|(link, _)| domain[link])
                .collect();
            if let Some(&kept) = attached.iter().min() {
                for domain in &mut domain {
                    if attached.contains(domain) {
                        *domain = kept;
                    }
                }
            }
        }
        let mut members: BTreeMap<usize, Vec<(usize, usize)>> = BTreeMap::new();
        for (link, domain) in domain.iter().enumerate() {
            for end in 0..2 {
                if self.nodes[self.links[link].ends[end].node].has_addresses() {
                    members.entry(*domain).or_default().push((link, end));
                }
            }
        }
        let mut segments = Vec::with_capacity(members.len());
        for (number, members) in members.into_values().enumerate() {
            self.no_twins(&members)?;
            if members.len() > Segment::MOST {
                return Err(TopologyError::new(
                    &Location::of("link", members[0].0),
                    format!(
                        "{} interfaces in one segment are more than a /24 has addresses for",
                        members.len()
                    ),
                    "part it by a router",
                ));
            }
            let used_up = |key: &str, space: &dyn std::fmt::Display, each: &str| {
                TopologyError::new(
                    &at.key(key),
                    format!("{space} has no {each} left for segment {}", number + 1),
                    "give addresses a larger network",
                )
            };
            let v4 = space4
                .part(number)
                .ok_or_else(|| used_up("ipv4", &space4, "/24"))?;
            let fits = members
                .iter()
                .all(|(link, _)| self.links[*link].mtu >= 1280);
            let v6 = fits
                .then(|| {
                    space6
                        .part(number)
                        .ok_or_else(|| used_up("ipv6", &space6, "/64"))
                })
                .transpose()?;
            segments.push(Segment { v4, v6, members });
        }
        Ok(segments)
    }

    /// Refuses a host that is in one segment twice, and links of different MTU in one segment.
    fn no_twins(&self, members: &[(usize, usize)]) -> Result<()> {
        let mut seen = BTreeSet::new();
        let mtu = members.first().map(|(link, _)| self.links[*link].mtu);
        for (link, end) in members {
            let it = &self.links[*link];
            let node = it.ends[*end].node;
            if !seen.insert(node) {
                let name = &self.nodes[node].name;
                return Err(TopologyError::new(
                    &Location::of("link", *link).key("between"),
                    format!("{name} is in the same segment twice"),
                    "leave one of its links out, or put a router between",
                ));
            }
            if Some(it.mtu) != mtu {
                return Err(TopologyError::new(
                    &Location::of("link", *link).key("mtu"),
                    format!(
                        "link {:?} has another MTU than the segment it is in",
                        it.name
                    ),
                    "give all links of a switch or hub the same MTU",
                ));
            }
        }
        Ok(())
    }
}

fn nodes(file: &TopologyFile) -> Result<Vec<Node>> {
    let mut nodes = Vec::new();
    let mut places = Vec::new();
    for (index, host) in file.host.iter().enumerate() {
        let at = Location::of("host", index);
        nodes.push((host.name.clone(), Role::Host(host_setup(file, host, &at)?)));
        places.push(at);
    }
    for (index, host) in file.router.iter().enumerate() {
        let at = Location::of("router", index);
        nodes.push((
            host.name.clone(),
            Role::Router(host_setup(file, host, &at)?),
        ));
        places.push(at);
    }
    for (index, switch) in file.switch.iter().enumerate() {
        let at = Location::of("switch", index);
        nodes.push((
            switch.name.clone(),
            Role::Switch(switch_setup(switch, &at)?),
        ));
        places.push(at);
    }
    for (index, hub) in file.hub.iter().enumerate() {
        let at = Location::of("hub", index);
        let rate = hub
            .rate
            .map_or(BitRate::from_bps(10_000_000), |rate| rate.0);
        half_duplex_rate(rate, &at.key("rate"))?;
        nodes.push((hub.name.clone(), Role::Hub(rate)));
        places.push(at);
    }
    if file.host.is_empty() {
        return Err(TopologyError::new(
            &Location::default(),
            "there is no host",
            "add [[host]] with a name",
        ));
    }
    if nodes.len() > NODES {
        return Err(TopologyError::new(
            &places[NODES],
            format!("{} nodes are more than {NODES}", nodes.len()),
            "take fewer",
        ));
    }
    let mut seen = BTreeSet::new();
    for ((name, _), at) in nodes.iter().zip(&places) {
        let at = at.key("name");
        check_name(name, &at)?;
        if !seen.insert(name) {
            return Err(TopologyError::new(
                &at,
                format!("{name:?} is the name of two nodes"),
                "rename one",
            ));
        }
    }
    let nodes = nodes.into_iter().map(|(name, role)| Node { name, role });
    Ok(nodes.collect())
}

/// A name must do as a host name (RFC 1123 section 2.1), because others find the host by it.
fn check_name(name: &str, at: &Location) -> Result<()> {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let is_good = (1..=32).contains(&name.len())
        && name.chars().all(fits)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && name != "localhost";
    if is_good {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("{name:?} does not do as a name"),
        "take 1 to 32 letters, digits and inner dashes, and not localhost",
    ))
}

/// An interface's name as the kernel takes it.
fn check_device(name: &str, at: &Location) -> Result<()> {
    let fits = |c: char| c.is_ascii_graphic() && c != '/' && c != ':' && c != '%';
    let is_good = (1..=15).contains(&name.len())
        && name.chars().all(fits)
        && !matches!(name, "." | ".." | "lo" | "all" | "default");
    if is_good {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("{name:?} does not do as an interface name"),
        "take 1 to 15 characters without / : % and not lo, which is there already",
    ))
}

fn host_setup(file: &TopologyFile, host: &HostFile, at: &Location) -> Result<HostSetup> {
    let mut sysctl = file.sysctl.clone();
    sysctl.extend(host.sysctl.clone());
    for name in sysctl.keys() {
        let fits = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !name.starts_with("net.") || !name.chars().all(fits) || name.contains("..") {
            return Err(TopologyError::new(
                &at.key("sysctl"),
                format!("{name:?} is no parameter of a host's network"),
                "take one that begins with net.",
            ));
        }
    }
    let congestion = host.congestion.clone().or_else(|| file.congestion.clone());
    Ok(HostSetup { congestion, sysctl })
}

fn switch_setup(switch: &SwitchFile, at: &Location) -> Result<SwitchSetup> {
    let latency = switch.latency.map_or(Duration::ZERO, |time| time.0);
    check_time(latency, &at.key("latency"))?;
    let memory = switch
        .memory
        .map_or(Duration::from_secs(300), |time| time.0);
    let pause = match switch.pause {
        Some(pause) if pause.low.0 >= pause.high.0 => {
            return Err(TopologyError::new(
                &at.key("pause"),
                "the low mark is not below the high one",
                "make low smaller",
            ));
        }
        pause => pause.map(|pause| (pause.high.0.get(), pause.low.0.get())),
    };
    Ok(SwitchSetup {
        latency,
        memory: (memory > Duration::ZERO).then_some(memory),
        pause,
    })
}

fn links(file: &TopologyFile, nodes: &[Node]) -> Result<Vec<Link>> {
    if file.link.len() > LINKS {
        return Err(TopologyError::new(
            &Location::of("link", LINKS),
            format!("{} links are more than {LINKS}", file.link.len()),
            "take fewer",
        ));
    }
    let mut devices = Devices::new(nodes.len());
    let mut links: Vec<Link> = Vec::with_capacity(file.link.len());
    let mut named = BTreeSet::new();
    for (index, given) in file.link.iter().enumerate() {
        let at = Location::of("link", index);
        let mut link = link(given, nodes, &mut devices, &at)?;
        if let Some(name) = &given.name {
            check_name(name, &at.key("name"))?;
            if !named.insert(name.clone()) {
                return Err(TopologyError::new(
                    &at.key("name"),
                    format!("{name:?} is the name of two links"),
                    "rename one",
                ));
            }
        } else {
            let base = link.name.clone();
            for number in 2.. {
                if named.insert(link.name.clone()) {
                    break;
                }
                link.name = format!("{base}-{number}");
            }
        }
        links.push(link);
    }
    Ok(links)
}

/// The interface names already taken at each node.
struct Devices(Vec<BTreeSet<String>>);

impl Devices {
    fn new(nodes: usize) -> Self {
        Self(vec![BTreeSet::new(); nodes])
    }

    /// Takes the name that was given, or the next free one.
    fn take(
        &mut self,
        node: usize,
        nodes: &[Node],
        given: Option<&String>,
        at: &Location,
    ) -> Result<String> {
        let taken = &mut self.0[node];
        if !nodes[node].has_addresses() {
            let port = taken.len().to_string();
            taken.insert(port.clone());
            return Ok(port);
        }
        if let Some(name) = given {
            check_device(name, at)?;
            if !taken.insert(name.clone()) {
                return Err(TopologyError::new(
                    at,
                    format!("{} has two interfaces called {name:?}", nodes[node].name),
                    "rename one",
                ));
            }
            return Ok(name.clone());
        }
        let mut free = (0..).map(|number| format!("eth{number}"));
        let name = free
            .find(|name| !taken.contains(name))
            .expect("there are more numbers than links");
        taken.insert(name.clone());
        Ok(name)
    }
}

fn link(given: &LinkFile, nodes: &[Node], devices: &mut Devices, at: &Location) -> Result<Link> {
    let mut ends = Vec::with_capacity(2);
    for (side, name) in given.between.iter().enumerate() {
        let Some(node) = nodes.iter().position(|node| node.name == *name) else {
            let all: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
            return Err(TopologyError::new(
                &at.key("between"),
                format!("there is no node {name:?}"),
                format!("take one of {}", all.join(", ")),
            ));
        };
        let wanted = given.devices.as_ref().map(|devices| &devices[side]);
        let device = devices.take(node, nodes, wanted, &at.key("devices"))?;
        ends.push(End { node, device });
    }
    let [first, second] = [ends.swap_remove(0), ends.swap_remove(0)];
    if first.node == second.node {
        return Err(TopologyError::new(
            &at.key("between"),
            format!("{:?} is joined to itself", given.between[0]),
            "join two different nodes",
        ));
    }
    let mtu = given.mtu.unwrap_or(1500);
    if !MTU.contains(&mtu) {
        return Err(TopologyError::new(
            &at.key("mtu"),
            format!("an MTU of {mtu} bytes cannot be"),
            format!("take {} to {}", MTU.start(), MTU.end()),
        ));
    }
    let name = given
        .name
        .clone()
        .unwrap_or_else(|| format!("{}-{}", given.between[0], given.between[1]));
    let ends = [first, second];
    let duplex = duplex(given, &ends, nodes, at)?;
    let hub = ends.iter().find_map(|end| match nodes[end.node].role {
        Role::Hub(rate) => Some(rate),
        _ => None,
    });
    let courses = [given.forward.as_ref(), given.backward.as_ref()];
    let mut resolved = Vec::with_capacity(2);
    for (side, own) in courses.into_iter().enumerate() {
        let key = ["forward", "backward"][side];
        resolved.push(course(given, own, hub, mtu, at, &at.key(key))?);
    }
    let courses = [resolved.swap_remove(0), resolved.swap_remove(0)];
    if duplex != Duplex::Full {
        check_half_duplex(given, &courses, hub, at)?;
    }
    Ok(Link {
        name,
        ends,
        courses,
        duplex,
        mtu,
        driver: given.driver.unwrap_or_default(),
    })
}

fn duplex(given: &LinkFile, ends: &[End; 2], nodes: &[Node], at: &Location) -> Result<Duplex> {
    let hubs = ends
        .iter()
        .filter(|end| matches!(nodes[end.node].role, Role::Hub(_)))
        .count();
    if hubs == 2 {
        return Err(TopologyError::new(
            &at.key("between"),
            "two hubs are joined",
            "make them one hub, or put a switch between",
        ));
    }
    let wanted = given.duplex.unwrap_or(if hubs > 0 {
        DuplexFile::Half
    } else {
        DuplexFile::Full
    });
    let half = match wanted {
        DuplexFile::Full => [false; 2],
        DuplexFile::Half => [true; 2],
        DuplexFile::HalfFull => [true, false],
        DuplexFile::FullHalf => [false, true],
    };
    if hubs > 0 && half != [true; 2] {
        return Err(TopologyError::new(
            &at.key("duplex"),
            "a hub is half duplex",
            "leave duplex out, or make it a switch",
        ));
    }
    if half == [false; 2] {
        return Ok(Duplex::Full);
    }
    Ok(Duplex::Half {
        ends: half,
        retries_late: given.late_collision == Some(LateCollisionFile::Retry),
    })
}

/// What the MAC of half-duplex Ethernet asks of a link.
fn check_half_duplex(
    given: &LinkFile,
    courses: &[Course; 2],
    hub: Option<BitRate>,
    at: &Location,
) -> Result<()> {
    let [one, other] = courses;
    let named = &given.name;
    let Some(rate) = one.rate() else {
        return Err(TopologyError::new(
            at,
            format!(
                "half-duplex link {} has no constant rate",
                named.clone().unwrap_or_else(|| given.between.join("-"))
            ),
            "give it rate = \"10M\"",
        ));
    };
    half_duplex_rate(rate, &at.key("rate"))?;
    if hub.is_some_and(|hub| hub != rate) {
        return Err(TopologyError::new(
            &at.key("rate"),
            "a hub has one rate for all its links",
            "give the rate at the hub",
        ));
    }
    // A signal and the answer to it must fit into the slot of 512 bit times (IEEE 802.3 clause 4.2.3.2.3).
    let longest = Duration::from_nanos(256 * 1_000_000_000 / rate.bps().max(1));
    if one.delay > longest {
        return Err(TopologyError::new(
            &at.key("delay"),
            format!(
                "a half-duplex link at {rate} is at most {} long",
                format_duration(longest)
            ),
            "put a longer delay on another link",
        ));
    }
    let same = one.rate == other.rate && one.delay == other.delay;
    let unusual = courses.iter().any(|course| {
        course.jitter.is_some()
            || course.shaper.is_some()
            || course.policer.is_some()
            || course.reorder.is_some()
            || !course.paths.is_empty()
    });
    if !same || unusual {
        return Err(TopologyError::new(
            at,
            "a half-duplex link has one rate and one delay both ways, and no jitter, shaper, policer, reordering or paths",
            "put those on another link",
        ));
    }
    Ok(())
}

fn half_duplex_rate(rate: BitRate, at: &Location) -> Result<()> {
    if [10_000_000, 100_000_000].contains(&rate.bps()) {
        return Ok(());
    }
    Err(TopologyError::new(
        at,
        format!("{rate} is no half-duplex Ethernet"),
        "take 10M or 100M",
    ))
}

fn check_rate(rate: BitRate, at: &Location) -> Result<BitRate> {
    if (SLOWEST..=FASTEST).contains(&rate) {
        return Ok(rate);
    }
    Err(TopologyError::new(
        at,
        format!("a rate of {rate} cannot be emulated"),
        format!("take {SLOWEST} to {FASTEST}"),
    ))
}

fn check_time(time: Duration, at: &Location) -> Result<Duration> {
    if time <= LONGEST {
        return Ok(time);
    }
    Err(TopologyError::new(
        at,
        format!("{} is too long", format_duration(time)),
        "take at most 1h",
    ))
}

/// One direction: what was given for it alone goes before what was given for the link.
fn course(
    link: &LinkFile,
    own: Option<&CourseFile>,
    hub: Option<BitRate>,
    mtu: u32,
    of_link: &Location,
    of_own: &Location,
) -> Result<Course> {
    let none = CourseFile::default();
    let own = own.unwrap_or(&none);
    // The value that counts and the place it was written at.
    macro_rules! pick {
        ($key:ident) => {
            match &own.$key {
                Some(value) => (Some(value), of_own.key(stringify!($key))),
                None => (link.$key.as_ref(), of_link.key(stringify!($key))),
            }
        };
    }
    let (rate, rate_at) = pick!(rate);
    let (trace, trace_at) = pick!(trace);
    if rate.is_some() && trace.is_some() {
        return Err(TopologyError::new(
            &trace_at,
            "there is a rate and a trace of rates",
            "leave one of them out",
        ));
    }
    let rate = match (rate, trace) {
        (Some(Rate(rate)), _) => Some(constant(check_rate(*rate, &rate_at)?)),
        (None, Some(trace)) => Some(rate_trace(trace, &trace_at)?),
        (None, None) => hub.map(constant),
    };
    let (queue, queue_at) = pick!(queue);
    let queue = queue_setup(queue, rate.as_ref(), mtu, &queue_at)?;
    let (delay, delay_at) = pick!(delay);
    let (jitter, jitter_at) = pick!(jitter);
    let (burst_loss, _) = pick!(burst_loss);
    let (reorder, reorder_at) = pick!(reorder);
    let (policer, policer_at) = pick!(policer);
    let (shaper, shaper_at) = pick!(shaper);
    let share = |(value, _): (Option<&super::Share>, Location)| value.map_or(0.0, |share| share.0);
    let mut resolved = Course {
        rate,
        queue,
        delay: delay.map_or(Ok(Duration::ZERO), |time| check_time(time.0, &delay_at))?,
        jitter: jitter
            .map(|jitter| jitter_setup(jitter, &jitter_at))
            .transpose()?,
        loss: share(pick!(loss)),
        burst_loss: burst_loss.map(|burst| BurstLossSetup {
            worsens: burst.worsens.0,
            recovers: burst.recovers.0,
            loss_in_good: burst.loss_in_good.map_or(0.0, |share| share.0),
            loss_in_bad: burst.loss_in_bad.map_or(1.0, |share| share.0),
        }),
        lose: own.lose.clone().unwrap_or_else(|| link.lose.clone()),
        corrupt: share(pick!(corrupt)),
        corrupt_silently: share(pick!(corrupt_silently)),
        duplicate: share(pick!(duplicate)),
        reorder: reorder
            .map(|reorder| {
                let patience = reorder
                    .patience
                    .map_or(Duration::from_millis(10), |time| time.0);
                Ok(ReorderSetup {
                    share: reorder.share.0,
                    places: reorder.places.unwrap_or(3),
                    patience: check_time(patience, &reorder_at.key("patience"))?,
                })
            })
            .transpose()?,
        policer: policer
            .map(|bucket| bucket_setup(bucket, mtu, &policer_at))
            .transpose()?,
        shaper: shaper
            .map(|bucket| bucket_setup(bucket, mtu, &shaper_at))
            .transpose()?,
        paths: Vec::new(),
        per_frame: link.balance == Some(BalanceFile::PerFrame),
    };
    if link.balance.is_some() && link.path.is_empty() {
        return Err(TopologyError::new(
            &of_link.key("balance"),
            "there is nothing to balance over",
            "add [[link.path]]",
        ));
    }
    if link.path.len() > PATHS {
        return Err(TopologyError::new(
            &of_link.key("path"),
            format!("{} paths are more than {PATHS}", link.path.len()),
            "take fewer",
        ));
    }
    if !link.path.is_empty()
        && (resolved.rate.is_some()
            || !resolved.delay.is_zero()
            || resolved.jitter.is_some()
            || resolved.loss > 0.0)
    {
        return Err(TopologyError::new(
            &of_link.key("path"),
            "rate, delay, jitter and loss stand beside paths",
            "write them in each path",
        ));
    }
    for path in &link.path {
        let as_link = LinkFile {
            rate: path.rate,
            queue: path.queue.clone(),
            delay: path.delay,
            jitter: path.jitter.clone(),
            loss: path.loss,
            ..LinkFile::default()
        };
        let at = of_link.key("path");
        resolved
            .paths
            .push(course(&as_link, None, None, mtu, &at, &at)?);
    }
    if link.path.is_empty() {
        resolved.per_frame = false;
    }
    Ok(resolved)
}

fn constant(rate: BitRate) -> RateSetup {
    RateSetup {
        steps: vec![(Duration::ZERO, rate)],
        repeat: None,
    }
}

fn rate_trace(trace: &TraceFile, at: &Location) -> Result<RateSetup> {
    let steps: Vec<(Duration, BitRate)> = trace
        .steps
        .iter()
        .map(|step| (step.at.0, step.rate.0))
        .collect();
    let repeat = trace.repeat.map(|time| time.0);
    let grows = steps.first().is_some_and(|(at, _)| at.is_zero())
        && steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let ends = repeat.is_none_or(|period| steps.last().is_some_and(|(at, _)| *at < period));
    if !grows || !ends {
        return Err(TopologyError::new(
            &at.key("steps"),
            "the steps of a trace do not begin at 0 and grow, below the time it repeats after",
            "put them in order",
        ));
    }
    let held = repeat.is_some() || steps.last().is_some_and(|(_, rate)| rate.bps() > 0);
    for (_, rate) in steps.iter().filter(|(_, rate)| rate.bps() > 0) {
        check_rate(*rate, &at.key("steps"))?;
    }
    if !held || steps.iter().all(|(_, rate)| rate.bps() == 0) {
        return Err(TopologyError::new(
            &at.key("steps"),
            "the trace ends with a line that never delivers",
            "end it with a rate above zero, or let it repeat",
        ));
    }
    Ok(RateSetup { steps, repeat })
}

fn queue_setup(
    queue: Option<&QueueFile>,
    rate: Option<&RateSetup>,
    mtu: u32,
    at: &Location,
) -> Result<QueueSetup> {
    let Some(rate) = rate else {
        if queue.is_some() {
            return Err(TopologyError::new(
                at,
                "a queue without a rate never fills",
                "add a rate",
            ));
        }
        return Ok(QueueSetup::default());
    };
    let frame = u64::from(mtu) + FULL_FRAME - 1500;
    let time = rate.highest().during(Duration::from_millis(50));
    let default = QueueLimit::Bytes(ByteCount::new((100 * frame).max(time.get())));
    let Some(queue) = queue else {
        return Ok(QueueSetup {
            limit: default,
            discipline: Discipline::DropTail,
        });
    };
    let limit = match (queue.frames, queue.bytes) {
        (Some(_), Some(_)) => {
            return Err(TopologyError::new(
                at,
                "a queue has a limit in frames and one in bytes",
                "leave one of them out",
            ));
        }
        (Some(0), None) => {
            return Err(TopologyError::new(
                &at.key("frames"),
                "a queue of no frames drops all that cannot be sent at once",
                "take at least 1",
            ));
        }
        (Some(frames), None) => QueueLimit::Frames(frames),
        (None, Some(bytes)) if bytes.0.get() < frame => {
            return Err(TopologyError::new(
                &at.key("bytes"),
                format!("a queue of {} holds no full frame", bytes.0),
                format!("take at least {frame}"),
            ));
        }
        (None, Some(bytes)) => QueueLimit::Bytes(bytes.0),
        (None, None) => default,
    };
    let of_codel = queue.target.is_some() || queue.interval.is_some();
    let of_red = queue.low.is_some() || queue.high.is_some() || queue.most.is_some();
    let kind = queue.discipline.unwrap_or(DisciplineFile::DropTail);
    if (of_codel && kind != DisciplineFile::Codel) || (of_red && kind != DisciplineFile::Red) {
        return Err(TopologyError::new(
            at,
            "target and interval belong to discipline \"codel\"; low, high and most to \"red\"",
            "name the discipline",
        ));
    }
    let discipline = match kind {
        DisciplineFile::DropTail => Discipline::DropTail,
        DisciplineFile::Codel => Discipline::Codel {
            target: queue.target.map_or(Duration::from_millis(5), |time| time.0),
            interval: queue
                .interval
                .map_or(Duration::from_millis(100), |time| time.0),
        },
        DisciplineFile::Red => match (queue.low, queue.high) {
            (Some(low), Some(high)) if low.0 < high.0 => Discipline::Red {
                low: low.0,
                high: high.0,
                most: queue.most.map_or(0.1, |share| share.0),
            },
            _ => {
                return Err(TopologyError::new(
                    at,
                    "discipline \"red\" lacks low and high, low below high",
                    "add both",
                ));
            }
        },
    };
    Ok(QueueSetup { limit, discipline })
}

fn jitter_setup(jitter: &JitterFile, at: &Location) -> Result<JitterSetup> {
    let given = [
        ("delay", jitter.delay.is_some()),
        ("low", jitter.low.is_some()),
        ("high", jitter.high.is_some()),
        ("mean", jitter.mean.is_some()),
        ("deviation", jitter.deviation.is_some()),
        ("least", jitter.least.is_some()),
        ("exponent", jitter.exponent.is_some()),
    ];
    let given: Vec<&str> = given
        .iter()
        .filter(|(_, is)| *is)
        .map(|(key, _)| *key)
        .collect();
    let (name, needed): (&str, &[&str]) = match jitter.distribution {
        DistributionFile::Constant => ("constant", &["delay"]),
        DistributionFile::Uniform => ("uniform", &["low", "high"]),
        DistributionFile::Normal => ("normal", &["mean", "deviation"]),
        DistributionFile::Pareto => ("pareto", &["least", "exponent"]),
    };
    let wrong = || {
        TopologyError::new(
            at,
            format!(
                "a {name} jitter is told by {}, not by {}",
                needed.join(" and "),
                if given.is_empty() {
                    "nothing".to_owned()
                } else {
                    given.join(", ")
                }
            ),
            "write these keys and no others",
        )
    };
    if given != needed {
        return Err(wrong());
    }
    let time = |time: Option<super::Time>, key: &str| {
        check_time(time.map_or(Duration::ZERO, |time| time.0), &at.key(key))
    };
    let distribution = match jitter.distribution {
        DistributionFile::Constant => Distribution::Constant(time(jitter.delay, "delay")?),
        DistributionFile::Uniform => {
            let (low, high) = (time(jitter.low, "low")?, time(jitter.high, "high")?);
            if low > high {
                return Err(TopologyError::new(
                    &at.key("low"),
                    "low is above high",
                    "exchange them",
                ));
            }
            Distribution::Uniform(low, high)
        }
        DistributionFile::Normal => Distribution::Normal(
            time(jitter.mean, "mean")?,
            time(jitter.deviation, "deviation")?,
        ),
        DistributionFile::Pareto => {
            let exponent = jitter.exponent.unwrap_or(0.0);
            if !(exponent.is_finite() && exponent >= 1.0) {
                return Err(TopologyError::new(
                    &at.key("exponent"),
                    format!("an exponent of {exponent} gives delays without a mean"),
                    "take more than 1, such as 3",
                ));
            }
            Distribution::Pareto(time(jitter.least, "least")?, exponent)
        }
    };
    Ok(JitterSetup {
        distribution,
        keeps_order: jitter.keep_order.unwrap_or(true),
    })
}

fn bucket_setup(bucket: &BucketFile, mtu: u32, at: &Location) -> Result<BucketSetup> {
    let rate = check_rate(bucket.rate.0, &at.key("rate"))?;
    let frame = u64::from(mtu) + FULL_FRAME - 1500;
    let default = (10 * frame).max(rate.during(Duration::from_millis(10)).get());
    let burst = bucket.burst.map_or(default, |bytes| bytes.0.get());
    if burst < frame {
        return Err(TopologyError::new(
            &at.key("burst"),
            format!("a bucket of {burst} bytes never lets a full frame pass"),
            format!("take at least {frame}"),
        ));
    }
    Ok(BucketSetup {
        rate,
        burst: ByteCount::new(burst),
        measure: bucket.measure.unwrap_or(MeasureFile::Frame),
    })
}
