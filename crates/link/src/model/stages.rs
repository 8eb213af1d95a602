//! The stages of one direction of a link.

use std::time::Duration;

use caudal_core::units::BitRate;
use caudal_topology::{
    Balancing, BucketSetup, DelayDistribution, Discipline, Impairments, JitterSetup, RateSetup,
};

use super::streams::{RngStreams, stream};
use crate::balancer::{Balancer, BranchSelection};
use crate::bucket::TokenBucket;
use crate::codel::Codel;
use crate::corruption::{Corruption, Damage, ErrorRate};
use crate::delay::Delay;
use crate::dual_queue::DualQueue;
use crate::duplication::Duplication;
use crate::error::LinkError;
use crate::frame::{CHECK_SEQUENCE_BYTES, Frame, HEADER_BYTES};
use crate::jitter::{DelaySampler, Jitter};
use crate::loss::{FrameLoss, GilbertElliott, LossModel};
use crate::pipeline::Pipeline;
use crate::policer::Policer;
use crate::probability::Probability;
use crate::queue::{Queue, QueueDiscipline};
use crate::rate::{RateTrace, TraceEnd};
use crate::red::{Red, RedParameters};
use crate::reordering::Reordering;
use crate::serialiser::Serialiser;
use crate::shaper::Shaper;
use crate::stage::Stage;

/// The averaging weight of RED as a negative power of two (Floyd and Jacobson 1993).
const RED_WEIGHT: u32 = 9;

/// The properties of a direction that its impairments do not show.
#[derive(Clone, Copy)]
pub(super) struct DirectionContext {
    pub(super) mtu: u32,
    /// Set when the link has a medium, which has the rate, the queue and the delay.
    pub(super) is_half_duplex: bool,
    /// Set when the direction starts at a switch, whose line has the rate and the queue.
    pub(super) is_behind_switch: bool,
    pub(super) streams: RngStreams,
}

/// The stages from one end to the other, in the order in which frames pass them.
pub(super) fn pipeline(
    impairments: &Impairments,
    context: DirectionContext,
) -> Result<Pipeline, LinkError> {
    let streams = context.streams;
    let mut stages = Pipeline::new();
    if let Some(bucket) = &impairments.shaper {
        let queue = queue_at_rate(impairments, bucket.rate, context.mtu, streams)?;
        stages.push(Box::new(Shaper::new(token_bucket(bucket)?, queue)));
    }
    if impairments.paths.is_empty() {
        add_path(&mut stages, impairments, context, 0)?;
    } else {
        stages.push(Box::new(balancer(impairments, context)?));
    }
    if let Some(burst) = &impairments.burst_loss {
        let model = LossModel::Bursts(GilbertElliott {
            good_to_bad: Probability::new(burst.good_to_bad)?,
            bad_to_good: Probability::new(burst.bad_to_good)?,
            loss_in_good: Probability::new(burst.loss_in_good)?,
            loss_in_bad: Probability::new(burst.loss_in_bad)?,
        });
        let rng = streams.rng(stream::BURST_LOSS);
        stages.push(Box::new(FrameLoss::new(model, rng)));
    }
    if !impairments.lost_positions.is_empty() {
        let positions = impairments.lost_positions.iter().copied();
        let model = LossModel::Positions(positions.collect());
        let rng = streams.rng(stream::LOSS);
        stages.push(Box::new(FrameLoss::new(model, rng)));
    }
    for (probability, damage, stream) in [
        (impairments.corrupt, Damage::Detected, stream::CORRUPTION),
        (
            impairments.corrupt_silently,
            Damage::Silent,
            stream::SILENT_CORRUPTION,
        ),
    ] {
        if probability > 0.0 {
            let errors = ErrorRate::PerFrame(Probability::new(probability)?);
            let stage = Corruption::new(errors, damage, streams.rng(stream));
            stages.push(Box::new(stage));
        }
    }
    if impairments.duplicate > 0.0 {
        let probability = Probability::new(impairments.duplicate)?;
        let stage = Duplication::new(probability, streams.rng(stream::DUPLICATION));
        stages.push(Box::new(stage));
    }
    if let Some(reorder) = &impairments.reorder {
        let probability = Probability::new(reorder.probability)?;
        let rng = streams.rng(stream::REORDERING);
        let stage = Reordering::new(probability, reorder.extent, reorder.max_hold, rng);
        stages.push(Box::new(stage));
    }
    if let Some(bucket) = &impairments.policer {
        stages.push(Box::new(Policer::new(token_bucket(bucket)?)));
    }
    Ok(stages)
}

