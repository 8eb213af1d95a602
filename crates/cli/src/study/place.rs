//! Where the flows of a case run: a lab, hosts of a real network, or this machine alone.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;
use std::rc::Rc;

use caudal_core::framing::Framing;
use caudal_core::units::BitRate;
use caudal_experiment::{Case, FlowKindFile, FlowSpec, RateSpec, TestbedFile};
use caudal_topology::{
    Balancing, Hop, Impairments, Location, PathStep, Preset, RateSetup, Topology, TopologyFile,
};
use serde::{Deserialize, Serialize};

use super::source::Source;
use crate::exit::Failure;
use crate::topology::{changed, misplaced, parse_as, read_text};

/// What a host is called when it is this machine.
pub const HERE: &str = "this machine";

/// A network that can be built.
#[derive(Debug, Clone)]
pub struct Net {
    /// As its file writes it, with all changes.
    pub file: TopologyFile,
    /// With nothing left open.
    pub topology: Topology,
}

/// A host of a real network.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// Its name or address.
    pub host: String,
    /// The port of its `caudal serve`.
    pub port: u16,
}

/// Where the flows of a case run.
#[derive(Debug, Clone)]
pub enum Place {
    /// On a lab, made anew for each trial.
    Lab(Rc<Net>),
    /// Between this machine and others; a name that is missing is this machine.
    Hosts {
        /// By the names that flows give them.
        at: BTreeMap<String, Address>,
        /// What the experiment says the network is, for predictions.
        like: Option<Rc<Net>>,
        /// The rate of its narrowest link.
        link_rate: Option<BitRate>,
    },
    /// On this machine, over its loopback interface.
    Loopback,
}

impl Place {
    /// The network as far as it is known.
    #[must_use]
    pub fn net(&self) -> Option<&Net> {
        match self {
            Self::Lab(net) => Some(net),
            Self::Hosts { like, .. } => like.as_deref(),
            Self::Loopback => None,
        }
    }
}

/// The places of all cases, each network made out once.
#[derive(Debug, Default)]
pub struct Places {
    known: BTreeMap<String, Rc<Net>>,
}

impl Places {
    /// Where a case runs; `hosts` are those of `--hosts`, which stand in for any network.
    ///
    /// # Errors
    /// When its network cannot be, or its flows do not fit it.
    pub fn of(
        &mut self,
        case: &Case,
        source: &mut Source,
        hosts: Option<&BTreeMap<String, Address>>,
    ) -> Result<Place, Failure> {
        let net = self.net(&case.testbed, source)?;
        let link_rate = case
            .testbed
            .link_rate
            .as_deref()
            .map(|text| {
                text.parse::<BitRate>().map_err(|error| {
                    source.wrong(
                        &key(&["topology", "link_rate"]),
                        &error.to_string(),
                        "write it as 100M",
                    )
                })
            })
            .transpose()?;
        let place = match (hosts, &case.testbed.hosts, net) {
            (Some(at), _, like) => Place::Hosts {
                at: at.clone(),
                like,
                link_rate,
            },
            (None, Some(written), _) => {
                let at: Result<BTreeMap<String, Address>, Failure> = written
                    .iter()
                    .map(|(name, text)| {
                        let address = address(text).map_err(|problem| {
                            source.wrong(
                                &key(&["topology", "hosts", name]),
                                &problem,
                                "write it as 192.0.2.1 or far.example:5201",
                            )
                        })?;
                        Ok((name.clone(), address))
                    })
                    .collect();
                Place::Hosts {
                    at: at?,
                    like: None,
                    link_rate,
                }
            }
            (None, None, Some(net)) => Place::Lab(net),
            (None, None, None) => Place::Loopback,
        };
        fits(case, &place, source)?;
        Ok(place)
    }

    fn net(
        &mut self,
        place: &TestbedFile,
        source: &mut Source,
    ) -> Result<Option<Rc<Net>>, Failure> {
        let name = serde_json::to_string(place).unwrap_or_default();
        if let Some(net) = self.known.get(&name) {
            return Ok(Some(Rc::clone(net)));
        }
        let Some(net) = made_out(place, source)? else {
            return Ok(None);
        };
        let net = Rc::new(net);
        self.known.insert(name, Rc::clone(&net));
        Ok(Some(net))
    }
}

