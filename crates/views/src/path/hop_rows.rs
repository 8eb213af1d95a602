//! The table of hops: a row each, below the link that leads to it.

use crate::cells::{ms, share};
use crate::interval_table::Detail;
use crate::text::{indented_within, truncated};
use crate::width::LineWidth;
use caudal_core::path::{
    HopAnswering, PathHop, PathLink, PathLinkClass, PathReport, StatementConfidence,
};
use caudal_core::quantity::Unit;
use unicode_width::UnicodeWidthStr;

/// Maximum columns of the address with its name.
const NAME: usize = 40;
/// Minimum columns of it beside all times.
const MIN_NAME: usize = 20;
/// The columns of everything else, and of the minimum and the maximum time.
const OTHERS: usize = 37;
const EXTREMES: usize = 16;
/// The beginning of a line on a link.
const LINK: &str = "  |  ";
/// The beginning of the second line on a link.
const LINK_MORE: &str = "  |    ";
/// The beginning of a line below a hop.
const BELOW: &str = "     ";
/// The addresses that other flows met which are shown unless all are asked for.
const MAX_ADDRESSES: usize = 4;

/// The table of hops; nothing without hops.
pub(super) fn lines(report: &PathReport, detail: Detail, width: LineWidth) -> Vec<String> {
    if report.hops.is_empty() {
        return Vec::new();
    }
    let columns = HopColumns::fitted(width);
    let mut lines = vec![columns.row([
        "hop",
        "address (name)",
        "loss",
        "min",
        if columns.extremes { "avg" } else { "avg ms" },
        "max ms",
    ])];
    for hop in &report.hops {
        if let Some(link) = report.link(hop.ttl) {
            lines.extend(link_lines(report, link, (detail, width)));
        }
        if hop.answering == HopAnswering::NothingFromHere {
            lines.push(end_row(hop, &report.hops));
            break;
        }
        lines.push(row(hop, columns));
        lines.extend(below(hop, (detail, width)));
    }
    lines
}

/// The columns of the table.
#[derive(Debug, Clone, Copy)]
struct HopColumns {
    /// The width of the address with its name.
    name: usize,
    /// `true` with the minimum and the maximum time.
    extremes: bool,
}

impl HopColumns {
    /// Those that fit lines of this width.
    fn fitted(width: LineWidth) -> Self {
        let room = width.columns().unwrap_or(usize::MAX).saturating_sub(OTHERS);
        let extremes = room >= MIN_NAME;
        let room = if extremes { room } else { room + EXTREMES };
        Self {
            name: room.min(NAME),
            extremes,
        }
    }

    fn row(self, [ttl, name, loss, min, mean, max]: [&str; 6]) -> String {
        let name = truncated(name, self.name);
        let pad = " ".repeat(self.name.saturating_sub(name.width()));
        match self.extremes {
            true => format!("{ttl:>3}  {name}{pad} {loss:>7} {min:>7} {mean:>7} {max:>7}"),
            false => format!("{ttl:>3}  {name}{pad} {loss:>7} {mean:>7}"),
        }
    }
}

/// The row of a hop.
fn row(hop: &PathHop, columns: HopColumns) -> String {
    let [loss, min, mean, max] = loss_and_times(hop);
    columns.row([&hop.ttl.to_string(), &title(hop), &loss, &min, &mean, &max])
}

/// The loss of a hop, and its minimum, mean and maximum round-trip time in ms.
pub(super) fn loss_and_times(hop: &PathHop) -> [String; 4] {
    let loss = match hop.answering {
        HopAnswering::Answers => share(hop.loss()),
        HopAnswering::RateLimited => "limited".to_owned(),
        HopAnswering::Silent | HopAnswering::NothingFromHere => "–".to_owned(),
    };
    let rtt = hop.times_ms();
    let [min, mean, max] = rtt.map_or([None; 3], |rtt| [rtt.min, rtt.mean, rtt.max].map(Some));
    let time = |time: Option<f64>| ms(time.map(|time| time * 1e3));
    [loss, time(min), time(mean), time(max)]
}

