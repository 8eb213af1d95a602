//! The case at a point of the matrix.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::super::campaign::Case;
use super::super::expression::Expression;
use super::super::file::ExperimentFile;
use super::baseline::Alone;
use super::condition::{before, condition, holds};
use super::error::{ExperimentError, Result, top};
use super::filler::Filler;
use super::matrix::Point;
use super::names::parameter_names;
use super::network::Networks;
use super::place::place;
use super::quick::Places;
use caudal_core::plan::{MAX_DURATION, MIN_INTERVAL};
use caudal_core::units::format_duration;
use caudal_topology::Location;

/// Makes cases of points.
pub(super) struct Unfolder<'a> {
    file: &'a ExperimentFile,
    pub(super) places: &'a Places<'a>,
    pub(super) measure: Duration,
    pub(super) warm_up: Duration,
    interval: Duration,
    /// The condition of each flow.
    when: Vec<Option<Expression>>,
}

impl<'a> Unfolder<'a> {
    pub(super) fn new(file: &'a ExperimentFile, places: &'a Places<'a>) -> Result<Self> {
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
                places.time(key),
                format!("{key} cannot be {time}"),
                remedy,
            ))
        };
        check(
            "measure",
            measure,
            measure >= MIN_INTERVAL && measure <= MAX_DURATION,
            "take 10ms to 30 days",
        )?;
        check(
            "warm_up",
            warm_up,
            warm_up <= MAX_DURATION,
            "take at most 30 days",
        )?;
        check(
            "interval",
            interval,
            interval >= MIN_INTERVAL && interval <= measure,
            "take 10ms to what is measured",
        )?;
        let parameters = parameter_names(file);
        let scope = before(&parameters);
        let mut when = Vec::new();
        for (index, flow) in file.flow.iter().enumerate() {
            let at = Location::element("flow", index).key("when");
            let parsed = flow.when.as_ref().map(|text| condition(&at, text, &scope));
            when.push(parsed.transpose()?);
        }
        Ok(Self {
            file,
            places,
            measure,
            warm_up,
            interval,
            when,
        })
    }

    /// The case at a point, and the flows of it that are to be measured alone, with the parameters that each depends on.
    pub(super) fn case(
        &self,
        point: &Point,
        networks: &mut Networks,
    ) -> Result<(Case, Vec<Alone>)> {
        let mut filler = Filler {
            parameters: &point.parameters,
            used: BTreeSet::new(),
        };
        let place = place(&self.file.topology, &mut filler)?;
        let of_place = std::mem::take(&mut filler.used);
        let network = networks.of(&place)?;
        let mut flows = Vec::new();
        let mut alone = Vec::new();
        for (index, flow) in self.file.flow.iter().enumerate() {
            if let Some(when) = &self.when[index] {
                let at = Location::element("flow", index).key("when");
                if !holds(&at, when, point)? {
                    continue;
                }
            }
            filler.used.clear();
            let spec = self.flow(index, flow, &mut filler, &place, network)?;
            if flow.baseline == Some(true) {
                let used = of_place.union(&filler.used).cloned().collect();
                alone.push((flow.name.clone(), spec.clone(), used));
            }
            flows.push(spec);
        }
        if flows.is_empty() {
            return Err(ExperimentError::new(
                top("flow"),
                format!("case {} has no flow", point.key()),
                "leave it out with [[exclude]], or widen the `when` of a flow",
            ));
        }
        let at = top("case").key("title");
        let title = filler.optional(&at, point.title.as_ref())?;
        let case = Case {
            key: point.key(),
            name: point.name.clone(),
            title,
            parameters: point.parameters.clone(),
            place,
            flows,
            measure: self.measure,
            warm_up: self.warm_up,
            interval: self.interval,
            alone: None,
            baselines: BTreeMap::new(),
            capture: self.file.capture.unwrap_or(false),
        };
        Ok((case, alone))
    }
}
