//! The impairments of one direction of a link.

use std::time::Duration;

use caudal_core::units::{BitRate, ByteCount};

use super::jitter::jitter_setup;
use super::limits::{check_rate, check_time, full_frame};
use super::queue::queue_setup;
use crate::error::{Location, Result, TopologyError};
use crate::file::{
    BucketFile, BurstLossFile, ImpairmentsFile, LinkFile, Measure, PathFile, ReorderFile, TraceFile,
};
use crate::impairments::{BucketSetup, BurstLossSetup, Impairments, RateSetup, ReorderSetup};
use crate::scalar::{FractionValue, RateValue};

const MAX_PATHS: usize = 64;

/// One direction of `link`: a key in `own` takes precedence over the same key of the link.
///
/// `hub` is the rate of the hub at one of the link's ends; `link_at` and `own_at` are the places of the two tables.
pub(super) fn impairments(
    link: &LinkFile,
    own: Option<&ImpairmentsFile>,
    hub: Option<BitRate>,
    mtu: u32,
    link_at: &Location,
    own_at: &Location,
) -> Result<Impairments> {
    let none = ImpairmentsFile::default();
    let own = own.unwrap_or(&none);
    // The value that applies and its place in the file.
    macro_rules! pick {
        ($key:ident) => {
            match &own.$key {
                Some(value) => (Some(value), own_at.key(stringify!($key))),
                None => (link.$key.as_ref(), link_at.key(stringify!($key))),
            }
        };
    }
    let fraction = |(value, _): (Option<&FractionValue>, Location)| value.map_or(0.0, |it| it.0);
    let rate = rate_setup(pick!(rate), pick!(trace), hub)?;
    let (queue, queue_at) = pick!(queue);
    let (delay, delay_at) = pick!(delay);
    let (jitter, jitter_at) = pick!(jitter);
    let (burst_loss, _) = pick!(burst_loss);
    let (reorder, reorder_at) = pick!(reorder);
    let (policer, policer_at) = pick!(policer);
    let (shaper, shaper_at) = pick!(shaper);
    let mut resolved = Impairments {
        queue: queue_setup(queue, rate.as_ref(), mtu, &queue_at)?,
        rate,
        delay: delay.map_or(Ok(Duration::ZERO), |time| check_time(time.0, &delay_at))?,
        jitter: jitter
            .map(|jitter| jitter_setup(jitter, &jitter_at))
            .transpose()?,
        loss: fraction(pick!(loss)),
        burst_loss: burst_loss.map(burst_loss_setup),
        lost_positions: own.lose.clone().unwrap_or_else(|| link.lose.clone()),
        corrupt: fraction(pick!(corrupt)),
        corrupt_silently: fraction(pick!(corrupt_silently)),
        duplicate: fraction(pick!(duplicate)),
        reorder: reorder
            .map(|reorder| reorder_setup(reorder, &reorder_at))
            .transpose()?,
        policer: policer
            .map(|bucket| bucket_setup(bucket, mtu, &policer_at))
            .transpose()?,
        shaper: shaper
            .map(|bucket| bucket_setup(bucket, mtu, &shaper_at))
            .transpose()?,
        ..Impairments::default()
    };
    add_paths(&mut resolved, link, mtu, link_at)?;
    Ok(resolved)
}

fn rate_setup(
    (rate, rate_at): (Option<&RateValue>, Location),
    (trace, trace_at): (Option<&TraceFile>, Location),
    hub: Option<BitRate>,
) -> Result<Option<RateSetup>> {
    match (rate, trace) {
        (Some(_), Some(_)) => Err(TopologyError::new(
            &trace_at,
            "there is a rate and a trace of rates",
            "leave one of them out",
        )),
        (Some(RateValue(rate)), None) => {
            check_rate(*rate, &rate_at).map(|rate| Some(RateSetup::from(rate)))
        }
        (None, Some(trace)) => rate_trace(trace, &trace_at).map(Some),
        (None, None) => Ok(hub.map(RateSetup::from)),
    }
}

