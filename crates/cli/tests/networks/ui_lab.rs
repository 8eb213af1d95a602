//! A lab on the pages of `caudal ui`: built, measured, changed while traffic runs.

use crate::support::browser::Browser;
use crate::support::network::missing;
use crate::support::served_ui::ServedUi;
use crate::support::{caudal, trial, uninstalled};
use libtest_mimic::Trial;
use serde_json::{Value, json};

pub fn trials() -> Vec<Trial> {
    let lacks_browser = uninstalled("chromium");
    if let Some(why) = &lacks_browser {
        eprintln!("ignored: the tests of labs and studies in a browser: {why}");
    }
    let tests: [(&str, fn()); 2] = [
        ("a_link_is_changed_while_a_test_runs_over_it", changed),
        ("a_quick_study_is_edited_run_and_watched", study),
    ];
    let trials = tests.into_iter().map(|(name, test)| {
        let test = trial(name, missing(&[]).filter(|_| lacks_browser.is_none()), test);
        test.with_ignored_flag(lacks_browser.is_some())
    });
    trials.collect()
}

/// An experiment of one case that takes a second.
const EXPERIMENT: &str = r#"title = "One link"
question = "What does a link of 20 Mbit/s carry?"
[topology]
preset = "pair"
set = ["h1-h2.rate=20M"]
[time]
warm_up = "0s"
measure = "1s"
[repeat]
min = 1
max = 1
[[flow]]
name = "udp"
kind = "udp"
from = "h1"
to = "h2"
rate = "10M"
[[expect]]
that = "udp.goodput > 5M"
because = "the link carries twice as much"
"#;

fn study() {
    let ui = ServedUi::start();
    let mut browser = Browser::open(1280);
    browser.goes_to(&ui.address());
    browser.shows("document.querySelector('#line')");
    browser.evaluate("location.hash = '#/studies'");
    browser.clicks_text("udp-buffers");
    browser.shows("document.querySelector('textarea')?.value.includes('title =')");
    browser.evaluate(&format!(
        "(() => {{ const field = document.querySelector('textarea'); field.value = {}; \
         field.dispatchEvent(new Event('input', {{bubbles: true}})); }})()",
        json!(EXPERIMENT)
    ));
    browser.shows_text("1 case");
    browser.clicks_text("Run");
    browser.shows_text("Ended");
    browser.evaluate("location.hash = '#/studies'");
    browser.shows_text("done, 1 trial");
    browser.clicks_text("One link");
    browser.shows_text("The expectation holds.");
}

/// The rate that the first direction of the link carries, as the page shows it, Mbit/s.
const CARRIED: &str = "(() => { const cell = document.querySelector('tbody td:nth-child(3)')?.innerText ?? ''; \
                       const [value, unit] = cell.split(' '); \
                       return unit === 'Mbit/s' ? Number(value) : unit === 'Gbit/s' ? Number(value) * 1000 : 0; })()";

/// A lab that is taken down whatever happens.
struct UpLab(String);

impl Drop for UpLab {
    fn drop(&mut self) {
        let _ = caudal(["lab", "down", &self.0]).output();
    }
}

fn changed() {
    let ui = ServedUi::start();
    let name = format!("ui-{}", std::process::id());
    let made = ui.asks(
        "POST /api/labs/up",
        &json!({"preset": "pair", "name": name}),
    );
    assert_eq!(made.0, 201, "{made:?}");
    let _up = UpLab(name.clone());
    let serves = ui.asks(
        &format!("POST /api/labs/{name}/serve"),
        &json!({"host": "h2"}),
    );
    assert_eq!(serves.0, 201, "{serves:?}");
    let begun = ui.asks(
        "POST /api/tests",
        &json!({"command": "tcp", "values": {"host": "h2", "time": "60s"}, "lab": {"name": name, "host": "h1"}}),
    );
    assert_eq!(begun.0, 201, "{begun:?}");
    let mut browser = Browser::open(1280);
    browser.goes_to(&ui.address());
    browser.shows("document.querySelector('#line')");
    browser.evaluate(&format!(
        "location.hash = {}",
        json!(format!("#/labs/{name}"))
    ));
    browser.shows(&format!("{CARRIED} > 60 && {CARRIED} < 130"));
    browser.evaluate(
        "(() => { const field = document.querySelector('form.link input'); field.value = '10M'; \
         field.dispatchEvent(new Event('input', {bubbles: true})); \
         document.querySelector('form.link').requestSubmit(); })()",
    );
    browser.shows_text("10.00 Mbit/s");
    browser.shows(&format!("{CARRIED} > 2 && {CARRIED} < 14"));
    // A value that means nothing is said to be one.
    let wrong = ui.asks(
        &format!("POST /api/labs/{name}/set"),
        &json!({"link": "h1-h2", "rate": "fast"}),
    );
    assert!((400..500).contains(&wrong.0), "{wrong:?}");
    let down = ui.asks(&format!("POST /api/labs/{name}/down"), &json!({}));
    assert_eq!(down.0, 204, "{down:?}");
    let (_, labs) = ui.asks("GET /api/labs", &Value::Null);
    let all = labs["labs"].as_array().unwrap();
    assert!(all.iter().all(|lab| lab["name"] != name.as_str()), "{labs}");
}
