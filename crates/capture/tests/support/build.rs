//! Frames and files for tests.

use caudal_capture::{
    AnalysisOptions, CaptureReport, FrameOrigin, InterfaceDescription, LinkType, PcapngEncoder,
    WrittenFrame,
};

/// A frame of TCP over IPv4 and Ethernet, from 10.0.0.1:1000 (the client) to 10.0.0.2:2000 or back.
#[derive(Debug, Clone, Copy)]
pub struct Tcp {
    pub at_us: u64,
    pub from_client: bool,
    pub flags: u8,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub payload: usize,
    pub options: &'static [u8],
    pub ttl: u8,
    pub tos: u8,
}

pub const FIN: u8 = 1;
pub const SYN: u8 = 2;
pub const RST: u8 = 4;
pub const PSH: u8 = 8;
pub const ACK: u8 = 16;
pub const ECE: u8 = 64;

/// MSS 1460, SACK permitted, no window scaling, two NOPs.
pub const SYN_OPTIONS: &[u8] = &[2, 4, 5, 0xb4, 4, 2, 1, 1];

/// A segment of the client, at a time in µs.
pub fn up(at_us: u64, seq: u32, ack: u32, payload: usize) -> Tcp {
    Tcp {
        at_us,
        from_client: true,
        flags: ACK,
        seq,
        ack,
        window: 60_000,
        payload,
        options: &[],
        ttl: 64,
        tos: 0,
    }
}

/// A segment of the server.
pub fn down(at_us: u64, seq: u32, ack: u32, payload: usize) -> Tcp {
    Tcp {
        from_client: false,
        ..up(at_us, seq, ack, payload)
    }
}

impl Tcp {
    pub fn flags(self, flags: u8) -> Self {
        Self { flags, ..self }
    }

    pub fn window(self, window: u16) -> Self {
        Self { window, ..self }
    }

    pub fn options(self, options: &'static [u8]) -> Self {
        Self { options, ..self }
    }
}

/// A handshake that begins at 0 and takes 10 ms, captured close to the client: relative numbers begin at 1 000.
pub fn handshake() -> Vec<Tcp> {
    vec![
        up(0, 1_000, 0, 0).flags(SYN).options(SYN_OPTIONS),
        down(10_000, 5_000, 1_001, 0)
            .flags(SYN | ACK)
            .options(SYN_OPTIONS),
        up(10_010, 1_001, 5_001, 0),
    ]
}

/// A packet of IPv4.
pub fn ipv4(
    protocol: u8,
    source: [u8; 4],
    destination: [u8; 4],
    id: u16,
    part: u16,
    body: &[u8],
) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend(((20 + body.len()) as u16).to_be_bytes());
    bytes.extend(id.to_be_bytes());
    bytes.extend(part.to_be_bytes());
    bytes.extend([64, protocol, 0, 0]);
    bytes.extend(source);
    bytes.extend(destination);
    bytes.extend(body);
    bytes
}

/// A datagram of UDP.
pub fn udp(source: u16, destination: u16, payload: &[u8]) -> Vec<u8> {
    let mut bytes = source.to_be_bytes().to_vec();
    bytes.extend(destination.to_be_bytes());
    bytes.extend(((8 + payload.len()) as u16).to_be_bytes());
    bytes.extend([0, 0]);
    bytes.extend(payload);
    bytes
}

/// A segment with its packet; each has an identification of its own.
pub fn packet(tcp: &Tcp, id: u16) -> Vec<u8> {
    let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let (source, destination, ports) = if tcp.from_client {
        (client, server, [1_000_u16, 2_000])
    } else {
        (server, client, [2_000, 1_000])
    };
    let mut body: Vec<u8> = ports.iter().flat_map(|port| port.to_be_bytes()).collect();
    body.extend(tcp.seq.to_be_bytes());
    body.extend(tcp.ack.to_be_bytes());
    body.extend([((20 + tcp.options.len()) as u8) << 2, tcp.flags]);
    body.extend(tcp.window.to_be_bytes());
    body.extend([0x12, 0x34, 0, 0]);
    body.extend(tcp.options);
    body.resize(body.len() + tcp.payload, b'x');
    let mut bytes = ipv4(6, source, destination, id, 0x4000, &body);
    (bytes[1], bytes[8]) = (tcp.tos, tcp.ttl);
    bytes
}

/// A file of raw IP packets, with their times in µs.
pub fn file(packets: &[(u64, Vec<u8>)]) -> Vec<u8> {
    let mut encoder = PcapngEncoder::new("test", "");
    encoder.interface(&InterfaceDescription {
        name: "test0",
        link_type: LinkType::Raw,
        snap_bytes: 0,
        filter: "",
    });
    for (at_us, packet) in packets {
        encoder.frame(&WrittenFrame {
            interface: 0,
            at_ns: (1_700_000_000_000_000 + at_us) * 1_000,
            original_bytes: packet.len() as u32,
            data: packet,
            origin: FrameOrigin::Unknown,
            gso: None,
            comment: "",
        });
    }
    encoder.bytes().to_vec()
}

/// A file of segments.
pub fn tcp_file(segments: &[Tcp]) -> Vec<u8> {
    let packets: Vec<_> = segments
        .iter()
        .enumerate()
        .map(|(at, tcp)| (tcp.at_us, packet(tcp, at as u16 + 1)))
        .collect();
    file(&packets)
}

/// What segments behind a handshake tell.
pub fn after_handshake(segments: &[Tcp]) -> CaptureReport {
    let all = [handshake(), segments.to_vec()].concat();
    super::analyse_in(&tcp_file(&all), 1 << 20, &AnalysisOptions::default())
}
