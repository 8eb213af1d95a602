//! The labs that are up, as a list.

use super::print::print;
use crate::exit::{Exit, Failure};
use caudal_lab::LabRecord;
use caudal_lab::registry::Registry;

/// `caudal lab list`
pub(super) fn print_list(registry: &Registry, json: bool) -> Result<Exit, Failure> {
    let records = registry.list();
    if json {
        let text = serde_json::to_string_pretty(&records).unwrap_or_default();
        return print(&format!("{text}\n"));
    }
    if records.is_empty() {
        return print("no lab is up; start one with `caudal lab up pair`\n");
    }
    let width = records
        .iter()
        .map(|record| record.name.len())
        .max()
        .unwrap_or(0);
    let line = |record: &LabRecord| {
        let title = record.title.as_deref().unwrap_or("");
        let (hosts, links) = (record.hosts.len(), record.links.len());
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        format!(
            "{:width$}  {hosts} host{} and routers, {links} link{}  {title}\n",
            record.name,
            plural(hosts),
            plural(links)
        )
    };
    print(&records.iter().map(line).collect::<String>())
}
