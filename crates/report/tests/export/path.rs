//! The report of a path: its figure, its hops, and nothing that strangers choose as markup.

use super::{FORMATS, export_run};
use caudal_core::run::Run;
use caudal_report::export::{ExportFormat, ExportSubject};
use serde_json::{Value, json};

fn hop(ttl: u8) -> Value {
    let ms = f64::from(ttl);
    json!({
        "ttl": ttl, "answering": "answers", "address": format!("10.0.0.{ttl}"), "probes": 40, "unanswered": 1,
        "rtt_ms": {
            "n": 40, "min": ms, "mean": ms + 0.5, "p50": ms + 0.4, "max": ms + 1.0, "mean_low": ms + 0.4, "mean_high": ms + 0.6,
            "confidence": 0.95, "method": "batch_means_t", "mean_trusted": true,
        },
    })
}

fn capacity(mbps: f64) -> Value {
    let bps = mbps * 1e6;
    json!({
        "mean": bps, "low": bps * 0.975, "high": bps * 1.025, "confidence": 0.95, "n": 40, "method": "theil_sen_bootstrap",
    })
}

fn link(ttl: u8, mbps: f64) -> Value {
    json!({
        "ttl": ttl, "from_ttl": ttl - 1, "class": "serialising", "confidence": "high", "capacity_bps": capacity(mbps),
        "reason": "the delay grows with the size",
    })
}

/// 99.4, 9.94 and 49.7 Mbit/s.
fn document() -> Value {
    json!({
        "schema": "caudal.run/1",
        "id": "1a2b3c4d5e6f708192a3b4c5d6e7f809",
        "started": "2026-11-24T02:00:00Z",
        "tool": {"name": "caudal"},
        "plan": {"kind": "path", "peer": "10.0.0.3", "max_ttl": 30},
        "path": {
            "target": {"host": "host.example", "address": "10.0.0.3", "port": 33434},
            "host_answer": "port_unreachable",
            "hops": [hop(1), hop(2), hop(3)],
            "links": [link(1, 99.4), link(2, 9.94), link(3, 49.7)],
            "narrow": {"ttl": 2, "capacity_bps": capacity(9.94)},
            "mtu": {"bytes": 1400, "local_bytes": 1500, "to_ttl": 3, "evidence": "icmp", "shrinks_before_ttl": 2},
            "routes": {"flows": 6, "routes": 1, "is_complete": true},
            "cost": {"packets": 480, "bytes": 512_000, "answers": 470, "elapsed_s": 21.0},
            "means": {"kernel_timestamps": true, "icmp_primers": false},
            "confidence": 0.95,
        },
    })
}

fn run(document: Value) -> Run {
    serde_json::from_value(document).unwrap()
}

#[test]
fn a_path_has_its_figure_and_a_row_a_hop() {
    let page = export_run(&run(document()), &[], ExportFormat::Html);
    for words in [
        "The narrow link is that from hop 1 to hop 2: 9.94 Mbit/s (95 % CI 9.69–10.19 Mbit/s).",
        "The host answers after 3 ms at least, 3.5 ms on average and 4 ms at most.",
        "The path MTU is 1400 B: a router before hop 2 says so.",
        "There is one route among 6 flows.",
        "serialising; the narrow link",
        "Path to host.example (10.0.0.3)",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    assert_eq!(page.matches("<svg").count(), 2, "one for narrow screens");
    let text = export_run(&run(document()), &[], ExportFormat::Markdown);
    assert!(text.contains("| 2 | 10.0.0.2 |"), "{text}");
    let files = ExportSubject::Run(&run(document()), &[]).figure_files(&|_| Vec::new());
    assert_eq!(files.len(), 1);
    assert_eq!(files[0].path, "01-path.svg");
    let svg = export_run(&run(document()), &[], ExportFormat::Svg);
    assert_eq!(svg, files[0].text);
    assert!(svg.contains("narrow link: 9.94 Mbit/s"), "{svg}");
}

#[test]
fn values_of_a_path_have_a_row_for_each_hop_and_link() {
    let values = export_run(&run(document()), &[], ExportFormat::Csv);
    let id = "1a2b3c4d5e6f708192a3b4c5d6e7f809";
    for row in [
        format!("estimate,{id},,,,,,,capacity,bit/s,,,9940000,9691500,10188500,40,\n"),
        format!("estimate,{id},,,,,,,path_mtu,bytes,,,1400,,,,\n"),
        format!("estimate,{id},hop 2,,,,,10.0.0.2,rtt,s,,,0.0025,0.0024,0.0026,40,\n"),
        format!("estimate,{id},hop 2,,,,,10.0.0.2,loss,share,,,0.025,,,,\n"),
    ] {
        assert!(values.contains(&row), "{row}{values}");
    }
    assert_eq!(values.matches(",capacity,").count(), 4, "{values}");
}

#[test]
fn a_hop_that_is_silent_and_a_name_with_markup_break_nothing() {
    let mut document = document();
    let path = &mut document["path"];
    path["hops"][1] = json!({"ttl": 2, "answering": "silent", "probes": 10, "unanswered": 10});
    path["links"] = json!([link(1, 99.4), link(3, 9.94)]);
    path["links"][1]["from_ttl"] = json!(1);
    path["narrow"]["ttl"] = json!(3);
    path["hops"][2]["name"] = json!("<script>\u{1b}[2J\u{202e}");
    let run = run(document);
    for format in FORMATS {
        let text = export_run(&run, &[], format);
        assert!(
            !text.contains("<script>") || format == ExportFormat::Json,
            "{text}"
        );
        assert!(
            !text.contains('\u{1b}') && !text.contains("\u{202e}["),
            "{text}"
        );
    }
    let svg = export_run(&run, &[], ExportFormat::Svg);
    assert!(
        svg.contains("narrow link: from hop 1: 9.94 Mbit/s"),
        "{svg}"
    );
    assert_eq!(
        svg.matches("class=\"w s1\"").count(),
        2,
        "the link passes the silent hop"
    );
}

#[test]
fn a_path_on_which_nothing_answers_says_so() {
    let mut document = document();
    let path = &mut document["path"];
    let silent = |ttl: u8| json!({"ttl": ttl, "answering": "nothing_from_here", "probes": 3, "unanswered": 3});
    path["hops"] = (1..=30).map(silent).collect();
    path["links"] = json!([]);
    path["host_answer"] = json!("nothing");
    for key in ["narrow", "mtu", "routes"] {
        path[key] = Value::Null;
    }
    path["narrow_unknown"] = json!("nothing answers");
    path["cut_short"] = json!("interrupted");
    let page = export_run(&run(document.clone()), &[], ExportFormat::Html);
    for words in [
        "The narrow link could not be found: nothing answers.",
        "The host does not answer.",
        "Probing ended early: interrupted.",
        ">1–30</text>",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    document["path"]["hops"] = json!([]);
    let page = export_run(&run(document), &[], ExportFormat::Html);
    assert!(!page.contains("<svg"), "no hops, no figure");
}
