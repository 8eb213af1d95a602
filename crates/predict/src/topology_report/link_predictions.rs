//! The simulated queue, drops and collisions of one link.

use crate::simulated::simulated_value;
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_simulate::result::{DropReason, LinkResult};

/// The simulated values of a link, for each direction that carried frames.
pub(super) fn link_predictions(link: &LinkResult) -> Vec<Prediction> {
    let mut predictions = Vec::new();
    for (direction, direction_name) in link.directions.iter().zip(["forward", "backward"]) {
        if direction.counters.offered.frames == 0 {
            continue;
        }
        let name = |what: &str| format!("{what}_{direction_name}_{}", link.name);
        let title = |what: &str| format!("{} {direction_name}: {what}", link.name);
        if let Some(queue) = &direction.queue {
            // A queue of one frame is there wherever a frame passes.
            let max = queue.frames.max;
            if max > 1 {
                let title = title("longest queue");
                predictions.push(simulated_value(
                    &name("queue"),
                    &title,
                    max as f64,
                    Unit::Frames,
                ));
            }
        }
        let dropped = direction.counters.dropped.total().frames as f64;
        if dropped > 0.0 {
            let reasons: Vec<String> = DropReason::ALL
                .into_iter()
                .filter_map(|reason| {
                    let frames = direction.counters.dropped.by(reason).frames;
                    (frames > 0).then(|| format!("{frames} {}", reason_text(reason)))
                })
                .collect();
            let dropped =
                simulated_value(&name("dropped"), &title("dropped"), dropped, Unit::Frames);
            predictions.push(dropped.detail(reasons.join(", ")));
        }
        if let Some(collisions) = direction.collisions.filter(|counts| counts.all > 0) {
            let count = collisions.all as f64;
            let collided = simulated_value(
                &name("collisions"),
                &title("collisions"),
                count,
                Unit::Collisions,
            );
            predictions.push(collided.detail(format!(
                "{} frames deferred, {} given up",
                collisions.deferred, collisions.excessive
            )));
        }
    }
    predictions
}

/// The reason of a drop, behind the number of frames.
const fn reason_text(reason: DropReason) -> &'static str {
    match reason {
        DropReason::QueueFull => "queue full",
        DropReason::Red => "by RED",
        DropReason::Codel => "by CoDel",
        DropReason::Dual => "by the dual queue",
        DropReason::Loss => "lost",
        DropReason::CheckSequence => "damaged",
        DropReason::Policed => "policed",
        DropReason::ExcessiveCollisions => "after 16 collisions",
        DropReason::LateCollision => "collided late",
        DropReason::UndetectedCollision => "in an undetected collision",
        DropReason::NoPort => "without a port",
        DropReason::PauseConsumed => "PAUSE",
    }
}