/// The address of a hop with its name.
pub(super) fn title(hop: &PathHop) -> String {
    match (hop.address, &hop.name) {
        (Some(address), Some(name)) => format!("{address} ({name})"),
        (Some(address), None) => address.to_string(),
        (None, Some(name)) => name.to_string(),
        (None, None) => "does not answer".to_owned(),
    }
}

/// The row of the hops from this one on, none of which answers.
pub(super) fn end_row(hop: &PathHop, hops: &[PathHop]) -> String {
    match hops.last().map_or(hop.ttl, |last| last.ttl) {
        last if last > hop.ttl => format!("{:>3}–{last}  nothing answers", hop.ttl)
            .trim_start()
            .to_owned(),
        _ => format!("{:>3}  nothing answers", hop.ttl),
    }
}

/// The lines on a link: of every detail the reason for its class too.
fn link_lines(
    report: &PathReport,
    link: &PathLink,
    (detail, width): (Detail, LineWidth),
) -> Vec<String> {
    let narrow = report.narrow_hop_link();
    let mark = match narrow.map(|narrow| narrow.ttl) {
        Some(ttl) if ttl == link.ttl => ", narrow link",
        _ if report.may_be_narrow(link.ttl) => ", perhaps the narrow link",
        _ => "",
    };
    let mut lines = indented_within(
        &format!("{}{mark}", link_text(link)),
        LINK,
        LINK_MORE,
        width,
    );
    if detail == Detail::Every {
        let why = format!("{} ({} confidence)", link.reason, link.confidence.name());
        lines.extend(indented_within(&why, LINK_MORE, LINK_MORE, width));
    }
    lines
}

/// The link with its interval and its class; its hops where it is more than one link.
fn link_text(link: &PathLink) -> String {
    let place = match link.from_ttl {
        from if from.saturating_add(1) >= link.ttl => String::new(),
        0 => format!("this machine to hop {}: ", link.ttl),
        from => format!("hop {from} to {}: ", link.ttl),
    };
    let (capacity, interval) = link.capacity_and_interval();
    let interval = interval.map_or_else(String::new, |interval| format!(" ({interval})"));
    let capacity = capacity.map(|capacity| format!("{capacity}{interval}, "));
    let doubt = match (link.class, link.confidence) {
        (PathLinkClass::Undetermined, _) => "",
        (_, StatementConfidence::Low) => " (low confidence)",
        (_, StatementConfidence::Medium | StatementConfidence::High) => "",
    };
    let class = link.class.name();
    format!("{place}{}{class}{doubt}", capacity.unwrap_or_default())
}

/// The lines below the row of a hop: a rate limit, the addresses of other flows, and of every detail its whole name.
fn below(hop: &PathHop, (detail, width): (Detail, LineWidth)) -> Vec<String> {
    let mut texts = Vec::new();
    if detail == Detail::Every && title(hop).width() > NAME {
        texts.extend(hop.name.as_ref().map(|name| format!("name: {name}")));
    }
    let interval = hop
        .answer_interval_ms
        .map(|ms| Unit::Seconds.show(ms / 1e3));
    match (hop.answering, interval) {
        (HopAnswering::RateLimited, Some(interval)) => {
            texts.push(format!("limits its answers to one in {interval}"));
        }
        (HopAnswering::RateLimited, None) => {
            texts.push("limits the rate of its answers".to_owned());
        }
        _ => {}
    }
    texts.extend(other_addresses(hop, detail));
    if let (Detail::Every, Some(hops)) = (detail, hop.return_hops) {
        texts.push(match hops {
            1 => "answers come back over 1 hop".to_owned(),
            hops => format!("answers come back over {hops} hops"),
        });
    }
    texts
        .iter()
        .flat_map(|text| indented_within(text, BELOW, "       ", width))
        .collect()
}

/// The addresses that other flows met at this hop.
fn other_addresses(hop: &PathHop, detail: Detail) -> Option<String> {
    let max = match detail {
        Detail::Usual => MAX_ADDRESSES,
        Detail::Every => usize::MAX,
    };
    let shown = hop.other_addresses.iter().take(max);
    let shown: Vec<String> = shown.map(ToString::to_string).collect();
    let more = match hop.other_addresses.len() - shown.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (!shown.is_empty()).then(|| format!("other flows: {}{more}", shown.join(", ")))
}