fn rate_trace(trace: &TraceFile, at: &Location) -> Result<RateSetup> {
    let steps: Vec<(Duration, BitRate)> = trace
        .steps
        .iter()
        .map(|step| (step.at.0, step.rate.0))
        .collect();
    let repeat = trace.repeat.map(|time| time.0);
    let is_increasing = steps.first().is_some_and(|(start, _)| start.is_zero())
        && steps.windows(2).all(|pair| pair[0].0 < pair[1].0);
    let is_within_period =
        repeat.is_none_or(|period| steps.last().is_some_and(|(start, _)| *start < period));
    if !is_increasing || !is_within_period {
        return Err(TopologyError::new(
            &at.key("steps"),
            "the steps of a trace must start at 0 and increase, below the time after which it repeats",
            "put them in order",
        ));
    }
    let is_outage = |(_, rate): &(Duration, BitRate)| rate.bps() == 0;
    for (_, rate) in steps.iter().filter(|step| !is_outage(step)) {
        check_rate(*rate, &at.key("steps"))?;
    }
    let ends_in_outage = repeat.is_none() && steps.last().is_none_or(is_outage);
    if ends_in_outage || steps.iter().all(is_outage) {
        return Err(TopologyError::new(
            &at.key("steps"),
            "the trace ends in an outage, so that frames would wait for ever",
            "end it with a rate above zero, or let it repeat",
        ));
    }
    Ok(RateSetup { steps, repeat })
}

fn burst_loss_setup(burst: &BurstLossFile) -> BurstLossSetup {
    BurstLossSetup {
        good_to_bad: burst.worsens.0,
        bad_to_good: burst.recovers.0,
        loss_in_good: burst.loss_in_good.map_or(0.0, |loss| loss.0),
        loss_in_bad: burst.loss_in_bad.map_or(1.0, |loss| loss.0),
    }
}

fn reorder_setup(reorder: &ReorderFile, at: &Location) -> Result<ReorderSetup> {
    let max_hold = reorder
        .patience
        .map_or(Duration::from_millis(10), |time| time.0);
    Ok(ReorderSetup {
        probability: reorder.share.0,
        extent: reorder.extent.unwrap_or(3),
        max_hold: check_time(max_hold, &at.key("patience"))?,
    })
}

fn bucket_setup(bucket: &BucketFile, mtu: u32, at: &Location) -> Result<BucketSetup> {
    let rate = check_rate(bucket.rate.0, &at.key("rate"))?;
    let frame = full_frame(mtu);
    let default = (10 * frame).max(rate.during(Duration::from_millis(10)).get());
    let burst = bucket.burst.map_or(default, |bytes| bytes.0.get());
    if burst < frame {
        return Err(TopologyError::new(
            &at.key("burst"),
            format!("a bucket of {burst} bytes never passes a full frame"),
            format!("choose at least {frame}"),
        ));
    }
    Ok(BucketSetup {
        rate,
        burst: ByteCount::new(burst),
        measure: bucket.measure.unwrap_or(Measure::Frame),
    })
}

/// Adds the parallel paths of `link`, which exclude a rate, delay, jitter and loss of its own.
fn add_paths(
    resolved: &mut Impairments,
    link: &LinkFile,
    mtu: u32,
    link_at: &Location,
) -> Result<()> {
    if link.path.is_empty() {
        if link.balance.is_some() {
            return Err(TopologyError::new(
                &link_at.key("balance"),
                "there are no paths to balance over",
                "add [[link.path]]",
            ));
        }
        return Ok(());
    }
    let at = link_at.key("path");
    if link.path.len() > MAX_PATHS {
        return Err(TopologyError::new(
            &at,
            format!("{} paths are more than {MAX_PATHS}", link.path.len()),
            "use fewer paths",
        ));
    }
    if resolved.rate.is_some()
        || !resolved.delay.is_zero()
        || resolved.jitter.is_some()
        || resolved.loss > 0.0
    {
        return Err(TopologyError::new(
            &at,
            "a link with paths has a rate, delay, jitter or loss of its own",
            "write them in each path",
        ));
    }
    for path in &link.path {
        let path = path_as_link(path);
        resolved
            .paths
            .push(impairments(&path, None, None, mtu, &at, &at)?);
    }
    resolved.balancing = link.balance.unwrap_or_default();
    Ok(())
}

fn path_as_link(path: &PathFile) -> LinkFile {
    LinkFile {
        rate: path.rate,
        queue: path.queue.clone(),
        delay: path.delay,
        jitter: path.jitter.clone(),
        loss: path.loss,
        ..LinkFile::default()
    }
}
