//! The reports with which the other end answers the ends of UDP flows.

use super::datagram_sender::EndAnswer;
use caudal_core::event::{EndReport, Event, FlowTotals, ReportingEnd};
use caudal_core::loss::ImplausibleLoss;
use caudal_core::sample::Role;
use caudal_core::transit::TransitTimes;
use caudal_wire::iperf2::ServerReport;
use std::sync::mpsc::Receiver;

/// Shows the answers that have arrived, in the order of their flows: the flows of which there was none.
pub(super) fn send_reports(
    answers: &Receiver<EndAnswer>,
    events: &mut dyn FnMut(Event),
) -> Vec<u32> {
    let mut arrived: Vec<EndAnswer> = answers.try_iter().collect();
    arrived.sort_by_key(|answer| answer.flow);
    for answer in &arrived {
        events(answer_event(answer));
    }
    let unreported = arrived.iter().filter(|answer| answer.report.is_err());
    unreported.map(|answer| answer.flow).collect()
}

fn answer_event(answer: &EndAnswer) -> Event {
    let flow = answer.flow;
    let report = match &answer.report {
        Ok(report) => report,
        Err(attempts) => {
            let attempts = *attempts;
            return Event::NotReported { flow, attempts };
        }
    };
    match ImplausibleLoss::check(report.datagrams, report.lost, Some(answer.sent)) {
        Ok(()) => Event::Reported(EndReport {
            end: ReportingEnd::Peer,
            flows: vec![flow_totals(flow, report)],
            cpu: None,
            congestion: None,
            output: None,
        }),
        Err(report) => Event::ReportDiscarded { flow, report },
    }
}

/// A report as the totals of a flow's receiver.
fn flow_totals(flow: u32, report: &ServerReport) -> FlowTotals {
    let (seconds, micros) = report.duration;
    FlowTotals {
        flow,
        role: Role::Receiver,
        elapsed_s: f64::from(seconds) + f64::from(micros) / 1e6,
        bytes: report.bytes,
        retransmits: None,
        datagrams: Some(report.datagrams),
        lost: Some(report.lost),
        reordered: Some(report.out_of_order),
        jitter_s: Some(report.jitter_us as f64 / 1e6),
        transit: report.transit.map(|transit| TransitTimes {
            count: u64::from(transit.count),
            mean_s: transit.mean_s,
            min_s: transit.min_s,
            max_s: transit.max_s,
            m2: transit.m2,
            ..TransitTimes::default()
        }),
    }
}
