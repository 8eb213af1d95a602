//! The origin of a run that was read from another tool's log.

use crate::plan::Direction;
use crate::sample::Role;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The end of a test that wrote its log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ImportSide {
    /// The end that asked for the test.
    Client,
    /// The end that answered.
    Server,
}

impl ImportSide {
    /// The direction of a flow in which this side has this role.
    #[must_use]
    pub const fn direction(self, role: Role) -> Direction {
        match (self, role) {
            (Self::Client, Role::Sender) | (Self::Server, Role::Receiver) => Direction::Up,
            (Self::Client, Role::Receiver) | (Self::Server, Role::Sender) => Direction::Down,
        }
    }

    /// The role of this side in a flow of this direction.
    #[must_use]
    pub const fn role(self, direction: Direction) -> Role {
        match (self, direction) {
            (Self::Client, Direction::Up) | (Self::Server, Direction::Down) => Role::Sender,
            (Self::Client, Direction::Down) | (Self::Server, Direction::Up) => Role::Receiver,
        }
    }
}

/// The origin of a run that was read from another tool's log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Import {
    /// The name of the file.
    pub file: ExternalText,
    /// The format of the log, such as `iperf3 json`.
    pub format: ExternalText,
    /// The number of the test in the file, from 0.
    pub at: usize,
    /// The SHA-256 digest of the file, hexadecimal.
    pub sha256: ExternalText,
    /// `true` when the log rounds its numbers to the few digits it prints.
    pub rounded: bool,
    /// The end that wrote the log, where it can be determined.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub side: Option<ImportSide>,
}
