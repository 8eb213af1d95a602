//! The predicted loss of UDP that exceeds the rate of the link, compared with the observed loss.

use caudal_core::bottleneck::Bottleneck;
use caudal_core::plan::Transport;
use caudal_core::prediction::{Prediction, PredictionCheck, Tolerance};
use caudal_core::quantity::{Unit, rate};
use caudal_core::units::BitRate;

use super::observation::DirectionObservation;
use crate::rate_bounds::LimitingFactor;
use crate::share::overload_loss;

/// The loss of UDP that exceeds the rate of the link, compared with the observed loss; `None` where it does not exceed it.
pub(super) fn compare(observed: &DirectionObservation<'_>) -> Option<PredictionCheck> {
    let (wire, _) = observed.wire?;
    let (wire, sent) = (
        BitRate::from_f64(wire)?,
        BitRate::from_f64(observed.sent_bps?)?,
    );
    let requested = observed
        .requested?
        .bps()
        .saturating_mul(u64::from(observed.flows));
    if observed.transport != Transport::Udp || requested <= wire.bps() {
        return None;
    }
    // What fills the queue is not lost: it leaves after the last datagram was sent.
    let queued_s = observed.queued_s.unwrap_or(0.0);
    let drained = BitRate::from_f64(wire.as_f64() * (1.0 + queued_s / observed.measured_s))?;
    let value = overload_loss(sent, drained);
    let prediction = Prediction::new(
        format!("loss_{}", observed.direction.name()),
        format!("datagrams lost, {}", observed.direction.name()),
        value,
        Unit::Share,
    )
    .bound_by(LimitingFactor::Wire.name())
    .detail(format!("{} sent into {}", rate(sent), rate(wire)))
    .assumes("the excess over the rate of the link is dropped once its queue is full, and nothing else is")
    .source("conservation at a drop-tail output")
    .within(Tolerance::symmetric(loss_tolerance(value)))
    .step(format!(
        "the link carries {} for {}, and then for {} what its queue has held",
        rate(wire),
        Unit::Seconds.show(observed.measured_s),
        Unit::Seconds.show(queued_s)
    ))
    .step(format!(
        "1 − {} / {} = {}",
        rate(drained),
        rate(sent),
        Unit::Share.show(value)
    ));
    let compared = PredictionCheck::new(prediction, observed.loss?);
    Some(compared.because(|compared| {
        if compared.observed > compared.prediction.value {
            lost_elsewhere(observed)
        } else {
            "cannot tell why fewer were lost: the link may carry more than assumed, or count fewer bytes per frame"
                .to_owned()
        }
    }))
}

/// The tolerance of a predicted loss that follows from the tolerance of the link rate: for a small loss it is large.
fn loss_tolerance(loss: f64) -> f64 {
    let wire = Tolerance::EXACT.above;
    if loss > 0.0 {
        (wire * (1.0 - loss) / loss + 0.01).min(1.0)
    } else {
        wire
    }
}

/// An explanation for more loss than predicted.
fn lost_elsewhere(observed: &DirectionObservation<'_>) -> String {
    match observed.limited_by.limit {
        Bottleneck::Receiver => format!(
            "the assumption that only the link drops failed: {}",
            observed.limited_by.evidence
        ),
        _ => format!(
            "cannot tell why more were lost than predicted: the link is slower than assumed or was not always full, \
             or they were dropped elsewhere ({})",
            observed.limited_by.evidence
        ),
    }
}
