//! The marks of messages and replies.

use caudal_core::marks::{ArrivedMarks, Ecn, MarkReport};
use caudal_core::plan::Direction;
use caudal_engine::RttOutcome;

/// The marks of messages (`up`), or of their replies, of tests with one DSCP; `None` where none are known.
pub(crate) fn marks<'a>(
    tests: impl IntoIterator<Item = &'a RttOutcome>,
    direction: Direction,
) -> Option<MarkReport> {
    let mut sent_dscp = 0;
    let mut all = ArrivedMarks::default();
    for echo in tests {
        sent_dscp = echo.plan.dscp.unwrap_or(0);
        match direction {
            Direction::Up => {
                let servers = echo.connections.iter();
                let marks = servers.filter_map(|one| one.server.as_ref()?.marks.as_ref());
                marks.for_each(|marks| all.add(marks));
            }
            Direction::Down => {
                let series = echo.record.series.iter();
                let marks = series.filter_map(|one| one.marks.counts());
                marks.for_each(|marks| all.add(&marks));
            }
        }
    }
    (all.packets() > 0).then_some(MarkReport {
        sent_dscp,
        sent_ecn: Ecn::NotEct,
        arrived: all,
    })
}
