//! How a path treats flows that differ in their source ports alone.

use crate::plan::Transport;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// Maximum number of source ports that a text lists.
const MAX_LISTED: usize = 8;

/// The flows over one transport protocol that were tried, and those of which no packet was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PathFlows {
    /// The transport protocol.
    pub transport: Transport,
    /// The port of the host that they are sent to.
    pub port: u16,
    /// The number of flows, each from a source port of its own.
    pub tried: u32,
    /// Those of which a packet was answered.
    pub answered: u32,
    /// Those that were never answered while others were, three times or more.
    pub dropped: Vec<DroppedFlow>,
    /// The source ports of those that were not answered, too seldom beside one that was to be told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub undecided: Vec<u16>,
    /// The largest number of equal paths of which so many flows take any given one with a probability of 95 %.
    pub paths_met: u32,
}

/// A flow that the path drops.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DroppedFlow {
    /// The source port.
    pub source_port: u16,
    /// The last hop that its packets are known to reach; absent where that was not found out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_hop: Option<FlowHop>,
}

/// A hop that answered a packet of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FlowHop {
    /// The TTL of the packet.
    pub ttl: u8,
    /// The address that answered.
    pub address: IpAddr,
}

impl PathFlows {
    /// `true` where some flows are answered and others are not.
    #[must_use]
    pub fn is_uneven(&self) -> bool {
        !self.dropped.is_empty()
    }
}

impl fmt::Display for PathFlows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            transport,
            port,
            tried,
            ..
        } = self;
        if self.answered == 0 {
            let why = match transport {
                Transport::Tcp => "nothing listens or refuses there, or TCP is dropped",
                Transport::Udp => "no server of caudal is there, or UDP is dropped",
            };
            return write!(
                f,
                "{transport}: none of {tried} source ports is answered by port {port}: {why}"
            );
        }
        if !self.is_uneven() {
            write!(
                f,
                "{transport}: {} of {tried} source ports are answered",
                self.answered
            )?;
            if !self.undecided.is_empty() {
                write!(f, ", and {} too seldom to tell", self.undecided.len())?;
            }
            return write!(
                f,
                "; they take any given one of {} equal paths with 95 % probability",
                self.paths_met
            );
        }
        let listed: Vec<String> = self
            .dropped
            .iter()
            .take(MAX_LISTED)
            .map(|flow| flow.source_port.to_string())
            .collect();
        let more = if self.dropped.len() > MAX_LISTED {
            ", …"
        } else {
            ""
        };
        write!(
            f,
            "{transport}: {} of {tried} source ports get no answer ({}{more}): the path treats flows differently",
            self.dropped.len(),
            listed.join(", ")
        )?;
        let hop = self
            .dropped
            .iter()
            .find_map(|flow| Some((flow.source_port, flow.last_hop?)));
        match hop {
            Some((source_port, hop)) => write!(
                f,
                "; packets from port {source_port} reach hop {} ({}) and no other behind it",
                hop.ttl, hop.address
            ),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows(answered: u32, dropped: &[u16]) -> PathFlows {
        let hop = FlowHop {
            ttl: 1,
            address: [192, 0, 2, 1].into(),
        };
        PathFlows {
            transport: Transport::Udp,
            port: 5201,
            tried: 4,
            answered,
            dropped: dropped
                .iter()
                .map(|&source_port| DroppedFlow {
                    source_port,
                    last_hop: Some(hop),
                })
                .collect(),
            undecided: Vec::new(),
            paths_met: 1,
        }
    }

    #[test]
    fn what_is_not_answered_is_told_with_its_source_ports() {
        assert_eq!(
            flows(2, &[40001, 40003]).to_string(),
            "UDP: 2 of 4 source ports get no answer (40001, 40003): the path treats flows differently; packets from port 40001 \
             reach hop 1 (192.0.2.1) and no other behind it"
        );
        assert!(
            flows(4, &[])
                .to_string()
                .starts_with("UDP: 4 of 4 source ports are answered")
        );
        assert!(flows(0, &[]).to_string().contains("none of 4"));
        let text = serde_json::to_string(&flows(2, &[40001])).unwrap();
        assert_eq!(
            serde_json::from_str::<PathFlows>(&text).unwrap(),
            flows(2, &[40001])
        );
    }
}
