//! A setting of a kernel, compared with what a path needs of it.

use crate::sample::Role;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a setting of a kernel bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SettingEffect {
    /// The window of a connection whose buffers the kernel tunes.
    TunedWindow,
    /// The window of a connection whose buffers the program sets (SO_RCVBUF, SO_SNDBUF).
    SetWindow,
    /// The window of every connection.
    EveryWindow,
    /// How soon a large window is full again after a loss.
    Recovery,
}

/// A setting of the kernel at one end, what the path needs of it, and how to set that.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingJudgement {
    /// The end it belongs to.
    pub end: Role,
    /// Its name, as sysctl(8) has it.
    pub name: String,
    /// What it bounds.
    pub effect: SettingEffect,
    /// Its value; absent where that end did not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value: Option<ExternalText>,
    /// The value that the path needs, as text.
    pub needed: String,
    /// The same in bytes, of a setting that is a size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needed_bytes: Option<u64>,
    /// `true` when its value is what the path needs; absent where it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suffices: Option<bool>,
    /// The command line that sets what the path needs; absent where it suffices, is not known, or cannot be set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
