//! Reports of runs and studies: what they say, that nothing is missing in them, and that nothing somebody wrote can break them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on says where")]

mod example;
mod path;
#[path = "../../../cli/tests/support/reference.rs"]
mod reference;

use caudal_core::run::{Environment, Run};
use caudal_experiment::findings::Findings;
use caudal_experiment::{FigureKind, Scalar, Trial};
use caudal_report::export::{ExportFormat, ExportSubject, ValueRow};
use caudal_store::SampleSeries;
use reference::Reference;
use serde_json::{Value, json};
use std::path::Path;

const FORMATS: [ExportFormat; 5] = [
    ExportFormat::Html,
    ExportFormat::Markdown,
    ExportFormat::Csv,
    ExportFormat::Json,
    ExportFormat::Svg,
];

fn export_study(
    findings: &Findings,
    trials: &[Trial],
    samples: &dyn Fn(&str) -> Vec<SampleSeries>,
    format: ExportFormat,
) -> String {
    ExportSubject::Study(findings, trials).text(samples, format)
}

fn export_run(run: &Run, series: &[SampleSeries], format: ExportFormat) -> String {
    ExportSubject::Run(run, series).text(&none, format)
}

fn none(_: &str) -> Vec<SampleSeries> {
    Vec::new()
}

/// Holds a text against the file that tells what it was when somebody last looked at it.
#[track_caller]
fn assert_is_as_before(name: &str, text: &str) {
    let before = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/export")
        .join(name);
    let now = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&now, text).unwrap();
    let known = std::fs::read_to_string(&before).unwrap_or_default();
    if known != text {
        let line = known.lines().zip(text.lines()).position(|(a, b)| a != b);
        panic!(
            "{name} differs from line {} on; look at {} and copy it to {} if it is right",
            line.map_or(0, |line| line + 1),
            now.display(),
            before.display()
        );
    }
}

#[test]
fn a_study_as_markdown_reads_as_it_did() {
    let trials = example::trials();
    let findings = example::findings(&trials);
    let text = export_study(&findings, &trials, &example::series, ExportFormat::Markdown);
    assert_is_as_before("study.md", &text);
}

#[test]
fn a_study_as_values_has_every_value_once() {
    let trials = example::trials();
    let findings = example::findings(&trials);
    let text = export_study(&findings, &trials, &example::series, ExportFormat::Csv);
    let (head, tail) = text.split_at(text.find("interval").unwrap());
    assert_is_as_before("study.csv", head);
    let columns = ValueRow::COLUMNS.len() + 2;
    assert!(
        head.lines()
            .next()
            .unwrap()
            .ends_with("parameter_congestion,parameter_udp_load")
    );
    for line in tail.lines() {
        assert_eq!(line.split(',').count(), columns, "{line}");
    }
    // Intervals of the 36 trials: 15 each, of two flows where UDP takes part, one of them missing.
    let rates = tail
        .lines()
        .filter(|line| line.contains(",goodput,bit/s,") && line.starts_with("interval"));
    assert_eq!(rates.count(), (6 * 15 + 30 * 30) - 1);
}

#[test]
fn runs_of_every_kind_read_as_they_did() {
    let (echo, series) = example::echo();
    let text = export_run(&echo, &series, ExportFormat::Markdown);
    assert_is_as_before("echo.md", &text);
    let text = export_run(&example::imported(), &[], ExportFormat::Markdown);
    assert_is_as_before("imported.md", &text);
}

#[test]
fn several_runs_are_all_shown_with_their_mean_first_and_doubtful_intervals_said_to_be_so() {
    let run = example::repeated();
    let page = export_run(&run, &[], ExportFormat::Markdown);
    for text in [
        "94.00 Mbit/s of payload arrived from client to server, the mean of 2 runs (min 93.50, max 94.50).",
        "Of run 3, whose figures and connections follow:",
        "94.50 Mbit/s of payload arrived from client to server; interval unreliable: 20 samples.",
        "| 1 | 93.50 Mbit/s | 11.75 MB | – |",
        "| 2 | 40 Mbit/s | 11.75 MB | ^C |",
        "| 3 | 94.50 Mbit/s | 11.75 MB | – |",
    ] {
        assert!(page.contains(text), "{text:?} is missing:\n{page}");
    }
    let values = export_run(&run, &[], ExportFormat::Csv);
    let rows = |kind: &str| -> Vec<&str> {
        let of_kind = |row: &&str| row.starts_with(&format!("{kind},"));
        values.lines().filter(of_kind).collect()
    };
    assert_eq!(rows("estimate").len(), 1, "{values}");
    assert!(rows("estimate")[0].ends_with(",94000000,93500000,94500000,2,"));
    assert_eq!(rows("run").len(), 3);
    assert!(rows("run")[1].ends_with(",2,1,up,goodput,bit/s,,,40000000,39500000,40500000,20,0"));
    let html = export_run(&run, &[], ExportFormat::Html);
    assert!(html.contains("interval unreliable: 20 samples"));
    assert_well_formed(&html);
}

