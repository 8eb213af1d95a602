//! The table with a column for each message size, in ms.

use crate::cells::level;
use crate::text::fold;
use crate::width::LineWidth;
use caudal_core::echo::SizeSummary;
use caudal_stats::DistributionSummary;

/// The table with a column per size: mean, standard deviation and the mean's interval, in ms.
///
/// The first line names protocol, clients and messages, as `TCP/2/100`.
#[must_use]
pub fn table(sizes: &[SizeSummary], transport: &str, clients: u32, count: u64) -> Vec<String> {
    let ms = |us: Option<f64>| us.map_or_else(|| "–".to_owned(), |us| format!("{:.4}", us / 1e3));
    let column = |of: &dyn Fn(&DistributionSummary) -> Option<f64>| -> Vec<String> {
        sizes
            .iter()
            .map(|size| ms(size.pooled.rtt_us.as_ref().and_then(of)))
            .collect()
    };
    let bounded = |bound: f64, rtt: &DistributionSummary| (rtt.confidence > 0.0).then_some(bound);
    let lines: [(String, Vec<String>); 5] = [
        (
            format!("{transport}/{clients}/{count}"),
            sizes
                .iter()
                .map(|size| size.size_bytes.to_string())
                .collect(),
        ),
        ("MED".to_owned(), column(&|rtt| Some(rtt.mean))),
        ("DVP".to_owned(), column(&|rtt| rtt.sd)),
        ("LOW".to_owned(), column(&|rtt| bounded(rtt.mean_low, rtt))),
        ("UPP".to_owned(), column(&|rtt| bounded(rtt.mean_high, rtt))),
    ];
    let name_width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or(0);
    let cells = || lines.iter().flat_map(|(_, cells)| cells);
    let cell_width = cells().map(|cell| cell.chars().count()).max().unwrap_or(0);
    lines
        .iter()
        .map(|(name, cells)| {
            cells
                .iter()
                .fold(format!("{name:<name_width$}"), |line, cell| {
                    format!("{line}  {cell:>cell_width$}")
                })
        })
        .collect()
}

/// The legend of the table with a column per size.
#[must_use]
pub fn legend(confidence: f64, width: LineWidth) -> String {
    fold(
        &format!(
            "times in ms by message size in bytes: MED mean, DVP standard deviation, LOW and UPP the \
             mean's {} % interval (batch means)",
            level(confidence)
        ),
        4,
        width,
    )
}