/// A place in the experiment's file.
pub(super) fn key(keys: &[&str]) -> Location {
    Location(
        keys.iter()
            .map(|key| PathStep::Key((*key).to_owned()))
            .collect(),
    )
}

fn made_out(place: &TestbedFile, source: &mut Source) -> Result<Option<Net>, Failure> {
    let (mut file, whose): (TopologyFile, Option<(String, String)>) =
        if let Some(name) = &place.preset {
            let preset = Preset::by_name(name).ok_or_else(|| {
                let names: Vec<&str> = caudal_topology::PRESETS
                    .iter()
                    .map(|one| one.name)
                    .collect();
                source.wrong(
                    &key(&["topology", "preset"]),
                    &format!("there is no preset {name:?}"),
                    &format!("take one of {}", names.join(", ")),
                )
            })?;
            let number = place.number.as_ref().map(|number| {
                let whole = number.number().filter(|it| *it >= 0.0 && it.fract() == 0.0);
                whole.map(|it| it as usize).ok_or_else(|| {
                    source.wrong(
                        &key(&["topology", "number"]),
                        &format!("{number} is no whole number"),
                        "see `caudal lab preset`",
                    )
                })
            });
            let file = preset.file(number.transpose()?).map_err(|problem| {
                source.wrong(
                    &key(&["topology", "number"]),
                    &problem.to_string(),
                    "see `caudal lab preset`",
                )
            })?;
            (file, None)
        } else if let Some(path) = &place.file {
            let (path, text) = source.beside(path)?;
            let file = parse_as(&path, &text, "caudal lab schema")?;
            (file, Some((path, text)))
        } else if let Some(file) = &place.lab {
            (file.clone(), None)
        } else {
            return Ok(None);
        };
    for (nth, change) in place.set.iter().enumerate() {
        file = changed(&file, change).map_err(|failure| {
            let at = Location(vec![
                PathStep::Key("topology".to_owned()),
                PathStep::Key("set".to_owned()),
                PathStep::Index(nth),
            ]);
            let problem = failure.message.trim_start_matches("--set ");
            source.wrong(&at, problem, &failure.advice)
        })?;
    }
    let topology = Topology::resolve(&file).map_err(|error| match &whose {
        Some((path, text)) => misplaced(
            path,
            Some(text),
            &error.location,
            &error.problem,
            &error.remedy,
        ),
        None => {
            let mut at = key(&["topology"]);
            if place.lab.is_some() {
                at = at.key("lab");
                at.0.extend(error.location.0.iter().cloned());
            }
            source.wrong(&at, &error.problem, &error.remedy)
        }
    })?;
    Ok(Some(Net { file, topology }))
}

/// Reads `name=address,…` of `--hosts`.
///
/// # Errors
/// Says what would be accepted.
pub fn hosts(text: &str) -> Result<BTreeMap<String, Address>, String> {
    text.split(',')
        .map(|part| {
            let (name, at) = part
                .split_once('=')
                .ok_or_else(|| format!("{part:?} has no ="))?;
            if name.is_empty() {
                return Err(format!("{part:?} has no name"));
            }
            Ok((name.to_owned(), address(at)?))
        })
        .collect()
}

/// An address with or without a port: `192.0.2.1`, `far.example:5202`, `[2001:db8::1]:5201`, `2001:db8::1`.
fn address(text: &str) -> Result<Address, String> {
    let port = |text: &str| {
        text.parse::<u16>()
            .ok()
            .filter(|port| *port > 0)
            .ok_or_else(|| format!("{text:?} is no port"))
    };
    let (host, at) = if text.parse::<IpAddr>().is_ok() {
        (text, caudal_engine::PORT)
    } else if let Some(rest) = text.strip_prefix('[') {
        match rest.split_once(']') {
            Some((host, "")) => (host, caudal_engine::PORT),
            Some((host, rest)) => (host, port(rest.trim_start_matches(':'))?),
            None => return Err(format!("{text:?} has no ]")),
        }
    } else if let Some((host, at)) = text.rsplit_once(':') {
        (host, port(at)?)
    } else {
        (text, caudal_engine::PORT)
    };
    if host.is_empty() {
        return Err(format!("{text:?} names no host"));
    }
    Ok(Address {
        host: host.to_owned(),
        port: at,
    })
}

