//! Jitter: the distribution and its parameters.

use std::time::Duration;

use super::limits::check_time;
use crate::error::{Location, Result, TopologyError};
use crate::file::{DistributionFile, JitterFile};
use crate::impairments::{DelayDistribution, FrameOrder, JitterSetup};
use crate::scalar::TimeValue;

/// The jitter that `jitter` describes, with exactly the keys of its distribution.
pub(super) fn jitter_setup(jitter: &JitterFile, at: &Location) -> Result<JitterSetup> {
    check_keys(jitter, at)?;
    let time = |time: Option<TimeValue>, key: &str| {
        check_time(time.map_or(Duration::ZERO, |time| time.0), &at.key(key))
    };
    let distribution = match jitter.distribution {
        DistributionFile::Constant => DelayDistribution::Constant(time(jitter.delay, "delay")?),
        DistributionFile::Uniform => {
            let (low, high) = (time(jitter.low, "low")?, time(jitter.high, "high")?);
            if low > high {
                return Err(TopologyError::new(
                    &at.key("low"),
                    "low is above high",
                    "swap them",
                ));
            }
            DelayDistribution::Uniform(low, high)
        }
        DistributionFile::Normal => DelayDistribution::Normal(
            time(jitter.mean, "mean")?,
            time(jitter.deviation, "deviation")?,
        ),
        DistributionFile::Pareto => {
            let exponent = jitter.exponent.unwrap_or(0.0);
            if !(exponent.is_finite() && exponent >= 1.0) {
                return Err(TopologyError::new(
                    &at.key("exponent"),
                    format!("an exponent of {exponent} gives delays without a mean"),
                    "choose more than 1, such as 3",
                ));
            }
            DelayDistribution::Pareto(time(jitter.least, "least")?, exponent)
        }
    };
    let order = match jitter.keep_order {
        Some(false) => FrameOrder::Free,
        Some(true) | None => FrameOrder::Preserved,
    };
    Ok(JitterSetup {
        distribution,
        order,
    })
}

/// Refuses a missing parameter and one of another distribution.
fn check_keys(jitter: &JitterFile, at: &Location) -> Result<()> {
    let present = [
        ("delay", jitter.delay.is_some()),
        ("low", jitter.low.is_some()),
        ("high", jitter.high.is_some()),
        ("mean", jitter.mean.is_some()),
        ("deviation", jitter.deviation.is_some()),
        ("least", jitter.least.is_some()),
        ("exponent", jitter.exponent.is_some()),
    ];
    let present: Vec<&str> = present
        .iter()
        .filter(|(_, is_present)| *is_present)
        .map(|(key, _)| *key)
        .collect();
    let (name, required): (&str, &[&str]) = match jitter.distribution {
        DistributionFile::Constant => ("constant", &["delay"]),
        DistributionFile::Uniform => ("uniform", &["low", "high"]),
        DistributionFile::Normal => ("normal", &["mean", "deviation"]),
        DistributionFile::Pareto => ("pareto", &["least", "exponent"]),
    };
    if present == required {
        return Ok(());
    }
    let found = if present.is_empty() {
        "none".to_owned()
    } else {
        present.join(", ")
    };
    Err(TopologyError::new(
        at,
        format!(
            "{name} jitter takes {}, not {found}",
            required.join(" and ")
        ),
        "write these keys and no others",
    ))
}
