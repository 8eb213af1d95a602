//! The hosts and links of a network, as far as they are known before it is built.

use std::collections::HashMap;

use super::error::{ExperimentError, Result, top};
use crate::file::TestbedFile;
use crate::scalar::Scalar;
use crate::suggestion::suggestion;
use caudal_topology::{PRESETS, Preset, Topology};

/// The names of the hosts and links of a network.
#[derive(Debug, Clone)]
pub(super) struct NetworkNames {
    pub(super) hosts: Vec<String>,
    pub(super) links: Vec<String>,
}

/// A cache of the networks of the cases, most of which share one.
#[derive(Default)]
pub(super) struct NetworkCache(HashMap<String, Option<NetworkNames>>);

impl NetworkCache {
    pub(super) fn get(&mut self, testbed: &TestbedFile) -> Result<Option<&NetworkNames>> {
        let key = format!("{testbed:?}");
        if !self.0.contains_key(&key) {
            let network = network(testbed)?;
            self.0.insert(key.clone(), network);
        }
        Ok(self.0.get(&key).and_then(Option::as_ref))
    }
}

/// The names in a preset or an inline topology; `None` where they are not known yet.
fn network(testbed: &TestbedFile) -> Result<Option<NetworkNames>> {
    let (file, at) = match (&testbed.preset, &testbed.lab) {
        (Some(name), _) => {
            let at = top("topology").key("preset");
            let preset = Preset::by_name(name).ok_or_else(|| {
                ExperimentError::new(
                    at.clone(),
                    format!("there is no preset {name:?}"),
                    suggestion(name, "preset", PRESETS.iter().map(|preset| preset.name)),
                )
            })?;
            let number = match &testbed.number {
                Some(Scalar::Integer(number)) => usize::try_from(*number).ok(),
                _ => None,
            };
            let file = preset.file(number).map_err(|problem| {
                let at = top("topology").key("number");
                ExperimentError::new(at, problem.to_string(), "see `caudal lab preset`")
            })?;
            (file, at)
        }
        (None, Some(lab)) => (lab.clone(), top("topology").key("lab")),
        (None, None) => return Ok(None),
    };
    match Topology::resolve(&file) {
        Ok(topology) => Ok(Some(NetworkNames {
            hosts: topology
                .nodes
                .iter()
                .filter(|node| node.has_addresses())
                .map(|node| node.name.clone())
                .collect(),
            links: topology
                .links
                .iter()
                .map(|link| link.name.clone())
                .collect(),
        })),
        // Changes by `set` may make it valid; that is checked when they are made.
        Err(_) if !testbed.set.is_empty() => Ok(None),
        Err(error) => {
            let mut at = at;
            at.0.extend(error.location.0);
            Err(ExperimentError::new(at, error.problem, error.remedy))
        }
    }
}
