//! Captures made for a test: raw IPv4 packets of one TCP connection in the format pcap.

/// A segment between 10.0.0.1:1000, the client, and 10.0.0.2:2000.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub at_us: u64,
    pub from_client: bool,
    pub syn: bool,
    pub seq: u32,
    pub ack: u32,
    pub payload: usize,
    pub ttl: u8,
}

impl Segment {
    fn packet(&self, id: u16) -> Vec<u8> {
        let (client, server) = ([10, 0, 0, 1], [10, 0, 0, 2]);
        let (from, to, ports) = if self.from_client {
            (client, server, [1_000_u16, 2_000])
        } else {
            (server, client, [2_000, 1_000])
        };
        let length = (40 + self.payload) as u16;
        let mut packet = vec![0x45, 0];
        packet.extend(length.to_be_bytes());
        packet.extend(id.to_be_bytes());
        packet.extend([0x40, 0, self.ttl, 6, 0, 0]);
        packet.extend(from);
        packet.extend(to);
        packet.extend(ports.into_iter().flat_map(u16::to_be_bytes));
        packet.extend(self.seq.to_be_bytes());
        packet.extend(self.ack.to_be_bytes());
        let syn = if self.syn { 2 } else { 0 };
        let ack = if self.ack > 0 { 16 } else { 0 };
        packet.extend([0x50, syn | ack, 0xff, 0xff, 0, 0, 0, 0]);
        packet.resize(usize::from(length), b'x');
        packet
    }
}

/// A file of these segments.
pub fn pcap_file(segments: &[Segment]) -> Vec<u8> {
    let mut file = Vec::new();
    let raw_ip = 101_u32;
    for word in [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, raw_ip] {
        file.extend(word.to_le_bytes());
    }
    for (nth, segment) in segments.iter().enumerate() {
        let packet = segment.packet(nth as u16 + 1);
        let seconds = 1_700_000_000 + (segment.at_us / 1_000_000) as u32;
        let micros = (segment.at_us % 1_000_000) as u32;
        let length = packet.len() as u32;
        for word in [seconds, micros, length, length] {
            file.extend(word.to_le_bytes());
        }
        file.extend(packet);
    }
    file
}

/// What the client's host sees: a handshake, then 1000 bytes each 50 ms, acknowledged after 20 ms.
pub fn at_client() -> Vec<Segment> {
    let segment = |at_us, from_client, seq, ack, payload| Segment {
        at_us,
        from_client,
        syn: false,
        seq,
        ack,
        payload,
        ttl: 64,
    };
    let syn = |segment: Segment| Segment {
        syn: true,
        ..segment
    };
    let mut segments = vec![
        syn(segment(0, true, 1_000, 0, 0)),
        syn(segment(20_000, false, 5_000, 1_001, 0)),
        segment(20_100, true, 1_001, 5_001, 0),
    ];
    for nth in 0..100_u32 {
        let at_us = 100_000 + u64::from(nth) * 50_000;
        let seq = 1_001 + nth * 1_000;
        segments.push(segment(at_us, true, seq, 5_001, 1_000));
        segments.push(segment(at_us + 20_000, false, 5_001, seq + 1_000, 0));
    }
    segments
}

/// What the server's host sees of it: 4 ms away, with a clock 7 s ahead, a router less in the TTL, and without these sequence numbers.
pub fn at_server(lost: &[u32]) -> Vec<Segment> {
    let arrived = at_client()
        .into_iter()
        .filter(|segment| !(segment.payload > 0 && lost.contains(&segment.seq)));
    arrived
        .map(|mut segment| {
            if segment.from_client {
                segment.at_us += 7_004_000;
                segment.ttl = 61;
            } else {
                segment.at_us += 6_996_000;
            }
            segment
        })
        .collect()
}
