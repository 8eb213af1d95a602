//! The flows of a case checked against its testbed.

use std::collections::BTreeMap;

use caudal_experiment::{Case, FlowSpec, RateSpec};
use caudal_topology::{Location, Topology};

use super::flow::{is_echo, offered_rate};
use super::host_address::HostAddress;
use super::testbed::{THIS_MACHINE, Testbed};
use crate::error::StudyError;
use crate::source::ExperimentSource;

/// Checks that the testbed has the hosts and links that the flows of a case name, and that their rates are known.
///
/// # Errors
/// Names the flow, its line and its key.
pub(super) fn check_flows(
    case: &Case,
    testbed: &Testbed,
    source: &ExperimentSource,
) -> Result<(), StudyError> {
    for flow in &case.flows {
        let location = source.flow_location(&flow.name);
        match testbed {
            Testbed::Lab(network) => check_in_lab(flow, &network.topology, &location, source)?,
            Testbed::Hosts { at, .. } => check_between_hosts(flow, at, &location, source)?,
            Testbed::Loopback if flow.path.is_some() => {
                return Err(source.error_at(
                    &location.key("kind"),
                    "a path on this machine alone has no link to measure",
                    "give a lab or hosts",
                ));
            }
            Testbed::Loopback => {}
        }
        offered_rate(flow, testbed).map_err(|problem| {
            source.error_at(
                &location.key("rate"),
                &problem,
                "give a rate such as 50M, or topology.link_rate",
            )
        })?;
    }
    Ok(())
}

fn check_in_lab(
    flow: &FlowSpec,
    topology: &Topology,
    location: &Location,
    source: &ExperimentSource,
) -> Result<(), StudyError> {
    for (key, name) in [("from", &flow.from), ("to", &flow.to)] {
        let node = topology.node(name);
        if !node.is_some_and(|node| topology.nodes[node].has_addresses()) {
            let nodes = topology.nodes.iter().filter(|node| node.has_addresses());
            let names: Vec<&str> = nodes.take(20).map(|node| node.name.as_str()).collect();
            return Err(source.error_at(
                &location.key(key),
                &format!("there is no host {name:?}"),
                &format!("take one of {}", names.join(", ")),
            ));
        }
    }
    if flow.from == flow.to {
        return Err(source.error_at(
            &location.key("to"),
            &format!("flow {:?} goes from a host to itself", flow.name),
            "name another host",
        ));
    }
    if let RateSpec::Share {
        link: Some(link), ..
    } = &flow.rate
        && topology.link(link).is_none()
    {
        let names: Vec<&str> = topology
            .links
            .iter()
            .map(|link| link.name.as_str())
            .collect();
        return Err(source.error_at(
            &location.key("of"),
            &format!("there is no link {link:?}"),
            &format!("take one of {}", names.join(", ")),
        ));
    }
    Ok(())
}

fn check_between_hosts(
    flow: &FlowSpec,
    hosts: &BTreeMap<String, HostAddress>,
    location: &Location,
    source: &ExperimentSource,
) -> Result<(), StudyError> {
    let ends = [&flow.from, &flow.to].into_iter();
    match ends.filter(|name| hosts.contains_key(*name)).count() {
        1 => {}
        0 => {
            return Err(source.error_at(
                location,
                &format!(
                    "flow {:?} is between {} and {}, neither of which has an address",
                    flow.name, flow.from, flow.to
                ),
                "give one of them an address",
            ));
        }
        _ => {
            return Err(source.error_at(
                location,
                &format!(
                    "flow {:?} is between {} and {}, two other hosts",
                    flow.name, flow.from, flow.to
                ),
                &format!("give only one of them an address, so that the other is {THIS_MACHINE}"),
            ));
        }
    }
    let is_path = flow.path.is_some();
    if (is_echo(flow) || is_path) && hosts.contains_key(&flow.from) {
        let kind = if is_path { "path" } else { "echo flow" };
        return Err(source.error_at(
            &location.key("from"),
            &format!(
                "{kind} {:?} would be sent by {}, another host",
                flow.name, flow.from
            ),
            &format!("let {THIS_MACHINE} send, and the other reply"),
        ));
    }
    Ok(())
}
