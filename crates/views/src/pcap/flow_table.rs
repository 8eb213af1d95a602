//! The table of flows.

use crate::aligned::Alignment::{Left, Right};
use crate::aligned::aligned;
use crate::text::{WIDTH, truncated};
use caudal_capture::{CaptureSummary, CapturedFlow};
use caudal_core::quantity::{Unit, rate, short, size};
use caudal_core::units::BitRate;

/// The columns of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FlowColumns {
    /// Size and time.
    Few,
    /// Goodput, retransmissions and what it carries as well.
    All,
}

/// The goodput of the direction with more payload; of UDP the rate of its payload.
fn main_rate(flow: &CapturedFlow) -> Option<BitRate> {
    let way = usize::from(flow.to_server.payload_bytes < flow.to_client.payload_bytes);
    let of_tcp = flow.tcp.as_ref();
    let of_tcp = of_tcp.map(|tcp| [&tcp.to_server, &tcp.to_client][way].goodput_bps);
    let of_udp = flow.udp.as_ref();
    let of_udp = of_udp.map(|udp| [&udp.to_server, &udp.to_client][way].payload_rate_bps);
    of_tcp.or(of_udp).flatten()
}

/// Segments sent again in both directions; `None` for what is not TCP.
fn sent_again(flow: &CapturedFlow) -> Option<u64> {
    let tcp = flow.tcp.as_ref()?;
    Some(tcp.to_server.retransmissions.total() + tcp.to_client.retransmissions.total())
}

/// The lines of the table, at most `max` flows.
#[must_use]
pub fn flow_table(summary: &CaptureSummary, columns: FlowColumns, max: usize) -> Vec<String> {
    let mut rows = vec![header(columns)];
    let shown = &summary.flows[..summary.flows.len().min(max)];
    rows.extend(shown.iter().map(|flow| cells(flow, columns)));
    let ends: Vec<String> = std::iter::once("client > server".to_owned())
        .chain(shown.iter().map(|flow| ends(flow, columns)))
        .collect();
    let mut lines = with_ends(&rows, &ends);
    let more = summary.flows.len() - shown.len();
    if more > 0 {
        lines.push(format!(
            "and {} more flows: see --flows",
            short(more as f64)
        ));
    }
    if let Some(folded) = &summary.folded {
        lines.push(format!(
            "and {} with {} together, not shown one by one",
            Unit::Flows.show(folded.flows as f64),
            size(folded.bytes)
        ));
    }
    lines
}

fn header(columns: FlowColumns) -> Vec<String> {
    let mut names = vec!["flow", "", "bytes", "frames", "time"];
    if columns == FlowColumns::All {
        names.extend(["goodput", "sent again"]);
    }
    names.into_iter().map(str::to_owned).collect()
}

fn cells(flow: &CapturedFlow, columns: FlowColumns) -> Vec<String> {
    let mut cells = vec![
        flow.number.to_string(),
        flow.transport.to_string(),
        size(flow.bytes),
        short(flow.frames as f64),
        Unit::Seconds.show(flow.duration_s),
    ];
    if columns == FlowColumns::All {
        let absent = || "–".to_owned();
        cells.push(main_rate(flow).map_or_else(absent, rate));
        cells.push(sent_again(flow).map_or_else(absent, |n| short(n as f64)));
    }
    cells
}

fn ends(flow: &CapturedFlow, columns: FlowColumns) -> String {
    let application = match flow.application {
        Some(application) if columns == FlowColumns::All => format!(", {application}"),
        _ => String::new(),
    };
    format!("{} > {}{application}", flow.client, flow.server)
}

/// Rows with the ends behind them, or in a line of their own where they do not fit.
fn with_ends(rows: &[Vec<String>], ends: &[String]) -> Vec<String> {
    // The transport is text.
    let lines = aligned(rows, &[Right, Left, Right]);
    let numbers = lines.iter().map(|line| line.chars().count()).max();
    let numbers = numbers.unwrap_or(0);
    let longest = ends.iter().map(|end| end.chars().count()).max();
    let fits = numbers + 2 + longest.unwrap_or(0) <= WIDTH;
    let lines = lines.into_iter().zip(ends);
    lines
        .flat_map(|(line, end)| {
            if fits {
                vec![format!("{line:numbers$}  {end}")]
            } else {
                vec![line, format!("      {}", truncated(end, WIDTH - 6))]
            }
        })
        .collect()
}
