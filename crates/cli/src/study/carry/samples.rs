//! What interfaces had carried, from sample to sample.

use std::collections::BTreeMap;

use caudal_lab::LabReport;

use caudal_experiment::InterfaceSeries;

/// The most samples of interfaces in a trial.
pub(super) const MOST_SAMPLES: usize = 20_000;

/// Bytes at interfaces over time.
#[derive(Default)]
pub(super) struct Samples {
    pub(super) at_s: Vec<f64>,
    series: BTreeMap<(String, String), InterfaceSeries>,
}

impl Samples {
    pub(super) fn take(&mut self, report: LabReport, after_ns: u64) {
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

    pub(super) fn series(self) -> Vec<InterfaceSeries> {
        self.series.into_values().collect()
    }
}
