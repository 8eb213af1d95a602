//! Intervals and runs for tests.

use caudal_core::interval::Interval;
use caudal_core::plan::{Direction, PlanRecord, PlannedFlow};
use caudal_core::run::{FlowReport, Run, RunHeader, SCHEMA, Tool};

pub(crate) fn interval(start_s: f64, end_s: f64, bytes: u64) -> Interval {
    Interval {
        start_s,
        end_s,
        bytes: Some(bytes),
        goodput_bps: Some(bytes as f64 * 8.0 / (end_s - start_s)),
        ..Interval::default()
    }
}

/// A run of one flow with these intervals.
pub(crate) fn run_of(intervals: Vec<Interval>) -> Run {
    let header = RunHeader {
        schema: SCHEMA.to_owned(),
        id: "1".repeat(32),
        started: String::new(),
        tool: Tool {
            name: "caudal".into(),
            version: None,
            compatible_with: None,
        },
        command: None,
    };
    let flow = FlowReport {
        intervals: Some(intervals),
        ..FlowReport::new(PlannedFlow {
            id: 0,
            direction: Direction::Up,
        })
    };
    Run {
        flows: Some(vec![flow]),
        ..Run::new(header, PlanRecord::default())
    }
}
