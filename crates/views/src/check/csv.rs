//! Several tests of one host as comma-separated values: a row a figure.

use crate::column::{self, Column, optional};
use caudal_core::check::CheckReport;
use caudal_core::plan::Direction;
use caudal_stats::Estimate;

/// A figure of a check.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckFigure {
    name: &'static str,
    direction: Option<Direction>,
    unit: &'static str,
    value: f64,
    interval: Option<(f64, f64)>,
}

impl CheckFigure {
    /// The columns, a row for each figure.
    pub const COLUMNS: [Column<Self>; 6] = [
        Column::new(
            "figure",
            "",
            "`connect_ipv4`, `connect_ipv6`, `rtt`, `rtt_p99`, `rtt_lost`, `hops`, `path_mtu`, `goodput`, `goodput_several`, `udp_loss`, \
             `udp_jitter` or `added_delay`",
            |row| row.name.to_owned(),
        ),
        Column::new("direction", "", "`up` or `down`; empty for both", |row| {
            row.direction
                .map_or_else(String::new, |of| of.name().to_owned())
        }),
        Column::new("unit", "", "of the value", |row| row.unit.to_owned()),
        Column::new(
            "value",
            "",
            "the value; a mean where there is an interval",
            |row| row.value.to_string(),
        ),
        Column::new(
            "low",
            "",
            "the lower end of the interval; empty without one",
            |row| optional(row.interval.map(|(low, _)| low)),
        ),
        Column::new("high", "", "its upper end", |row| {
            optional(row.interval.map(|(_, high)| high))
        }),
    ];

    const fn new(
        name: &'static str,
        direction: Option<Direction>,
        unit: &'static str,
        value: f64,
    ) -> Self {
        Self {
            name,
            direction,
            unit,
            value,
            interval: None,
        }
    }

    const fn of(
        name: &'static str,
        direction: Option<Direction>,
        unit: &'static str,
        estimate: &Estimate,
    ) -> Self {
        Self {
            interval: Some((estimate.low, estimate.high)),
            ..Self::new(name, direction, unit, estimate.mean)
        }
    }
}

/// The figures of a check.
fn figures(report: &CheckReport) -> Vec<CheckFigure> {
    let mut all = Vec::new();
    for family in &report.families {
        let name = if family.address.is_ipv4() {
            "connect_ipv4"
        } else {
            "connect_ipv6"
        };
        all.extend(
            family
                .connect_us
                .map(|us| CheckFigure::new(name, None, "us", us)),
        );
    }
    if let Some(trips) = &report.round_trips {
        all.push(CheckFigure::of("rtt", None, "us", &trips.mean_us));
        all.extend(
            trips
                .p99_us
                .map(|us| CheckFigure::new("rtt_p99", None, "us", us)),
        );
        all.push(CheckFigure::new(
            "rtt_lost",
            None,
            "messages",
            trips.lost as f64,
        ));
    }
    if let Some(path) = &report.path {
        let hops = path.hops.map(f64::from);
        all.extend(hops.map(|hops| CheckFigure::new("hops", None, "hops", hops)));
        let mtu = path.mtu_bytes.map(|mtu| mtu as f64);
        all.extend(mtu.map(|mtu| CheckFigure::new("path_mtu", None, "bytes", mtu)));
    }
    for tcp in &report.tcp {
        let of = Some(tcp.direction);
        for (name, goodput) in [
            ("goodput", tcp.one_bps),
            ("goodput_several", tcp.several_bps),
        ] {
            all.extend(goodput.map(|goodput| CheckFigure::of(name, of, "bit/s", &goodput)));
        }
    }
    for udp in &report.udp {
        let of = Some(udp.direction);
        all.extend(
            udp.loss
                .map(|loss| CheckFigure::of("udp_loss", of, "share", &loss)),
        );
        all.extend(
            udp.jitter_us
                .map(|us| CheckFigure::new("udp_jitter", of, "us", us)),
        );
    }
    for load in report.load.iter().flat_map(|load| &load.directions) {
        let of = Some(load.direction);
        all.push(CheckFigure::new("added_delay", of, "us", load.added_us));
    }
    all
}

/// The lines of a check, the header first.
pub(super) fn lines(report: &CheckReport) -> Vec<String> {
    let rows = figures(report);
    let rows = rows
        .iter()
        .map(|row| column::row(&CheckFigure::COLUMNS, row));
    std::iter::once(column::header(&CheckFigure::COLUMNS))
        .chain(rows)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::check::CheckUdp;

    #[test]
    fn a_figure_is_a_row() {
        let report = CheckReport {
            udp: vec![CheckUdp {
                direction: Direction::Up,
                rate_bps: 1e6,
                loss: Some(Estimate::single(0.25)),
                jitter_us: Some(3.5),
            }],
            ..CheckReport::default()
        };
        assert_eq!(
            lines(&report),
            [
                "figure,direction,unit,value,low,high",
                "udp_loss,up,share,0.25,0.25,0.25",
                "udp_jitter,up,us,3.5,,",
            ]
        );
    }
}