#[test]
fn episodes_are_a_table_rows_of_values_and_spans_of_figures() {
    let mut run = example::imported();
    run.episodes = serde_json::from_value(json!([
        {"kind": "path_silent", "from_s": 1.25, "to_s": 2.5, "evidence": "nothing came"},
        {"kind": "loss_periods", "from_s": 0.5, "direction": "up", "evidence": "<b>lost</b>"},
    ]))
    .unwrap();
    let page = export_run(&run, &[], ExportFormat::Markdown);
    for row in [
        "| outage | 1.250 s | 2.500 s | nothing came |",
        "| upload: loss in periods | 500 ms | to the end | &lt;b>lost&lt;/b> |",
    ] {
        assert!(page.contains(row), "{row}:\n{page}");
    }
    let values = export_run(&run, &[], ExportFormat::Csv);
    let outage = "path_silent,s,1.250000,2.500000,1.25,";
    let open = "up,loss_periods,s,0.500000,";
    assert!(values.contains(outage) && values.contains(open), "{values}");
    let figure = export_run(&run, &[], ExportFormat::Svg);
    assert!(figure.matches("class=\"e\"").count() >= 2, "{figure}");
    let html = export_run(&run, &[], ExportFormat::Html);
    assert_well_formed(&html);
}

/// Pages for who wants to look at them: in the directory of the tests' output.
#[test]
fn pages_are_whole_files_without_scripts_or_addresses() {
    let trials = example::trials();
    let findings = example::findings(&trials);
    let (echo, series) = example::echo();
    for (name, page) in [
        (
            "study",
            export_study(&findings, &trials, &example::series, ExportFormat::Html),
        ),
        ("echo", export_run(&echo, &series, ExportFormat::Html)),
        (
            "imported",
            export_run(&example::imported(), &[], ExportFormat::Html),
        ),
    ] {
        std::fs::write(
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.html")),
            &page,
        )
        .unwrap();
        // What is scrolled can be reached with the keyboard.
        let scrolled = page.matches("<div class=\"scroll\"").count();
        let reached = page
            .matches("<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"")
            .count();
        assert_eq!(scrolled, reached);
        assert_well_formed(&page);
        for foreign in [
            "<script",
            "javascript:",
            "src=",
            "http://",
            "https://",
            "@import",
            "url(",
        ] {
            let page = page.replace("http://www.w3.org/2000/svg", "");
            assert!(!page.contains(foreign), "{name} has {foreign}");
        }
        assert!(page.contains("lang=\"en\"") && page.contains("@media print"));
    }
    let study = ExportSubject::Study(&findings, &trials);
    for file in study.figure_files(&example::series) {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(&file.path);
        std::fs::write(path, &file.text).unwrap();
    }
}

#[test]
fn every_kind_of_figure_is_drawn_and_says_what_it_shows() {
    let trials = example::trials();
    let findings = example::findings(&trials);
    let page = export_study(&findings, &trials, &example::series, ExportFormat::Html);
    for figure in example::figures() {
        assert!(
            page.contains(&format!(">{}</", figure.title)),
            "{}",
            figure.title
        );
    }
    let drawn = page.matches("<figure>").count();
    assert_eq!(drawn, page.matches("<figcaption>").count());
    assert!(!page.contains("<figcaption></figcaption>") && !page.contains("<figcaption><small>"));
    // One of sweep, two of bars (TCP, UDP), one of boxes, six of rates, one of shares, two of latency, six of windows,
    // two of loss, one each of distribution, first round trips and interfaces.
    assert_eq!(drawn, 24);
    assert_eq!(
        ExportSubject::Study(&findings, &trials)
            .figure_files(&example::series)
            .len(),
        24
    );
}

#[test]
fn a_study_that_asks_for_no_figures_gets_those_that_suit_it() {
    let trials = example::trials();
    let mut findings = example::findings(&trials);
    findings.figures.clear();
    let page = export_study(&findings, &trials, &example::series, ExportFormat::Html);
    for title in [
        "Goodput of tcp by udp_load",
        "Goodput by case",
        "Goodput over time",
        "Who gets how much",
        "Congestion window",
        "Loss and reordering",
        "Distribution of round-trip times",
        "Round-trip time over time",
    ] {
        assert!(page.contains(&format!(">{title}</")), "{title}");
    }
}

#[test]
fn what_failed_comes_before_what_holds() {
    let trials = example::trials();
    let page = export_study(
        &example::findings(&trials),
        &trials,
        &none,
        ExportFormat::Markdown,
    );
    let at = |text: &str| {
        page.find(text)
            .unwrap_or_else(|| panic!("{text} is in the report"))
    };
    assert!(at("1 fails") < at("**fails:**"));
    assert!(at("**fails:**") < at("TCP starves from UDP load 100 % on"));
    assert!(at("**fails:**") < at("**cannot tell:**"));
    assert!(at("**cannot tell:**") < at("1 expectation that holds"));
}

#[test]
fn an_unknown_unit_of_time_or_a_failed_flow_costs_no_report() {
    let mut trials = example::trials();
    let findings = example::findings(&trials);
    for trial in &mut trials {
        trial.flows[0].run = None;
        trial.flows[0].failure = Some("the peer went away".to_owned());
    }
    let page = export_study(&findings, &trials, &none, ExportFormat::Html);
    assert!(page.contains("TCP failed: the peer went away. (36 times)"));
    assert_well_formed(&page);
}

#[test]
fn findings_survive_being_kept() {
    let trials = example::trials();
    let findings = example::findings(&trials);
    let text = export_study(&findings, &trials, &none, ExportFormat::Json);
    let read: Findings = serde_json::from_str(&text).unwrap();
    assert_eq!(
        export_study(&read, &trials, &none, ExportFormat::Json),
        text
    );
    let other = text.replace("caudal.study/1", "caudal.study/9");
    let refused = serde_json::from_str::<Findings>(&other).unwrap_err();
    assert!(refused.to_string().contains("caudal.study/9"));
}

/// Tags against a stack: every element is closed where it should be, and every attribute is quoted.
#[track_caller]
fn assert_well_formed(page: &str) {
    let page = page.strip_prefix("<!DOCTYPE html>").unwrap_or(page);
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        let end = at + rest[at..].find('>').expect("a tag ends");
        let tag = &rest[at + 1..end];
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag[..].contains('<'), "{tag}");
        rest = &rest[end + 1..];
        if tag.starts_with('/') {
            let name = tag.trim_start_matches('/');
            assert_eq!(open.pop(), Some(name), "closes what was opened last");
        } else if !tag.ends_with('/') {
            let name = tag.split([' ', '\n']).next().unwrap();
            // HTML has no end tag for it.
            if name == "meta" {
                continue;
            }
            if name == "style" {
                let close = rest.find("</style>").expect("a style ends");
                rest = &rest[close + "</style>".len()..];
            } else {
                open.push(name);
            }
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for c in page.chars() {
        let forbidden = c.is_control() && c != '\n' && c != '\t' && (c as u32) < 0x80;
        assert!(!forbidden, "{c:?} may not stand in XML");
    }
    // An ampersand begins one of four names.
    for part in page.split('&').skip(1) {
        assert!(
            ["amp;", "lt;", "gt;", "quot;"]
                .iter()
                .any(|name| part.starts_with(name)),
            "&{}",
            &part[..part.len().min(20)]
        );
    }
}

/// Every text of a document replaced, but those that a program looks at.
fn poisoned(value: &mut Value, key: &str, poison: &str) {
    const LOOKED_AT: [&str; 14] = [
        "schema",
        "kind",
        "method",
        "unit",
        "over",
        "by",
        "when",
        "metrics",
        "direction",
        "metric",
        "name",
        "victim",
        "load",
        "id",
    ];
    match value {
        Value::String(text) if !LOOKED_AT.contains(&key) => poison.clone_into(text),
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| poisoned(item, key, poison)),
        Value::Object(map) => map
            .iter_mut()
            .for_each(|(key, item)| poisoned(item, key, poison)),
        _ => {}
    }
}

