//! Durations as integer nanoseconds, for serde's `with`.

use serde::{Deserialize, Deserializer, Serializer};
use std::time::Duration;

/// Writes whole nanoseconds, saturating after 584 years.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_u64(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
}

/// Reads whole nanoseconds.
///
/// # Errors
/// Those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_nanos)
}
