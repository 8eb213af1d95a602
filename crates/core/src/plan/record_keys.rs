//! The reading of a recorded plan's keys, which may be missing.

use super::terms::{Directions, Rate, Transport};
use crate::text::ExternalText;
use serde::{Deserialize, Deserializer};
use std::time::Duration;

/// A record that lacks what a plan needs, or holds what no plan can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A key is missing.
    #[error("the plan has no {0:?}")]
    Missing(&'static str),
    /// A path is probed from one end, without a peer that would carry a part of it out.
    #[error("a path is probed by one end alone")]
    OneEnded,
    /// Several tests were carried out, each with a plan of its own.
    #[error("several tests have no common plan")]
    Composed,
    /// A number is too large for its key.
    #[error("the plan's {0:?} is out of range")]
    OutOfRange(&'static str),
}

/// The keys that the plan of any workload may have.
pub(super) trait PlanKeys {
    /// The server's address and port.
    fn peer(&self) -> Option<&ExternalText>;

    /// Sets the server's address and port.
    fn set_peer(&mut self, address: ExternalText);

    /// The transport protocol.
    fn transport(&self) -> Option<Transport>;

    /// The directions measured; `None` for a workload without a choice of them.
    fn directions(&self) -> Option<Directions> {
        None
    }

    /// The rate asked of each flow; `None` for a workload without one.
    fn rate(&self) -> Option<Rate> {
        None
    }
}

/// Reads a key that is there: null is a value, absence is not.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// The value of a key that a plan cannot do without.
pub(super) fn known<T>(value: Option<T>, key: &'static str) -> Result<T, RecordError> {
    value.ok_or(RecordError::Missing(key))
}

/// The congestion control asked for; the plan checks that the kernel could have it.
pub(super) fn congestion_name(recorded: &Option<Option<ExternalText>>) -> Option<String> {
    let name = recorded.as_ref()?.as_ref()?;
    Some(name.as_received().to_owned())
}

/// A duration as whole nanoseconds, saturating after 584 years.
pub(super) fn whole_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
