//! Units of values.

use super::number::{decimal_prefix, time_unit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;

/// The unit of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Unit {
    /// Payload bits per second unless the prediction states otherwise.
    BitPerSecond,
    /// Bytes.
    Bytes,
    /// Seconds.
    Seconds,
    /// Ethernet frames per second.
    FramesPerSecond,
    /// Messages per second.
    MessagesPerSecond,
    /// Connections per second.
    ConnectionsPerSecond,
    /// A fraction that is printed in percent, such as a loss.
    Share,
    /// A fraction that is printed as a number, such as an efficiency.
    Efficiency,
    /// One value over another.
    Ratio,
    /// TCP segments.
    Segments,
    /// IP fragments.
    Fragments,
    /// Flows.
    Flows,
    /// Paths.
    Paths,
    /// Slot times of a half-duplex Ethernet.
    Slots,
    /// Ethernet frames.
    Frames,
    /// Collisions on a half-duplex medium.
    Collisions,
    /// Messages of a round-trip test.
    Messages,
    /// Retransmission timeouts.
    Timeouts,
    /// Datagrams.
    Datagrams,
}

impl Unit {
    /// Every unit.
    pub const ALL: [Self; 19] = [
        Self::BitPerSecond,
        Self::Bytes,
        Self::Seconds,
        Self::FramesPerSecond,
        Self::MessagesPerSecond,
        Self::ConnectionsPerSecond,
        Self::Share,
        Self::Efficiency,
        Self::Ratio,
        Self::Segments,
        Self::Fragments,
        Self::Flows,
        Self::Paths,
        Self::Slots,
        Self::Frames,
        Self::Collisions,
        Self::Messages,
        Self::Timeouts,
        Self::Datagrams,
    ];

    /// The unit as JSON and tables write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BitPerSecond => "bit/s",
            Self::Bytes => "bytes",
            Self::Seconds => "s",
            Self::FramesPerSecond => "frames/s",
            Self::MessagesPerSecond => "messages/s",
            Self::ConnectionsPerSecond => "connections/s",
            Self::Share | Self::Efficiency => "share",
            Self::Ratio => "ratio",
            Self::Segments => "segments",
            Self::Fragments => "fragments",
            Self::Flows => "flows",
            Self::Paths => "paths",
            Self::Slots => "slots",
            Self::Frames => "frames",
            Self::Collisions => "collisions",
            Self::Messages => "messages",
            Self::Timeouts => "timeouts",
            Self::Datagrams => "datagrams",
        }
    }

    /// The divisor and the label with which values about as large as this one are shown: `(1e6, "Mbit/s")`.
    pub(super) fn scale(self, value: f64) -> (f64, String) {
        let prefixed =
            |(divisor, prefix): (f64, &str), unit: &str| (divisor, format!("{prefix}{unit}"));
        match self {
            Self::BitPerSecond => prefixed(decimal_prefix(value), "bit/s"),
            Self::Bytes => prefixed(decimal_prefix(value), "B"),
            Self::Seconds => prefixed(time_unit(value), ""),
            Self::Share => (0.01, "%".to_owned()),
            Self::Efficiency | Self::Ratio => (1.0, String::new()),
            _ => (1.0, self.name().to_owned()),
        }
    }
}

impl Serialize for Unit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Unit {
    /// Parses the name of a unit; of units with the same name, the first.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let name = Cow::<'de, str>::deserialize(from)?;
        let unit = Self::ALL.into_iter().find(|unit| unit.name() == name);
        unit.ok_or_else(|| serde::de::Error::custom(format!("{name:?} is not a unit")))
    }
}

impl JsonSchema for Unit {
    fn schema_name() -> Cow<'static, str> {
        "Unit".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let mut names: Vec<&str> = Self::ALL.iter().map(|unit| unit.name()).collect();
        names.dedup();
        json_schema!({"type": "string", "enum": names})
    }
}