/// Adds rate, queue, delay, jitter and independent loss, which a path has as well as a link.
///
/// Delay and loss are added even when they are zero, so that they can be changed while frames flow.
fn add_path(
    stages: &mut Pipeline,
    impairments: &Impairments,
    context: DirectionContext,
    first_stream: u64,
) -> Result<(), LinkError> {
    let streams = context.streams;
    let is_sent_before = context.is_half_duplex || context.is_behind_switch;
    if !is_sent_before && let Some(rate) = &impairments.rate {
        let queue = queue(impairments, context.mtu, streams)?;
        stages.push(Box::new(Serialiser::new(rate_trace(rate)?, queue)));
    }
    if !context.is_half_duplex {
        stages.push(Box::new(Delay::new(impairments.delay)));
    }
    if let Some(jitter) = &impairments.jitter {
        let rng = streams.rng(first_stream + stream::JITTER);
        stages.push(Box::new(Jitter::new(
            delay_sampler(jitter)?,
            jitter.order,
            rng,
        )));
    }
    let model = LossModel::Independent(Probability::new(impairments.loss)?);
    let rng = streams.rng(first_stream + stream::LOSS);
    stages.push(Box::new(FrameLoss::new(model, rng)));
    Ok(())
}

fn balancer(impairments: &Impairments, context: DirectionContext) -> Result<Balancer, LinkError> {
    const STREAMS_PER_PATH: u64 = 16;
    let context = DirectionContext {
        is_half_duplex: false,
        is_behind_switch: false,
        ..context
    };
    let mut branches: Vec<Box<dyn Stage>> = Vec::with_capacity(impairments.paths.len());
    for (number, path) in impairments.paths.iter().enumerate() {
        let mut branch = Pipeline::new();
        let first_stream = stream::PATHS + STREAMS_PER_PATH * number as u64;
        add_path(&mut branch, path, context, first_stream)?;
        branches.push(Box::new(branch));
    }
    let selection = match impairments.balancing {
        Balancing::PerFrame => BranchSelection::RoundRobin,
        Balancing::PerFlow => BranchSelection::FlowHash {
            salt: context.streams.rng(stream::BALANCING).next_u64(),
        },
    };
    Balancer::new(selection, branches)
}

fn delay_sampler(jitter: &JitterSetup) -> Result<DelaySampler, LinkError> {
    Ok(match jitter.distribution {
        DelayDistribution::Constant(delay) => DelaySampler::constant(delay),
        DelayDistribution::Uniform(low, high) => DelaySampler::uniform(low, high),
        DelayDistribution::Normal(mean, deviation) => DelaySampler::normal(mean, deviation),
        DelayDistribution::Pareto(min, exponent) => DelaySampler::pareto(min, exponent)?,
    })
}

pub(super) fn rate_trace(setup: &RateSetup) -> Result<RateTrace, LinkError> {
    match setup.constant() {
        Some(rate) => RateTrace::constant(rate),
        None => RateTrace::steps(
            &setup.steps,
            setup.repeat.map_or(TraceEnd::Hold, TraceEnd::Repeat),
        ),
    }
}

/// The queue in front of the line of a direction.
pub(super) fn queue(
    impairments: &Impairments,
    mtu: u32,
    streams: RngStreams,
) -> Result<Queue, LinkError> {
    let rate = impairments.rate.as_ref();
    let rate = rate.map_or(BitRate::ZERO, RateSetup::max);
    queue_at_rate(impairments, rate, mtu, streams)
}

/// The queue of a direction in front of a line or bucket of `rate`.
fn queue_at_rate(
    impairments: &Impairments,
    rate: BitRate,
    mtu: u32,
    streams: RngStreams,
) -> Result<Queue, LinkError> {
    let setup = &impairments.queue;
    let discipline = match setup.discipline {
        Discipline::DropTail => QueueDiscipline::DropTail,
        Discipline::Dual { target } => {
            QueueDiscipline::Dual(DualQueue::new(target, streams.rng(stream::RED)))
        }
        Discipline::Codel { target, interval } => {
            QueueDiscipline::Codel(Codel::new(target, interval))
        }
        Discipline::Red {
            min_threshold,
            max_threshold,
            max_probability,
        } => {
            let full_frame = Frame::with_length(0, mtu + HEADER_BYTES + CHECK_SEQUENCE_BYTES);
            let frame_ns = full_frame.wire_bits() * 1_000_000_000 / rate.bps().max(1);
            let parameters = RedParameters {
                min_threshold: min_threshold.get(),
                max_threshold: max_threshold.get(),
                max_probability: Probability::new(max_probability)?,
                weight: RED_WEIGHT,
                frame_time: Duration::from_nanos(frame_ns),
            };
            QueueDiscipline::Red(Red::new(parameters, streams.rng(stream::RED))?)
        }
    };
    Ok(Queue::new(setup.limit, discipline).with_marks(setup.ecn))
}

fn token_bucket(setup: &BucketSetup) -> Result<TokenBucket, LinkError> {
    TokenBucket::new(setup.rate, setup.burst, setup.measure)
}
