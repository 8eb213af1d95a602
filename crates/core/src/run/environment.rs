//! The program that measured and the machines of a run.

use super::machine::Machine;
use crate::host::Host;
use crate::opening::OpeningReport;
use crate::tcp_proxy::TcpProxy;
use crate::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

/// The program that measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tool {
    /// Its name.
    pub name: ExternalText,
    /// Its version; absent where a log does not report it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<ExternalText>,
    /// The tool whose command line it was run with, where that was not its own.
    #[serde(default, rename = "as", skip_serializing_if = "Option::is_none")]
    pub compatible_with: Option<ExternalText>,
}

/// The machines of a run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Environment {
    /// The client's machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<Host>,
    /// The server's machine; of another program's server only `tool` and `name` are known.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        serialize_with = "known_keys"
    )]
    pub server: Option<Host>,
    /// What ends TCP between them, where something does: the connections of either end go to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tcp_proxy: Option<Box<TcpProxy>>,
    /// How the flows opened, where only some did and the test was carried out with those.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Box<OpeningReport>>,
    /// The machine it was recorded on, in the store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Machine>,
}

/// Writes a host with all its keys where it described itself, else with those that are known.
fn known_keys<S: Serializer>(host: &Option<Host>, to: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Named<'a> {
        tool: &'a ExternalText,
        name: &'a ExternalText,
    }
    match host {
        Some(host) if host.kernel.is_empty() => Named {
            tool: &host.tool,
            name: &host.name,
        }
        .serialize(to),
        host => host.serialize(to),
    }
}
