//! What runs at a light load show.

use super::readings::{LightRuns, RunLoss};
use caudal_stats::wilson;

/// Loss of one direction alone above which the path itself is lossy.
const MAX_LOSS_ALONE: f64 = 0.001;
/// The same as a share of the loss in both directions at once: on a mismatch the acknowledgements and reports of a test collide with it.
const MAX_ALONE_OF_TOGETHER: f64 = 0.05;
/// Minimum loss with both directions at once to count, absolute and as a share of the load.
const MIN_LOSS_TOGETHER: f64 = 0.01;
const MIN_LOSS_OF_LOAD: f64 = 0.3;
/// Loss relative to the load above which collisions do not explain it: the model gives 1.45 at a load of 40 %.
const MAX_LOSS_OF_LOAD: f64 = 2.0;
/// Minimum datagrams of a run for a result.
const MIN_DATAGRAMS: u64 = 500;
/// Confidence of the intervals by which losses are compared.
const CONFIDENCE: f64 = 0.95;

/// What light runs show.
pub(super) enum LightEvidence {
    /// No loss that counts.
    Clean,
    /// Loss in both directions at once only: its larger fraction.
    LossTogether(f64),
    /// Nothing, and why.
    Nothing(String),
}

pub(super) fn light_evidence(light: &LightRuns) -> LightEvidence {
    let runs = light
        .alone
        .both()
        .into_iter()
        .chain(light.together.both())
        .collect::<Vec<RunLoss>>();
    if let Some(short) = runs.iter().find(|run| run.sent < MIN_DATAGRAMS) {
        return LightEvidence::Nothing(format!(
            "a run had only {} datagrams; {MIN_DATAGRAMS} needed",
            short.sent
        ));
    }
    let fractions: Option<Vec<f64>> = runs.into_iter().map(RunLoss::fraction).collect();
    let Some(fractions) = fractions.filter(|_| light.load > 0.0 && light.load < 1.0) else {
        return LightEvidence::Nothing("losses or load are impossible".to_owned());
    };
    let alone = fractions[0].max(fractions[1]);
    let together = fractions[2].max(fractions[3]);
    let counts = (MIN_LOSS_OF_LOAD * light.load).max(MIN_LOSS_TOGETHER);
    if together < counts {
        return LightEvidence::Clean;
    }
    let stands_out = |alone: RunLoss, together: RunLoss| {
        let ends = wilson(alone.lost, alone.sent, CONFIDENCE).zip(wilson(
            together.lost,
            together.sent,
            CONFIDENCE,
        ));
        ends.is_some_and(|(alone, together)| together.low > alone.high)
    };
    let separate = stands_out(light.alone.forward, light.together.forward)
        || stands_out(light.alone.back, light.together.back);
    let is_lossy = alone >= MAX_LOSS_ALONE && alone >= MAX_ALONE_OF_TOGETHER * together;
    if is_lossy || !separate {
        return LightEvidence::Nothing(format!(
            "one direction alone loses {:.2} % as well: the path is congested or lossy",
            100.0 * alone
        ));
    }
    if together > MAX_LOSS_OF_LOAD * light.load {
        return LightEvidence::Nothing(format!(
            "both directions at once lose {:.1} % at a load of {:.0} %, which is more than collisions would take",
            100.0 * together,
            100.0 * light.load
        ));
    }
    LightEvidence::LossTogether(together)
}