const HOSTILE: [&str; 5] = [
    "</title></style><script>alert(1)</script>",
    "\" onload=\"alert(1)\" x=\"",
    "a\u{0}b\u{1b}[2J\u{ffff}\r\nc",
    "| pipe `code` <b> &amp; [x](javascript:alert(1)) ```",
    "=cmd|' /C calc'!A0,\"\n\"",
];

#[test]
fn nothing_that_somebody_wrote_is_taken_for_markup() {
    for poison in HOSTILE {
        let mut trials = example::trials();
        let mut whole = serde_json::to_value(example::findings(&trials)).unwrap();
        poisoned(&mut whole, "", poison);
        let mut findings: Findings = serde_json::from_value(whole).unwrap();
        findings.name = poison.to_owned();
        for (case, nth) in findings.cases.iter_mut().zip(0..) {
            case.key = format!("{poison}{nth}");
            case.alone = None;
        }
        for (nth, trial) in trials.iter_mut().enumerate() {
            trial.case = format!("{poison}{}", nth % 12);
            trial.parameters[0].1 = Scalar::Text(poison.to_owned());
            for flow in &mut trial.flows {
                flow.name = poison.to_owned();
            }
            trial.warnings.push(poison.to_owned());
        }
        let page = export_study(&findings, &trials, &example::series, ExportFormat::Html);
        assert_well_formed(&page);
        assert!(
            !page.contains("<script") && !page.contains("onload=\"alert"),
            "{poison}"
        );
        let svg = export_study(&findings, &trials, &example::series, ExportFormat::Svg);
        assert_well_formed(&svg);
        let text = export_study(&findings, &trials, &example::series, ExportFormat::Markdown);
        // The command stands in a fence, where nothing is markup.
        let text = text.split("## Command").next().unwrap();
        assert!(
            !text.contains('\u{0}') && !text.contains("<script") && !text.contains("[x]("),
            "{poison}"
        );
        let lines = export_study(&findings, &trials, &example::series, ExportFormat::Csv);
        assert!(lines.lines().count() > 100 && !lines.contains('\u{0}'));
        let (mut echo, series) = example::echo_document();
        poisoned(&mut echo, "", poison);
        let echo: Run = serde_json::from_value(echo).unwrap();
        assert_well_formed(&export_run(&echo, &series, ExportFormat::Html));
    }
}

