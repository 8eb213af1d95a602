//! The traffic of others beside a test: what passed the interface of an end, less the test's own frames.

use super::context::Context;
use caudal_core::host::{Host, Usage};
use caudal_core::plan::{Direction, Transport};
use caudal_core::quantity::Unit;
use caudal_core::sample::SenderCounters;
use caudal_core::summary::{HostEnd, OtherTraffic};
use caudal_core::warning::{Warning, WarningCode};

/// Minimum part of the test's own frames.
const MIN_PART: f64 = 0.01;
/// What else a test sends: its control connection, its opening and its probes, bytes; each second; each second and flow.
const OWN_CONTROL_BYTES: f64 = 100_000.0;
const OWN_CONTROL_PER_S: f64 = 20_000.0;
const OWN_CONTROL_PER_FLOW_S: f64 = 2_000.0;
/// The factor from which on one rate is more than another.
const MORE: f64 = 1.1;
/// The header of an Ethernet frame with a VLAN tag.
const FRAME_HEADER: f64 = 18.0;
const UDP_HEADER: f64 = 8.0;
/// A TCP header with time stamps, and one with selective acknowledgements too.
const TCP_HEADER: f64 = 32.0;
const MAX_TCP_HEADER: f64 = 60.0;
/// Maximum payload that an interface may count as one frame, bytes.
const MAX_JOINED: f64 = 65_536.0;

/// The bytes that a test's own frames may have, as an interface counts them: of joined segments, and of each by itself.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct OwnBytes {
    min: f64,
    max: f64,
}

/// The other traffic in a direction, at both ends; none over a loopback, and where the counters are not known.
pub(super) fn other_traffic(context: &Context<'_>, direction: Direction) -> Vec<OtherTraffic> {
    let Some(own) = own_bytes(context, direction).filter(|_| !context.loopback) else {
        return Vec::new();
    };
    let flows = context.records.len();
    let client = other_at(
        (HostEnd::Client, direction == Direction::Up),
        (context.client, Some(context.client_usage)),
        own,
        flows,
    );
    let server = other_at(
        (HostEnd::Server, direction == Direction::Down),
        (context.server, context.server_usage),
        own,
        flows,
    );
    let (at_sender, at_receiver) = match direction {
        Direction::Up => (client, server),
        Direction::Down => (server, client),
    };
    let mut both: Vec<OtherTraffic> = at_sender.into_iter().chain(at_receiver).collect();
    // What was sent beside the test arrives beside it: the receiver's comes first where it is more than that.
    if let [sent, received] = &both[..]
        && received.mean_bps() > MORE * sent.mean_bps()
    {
        both.reverse();
    }
    both
}

fn other_at(
    (end, is_sender): (HostEnd, bool),
    (host, usage): (&Host, Option<&Usage>),
    own: OwnBytes,
    flows: usize,
) -> Option<OtherTraffic> {
    let usage = usage?;
    let traffic = usage.interface?;
    let counted = match is_sender {
        true => traffic.sent_bytes,
        false => traffic.received_bytes,
    } as f64;
    let wall_s = usage.wall_ns as f64 / 1e9;
    let each_second = OWN_CONTROL_PER_S + OWN_CONTROL_PER_FLOW_S * flows as f64;
    let control = OWN_CONTROL_BYTES + each_second * wall_s;
    let found = counted - own.max - control;
    if wall_s <= 0.0 || found <= MIN_PART * own.max {
        return None;
    }
    let bps = |bytes: f64| bytes * 8.0 / wall_s;
    Some(OtherTraffic {
        end,
        interface: host.interface.clone()?,
        min_bps: bps(counted - own.max),
        max_bps: bps(counted - own.min),
    })
}

/// The bytes of the test's own frames in a direction: its payload, and the acknowledgements of the other one. `None` where a sender did not
/// report.
fn own_bytes(context: &Context<'_>, direction: Direction) -> Option<OwnBytes> {
    let ip = context.ip.header_bytes() as f64;
    let mut own = OwnBytes::default();
    for record in context.records {
        let sent = record.sent()?;
        let is_payload = record.flow.direction == direction;
        match (context.transport(), is_payload) {
            (Transport::Udp, true) => {
                let datagrams = sent.datagrams as f64;
                let frames = datagrams.max(sent.bytes as f64 / MIN_FRAGMENT);
                own.min += sent.bytes as f64;
                own.max += sent.bytes as f64 + frames * (FRAME_HEADER + ip + UDP_HEADER);
            }
            (Transport::Udp, false) => {}
            (Transport::Tcp, true) => {
                let sent = SentPayload::of(sent);
                let headers = FRAME_HEADER + ip + TCP_HEADER;
                own.min += sent.min_bytes + sent.min_bytes / MAX_JOINED * headers;
                own.max += sent.max_bytes + sent.segments * headers;
            }
            (Transport::Tcp, false) => {
                let segments = SentPayload::of(sent).segments;
                own.max += segments * (FRAME_HEADER + ip + MAX_TCP_HEADER);
            }
        }
    }
    Some(own)
}

