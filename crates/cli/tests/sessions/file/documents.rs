//! Documents, comma-separated values, and what the store has of them.

use super::report;
use crate::support::place::Place;
use crate::support::run_caudal;

trials! {
    a_campaign_is_stored_with_each_of_its_transfers,
    a_single_transfer_is_stored_once,
    csv_has_a_row_for_each_transfer,
    events_end_with_the_whole_result,
}

fn a_campaign_is_stored_with_each_of_its_transfers() {
    let place = Place::new();
    let shown = place.says("file --via tcp --sizes 100K --repeat 3");
    assert_eq!(shown.code, Some(0), "{shown:#?}");
    assert_eq!(shown.stdout.matches("saved as ").count(), 1, "{shown:#?}");
    for (words, entries) in [("", 1), (" --parts", 4)] {
        let words = format!("report list --kind file --json{words}");
        let listed = place.says(&words).done().json();
        assert_eq!(
            listed["entries"].as_array().unwrap().len(),
            entries,
            "{listed}"
        );
    }
    let document = place.says("report show last --json").done().json();
    let ids: Vec<&str> = report(&document)["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["id"].as_str().unwrap())
        .collect();
    assert_eq!(ids.len(), 3);
    for id in ids {
        let single = place
            .says(&format!("report show {id} --json"))
            .done()
            .json();
        assert_eq!(report(&single)["runs"].as_array().unwrap().len(), 1);
        assert_eq!(single["transfers"][0]["plan"]["kind"], "file");
    }
    let text = place.says("report show last").done().stdout;
    assert!(text.contains("\n100 kB "), "{text}");
    let replayed = place.says("report replay last").done().stdout;
    assert!(replayed.contains("100 kB "), "{replayed}");
}

fn a_single_transfer_is_stored_once() {
    let place = Place::new();
    place.says("file --via tcp --sizes 100K").done();
    let listed = place.says("report list --json").done().json();
    assert_eq!(listed["entries"].as_array().unwrap().len(), 1, "{listed}");
    let run = &listed["entries"][0];
    assert!(run["headline"]["goodput_bps"].as_f64() > Some(0.0), "{run}");
    place.says("report export last --html -o page.html").done();
    let page = std::fs::read_to_string(place.at("page.html")).unwrap();
    assert!(page.contains("File transfer"), "{page}");
}

fn csv_has_a_row_for_each_transfer() {
    let csv = run_caudal("file --via tcp --sizes 100K,200K --repeat 2 --csv")
        .done()
        .stdout;
    let lines: Vec<&str> = csv.lines().collect();
    assert!(
        lines[0].starts_with("cell,block,protocol,content,"),
        "{csv}"
    );
    assert_eq!(lines.len(), 5, "{csv}");
    let columns = lines[0].split(',').count();
    for line in &lines[1..] {
        assert_eq!(line.split(',').count(), columns, "{line}");
        assert!(line.contains(",tcp,generated,"), "{line}");
    }
}

fn events_end_with_the_whole_result() {
    let lines = run_caudal("file --via tcp --sizes 100K --repeat 2 --json-stream")
        .done()
        .stdout;
    let names: Vec<String> = lines
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .map(|event| event["event"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(
        names.iter().filter(|name| *name == "transferred").count(),
        2
    );
    assert_eq!(names.last().map(String::as_str), Some("finished"));
}
