//! What runs at a light load show.

use super::readings::{LightRuns, RunLoss};
use caudal_stats::wilson;

/// The loss of a run of one direction above which the path loses without any duplex problem.
const MAX_LOSS_ALONE: f64 = 0.001;
/// The same as a part of the loss in both directions at once: on a mismatch the acknowledgements and reports of a test collide with it.
const MAX_ALONE_OF_TOGETHER: f64 = 0.05;
/// The minimum loss in a run of both directions that counts, and as a fraction of the load.
const MIN_LOSS_TOGETHER: f64 = 0.01;
const MIN_LOSS_OF_LOAD: f64 = 0.3;
/// The loss, in units of the load, above which collisions do not explain it: the model has 1.45 at a load of 40 %.
const MAX_LOSS_OF_LOAD: f64 = 2.0;
/// The datagrams of a run below which it says nothing.
const MIN_DATAGRAMS: u64 = 500;
/// The interval at which losses are compared.
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
            "a run had {} datagrams, and it takes {MIN_DATAGRAMS}",
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
