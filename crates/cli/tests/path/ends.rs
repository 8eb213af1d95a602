//! `caudal path` with a server at the other end, over networks of the lab whose links are known.

use crate::support::network::missing;
use crate::support::path_lab::{PathLab, is_documented, measured};
use crate::support::{Running, trial};
use libtest_mimic::Trial;
use serde_json::Value;
use std::time::Duration;

/// The time limit of a command.
const LIMIT: Duration = Duration::from_secs(300);
/// Two hosts and a third whose traffic crosses the last link.
const CROSSED: &str = "host = [{ name = \"h1\" }, { name = \"h2\" }, { name = \"h3\" }]\n\
    router = [{ name = \"r1\" }]\n\
    link = [{ between = [\"h1\", \"r1\"], rate = \"100M\" }, { between = [\"h3\", \"r1\"], rate = \"100M\" },\n\
    { between = [\"r1\", \"h2\"], rate = \"40M\", delay = \"5ms\" }]\n";

pub fn trials() -> Vec<Trial> {
    [
        (
            "capacity_bandwidth_windows_and_throughput_are_those_of_the_link",
            &["chrt"][..],
            alone as fn(),
        ),
        (
            "other_traffic_takes_from_the_bandwidth_and_not_from_the_capacity",
            &["chrt"],
            crossed,
        ),
        (
            "a_duplex_mismatch_and_its_end_are_found",
            &["chrt"],
            mismatch,
        ),
        ("a_server_s_limits_and_tokens_hold", &[], limits),
        (
            "a_server_that_ends_leaves_a_partial_answer",
            &[],
            server_ends,
        ),
        ("an_interrupt_reports_what_is_known", &[], interrupted),
        ("without_a_server_it_is_said_at_once", &[], no_server),
    ]
    .into_iter()
    .map(|(name, programs, test)| trial(name, missing(programs), test))
    .collect()
}

/// Two hosts with one link, which has these keys.
fn pair(keys: &str) -> String {
    format!(
        "host = [{{ name = \"h1\" }}, {{ name = \"h2\" }}]\nlink = [{{ between = [\"h1\", \"h2\"], {keys} }}]\n"
    )
}

fn ends(run: &Value) -> &Value {
    &run["path"]["between_ends"]
}

fn direction<'a>(run: &'a Value, name: &str) -> &'a Value {
    let directions = ends(run)["directions"].as_array().unwrap();
    directions
        .iter()
        .find(|one| one["direction"] == name)
        .unwrap()
}

/// Whether the capacity of a direction is within 2 % of this.
fn has_capacity(run: &Value, name: &str, mbps: f64) -> Result<(), String> {
    let narrow = &direction(run, name)["narrow"];
    let mean = narrow["capacity_bps"]["mean"].as_f64();
    match mean {
        Some(mean) if (mean / 1e6 / mbps - 1.0).abs() <= 0.02 => Ok(()),
        _ => Err(format!("{name} has {mbps} Mbit/s: {narrow}")),
    }
}

/// Whether the bounds of the capacity of a direction hold this, and are not wide: beside other traffic a capacity may be told by bounds
/// alone, with low confidence.
fn has_capacity_within_bounds(run: &Value, name: &str, mbps: f64) -> Result<(), String> {
    let narrow = &direction(run, name)["narrow"];
    let bound = |key: &str| narrow["capacity_bps"][key].as_f64().map(|bps| bps / 1e6);
    match (bound("low"), bound("high")) {
        (Some(low), Some(high))
            if (0.75 * mbps..=1.02 * mbps).contains(&low)
                && (0.98 * mbps..=1.5 * mbps).contains(&high) =>
        {
            Ok(())
        }
        // Where no pair crossed without queueing there is no number, and that is said.
        (None, None)
            if narrow["reason"]
                .as_str()
                .is_some_and(|why| why.contains("cannot tell")) =>
        {
            Ok(())
        }
        _ => Err(format!("{name} has {mbps} Mbit/s: {narrow}")),
    }
}

/// Whether the bracket of the available bandwidth, with a twentieth on each side, holds this.
fn has_available(run: &Value, name: &str, mbps: f64) -> Result<(), String> {
    let of = direction(run, name);
    let available = &of["available"];
    let low = available["low_bps"].as_f64().unwrap_or(f64::MAX) / 1e6;
    let high = available["high_bps"].as_f64().unwrap_or(f64::MAX) / 1e6;
    let (below, above) = (0.95 * low, 1.05 * high);
    if below <= mbps && mbps <= above {
        Ok(())
    } else {
        Err(format!("{name} leaves {mbps} Mbit/s: {of}"))
    }
}

