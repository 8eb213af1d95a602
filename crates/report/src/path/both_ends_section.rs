//! What both ends of a path found together in a report.

use crate::export::page::{Block, Cell, Table, TableColumn};
use crate::export::wording::{about, list, pair, sentence};
use caudal_core::echo::OneWaySummary;
use caudal_core::path::{
    DirectionThroughput, DuplexRun, DuplexRunKind, PathAvailable, PathBetweenEnds, PathDirection,
    PathDuplex, PathDuplexMode, PathReport, ThroughputRun,
};
use caudal_core::plan::Direction;
use caudal_core::quantity::{EstimateInUnit, Unit};
use caudal_core::units::BitRate;
use caudal_core::window::WindowReport;
use caudal_stats::Estimate;

/// The results in sentences: capacities, available bandwidth, duplex mode, next steps.
pub fn sentences(report: &PathReport) -> Vec<String> {
    let ends = report.between_ends.as_deref();
    let mut texts = Vec::new();
    if let Some(ends) = ends {
        texts.extend(each_direction(
            ends,
            "between both ends the path carries",
            |of| Some(rate(of.sustained_bps()?)),
        ));
        texts.extend(each_direction(ends, "the available bandwidth is", |of| {
            Some(available(of.available.as_ref()?))
        }));
    }
    texts.extend(report.duplex.as_ref().map(duplex));
    let remedies = report.duplex.iter().flat_map(|duplex| {
        let ends = [("this end", &duplex.near), ("the other end", &duplex.far)];
        ends.map(|(name, end)| Some(format!("{name}: {}", end.as_ref()?.remedy.as_ref()?)))
    });
    texts.extend(remedies.flatten());
    let between = report
        .duplex
        .iter()
        .filter_map(|duplex| duplex.remedy.as_ref());
    texts.extend(between.map(|remedy| format!("next step: {remedy}")));
    if let Some(ends) = ends {
        texts.extend(ends.directions.iter().filter_map(next_step));
        let cut_short = ends.cut_short.as_ref();
        texts
            .extend(cut_short.map(|why| format!("measuring between both ends ended early: {why}")));
    }
    texts.iter().map(|text| sentence(text)).collect()
}

/// The tables; empty where both ends measured nothing.
pub fn tables(report: &PathReport) -> Vec<Block> {
    let mut tables = Vec::new();
    if let Some(ends) = report.between_ends.as_deref() {
        tables.push(directions_table(ends));
        tables.extend(settings_table(ends));
        let throughput = ends.throughput.iter();
        tables.extend(throughput.flat_map(|of| of.directions.iter().map(throughput_table)));
    }
    let runs = report.duplex.iter().flat_map(|duplex| &duplex.runs);
    let runs: Vec<&DuplexRun> = runs.collect();
    if !runs.is_empty() {
        tables.push(runs_table(&runs));
    }
    tables.into_iter().map(Block::Table).collect()
}

/// What is known of each direction, in one sentence; `None` where nothing is.
fn each_direction(
    ends: &PathBetweenEnds,
    what: &str,
    of: impl Fn(&PathDirection) -> Option<String>,
) -> Option<String> {
    let known: Vec<String> = ends
        .directions
        .iter()
        .filter_map(|one| Some(format!("{} ({})", of(one)?, one.direction.in_text())))
        .collect();
    (!known.is_empty()).then(|| format!("{what} {}", list(&known)))
}

fn rate(estimate: &Estimate) -> String {
    EstimateInUnit::new(estimate, Unit::BitPerSecond).mean()
}

fn available(found: &PathAvailable) -> String {
    let low = found.low_bps.as_f64();
    match found.high_bps {
        Some(high) => pair(low, high.as_f64(), Unit::BitPerSecond, "to"),
        None => format!("at least {}", about(low, Unit::BitPerSecond)),
    }
}

fn duplex(found: &PathDuplex) -> String {
    let (mode, reason) = (found.mode.name(), found.reason.to_string());
    match found.mode {
        // The reason says that it cannot be determined.
        PathDuplexMode::CannotTell => format!("duplex mode: {reason}"),
        _ => format!(
            "duplex mode: {mode} ({} confidence), because {reason}",
            found.confidence.name()
        ),
    }
}

