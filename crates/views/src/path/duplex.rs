//! The duplex mode of the links of a path, a line for each thing.

use super::headline;
use crate::interval_table::Detail;
use caudal_core::interface::{LinkErrors, LinkMedium};
use caudal_core::path::{DuplexRun, DuplexRunKind, PathDuplex, PathEndLink};
use caudal_core::quantity::rate;

/// The lines on the duplex mode, without that of the mode itself where it is the headline.
pub(super) fn lines(duplex: &PathDuplex, detail: Detail, is_headline: bool) -> Vec<String> {
    let mut lines = Vec::new();
    if !is_headline {
        lines.push(headline::duplex(duplex).to_string());
    }
    for (name, end) in [("this end", &duplex.near), ("the other end", &duplex.far)] {
        lines.extend(end.iter().flat_map(|end| end_lines(name, end, detail)));
    }
    if detail == Detail::Every {
        lines.extend(duplex.runs.iter().map(run_line));
    }
    lines
}

fn run_line(run: &DuplexRun) -> String {
    let kind = match run.kind {
        DuplexRunKind::Light => "light load",
        DuplexRunKind::Doubled => "twice that",
        DuplexRunKind::Small => "small datagrams against full ones",
        DuplexRunKind::Saturating => "above the capacity",
    };
    let way = if run.both_ways {
        "both directions"
    } else {
        "alone"
    };
    let direction = run.direction.in_text();
    let found = match (run.sent, run.lost, run.goodput_bps) {
        (Some(sent), Some(lost), _) => format!("{lost} of {sent} lost"),
        (_, _, Some(goodput)) => format!("{} arrived", rate(goodput)),
        _ => "nothing known".to_owned(),
    };
    format!("  {kind}, {way}, {direction}: {found}")
}

/// What an end's own interface says; of one without hardware only where every detail is asked for.
fn end_lines(name: &str, end: &PathEndLink, detail: Detail) -> Vec<String> {
    let is_cable = !matches!(
        end.link.medium(),
        Some(LinkMedium::Virtual | LinkMedium::Other)
    );
    let mut lines = Vec::new();
    if is_cable || detail == Detail::Every {
        lines.push(format!("  {name}: {}", end.reason));
    }
    if let Some(remedy) = &end.remedy {
        lines.push(format!("    → {remedy}"));
    }
    if detail == Detail::Every {
        for (when, grown) in [
            ("one way", &end.growth_alone),
            ("both ways", &end.growth_together),
        ] {
            lines.extend(grown.as_ref().and_then(|grown| errors_line(when, grown)));
        }
    }
    lines
}

/// The errors that an interface counted; `None` where it counted none.
fn errors_line(when: &str, grown: &LinkErrors) -> Option<String> {
    let counters = [
        (
            grown.late_collisions.or(grown.tx_window_errors),
            "late collisions",
        ),
        (grown.collisions, "collisions"),
        (
            grown.frame_check_sequence_errors.or(grown.rx_crc_errors),
            "CRC (FCS) errors",
        ),
        (
            grown.alignment_errors.or(grown.rx_frame_errors),
            "misaligned frames",
        ),
        (grown.fragments, "fragments"),
        (grown.rx_dropped, "dropped on arrival"),
        (grown.tx_dropped, "dropped before departure"),
    ];
    let counted: Vec<String> = counters
        .into_iter()
        .filter_map(|(count, what)| {
            let count = count.filter(|count| *count > 0)?;
            Some(format!("{count} {what}"))
        })
        .collect();
    (!counted.is_empty()).then(|| format!("    counted {when}: {}", counted.join(", ")))
}
