//! The report of the probing of a path.

use super::values::push_path;
use super::{both_ends_section, section};
use crate::compare::WithinRunEstimate;
use crate::compare::run_metrics::{RunMetrics, mean};
use crate::export::page::Block;
use crate::export::value_table::{ValueRow, ValueTable};
use crate::kind_report::KindReport;
use crate::quality;
use caudal_core::path::{HopAnswering, PathReport, StatementConfidence};
use caudal_core::quantity::Unit;
use caudal_core::run::Run;
use caudal_store::SampleSeries;

/// The report of the probing of a path; its latency under load is reported as by a test of that.
pub(crate) struct PathRunReport;

impl KindReport for PathRunReport {
    fn title(&self) -> &'static str {
        "Path"
    }

    fn sentences(&self, run: &Run) -> Vec<String> {
        let mut sentences = Vec::new();
        if let Some(report) = run.path() {
            sentences.extend(both_ends_section::sentences(report));
            sentences.extend(section::sentences(report));
        }
        sentences.extend(run.quality().map(quality::sentences).into_iter().flatten());
        sentences
    }

    fn sections(&self, run: &Run, _: &[SampleSeries]) -> Vec<(&'static str, Vec<Block>)> {
        let both_ends = run.path().map_or_else(Vec::new, both_ends_section::tables);
        vec![
            ("Hops", run.path().map_or_else(Vec::new, hops)),
            ("Both ends", both_ends),
            ("Phases", quality::phases(run.quality())),
            ("Panels", quality::panels(run.quality(), &[])),
        ]
    }

    fn values(&self, run: &Run, row: &ValueRow<'_>, table: &mut ValueTable) {
        if let Some(report) = run.quality() {
            quality::push_quality(table, row, report);
        }
        if let Some(report) = run.path() {
            push_path(table, row, report);
        }
    }

    fn metrics(&self, run: &Run, at_s: f64, metrics: &mut RunMetrics) {
        if let Some(report) = run.quality() {
            quality::add_phases(metrics, report, at_s);
        }
        if let Some(report) = run.path() {
            add_path(metrics, report, at_s);
        }
    }
}

/// The figure of a path and its hops.
fn hops(report: &PathReport) -> Vec<Block> {
    let figure = section::figure(report).map(Block::Path);
    let table = section::table(report);
    figure.into_iter().chain(table).collect()
}

/// Adds the narrow link and the host of a path, and each hop by its address: different routers are not compared.
fn add_path(metrics: &mut RunMetrics, report: &PathReport, at_s: f64) {
    let (rate, time, share) = (Unit::BitPerSecond, Unit::Seconds, Unit::Share);
    if let Some(narrow) = &report.narrow {
        let capacity = narrow.capacity_bps;
        metrics.add("", "capacity", Some(rate), at_s, Some(capacity.mean));
        let is_trusted = report
            .link(narrow.ttl)
            .is_some_and(|link| link.confidence != StatementConfidence::Low);
        let within = WithinRunEstimate {
            estimate: capacity,
            is_trusted,
        };
        metrics.add_within_run("capacity", Some(within));
    }
    let mtu = report.mtu.as_ref().map(|mtu| mtu.bytes.as_f64());
    metrics.add("", "path_mtu", Some(Unit::Bytes), at_s, mtu);
    let host = report.host().map(|host| host.ttl);
    for hop in &report.hops {
        let Some(address) = hop.address else { continue };
        let rtt_s = hop.times_ms().map(|rtt| rtt.mean / 1e3);
        let loss = hop.loss();
        // What a hop does not answer for a limit on its rate is not lost.
        let loss = loss.filter(|_| hop.answering == HopAnswering::Answers);
        let case = format!("hop {} {address}", hop.ttl);
        if host == Some(hop.ttl) {
            metrics.add("", "rtt", Some(time), at_s, rtt_s);
            metrics.add("", "loss", Some(share), at_s, loss);
        } else {
            metrics.add(&case, "rtt_hop", Some(time), at_s, rtt_s);
            metrics.add(&case, "loss_hop", Some(share), at_s, loss);
        }
        let link = report.link(hop.ttl);
        let capacity = link.and_then(|link| mean(link.capacity_bps));
        metrics.add(&case, "capacity_link", Some(rate), at_s, capacity);
    }
}