fn next_step(of: &PathDirection) -> Option<String> {
    let step = of.next_step.as_ref()?;
    Some(format!(
        "next step, {}: {}",
        of.direction.in_text(),
        step.text
    ))
}

fn directions_table(ends: &PathBetweenEnds) -> Table {
    let columns = [
        "narrow link",
        "shaped to",
        "available bandwidth",
        "delay variation p50",
        "p90",
        "BDP",
        "window needed",
        "kernels allow",
        "flows",
    ];
    let baseline = ends.baseline.as_ref();
    let one_way = |direction| match direction {
        Direction::Up => baseline?.up.as_ref(),
        Direction::Down => baseline?.down.as_ref(),
    };
    let rows = ends.directions.iter().map(|of| {
        let cells = direction_cells(of, one_way(of.direction));
        (of.direction.in_text().to_owned(), cells)
    });
    let rtt = baseline.and_then(|baseline| baseline.rtt_us);
    let rtt = rtt.map_or_else(String::new, |rtt| {
        format!(
            " The round-trip time without load is {} at least.",
            about(rtt.min / 1e6, Unit::Seconds)
        )
    });
    Table {
        caption: "Each direction between both ends".to_owned(),
        corner: "direction".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: Some(format!(
            "Rates are those of frames on the wire. Flows: how many fill the path with the window that the kernels allow.{rtt}"
        )),
    }
}

fn direction_cells(of: &PathDirection, one_way: Option<&OneWaySummary>) -> Vec<Cell> {
    let time = |us: f64| Cell::new(about(us / 1e6, Unit::Seconds));
    let size = |bytes: Option<u64>| {
        let text = bytes.map(|bytes| about(bytes as f64, Unit::Bytes));
        Cell::new(text.unwrap_or_default())
    };
    let with_interval = |estimate: &Estimate| {
        let shown = EstimateInUnit::new(estimate, Unit::BitPerSecond);
        Cell {
            text: shown.mean(),
            beside: shown.interval(),
            mark: None,
        }
    };
    let narrow = of.narrow.as_ref();
    let capacity = narrow.and_then(|narrow| narrow.capacity_bps.as_ref());
    let shaper = narrow.and_then(|narrow| narrow.shaper.as_ref());
    let window = of.window.as_deref();
    vec![
        capacity.map(with_interval).unwrap_or_default(),
        shaper.map_or_else(Cell::default, |shaper| Cell {
            beside: Some(format!(
                "{} at once",
                about(shaper.bucket_bytes.as_f64(), Unit::Bytes)
            )),
            ..with_interval(&shaper.rate_bps)
        }),
        of.available.as_ref().map_or_else(
            || Cell {
                beside: of.available_unknown.as_ref().map(ToString::to_string),
                ..Cell::default()
            },
            |found| Cell::new(available(found)),
        ),
        one_way.map(|way| time(way.pdv_p50_us)).unwrap_or_default(),
        one_way
            .and_then(|way| way.pdv_p90_us)
            .map(time)
            .unwrap_or_default(),
        size(window.and_then(|window| window.bdp_bytes)),
        size(window.and_then(|window| window.needed_bytes)),
        size(window.and_then(WindowReport::kernels_max_bytes)),
        Cell::new(
            window
                .and_then(|window| window.flows_needed)
                .map(|flows| flows.to_string())
                .unwrap_or_default(),
        ),
    ]
}

/// The kernel settings that are not what the path needs; `None` where there are none.
fn settings_table(ends: &PathBetweenEnds) -> Option<Table> {
    let rows: Vec<(String, Vec<Cell>)> = ends
        .directions
        .iter()
        .filter_map(|of| Some((of.direction, of.window.as_deref()?)))
        .flat_map(|(direction, window)| {
            window.insufficient().map(move |setting| {
                let value = setting.value.as_ref().map(ToString::to_string);
                let cells = [
                    format!("{}, at the {}", direction.in_text(), setting.end),
                    value.unwrap_or_default(),
                    setting.needed.clone(),
                    setting.command.clone().unwrap_or_default(),
                ];
                (setting.name.clone(), cells.map(Cell::new).to_vec())
            })
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        caption: "Settings of the kernels that are not what the path needs".to_owned(),
        corner: "setting".to_owned(),
        columns: ["direction, end", "value", "needed", "command"]
            .map(TableColumn::words)
            .to_vec(),
        rows,
        note: None,
    })
}

