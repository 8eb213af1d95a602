//! What the grade stands for: whose load filled the path, what the path serves first, and whether an end was too busy.

use caudal_core::plan::{Direction, PhaseLoad};
use caudal_core::quality::{
    Advice, AdviceCode, DelayIncrease, FillVerdict, Grade, PhaseReport, ProbeKind,
};

/// The load of a direction alone.
pub(super) const fn alone(direction: Direction) -> PhaseLoad {
    match direction {
        Direction::Up => PhaseLoad::Upload,
        Direction::Down => PhaseLoad::Download,
    }
}

/// Short queues in the directions whose load filled the path, where there is one.
pub(super) fn short_queues(directions: &[(Direction, bool); 2]) -> Option<Advice> {
    let filled: Vec<Direction> = directions
        .iter()
        .filter(|(_, is_unfilled)| !is_unfilled)
        .map(|(direction, _)| *direction)
        .collect();
    let (direction, what) = match filled[..] {
        [] => return None,
        [one] => (
            Some(one),
            format!("{} adds less than 30 ms on average", one.in_text()),
        ),
        _ => (
            None,
            "load adds less than 30 ms on average in either direction".to_owned(),
        ),
    };
    Some(Advice {
        code: AdviceCode::ShortQueues,
        direction,
        finding: what,
        remedy: match direction {
            None => "leave the queues as they are".to_owned(),
            Some(one) => format!("leave the queue of the {} as it is", one.in_text()),
        },
    })
}

/// A direction whose load did not fill the path.
pub(super) fn not_filled(phases: &[PhaseReport], direction: Direction) -> Option<Advice> {
    let phase = phases.iter().find(|phase| phase.load == alone(direction))?;
    let fill = phase.direction(direction)?.fill.as_ref()?;
    let name = direction.in_text();
    let what = match fill.verdict {
        FillVerdict::Filled => return None,
        FillVerdict::NotFilled => "its load did not fill the path",
        FillVerdict::CannotTell => "cannot tell whether its load filled the path",
    };
    let remedy = match fill.verdict {
        FillVerdict::NotFilled => "see what limits it before you judge the queues: `caudal tcp`",
        _ => {
            "look for the loss first (`caudal udp`), or load the path with more flows for longer (-P 8 -t 30)"
        }
    };
    let option = if direction == Direction::Down {
        " with -R"
    } else {
        ""
    };
    Some(Advice {
        code: AdviceCode::PathNotFilled,
        direction: Some(direction),
        finding: format!("no grade for the {name}: {what}: {}", fill.evidence),
        remedy: remedy.replace("`caudal tcp`", &format!("`caudal tcp`{option}")),
    })
}

/// A direction in which UDP and TCP are treated apart.
pub(super) fn served_first(phases: &[PhaseReport], direction: Direction) -> Option<Advice> {
    let phase = phases.iter().find(|phase| phase.load == alone(direction))?;
    let both = phase.by_protocol?;
    let (first, later) = match both.served_first? {
        ProbeKind::Udp => (("UDP", both.udp?), ("TCP", both.tcp?)),
        _ => (("TCP", both.tcp?), ("UDP", both.udp?)),
    };
    let adds = |(name, increase): (&str, DelayIncrease)| {
        let grade = Grade::of_increase_us(increase.mean_us).name();
        // What is within the noise may be below zero.
        format!(
            "{:.1} ms to {name} ({grade})",
            increase.mean_us.max(0.0) / 1e3
        )
    };
    Some(Advice {
        code: AdviceCode::ServedFirst,
        direction: Some(direction),
        finding: format!(
            "{}: {} is served first: load adds {} and {}",
            direction.in_text(),
            first.0,
            adds(first),
            adds(later)
        ),
        remedy: format!(
            "judge the line by {}: what is served first hides the queue of everything else",
            later.0
        ),
    })
}