fn codes(run: &Value) -> Vec<&str> {
    let warnings = run["warnings"].as_array().unwrap().iter();
    warnings.filter_map(|one| one["code"].as_str()).collect()
}

fn alone() {
    let lab = PathLab::up(&pair(
        "rate = \"50M\", delay = \"10ms\", queue = { frames = 100 }",
    ));
    let _server = lab.serve("");
    measured(|| {
        let words = "h2 --rfc6349 --run-time 1s -P 2 -C cubic --no-capacity --no-routes --json";
        let run = lab.path(words).done().json();
        is_documented(&run);
        for name in ["up", "down"] {
            has_capacity(&run, name, 50.0)?;
            has_available(&run, name, 50.0)?;
            has_window(direction(&run, name))?;
        }
        let minimum = ends(&run)["baseline"]["rtt_us"]["min"].as_f64().unwrap();
        if !(20e3..21e3).contains(&minimum) {
            return Err(format!("a baseline of {minimum} µs"));
        }
        let duplex = &run["path"]["duplex"];
        if duplex["mode"] != "full" {
            return Err(duplex.to_string());
        }
        has_throughput(&ends(&run)["throughput"])?;
        // Latency under load stands where that of `caudal quality` does.
        let phases = run["quality"]["phases"].as_array().unwrap();
        assert_eq!(phases.len(), 4, "{phases:?}");
        Ok(())
    });
}

/// Whether the window that is advised is that of 50 Mbit/s × 20 ms.
fn has_window(direction: &Value) -> Result<(), String> {
    let window = &direction["window"];
    let bdp = window["bdp_bytes"].as_f64().unwrap();
    if !(122e3..135e3).contains(&bdp) {
        return Err(window.to_string());
    }
    assert!(
        window["needed_bytes"].as_f64() >= Some(1.25 * bdp),
        "{window}"
    );
    assert_eq!(window["rate_source"], "narrow_link");
    assert!(!window["settings"].as_array().unwrap().is_empty());
    Ok(())
}

