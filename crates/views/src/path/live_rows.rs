//! The table in a terminal while a path is probed: a row for each hop.

use super::both_ends;
use super::hop_rows::{end_row, loss_and_times, title};
use crate::text::truncated;
use caudal_core::path::{HopAnswering, PathHop, PathLink, PathPhase, PathRound, RouteChange};
use caudal_core::quantity::{EstimateInUnit, Unit, rate};
use unicode_width::UnicodeWidthStr;

/// The columns of the address with its name.
const NAME: usize = 29;
/// Maximum changes of the route that are shown.
const MAX_CHANGES: usize = 3;
/// The lines besides those of hops that answer: the header, that of hops left out, that of those that do not answer, the phase, and the one
/// that the cursor is on.
const OTHER_LINES: usize = 5;

/// The lines of a round: the hops, what both ends found, then what is being probed and the time that is left. They fit a terminal of so many
/// lines, or they could not be rewritten: in one that is too low for a hop there is the phase alone.
pub(super) fn lines(round: &PathRound, terminal_lines: usize) -> Vec<String> {
    let ends = round.between_ends.as_deref();
    let mut ends = ends.map_or_else(Vec::new, both_ends::live_lines);
    ends.truncate(terminal_lines.saturating_sub(OTHER_LINES + 1));
    let changes = change_lines(round, terminal_lines);
    let max_rows = terminal_lines.saturating_sub(OTHER_LINES + ends.len() + changes.len());
    if max_rows == 0 {
        return vec![phase_line(round)];
    }
    let mut lines = vec![cells([
        "hop",
        "address (name)",
        "loss",
        "min",
        "avg",
        "max ms",
        "link",
    ])];
    let answers = |hop: &&PathHop| hop.answering != HopAnswering::NothingFromHere;
    let known: Vec<&PathHop> = round.hops.iter().take_while(answers).collect();
    // Of many hops the last ones: those that probing has just reached.
    let left_out = known.len().saturating_sub(max_rows);
    if left_out > 0 {
        lines.push(format!("     {left_out} hops before"));
    }
    lines.extend(known[left_out..].iter().map(|hop| row(hop, round)));
    let rest = round.hops.get(known.len());
    lines.extend(rest.map(|hop| end_row(hop, &round.hops)));
    lines.extend(ends);
    lines.extend(changes);
    lines.push(phase_line(round));
    lines
}

/// The newest changes of the route, where there is room for them.
fn change_lines(round: &PathRound, terminal_lines: usize) -> Vec<String> {
    if terminal_lines < OTHER_LINES + 2 * MAX_CHANGES {
        return Vec::new();
    }
    let first = round.changes.len().saturating_sub(MAX_CHANGES);
    let newest = round.changes[first..].iter();
    let line = |change: &RouteChange| {
        format!(
            "{:.0} s: hop {} is {} now, before {}",
            change.at_s, change.ttl, change.to, change.from
        )
    };
    newest.map(line).collect()
}

fn cells([ttl, name, loss, min, mean, max, link]: [&str; 7]) -> String {
    let name = truncated(name, NAME);
    let pad = " ".repeat(NAME.saturating_sub(name.width()));
    let link = truncated(link, 12);
    format!("{ttl:>3}  {name}{pad} {loss:>7} {min:>6} {mean:>6} {max:>6} {link:>12}")
}

fn row(hop: &PathHop, round: &PathRound) -> String {
    let [loss, min, mean, max] = loss_and_times(hop);
    let link = round.links.iter().find(|link| link.ttl == hop.ttl);
    let link = link.map_or_else(String::new, capacity);
    let ttl = hop.ttl.to_string();
    cells([&ttl, &title(hop), &loss, &min, &mean, &max, &link])
}

/// The capacity of a link, or its bound, or its class where there is neither.
fn capacity(link: &PathLink) -> String {
    match (&link.capacity_bps, link.at_least_bps) {
        (Some(capacity), _) => EstimateInUnit::new(capacity, Unit::BitPerSecond).mean(),
        (None, Some(bound)) => format!(">{}", rate(bound)),
        (None, None) => link.class.name().to_owned(),
    }
}

/// What is being probed, since when, and the time that is left.
fn phase_line(round: &PathRound) -> String {
    let phase = match round.phase {
        PathPhase::Hops => "hops",
        PathPhase::Routes => "other routes",
        PathPhase::Mtu => "path MTU",
        PathPhase::RoundTrips => "round-trip times",
        PathPhase::Watch => "each hop until q or ^C, which shows the report",
        PathPhase::Capacity => "capacity of each link",
        PathPhase::PrimedCapacity => "capacity of each link, behind primers",
        PathPhase::Baseline => "round trips between both ends",
        PathPhase::NarrowLink => "narrow link between both ends",
        PathPhase::AvailableBandwidth => "available bandwidth between both ends",
        PathPhase::Duplex => "duplex mode between both ends",
        PathPhase::Throughput => "throughput of TCP between both ends",
        PathPhase::LatencyUnderLoad => "latency under load between both ends",
    };
    let left = round.remaining_s.map_or_else(String::new, |left_s| {
        let left = Unit::Seconds.show(left_s.max(0.0).ceil());
        let bound = match round.between_ends {
            None => "at most",
            Some(_) => "about",
        };
        format!(", {bound} {left} left")
    });
    format!("{:.0} s: probing {phase}{left}", round.at_s)
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;
    use caudal_core::path::PathReport;

    fn round(report: PathReport) -> PathRound {
        PathRound {
            at_s: 4.2,
            phase: PathPhase::Capacity,
            remaining_s: Some(16.2),
            hops: report.hops,
            links: report.links,
            changes: Vec::new(),
            between_ends: None,
        }
    }

    #[test]
    fn hops_have_a_row_each_and_the_phase_its_line() {
        assert_eq!(
            lines(&round(sample::three_hops()), 24).join("\n"),
            "\
hop  address (name)                   loss    min    avg max ms         link
  1  10.0.0.1                          0 %   1.00   1.50   2.00  99.4 Mbit/s
  2  10.0.0.2                          0 %   2.00   2.50   3.00  9.94 Mbit/s
  3  10.0.0.3 (host.example)           0 %   3.00   3.50   4.00  49.7 Mbit/s
4 s: probing capacity of each link, at most 17 s left"
        );
    }

    #[test]
    fn the_table_fits_terminals_of_eighty_columns_however_low() {
        for report in [
            sample::hostile(),
            sample::thirty_hops(),
            sample::silent_hop(),
            sample::nothing(),
            sample::loopback(),
        ] {
            for (height, ends) in (2..40).flat_map(|height| [(height, false), (height, true)]) {
                let mut round = round(report.clone());
                round.between_ends = ends.then(|| Box::new(sample::between_ends()));
                let lines = lines(&round, height);
                assert!(lines.len() < height, "{height}: {lines:#?}");
                assert!(lines.last().unwrap().contains("probing"), "{lines:#?}");
                for line in lines {
                    assert!(ends || line.width() <= 80, "{line}");
                    assert!(!line.chars().any(char::is_control), "{line:?}");
                }
            }
        }
    }

    #[test]
    fn what_both_ends_found_stands_below_the_hops() {
        let mut round = round(sample::three_hops());
        round.between_ends = Some(Box::new(sample::between_ends()));
        let lines = lines(&round, 24);
        assert!(lines[3].starts_with("  3  10.0.0.3"), "{lines:#?}");
        assert!(
            lines[4].starts_with("  upload: narrow link 9.940 Mbit/s"),
            "{lines:#?}"
        );
    }
}
