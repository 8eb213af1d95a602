//! Names of interfaces and numbers of ports.

use std::collections::BTreeSet;

use super::limits::check_interface_name;
use crate::error::{Location, Result, TopologyError};
use crate::node::Node;

/// The interface names already taken at each node.
pub(super) struct InterfaceNames(Vec<BTreeSet<String>>);

impl InterfaceNames {
    pub(super) fn new(nodes: usize) -> Self {
        Self(vec![BTreeSet::new(); nodes])
    }

    /// Takes `requested`, or else the next free name, at node `node` of `nodes`; a switch or hub gets the next port.
    pub(super) fn take(
        &mut self,
        node: usize,
        nodes: &[Node],
        requested: Option<&String>,
        at: &Location,
    ) -> Result<String> {
        let taken = &mut self.0[node];
        if !nodes[node].has_addresses() {
            let port = taken.len().to_string();
            taken.insert(port.clone());
            return Ok(port);
        }
        if let Some(name) = requested {
            check_interface_name(name, at)?;
            if !taken.insert(name.clone()) {
                return Err(TopologyError::new(
                    at,
                    format!("{} has two interfaces called {name:?}", nodes[node].name),
                    "rename one",
                ));
            }
            return Ok(name.clone());
        }
        let mut names = (0..).map(|number| format!("eth{number}"));
        let name = names
            .find(|name| !taken.contains(name))
            .expect("there are more numbers than links");
        taken.insert(name.clone());
        Ok(name)
    }
}
