//! The figures of a test of latency under load: throughput, latency and loss on one time axis.

use crate::export::figures::{time_figure, with_episodes};
use crate::export::page::CaptionedFigure;
use crate::export::wording::{about, sentence};
use caudal_core::episode::Episode;
use caudal_core::quality::{PhaseReport, QualityInterval, QualityReport};
use caudal_core::quantity::Unit;
use caudal_plot::{Axis, AxisQuantity, Layer};

/// Width and height of a panel, px.
const PANEL: (u32, u32) = (800, 300);

/// A quantity of an interval; `None` where there is none.
type IntervalValue = fn(&QualityInterval) -> Option<f64>;

/// The three panels, from the top: throughput, latency, loss; each with the episodes of the test behind it.
#[must_use]
pub fn quality_panels(report: &QualityReport, episodes: &[Episode]) -> Vec<CaptionedFigure> {
    let panels: [fn(&QualityReport) -> CaptionedFigure; 3] = [throughput, latency, loss];
    let end_s = end_s(report);
    let panels = panels.iter().map(|panel| panel(report));
    panels
        .map(|panel| with_episodes(panel, episodes, end_s))
        .collect()
}

/// The end of the last interval, s after the start of the test.
fn end_s(report: &QualityReport) -> f64 {
    report.intervals.last().map_or(0.0, |last| last.end_s)
}

fn throughput(report: &QualityReport) -> CaptionedFigure {
    let layers = vec![
        steps(report, "download", |one| one.down_bps),
        steps(report, "upload", |one| one.up_bps),
    ];
    let rates: Vec<String> = report
        .phases
        .iter()
        .flat_map(|phase| {
            phase.directions.iter().filter_map(|load| {
                let goodput = about(load.summary.goodput_mean()?, Unit::BitPerSecond);
                Some(format!(
                    "{goodput} {} in the phase {}",
                    load.summary.direction.name(),
                    phase.load.name()
                ))
            })
        })
        .collect();
    let axis = Axis::linear("goodput", AxisQuantity::Rate).from_zero();
    panel(
        report,
        "throughput",
        "Throughput",
        axis,
        layers,
        &rates.join("; "),
    )
}

fn latency(report: &QualityReport) -> CaptionedFigure {
    let seconds = |us: Option<f64>| us.map(|us| us / 1e6);
    let mut layers = vec![
        steps_of(report, "UDP echo, maximum", |one| seconds(one.rtt_max_us)),
        steps_of(report, "UDP echo, median", |one| seconds(one.rtt_us)),
        steps_of(report, "TCP echo, median", |one| seconds(one.tcp_rtt_us)),
    ];
    layers.retain(|layer| matches!(layer, Layer::Step { points, .. } if points.iter().any(|point| point.1.is_finite())));
    let medians: Vec<String> = report
        .phases
        .iter()
        .filter_map(|phase| {
            let udp = phase.echo()?;
            let median = about(udp.p50_us / 1e6, Unit::Seconds);
            Some(format!("{median} {}", condition(phase)))
        })
        .collect();
    let axis = Axis::linear("round-trip time", AxisQuantity::Seconds).from_zero();
    panel(
        report,
        "latency",
        "Latency",
        axis,
        layers,
        &headed("median", &medians),
    )
}

fn loss(report: &QualityReport) -> CaptionedFigure {
    let layers = vec![
        steps(report, "UDP probes lost", QualityInterval::loss),
        steps(report, "retransmitted by the flows", |one| {
            one.retransmitted
        }),
    ];
    let lost: Vec<String> = report
        .phases
        .iter()
        .filter_map(|phase| {
            let udp = phase.echo()?;
            Some(format!("{} of {} {}", udp.lost, udp.sent, condition(phase)))
        })
        .collect();
    let axis = Axis::linear("part", AxisQuantity::Percent).from_zero();
    panel(
        report,
        "loss",
        "Loss",
        axis,
        layers,
        &headed("probes lost", &lost),
    )
}

