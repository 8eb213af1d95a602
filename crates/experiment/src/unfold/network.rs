//! What is known of a network before it is built.

use std::collections::HashMap;

use super::super::file::PlaceFile;
use super::super::nearest::suggestion;
use super::super::scalar::Scalar;
use super::error::{ExperimentError, Result, top};
use caudal_topology::{PRESETS, Preset, Topology};

/// What is known of a network without building it.
#[derive(Debug, Clone)]
pub(super) struct Network {
    pub(super) hosts: Vec<String>,
    pub(super) links: Vec<String>,
}

/// The networks seen so far; most cases share one.
#[derive(Default)]
pub(super) struct Networks(HashMap<String, Option<Network>>);

impl Networks {
    pub(super) fn of(&mut self, place: &PlaceFile) -> Result<Option<&Network>> {
        let known = format!("{place:?}");
        if !self.0.contains_key(&known) {
            let network = network(place)?;
            self.0.insert(known.clone(), network);
        }
        Ok(self.0.get(&known).and_then(Option::as_ref))
    }
}

fn network(place: &PlaceFile) -> Result<Option<Network>> {
    let (file, at) = match (&place.preset, &place.lab) {
        (Some(name), _) => {
            let at = top("topology").key("preset");
            let preset = Preset::by_name(name).ok_or_else(|| {
                ExperimentError::new(
                    at.clone(),
                    format!("there is no preset {name:?}"),
                    suggestion(name, "preset", PRESETS.iter().map(|preset| preset.name)),
                )
            })?;
            let number = match &place.number {
                Some(Scalar::Whole(number)) => usize::try_from(*number).ok(),
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
        Ok(topology) => Ok(Some(Network {
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
        // Changes by `set` may be what makes it right; that is found out when they are made.
        Err(_) if !place.set.is_empty() => Ok(None),
        Err(error) => {
            let mut at = at;
            at.0.extend(error.location.0);
            Err(ExperimentError::new(at, error.problem, error.remedy))
        }
    }
}
