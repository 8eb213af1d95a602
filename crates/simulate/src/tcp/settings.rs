//! The settings of a TCP connection.

use std::str::FromStr;

use caudal_analysis::framing::Framing;
use caudal_core::units::ByteCount;
use caudal_topology::{HostSetup, NodeRole, Topology};
use serde::{Deserialize, Serialize};

use crate::error::SimulateError;

/// A congestion control algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CongestionControl {
    /// NewReno with selective acknowledgements (RFC 5681, 6675).
    Reno,
    /// CUBIC (RFC 9438) with HyStart, as in Linux.
    Cubic,
}

impl FromStr for CongestionControl {
    type Err = SimulateError;

    /// The algorithm with this name in the kernel.
    ///
    /// # Errors
    /// [`SimulateError::NotModelled`] for any other algorithm.
    fn from_str(name: &str) -> Result<Self, SimulateError> {
        match name {
            "reno" => Ok(Self::Reno),
            "cubic" => Ok(Self::Cubic),
            _ => Err(SimulateError::NotModelled(name.to_owned())),
        }
    }
}

/// The settings of both ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSettings {
    /// The headers and the largest packet.
    pub framing: Framing,
    /// The congestion control of both ends.
    pub congestion: CongestionControl,
    /// The send buffer: the limit of bytes sent and not acknowledged.
    pub send_window: ByteCount,
    /// The window that the receiver offers.
    pub receive_window: ByteCount,
    /// The messages exchanged before the payload.
    pub handshake: ApplicationHandshake,
}

impl TcpSettings {
    /// The settings of a connection that `from` opens to `to`, from the kernel settings in their topology.
    ///
    /// The congestion control is that of `from`, by default CUBIC. `net.ipv4.tcp_wmem` of `from` and `net.ipv4.tcp_rmem` of
    /// `to` limit the windows, the latter to half, as Linux does (`tcp_adv_win_scale`); `net.ipv4.tcp_timestamps = 0` of
    /// either switches timestamps off.
    ///
    /// # Errors
    /// When the congestion control is not modelled.
    pub fn between(topology: &Topology, from: &str, to: &str) -> Result<Self, SimulateError> {
        let default = HostSetup::default();
        let setup = |name| match topology.node(name).map(|node| &topology.nodes[node].role) {
            Some(NodeRole::Host(setup) | NodeRole::Router(setup)) => setup,
            _ => &default,
        };
        let (from, to) = (setup(from), setup(to));
        let mut settings = Self::default();
        if let Some(name) = &from.congestion {
            settings.congestion = name.parse()?;
        }
        if let Some(max) = max_size(from, "net.ipv4.tcp_wmem") {
            settings.send_window = ByteCount::new(max);
        }
        if let Some(max) = max_size(to, "net.ipv4.tcp_rmem") {
            settings.receive_window = ByteCount::new(max / 2);
        }
        let has_timestamps = |setup: &HostSetup| {
            let value = setup.sysctl.get("net.ipv4.tcp_timestamps");
            value.is_none_or(|value| value.trim() != "0")
        };
        settings.framing.timestamps = has_timestamps(from) && has_timestamps(to);
        Ok(settings)
    }
}

/// The maximum, the last of the three sizes of a kernel parameter such as `net.ipv4.tcp_rmem`.
fn max_size(setup: &HostSetup, parameter: &str) -> Option<u64> {
    let sizes = setup.sysctl.get(parameter)?;
    sizes.split_whitespace().nth(2)?.parse().ok()
}

/// A request and its response that an application exchanges before the payload of a connection.
///
/// As both are small, their round trip is the shortest of the connection, with which HyStart and loss detection compare all
/// later ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ApplicationHandshake {
    /// The length of the request; with 0 the payload starts at once.
    pub request_bytes: u32,
    /// The length of the response; with 0 the payload starts when the request is acknowledged.
    pub response_bytes: u32,
}

impl ApplicationHandshake {
    /// No handshake.
    pub const NONE: Self = Self {
        request_bytes: 0,
        response_bytes: 0,
    };
    /// The handshake of a data connection of caudal's protocol.
    pub const CAUDAL: Self = Self {
        request_bytes: 32,
        response_bytes: 8,
    };
    /// The handshake of a data connection of iperf3: its cookie.
    pub const IPERF3: Self = Self {
        request_bytes: 37,
        response_bytes: 0,
    };
}

impl Default for TcpSettings {
    /// CUBIC over Ethernet with caudal's handshake and windows of 4 MiB, about the maximum of Linux's buffers (tcp(7),
    /// `tcp_wmem`).
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            congestion: CongestionControl::Cubic,
            send_window: ByteCount::new(4 << 20),
            receive_window: ByteCount::new(4 << 20),
            handshake: ApplicationHandshake::CAUDAL,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_topology::TopologyFile;

    fn settings(host: &str) -> Result<TcpSettings, SimulateError> {
        let text = format!(
            "host = [{{ name = \"a\", {host} }}, {{ name = \"b\", sysctl = {{ \"net.ipv4.tcp_rmem\" = \"4096 65536 131072\" }} }}]\nlink = [{{ between = [\"a\", \"b\"] }}]"
        );
        let file: TopologyFile = toml::from_str(&text).unwrap();
        TcpSettings::between(&Topology::resolve(&file).unwrap(), "a", "b")
    }

    #[test]
    fn settings_follow_the_kernel_settings_of_the_topology() {
        let reno = settings("congestion = \"reno\"").unwrap();
        assert_eq!(reno.congestion, CongestionControl::Reno);
        assert_eq!(reno.receive_window, ByteCount::new(65_536));
        assert!(reno.framing.timestamps);
        let no_timestamps = settings("sysctl = { \"net.ipv4.tcp_timestamps\" = \"0\" }").unwrap();
        assert!(
            !no_timestamps.framing.timestamps
                && no_timestamps.congestion == CongestionControl::Cubic
        );
        let unknown = settings("congestion = \"bbr\"").unwrap_err().to_string();
        assert!(
            unknown.contains("bbr") && unknown.contains("cubic"),
            "{unknown}"
        );
    }
}
