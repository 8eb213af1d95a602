//! Queues: capacity and discipline.

use std::time::Duration;

use caudal_core::units::ByteCount;

use super::limits::full_frame;
use crate::error::{Location, Result, TopologyError};
use crate::file::{DisciplineFile, QueueFile};
use crate::impairments::{Discipline, QueueLimit, QueueSetup, RateSetup};

/// The queue in front of a line of `rate`; without one, the default of 100 full frames or 50 ms, whichever is more.
pub(super) fn queue_setup(
    queue: Option<&QueueFile>,
    rate: Option<&RateSetup>,
    mtu: u32,
    at: &Location,
) -> Result<QueueSetup> {
    let Some(rate) = rate else {
        if queue.is_some() {
            return Err(TopologyError::new(
                at,
                "a queue without a rate never fills",
                "add a rate",
            ));
        }
        return Ok(QueueSetup::default());
    };
    let frame = full_frame(mtu);
    let in_50_ms = rate.max().during(Duration::from_millis(50)).get();
    let default = QueueLimit::Bytes(ByteCount::new((100 * frame).max(in_50_ms)));
    match queue {
        None => Ok(QueueSetup {
            limit: default,
            discipline: Discipline::DropTail,
            ecn: false,
        }),
        Some(queue) => Ok(QueueSetup {
            limit: queue_limit(queue, frame, at)?.unwrap_or(default),
            discipline: discipline(queue, at)?,
            ecn: queue.ecn.unwrap_or(false),
        }),
    }
}

/// The capacity that `queue` asks for, if it does; `frame` is the length of a full frame.
fn queue_limit(queue: &QueueFile, frame: u64, at: &Location) -> Result<Option<QueueLimit>> {
    match (queue.frames, queue.bytes) {
        (Some(_), Some(_)) => Err(TopologyError::new(
            at,
            "a queue has a limit in frames and one in bytes",
            "leave one of them out",
        )),
        (Some(0), None) => Err(TopologyError::new(
            &at.key("frames"),
            "a queue of no frames drops every frame that cannot be sent at once",
            "choose at least 1",
        )),
        (None, Some(bytes)) if bytes.0.get() < frame => Err(TopologyError::new(
            &at.key("bytes"),
            format!("a queue of {} holds no full frame", bytes.0),
            format!("choose at least {frame}"),
        )),
        (Some(frames), None) => Ok(Some(QueueLimit::Frames(frames))),
        (None, Some(bytes)) => Ok(Some(QueueLimit::Bytes(bytes.0))),
        (None, None) => Ok(None),
    }
}

fn discipline(queue: &QueueFile, at: &Location) -> Result<Discipline> {
    let kind = queue.discipline.unwrap_or(DisciplineFile::DropTail);
    let has_target = kind == DisciplineFile::Dual;
    let has_codel_keys = queue.interval.is_some() || (queue.target.is_some() && !has_target);
    if queue.ecn == Some(true) && kind == DisciplineFile::DropTail {
        return Err(TopologyError::new(
            &at.key("ecn"),
            "a drop-tail queue drops nothing early that could be marked",
            "name discipline \"red\", \"codel\" or \"dual\"",
        ));
    }
    let has_red_keys = queue.low.is_some() || queue.high.is_some() || queue.most.is_some();
    if (has_codel_keys && kind != DisciplineFile::Codel)
        || (has_red_keys && kind != DisciplineFile::Red)
    {
        return Err(TopologyError::new(
            at,
            "target belongs to discipline \"codel\" or \"dual\", interval to \"codel\"; low, high and most to \"red\"",
            "name the discipline",
        ));
    }
    match (kind, queue.low, queue.high) {
        (DisciplineFile::DropTail, ..) => Ok(Discipline::DropTail),
        (DisciplineFile::Dual, ..) => Ok(Discipline::Dual {
            target: queue
                .target
                .map_or(Duration::from_millis(15), |time| time.0),
        }),
        (DisciplineFile::Codel, ..) => Ok(Discipline::Codel {
            target: queue.target.map_or(Duration::from_millis(5), |time| time.0),
            interval: queue
                .interval
                .map_or(Duration::from_millis(100), |time| time.0),
        }),
        (DisciplineFile::Red, Some(low), Some(high)) if low.0 < high.0 => Ok(Discipline::Red {
            min_threshold: low.0,
            max_threshold: high.0,
            max_probability: queue.most.map_or(0.1, |probability| probability.0),
        }),
        (DisciplineFile::Red, ..) => Err(TopologyError::new(
            at,
            "discipline \"red\" lacks low and high, low below high",
            "add both",
        )),
    }
}
