//! A flow as text, `FROM>TO:WHAT`.

use super::error::FlowTextError;
use crate::loss::LossResponse;
use crate::topology::{FlowKind, FlowParameters};
use caudal_analysis::framing::Framing;
use caudal_core::plan::{MAX_DATAGRAM, MAX_MESSAGE, Transport};
use caudal_core::quantity::rate;
use caudal_core::units::{BitRate, ByteCount};
use caudal_simulate::scenario::{EchoClient, EchoTransport, Pattern, Traffic, UdpSource};
use caudal_simulate::tcp::{CongestionControl, TcpSettings};
use caudal_topology::Topology;
use std::time::Duration;

/// A flow to predict and to simulate.
#[derive(Debug, Clone)]
pub struct TopologyFlow {
    /// The traffic as text, such as `TCP, cubic`.
    pub description: String,
    /// The traffic to simulate.
    pub traffic: Traffic,
    /// Its ends and its traffic, as the formulas take them.
    pub parameters: FlowParameters,
}

impl TopologyFlow {
    /// Parses `h1>h3:cubic`, `h1>h3:udp=8M`, `h1>h3:echo=64` and the like.
    ///
    /// # Errors
    /// Says what is wrong with the text, and what to write.
    pub fn parse(text: &str, topology: &Topology) -> Result<Self, FlowTextError> {
        let parser = FlowParser { text, topology };
        let (ends, what) = text.split_once(':').unwrap_or((text, "tcp"));
        let (from_name, to_name) = ends
            .split_once('>')
            .ok_or_else(|| parser.invalid("there is no > between two hosts"))?;
        let (from, to) = (parser.node(from_name)?, parser.node(to_name)?);
        if from == to {
            return Err(parser.invalid("it ends where it begins"));
        }
        let tcp_settings = || TcpSettings::between(topology, from_name, to_name);
        let (kind, value) = match what.split_once('=') {
            Some((kind, value)) => (kind, Some(value)),
            None => (what, None),
        };
        let traffic = match (kind, value) {
            ("tcp", None) => tcp_traffic(tcp_settings()?),
            ("reno" | "cubic", None) => {
                let settings = tcp_settings()?;
                tcp_traffic(TcpSettings {
                    congestion: kind.parse().unwrap_or(settings.congestion),
                    ..settings
                })
            }
            ("udp", Some(value)) => parser.udp(value)?,
            ("echo", Some(size)) => parser.echo(Transport::Tcp, size, tcp_settings()?)?,
            ("echo-udp", Some(size)) => parser.echo(Transport::Udp, size, tcp_settings()?)?,
            _ => {
                return Err(parser.invalid(format!(
                    "{what:?} is none of tcp, reno, cubic, udp=RATE, udp=RATE/SIZE, echo=SIZE, echo-udp=SIZE"
                )));
            }
        };
        Ok(Self {
            description: traffic.description,
            traffic: traffic.simulated,
            parameters: FlowParameters {
                from,
                to,
                framing: traffic.framing,
                kind: traffic.kind,
            },
        })
    }
}

/// The traffic of a flow, without its ends.
struct TrafficSpec {
    description: String,
    simulated: Traffic,
    framing: Framing,
    kind: FlowKind,
}

fn tcp_traffic(settings: TcpSettings) -> TrafficSpec {
    let (name, response) = match settings.congestion {
        CongestionControl::Reno => ("reno", LossResponse::Reno),
        CongestionControl::Cubic => ("cubic", LossResponse::Cubic),
    };
    TrafficSpec {
        description: format!("TCP, {name}"),
        framing: settings.framing,
        kind: FlowKind::Tcp {
            loss_response: Some(response),
            window: settings.send_window.min(settings.receive_window),
        },
        simulated: Traffic::tcp(settings),
    }
}

/// The text of one flow, and the topology it goes over.
struct FlowParser<'a> {
    text: &'a str,
    topology: &'a Topology,
}

impl FlowParser<'_> {
    fn invalid(&self, problem: impl Into<String>) -> FlowTextError {
        self.error(
            problem,
            "write it as 'h1>h3:cubic', 'h1>h3:udp=8M' or 'h1>h3:echo=64'",
        )
    }

    fn error(&self, problem: impl Into<String>, remedy: impl Into<String>) -> FlowTextError {
        FlowTextError::Invalid {
            text: self.text.to_owned(),
            problem: problem.into(),
            remedy: remedy.into(),
        }
    }

    /// The host or router of that name.
    fn node(&self, name: &str) -> Result<usize, FlowTextError> {
        let nodes = &self.topology.nodes;
        self.topology
            .node(name)
            .filter(|node| nodes[*node].has_addresses())
            .ok_or_else(|| {
                let nodes = nodes.iter().filter(|node| node.has_addresses());
                let names: Vec<&str> = nodes.take(20).map(|node| node.name.as_str()).collect();
                self.error(
                    format!("there is no host {name:?}"),
                    format!("take one of {}", names.join(", ")),
                )
            })
    }

    /// A size between 1 and `max` bytes.
    fn size(&self, text: &str, max: u32) -> Result<u32, FlowTextError> {
        let size: ByteCount = text
            .parse()
            .map_err(|_| self.invalid(format!("{text:?} is not a size")))?;
        u32::try_from(size.get())
            .ok()
            .filter(|size| (1..=max).contains(size))
            .ok_or_else(|| {
                self.invalid(format!("a size of {text} is not between 1 and {max} bytes"))
            })
    }

    /// Datagrams at a constant rate, `RATE` or `RATE/SIZE`.
    fn udp(&self, text: &str) -> Result<TrafficSpec, FlowTextError> {
        let framing = Framing::default();
        let (rate_text, payload) = match text.split_once('/') {
            Some((rate_text, payload)) => (rate_text, self.size(payload, MAX_DATAGRAM)?),
            None => (text, framing.udp_payload_per_frame()),
        };
        let source_rate: BitRate = rate_text
            .parse()
            .map_err(|_| self.invalid(format!("{rate_text:?} is not a rate")))?;
        if source_rate == BitRate::ZERO {
            return Err(self.invalid("a rate of 0 sends nothing"));
        }
        Ok(TrafficSpec {
            description: format!("UDP, {} in datagrams of {payload} bytes", rate(source_rate)),
            simulated: Traffic::Udp(UdpSource {
                framing,
                payload,
                pattern: Pattern::Constant(source_rate),
            }),
            framing,
            kind: FlowKind::Udp {
                rate: source_rate,
                payload,
            },
        })
    }

    /// Messages of one size that are echoed one after the other.
    fn echo(
        &self,
        transport: Transport,
        size: &str,
        settings: TcpSettings,
    ) -> Result<TrafficSpec, FlowTextError> {
        let (name, max_message, echo_transport) = match transport {
            Transport::Tcp => ("TCP", MAX_MESSAGE, EchoTransport::Tcp(settings)),
            Transport::Udp => ("UDP", MAX_DATAGRAM, EchoTransport::Udp(Framing::default())),
        };
        let message = self.size(size, max_message)?;
        Ok(TrafficSpec {
            description: format!("echo of {message} bytes over {name}"),
            simulated: Traffic::Echo(EchoClient {
                transport: echo_transport,
                message,
                exchanges: None,
                pause: Duration::ZERO,
            }),
            framing: settings.framing,
            kind: FlowKind::Echo { transport, message },
        })
    }
}