#[test]
fn studies_of_nothing_or_of_one_trial_have_reports() {
    let all = example::trials();
    for count in [0, 1, 2] {
        let trials = &all[..count];
        let mut findings = example::findings(&all);
        findings.trials = count as u64;
        findings.complete = false;
        for kept in [true, false] {
            if !kept {
                findings.cases.clear();
                findings.figures.clear();
                findings.tables.clear();
                findings.contention.clear();
                findings.published.clear();
                findings.expectations.clear();
                findings.verdict.clear();
                findings.conclusions.clear();
                findings.environment = Environment::default();
            }
            for format in FORMATS {
                let text = export_study(&findings, trials, &example::series, format);
                assert!(!text.is_empty());
                if matches!(format, ExportFormat::Html | ExportFormat::Svg) {
                    assert_well_formed(&text);
                    assert!(
                        !shown(&text).contains("NaN") && !shown(&text).contains("inf "),
                        "{count} {format:?}"
                    );
                }
            }
            let page = export_study(&findings, trials, &example::series, ExportFormat::Markdown);
            assert!(page.contains("not complete"));
        }
    }
}

/// What people see of a page: without its tags and styles.
fn shown(page: &str) -> String {
    let mut text = String::new();
    for part in page.split('<').skip(1) {
        if !part.starts_with("style") {
            text.push_str(part.split_once('>').map_or("", |part| part.1));
            text.push(' ');
        }
    }
    text
}

#[test]
fn numbers_that_are_none_are_not_shown() {
    let odd = [
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        -0.0,
        1e300,
        1e-300,
        0.0,
    ];
    let mut trials = example::trials();
    let mut findings = example::findings(&trials);
    for (nth, case) in findings.cases.iter_mut().enumerate() {
        let value = odd[nth % odd.len()];
        for known in case.metrics.values_mut() {
            known.values[0] = value;
            known.predicted = Some(odd[(nth + 1) % odd.len()]);
            if let Some(estimate) = &mut known.observed {
                (estimate.mean, estimate.low, estimate.high) =
                    (value, value, odd[(nth + 2) % odd.len()]);
            }
        }
    }
    for one in &mut findings.published {
        (one.difference, one.published) = (Some(f64::NAN), Some(f64::INFINITY));
    }
    for (nth, trial) in trials.iter_mut().enumerate() {
        trial.warm_up_s = odd[nth % odd.len()];
        trial.measured_s = odd[(nth + 3) % odd.len()];
        for value in trial.metrics.values_mut() {
            *value = odd[nth % odd.len()];
        }
        trial.flows[0].offset_s = Some(odd[(nth + 1) % odd.len()]);
    }
    let series = |id: &str| {
        let mut all = example::series(id);
        all[0].values[..odd.len()].copy_from_slice(&odd);
        all
    };
    for format in [ExportFormat::Html, ExportFormat::Svg] {
        let page = export_study(&findings, &trials, &series, format);
        assert_well_formed(&page);
        let text = shown(&page);
        assert!(
            !text.contains("NaN") && !text.contains(" inf") && !text.contains("-inf"),
            "{format:?}"
        );
        for attribute in page.split("d=\"").skip(1) {
            let path = attribute.split('"').next().unwrap();
            assert!(!path.contains("NaN") && !path.contains("inf"), "{path}");
        }
    }
    let text = export_study(&findings, &trials, &series, ExportFormat::Csv);
    assert!(!text.contains("NaN") && !text.contains("inf"));
}

