//! A plan inside a message: the flat record of documents, with the kinds of the protocol.

use caudal_core::plan::{Plan, PlanKind, PlanRecord, Transport};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de, ser};

/// The kinds of plans in the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OfferedKind {
    /// A bulk transfer, over either transport.
    Traffic,
    /// Messages that the server sends back whole.
    Echo,
    /// A phase of a test of latency under load.
    Quality,
    /// A file transfer.
    File,
    /// Trains of datagrams.
    Trains,
}

/// A plan in the form in which a message carries it.
#[derive(Serialize, Deserialize)]
struct OfferedPlan {
    kind: OfferedKind,
    #[serde(flatten)]
    record: PlanRecord,
}

/// Writes a plan into a message.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(plan: &Plan, to: S) -> Result<S::Ok, S::Error> {
    let record = PlanRecord::from(plan);
    let kind = match record.kind {
        Some(PlanKind::Tcp | PlanKind::Udp) => OfferedKind::Traffic,
        Some(PlanKind::Rtt) => OfferedKind::Echo,
        Some(PlanKind::Quality) => OfferedKind::Quality,
        Some(PlanKind::File) => OfferedKind::File,
        Some(PlanKind::Path) if record.trains.is_some() => OfferedKind::Trains,
        Some(PlanKind::Path) => {
            return Err(ser::Error::custom("a path is probed by one end alone"));
        }
        None => return Err(ser::Error::custom("a plan without a kind")),
    };
    OfferedPlan {
        kind,
        record: PlanRecord {
            kind: None,
            ..record
        },
    }
    .serialize(to)
}

/// Reads a plan from a message.
///
/// # Errors
/// When a key that its kind needs is missing, and those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Plan, D::Error> {
    let offered = OfferedPlan::deserialize(from)?;
    let kind = match (offered.kind, offered.record.transport) {
        (OfferedKind::Echo, _) => PlanKind::Rtt,
        (OfferedKind::Quality, _) => PlanKind::Quality,
        (OfferedKind::File, _) => PlanKind::File,
        (OfferedKind::Trains, _) => PlanKind::Path,
        (OfferedKind::Traffic, Some(Transport::Tcp)) => PlanKind::Tcp,
        (OfferedKind::Traffic, Some(Transport::Udp)) => PlanKind::Udp,
        (OfferedKind::Traffic, None) => return Err(de::Error::missing_field("transport")),
    };
    let record = PlanRecord {
        kind: Some(kind),
        ..offered.record
    };
    Plan::try_from(&record).map_err(de::Error::custom)
}
