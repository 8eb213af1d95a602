//! The extensions of STAMP that a test asks for (RFC 8972), and whether they were answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An extension that packets may carry.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum StampExtension {
    /// The counts of packets at both ends, which tell the losses each way from one another.
    DirectMeasurement,
    /// The DSCP and the ECN field with which packets arrive, and the DSCP to reply with.
    ClassOfService,
    /// The source of the reflector's clock, and where its times are taken.
    TimestampInformation,
    /// The addresses and ports with which packets arrive.
    Location,
    /// The time at which the reply before really left the reflector.
    FollowUpTelemetry,
    /// A report on the access by which the sender is reached.
    AccessReport,
}

impl StampExtension {
    /// Every extension, in the order in which packets carry them.
    pub const ALL: [Self; 6] = [
        Self::DirectMeasurement,
        Self::ClassOfService,
        Self::TimestampInformation,
        Self::Location,
        Self::FollowUpTelemetry,
        Self::AccessReport,
    ];

    /// The name in text and flags.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DirectMeasurement => "direct-measurement",
            Self::ClassOfService => "class-of-service",
            Self::TimestampInformation => "timestamp-information",
            Self::Location => "location",
            Self::FollowUpTelemetry => "follow-up-telemetry",
            Self::AccessReport => "access-report",
        }
    }
}

/// An extension that was asked for, and whether the reflector answered it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExtensionAnswer {
    /// The extension.
    pub extension: StampExtension,
    /// `true` where a reply has it without a flag of the reflector.
    pub is_answered: bool,
}