/// Whether windows carry what they should, and the metrics of RFC 6349 belong to one another.
fn has_throughput(throughput: &Value) -> Result<(), String> {
    assert_eq!(throughput["path_mtu_bytes"], 1500);
    let directions = throughput["directions"].as_array().unwrap();
    assert_eq!(directions.len(), 2);
    for of in directions {
        let runs = of["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 10, "five windows, of one flow and of two: {of}");
        for one in runs {
            let number = |key: &str| one[key].as_f64().unwrap_or(f64::NAN);
            // Rows are those of the windows that were advertised, which of one flow are near what is asked for.
            let advertised = number("advertised_bytes") / of["bdp_bytes"].as_f64().unwrap();
            let share = number("advertised_share_of_bdp");
            assert!((share - advertised).abs() < 1e-6, "{one}");
            if one["flows"] == 1 && (share / number("share_of_bdp") - 1.0).abs() > 0.35 {
                return Err(one.to_string());
            }
            let goodput = one["goodput_bps"]["mean"].as_f64().unwrap_or(0.0);
            let ideal = of["ideal_bps"].as_f64().unwrap();
            let product = number("transfer_time_ratio") * goodput / ideal;
            assert!((product - 1.0).abs() < 0.01, "{one}");
            // A second is short for a window to open, and what is queued behind the window's own burst takes time.
            if !(0.7..1.05).contains(&(goodput / number("expected_bps"))) {
                return Err(one.to_string());
            }
        }
    }
    Ok(())
}

fn crossed() {
    let lab = PathLab::up(CROSSED);
    let _server = lab.serve("");
    let _other_server = lab.serve("-p 5300");
    let program = env!("CARGO_BIN_EXE_caudal");
    // 20.967 Mbit/s in frames: 1518 bytes with the preamble's and the gap's 20, for 1448 of payload.
    let other = format!("{program} udp h2 -p 5300 -b 20M -l 1448 -t 600");
    let crossing = Running::start(&mut lab.on("h3", &other));
    crossing.two_intervals();
    measured(|| {
        let run = lab
            .path("h2 --peer --no-capacity --no-routes --json")
            .done()
            .json();
        has_capacity_within_bounds(&run, "up", 40.0)?;
        has_capacity(&run, "down", 40.0)?;
        has_available(&run, "up", 40.0 - 20.967)?;
        let duplex = &run["path"]["duplex"];
        // Other traffic is no duplex problem.
        assert!(
            ["full", "cannot_tell"].contains(&duplex["mode"].as_str().unwrap()),
            "{duplex}"
        );
        Ok(())
    });
}

fn mismatch() {
    let lab = PathLab::up(&pair("rate = \"10M\", duplex = \"full-half\""));
    let _server = lab.serve("");
    measured(|| {
        let run = lab.path("h2 --duplex --json").done().json();
        is_documented(&run);
        let duplex = &run["path"]["duplex"];
        if duplex["mode"] != "mismatch_far_half" {
            return Err(duplex.to_string());
        }
        assert!(run["path"]["links"].as_array().unwrap().is_empty());
        // The interfaces of the lab are virtual, and that is said of both.
        for end in ["near", "far"] {
            let reason = duplex[end]["reason"].as_str().unwrap();
            assert!(reason.contains("virtual"), "{reason}");
        }
        let remedy = duplex["remedy"].as_str().unwrap();
        assert!(remedy.contains("autonegotiation"), "{remedy}");
        Ok(())
    });
}

fn limits() {
    let lab = PathLab::up(&pair("rate = \"20M\""));
    let file = lab.place.at("token");
    let path = file.display();
    std::fs::write(&file, "5e".repeat(32)).unwrap();
    std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let _server = lab.serve(&format!("--max-rate 5M --max-time 4s --token-file {path}"));
    lab.path("h2 --peer").failed(3, &["token"]);
    let words = format!("h2 --peer --token-file {path} --no-capacity --no-routes --json");
    let run = lab.path(&words).done().json();
    for name in ["up", "down"] {
        // A search up to 5 Mbit/s finds no more than that it is free.
        let available = &direction(&run, name)["available"];
        assert!(available["high_bps"].is_null(), "{available}");
        // Short trains are allowed.
        assert!(direction(&run, name)["narrow"].is_object());
    }
    assert_eq!(codes(&run), ["server_changed_plan"], "{run:#}");
}

fn server_ends() {
    let lab = PathLab::up(&pair("rate = \"10M\""));
    let server = lab.serve("");
    let words = "h2 --peer --no-capacity --no-routes --json-stream";
    let running = Running::start(&mut lab.path_command(words));
    running.line_with("\"phase\":\"narrow_link\"");
    drop(server);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let last = ended.stdout.lines().last().unwrap();
    let finished: Value = serde_json::from_str(last).unwrap();
    let run = &finished["run"];
    assert!(ends(run)["baseline"]["rtt_us"]["min"].is_f64(), "{run:#}");
    assert!(ends(run)["cut_short"].is_string(), "{run:#}");
    assert_eq!(codes(run), ["cut_short"]);
}

fn interrupted() {
    let lab = PathLab::up(&pair("rate = \"10M\""));
    let _server = lab.serve("");
    let words = "h2 --peer --no-capacity --no-routes --json-stream";
    let running = Running::start(&mut lab.path_command(words));
    running.line_with("\"phase\":\"narrow_link\"");
    lab.interrupt(&running);
    let ended = running.wait(LIMIT);
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    let last = ended.stdout.lines().last().unwrap();
    let finished: Value = serde_json::from_str(last).unwrap();
    assert!(ends(&finished["run"])["baseline"].is_object());
    assert_eq!(codes(&finished["run"]), ["cut_short"]);
}

fn no_server() {
    let lab = PathLab::up(&pair("rate = \"100M\""));
    for words in ["--peer", "--rfc6349"] {
        let refused = lab.path(&format!("h2 {words}"));
        refused.failed(3, &["h2", "caudal serve"][1..]);
    }
    // This end knows something of the duplex mode by itself.
    let ended = lab.path("h2 --duplex --json");
    assert_eq!(ended.code, Some(3), "{ended:#?}");
    let run = ended.json();
    assert_eq!(codes(&run), ["cut_short"]);
    let duplex = &run["path"]["duplex"];
    assert_eq!(duplex["mode"], "cannot_tell");
    assert!(duplex["near"]["reason"].is_string(), "{duplex}");
    assert!(duplex["far"].is_null(), "{duplex}");
}
