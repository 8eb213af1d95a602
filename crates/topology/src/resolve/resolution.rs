//! The parts of a topology put together, and what is checked over all of them.

use super::{links, nodes, segments};
use crate::error::{Location, Result, TopologyError};
use crate::file::{Driver, TopologyFile};
use crate::topology::Topology;

impl Topology {
    /// The network that `file` describes, with every default filled in.
    ///
    /// # Errors
    /// The first thing that cannot be built, and its place in the file.
    pub fn resolve(file: &TopologyFile) -> Result<Self> {
        let mut title = file.title.iter();
        if title.any(|title| title.contains(char::is_control)) {
            return Err(TopologyError::new(
                &Location::default().key("title"),
                "the title has control characters",
                "write it as one line of text",
            ));
        }
        let nodes = nodes::nodes(file)?;
        let links = links::links(file, &nodes)?;
        let mut topology = Self {
            title: file.title.clone(),
            seed: file.seed.unwrap_or(1),
            nodes,
            links,
            segments: Vec::new(),
        };
        topology.check_drivers()?;
        topology.check_attachments()?;
        topology.check_switch_loops()?;
        topology.segments = segments::segments(&topology, file)?;
        if let Some((one, other)) = topology.unreachable() {
            let name = |node: usize| &topology.nodes[node].name;
            return Err(TopologyError::new(
                &Location::default(),
                format!("there is no route from {} to {}", name(one), name(other)),
                "add a link, or make what is between them a router",
            ));
        }
        Ok(topology)
    }

    /// Refuses the kernel driver for links that the kernel cannot implement.
    fn check_drivers(&self) -> Result<()> {
        for (index, link) in self.links.iter().enumerate() {
            if link.driver == Driver::Kernel
                && let Err(reason) = self.check_kernel_driver(index)
            {
                return Err(TopologyError::new(
                    &Location::element("link", index).key("driver"),
                    format!(
                        "link {:?} cannot have driver \"kernel\": {reason}",
                        link.name
                    ),
                    "leave the driver out",
                ));
            }
        }
        Ok(())
    }

    /// Refuses nodes without a link, unless there is only one node.
    fn check_attachments(&self) -> Result<()> {
        for (number, node) in self.nodes.iter().enumerate() {
            if self.nodes.len() > 1 && self.attachments(number).next().is_none() {
                return Err(TopologyError::new(
                    &Location::default(),
                    format!("{} {} has no link", node.kind(), node.name),
                    "add a [[link]] between it and another node",
                ));
            }
        }
        Ok(())
    }

    /// Refuses switches and hubs in a ring, in which a broadcast would circulate for ever.
    fn check_switch_loops(&self) -> Result<()> {
        let mut component: Vec<usize> = (0..self.nodes.len()).collect();
        for (index, link) in self.links.iter().enumerate() {
            let [one, other] = link.ends.each_ref().map(|end| end.node);
            if self.nodes[one].has_addresses() || self.nodes[other].has_addresses() {
                continue;
            }
            let (merged, replaced) = (component[one], component[other]);
            if merged == replaced {
                return Err(TopologyError::new(
                    &Location::element("link", index),
                    format!(
                        "link {:?} closes a loop of switches, and no switch here runs a spanning tree",
                        link.name
                    ),
                    "leave it out, or make one of them a router",
                ));
            }
            for number in &mut component {
                if *number == replaced {
                    *number = merged;
                }
            }
        }
        Ok(())
    }
}
