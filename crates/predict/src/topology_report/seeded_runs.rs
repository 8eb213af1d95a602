//! Simulations of the same flows with consecutive seeds, and the spread of their results.

use super::error::TopologyReportError;
use super::flow::TopologyFlow;
use super::question::TopologyQuestion;
use super::simulated_values::simulated_values;
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_simulate::result::SimulationResult;
use caudal_simulate::scenario::{Scenario, SimFlow};
use caudal_simulate::simulate;
use caudal_topology::Topology;
use std::time::Duration;

/// The number of frames and timers of all simulations, which take some seconds of CPU time: one of so many is cut short, and
/// no further one starts that would exceed it.
const EVENT_LIMIT: u64 = 20_000_000;

/// One simulation.
#[derive(Debug)]
pub struct SeededRun {
    /// Its seed.
    pub seed: u64,
    /// Its result.
    pub result: SimulationResult,
}

/// The simulations, of which there is at least one.
#[derive(Debug)]
pub struct SeededRuns {
    /// The first, whose counters explain differences.
    pub first: SeededRun,
    /// Those with the seeds that follow.
    pub others: Vec<SeededRun>,
}

/// The smallest, the median and the largest of a value that was simulated several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Spread {
    /// The smallest.
    pub min: f64,
    /// The median.
    pub median: f64,
    /// The largest.
    pub max: f64,
}

impl Spread {
    /// The spread of `values`; `None` without any.
    pub(super) fn of(mut values: Vec<f64>) -> Option<Self> {
        values.sort_by(f64::total_cmp);
        let (min, max) = (*values.first()?, *values.last()?);
        let middle = values.len() / 2;
        let median = if values.len().is_multiple_of(2) {
            f64::midpoint(values[middle - 1], values[middle])
        } else {
            values[middle]
        };
        Some(Self { min, median, max })
    }

    /// `true` when all values are the same.
    #[must_use]
    pub fn is_constant(self) -> bool {
        self.min == self.max
    }

    /// The three values with their unit.
    #[must_use]
    pub fn show(self, unit: Unit) -> String {
        let [min, median, max] = [self.min, self.median, self.max].map(|value| unit.show(value));
        format!("min/median/max {min} / {median} / {max}")
    }
}

impl SeededRuns {
    /// Simulates `flows` with the seeds of the question; the links of the first have the seed of its topology.
    ///
    /// # Errors
    /// When the simulator refuses the flows.
    pub(super) fn simulate(
        question: &TopologyQuestion<'_>,
        flows: &[TopologyFlow],
    ) -> Result<Self, TopologyReportError> {
        let first = simulate_once(question, question.topology, flows, question.seed)?;
        let mut events = first.result.events;
        let mut others = Vec::new();
        for offset in 1..u64::from(question.seeds) {
            if events.saturating_add(first.result.events) > EVENT_LIMIT {
                break;
            }
            let mut file = question.file.clone();
            file.seed = Some(question.topology.seed.wrapping_add(offset));
            let topology = Topology::resolve(&file)?;
            let seed = question.seed.wrapping_add(offset);
            let run = simulate_once(question, &topology, flows, seed)?;
            events = events.saturating_add(run.result.events);
            others.push(run);
        }
        Ok(Self { first, others })
    }

    /// The simulations in the order of their seeds.
    pub fn iter(&self) -> impl Iterator<Item = &SeededRun> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The number of simulations.
    #[must_use]
    pub fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The seeds as text.
    #[must_use]
    pub fn seeds(&self) -> String {
        match self.others.last() {
            Some(last) => format!("seeds {} to {}", self.first.seed, last.seed),
            None => format!("seed {}", self.first.seed),
        }
    }

    /// The spread of the goodput of the flow at an index.
    #[must_use]
    pub fn goodput(&self, flow: usize) -> Option<Spread> {
        let goodput = |run: &SeededRun| Some(run.result.flows[flow].goodput?.as_f64());
        Spread::of(self.iter().filter_map(goodput).collect())
    }

    /// The simulated values of the flow at an index, each the median of all simulations that have it.
    pub(super) fn values(&self, flow: usize, formulas: &[Prediction]) -> Vec<Prediction> {
        let runs: Vec<Vec<Prediction>> = self
            .iter()
            .map(|run| simulated_values(&run.result.flows[flow], formulas))
            .collect();
        let mut medians = runs[0].clone();
        for prediction in &mut medians {
            let same = |run: &Vec<Prediction>| {
                let found = run.iter().find(|other| other.name == prediction.name);
                found.map(|other| other.value)
            };
            let Some(spread) = Spread::of(runs.iter().filter_map(same).collect()) else {
                continue;
            };
            prediction.value = spread.median;
            if self.count() > 1 {
                let shown = spread.show(prediction.unit);
                prediction.explanation = vec![format!("simulated with {}: {shown}", self.seeds())];
            }
        }
        medians
    }
}

fn simulate_once(
    question: &TopologyQuestion<'_>,
    topology: &Topology,
    flows: &[TopologyFlow],
    seed: u64,
) -> Result<SeededRun, TopologyReportError> {
    let name = |node: usize| topology.nodes[node].name.clone();
    let flows = flows.iter().map(|flow| {
        let (from, to) = (flow.parameters.from, flow.parameters.to);
        SimFlow::between(name(from), name(to), flow.traffic.clone())
    });
    let scenario = Scenario {
        seed,
        interval: question.time.max(Duration::from_nanos(1)),
        event_limit: EVENT_LIMIT,
        ..Scenario::new(flows.collect(), question.time)
    };
    let result = simulate(topology, &scenario)?;
    Ok(SeededRun { seed, result })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_median_of_an_even_and_an_odd_number_of_values() {
        let spread = |values: &[f64]| Spread::of(values.to_vec()).map(|spread| spread.median);
        assert_eq!(spread(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(spread(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(spread(&[]), None);
        assert!(Spread::of(vec![1.0, 1.0]).is_some_and(Spread::is_constant));
    }
}
