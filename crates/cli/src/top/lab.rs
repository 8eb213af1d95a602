//! A lab on the terminal's whole screen.

use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::sink::print;
use caudal_lab::registry::Registry;
use caudal_link::lab_report::LabReport;
use caudal_sys::signal::Interrupt;
use caudal_top::{PolledText, ViewState, show, unusable_terminal};
use caudal_views::lab::lab_tree;
use caudal_views::text::bits;
use std::collections::HashMap;

/// Shows a lab of this user.
pub(super) fn show_lab(name: Option<&str>, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    let registry = Registry::open()?;
    let record = registry.find(name)?;
    let report = registry.report(&record)?;
    if let Some(why) = unusable_terminal() {
        diagnostic(&format!("{why}: the lab now"));
        return print(&lab_tree(&report));
    }
    let mut readings = LinkReadings::default();
    let read = move || match registry.report(&record) {
        Ok(report) => lines(&report, &mut readings),
        Err(error) => (format!("the lab does not answer: {error}"), Vec::new()),
    };
    show(
        &mut PolledText::new(read),
        &mut ViewState::default(),
        interrupt,
    )?;
    Ok(Exit::Done)
}

/// The title and the lines of a lab: what its links carry now, its topology, the doubts.
fn lines(report: &LabReport, readings: &mut LinkReadings) -> (String, Vec<String>) {
    let tree = lab_tree(report);
    let mut tree = tree.lines().map(str::to_owned);
    let title = tree.next().unwrap_or_default();
    let mut lines = readings.rows(report);
    lines.extend(tree);
    let warnings = report.warnings.iter();
    lines.extend(warnings.map(|warning| format!("warning: {warning}")));
    (format!("{title}, up {:.0} s", report.up_s), lines)
}

/// What each direction of a link had carried at the reading before, bytes, and the time of it, s.
#[derive(Debug, Default)]
struct LinkReadings {
    before: HashMap<(String, bool), u64>,
    at_s: Option<f64>,
}

impl LinkReadings {
    /// A row for each direction of each link: what it carries now, what is on it, and what it has dropped.
    fn rows(&mut self, report: &LabReport) -> Vec<String> {
        let length_s = self.at_s.map_or(0.0, |at_s| report.up_s - at_s);
        self.at_s = Some(report.up_s);
        let mut rows = vec![format!(
            "{:<16} {:<22} {:>14} {:>12} {:>12}",
            "link", "", "now", "frames held", "dropped"
        )];
        for link in &report.links {
            let [near, far] = &link.between;
            for (is_forward, direction, ends) in [
                (true, &link.forward, format!("{near} → {far}")),
                (false, &link.backward, format!("{far} → {near}")),
            ] {
                let carried = direction.delivered().bytes;
                let key = (link.name.clone(), is_forward);
                let before = self.before.insert(key, carried);
                let now = before.filter(|_| length_s > 0.0).map_or_else(
                    || "–".to_owned(),
                    |before| bits(carried.saturating_sub(before) as f64 * 8.0 / length_s),
                );
                rows.push(format!(
                    "{:<16} {ends:<22} {now:>14} {:>12} {:>12}",
                    link.name,
                    direction.held(),
                    direction.dropped()
                ));
            }
        }
        rows.push(String::new());
        rows
    }
}
