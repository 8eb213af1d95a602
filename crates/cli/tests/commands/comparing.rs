//! `caudal report compare` as a check in CI: exit codes, JUnit and Markdown, decided by the interval.

use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

trials! {
    a_side_worse_by_more_than_the_margin_ends_with_5,
    an_interval_across_the_margin_ends_with_6_and_the_runs_that_would_decide,
    fewer_than_five_runs_a_side_give_no_verdict,
    two_single_runs_are_decided_by_the_intervals_within_them_where_these_are_trusted,
    junit_and_markdown_say_what_the_exit_code_says,
    files_need_no_store_and_what_is_no_run_is_refused,
}

/// Five goodputs, Mbit/s.
const BEFORE: [f64; 5] = [941.2, 938.7, 940.1, 942.3, 939.9];

/// The exit code and the outputs of a command.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// A directory of run documents, removed with the value.
struct Documents(PathBuf);

impl Documents {
    fn new(name: &str) -> Self {
        let unique = format!("comparing-{name}-{}", std::process::id());
        let at = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique);
        let _ = fs::remove_dir_all(&at);
        fs::create_dir_all(&at).unwrap();
        Self(at)
    }

    /// Writes a document for each goodput (Mbit/s); the side that has all of them.
    fn side(&self, name: &str, goodputs: &[f64]) -> String {
        let documents = goodputs.iter().enumerate();
        let paths: Vec<String> = documents
            .map(|(nth, mbps)| self.document(&format!("{name}{nth}.json"), mbps * 1e6, None))
            .collect();
        paths.join(",")
    }

    /// Writes the document of a run, with the half-width of a trusted interval where there is one; its path.
    fn document(&self, name: &str, bps: f64, half_width: Option<f64>) -> String {
        let method = half_width.map_or("single_value", |_| "batch_means_t");
        let half = half_width.unwrap_or(0.0);
        let direction = json!({
            "direction": "up",
            "goodput_bps": {
                "mean": bps, "low": bps - half, "high": bps + half,
                "confidence": half_width.map_or(0.0, |_| 0.95), "n": 100, "method": method,
            },
            "goodput_trusted": half_width.is_some(),
            "measured_s": 10.0,
        });
        let document = json!({
            "schema": "caudal.run/1",
            "id": format!("{:032x}", name.bytes().fold(7_u128, |id, byte| id * 257 + u128::from(byte))),
            "started": "2026-11-22T10:00:00.000Z",
            "tool": {"name": "caudal", "version": "0.1.0"},
            "plan": {"kind": "tcp"},
            "summary": {"directions": [direction]},
            "warnings": [],
        });
        let path = self.0.join(name);
        fs::write(&path, document.to_string()).unwrap();
        path.to_str().unwrap().to_owned()
    }

    /// Compares two sides by goodput, failing beyond a margin of 5 %.
    fn check(&self, first: &str, second: &str, more: &[&str]) -> Ended {
        let output = Command::new(env!("CARGO_BIN_EXE_caudal"))
            .args(["report", "compare", first, second, "--fail-if-worse", "5%"])
            .args(more)
            .env("CAUDAL_STORE", self.0.join("store.db"))
            .current_dir(&self.0)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace("\n  ", " ");
        Ended {
            code: output.status.code(),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
        }
    }
}

