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

/// Parses the name of a program as its protocol.
pub(super) fn any_protocol() -> impl TypedValueParser<Value = Protocol> {
    let names = [
        PossibleValue::new("caudal"),
        PossibleValue::new("iperf3"),
        PossibleValue::new("iperf2"),
        PossibleValue::new("nttcp"),
    ];
    PossibleValuesParser::new(names).map(|name| match name.as_str() {
        "caudal" => Protocol::Native,
        "iperf3" => Protocol::Iperf3,
        "iperf2" => Protocol::Iperf2,
        _ => Protocol::Nttcp,
    })
}

/// The name by which the command line knows a protocol.
#[must_use]
pub const fn protocol_name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Native => "caudal",
        Protocol::Iperf3 => "iperf3",
        Protocol::Iperf2 => "iperf2",
        Protocol::Nttcp => "nttcp",
    }
}
