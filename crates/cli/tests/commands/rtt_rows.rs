//! `caudal rtt` as it is under way: a row for each interval, in text and as events.

use crate::support::run_caudal;
use serde_json::Value;

trials! {
    a_test_of_one_size_shows_a_row_for_each_interval,
    rows_count_what_the_result_counts,
    a_sweep_has_no_rows_and_a_table,
}

fn a_test_of_one_size_shows_a_row_for_each_interval() {
    let ended = run_caudal("rtt -t 0.5 -i 0.1").done();
    let lines: Vec<&str> = ended.stdout.lines().collect();
    let header = lines
        .iter()
        .position(|line| line.contains("replies"))
        .unwrap();
    for column in ["interval", "lost", "min", "avg", "p99", "max"] {
        assert!(lines[header].contains(column), "{ended:#?}");
    }
    assert!(lines[header + 1].contains("0.00-0.10 s"), "{ended:#?}");
    assert!(lines[header + 2].contains("0.10-0.20 s"), "{ended:#?}");
    let total = lines
        .iter()
        .find(|line| line.starts_with("rtt: avg "))
        .unwrap();
    assert!(total.contains("min/p50/p99/max"), "{total}");
    // The interval may be too wide for one line.
    let after = lines.iter().skip_while(|line| *line != total).skip(1);
    let after: Vec<&&str> = after.skip_while(|line| line.starts_with("    ")).collect();
    assert!(after[0].starts_with("lost: none of "), "{ended:#?}");
    // What kernels do not stamp on a busy machine has no such line.
    let parts = after.get(1);
    assert!(
        parts.is_none_or(|line| line.starts_with("where: ")),
        "{ended:#?}"
    );
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{ended:#?}"
    );
}

fn rows_count_what_the_result_counts() {
    for words in [
        "rtt -t 0.5 -i 0.1",
        "rtt -t 0.5 -i 0.1 --proto udp -P 2",
        "rtt -t 0.5 -i 0.1 --proto udp --every 1ms",
        "rtt -t 0.5 -i 0.1 --every 1ms -l 100",
    ] {
        let ended = run_caudal(&format!("{words} --json-stream")).done();
        let events: Vec<Value> = ended
            .stdout
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let rows: Vec<&Value> = events
            .iter()
            .filter(|event| event["event"] == "round_trips")
            .collect();
        assert!(rows.len() > 1, "{words}: {} rows", rows.len());
        let run = &events.last().unwrap()["run"];
        let pooled = &run["summary"]["sizes"][0]["pooled"];
        let replies: u64 = rows
            .iter()
            .map(|row| row["replies"].as_u64().unwrap())
            .sum();
        let answered = pooled["sent"].as_u64().unwrap() - pooled["lost"].as_u64().unwrap();
        assert!(
            replies <= answered && replies > 0,
            "{words}: {replies} in rows, {answered} in all"
        );
        let min = |row: &&Value| row["min_us"].as_f64();
        let smallest = rows.iter().filter_map(min).fold(f64::INFINITY, f64::min);
        assert!(
            smallest >= pooled["rtt_us"]["min"].as_f64().unwrap() - 1e-6,
            "{words}: {smallest} {pooled}"
        );
        for (one, next) in rows.iter().zip(&rows[1..]) {
            assert!(
                one["end_s"].as_f64() <= next["start_s"].as_f64().map(|start| start + 1e-9),
                "{words}: {one} {next}"
            );
        }
    }
}

fn a_sweep_has_no_rows_and_a_table() {
    let ended = run_caudal("rtt --sizes 1,64 --count 20").done();
    assert!(!ended.stdout.contains("replies  "), "{ended:#?}");
    assert!(ended.stdout.contains("size B  first"), "{ended:#?}");
}
