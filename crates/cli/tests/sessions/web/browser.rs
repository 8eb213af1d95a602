//! The page in a browser.

use super::client::get;
use crate::support::Serve;
use crate::support::browser::{Browser, trial_in_browser};
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    vec![
        trial_in_browser("a_visitor_measures_with_one_button", one_button),
        trial_in_browser("a_visitor_who_stops_is_told_so", stopped),
        trial_in_browser("a_server_that_goes_away_is_told_of", server_gone),
    ]
}

fn one_button() {
    let store = std::env::temp_dir().join(format!("caudal-page-{}.db", std::process::id()));
    let words = format!(
        "--web --max-time 1s --max-rate 1G --web-store {}",
        store.display()
    );
    let server = Serve::start(&words);
    let mut browser = Browser::open(400);
    browser.goes_to(&format!("http://127.0.0.1:{}/", server.port));
    // By keyboard, as whoever sees no button does.
    browser.presses("Tab");
    browser.presses("Enter");
    browser.shows("!document.getElementById('result').hidden");
    let result = browser.evaluate("document.body.dataset.result");
    let result: serde_json::Value = serde_json::from_str(result.as_str().unwrap()).unwrap();
    for key in ["down_bps", "up_bps", "idle_ms"] {
        assert!(result[key].as_f64().unwrap() > 0.0, "{key}: {result}");
    }
    let link = browser.evaluate("document.querySelector('#link a').pathname");
    let (head, _) = get(&server, link.as_str().unwrap());
    assert!(head.starts_with("HTTP/1.1 200"), "{head}");
    // Nothing is wider than a phone, and each figure has its words.
    let overflow = browser.evaluate("document.documentElement.scrollWidth <= 400");
    assert_eq!(overflow, true);
    let label = browser.evaluate("document.getElementById('c-down').getAttribute('aria-label')");
    assert!(label.as_str().unwrap().contains("highest"), "{label}");
    let _ = std::fs::remove_file(store);
}

fn stopped() {
    let server = Serve::start("--web --web-keep 0");
    let mut browser = Browser::open(400);
    browser.goes_to(&format!("http://127.0.0.1:{}/", server.port));
    browser.clicks("#start");
    browser.shows_text("Measuring without load");
    browser.clicks("#start");
    browser.shows_text("You stopped the test.");
    let line = server.running.line_with("done in");
    assert!(
        line.contains("its user ended it") || line.contains("the page was closed"),
        "{line}"
    );
}

fn server_gone() {
    let server = Serve::start("--web --web-keep 0");
    let mut browser = Browser::open(400);
    browser.goes_to(&format!("http://127.0.0.1:{}/", server.port));
    browser.clicks("#start");
    browser.shows_text("Measuring");
    drop(server);
    browser.shows_text("Try again in a while");
}
