//! Nodes: names, roles and settings.

use std::collections::BTreeSet;
use std::time::Duration;

use caudal_core::units::BitRate;

use super::half_duplex::check_half_duplex_rate;
use super::limits::{check_name, check_time};
use crate::error::{Location, Result, TopologyError};
use crate::file::{HostFile, SwitchFile, TopologyFile};
use crate::node::{HostSetup, Node, NodeRole, PauseThresholds, SwitchSetup};

const MAX_NODES: usize = 256;

/// The nodes of `file`: hosts, routers, switches and hubs, in this order.
pub(super) fn nodes(file: &TopologyFile) -> Result<Vec<Node>> {
    let mut nodes: Vec<(Node, Location)> = Vec::new();
    let mut add = |name: &str, role, at| {
        let name = name.to_owned();
        nodes.push((Node { name, role }, at));
    };
    for (index, host) in file.host.iter().enumerate() {
        let at = Location::element("host", index);
        add(&host.name, NodeRole::Host(host_setup(file, host, &at)?), at);
    }
    for (index, router) in file.router.iter().enumerate() {
        let at = Location::element("router", index);
        let setup = host_setup(file, router, &at)?;
        add(&router.name, NodeRole::Router(setup), at);
    }
    for (index, switch) in file.switch.iter().enumerate() {
        let at = Location::element("switch", index);
        let setup = switch_setup(switch, &at)?;
        add(&switch.name, NodeRole::Switch(setup), at);
    }
    for (index, hub) in file.hub.iter().enumerate() {
        let at = Location::element("hub", index);
        let rate = hub
            .rate
            .map_or(BitRate::from_bps(10_000_000), |rate| rate.0);
        check_half_duplex_rate(rate, &at.key("rate"))?;
        add(&hub.name, NodeRole::Hub(rate), at);
    }
    if file.host.is_empty() {
        return Err(TopologyError::new(
            &Location::default(),
            "there is no host",
            "add [[host]] with a name",
        ));
    }
    if nodes.len() > MAX_NODES {
        return Err(TopologyError::new(
            &nodes[MAX_NODES].1,
            format!("{} nodes are more than {MAX_NODES}", nodes.len()),
            "use fewer nodes",
        ));
    }
    check_names(&nodes)?;
    Ok(nodes.into_iter().map(|(node, _)| node).collect())
}

fn check_names(nodes: &[(Node, Location)]) -> Result<()> {
    let mut seen = BTreeSet::new();
    for (Node { name, .. }, at) in nodes {
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
    Ok(())
}

fn host_setup(file: &TopologyFile, host: &HostFile, at: &Location) -> Result<HostSetup> {
    let mut sysctl = file.sysctl.clone();
    sysctl.extend(host.sysctl.clone());
    for name in sysctl.keys() {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        if !name.starts_with("net.") || !name.chars().all(is_allowed) || name.contains("..") {
            return Err(TopologyError::new(
                &at.key("sysctl"),
                format!("{name:?} is not a network parameter"),
                "use one that begins with net.",
            ));
        }
    }
    let congestion = host.congestion.clone().or_else(|| file.congestion.clone());
    Ok(HostSetup { congestion, sysctl })
}

fn switch_setup(switch: &SwitchFile, at: &Location) -> Result<SwitchSetup> {
    let default = SwitchSetup::default();
    let latency = switch.latency.map_or(default.latency, |time| time.0);
    check_time(latency, &at.key("latency"))?;
    let ageing_time = match switch.memory {
        Some(time) => Some(time.0).filter(|time| *time > Duration::ZERO),
        None => default.ageing_time,
    };
    let pause = match switch.pause {
        Some(pause) if pause.low.0 >= pause.high.0 => {
            return Err(TopologyError::new(
                &at.key("pause"),
                "the low threshold is not below the high one",
                "make low smaller",
            ));
        }
        pause => pause.map(|pause| PauseThresholds {
            high: pause.high.0.get(),
            low: pause.low.0.get(),
        }),
    };
    Ok(SwitchSetup {
        latency,
        ageing_time,
        pause,
    })
}
