//! The protocols that are compared.

use super::args::FileArgs;
use caudal_core::plan::FileProtocol;

/// The protocols that are compared where none were asked for.
const COMPARED: [FileProtocol; 2] = [FileProtocol::Tcp, FileProtocol::Rbt];

/// The protocols, each once: of a file TCP alone, unless more are asked for.
pub(super) fn protocols(args: &FileArgs) -> Vec<FileProtocol> {
    let mut protocols = Vec::new();
    for protocol in &args.via {
        if !protocols.contains(protocol) {
            protocols.push(*protocol);
        }
    }
    if !protocols.is_empty() {
        return protocols;
    }
    if args.send.is_some() || args.get.is_some() {
        return vec![FileProtocol::Tcp];
    }
    COMPARED.to_vec()
}

/// `true` for a protocol whose sender is the kernel's TCP.
pub(super) const fn is_over_tcp(protocol: FileProtocol) -> bool {
    matches!(protocol, FileProtocol::Tcp | FileProtocol::Tls)
}
