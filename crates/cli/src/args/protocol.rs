//! Transport protocols, and the protocols of programs, by name.

use caudal_engine::Protocol;
use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

/// A transport protocol by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProtocolArg {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol.
    Udp,
}

/// The protocols of programs, those that have a name on the command line.
pub(crate) const PROTOCOLS: [Protocol; 5] = [
    Protocol::Native,
    Protocol::Iperf3,
    Protocol::Iperf2,
    Protocol::Nttcp,
    Protocol::Web,
];

/// Parses the name of a program as its protocol.
pub(super) fn any_protocol() -> impl TypedValueParser<Value = Protocol> {
    let names = PROTOCOLS.map(|protocol| PossibleValue::new(protocol_name(protocol)));
    PossibleValuesParser::new(names).map(|name| named(&name))
}

/// The protocol of one of these names.
pub(super) fn named(name: &str) -> Protocol {
    let named = PROTOCOLS
        .into_iter()
        .find(|one| protocol_name(*one) == name);
    named.expect("the parser accepts these names only")
}

/// The name by which the command line knows a protocol.
#[must_use]
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Native => "caudal",
        Protocol::Iperf3 => "iperf3",
        Protocol::Iperf2 => "iperf2",
        Protocol::Nttcp => "nttcp",
        Protocol::Web => "web",
    }
}
