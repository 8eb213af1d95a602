//! The cells of a comparison: each content by each protocol with each of its settings.

use super::args::FileArgs;
use super::values::PacketSize;
use caudal_core::plan::{
    ArqMode, BULK_WRITE_BYTES, DEFAULT_PACKET_BYTES, FileProtocol, RbtTransfer, SendTier,
    TcpTransferSettings, TransferVia,
};

/// The protocols that are compared where none were asked for.
const COMPARED: [FileProtocol; 2] = [FileProtocol::Tcp, FileProtocol::Rbt];
/// The granularity of RBT's loss detection, µs.
const GRANULARITY_US: u32 = 1000;

/// A cell: a content by its position, and how it is transferred.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChosenCell {
    pub(super) content: usize,
    pub(super) via: TransferVia,
}

/// The cells of so many contents: each content by each protocol, in the order of the flags.
pub(super) fn cells(args: &FileArgs, contents: usize) -> Vec<ChosenCell> {
    let vias: Vec<TransferVia> = protocols(args)
        .into_iter()
        .flat_map(|protocol| settings(args, protocol))
        .collect();
    (0..contents)
        .flat_map(|content| {
            vias.iter().map(move |via| ChosenCell {
                content,
                via: via.clone(),
            })
        })
        .collect()
}

/// The settings with which a protocol is measured.
fn settings(args: &FileArgs, protocol: FileProtocol) -> Vec<TransferVia> {
    match protocol {
        FileProtocol::Tcp => tcp(args, args.sendfile)
            .into_iter()
            .map(TransferVia::Tcp)
            .collect(),
        FileProtocol::Tls => tcp(args, false).into_iter().map(TransferVia::Tls).collect(),
        FileProtocol::Rbt => packets(args)
            .into_iter()
            .map(|packet_bytes| TransferVia::Rbt(rbt(args, packet_bytes)))
            .collect(),
        FileProtocol::Quic => vec![TransferVia::Quic],
    }
}

fn rbt(args: &FileArgs, packet_bytes: u32) -> RbtTransfer {
    RbtTransfer {
        packet_bytes,
        arq: args.arq.unwrap_or(ArqMode::Sack),
        tier: args.tier.unwrap_or(SendTier::Auto),
        granularity_us: args.granularity.map_or(GRANULARITY_US, |time| {
            u32::try_from(time.as_micros()).unwrap_or(u32::MAX)
        }),
    }
}

/// The packet sizes.
fn packets(args: &FileArgs) -> Vec<u32> {
    if args.packet.is_empty() {
        return vec![DEFAULT_PACKET_BYTES];
    }
    let mut packets = args.packet.clone();
    packets.dedup();
    packets
}

/// Each write size with each MSS; where both follow the packet sizes, each packet size for both at once.
fn tcp(args: &FileArgs, sendfile: bool) -> Vec<TcpTransferSettings> {
    let transfer = |write_bytes: u32, mss: Option<u32>| TcpTransferSettings {
        write_bytes,
        mss,
        no_delay: !args.nagle,
        sendfile,
    };
    if args.write_size == [PacketSize::Packet] && args.mss == [PacketSize::Packet] {
        let both = packets(args).into_iter();
        return both.map(|packet| transfer(packet, Some(packet))).collect();
    }
    let writes = match args.write_size.as_slice() {
        [] => vec![BULK_WRITE_BYTES],
        sizes => expanded(args, sizes),
    };
    let segments: Vec<Option<u32>> = match args.mss.as_slice() {
        [] => vec![None],
        sizes => expanded(args, sizes).into_iter().map(Some).collect(),
    };
    let each = writes.iter().flat_map(|write| {
        let segments = segments.iter();
        segments.map(|mss| transfer(*write, *mss))
    });
    each.collect()
}

/// The sizes, with the packet sizes where they stand for them.
fn expanded(args: &FileArgs, sizes: &[PacketSize]) -> Vec<u32> {
    let mut all = Vec::new();
    for size in sizes {
        let sizes = match size {
            PacketSize::Bytes(bytes) => vec![*bytes],
            PacketSize::Packet => packets(args),
        };
        for size in sizes {
            if !all.contains(&size) {
                all.push(size);
            }
        }
    }
    all
}

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

#[cfg(test)]
mod tests {
    use super::super::parsed::parsed;
    use super::*;
    use caudal_core::transfer::TransferCell;

    fn names(line: &str, contents: usize) -> Vec<String> {
        cells(&parsed(line), contents)
            .into_iter()
            .map(|cell| TransferCell {
                via: cell.via,
                size_bytes: None,
                file: Some(cell.content.to_string().into()),
            })
            .map(|cell| format!("{} {}", cell.content(), cell.name()))
            .collect()
    }

    #[test]
    fn each_content_is_transferred_by_each_protocol_with_each_setting() {
        assert_eq!(names("", 1), ["0 tcp", "0 rbt 1400"]);
        assert_eq!(names("--send a", 1), ["0 tcp"]);
        assert_eq!(
            names("--via rbt,tcp,rbt,quic --packet 100,1400", 2),
            [
                "0 rbt 100",
                "0 rbt 1400",
                "0 tcp",
                "0 quic 1400",
                "1 rbt 100",
                "1 rbt 1400",
                "1 tcp",
                "1 quic 1400"
            ]
        );
    }

    #[test]
    fn writes_and_segments_may_follow_the_packet_sizes() {
        assert_eq!(
            names("--via tcp --packet 100,500 --write-size packet", 1),
            ["0 tcp write 100", "0 tcp write 500"]
        );
        assert_eq!(
            names("--via tcp --packet 100,500 --mss packet", 1),
            ["0 tcp mss 100", "0 tcp mss 500"]
        );
        assert_eq!(
            names(
                "--via tcp --packet 100,500 --mss packet --write-size packet",
                1
            ),
            ["0 tcp write 100 mss 100", "0 tcp write 500 mss 500"]
        );
        assert_eq!(
            names(
                "--via tls --packet 100,500 --write-size packet,256Ki,500 --nagle",
                1
            ),
            [
                "0 tls write 100 nagle",
                "0 tls write 500 nagle",
                "0 tls nagle"
            ]
        );
        assert_eq!(
            names("--via tcp --write-size 100,1Ki --mss 536,1400", 1).len(),
            4
        );
    }
}
