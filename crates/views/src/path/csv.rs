//! A path as comma-separated values.

use crate::column::{self, Column, fixed, name_in_json, optional};
use caudal_core::echo::OneWaySummary;
use caudal_core::path::{
    HopAnswering, NarrowCapacity, PathBetweenEnds, PathDirection, PathHop, PathLink, PathReport,
    PathShaper,
};
use caudal_core::plan::Direction;
use caudal_core::text::ExternalText;
use caudal_core::units::BitRate;
use caudal_core::window::WindowReport;
use caudal_stats::Estimate;

/// A row of the first table: a hop, with the link that leads to it.
#[derive(Debug)]
pub struct HopRow<'a> {
    report: &'a PathReport,
    hop: &'a PathHop,
    link: Option<&'a PathLink>,
}

impl HopRow<'_> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 22] = [
        Column::new(
            "ttl",
            "",
            "the TTL at which packets end at the hop, from 1",
            |row| row.hop.ttl.to_string(),
        ),
        Column::new(
            "address",
            "",
            "the address that answers, the latest where it changed; empty where nothing answers",
            |row| optional(row.hop.address),
        ),
        Column::new("name", "", "the name of that address", |row| {
            optional(row.hop.name.as_ref().map(ExternalText::cell))
        }),
        Column::new(
            "answering",
            "",
            "`answers`, `rate_limited`, `silent` (hops beyond it answer) or `nothing_from_here`",
            |row| name_in_json(&row.hop.answering),
        ),
        Column::new(
            "other_addresses",
            "",
            "the addresses that other flows met there, with blanks between them",
            HopRow::other_addresses,
        ),
        Column::new(
            "probes",
            "probes",
            "sent to it, without those that were too large for the path",
            |row| row.hop.probes.to_string(),
        ),
        Column::new(
            "unanswered",
            "probes",
            "of these, not answered in time",
            |row| row.hop.unanswered.to_string(),
        ),
        Column::new(
            "loss",
            "share, 0 to 1",
            "`unanswered` of `probes`, where it answers; at a limited rate it is the limit's, not the path's",
            |row| fixed(row.loss(), 6),
        ),
        Column::new(
            "answer_interval_ms",
            "ms",
            "the time between two probes that it answered reliably, where its rate is limited",
            |row| fixed(row.hop.answer_interval_ms, 6),
        ),
        Column::new(
            "rtt_min_ms",
            "ms",
            "minimum round-trip time of the smallest probes",
            |row| fixed(row.hop.times_ms().map(|rtt| rtt.min), 6),
        ),
        Column::new("rtt_mean_ms", "ms", "their mean", |row| {
            fixed(row.hop.times_ms().map(|rtt| rtt.mean), 6)
        }),
        Column::new("rtt_p50_ms", "ms", "their median", |row| {
            fixed(row.hop.rtt_ms.as_ref().map(|rtt| rtt.p50), 6)
        }),
        Column::new("rtt_max_ms", "ms", "their maximum", |row| {
            fixed(row.hop.times_ms().map(|rtt| rtt.max), 6)
        }),
        Column::new(
            "return_hops",
            "hops",
            "the hops that its answers took back, from their TTL",
            |row| optional(row.hop.return_hops),
        ),
        Column::new(
            "link_from_ttl",
            "",
            "the TTL of the near end of the link that leads to it, 0 for this machine",
            |row| optional(row.link.map(|link| link.from_ttl)),
        ),
        Column::new(
            "link_class",
            "",
            "what that link does to packets: `serialising`, `shaped`, `too_fast`, `filtered`, `perhaps_hidden_switch` or `undetermined`",
            |row| {
                row.link
                    .map_or_else(String::new, |link| name_in_json(&link.class))
            },
        ),
        Column::new(
            "link_confidence",
            "",
            "`low`, `medium` or `high`: that of the class",
            |row| {
                row.link
                    .map_or_else(String::new, |link| name_in_json(&link.confidence))
            },
        ),
        Column::new(
            "capacity_bps",
            "bit/s",
            "its capacity in the direction of the probes, frames on the wire; of a shaped link the minimum over the path so far",
            |row| fixed(row.capacity().map(|capacity| capacity.mean), 0),
        ),
        Column::new(
            "capacity_low_bps",
            "bit/s",
            "lower end of the interval of the capacity",
            |row| fixed(row.capacity_interval().map(|capacity| capacity.low), 0),
        ),
        Column::new("capacity_high_bps", "bit/s", "upper end", |row| {
            fixed(row.capacity_interval().map(|capacity| capacity.high), 0)
        }),
        Column::new(
            "at_least_bps",
            "bit/s",
            "the rate it has at least, without a capacity",
            |row| {
                fixed(
                    row.link
                        .and_then(|link| link.at_least_bps)
                        .map(BitRate::as_f64),
                    0,
                )
            },
        ),
        Column::new(
            "narrow",
            "0 or 1",
            "1 for the narrow link; empty where it cannot be determined",
            |row| {
                optional(
                    row.report
                        .narrow
                        .as_ref()
                        .map(|narrow| u8::from(narrow.ttl == row.hop.ttl)),
                )
            },
        ),
    ];

    fn other_addresses(&self) -> String {
        let others: Vec<String> = self
            .hop
            .other_addresses
            .iter()
            .map(ToString::to_string)
            .collect();
        others.join(" ")
    }

    /// The share of probes without an answer; `None` where nothing answers, for packets need not be lost there.
    fn loss(&self) -> Option<f64> {
        let is_silent = matches!(
            self.hop.answering,
            HopAnswering::Silent | HopAnswering::NothingFromHere
        );
        self.hop.loss().filter(|_| !is_silent)
    }

    fn capacity(&self) -> Option<&Estimate> {
        self.link.and_then(|link| link.capacity_bps.as_ref())
    }

    /// The capacity where it has an interval.
    fn capacity_interval(&self) -> Option<&Estimate> {
        self.capacity().filter(|capacity| capacity.confidence > 0.0)
    }
}

