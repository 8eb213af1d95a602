//! The list of workloads: a line each, from which their plans, kinds and records follow.

use super::bulk::BulkPlanRecord;
use super::check::CheckPlanRecord;
use super::connect::{ConnectPlan, ConnectPlanRecord};
use super::echo::{EchoPlan, RttPlanRecord};
use super::quality::{QualityPlan, QualityPlanRecord};
use super::record_keys::{PlanKeys, RecordError};
use super::stamp::StampPlanRecord;
use super::tcp::TcpPlan;
use super::trains::{PathPlanRecord, TrainsPlan};
use super::transfer::{FilePlanRecord, TransferPlan};
use super::udp::UdpPlan;
use super::workload_plan::WorkloadPlan;
use schemars::JsonSchema;
use serde::de::{self, DeserializeOwned};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Declares the workloads: of each its kind with the name of its command, the variant of [`Plan`], and the keys in documents. Those that
/// are composed of others have no plan of their own, which a peer would carry out.
macro_rules! workloads {
    (
        {$($(#[$doc:meta])* $kind:ident = $name:literal: $variant:ident($plan:ty), $record:ty;)+}
        composed {$($(#[$composed_doc:meta])* $composed:ident = $composed_name:literal: $composed_record:ty;)+}
    ) => {
        /// A test with nothing left open, which both ends carry out.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum Plan {
            $($(#[$doc])* $variant($plan),)+
        }

        impl Plan {
            /// The plan, whatever its workload.
            pub(super) fn test(&self) -> &dyn WorkloadPlan {
                match self {
                    $(Self::$variant(plan) => plan,)+
                }
            }
        }

        /// The workload of a recorded test.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "snake_case")]
        pub enum PlanKind {
            $($(#[$doc])* $kind,)+
            $($(#[$composed_doc])* $composed,)+
        }

        impl PlanKind {
            /// Every kind.
            pub const ALL: [Self; [$($name,)+ $($composed_name),+].len()] =
                [$(Self::$kind,)+ $(Self::$composed),+];

            /// The kind as documents write it: the name of its command.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)+
                    $(Self::$composed => $composed_name,)+
                }
            }
        }

        /// A plan as far as it is known. A plan of caudal has every key of its kind; one read from another
        /// tool's log has the keys that the log holds.
        ///
        /// A setting that may be left to the kernel (`window`, `mss`, `congestion`, `dscp`) is null where it was, and absent where
        /// nothing is known of it.
        #[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum PlanRecord {
            $($(#[$doc])* $kind($record),)+
            $($(#[$composed_doc])* $composed($composed_record),)+
            /// A bulk transfer of a log that does not tell its kind.
            #[serde(untagged)]
            Unknown(BulkPlanRecord),
        }

        impl PlanRecord {
            /// The keys, whatever the workload.
            pub(super) fn keys(&self) -> &dyn PlanKeys {
                match self {
                    $(Self::$kind(keys) => keys,)+
                    $(Self::$composed(keys) => keys,)+
                    Self::Unknown(keys) => keys,
                }
            }

            /// The keys, to be changed.
            pub(super) fn keys_mut(&mut self) -> &mut dyn PlanKeys {
                match self {
                    $(Self::$kind(keys) => keys,)+
                    $(Self::$composed(keys) => keys,)+
                    Self::Unknown(keys) => keys,
                }
            }

            /// The kind that the record names.
            pub(super) const fn named_kind(&self) -> Option<PlanKind> {
                match self {
                    $(Self::$kind(_) => Some(PlanKind::$kind),)+
                    $(Self::$composed(_) => Some(PlanKind::$composed),)+
                    Self::Unknown(_) => None,
                }
            }
        }

        impl<'de> Deserialize<'de> for PlanRecord {
            fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                let KeysByKind { kind, keys } = KeysByKind::deserialize(from)?;
                Ok(match kind {
                    $(Some(PlanKind::$kind) => Self::$kind(read(keys)?),)+
                    $(Some(PlanKind::$composed) => Self::$composed(read(keys)?),)+
                    None => Self::Unknown(read(keys)?),
                })
            }
        }

        impl From<&Plan> for PlanRecord {
            fn from(plan: &Plan) -> Self {
                match plan {
                    $(Plan::$variant(plan) => Self::$kind(plan.into()),)+
                }
            }
        }

        impl TryFrom<&PlanRecord> for Plan {
            type Error = RecordError;

            fn try_from(record: &PlanRecord) -> Result<Self, RecordError> {
                Ok(match record {
                    $(PlanRecord::$kind(keys) => Self::$variant(<$plan>::try_from(keys)?),)+
                    $(PlanRecord::$composed(_) => return Err(RecordError::Composed),)+
                    PlanRecord::Unknown(_) => return Err(RecordError::Missing("kind")),
                })
            }
        }
    };
}

workloads! {
    {
    /// A bulk transfer over TCP.
    Tcp = "tcp": Tcp(TcpPlan), BulkPlanRecord;
    /// A bulk transfer over UDP.
    Udp = "udp": Udp(UdpPlan), BulkPlanRecord;
    /// Round trips: messages that the server sends back whole.
    Rtt = "rtt": Echo(EchoPlan), RttPlanRecord;
    /// The rate at which connections open.
    Connect = "connect": Connect(ConnectPlan), ConnectPlanRecord;
    /// Latency under load; a plan is one of its phases.
    Quality = "quality": Quality(QualityPlan), QualityPlanRecord;
    /// A file transfer.
    File = "file": Transfer(TransferPlan), FilePlanRecord;
    /// The probing of a path; a plan is of trains of datagrams between its ends.
    Path = "path": Trains(TrainsPlan), PathPlanRecord;
    }
    composed {
    /// Several tests of one host, and what they say together.
    Check = "check": CheckPlanRecord;
    /// Packets that a reflector of STAMP sends back.
    Stamp = "stamp": StampPlanRecord;
    }
}

/// The keys of a record, and the kind that tells which they are.
#[derive(Deserialize)]
struct KeysByKind {
    #[serde(default)]
    kind: Option<PlanKind>,
    #[serde(flatten)]
    keys: Map<String, Value>,
}

fn read<T: DeserializeOwned, E: de::Error>(keys: Map<String, Value>) -> Result<T, E> {
    serde_json::from_value(Value::Object(keys)).map_err(E::custom)
}
