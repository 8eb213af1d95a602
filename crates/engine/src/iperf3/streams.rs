//! The data connections of an iperf3 test, and the plan its parameters make.

use super::event::Stream;
use crate::carrier::{Dialect, Link};
use crate::error::RunError;
use crate::layout;
use crate::socket::{self, UDP_BUFFER};
use caudal_core::plan::{
    BulkPlan, Direction, Directions, Omit, Plan, PlannedFlow, Rate, TcpPlan, TestEnd, UdpPlan,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_sys::{buffers, options, tcp, udp};
use caudal_wire::iperf3::datagram::Numbering;
use caudal_wire::iperf3::{Complaint, Parameters, Protocol, stream_id};
use std::os::fd::AsRawFd;
use std::time::Duration;

/// How long a send may block before orders are looked at again.
const SEND_LOOK: Duration = Duration::from_millis(20);
/// How long sent data may stay unacknowledged before the kernel gives the connection up.
const UNACKNOWLEDGED: Duration = Duration::from_secs(30);

/// The plan the parameters make; a test without an end by itself gets `longest`.
pub(super) fn plan(parameters: &Parameters, interval: Duration, longest: Duration) -> Plan {
    let time = match parameters.time_s {
        0 => longest,
        seconds => Duration::from_secs(u64::from(seconds)),
    };
    let bulk = BulkPlan {
        directions: match (parameters.bidirectional, parameters.reverse) {
            (true, _) => Directions::Both,
            (_, true) => Directions::Down,
            _ => Directions::Up,
        },
        parallel: parameters.parallel,
        end: parameters.amount().map_or(TestEnd::Time(time), |bytes| {
            TestEnd::Bytes(ByteCount::new(bytes))
        }),
        interval,
        omit: match parameters.omit_s {
            0 => Omit::Nothing,
            seconds => Omit::Time(Duration::from_secs(u64::from(seconds))),
        },
        rate: match parameters.rate_bps {
            0 => Rate::Max,
            bps => Rate::Limit(BitRate::from_bps(bps)),
        },
        length: parameters.length,
        window: parameters.window.map(ByteCount::new),
        dscp: parameters.tos.map(|tos| tos >> 2),
        same_machine: false,
    };
    match parameters.protocol {
        Protocol::Udp => Plan::Udp(UdpPlan {
            bulk,
            verify: false,
        }),
        Protocol::Tcp | Protocol::Sctp => Plan::Tcp(TcpPlan {
            bulk,
            mss: parameters.mss,
            congestion: parameters.congestion.clone(),
            no_delay: parameters.no_delay,
            mptcp: parameters.mptcp,
            discard: parameters.skip_rx_copy,
            zero_copy: parameters.zero_copy,
        }),
    }
}

/// How its flows are carried; `waits` as in [`Dialect::Iperf3`].
pub(super) const fn dialect(parameters: &Parameters, waits: bool) -> Dialect {
    let numbering = if parameters.wide_counters {
        Numbering::Wide
    } else {
        Numbering::Narrow
    };
    Dialect::Iperf3 {
        layout: layout::Iperf3 {
            numbering,
            repeating: parameters.repeating_payload,
        },
        burst: match parameters.burst {
            Some(burst) => burst,
            None => 1,
        },
        waits,
        batches: parameters.gsro,
    }
}

/// Sets an open data socket up; what the kernel refuses, with iperf3's number for it.
pub(super) fn set_up(
    link: &Link,
    parameters: &Parameters,
    sends: bool,
) -> Result<(), (Complaint, std::io::Error)> {
    let of = |complaint: Complaint| {
        move |cause: std::io::Error| (complaint.because(cause.raw_os_error().unwrap_or(0)), cause)
    };
    match link {
        Link::Tcp(stream) => {
            if let Some(bytes) = parameters.window {
                buffers::set_send_buffer(stream, bytes as usize, false)
                    .and_then(|_| buffers::set_receive_buffer(stream, bytes as usize, false))
                    .map_err(of(Complaint::SET_BUFFERS))?;
            }
            if parameters.no_delay {
                stream
                    .set_nodelay(true)
                    .map_err(of(Complaint::SET_NO_DELAY))?;
            }
            if let (Some(name), true) = (&parameters.congestion, sends) {
                match tcp::set_congestion(stream, name) {
                    // One that is not here is only a pity, as it is for iperf3.
                    Err(cause) if cause.raw_os_error() != Some(libc::ENOENT) => {
                        return Err(of(Complaint::CONGESTION)(cause));
                    }
                    _ => {}
                }
            }
            if let (Some(bps), true) = (parameters.fq_rate_bps, sends) {
                tcp::set_pacing_rate(stream, bps / 8).map_err(of(Complaint::SET_PACING))?;
            }
            let socket = socket2::SockRef::from(stream);
            // Where the kernel lacks it, it waits longer.
            let _ = socket.set_tcp_user_timeout(Some(UNACKNOWLEDGED));
            stream
                .set_nonblocking(false)
                .and_then(|()| stream.set_write_timeout(Some(SEND_LOOK)))
                .map_err(of(Complaint::INIT_STREAM))?;
        }
        Link::Udp(socket) => {
            let bytes = parameters.window.map_or(UDP_BUFFER, |bytes| bytes as usize);
            let force = parameters.window.is_none();
            buffers::set_receive_buffer(socket, bytes, force)
                .and_then(|_| buffers::set_send_buffer(socket, bytes, force))
                .map_err(of(Complaint::SET_BUFFERS))?;
            udp::enable_gro(socket);
            let _ = udp::enable_receive_timestamps(socket);
            if parameters.dont_fragment {
                udp::set_dont_fragment(socket, true).map_err(of(Complaint::DONT_FRAGMENT))?;
            }
            if let (Some(bps), true) = (parameters.fq_rate_bps, sends) {
                tcp::set_pacing_rate(socket, bps / 8).map_err(of(Complaint::SET_PACING))?;
            }
        }
    }
    if let Some(tos) = parameters.tos {
        let set = match link {
            Link::Tcp(stream) => options::set_tos(stream, tos),
            Link::Udp(socket) => options::set_tos(socket, tos),
        };
        set.map_err(of(Complaint::SET_TOS))?;
    }
    Ok(())
}

/// The streams as they are shown, in the order of their flows.
pub(super) fn describe(links: &[(PlannedFlow, Link)], is_client: bool) -> Vec<Stream> {
    links
        .iter()
        .map(|(flow, link)| {
            let (local, remote, descriptor) = match link {
                Link::Tcp(stream) => (stream.local_addr(), stream.peer_addr(), stream.as_raw_fd()),
                Link::Udp(udp) => (udp.local_addr(), udp.peer_addr(), udp.as_raw_fd()),
            };
            let nowhere = std::net::SocketAddr::from(([0, 0, 0, 0], 0));
            let buffer = |granted: std::io::Result<u32>| granted.unwrap_or(0);
            let buffers = match link {
                Link::Tcp(stream) => (
                    buffer(buffers::send_buffer(stream)),
                    buffer(buffers::receive_buffer(stream)),
                ),
                Link::Udp(udp) => (
                    buffer(buffers::send_buffer(udp)),
                    buffer(buffers::receive_buffer(udp)),
                ),
            };
            Stream {
                flow: flow.id,
                id: stream_id(flow.id),
                descriptor,
                local: local.map_or(nowhere, socket::plain),
                remote: remote.map_or(nowhere, socket::plain),
                direction: flow.direction,
                sends: (flow.direction == Direction::Up) == is_client,
                mss: match link {
                    Link::Tcp(stream) => tcp::max_segment(stream).ok(),
                    Link::Udp(_) => None,
                },
                buffers,
            }
        })
        .collect()
}

/// The congestion control of the first TCP stream.
pub(super) fn congestion(links: &[(PlannedFlow, Link)]) -> Option<String> {
    links.iter().find_map(|(_, link)| match link {
        Link::Tcp(stream) => tcp::congestion(stream).ok(),
        Link::Udp(_) => None,
    })
}

/// An error of setting up, for whoever is not told iperf3's number.
pub(super) fn local((complaint, cause): (Complaint, std::io::Error)) -> RunError {
    RunError::local(complaint.because(0).words(), cause)
}