#[test]
fn runs_with_any_part_missing_have_reports() {
    let values = [
        json!({"plan": {}}),
        json!({"plan": {"kind": "tcp"}, "flows": [], "summary": {"directions": []}}),
        json!({"plan": {"kind": "udp"}, "flows": [
            {"id": 0, "direction": "up"},
            {"id": 1, "direction": "up", "intervals": [{"start_s": 1, "end_s": 0}]},
        ]}),
        json!({"plan": {"kind": "rtt"}, "summary": {"sizes": [
            {"size_bytes": 1, "pooled": {"sent": 1, "lost": 1, "late": 0, "duplicate": 0}, "clients": []},
        ], "include_first": true, "messages": 1, "lost": 1, "elapsed_s": 0}}),
        json!({"plan": {}, "flows": [{"id": 0, "direction": "down", "intervals": [
            {"start_s": 0, "end_s": 1e300, "bytes": 1}, {"start_s": -5, "end_s": 1},
        ]}]}),
        json!({"plan": {"kind": "udp"}, "search": {"rate_bps": null, "failed_bps": null, "sender_bound": false, "undecided": false, "loss_limit": 0.01, "confidence": 0.95, "trials": []}}),
    ];
    for mut value in values {
        value["schema"] = json!("caudal.run/1");
        value["id"] = json!("1".repeat(32));
        value["tool"] = json!({"name": "caudal"});
        let run: Run = serde_json::from_value(value).unwrap();
        for format in FORMATS {
            let text = export_run(&run, &[], format);
            assert!(!text.is_empty());
            if matches!(format, ExportFormat::Html | ExportFormat::Svg) {
                assert_well_formed(&text);
                assert!(!shown(&text).contains("NaN"), "{run:?}");
            }
        }
    }
}

#[test]
fn an_unknown_figure_condition_is_said_and_not_drawn() {
    let trials = example::trials();
    let mut findings = example::findings(&trials);
    findings.figures.truncate(1);
    findings.figures[0].when = Some("udp_load >= ".to_owned());
    assert_eq!(findings.figures[0].kind, FigureKind::Sweep);
    let page = export_study(&findings, &trials, &none, ExportFormat::Markdown);
    assert!(page.contains("Not drawn: its condition"), "{page}");
}

/// What in a document is not as docs/reference/study-json.md says.
fn disagreements(table: &str, document: &Value) -> Vec<String> {
    let mut rows = Reference::read("study-json.md").expand(table);
    for row in &mut rows {
        // This page says of each key whether it is there when the one above it is.
        row.given = row.path.rsplit_once('.').map(|(above, _)| above.to_owned());
    }
    let elsewhere = ["environment", "lab", "flows[].run"];
    reference::disagreements(document, &rows, &["always"], &elsewhere)
}

#[test]
fn the_reference_says_what_a_study_and_a_trial_are() {
    let mut trials = example::trials();
    let findings = example::findings(&trials);
    let mut study = serde_json::to_value(&findings).unwrap();
    assert_eq!(disagreements("study", &study), Vec::<String>::new());
    trials[0].discarded = Some("the emulator stood still".to_owned());
    trials[0].alone = Some("tcp".to_owned());
    trials[1].flows[0].failure = Some("refused".to_owned());
    for trial in &trials {
        let trial = serde_json::to_value(trial).unwrap();
        assert_eq!(disagreements("trial", &trial), Vec::<String>::new());
    }
    study["colour"] = json!("red");
    study["cases"][0].as_object_mut().unwrap().remove("key");
    assert!(!disagreements("study", &study).is_empty());
}