/// The payload of the frames that datagrams beyond the MTU are cut into, at least, bytes.
const MIN_FRAGMENT: f64 = 1200.0;

/// What a connection sent, retransmissions included.
#[derive(Debug, Clone, Copy, PartialEq)]
struct SentPayload {
    /// By the last reading of its kernel, bytes.
    min_bytes: f64,
    /// With what its send buffer still held then: that leaves after the reading, and before the interface's counters are read.
    max_bytes: f64,
    /// The maximum number of its segments.
    segments: f64,
}

impl SentPayload {
    fn of(sent: &SenderCounters) -> Self {
        let tcp = sent.tcp.as_ref();
        let by_kernel = tcp.and_then(|tcp| tcp.bytes_sent);
        let again = tcp.and_then(|tcp| tcp.retransmitted_bytes).unwrap_or(0);
        let max_bytes = sent.bytes.saturating_add(again).max(by_kernel.unwrap_or(0)) as f64;
        let mss = tcp.map_or(536, |tcp| tcp.mss).max(1);
        Self {
            min_bytes: by_kernel.unwrap_or(sent.bytes) as f64,
            max_bytes,
            segments: max_bytes / f64::from(mss) + sent.calls as f64,
        }
    }
}

/// The warning about it.
pub(super) fn other_traffic_warning(
    direction: Direction,
    found: &[OtherTraffic],
    goodput_bps: f64,
) -> Option<Warning> {
    let most = found.first()?;
    let bps = |bps: f64| Unit::BitPerSecond.show(bps);
    let is_sender = (most.end == HostEnd::Client) == (direction == Direction::Up);
    let (passed, host) = (
        if is_sender { "sent by" } else { "received by" },
        match most.end {
            HostEnd::Client => "this host",
            HostEnd::Server => "the server's host",
        },
    );
    Some(Warning::new(
        WarningCode::OtherTraffic,
        format!(
            "{}: beside {} of other traffic {passed} {host} on {}: together {}",
            direction.in_text(),
            bps(most.mean_bps()),
            most.interface,
            bps(goodput_bps + most.mean_bps())
        ),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::host_drops::InterfaceTraffic;
    use caudal_core::sample::TcpSnapshot;

    #[test]
    fn what_the_send_buffer_held_at_the_end_is_the_tests_own() {
        let sent = SenderCounters {
            bytes: 3_579_456,
            calls: 30,
            tcp: Some(TcpSnapshot {
                bytes_sent: Some(3_037_104),
                retransmitted_bytes: Some(14_480),
                mss: 1448,
                ..TcpSnapshot::default()
            }),
            ..SenderCounters::default()
        };
        let found = SentPayload::of(&sent);
        assert_eq!(
            (found.min_bytes, found.max_bytes),
            (3_037_104.0, 3_593_936.0)
        );
        assert!((found.segments - 2512.0).abs() < 1.0, "{found:?}");
    }

    #[test]
    fn what_headers_and_acknowledgements_explain_is_no_other_traffic() {
        let host = Host {
            interface: Some("eth0".into()),
            ..Host::default()
        };
        let found = |sent_bytes: u64| {
            let usage = Usage {
                wall_ns: 10_000_000_000,
                interface: Some(InterfaceTraffic {
                    sent_bytes,
                    received_bytes: 0,
                }),
                ..Usage::default()
            };
            let own = OwnBytes {
                min: 50e6,
                max: 52.3e6,
            };
            other_at((HostEnd::Client, true), (&host, Some(&usage)), own, 1)
        };
        assert_eq!(found(50_100_000), None);
        assert_eq!(found(52_600_000), None);
        let other = found(77_300_000).unwrap();
        assert_eq!((other.min_bps, other.max_bps), (20e6, 21.84e6));
        let warning = other_traffic_warning(Direction::Up, &[other], 28.24e6).unwrap();
        assert_eq!(
            warning.message.as_received(),
            "upload: beside 20.92 Mbit/s of other traffic sent by this host on eth0: together 49.16 Mbit/s"
        );
    }
}