fn throughput_table(of: &DirectionThroughput) -> Table {
    let columns = [
        "flows",
        "window",
        "goodput",
        "expected",
        "transfer time ratio",
        "efficiency",
        "RTT",
        "buffer delay",
    ];
    let rows = of.runs.iter().map(|run| {
        let share = about(
            run.advertised_share_of_bdp.unwrap_or(run.share_of_bdp),
            Unit::Share,
        );
        (share, throughput_cells(run))
    });
    Table {
        caption: format!(
            "TCP throughput, {}, by window (RFC 6349): the bandwidth-delay product is {}, the ideal goodput {}",
            of.direction.in_text(),
            about(of.bdp_bytes.as_f64(), Unit::Bytes),
            about(of.ideal_bps.as_f64(), Unit::BitPerSecond)
        ),
        corner: "window of the BDP".to_owned(),
        columns: columns.map(TableColumn::number).to_vec(),
        rows: rows.collect(),
        note: None,
    }
}

fn throughput_cells(run: &ThroughputRun) -> Vec<Cell> {
    let window = run.advertised_bytes.unwrap_or(run.window_bytes);
    let share = |part: Option<f64>| part.map(|part| about(part, Unit::Share));
    let cells = [
        Some(run.flows.to_string()),
        Some(about(window.as_f64(), Unit::Bytes)),
        run.goodput_bps.as_ref().map(rate),
        run.expected_bps
            .map(|expected| about(expected.as_f64(), Unit::BitPerSecond)),
        run.transfer_time_ratio.map(|ratio| format!("{ratio:.2}")),
        share(run.efficiency),
        run.rtt_ms.map(|ms| about(ms / 1e3, Unit::Seconds)),
        share(run.buffer_delay),
    ];
    cells
        .map(|cell| Cell::new(cell.unwrap_or_default()))
        .to_vec()
}