/// Holds the flows of a case against its network.
fn fits(case: &Case, place: &Place, source: &Source) -> Result<(), Failure> {
    for flow in &case.flows {
        let at = source.flow(&flow.name);
        match place {
            Place::Lab(net) => {
                for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
                    let node = net.topology.node(name);
                    if !node.is_some_and(|node| net.topology.nodes[node].has_addresses()) {
                        let nodes = net
                            .topology
                            .nodes
                            .iter()
                            .filter(|node| node.has_addresses());
                        let names: Vec<&str> =
                            nodes.take(20).map(|node| node.name.as_str()).collect();
                        return Err(source.wrong(
                            &at.key(key),
                            &format!("there is no host {name:?}"),
                            &format!("take one of {}", names.join(", ")),
                        ));
                    }
                }
                if flow.from == flow.to {
                    return Err(source.wrong(
                        &at.key("to"),
                        &format!("flow {:?} leads to where it begins", flow.name),
                        "name another host",
                    ));
                }
                if let RateSpec::Share {
                    link: Some(link), ..
                } = &flow.rate
                    && net.topology.link(link).is_none()
                {
                    let names: Vec<&str> = net
                        .topology
                        .links
                        .iter()
                        .map(|link| link.name.as_str())
                        .collect();
                    return Err(source.wrong(
                        &at.key("of"),
                        &format!("there is no link {link:?}"),
                        &format!("take one of {}", names.join(", ")),
                    ));
                }
            }
            Place::Hosts { at: hosts, .. } => {
                let far: Vec<&String> = [&flow.from, &flow.to]
                    .into_iter()
                    .filter(|name| hosts.contains_key(*name))
                    .collect();
                match far.len() {
                    1 => {}
                    0 => {
                        return Err(source.wrong(
                            &at,
                            &format!(
                                "flow {:?} is between {} and {}, neither of which has an address",
                                flow.name, flow.from, flow.to
                            ),
                            "name one of them in hosts or --hosts",
                        ));
                    }
                    _ => {
                        return Err(source.wrong(
                            &at,
                            &format!(
                                "flow {:?} is between {} and {}, two other hosts",
                                flow.name, flow.from, flow.to
                            ),
                            &format!("leave one of them out of hosts, so that it is {HERE}"),
                        ));
                    }
                }
                if is_echo(flow) && hosts.contains_key(&flow.from) {
                    return Err(source.wrong(
                        &at.key("from"),
                        &format!(
                            "echo flow {:?} is to be asked by {}, another host",
                            flow.name, flow.from
                        ),
                        &format!("let {HERE} ask, and the other answer"),
                    ));
                }
            }
            Place::Loopback => {}
        }
        offered(flow, place).map_err(|problem| {
            source.wrong(
                &at.key("rate"),
                &problem,
                "give a rate such as 50M, or topology.link_rate",
            )
        })?;
    }
    Ok(())
}

/// Whether messages come back.
#[must_use]
pub fn is_echo(flow: &FlowSpec) -> bool {
    matches!(flow.kind, FlowKindFile::Rtt | FlowKindFile::RttUdp)
}

/// The highest rate of one direction of a link; `None` without a limit.
#[must_use]
pub fn line_rate(impairments: &Impairments) -> Option<BitRate> {
    if impairments.paths.is_empty() {
        return impairments.rate.as_ref().map(RateSetup::max);
    }
    let rates: Option<Vec<BitRate>> = impairments.paths.iter().map(line_rate).collect();
    let rates = rates?;
    if impairments.balancing == Balancing::PerFrame {
        Some(rates.into_iter().sum())
    } else {
        rates.into_iter().max()
    }
}

