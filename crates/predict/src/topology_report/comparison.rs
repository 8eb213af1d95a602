//! The comparison of a flow's formulas with its simulation.

use super::drops::{PathCounters, PathDrops};
use super::seeded_runs::SeededRuns;
use crate::topology::FlowPrediction;
use caudal_core::prediction::{Method, Prediction, RelativeDifference};
use caudal_core::quantity::{Unit, size, time};
use caudal_core::units::ByteCount;
use caudal_simulate::result::{FlowDetails, SimulationResult, TcpCounts};
use caudal_topology::{QueueLimit, Topology};
use std::time::Duration;

/// The names of the predictions that are compared.
const COMPARED: [&str; 4] = ["goodput", "rtt", "rtt_full", "loss"];
/// Minimum random losses for their fraction to be compared with the formula.
const MIN_RANDOM_LOSSES: u64 = 30;
/// Minimum round trips for slow start to hardly change the mean goodput.
const MIN_ROUND_TRIPS: f64 = 500.0;
/// The bytes of a full frame without preamble and gap.
const FULL_FRAME: u64 = 1538;
const UNEXPLAINED: &str = "cannot tell: no counter explains it";

/// A flow whose formulas and simulation are compared.
pub(super) struct FlowComparison<'a> {
    pub(super) topology: &'a Topology,
    pub(super) runs: &'a SeededRuns,
    /// The index of the flow in the result.
    pub(super) index: usize,
    pub(super) forecast: &'a FlowPrediction,
    /// The duration of the simulated flows.
    pub(super) time: Duration,
}

