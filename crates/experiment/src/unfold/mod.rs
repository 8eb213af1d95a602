//! From an experiment's file to its cases: everything filled in that needs no network, everything refused that makes no sense.

mod baseline;
mod case;
mod condition;
mod error;
mod filler;
mod flow;
mod matrix;
mod names;
mod network;
mod place;
mod quick;
mod rule;
mod texts;

pub use error::ExperimentError;
pub use filler::fill;
pub use flow::MESSAGES;
pub(super) use matrix::describes;

use super::campaign::{Campaign, MOST_CASES, RateSpec};
use super::file::ExperimentFile;
use baseline::{Alone, baselines};
use case::Unfolder;
use caudal_topology::Location;
use condition::{excluded_point, exclusions};
use error::{Result, no_link, top};
use matrix::points;
use names::names;
use network::Networks;
use quick::{Places, quickened};
use rule::rule;
use texts::check_texts;

impl Campaign {
    /// What the file unfolds into, with `--quick` if asked for.
    ///
    /// # Errors
    /// The first thing that cannot be, and where the file says so.
    pub fn unfold(file: &ExperimentFile, quick: bool) -> Result<Self> {
        names(file)?;
        // The whole file is held to be right, whichever variant is asked for.
        let whole = points(file, &Places(None))?;
        check_texts(file, &whole, None)?;
        let (experiment, places) = if quick {
            quickened(file, &whole)?
        } else {
            (file.clone(), Places(None))
        };
        let points = if quick {
            points(&experiment, &places)?
        } else {
            whole
        };
        let excluded = exclusions(&experiment, &places)?;
        let rule = rule(&experiment, &places)?;
        let retries = experiment.repeat.retries.unwrap_or(3);
        if retries > 1000 {
            return Err(ExperimentError::new(
                places.repeat("retries"),
                format!("{retries} retries are too many"),
                "take at most 1000",
            ));
        }
        let unfolder = Unfolder::new(&experiment, &places)?;
        let mut networks = Networks::default();
        let mut cases = Vec::new();
        let mut alone: Vec<Vec<Alone>> = Vec::new();
        for point in points {
            if excluded_point(&excluded, &point)? {
                continue;
            }
            if cases.len() == MOST_CASES {
                return Err(too_many(&experiment, "more than"));
            }
            let (case, wanted) = unfolder.case(&point, &mut networks)?;
            cases.push(case);
            alone.push(wanted);
        }
        if cases.is_empty() {
            return Err(ExperimentError::new(
                top("exclude"),
                "every combination is left out",
                "leave fewer out",
            ));
        }
        baselines(&mut cases, alone)?;
        if cases.len() > MOST_CASES {
            return Err(too_many(&experiment, "with its solo baselines more than"));
        }
        Ok(Self {
            seed: experiment.seed.unwrap_or(1),
            experiment,
            quick,
            cases,
            rule,
            retries,
        })
    }

    /// Holds the links that its metrics and rates name against those there are, where the network is a file or a real one.
    ///
    /// # Errors
    /// The first link that is not there.
    pub fn check_links(&self, links: &[String]) -> Result<()> {
        let links: Vec<&str> = links.iter().map(String::as_str).collect();
        let whole = points(&self.experiment, &Places(None))?;
        check_texts(&self.experiment, &whole, Some(&links))?;
        for (index, flow) in self.experiment.flow.iter().enumerate() {
            let named = self.cases.iter().flat_map(|case| &case.flows);
            for spec in named.filter(|spec| spec.name == flow.name) {
                if let RateSpec::Part {
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
        format!("the experiment has {how} {MOST_CASES} cases"),
        "leave values out, or exclude combinations",
    )
}
