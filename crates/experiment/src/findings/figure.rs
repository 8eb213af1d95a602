//! The figures of a report: those that the experiment asks for, or those that suit its flows.

use crate::campaign::Campaign;
use crate::file::{FigureFile, FigureKind, FlowKindFile};

/// The figures of the experiment, or those that suit its flows.
pub(super) fn figures(campaign: &Campaign) -> Vec<FigureFile> {
    let experiment = &campaign.experiment;
    if !experiment.figure.is_empty() {
        return experiment.figure.clone();
    }
    let metrics_of = |fits: &dyn Fn(FlowKindFile) -> bool, metric: &str| {
        let flows = experiment.flow.iter().filter(|flow| fits(flow.kind));
        let names = flows.map(|flow| format!("{}.{metric}", flow.name));
        names.collect::<Vec<String>>()
    };
    let traffic = |kind| matches!(kind, FlowKindFile::Tcp | FlowKindFile::Udp);
    let goodputs = metrics_of(&traffic, "goodput");
    let is_echo = |kind| matches!(kind, FlowKindFile::Rtt | FlowKindFile::RttUdp);
    let echo = metrics_of(&is_echo, "rtt");
    let udp = metrics_of(&|kind| kind == FlowKindFile::Udp, "loss");
    let tcp = metrics_of(&|kind| kind == FlowKindFile::Tcp, "goodput");
    let figure = |kind, title: &str, metrics: &[String]| FigureFile {
        kind,
        title: title.to_owned(),
        metrics: metrics.to_vec(),
        ..FigureFile::default()
    };
    let mut figures = Vec::new();
    if let Some(contention) = &experiment.contention {
        let by = experiment
            .parameter
            .iter()
            .find(|parameter| parameter.name != contention.load && parameter.values.len() > 1);
        figures.push(FigureFile {
            over: Some(contention.load.clone()),
            by: by.map(|parameter| parameter.name.clone()),
            ..figure(
                FigureKind::Sweep,
                "Goodput over load",
                &[format!("{}.goodput", contention.victim)],
            )
        });
    }
    if !goodputs.is_empty() {
        figures.push(figure(FigureKind::Rates, "Rates over time", &[]));
        if goodputs.len() > 1 {
            figures.push(figure(FigureKind::Share, "Shares over time", &[]));
        }
        figures.push(figure(
            FigureKind::Boxes,
            "Goodput of every trial",
            &goodputs,
        ));
    }
    if !tcp.is_empty() {
        figures.push(figure(
            FigureKind::Window,
            "Congestion window and retransmissions",
            &[],
        ));
    }
    if !udp.is_empty() {
        figures.push(figure(FigureKind::Loss, "Loss and reordering", &[]));
    }
    if !echo.is_empty() {
        figures.push(figure(FigureKind::Rtt, "Round-trip times over time", &echo));
        figures.push(figure(
            FigureKind::Cdf,
            "Distribution of round-trip times",
            &echo,
        ));
    }
    figures
}