impl FlowComparison<'_> {
    /// A sentence for each value with a formula and a simulation: how far they differ, and why.
    pub(super) fn differences(&self, predictions: &[Prediction]) -> Vec<String> {
        let find = |name: &str, method| {
            let name = format!("{name}_{}", self.index + 1);
            predictions
                .iter()
                .find(|prediction| prediction.name == name && prediction.method == method)
        };
        let compare = |name| {
            let formula = find(name, Method::Formula)?;
            let simulation = find(name, Method::Simulation)?;
            match name {
                "loss" => self.loss_difference(formula, simulation),
                _ => self.difference(name, formula, simulation),
            }
        };
        COMPARED.into_iter().filter_map(compare).collect()
    }

    /// The simulation with the first seed, whose counters explain differences.
    const fn result(&self) -> &SimulationResult {
        &self.runs.first.result
    }

    /// The reason that the seeds spread into the tolerance of a goodput whose median is outside it.
    fn spread_into_tolerance(&self, formula: &Prediction) -> Option<String> {
        let spread = self.runs.goodput(self.index)?;
        let nearest = formula.value.clamp(spread.min, spread.max);
        formula
            .tolerance
            .allows(nearest / formula.value - 1.0)
            .then(|| {
                format!(
                    "{} spread from {} to {}, which reaches into {}",
                    self.runs.seeds(),
                    Unit::BitPerSecond.show(spread.min),
                    Unit::BitPerSecond.show(spread.max),
                    formula.tolerance
                )
            })
    }

    fn difference(
        &self,
        name: &str,
        formula: &Prediction,
        simulation: &Prediction,
    ) -> Option<String> {
        if formula.value <= 0.0 {
            return None;
        }
        let difference = simulation.value / formula.value - 1.0;
        let shown = RelativeDifference(difference);
        let (title, tolerance) = (&formula.title, formula.tolerance);
        if tolerance.allows(difference) {
            return Some(format!("{title}: simulated {shown} (within {tolerance})"));
        }
        let spread = (name == "goodput").then(|| self.spread_into_tolerance(formula));
        if let Some(spread) = spread.flatten() {
            return Some(format!("{title}: simulated {shown}: {spread}"));
        }
        let reason = match name {
            "goodput" if difference < 0.0 => self.why_goodput_is_below(),
            "goodput" => self.why_goodput_is_above(formula),
            "rtt_full" if difference < 0.0 => {
                "that queue never filled with full segments".to_owned()
            }
            "rtt_full" => {
                "other queues filled as well, or frames waited for a busy medium".to_owned()
            }
            _ => self.why_packets_are_late(),
        };
        Some(format!("{title}: simulated {shown}: {reason}"))
    }

    /// The reason why another fraction was lost than links lose at random.
    fn loss_difference(&self, formula: &Prediction, simulation: &Prediction) -> Option<String> {
        let difference = simulation.value / formula.value - 1.0;
        if simulation.value == formula.value || formula.tolerance.allows(difference) {
            return None;
        }
        let drops = self.forward_drops();
        let reason = if drops.policed > 0 {
            format!(
                "the policer on its path dropped {} frames, which the formula leaves out",
                drops.policed
            )
        } else if drops.queued > 0 {
            format!(
                "queues on its path dropped {} frames, which the formula leaves out",
                drops.queued
            )
        } else if drops.random < MIN_RANDOM_LOSSES {
            format!(
                "{} losses on its path are too few to compare their fraction",
                drops.random
            )
        } else {
            UNEXPLAINED.to_owned()
        };
        Some(format!("{}: {reason}", formula.title))
    }

    fn forward_drops(&self) -> PathDrops {
        PathCounters::new(self.result(), &self.forecast.path).drops()
    }

    fn why_goodput_is_below(&self) -> String {
        let collisions = PathCounters::new(self.result(), &self.forecast.path).collisions()
            + PathCounters::new(self.result(), &self.forecast.return_path).collisions();
        if collisions > 0 {
            return format!(
                "{collisions} collisions on its path and the backoff after them, which the formula leaves out"
            );
        }
        if self.result().cut_short {
            return "the simulation was cut short".to_owned();
        }
        match &self.result().flows[self.index].details {
            FlowDetails::Tcp { counts, .. } => self.why_tcp_is_below(counts),
            _ => self.why_packets_are_late(),
        }
    }

    fn why_tcp_is_below(&self, counts: &TcpCounts) -> String {
        let drops = self.forward_drops();
        let mut reasons = Vec::new();
        if counts.timeouts > 0 {
            reasons.push(format!(
                "it had {}, which no formula includes",
                Unit::Timeouts.show(counts.timeouts as f64)
            ));
        }
        if drops.policed > 0 {
            reasons.push(format!(
                "the policer dropped {} frames in bursts, where the formula assumes an even sawtooth",
                drops.policed
            ));
        }
        if drops.queued > 0 {
            reasons.push(format!(
                "queues dropped {} frames, and {}",
                drops.queued,
                self.effect_of_queue()
            ));
        }
        if drops.random > 0 {
            reasons.push(format!(
                "links lost {} frames at random in {}",
                drops.random,
                time(self.time)
            ));
        }
        if self.has_competitors() {
            reasons.push(format!(
                "flows share unevenly by phase and round-trip time in {}",
                time(self.time)
            ));
        }
        let round_trips = self.time.as_secs_f64() / self.forecast.rtt.as_secs_f64().max(1e-9);
        if round_trips < MIN_ROUND_TRIPS {
            reasons.push(format!(
                "{} are only {round_trips:.0} round trips, some of them in slow start",
                time(self.time)
            ));
        }
        if reasons.is_empty() {
            return UNEXPLAINED.to_owned();
        }
        reasons.join("; ")
    }

    /// The effect of drops by queues: an idle link where the queue of the bottleneck is too short.
    fn effect_of_queue(&self) -> String {
        let reduced = || "the congestion window was reduced".to_owned();
        let Some(hop) = self.forecast.bottleneck else {
            return reduced();
        };
        let limit = match self.topology.impairments(hop).queue.limit {
            QueueLimit::Frames(frames) => ByteCount::new(frames.saturating_mul(FULL_FRAME)),
            QueueLimit::Bytes(bytes) => bytes,
            QueueLimit::None => return reduced(),
        };
        let formulas = &self.forecast.predictions;
        let product = formulas.iter().find(|formula| formula.name == "bdp");
        let product = product.map_or(0.0, |formula| formula.value);
        if limit.as_f64() >= product {
            return reduced();
        }
        format!(
            "that of {} holds {}, less than the bandwidth-delay product of {}: the link idles after a loss",
            self.topology.links[hop.link].name,
            size(limit),
            Unit::Bytes.show(product)
        )
    }

    fn has_competitors(&self) -> bool {
        self.result().flows.len() > 1
    }

    /// The reason why datagrams or messages take longer.
    fn why_packets_are_late(&self) -> String {
        if self.has_competitors() {
            "packets of other flows are ahead of its own, and hosts with several flows are up to 100 µs late"
                .to_owned()
        } else {
            UNEXPLAINED.to_owned()
        }
    }

    fn why_goodput_is_above(&self, formula: &Prediction) -> String {
        match formula.binding.as_deref() {
            Some("loss" | "policer") => {
                "the model is good to a factor of 2, and the congestion control got more than it predicts"
            }
            Some("sharing") => {
                "it got more than an even share: by round-trip time, by phase, or because others were idle"
            }
            Some("half_duplex") => "fewer than one acknowledgement for two segments",
            _ => UNEXPLAINED,
        }
        .to_owned()
    }
}
