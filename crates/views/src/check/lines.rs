//! A line for each thing that was measured: its figures with their intervals, and the command that measures it closely.

use crate::text::{percent, time_us, wrap};
use crate::width::LineWidth;
use caudal_core::check::{
    CheckFamily, CheckLoad, CheckPart, CheckPath, CheckReport, CheckRoundTrips, CheckTcp, CheckUdp,
};
use caudal_core::plan::Direction;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_stats::Estimate;
use std::fmt::{self, Display, Formatter};

/// The width of the names in front.
const NAME: usize = 11;
/// Minimum width of the text behind them.
const MIN_WIDTH: usize = 20;

/// What was measured in one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckLine {
    /// Its name.
    pub name: &'static str,
    /// Its figures.
    pub text: String,
    /// The command that measures it closely, without the program and the host.
    pub command: &'static str,
}

impl Display for CheckLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self {
            name,
            text,
            command,
        } = self;
        write!(f, "{name:<NAME$} {text} [{command}]")
    }
}

/// All lines.
#[must_use]
pub fn lines(report: &CheckReport) -> Vec<CheckLine> {
    let parts = [
        CheckPart::Families,
        CheckPart::RoundTrips,
        CheckPart::Path,
        CheckPart::DownloadSeveral,
        CheckPart::UploadSeveral,
        CheckPart::UdpDownload,
        CheckPart::UdpUpload,
        CheckPart::UnderLoad,
    ];
    parts
        .iter()
        .filter_map(|part| line(report, *part))
        .collect()
}

/// The line that is complete with this test; `None` where another completes it, or it has no result. The line of TCP in a direction is
/// complete with the test of several flows.
#[must_use]
pub fn line(report: &CheckReport, part: CheckPart) -> Option<CheckLine> {
    let tcp = |direction| {
        report
            .tcp
            .iter()
            .find(move |tcp| tcp.direction == direction)
    };
    let udp = |direction| {
        report
            .udp
            .iter()
            .find(move |udp| udp.direction == direction)
    };
    let (name, text, command) = match part {
        CheckPart::Download | CheckPart::Upload => return None,
        CheckPart::Families => ("family", families(&report.families)?, "connect"),
        CheckPart::RoundTrips => (
            "round trip",
            round_trips(report.round_trips.as_ref()?),
            "rtt",
        ),
        CheckPart::Path => ("path", path(report.path.as_ref()?)?, "path"),
        CheckPart::DownloadSeveral => ("download", self::tcp(tcp(Direction::Down)?)?, "tcp -R"),
        CheckPart::UploadSeveral => ("upload", self::tcp(tcp(Direction::Up)?)?, "tcp"),
        CheckPart::UdpDownload => ("UDP down", self::udp(udp(Direction::Down)?), "udp -R"),
        CheckPart::UdpUpload => ("UDP up", self::udp(udp(Direction::Up)?), "udp"),
        CheckPart::UnderLoad => ("under load", load(report.load.as_ref()?), "quality"),
    };
    Some(CheckLine {
        name,
        text,
        command,
    })
}

/// A line folded to a width, what goes on below its text.
#[must_use]
pub fn fold_line(line: &CheckLine, width: LineWidth) -> String {
    let columns = width.columns().unwrap_or(usize::MAX);
    let columns = columns.saturating_sub(NAME + 1).max(MIN_WIDTH);
    let mut lines = wrap(&line.text, columns);
    // A command is not divided.
    let command = format!("[{}]", line.command);
    match lines.last_mut() {
        Some(last) if last.chars().count() + 1 + command.len() <= columns => {
            *last = format!("{last} {command}");
        }
        _ => lines.push(command),
    }
    format!(
        "{:<NAME$} {}",
        line.name,
        lines.join(&format!("\n{:width$}", "", width = NAME + 1))
    )
}

/// A mean with its interval.
fn estimate(estimate: &Estimate, unit: Unit) -> String {
    let shown = EstimateInUnit::new(estimate, unit);
    match shown.confidence_interval() {
        Some(interval) => format!("{} ({interval})", shown.mean()),
        None => shown.mean(),
    }
}

fn families(families: &[CheckFamily]) -> Option<String> {
    let each = families.iter().map(|family| {
        let name = if family.address.is_ipv4() {
            "IPv4"
        } else {
            "IPv6"
        };
        match family.connect_us {
            Some(us) => format!("{name} connects in {}", time_us(us)),
            None => format!("{name} does not connect"),
        }
    });
    let each: Vec<String> = each.collect();
    (!each.is_empty()).then(|| each.join(", "))
}

fn round_trips(trips: &CheckRoundTrips) -> String {
    let seconds = Estimate {
        mean: trips.mean_us.mean / 1e6,
        low: trips.mean_us.low / 1e6,
        high: trips.mean_us.high / 1e6,
        ..trips.mean_us
    };
    let p99 = trips
        .p99_us
        .map_or_else(String::new, |us| format!(", p99 {}", time_us(us)));
    format!(
        "{}{p99}; {} of {} lost",
        estimate(&seconds, Unit::Seconds),
        trips.lost,
        trips.messages
    )
}

fn path(path: &CheckPath) -> Option<String> {
    let hops = path.hops.map(|hops| match hops {
        1 => "1 hop".to_owned(),
        hops => format!("{hops} hops"),
    });
    let mtu = path.mtu_bytes.map(|mtu| format!("path MTU {mtu} B"));
    let known: Vec<String> = hops.into_iter().chain(mtu).collect();
    (!known.is_empty()).then(|| known.join(", "))
}