/// A row of the second table: a direction between both ends.
#[derive(Debug)]
pub struct DirectionRow<'a> {
    report: &'a PathReport,
    ends: &'a PathBetweenEnds,
    direction: &'a PathDirection,
}

impl DirectionRow<'_> {
    /// The columns, in their order.
    pub const COLUMNS: [Column<Self>; 17] = [
        Column::new("direction", "", "`up` (to the host) or `down`", |row| {
            row.direction.direction.name().to_owned()
        }),
        Column::new(
            "capacity_bps",
            "bit/s",
            "the capacity of the narrow link, frames on the wire",
            |row| fixed(row.capacity().map(|one| one.mean), 0),
        ),
        Column::new("capacity_low_bps", "bit/s", "its lower bound", |row| {
            fixed(row.capacity().map(|one| one.low), 0)
        }),
        Column::new("capacity_high_bps", "bit/s", "its upper bound", |row| {
            fixed(row.capacity().map(|one| one.high), 0)
        }),
        Column::new(
            "confidence",
            "",
            "confidence in that: `low`, `medium` or `high`",
            |row| {
                row.narrow()
                    .map_or_else(String::new, |narrow| name_in_json(&narrow.confidence))
            },
        ),
        Column::new(
            "shaped_bps",
            "bit/s",
            "the rate that a token bucket in the way sustains",
            |row| fixed(row.shaper().map(|shaper| shaper.rate_bps.mean), 0),
        ),
        Column::new(
            "bucket_bytes",
            "bytes",
            "what it lets pass at once",
            |row| optional(row.shaper().map(|shaper| shaper.bucket_bytes.get())),
        ),
        Column::new(
            "available_low_bps",
            "bit/s",
            "the lower end of the available bandwidth",
            |row| {
                optional(
                    row.direction
                        .available
                        .as_ref()
                        .map(|found| found.low_bps.bps()),
                )
            },
        ),
        Column::new(
            "available_high_bps",
            "bit/s",
            "its upper end; empty where no rate was above it",
            |row| {
                optional(
                    row.direction
                        .available
                        .as_ref()
                        .and_then(|found| found.high_bps)
                        .map(BitRate::bps),
                )
            },
        ),
        Column::new(
            "rtt_min_ms",
            "ms",
            "the minimum round-trip time without load, of both directions together",
            |row| {
                ms(row
                    .ends
                    .baseline
                    .as_ref()
                    .and_then(|all| all.rtt_us)
                    .map(|rtt| rtt.min))
            },
        ),
        Column::new(
            "delay_variation_p50_ms",
            "ms",
            "one-way delay above its minimum: median",
            |row| ms(row.one_way().map(|way| way.pdv_p50_us)),
        ),
        Column::new("delay_variation_p90_ms", "ms", "90th percentile", |row| {
            ms(row.one_way().and_then(|way| way.pdv_p90_us))
        }),
        Column::new("bdp_bytes", "bytes", "the bandwidth-delay product", |row| {
            optional(row.window().and_then(|window| window.bdp_bytes))
        }),
        Column::new(
            "window_needed_bytes",
            "bytes",
            "the window that TCP needs",
            |row| optional(row.window().and_then(|window| window.needed_bytes)),
        ),
        Column::new(
            "window_allowed_bytes",
            "bytes",
            "the largest that the kernels of both ends reach by their own tuning",
            |row| optional(row.window().and_then(WindowReport::kernels_max_bytes)),
        ),
        Column::new(
            "flows_needed",
            "flows",
            "the flows that fill the path with that, where one does not",
            |row| optional(row.window().and_then(|window| window.flows_needed)),
        ),
        Column::new(
            "duplex_mode",
            "",
            "the duplex mode of the links: `full`, `half`, `mismatch_near_half`, `mismatch_far_half`, `mismatch` or `cannot_tell`",
            |row| {
                row.report
                    .duplex
                    .as_ref()
                    .map_or_else(String::new, |duplex| name_in_json(&duplex.mode))
            },
        ),
    ];

    const fn narrow(&self) -> Option<&NarrowCapacity> {
        self.direction.narrow.as_ref()
    }

    fn capacity(&self) -> Option<Estimate> {
        self.narrow().and_then(|narrow| narrow.capacity_bps)
    }

    fn shaper(&self) -> Option<&PathShaper> {
        self.narrow().and_then(|narrow| narrow.shaper.as_ref())
    }

    fn window(&self) -> Option<&WindowReport> {
        self.direction.window.as_deref()
    }

    fn one_way(&self) -> Option<&OneWaySummary> {
        let baseline = self.ends.baseline.as_ref()?;
        match self.direction.direction {
            Direction::Up => baseline.up.as_ref(),
            Direction::Down => baseline.down.as_ref(),
        }
    }
}