impl Drop for Documents {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn scaled(factor: f64) -> [f64; 5] {
    BEFORE.map(|mbps| mbps * factor)
}

fn a_side_worse_by_more_than_the_margin_ends_with_5() {
    let documents = Documents::new("worse");
    let before = documents.side("a", &BEFORE);
    let worse = documents.check(&before, &documents.side("b", &scaled(0.9)), &[]);
    assert_eq!(worse.code, Some(5), "{worse:#?}");
    assert!(
        worse.stdout.contains(
            "goodput: worse by more than 5 %: B is 10 % worse (95 % CI 9.8 % worse to 10.2 % worse)"
        ),
        "{worse:#?}"
    );
    let better = documents.check(&before, &documents.side("c", &scaled(1.1)), &[]);
    assert_eq!(better.code, Some(0), "{better:#?}");
    assert!(better.stdout.contains("10 % better"), "{better:#?}");
    let slightly = documents.check(&before, &documents.side("d", &scaled(0.98)), &[]);
    assert_eq!(slightly.code, Some(0), "{slightly:#?}");
    assert!(
        slightly
            .stdout
            .contains("not worse by more than 5 %: B is 2 % worse"),
        "{slightly:#?}"
    );
}

fn an_interval_across_the_margin_ends_with_6_and_the_runs_that_would_decide() {
    let documents = Documents::new("wide");
    let before = documents.side("a", &BEFORE);
    let noisy = documents.side("b", &[700.0, 1000.0, 850.0, 940.0, 930.0]);
    let ended = documents.check(&before, &noisy, &[]);
    assert_eq!(ended.code, Some(6), "{ended:#?}");
    assert!(
        ended
            .stdout
            .contains("cannot tell: the interval is too wide for a margin of 5 %: B is 6"),
        "{ended:#?}"
    );
    assert!(
        ended.stdout.contains("runs a side would tell"),
        "{ended:#?}"
    );
    let json = documents.check(&before, &noisy, &["--json"]);
    let json: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(json["regression"]["outcome"], "cannot_tell");
    let check = &json["cells"][0]["regression"];
    assert!(check["runs_needed"].as_u64().unwrap() > 5, "{check:#}");
    assert_eq!(check["evidence"], "between_runs");
}

fn fewer_than_five_runs_a_side_give_no_verdict() {
    let documents = Documents::new("few");
    let before = documents.side("a", &BEFORE[..2]);
    let ended = documents.check(&before, &documents.side("b", &scaled(0.5)[..2]), &[]);
    assert_eq!(ended.code, Some(6), "{ended:#?}");
    assert!(
        ended
            .stdout
            .contains("cannot tell: 2 of A and 2 of B are too few runs; 5 a side are needed"),
        "{ended:#?}"
    );
    assert!(!ended.stdout.contains("Welch"), "{ended:#?}");
}

fn two_single_runs_are_decided_by_the_intervals_within_them_where_these_are_trusted() {
    let documents = Documents::new("single");
    let before = documents.document("a.json", 10e6, Some(0.1e6));
    let half = documents.document("b.json", 5e6, Some(0.1e6));
    let ended = documents.check(&before, &half, &[]);
    assert_eq!(ended.code, Some(5), "{ended:#?}");
    assert!(
        ended
            .stdout
            .contains("from one run a side: how much runs vary is unknown"),
        "{ended:#?}"
    );
    let untrusted = documents.document("c.json", 5e6, None);
    let ended = documents.check(&before, &untrusted, &[]);
    assert_eq!(ended.code, Some(6), "{ended:#?}");
    assert!(
        ended
            .stdout
            .contains("one run a side is too few, and the interval within B cannot be relied on"),
        "{ended:#?}"
    );
    let wide = documents.document("d.json", 9.6e6, Some(0.3e6));
    let ended = documents.check(&before, &wide, &[]);
    assert_eq!(ended.code, Some(6), "{ended:#?}");
    assert!(
        ended
            .stdout
            .contains("measure longer, or at least 5 runs a side"),
        "{ended:#?}"
    );
}

fn junit_and_markdown_say_what_the_exit_code_says() {
    let documents = Documents::new("files");
    let before = documents.side("a", &BEFORE);
    let few = documents.side("d", &BEFORE[..3]);
    let worse = documents.side("b", &scaled(0.9));
    for (side, code, junit, markdown) in [
        (
            &worse,
            5,
            "<failure type=\"worse\" message=\"worse by more than 5 %: ",
            "- **fails:** goodput: worse by",
        ),
        (
            &before,
            0,
            "<system-out>not worse by more than 5 %: ",
            "- **holds:** goodput: not worse by",
        ),
        (
            &few,
            6,
            "<error type=\"cannot_tell\" message=\"cannot tell: ",
            "- **cannot tell:** goodput: 5 of A and 3 of B",
        ),
    ] {
        let files = [
            "--junit",
            "out.xml",
            "--markdown",
            "out.md",
            "--html",
            "out.html",
        ];
        let ended = documents.check(&before, side, &files);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        let xml = fs::read_to_string(documents.0.join("out.xml")).unwrap();
        assert!(xml.contains(junit), "{xml}");
        assert!(
            xml.contains("<testcase classname=\"caudal\" name=\"goodput\">"),
            "{xml}"
        );
        let failed = u8::from(code == 5);
        assert!(
            xml.contains(&format!("tests=\"1\" failures=\"{failed}\"")),
            "{xml}"
        );
        let text = fs::read_to_string(documents.0.join("out.md")).unwrap();
        assert!(text.contains(markdown), "{text}");
        assert!(text.contains("\n| goodput | 940"), "{text}");
        let page = fs::read_to_string(documents.0.join("out.html")).unwrap();
        let badge = match code {
            0 => "<div class=\"badge holds\"><dt>B against A</dt><dd><strong>not worse",
            5 => "<div class=\"badge fails\"><dt>B against A</dt><dd><strong>worse",
            _ => "<div class=\"badge open\"><dt>B against A</dt><dd><strong>cannot tell",
        };
        assert!(page.contains(badge), "{page}");
        // The difference is drawn where there is one.
        assert_eq!(page.contains("<svg"), code != 6, "{code}");
        let change = "<strong>↓ −";
        assert_eq!(page.contains(change), code != 0, "{code}");
        assert!(!page.contains("<script"), "{page}");
    }
}

fn files_need_no_store_and_what_is_no_run_is_refused() {
    let documents = Documents::new("refused");
    let before = documents.side("a", &BEFORE);
    fs::write(
        documents.0.join("other.json"),
        r#"{"schema":"caudal.study/1"}"#,
    )
    .unwrap();
    fs::write(documents.0.join("text.txt"), "PING 192.0.2.1\n").unwrap();
    for (side, code, why) in [
        ("other.json", 1, "it holds \"caudal.study/1\""),
        ("text.txt", 1, "it is in none of the formats"),
        ("never.json", 1, "cannot read"),
        ("last", 1, "there is no store"),
    ] {
        let ended = documents.check(&before, side, &[]);
        assert_eq!(ended.code, Some(code), "{ended:#?}");
        assert!(ended.stderr.contains(why), "{ended:#?}");
        assert_eq!(ended.stderr.trim_end().lines().count(), 1, "{ended:#?}");
    }
    assert!(!documents.0.join("store.db").exists());
}
