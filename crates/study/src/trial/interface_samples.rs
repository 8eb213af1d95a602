//! The byte counters of interfaces over time.

use std::collections::BTreeMap;

use caudal_experiment::InterfaceSeries;
use caudal_lab::LabReport;

/// Maximum number of readings in a trial.
pub(super) const MAX_READINGS: usize = 20_000;

/// The byte counters of interfaces over time.
#[derive(Default)]
pub(super) struct InterfaceSamples {
    at_s: Vec<f64>,
    series: BTreeMap<(String, String), InterfaceSeries>,
}

impl InterfaceSamples {
    /// The number of readings.
    pub(super) fn len(&self) -> usize {
        self.at_s.len()
    }

    /// Adds the counters of a report, `after_ns` after the start.
    pub(super) fn add(&mut self, report: LabReport, after_ns: u64) {
        let at = (after_ns as f64 / 1e3).round() / 1e6;
        self.at_s.push(at);
        for node in report.nodes {
            for interface in node.interfaces {
                let key = (node.name.clone(), interface.name.clone());
                let series = self.series.entry(key).or_insert_with(|| InterfaceSeries {
                    node: node.name.clone(),
                    interface: interface.name.clone(),
                    link: interface.link.clone(),
                    at_s: Vec::new(),
                    tx_bytes: Vec::new(),
                    rx_bytes: Vec::new(),
                });
                series.at_s.push(at);
                series.tx_bytes.push(interface.tx_bytes);
                series.rx_bytes.push(interface.rx_bytes);
            }
        }
    }

    /// The counters of each interface.
    pub(super) fn into_series(self) -> Vec<InterfaceSeries> {
        self.series.into_values().collect()
    }
}
