//! `caudal predict topology` where flows share bottlenecks: formula and simulation agree within the tolerance, or the formula declines.

use crate::support::run_caudal;
use serde_json::Value;
use std::path::PathBuf;

trials! {
    the_shares_of_a_parking_lot_are_not_covered,
    shares_by_round_trip_time_hold_or_are_not_covered,
    the_runs_of_all_seeds_are_listed_and_repeat,
}

/// A topology in a file that is removed when the test is over.
struct TopologyFile(PathBuf);

impl TopologyFile {
    /// Hosts `sN` and `dN` with routers `r0` to `rM` in a row, each pair of neighbours linked at 10 Mbit/s with a queue of 50 frames.
    /// A host pair is given by the routers it is at and the one-way delay of its first link in milliseconds.
    fn new(name: &str, routers: usize, pairs: &[(usize, usize, u32)]) -> Self {
        let mut hosts = Vec::new();
        let mut links = Vec::new();
        for (number, (from, to, delay)) in pairs.iter().enumerate() {
            hosts.push(format!(
                "{{ name = \"s{number}\" }}, {{ name = \"d{number}\" }}"
            ));
            links.push(format!(
                "{{ between = [\"s{number}\", \"r{from}\"], delay = \"{delay}ms\" }}"
            ));
            links.push(format!("{{ between = [\"r{to}\", \"d{number}\"] }}"));
        }
        for next in 1..routers {
            let before = next - 1;
            links.push(format!(
                "{{ between = [\"r{before}\", \"r{next}\"], name = \"b{next}\", rate = \"10M\", queue = {{ frames = 50 }} }}"
            ));
        }
        let routers: Vec<String> = (0..routers)
            .map(|n| format!("{{ name = \"r{n}\" }}"))
            .collect();
        let path = std::env::temp_dir().join(format!("caudal-{name}-{}.toml", std::process::id()));
        let text = format!(
            "host = [{}]\nrouter = [{}]\nlink = [{}]\n",
            hosts.join(", "),
            routers.join(", "),
            links.join(", ")
        );
        std::fs::write(&path, text).unwrap();
        Self(path)
    }

    fn predict(&self, flows: usize, words: &str) -> String {
        let flows: Vec<String> = (0..flows)
            .map(|n| format!("--flow s{n}>d{n}:cubic"))
            .collect();
        let path = self.0.display();
        run_caudal(&format!(
            "predict topology {path} {} {words}",
            flows.join(" ")
        ))
        .stdout
    }

    fn json(&self, flows: usize) -> Value {
        serde_json::from_str(&self.predict(flows, "--seeds 3 --json")).unwrap()
    }
}

impl Drop for TopologyFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// For each flow whether the formula gives a goodput; where it does, the simulated one lies within its tolerance.
fn covered(json: &Value, flows: usize) -> Vec<bool> {
    let predictions = json["predictions"].as_array().unwrap();
    let value = |name: &str, method: &str| {
        let found = |one: &&Value| one["name"] == name && one["method"] == method;
        predictions.iter().find(found)
    };
    let covered = |number: usize| {
        let name = format!("goodput_{number}");
        let simulated = value(&name, "simulation").unwrap()["value"]
            .as_f64()
            .unwrap();
        let flow = &json["topology"]["flows"][number - 1];
        let Some(formula) = value(&name, "formula") else {
            assert!(flow["not_covered"].is_string(), "{flow}");
            assert!(value(&format!("max_min_share_{number}"), "formula").is_some());
            return false;
        };
        assert!(flow["not_covered"].is_null(), "{flow}");
        let difference = simulated / formula["value"].as_f64().unwrap() - 1.0;
        let tolerance = &formula["tolerance"];
        assert!(
            -tolerance["below"].as_f64().unwrap() <= difference
                && difference <= tolerance["above"].as_f64().unwrap(),
            "{name}: {difference} is outside {tolerance}"
        );
        true
    };
    (1..=flows).map(covered).collect()
}

fn the_shares_of_a_parking_lot_are_not_covered() {
    let file = TopologyFile::new("parking", 4, &[(0, 3, 5), (0, 1, 5), (1, 2, 5), (2, 3, 5)]);
    assert_eq!(covered(&file.json(4), 4), [false; 4]);
    let text = file.predict(4, "--seeds 2");
    let flat = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        flat.contains("the formula does not cover this: flows cross several bottlenecks"),
        "{text}"
    );
    assert!(flat.contains("max-min fair share 4.7"), "{text}");
    assert!(
        flat.contains("goodput simulated with seeds 1 to 2: min/median/max"),
        "{text}"
    );
    assert!(
        text.lines().all(|line| line.chars().count() <= 80),
        "{text}"
    );
}

fn shares_by_round_trip_time_hold_or_are_not_covered() {
    let far = TopologyFile::new("far", 2, &[(0, 1, 5), (0, 1, 18), (0, 1, 48)]);
    assert_eq!(covered(&far.json(3), 3), [false; 3]);
    let near = TopologyFile::new("near", 2, &[(0, 1, 10), (0, 1, 20)]);
    assert_eq!(covered(&near.json(2), 2), [true; 2]);
    let equal = TopologyFile::new("equal", 2, &[(0, 1, 10), (0, 1, 10), (0, 1, 10)]);
    assert_eq!(covered(&equal.json(3), 3), [true; 3]);
}

fn the_runs_of_all_seeds_are_listed_and_repeat() {
    let file = TopologyFile::new("seeds", 2, &[(0, 1, 10), (0, 1, 10)]);
    let json = file.json(2);
    let topology = &json["topology"];
    let runs = topology["runs"].as_array().unwrap();
    let seeds: Vec<u64> = runs
        .iter()
        .map(|run| run["seed"].as_u64().unwrap())
        .collect();
    assert_eq!(seeds, [1, 2, 3]);
    let mut first: Vec<u64> = runs
        .iter()
        .map(|run| run["goodput_bps"][0].as_u64().unwrap())
        .collect();
    first.sort_unstable();
    assert!(first[0] < first[2], "{first:?}");
    let spread = &topology["flows"][0]["simulated_goodput"];
    for (key, value) in ["min_bps", "median_bps", "max_bps"].into_iter().zip(first) {
        assert_eq!(spread[key].as_f64(), Some(value as f64), "{key}");
    }
    assert_eq!(file.json(2)["predictions"], json["predictions"]);
}