fn tcp(tcp: &CheckTcp) -> Option<String> {
    let several = tcp.several;
    Some(match (&tcp.one_bps, &tcp.several_bps) {
        (Some(one), Some(more)) => {
            let without_gain = if tcp.may_gain() {
                "whether that is more cannot be told"
            } else {
                "no more"
            };
            let gives = tcp.gain.map_or_else(
                || without_gain.to_owned(),
                |gain| format!("{gain:.1} times as much"),
            );
            format!(
                "{} with one flow; {several} flows: {}, {gives}",
                estimate(one, Unit::BitPerSecond),
                EstimateInUnit::new(more, Unit::BitPerSecond).mean(),
            )
        }
        (Some(one), None) => format!("{} with one flow", estimate(one, Unit::BitPerSecond)),
        (None, Some(more)) => {
            format!(
                "{} with {several} flows",
                estimate(more, Unit::BitPerSecond)
            )
        }
        (None, None) => return None,
    })
}

fn udp(udp: &CheckUdp) -> String {
    let rate = Unit::BitPerSecond.show(udp.rate_bps);
    let lost = udp.loss.as_ref().map_or_else(
        || "loss not known".to_owned(),
        |loss| {
            let interval = EstimateInUnit::new(loss, Unit::Share)
                .confidence_interval()
                .map_or_else(String::new, |interval| format!(" ({interval})"));
            format!("{}{interval} lost", percent(loss.mean))
        },
    );
    let jitter = udp
        .jitter_us
        .map_or_else(String::new, |us| format!(", jitter {}", time_us(us)));
    format!("{lost} at {rate}{jitter}")
}

fn load(load: &CheckLoad) -> String {
    let each = load.directions.iter().map(|one| {
        let name = match one.direction {
            Direction::Up => "upload",
            Direction::Down => "download",
        };
        format!("{name} adds {}", time_us(one.added_us.max(0.0)))
    });
    let grade = load.grade.map_or_else(
        || "no grade".to_owned(),
        |grade| format!("grade {}", grade.name()),
    );
    let parts: Vec<String> = std::iter::once(grade).chain(each).collect();
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::quality::Grade;

    #[test]
    fn every_figure_has_its_line_with_its_command() {
        let report = CheckReport {
            families: vec![
                CheckFamily {
                    address: "192.0.2.1".parse().unwrap(),
                    connect_us: Some(12_300.0),
                    error: None,
                },
                CheckFamily {
                    address: "2001:db8::1".parse().unwrap(),
                    connect_us: None,
                    error: Some("timed out".into()),
                },
            ],
            round_trips: Some(CheckRoundTrips {
                mean_us: Estimate {
                    low: 12_200.0,
                    high: 12_400.0,
                    method: caudal_stats::IntervalMethod::BatchMeansT,
                    n: 300,
                    confidence: 0.95,
                    ..Estimate::single(12_300.0)
                },
                p99_us: Some(14_000.0),
                messages: 300,
                lost: 0,
            }),
            path: Some(CheckPath {
                hops: Some(3),
                mtu_bytes: Some(1500),
                local_mtu_bytes: Some(1500),
            }),
            tcp: vec![CheckTcp {
                direction: Direction::Down,
                one_bps: Some(Estimate::single(20e6)),
                one_limited_by: None,
                several: 8,
                several_bps: Some(Estimate::single(93e6)),
                several_limited_by: None,
                gain: Some(4.65),
            }],
            udp: vec![CheckUdp {
                direction: Direction::Up,
                rate_bps: 2e6,
                loss: Some(Estimate::single(0.0)),
                jitter_us: Some(120.0),
            }],
            load: Some(CheckLoad {
                grade: Some(Grade::B),
                no_grade: None,
                directions: Vec::new(),
            }),
            ..CheckReport::default()
        };
        assert_eq!(
            lines(&report)
                .iter()
                .map(ToString::to_string)
                .collect::<Vec<_>>(),
            [
                "family      IPv4 connects in 12.30 ms, IPv6 does not connect [connect]",
                "round trip  12.300 ms (95 % CI 12.200–12.400 ms), p99 14 ms; 0 of 300 lost [rtt]",
                "path        3 hops, path MTU 1500 B [path]",
                "download    20 Mbit/s with one flow; 8 flows: 93 Mbit/s, 4.7 times as much [tcp -R]",
                "UDP up      0 % lost at 2 Mbit/s, jitter 120 µs [udp]",
                "under load  grade B [quality]",
            ]
        );
        // Intervals that overlap are no reason to say that there is nothing to gain.
        let mut unclear = report.clone();
        unclear.tcp[0].gain = None;
        assert!(
            lines(&unclear)[3]
                .text
                .contains("8 flows: 93 Mbit/s, whether that is more cannot be told")
        );
        unclear.tcp[0].several_bps = Some(Estimate::single(21e6));
        assert!(
            lines(&unclear)[3]
                .text
                .contains("8 flows: 21 Mbit/s, no more")
        );
        assert!(lines(&CheckReport::default()).is_empty());
        assert_eq!(
            fold_line(&lines(&report)[1], LineWidth::of_columns(60)),
            "round trip  12.300 ms (95 % CI 12.200–12.400 ms), p99 14 ms;\n            0 of 300 lost [rtt]"
        );
    }
}