/// What surrounds the payload of a flow on its way.
#[must_use]
pub fn framing(flow: &FlowSpec, place: &Place) -> Framing {
    let usual = Framing::default();
    let Some(net) = place.net() else {
        return usual;
    };
    let mtu = way(flow, net)
        .iter()
        .map(|hop| net.topology.links[hop.link].mtu)
        .min();
    Framing {
        mtu: mtu.unwrap_or(usual.mtu),
        ..usual
    }
}

/// The links a flow crosses.
#[must_use]
pub fn way(flow: &FlowSpec, net: &Net) -> Vec<Hop> {
    let (from, to) = (net.topology.node(&flow.from), net.topology.node(&flow.to));
    from.zip(to)
        .and_then(|(from, to)| net.topology.path(from, to))
        .unwrap_or_default()
}

/// Payload bytes of a datagram of a flow.
#[must_use]
pub fn datagram(flow: &FlowSpec, place: &Place) -> u32 {
    flow.length
        .unwrap_or_else(|| framing(flow, place).udp_payload_per_frame())
}

/// The payload bits each connection of a flow is to send per second; `None` for as fast as it goes.
///
/// # Errors
/// When it is a part of a link whose rate nobody knows.
pub fn offered(flow: &FlowSpec, place: &Place) -> Result<Option<f64>, String> {
    let (fraction, link) = match &flow.rate {
        RateSpec::Max => return Ok(None),
        RateSpec::Payload(rate) => return Ok(Some(rate.as_f64())),
        RateSpec::Share { fraction, link } => (*fraction, link.as_deref()),
    };
    let unknown = || {
        format!(
            "flow {:?} is to send a part of a link whose rate is not known",
            flow.name
        )
    };
    let line = match place {
        Place::Loopback => return Err(unknown()),
        Place::Hosts {
            link_rate: Some(rate),
            ..
        } => *rate,
        _ => {
            let net = place.net().ok_or_else(unknown)?;
            let topology = &net.topology;
            let hops = way(flow, net);
            match link {
                Some(name) => {
                    let at = topology.link(name).ok_or_else(unknown)?;
                    // A link that the flow does not cross counts from its first end.
                    let from = hops
                        .iter()
                        .find(|hop| hop.link == at)
                        .map_or(0, |hop| hop.from);
                    line_rate(&topology.links[at].directions[from]).ok_or_else(unknown)?
                }
                None => hops
                    .iter()
                    .filter_map(|hop| line_rate(topology.impairments(*hop)))
                    .min()
                    .ok_or_else(unknown)?,
            }
        }
    };
    let framing = framing(flow, place);
    let carries = match flow.kind {
        FlowKindFile::Udp => framing.udp_ceiling(line, datagram(flow, place)),
        _ => framing.tcp_ceiling(line),
    };
    Ok(Some((carries.as_f64() * fraction).round()))
}

impl Source {
    /// The text of a file named in the experiment, and how it is called in messages.
    ///
    /// # Errors
    /// When it cannot be read.
    fn beside(&mut self, path: &str) -> Result<(String, String), Failure> {
        let at = Path::new(path);
        let full = match &self.directory {
            Some(directory) if at.is_relative() => directory.join(at),
            _ => at.to_owned(),
        };
        let name = full.display().to_string();
        if let Some(text) = self.files.get(path) {
            return Ok((name, text.clone()));
        }
        let text = read_text(&name, "a topology file in topology.file", "a topology file")?;
        self.files.insert(path.to_owned(), text.clone());
        Ok((name, text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_have_addresses_and_perhaps_ports() {
        let found =
            hosts("h1=192.0.2.1,h2=far.example:5202,h3=[2001:db8::1]:7,h4=2001:db8::2").unwrap();
        let shown: Vec<(String, u16)> = found
            .values()
            .map(|address| (address.host.clone(), address.port))
            .collect();
        assert_eq!(
            shown,
            [
                ("192.0.2.1".to_owned(), 5201),
                ("far.example".to_owned(), 5202),
                ("2001:db8::1".to_owned(), 7),
                ("2001:db8::2".to_owned(), 5201)
            ]
        );
        for bad in ["", "h1", "h1=", "=a", "h1=a:0", "h1=a:x", "h1=[::1"] {
            assert!(hosts(bad).is_err(), "{bad:?}");
        }
    }
}
