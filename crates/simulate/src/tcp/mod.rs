//! TCP, segment by segment, after what Linux does.

pub(crate) mod connection;
mod controller;
mod cubic;
mod receiver;
mod reno;
mod rtt;
mod scoreboard;
pub(crate) mod segment;
mod sender;
mod window;

use caudal_core::framing::Framing;
use caudal_core::units::ByteCount;
use caudal_topology::{HostSetup, Role, Topology};
use serde::{Deserialize, Serialize};

use crate::error::SimulateError;

/// What decides how much may be in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Congestion {
    /// NewReno's window with selective acknowledgements (RFC 5681, 6675).
    Reno,
    /// CUBIC (RFC 9438) with HyStart, as in Linux.
    Cubic,
}

impl Congestion {
    /// The congestion control the kernel knows by `name`.
    ///
    /// # Errors
    /// When it is not modelled.
    pub fn named(name: &str) -> Result<Self, SimulateError> {
        match name {
            "reno" => Ok(Self::Reno),
            "cubic" => Ok(Self::Cubic),
            _ => Err(SimulateError::NoModel(name.to_owned())),
        }
    }
}

/// How both ends of a connection are set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSettings {
    /// Headers and the largest packet.
    pub framing: Framing,
    /// The congestion control of both ends.
    pub congestion: Congestion,
    /// The most that is sent and not acknowledged: what the sender's buffer holds.
    pub send_window: ByteCount,
    /// The most that the receiver takes in flight: what its window says.
    pub receive_window: ByteCount,
    /// What the ends say to each other before the stream.
    pub greeting: Greeting,
}

impl TcpSettings {
    /// How a connection is set that `from` opens to `to`, by what their topology says of their kernels.
    ///
    /// The congestion control is that of `from`, CUBIC when nothing is said. `net.ipv4.tcp_wmem` of `from` and
    /// `net.ipv4.tcp_rmem` of `to` bound the windows, the latter by half, which is what Linux offers of it (`tcp_adv_win_scale`);
    /// `net.ipv4.tcp_timestamps` of either leaves timestamps out.
    ///
    /// # Errors
    /// When the congestion control is not modelled.
    pub fn between(topology: &Topology, from: &str, to: &str) -> Result<Self, SimulateError> {
        let nothing = HostSetup::default();
        let setup = |name| match topology.node(name).map(|node| &topology.nodes[node].role) {
            Some(Role::Host(setup) | Role::Router(setup)) => setup,
            _ => &nothing,
        };
        let (from, to) = (setup(from), setup(to));
        let mut settings = Self::default();
        if let Some(name) = &from.congestion {
            settings.congestion = Congestion::named(name)?;
        }
        if let Some(most) = largest(from, "net.ipv4.tcp_wmem") {
            settings.send_window = ByteCount::new(most);
        }
        if let Some(most) = largest(to, "net.ipv4.tcp_rmem") {
            settings.receive_window = ByteCount::new(most / 2);
        }
        let without = |setup: &HostSetup| {
            let value = setup.sysctl.get("net.ipv4.tcp_timestamps");
            value.is_some_and(|value| value.trim() == "0")
        };
        settings.framing.timestamps = !without(from) && !without(to);
        Ok(settings)
    }
}

/// The last of the three sizes that a kernel parameter is set to.
fn largest(setup: &HostSetup, parameter: &str) -> Option<u64> {
    let sizes = setup.sysctl.get(parameter)?;
    sizes.split_whitespace().nth(2)?.parse().ok()
}

/// A message and its answer that cross a connection before its stream begins.
///
/// They are small, and their round trip is the shortest the connection will see: HyStart and loss detection compare all
/// later ones with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Greeting {
    /// Bytes of the message; with none the stream begins at once.
    pub asked: u32,
    /// Bytes of its answer; with none the stream begins when the message is acknowledged.
    pub answered: u32,
}

impl Greeting {
    /// None.
    pub const NONE: Self = Self {
        asked: 0,
        answered: 0,
    };
    /// What opens a data connection of caudal's protocol.
    pub const CAUDAL: Self = Self {
        asked: 32,
        answered: 8,
    };
    /// What opens a data connection of iperf3: its cookie.
    pub const IPERF3: Self = Self {
        asked: 37,
        answered: 0,
    };
}

impl Default for TcpSettings {
    /// CUBIC over plain Ethernet as caudal opens it; windows of 4 MiB, about what Linux grows its buffers to (tcp(7),
    /// `tcp_wmem`).
    fn default() -> Self {
        Self {
            framing: Framing::default(),
            congestion: Congestion::Cubic,
            send_window: ByteCount::new(4 << 20),
            receive_window: ByteCount::new(4 << 20),
            greeting: Greeting::CAUDAL,
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
    fn a_topology_says_how_its_hosts_kernels_are_set() {
        let plain = settings("congestion = \"reno\"").unwrap();
        assert_eq!(plain.congestion, Congestion::Reno);
        assert_eq!(plain.receive_window, ByteCount::new(65_536));
        assert!(plain.framing.timestamps);
        let bare = settings("sysctl = { \"net.ipv4.tcp_timestamps\" = \"0\" }").unwrap();
        assert!(!bare.framing.timestamps && bare.congestion == Congestion::Cubic);
        let unknown = settings("congestion = \"bbr\"").unwrap_err().to_string();
        assert!(
            unknown.contains("bbr") && unknown.contains("cubic"),
            "{unknown}"
        );
    }
}
