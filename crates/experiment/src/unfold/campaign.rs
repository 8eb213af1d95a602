//! From an experiment file to the campaign of its cases.

use caudal_topology::Location;

use super::baseline::{BaselineRequest, add_baselines};
use super::case::Unfolder;
use super::check_expressions::check_expressions;
use super::check_names::check_names;
use super::condition::{exclusions, is_excluded};
use super::error::{ExperimentError, Result, no_link, top};
use super::key_locations::KeyLocations;
use super::matrix::points;
use super::network::NetworkCache;
use super::quick::apply_quick;
use super::stop_rule::stop_rule;
use crate::campaign::{Campaign, MAX_CASES, Variant};
use crate::case::RateSpec;
use crate::file::ExperimentFile;

impl Campaign {
    /// Unfolds the file into its cases.
    ///
    /// # Errors
    /// The first error, with its location in the file.
    pub fn unfold(file: &ExperimentFile, variant: Variant) -> Result<Self> {
        check_names(file)?;
        // The full variant is checked too, whichever variant is unfolded.
        let whole = points(file, &KeyLocations(None))?;
        check_expressions(file, &whole, None)?;
        let (experiment, locations) = if variant == Variant::Quick {
            apply_quick(file, &whole)?
        } else {
            (file.clone(), KeyLocations(None))
        };
        let points = if variant == Variant::Quick {
            points(&experiment, &locations)?
        } else {
            whole
        };
        let excluded = exclusions(&experiment, &locations)?;
        let rule = stop_rule(&experiment, &locations)?;
        let retries = experiment.repeat.retries.unwrap_or(10);
        if retries > 1000 {
            return Err(ExperimentError::new(
                locations.repeat("retries"),
                format!("{retries} retries are too many"),
                "use at most 1000",
            ));
        }
        let unfolder = Unfolder::new(&experiment, &locations)?;
        let mut networks = NetworkCache::default();
        let mut cases = Vec::new();
        let mut requests: Vec<Vec<BaselineRequest>> = Vec::new();
        for point in points {
            if is_excluded(&excluded, &point)? {
                continue;
            }
            if cases.len() == MAX_CASES {
                return Err(too_many(&experiment, "more than"));
            }
            let (case, baselines) = unfolder.case(&point, &mut networks)?;
            cases.push(case);
            requests.push(baselines);
        }
        if cases.is_empty() {
            return Err(ExperimentError::new(
                top("exclude"),
                "every combination is excluded",
                "exclude fewer",
            ));
        }
        add_baselines(&mut cases, requests)?;
        if cases.len() > MAX_CASES {
            return Err(too_many(&experiment, "with its solo baselines more than"));
        }
        Ok(Self {
            seed: experiment.seed.unwrap_or(1),
            experiment,
            quick: variant == Variant::Quick,
            cases,
            rule,
            retries,
        })
    }

    /// Checks the links named by metrics and rates, once the links of a file or a real network are known.
    ///
    /// # Errors
    /// The first link that does not exist.
    pub fn check_links(&self, links: &[String]) -> Result<()> {
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let whole = points(&self.experiment, &KeyLocations(None))?;
        check_expressions(&self.experiment, &whole, Some(&links))?;
        for (index, flow) in self.experiment.flow.iter().enumerate() {
            let named = self.cases.iter().flat_map(|case| &case.flows);
            for spec in named.filter(|spec| spec.name == flow.name) {
                if let RateSpec::Share {
                    link: Some(link), ..
                } = &spec.rate
                    && !links.contains(&link.as_str())
                {
                    return Err(no_link(
                        Location::element("flow", index).key("of"),
                        link,
                        &links,
                    ));
                }
            }
        }
        Ok(())
    }
}

fn too_many(file: &ExperimentFile, how: &str) -> ExperimentError {
    ExperimentError::new(
        top(if file.parameter.is_empty() {
            "case"
        } else {
            "parameter"
        }),
        format!("the experiment has {how} {MAX_CASES} cases"),
        "remove values, or exclude combinations",
    )
}