/// What the values of the phases are, and these.
fn headed(what: &str, values: &[String]) -> String {
    if values.is_empty() {
        return String::new();
    }
    format!("{what}: {}", values.join(", "))
}

fn condition(phase: &PhaseReport) -> String {
    match phase.load.directions() {
        None => "without load".to_owned(),
        Some(_) => format!("in the phase {}", phase.load.name()),
    }
}

/// A panel: its time axis is that of the other panels, with the beginning of each phase.
fn panel(
    report: &QualityReport,
    name: &str,
    title: &str,
    y: Axis,
    mut layers: Vec<Layer>,
    caption: &str,
) -> CaptionedFigure {
    layers.extend(report.phases.iter().map(|phase| Layer::Event {
        at: phase.start_s,
        label: phase.load.name().to_owned(),
    }));
    let mut figure = time_figure(title, title, y, layers);
    figure.x = figure.x.including(&[0.0, end_s(report)]);
    figure.size = PANEL;
    CaptionedFigure::new(name, figure, sentence(caption))
}

fn steps(report: &QualityReport, name: &str, value: IntervalValue) -> Layer {
    steps_of(report, name, value)
}

/// A quantity over time, a gap where there is none.
fn steps_of(
    report: &QualityReport,
    name: &str,
    value: impl Fn(&QualityInterval) -> Option<f64>,
) -> Layer {
    let mut points = Vec::new();
    let mut end_s = f64::NEG_INFINITY;
    for one in &report.intervals {
        if one.start_s > end_s + 1e-6 && !points.is_empty() {
            points.push((end_s, f64::NAN));
        }
        points.push((one.start_s, value(one).unwrap_or(f64::NAN)));
        end_s = one.end_s;
    }
    if !points.is_empty() {
        points.push((end_s, f64::NAN));
    }
    Layer::Step {
        name: name.to_owned(),
        points,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::quality::quality_report;
    use caudal_core::episode::EpisodeKind;
    use caudal_core::plan::PhaseLoad;

    fn report() -> QualityReport {
        let interval = |nth: u32| QualityInterval {
            load: PhaseLoad::Download,
            start_s: f64::from(nth),
            end_s: f64::from(nth + 1),
            down_bps: Some(20e6),
            up_bps: None,
            retransmitted: Some(0.01),
            rtt_us: Some(90e3),
            rtt_max_us: Some(95e3),
            tcp_rtt_us: None,
            probes: 50,
            lost: 1,
        };
        // A pause between two phases.
        quality_report(
            Vec::new(),
            vec![interval(0), interval(1), interval(4)],
            0.95,
        )
    }

    #[test]
    fn the_panels_share_a_time_axis_and_show_pauses() {
        let panels = quality_panels(&report(), &[]);
        let names: Vec<_> = panels.iter().map(|panel| panel.name.as_str()).collect();
        assert_eq!(names, ["throughput", "latency", "loss"]);
        assert!(
            panels
                .iter()
                .all(|panel| panel.figure.x == panels[0].figure.x)
        );
        assert_eq!(panels[0].figure.x.includes, [0.0, 5.0]);
        let Layer::Step { points, .. } = &panels[0].figure.layers[0] else {
            panic!("another layer");
        };
        assert!(
            points
                .iter()
                .any(|(at, value)| *at == 2.0 && value.is_nan())
        );
    }

    #[test]
    fn episodes_are_behind_every_panel() {
        let outage = Episode {
            kind: EpisodeKind::PathSilent,
            from_s: 1.0,
            to_s: None,
            direction: None,
            evidence: String::new(),
        };
        for panel in quality_panels(&report(), &[outage]) {
            let Layer::Span { from, to, label } = &panel.figure.layers[0] else {
                panic!("another layer");
            };
            assert_eq!((*from, *to, label.as_str()), (1.0, 5.0, "outage"));
        }
    }
}