fn runs_table(runs: &[&DuplexRun]) -> Table {
    let rows = runs.iter().map(|run| {
        let load = match run.kind {
            DuplexRunKind::Light => "light",
            DuplexRunKind::Doubled => "twice that",
            DuplexRunKind::Small => "small datagrams against full ones",
            DuplexRunKind::Saturating => "above the capacity",
        };
        let when = if run.both_ways {
            "both directions"
        } else {
            "alone"
        };
        let share = run.lost.zip(run.sent.filter(|sent| *sent > 0));
        let cells = [
            Some(run.direction.in_text().to_owned()),
            run.sent.map(|sent| sent.to_string()),
            run.lost.map(|lost| lost.to_string()),
            share.map(|(lost, sent)| about(lost as f64 / sent as f64, Unit::Share)),
            run.goodput_bps
                .map(BitRate::as_f64)
                .map(|bps| about(bps, Unit::BitPerSecond)),
        ];
        let cells = cells.map(|cell| Cell::new(cell.unwrap_or_default()));
        (format!("{load}, {when}"), cells.to_vec())
    });
    let mut columns = vec![TableColumn::words("direction")];
    columns.extend(["sent", "lost", "loss", "goodput"].map(TableColumn::number));
    Table {
        caption: "The runs that show the duplex mode".to_owned(),
        corner: "load".to_owned(),
        columns,
        rows: rows.collect(),
        note: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::run::Run;
    use serde_json::json;

    fn report() -> PathReport {
        let bounds = |bps: f64| json!({"mean": bps, "low": 0.99 * bps, "high": 1.01 * bps, "confidence": 0.0, "n": 2, "method": "error_bound"});
        let document = json!({
            "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"}, "plan": {"kind": "path"},
            "path": {
                "target": {"host": "h2", "address": "10.0.0.3", "port": 33434},
                "hops": [], "links": [], "narrow_unknown": "capacities were not asked for", "changes": [],
                "host_answer": "port_unreachable", "confidence": 0.95,
                "means": {"kernel_timestamps": true, "icmp_primers": true},
                "cost": {"packets": 1, "bytes": 60, "answers": 1, "elapsed_s": 0.1},
                "between_ends": {
                    "peer": "10.0.0.3:5201",
                    "directions": [
                        {
                            "direction": "up",
                            "narrow": {"capacity_bps": bounds(9.94e6), "evidence": "pairs", "longest_train_bytes": 76_900,
                                "confidence": "high", "reason": "two sizes of packet agree"},
                            "available": {"low_bps": 4_750_000, "high_bps": 4_900_000, "fleets": 7, "unfinished": false},
                            "next_step": {"remedy": "more_flows", "flows": 8, "text": "use 8 flows at once"},
                        },
                        {
                            "direction": "down",
                            "narrow": {"capacity_bps": bounds(98.8e6), "evidence": "pairs",
                                "shaper": {"rate_bps": bounds(10e6), "bucket_bytes": 60_000},
                                "longest_train_bytes": 1_187_336, "confidence": "medium", "reason": "a token bucket"},
                            "available_unknown": "a token bucket is in the way",
                        },
                    ],
                    "throughput": {"path_mtu_bytes": 1500, "baseline_rtt_ms": 20.0, "run_s": 10.0, "directions": [{
                        "direction": "up", "bottleneck_bps": 9_940_000, "ideal_bps": 9_300_000, "bdp_bytes": 24_850,
                        "runs": [{"flows": 1, "share_of_bdp": 0.25, "window_bytes": 6212, "goodput_bps": bounds(2.4e6),
                            "expected_bps": 2_480_000, "transfer_time_ratio": 3.875, "efficiency": 1.0, "rtt_ms": 20.5,
                            "buffer_delay": 0.025}],
                    }]},
                    "cost": {"packets": 1, "bytes": 60, "answers": 1, "elapsed_s": 0.1},
                },
                "duplex": {
                    "mode": "half", "confidence": "high", "reason": "both directions at once carry 0.50 of what they carry alone",
                    "runs": [{"kind": "light", "both_ways": true, "direction": "up", "load": 0.1, "sent": 2000, "lost": 178}],
                },
            },
        });
        let run: Run = serde_json::from_value(document).unwrap();
        run.path().unwrap().clone()
    }

    #[test]
    fn what_both_ends_found_is_sentences_and_tables() {
        let report = report();
        assert_eq!(
            sentences(&report),
            [
                "Between both ends the path carries 9.940 Mbit/s (upload) and 10.00 Mbit/s (download).",
                "The available bandwidth is 4.75 to 4.9 Mbit/s (upload).",
                "Duplex mode: half duplex (high confidence), because both directions at once carry 0.50 of what they carry alone.",
                "Next step, upload: use 8 flows at once.",
            ]
        );
        let tables = tables(&report);
        let cells: Vec<Vec<Vec<String>>> = tables
            .iter()
            .map(|block| {
                let Block::Table(table) = block else {
                    unreachable!("tables only")
                };
                let rows = table.rows.iter();
                let row = |(head, cells): &(String, Vec<Cell>)| {
                    assert_eq!(cells.len(), table.columns.len(), "{}", table.caption);
                    let texts = cells.iter().map(|cell| cell.text.clone());
                    std::iter::once(head.clone()).chain(texts).collect()
                };
                rows.map(row).collect()
            })
            .collect();
        assert_eq!(cells.len(), 3);
        assert_eq!(
            cells[0][0][..4],
            ["upload", "9.940 Mbit/s", "", "4.75 to 4.9 Mbit/s"]
        );
        assert_eq!(
            cells[0][1][..3],
            ["download", "98.80 Mbit/s", "10.00 Mbit/s"]
        );
        assert_eq!(
            cells[1][0],
            [
                "25 %",
                "1",
                "6212 B",
                "2.400 Mbit/s",
                "2.48 Mbit/s",
                "3.88",
                "100 %",
                "20.5 ms",
                "2.5 %"
            ]
        );
        assert_eq!(
            cells[2][0],
            [
                "light, both directions",
                "upload",
                "2000",
                "178",
                "8.9 %",
                ""
            ]
        );
    }
}