/// The lines of a path: the header, then each hop; where both ends measured, an empty line and the same of each direction.
#[must_use]
pub fn csv_lines(report: &PathReport) -> Vec<String> {
    let mut lines = vec![column::header(&HopRow::COLUMNS)];
    lines.extend(report.hops.iter().map(|hop| {
        let link = report.link(hop.ttl);
        column::row(&HopRow::COLUMNS, &HopRow { report, hop, link })
    }));
    if let Some(ends) = report.between_ends.as_deref() {
        lines.extend([String::new(), column::header(&DirectionRow::COLUMNS)]);
        lines.extend(ends.directions.iter().map(|direction| {
            let row = DirectionRow {
                report,
                ends,
                direction,
            };
            column::row(&DirectionRow::COLUMNS, &row)
        }));
    }
    lines
}

/// The cell, in ms, of a time in µs.
fn ms(us: Option<f64>) -> String {
    fixed(us.map(|us| us / 1e3), 6)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    #[test]
    fn every_hop_is_a_row_with_the_link_that_leads_to_it() {
        let lines = csv_lines(&sample::three_hops());
        assert_eq!(lines.len(), 4);
        assert_eq!(
            lines[2],
            "2,10.0.0.2,,answers,,40,0,0.000000,,2.000000,2.500000,2.400000,3.000000,,1,serialising,high,9940000,9691500,10188500,,1"
        );
        for report in [
            sample::three_hops(),
            sample::silent_hop(),
            sample::nothing(),
            sample::hostile(),
        ] {
            for line in csv_lines(&report) {
                assert_eq!(line.split(',').count(), HopRow::COLUMNS.len(), "{line}");
            }
        }
    }

    #[test]
    fn what_does_not_answer_has_no_loss() {
        let lines = csv_lines(&sample::silent_hop());
        assert_eq!(lines[2], "2,,,silent,,10,10,,,,,,,,,,,,,,,0");
    }

    #[test]
    fn a_name_is_no_formula_and_steers_nothing() {
        let mut report = sample::three_hops();
        report.hops[0].name = Some("=1+1,\u{1b}[2J".into());
        assert!(csv_lines(&report)[1].starts_with("1,10.0.0.1,\"'=1+1,\\u001b[2J\",answers"));
    }

    #[test]
    fn both_ends_are_a_second_table() {
        let mut report = sample::three_hops();
        report.between_ends = Some(Box::new(sample::between_ends()));
        report.duplex = Some(sample::duplex());
        let lines = csv_lines(&report);
        assert_eq!(
            lines[4..6],
            [String::new(), column::header(&DirectionRow::COLUMNS)]
        );
        assert_eq!(
            lines[6..],
            [
                "up,9940000,9840600,10039400,high,,,4753340,4901881,20.000000,0.040000,0.080000,24850,31062,20000,2,mismatch_near_half",
                "down,98800000,97812000,99788000,medium,10000000,60000,,,20.000000,0.040000,0.080000,25000,31250,20000,,mismatch_near_half",
            ]
        );
    }
}
