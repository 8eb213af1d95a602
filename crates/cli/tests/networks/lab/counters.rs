//! Statistics, pictures and impairments.

use crate::support::place::Place;
use crate::support::{SOON, Serve};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// The paths of all keys in `value`, with `[]` for elements.
fn paths(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let path = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                found.insert(path.clone());
                paths(value, &path, found);
            }
        }
        Value::Array(items) => {
            for item in items {
                paths(item, &format!("{at}[]"), found);
            }
        }
        _ => {}
    }
}

pub(crate) fn stats_documented() {
    let place = Place::of("lab");
    let file = place.file(
        "all.toml",
        r#"
        host = [{ name = "h1" }, { name = "h2" }, { name = "h3" }]
        router = [{ name = "r1" }]
        switch = [{ name = "s1" }]
        link = [
          { between = ["h1", "s1"], rate = "10M", duplex = "half", loss = "1%" },
          { between = ["r1", "s1"], rate = "10M", queue = { frames = 2 }, shaper = { rate = "5M" }, policer = { rate = "1M", burst = 2000 } },
          { between = ["r1", "h2"], rate = "1G" },
          { between = ["r1", "h3"], balance = "per-frame", path = [{ rate = "1M" }, { rate = "1M", jitter = { distribution = "normal", mean = "1ms", deviation = "1ms" } }] },
        ]
        "#,
    );
    place.says(&format!("up {file} -q")).done();
    place.says("exec h1 -- ping -4 -q -f -c 200 -s 1400 h2");
    place.says("exec h3 -- ping -4 -q -c 2 -i 0.1 h2");
    let report = place.says("stats --json").done().json();
    let mut found = BTreeSet::new();
    paths(&report, "", &mut found);
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/lab-json.md");
    let page = fs::read_to_string(page).unwrap();
    let documented: BTreeSet<&str> = page
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    // Both directions, and cells within cells, are described once.
    let normal = |path: &str| {
        let mut path = path
            .replace(".backward", ".forward")
            .replace(".parts[].parts[]", ".parts[]");
        while path.contains(".parts[].parts[]") {
            path = path.replace(".parts[].parts[]", ".parts[]");
        }
        path
    };
    let reasons = [
        "queue_full",
        "policed",
        "loss",
        "red",
        "codel",
        "check_sequence",
        "excessive_collisions",
        "late_collision",
        "undetected_collision",
        "no_port",
        "obeyed",
    ];
    for path in &found {
        let mut path = normal(path);
        for reason in reasons {
            path = path.replace(&format!("dropped.{reason}"), "dropped.REASON");
        }
        // A cell counts what the whole counts, in keys of the same names.
        let short = path
            .replace("links[].forward.parts[].counters.", "links[].forward.")
            .replace("links[].forward.parts[].", "links[].forward.");
        assert!(
            documented.contains(path.as_str()) || documented.contains(short.as_str()),
            "{path} is not documented"
        );
    }
}

pub(crate) fn picture() {
    let place = Place::of("lab");
    place.says("up two-paths -q").done();
    let file = place.at("net.svg");
    place.says(&format!("show --svg {}", file.display())).done();
    let svg = fs::read_to_string(file).unwrap();
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    for words in [
        "upper",
        "lower",
        "50 Mbit/s",
        "router",
        "prefers-color-scheme",
    ] {
        assert!(svg.contains(words), "{words}");
    }
    assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    let text = place.says("show").done().stdout;
    assert!(text.contains("(above)"), "{text}");
    place
        .says("show --svg /no/such/place.svg")
        .failed(1, &["cannot write /no/such/place.svg"]);
}

pub(crate) fn impairments() {
    let place = Place::of("lab");
    place
        .says("up pair -q --set h1-h2.queue={frames=50} --set h1-h2.loss=2% --set h1-h2.jitter={distribution=\"uniform\",low=\"1ms\",high=\"3ms\"}")
        .done();
    let words = "queue 50 frames, jitter 1 ms to 3 ms, loss 2 %";
    let shown = place.says("show").done().stdout;
    assert!(shown.contains(words), "{shown}");
    place.says("set h1-h2 loss=3% --backward").done();
    let shown = place.says("show").done().stdout;
    assert!(
        shown.contains("← queue 50 frames, jitter 1 ms to 3 ms, loss 3 %"),
        "{shown}"
    );
    let svg = place.says("show --svg -").done().stdout;
    assert!(
        svg.contains(">→ loss 2 %<") && svg.contains(">← loss 3 %<"),
        "{svg}"
    );
}

/// UDP through a token bucket of the kernel, sent with segmentation offload: the rate holds with the framing of every
/// datagram, and each one that the bucket dropped is counted and placed in the sender's queue.
pub(crate) fn datagrams_in_a_token_bucket() {
    const RATE: f64 = 20e6;
    const PAYLOAD: f64 = 100.0;
    // Ethernet, IP and UDP headers, check sequence, preamble and interframe gap.
    const FRAMING: f64 = 28.0 + 38.0;
    let place = Place::of("");
    place
        .says("lab up pair -q --set h1-h2.rate=20M --set h1-h2.driver=kernel")
        .done();
    let mut server = place.command("lab exec h2 --");
    server.args([env!("CARGO_BIN_EXE_caudal"), "serve"]);
    let _server = Serve::of(&mut server);
    let mut client = place.command("lab exec h1 --");
    client.args([env!("CARGO_BIN_EXE_caudal"), "udp", "h2", "--json"]);
    client.args("-b 100M -l 100 -t 1".split_whitespace());
    let run = crate::support::run(&mut client, SOON).json();
    let direction = &run["summary"]["directions"][0];
    let loss = &direction["loss"];
    let count = |value: &Value| value.as_u64().unwrap();
    let lost = count(&loss["lost"]);
    let stats = place.says("lab stats --json").done().json();
    let dropped = count(&stats["links"][0]["forward"]["dropped"]["queue_full"]["frames"]);
    assert_eq!(count(&loss["location"]["path"]), 0, "{loss}");
    // Segments of the control connection, sent again over the full bucket, are dropped beside the datagrams.
    let control_segments = 50;
    assert!(
        (lost.saturating_sub(2)..=lost + control_segments).contains(&dropped),
        "{dropped} dropped, {lost} lost"
    );
    let goodput = direction["goodput_bps"]["mean"].as_f64().unwrap();
    // What the bucket and its queue held at the edges of the test is not known to be part of it.
    assert!(
        goodput < 1.01 * RATE * PAYLOAD / (PAYLOAD + FRAMING),
        "{goodput}"
    );
}
