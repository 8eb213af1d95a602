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
        eprintln!("ignored: a_link_is_changed_while_a_test_runs_over_it: {why}");
    }
    let test = trial(
        "a_link_is_changed_while_a_test_runs_over_it",
        missing(&[]).filter(|_| lacks_browser.is_none()),
        changed,
    );
    vec![test.with_ignored_flag(lacks_browser.is_some())]
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
