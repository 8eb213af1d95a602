//! Repeated transfers: blocks, their statistics, and the runs that a precision takes.

use super::report;
use crate::support::{Running, SOON, caudal, run_caudal};
use serde_json::Value;

trials! {
    each_block_has_a_run_of_each_cell_in_random_order,
    the_table_has_a_row_for_each_cell,
    a_pilot_decides_on_the_number_of_runs,
    an_interrupt_reports_what_is_complete,
}

fn cells(document: &Value) -> &Vec<Value> {
    report(document)["cells"].as_array().unwrap()
}

fn each_block_has_a_run_of_each_cell_in_random_order() {
    let document = run_caudal(
        "file --via tcp --sizes 100K,200K --write-size 1400,256Ki --repeat 6 --seed 7 --json",
    )
    .done()
    .json();
    let file = report(&document);
    assert_eq!(
        (file["seed"].as_u64(), file["discarded"].as_u64()),
        (Some(7), Some(4))
    );
    let runs = file["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 24);
    let order = |block: usize| -> Vec<u64> {
        let own = runs.iter().filter(|run| run["block"] == block);
        own.map(|run| run["cell"].as_u64().unwrap()).collect()
    };
    let mut orders: Vec<Vec<u64>> = (1..=6).map(order).collect();
    assert!(orders.iter().any(|one| *one != orders[0]), "{orders:?}");
    for one in &mut orders {
        one.sort_unstable();
        assert_eq!(*one, [0, 1, 2, 3]);
    }
    assert_eq!(document["transfers"].as_array().unwrap().len(), 24);
    for cell in cells(&document) {
        assert_eq!(cell["n"], 6);
        let time = &cell["time_s"];
        assert_eq!(time["method"], "independent_runs_t");
        let half = (time["high"].as_f64().unwrap() - time["low"].as_f64().unwrap()) / 2.0;
        let error = half / time["mean"].as_f64().unwrap();
        assert!((cell["error"].as_f64().unwrap() - error).abs() < 1e-9);
        assert_eq!(cell["goal_met"], error <= 0.1);
        assert!(cell["runs_needed"].as_u64() >= Some(2));
    }
}

fn the_table_has_a_row_for_each_cell() {
    let ended = run_caudal("file --via tcp --sizes 100K,1M --write-size 1400,256Ki --repeat 5 -v");
    // Small transfers on a busy machine may earn warnings.
    assert_eq!(ended.code, Some(0), "{ended:#?}");
    let text = &ended.stdout;
    for words in [
        "\n100 kB ",
        "\n1 MB ",
        "\ntcp write 1400 ",
        "\ntcp ",
        " handshake ",
        "20 transfers in 5 blocks, 4 more",
    ] {
        assert!(text.contains(words), "{words:?}: {text}");
    }
    assert_eq!(
        text.lines()
            .filter(|line| line.starts_with("block "))
            .count(),
        20,
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

fn a_pilot_decides_on_the_number_of_runs() {
    let document =
        run_caudal("file --via tcp --sizes 200K --until 10% --repeat 5 --max-runs 12 --json")
            .done()
            .json();
    let file = report(&document);
    assert_eq!(file["goal"]["pilot_runs"], 5);
    let cell = &cells(&document)[0];
    let n = cell["n"].as_u64().unwrap();
    assert_eq!(
        n,
        cell["runs_needed"].as_u64().unwrap().clamp(5, 12),
        "{cell}"
    );
    assert_eq!(cell["time_s"]["method"], "two_stage_t");
    if cell["goal_met"] == false {
        let codes: Vec<&str> = document["warnings"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|warning| warning["code"].as_str())
            .collect();
        assert!(codes.contains(&"few_repeats"), "{codes:?}");
    }
}

fn an_interrupt_reports_what_is_complete() {
    let command = "file --via tcp --sizes 1M --repeat 5000 -v";
    let running = Running::start(&mut caudal(command.split(' ')));
    running.line_with("block 3");
    running.signal("INT");
    let ended = running.wait(SOON);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert!(ended.stdout.contains("\n1 MB "), "{ended:#?}");
    assert!(
        ended.stdout.contains("warning: interrupted after "),
        "{ended:#?}"
    );
}
