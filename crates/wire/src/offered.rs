//! A plan inside a message: the flat record of documents, with the kinds of the protocol.

use caudal_core::plan::{
    BulkPlanRecord, ConnectPlanRecord, FilePlanRecord, PathPlanRecord, Plan, QualityPlanRecord,
    RttPlanRecord, Transport,
};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// A plan in the form in which a message carries it.
#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
enum OfferedPlan {
    /// A bulk transfer, over either transport.
    Traffic(BulkPlanRecord),
    /// Messages that the server sends back whole.
    Rtt(RttPlanRecord),
    /// The rate at which connections open.
    Connect(ConnectPlanRecord),
    /// A phase of a test of latency under load.
    Quality(QualityPlanRecord),
    /// A file transfer.
    File(FilePlanRecord),
    /// Trains of datagrams.
    Trains(PathPlanRecord),
}

/// Writes a plan into a message.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(plan: &Plan, to: S) -> Result<S::Ok, S::Error> {
    let offered = match plan {
        Plan::Tcp(plan) => OfferedPlan::Traffic(plan.into()),
        Plan::Udp(plan) => OfferedPlan::Traffic(plan.into()),
        Plan::Echo(plan) => OfferedPlan::Rtt(plan.into()),
        Plan::Connect(plan) => OfferedPlan::Connect(plan.into()),
        Plan::Quality(plan) => OfferedPlan::Quality(plan.into()),
        Plan::Transfer(plan) => OfferedPlan::File(plan.into()),
        Plan::Trains(plan) => OfferedPlan::Trains(plan.into()),
    };
    offered.serialize(to)
}

/// Reads a plan from a message.
///
/// # Errors
/// When a key that its kind needs is missing, and those of the deserializer.
pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Plan, D::Error> {
    let offered = OfferedPlan::deserialize(from)?;
    let plan = match &offered {
        OfferedPlan::Traffic(record) => match record.transport {
            Some(Transport::Tcp) => record.try_into().map(Plan::Tcp),
            Some(Transport::Udp) => record.try_into().map(Plan::Udp),
            None => return Err(de::Error::missing_field("transport")),
        },
        OfferedPlan::Rtt(record) => record.try_into().map(Plan::Echo),
        OfferedPlan::Connect(record) => record.try_into().map(Plan::Connect),
        OfferedPlan::Quality(record) => record.try_into().map(Plan::Quality),
        OfferedPlan::File(record) => record.try_into().map(Plan::Transfer),
        OfferedPlan::Trains(record) => record.try_into().map(Plan::Trains),
    };
    plan.map_err(de::Error::custom)
}
