//! The test that a command line asks for.

use super::options::Options;
use caudal_core::plan::Transport;
use caudal_engine::LocalBinding;
use caudal_foreign::iperf2::{
    BouncebackTest, FlowHistograms, Iperf2Request, PeriodicBurst, ServerPorts,
};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// The default duration.
const DEFAULT_TIME: Duration = Duration::from_secs(10);
/// The default time from burst to burst.
const DEFAULT_BURST_PERIOD: Duration = Duration::from_secs(1);
/// The default length of requests and replies, bytes.
const DEFAULT_MESSAGE_BYTES: u32 = 100;
/// The default rate over UDP, bit/s.
const DEFAULT_UDP_RATE: u64 = 1 << 20;

/// The test that a client's command line asks for; the default length and rate are put into the options.
///
/// # Errors
/// When the server has no address.
pub(super) fn request(options: &mut Options) -> Result<Iperf2Request, String> {
    let peer = resolve(options)?;
    let length = options.length.unwrap_or(match (options.udp, peer) {
        (false, _) => 128 << 10,
        (true, SocketAddr::V4(_)) => 1470,
        (true, SocketAddr::V6(_)) => 1450,
    });
    let port_count = options
        .last_port
        .map_or(1, |last| u32::from(last - options.port) + 1);
    let parallel = options.parallel.unwrap_or(1).max(port_count);
    if port_count > 1 {
        options.parallel = Some(parallel);
    }
    if let Some(gap) = options.gap {
        // The rate that the gap amounts to.
        let rate = f64::from(length) * 8.0 / gap.as_secs_f64();
        options.rate = Some(if gap.is_zero() {
            0
        } else {
            rate.round() as u64
        });
    }
    let packet_rate = options
        .pps
        .map(|pps| (pps * f64::from(length) * 8.0) as u64);
    options.rate = packet_rate.or(options.rate);
    if options.udp {
        options.length.get_or_insert(length);
        options.rate.get_or_insert(DEFAULT_UDP_RATE);
    }
    let ends_with_file = options.udp && options.payload.is_some();
    Ok(Iperf2Request {
        binding: LocalBinding {
            address: options.bind,
            scope_id: 0,
            device: options.device.clone(),
            port: options.bind_port,
        },
        transport: if options.udp {
            Transport::Udp
        } else {
            Transport::Tcp
        },
        mode: options.mode,
        parallel,
        // A header carries no default length.
        length: options
            .length
            .filter(|length| !options.udp || *length != 1470),
        time: options
            .time
            .or((!ends_with_file).then_some(DEFAULT_TIME))
            .filter(|time| !time.is_zero()),
        bytes: options.bytes,
        rate: options.rate,
        rate_deviation: options.rate_deviation,
        burst: burst(options, length),
        gap: options.gap,
        window: options.window,
        mss: options.mss,
        no_delay: options.no_delay,
        tos: options.tos,
        congestion: options.congestion.clone(),
        ttl: options.ttl,
        listen_port: options.listen_port.unwrap_or(options.port),
        interval: options.interval,
        omit_header: options.compatible,
        permit_key: options.permit_key.clone(),
        detect: options.detect,
        trip_times: options.trip_times,
        no_udp_fin: options.no_udp_fin,
        payload: options.payload.clone(),
        count_reads: options.enhanced && !options.skip_copy,
        discard: options.skip_copy,
        kernel_rate: options.fq_rate,
        start_delay: options.delay,
        bounceback: bounceback(options),
        histograms: options
            .histograms
            .map(|histograms| FlowHistograms::new(histograms.bins, 2 * parallel)),
        ports: if options.successive_ports || options.last_port.is_some() {
            ServerPorts::Successive
        } else {
            ServerPorts::Same
        },
        connect_only: options.connect_only,
        ..Iperf2Request::new(peer)
    })
}

/// The bursts that a command line asks for, where writes are `length` bytes long.
fn burst(options: &Options, length: u32) -> Option<PeriodicBurst> {
    if options.burst_bytes.is_none() && options.burst_period.is_none() {
        return None;
    }
    Some(PeriodicBurst {
        bytes: options.burst_bytes.unwrap_or(length),
        period: options.burst_period.unwrap_or(DEFAULT_BURST_PERIOD),
    })
}

/// The test of response times that a command line asks for.
fn bounceback(options: &Options) -> Option<BouncebackTest> {
    let per_period = options.bounceback?;
    let request_bytes = options.bounceback_request.or(options.length);
    let request_bytes = request_bytes
        .unwrap_or(DEFAULT_MESSAGE_BYTES)
        .clamp(64, 1 << 20);
    Some(BouncebackTest {
        request_bytes,
        reply_bytes: options.bounceback_reply.unwrap_or(request_bytes),
        per_period,
        period: options.bounceback_period,
        hold: options.bounceback_hold,
        quick_ack: !options.bounceback_no_quick_ack,
    })
}

/// The server's address, IPv4 before IPv6 unless the options ask for a family.
fn resolve(options: &Options) -> Result<SocketAddr, String> {
    let host = options.host.clone().unwrap_or_default();
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_wanted = |address: &SocketAddr| {
        options
            .bind
            .is_none_or(|bind| bind.is_ipv4() == address.is_ipv4())
            && if options.v6 {
                address.is_ipv6()
            } else {
                !options.v4 || address.is_ipv4()
            }
    };
    (bare, options.port)
        .to_socket_addrs()
        .map_err(|cause| format!("{host}: cannot find the host: {cause}"))?
        .filter(is_wanted)
        .min_by_key(SocketAddr::is_ipv6)
        .ok_or_else(|| format!("{host}: no address of the family asked for"))
}
