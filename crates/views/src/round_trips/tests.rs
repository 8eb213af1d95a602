//! Round trips as text.

use super::closing::Closing;
use super::csv::{ReplyRow, csv_rows};
use super::samples::{SampleRow, raw};
use super::size_table::{header, rows};
use super::statistics_table::{legend, table};
use crate::column;
use crate::text::WIDTH;
use crate::width::LineWidth;
use caudal_analysis::echo::{
    Departure, EchoRecord, EchoSeries, EchoSummaryOptions, OneWayTransit, Reply,
};
use caudal_core::echo::SizeSummary;
use caudal_core::run::Run;

fn record(clients: u32, sizes: &[u32], rtts_ns: &[u64]) -> EchoRecord {
    let mut series = Vec::new();
    for size in sizes {
        for client in 0..clients {
            let reply = |ns: &u64| {
                if *ns == 0 {
                    Reply::LOST
                } else {
                    Reply::after(*ns)
                }
            };
            series.push(EchoSeries {
                client,
                size: *size,
                first: rtts_ns.first().map(reply),
                replies: rtts_ns[1..].iter().map(reply).collect(),
                ..EchoSeries::default()
            });
        }
    }
    EchoRecord {
        series,
        clock: None,
    }
}

fn summary(record: &EchoRecord) -> Vec<SizeSummary> {
    record.summarise(EchoSummaryOptions {
        confidence: 0.98,
        include_first: false,
    })
}

#[test]
fn the_table_by_size_fits_the_terminal_whatever_the_times() {
    let widths = |line: &str| line.chars().count();
    assert!(widths(&header(0.9999, LineWidth::UNLIMITED)) <= WIDTH);
    for scale in [1, 1000, 1_000_000, 10_000_000_000] {
        let rtts: Vec<u64> = (1..5000).map(|nth| (900 + nth % 97) * scale).collect();
        for size in summary(&record(2, &[1, 16 << 20], &rtts)) {
            for line in rows(&size, true, LineWidth::UNLIMITED) {
                assert!(widths(&line) <= WIDTH, "{line}");
            }
        }
    }
}

#[test]
fn percentiles_with_too_few_samples_are_dashes() {
    let few = summary(&record(1, &[64], &[50_000, 10_000, 20_000, 30_000]));
    assert_eq!(
        header(0.98, LineWidth::UNLIMITED),
        "  size B  first   mean   ±98%     sd    min    p50    p90    p99  p99.9    max"
    );
    let line = rows(&few[0], false, LineWidth::UNLIMITED).remove(0);
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..3], ["64", "50.00", "20.00"]);
    assert_eq!(
        words[4..],
        ["10.00", "10.00", "20.00", "–", "–", "–", "30.00"]
    );
    let none = summary(&record(1, &[64], &[50_000, 0]));
    assert_eq!(
        rows(&none[0], false, LineWidth::UNLIMITED),
        ["      64  50.00  no reply in time"]
    );
}

#[test]
fn the_table_of_the_study_has_a_column_per_size() {
    let sizes = summary(&record(
        2,
        &[1, 65_536],
        &[9_000_000, 400_000, 600_000, 500_000],
    ));
    let lines = table(&sizes, "TCP", 2, 3);
    assert_eq!(lines[0], "TCP/2/3       1   65536");
    assert_eq!(lines[1], "MED      0.5000  0.5000");
    let names: Vec<&str> = lines
        .iter()
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    assert_eq!(names, ["TCP/2/3", "MED", "DVP", "LOW", "UPP"]);
    assert!(
        lines
            .iter()
            .all(|line| line.split_whitespace().count() == 3)
    );
    assert!(
        legend(0.98, LineWidth::UNLIMITED).contains("ms")
            && legend(0.98, LineWidth::UNLIMITED).contains("98 %")
    );
}

#[test]
fn there_is_a_csv_row_for_each_client_and_one_for_all_and_every_row_is_full() {
    let sizes = summary(&record(2, &[1, 2], &[9_000, 4_000, 6_000]));
    let rows = csv_rows("tcp", &sizes[1], &[30.0, 50.0]);
    assert_eq!(rows.len(), 3);
    for row in &rows {
        assert_eq!(row.split(',').count(), ReplyRow::COLUMNS.len(), "{row}");
    }
    assert!(
        rows[1].starts_with("tcp,2,1,50.000,2,0,0,0,9.000,2,5.000,"),
        "{}",
        rows[1]
    );
    assert!(
        rows[2].starts_with("tcp,2,all,40.000,4,0,0,0,9.000,4,5.000,"),
        "{}",
        rows[2]
    );
    let lost = summary(&record(1, &[1], &[0, 0]));
    assert_eq!(
        csv_rows("udp", &lost[0], &[])[0].split(',').count(),
        ReplyRow::COLUMNS.len()
    );
}

#[test]
fn every_sample_is_written_the_first_as_number_0_and_the_lost_without_a_time() {
    let mut record = record(1, &[8], &[9_000, 4_000, 0]);
    record.series[0].departures = vec![Departure {
        intended_ns: 5,
        late_ns: 6,
        one_way: Some(OneWayTransit {
            up_ns: 7,
            down_ns: 8,
        }),
    }];
    let text: String = raw(&record).collect();
    assert_eq!(text, "0,8,0,9000,,,,\n0,8,1,4000,5,6,,\n0,8,2,,,,,\n");
    assert_eq!(
        column::header(&SampleRow::COLUMNS),
        "client,size_bytes,index,rtt_ns,intended_ns,late_ns,up_ns,down_ns"
    );
}

#[test]
fn the_closing_block_gives_losses_with_their_interval() {
    let sizes = summary(&record(1, &[8], &[9_000, 4_000, 0, 5_000]));
    let document = serde_json::json!({
        "schema": "caudal.run/1", "id": "1", "tool": {"name": "caudal"}, "plan": {"kind": "rtt"},
        "summary": {"sizes": sizes, "include_first": false, "messages": 3, "lost": 1, "elapsed_s": 1.0,
            "kernel_stamps_missing": "the kernel stamped none"},
    });
    let run: Run = serde_json::from_value(document).unwrap();
    let closing = Closing {
        run: &run,
        summary: run.round_trips().unwrap(),
    };
    let text = closing.every_line(LineWidth::UNLIMITED).join("\n");
    assert!(
        text.contains("lost: 1 of 3 messages (33.33 %); 0 late, 0 duplicate"),
        "{text}"
    );
    assert!(
        text.contains("8 B: 1 of 3, 33 % (98 % CI 5–83 %, Wilson)"),
        "{text}"
    );
    assert!(
        text.contains("cannot be separated: the kernel stamped none"),
        "{text}"
    );
    let brief = closing.lines(LineWidth::UNLIMITED);
    assert_eq!(
        brief,
        [
            "rtt: avg 4 µs (98 % CI 0–229 µs), min/p50/max 4.000/4.000/5.000 µs",
            "lost: 1 of 3 messages, 33 % (98 % CI 5–83 %, Wilson)",
        ]
    );
}
