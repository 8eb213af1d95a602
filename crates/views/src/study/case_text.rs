//! A case of an experiment with its flows.

use crate::text::{fold, within};
use crate::width::LineWidth;
use caudal_core::quantity::Unit;
use caudal_experiment::{Case, FlowKindFile, FlowSpec};

/// A case with its flows; `offered_bps` is the rate that a flow is to send at, where it is known.
#[must_use]
pub fn case_text(
    case: &Case,
    offered_bps: impl Fn(&FlowSpec) -> Option<f64>,
    width: LineWidth,
) -> String {
    let title = case
        .title
        .as_ref()
        .map_or(String::new(), |title| format!(": {title}"));
    let mut text = format!("{}\n", fold(&format!("{}{title}", case.key), 2, width));
    for flow in &case.flows {
        let rate = offered_bps(flow).map(|bps| format!(", {}", Unit::BitPerSecond.show(bps)));
        let count = if flow.count > 1 {
            format!("{} × ", flow.count)
        } else {
            String::new()
        };
        let kind = match flow.kind {
            FlowKindFile::Tcp => "TCP",
            FlowKindFile::Udp => "UDP",
            FlowKindFile::Rtt => "echo over TCP",
            FlowKindFile::RttUdp => "echo over UDP",
            FlowKindFile::File => "file",
            FlowKindFile::Path => "path",
        };
        let congestion = flow
            .congestion
            .as_ref()
            .map_or(String::new(), |name| format!(", {name}"));
        let line = format!(
            "  {}: {count}{kind} {} > {}{congestion}{}",
            flow.name,
            flow.from,
            flow.to,
            rate.unwrap_or_default()
        );
        text.push_str(&within(&line, 6, width));
        text.push('\n');
    }
    text
}
