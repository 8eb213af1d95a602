//! Simulations of the same flows with consecutive seeds, and the spread of their results.

use super::args::PredictTopologyArgs;
use super::simulate_error::usage_failure;
use super::simulated_values::simulated_values;
use super::topology_flow::TopologyFlow;
use crate::exit::Failure;
use caudal_core::prediction::Prediction;
use caudal_core::quantity::Unit;
use caudal_simulate::result::SimulationResult;
use caudal_simulate::scenario::{Scenario, SimFlow};
use caudal_simulate::simulate;
use caudal_topology::{Topology, TopologyFile};
use std::time::Duration;

/// The number of frames and timers of all simulations, which take some seconds of CPU time: one of so many is cut short, and
/// no further one starts that would exceed it.
const EVENT_LIMIT: u64 = 20_000_000;

/// One simulation.
pub(super) struct SeededRun {
    pub(super) seed: u64,
    pub(super) result: SimulationResult,
}

/// The simulations, of which there is at least one.
pub(super) struct SeededRuns {
    pub(super) first: SeededRun,
    pub(super) others: Vec<SeededRun>,
}

/// The smallest, the median and the largest of a value that was simulated several times.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) min: f64,
    pub(super) median: f64,
    pub(super) max: f64,
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
    pub(super) fn is_constant(self) -> bool {
        self.min == self.max
    }

    /// The three values with their unit.
    pub(super) fn show(self, unit: Unit) -> String {
        let [min, median, max] = [self.min, self.median, self.max].map(|value| unit.show(value));
        format!("min/median/max {min} / {median} / {max}")
    }
}

impl SeededRuns {
    /// Simulates `flows` with the seeds from `seed` on; the links of the first have the seed of `topology`.
    ///
    /// # Errors
    /// When the simulator refuses the flows.
    pub(super) fn simulate(
        args: &PredictTopologyArgs,
        (file, topology): (&TopologyFile, &Topology),
        flows: &[TopologyFlow],
        seed: u64,
    ) -> Result<Self, Failure> {
        let first = simulate_once(args, topology, flows, seed)?;
        let mut events = first.result.events;
        let mut others = Vec::new();
        for offset in 1..u64::from(args.seeds) {
            if events.saturating_add(first.result.events) > EVENT_LIMIT {
                break;
            }
            let mut file = file.clone();
            file.seed = Some(topology.seed.wrapping_add(offset));
            let topology = Topology::resolve(&file)
                .map_err(|error| Failure::usage(error.problem.clone(), error.remedy.clone()))?;
            let run = simulate_once(args, &topology, flows, seed.wrapping_add(offset))?;
            events = events.saturating_add(run.result.events);
            others.push(run);
        }
        Ok(Self { first, others })
    }

    /// The simulations in the order of their seeds.
    pub(super) fn iter(&self) -> impl Iterator<Item = &SeededRun> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// The number of simulations.
    pub(super) fn count(&self) -> usize {
        1 + self.others.len()
    }

    /// The seeds as text.
    pub(super) fn seeds(&self) -> String {
        match self.others.last() {
            Some(last) => format!("seeds {} to {}", self.first.seed, last.seed),
            None => format!("seed {}", self.first.seed),
        }
    }

    /// The spread of the goodput of the flow at an index.
    pub(super) fn goodput(&self, flow: usize) -> Option<Spread> {
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
    args: &PredictTopologyArgs,
    topology: &Topology,
    specs: &[TopologyFlow],
    seed: u64,
) -> Result<SeededRun, Failure> {
    let name = |node: usize| topology.nodes[node].name.clone();
    let flows = specs.iter().map(|spec| {
        let (from, to) = (spec.parameters.from, spec.parameters.to);
        SimFlow::between(name(from), name(to), spec.traffic.clone())
    });
    let scenario = Scenario {
        seed,
        interval: args.time.max(Duration::from_nanos(1)),
        event_limit: EVENT_LIMIT,
        ..Scenario::new(flows.collect(), args.time)
    };
    let result = simulate(topology, &scenario).map_err(|error| usage_failure(&error))?;
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
