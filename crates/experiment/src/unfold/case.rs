//! The case at a point of the matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::baseline::BaselineRequest;
use super::check_names::parameter_names;
use super::condition::{condition, holds, parameter_scope};
use super::error::{ExperimentError, Result, top};
use super::filler::Filler;
use super::flow::FlowUnfolder;
use super::key_locations::KeyLocations;
use super::matrix::Point;
use super::network::NetworkCache;
use super::testbed::fill_testbed;
use crate::case::Case;
use crate::expression::Expression;
use crate::file::ExperimentFile;
use caudal_core::plan::{MAX_DURATION, MIN_INTERVAL};
use caudal_core::units::format_duration;
use caudal_topology::Location;

/// Unfolds points of the matrix into cases.
pub(super) struct Unfolder<'a> {
    file: &'a ExperimentFile,
    locations: &'a KeyLocations<'a>,
    measure: Duration,
    warm_up: Duration,
    interval: Duration,
    /// The condition of each flow, where it has one.
    when: Vec<Option<Expression>>,
}

impl<'a> Unfolder<'a> {
    pub(super) fn new(file: &'a ExperimentFile, locations: &'a KeyLocations<'a>) -> Result<Self> {
        let time = &file.time;
        let measure = time.measure.map_or(Duration::from_secs(10), |time| time.0);
        let warm_up = time.warm_up.map_or(Duration::from_secs(1), |time| time.0);
        let interval = time
            .interval
            .map_or(Duration::from_millis(200), |time| time.0);
        let check = |key: &str, time: Duration, fits: bool, remedy: &str| {
            if fits {
                return Ok(());
            }
            let time = format_duration(time);
            Err(ExperimentError::new(
                locations.time(key),
                format!("{key} cannot be {time}"),
                remedy,
            ))
        };
        check(
            "measure",
            measure,
            measure >= MIN_INTERVAL && measure <= MAX_DURATION,
            "use 10ms to 30 days",
        )?;
        check(
            "warm_up",
            warm_up,
            warm_up <= MAX_DURATION,
            "use at most 30 days",
        )?;
        check(
            "interval",
            interval,
            interval >= MIN_INTERVAL && interval <= measure,
            "use 10ms to the time measured",
        )?;
        let parameters = parameter_names(file);
        let scope = parameter_scope(&parameters);
        let mut when = Vec::new();
        for (index, flow) in file.flow.iter().enumerate() {
            let at = Location::element("flow", index).key("when");
            let parsed = flow.when.as_ref().map(|text| condition(&at, text, &scope));
            when.push(parsed.transpose()?);
        }
        Ok(Self {
            file,
            locations,
            measure,
            warm_up,
            interval,
            when,
        })
    }

    /// The case at a point, with the requests for solo baselines of its flows.
    pub(super) fn case(
        &self,
        point: &Point,
        networks: &mut NetworkCache,
    ) -> Result<(Case, Vec<BaselineRequest>)> {
        let mut filler = Filler {
            parameters: &point.parameters,
            used: BTreeSet::new(),
        };
        let testbed = fill_testbed(&self.file.topology, &mut filler)?;
        let offload = filler.parse(
            &top("offload"),
            self.file.offload.as_ref(),
            |text| match text {
                "on" => Ok(true),
                "off" => Ok(false),
                _ => Err("use on or off".to_owned()),
            },
        )?;
        let of_testbed = std::mem::take(&mut filler.used);
        let network = networks.get(&testbed)?;
        let mut flows = Vec::new();
        let mut baselines = Vec::new();
        for (index, flow) in self.file.flow.iter().enumerate() {
            if let Some(when) = &self.when[index] {
                let at = Location::element("flow", index).key("when");
                if !holds(&at, when, point)? {
                    continue;
                }
            }
            filler.used.clear();
            let spec = FlowUnfolder {
                locations: self.locations,
                duration: self.warm_up + self.measure,
                index,
                flow,
                testbed: &testbed,
                network,
            }
            .unfold(&mut filler)?;
            if flow.baseline == Some(true) {
                let used = of_testbed.union(&filler.used).cloned().collect();
                baselines.push(BaselineRequest {
                    name: flow.name.clone(),
                    flow: spec.clone(),
                    parameters: used,
                });
            }
            flows.push(spec);
        }
        if flows.is_empty() {
            return Err(ExperimentError::new(
                top("flow"),
                format!("case {} has no flow", point.key()),
                "exclude it with [[exclude]], or widen the `when` of a flow",
            ));
        }
        let at = top("case").key("title");
        let title = filler.optional(&at, point.title.as_ref())?;
        let case = Case {
            key: point.key(),
            name: point.name.clone(),
            title,
            parameters: point.parameters.clone(),
            testbed,
            flows,
            measure: self.measure,
            warm_up: self.warm_up,
            interval: self.interval,
            alone: None,
            baselines: BTreeMap::new(),
            capture: self.file.capture.unwrap_or(false),
            offload,
            awake: self.file.awake.unwrap_or(false),
        };
        Ok((case, baselines))
    }
}
