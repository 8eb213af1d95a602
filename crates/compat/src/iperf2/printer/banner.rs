//! The settings of a test, between two lines across the page.

use crate::iperf2::options::Options;
use crate::iperf2::units::{UnitFormat, bytes};
use caudal_core::event::{ConnectingSocket, ListeningSocket};
use caudal_core::plan::Transport;
use std::fmt::Write;

const RULE: &str = "------------------------------------------------------------";

const fn protocol_name(transport: Transport) -> &'static str {
    match transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    }
}

/// The settings of a server that listens; `pid` is the number of this process.
pub(super) fn server_banner(options: &Options, pid: u32, socket: &ListeningSocket) -> String {
    let is_udp = socket.transport == Transport::Udp;
    let ports = match options.last_port.filter(|_| options.server) {
        Some(last) => format!("ports {}-{last}", options.port),
        None => format!("port {}", socket.port),
    };
    let protocol = protocol_name(socket.transport);
    let mut text = format!("{RULE}\nServer listening on {protocol} {ports}");
    if options.enhanced || options.last_port.is_some() {
        let _ = write!(text, " with pid {pid}");
    }
    text.push('\n');
    if let Some(bind) = options.bind.filter(|_| options.server) {
        if !bind.is_multicast() {
            let _ = writeln!(text, "Binding to local address {bind}");
        } else if !options.exclude.contains('M') {
            let _ = writeln!(text, "Joining multicast group  {bind}");
        }
    }
    if options.single {
        text.push_str("Server set to single client traffic mode (serialize traffic tests)\n");
    }
    if options.enhanced {
        let default = if is_udp { 1470 } else { 128 << 10 };
        let length = f64::from(options.length.unwrap_or(default));
        let _ = writeln!(
            text,
            "Read buffer size: {} (Dist bin width={})",
            bytes(length, UnitFormat::AdaptiveBytes),
            bytes((length / 8.0).floor(), UnitFormat::AdaptiveBytes)
        );
    }
    if let Some(histograms) = options.histograms {
        let _ = writeln!(
            text,
            "Enabled receive histograms bin-width={:.3} ms, bins={} (clients should use --trip-times)",
            histograms.bins.width.as_secs_f64() * 1e3,
            histograms.bins.count
        );
    }
    if options.print_mss && !is_udp {
        let _ = writeln!(text, "MSS size {} bytes", options.mss.unwrap_or(536));
    }
    let line = buffer_line(options, socket.transport, socket.receive_buffer_bytes);
    let _ = writeln!(text, "{line}\n{RULE}");
    text
}

/// The settings of a client that connects to `host`; `pid` is the number of this process.
pub(super) fn client_banner(
    options: &Options,
    pid: u32,
    host: &str,
    socket: &ConnectingSocket,
) -> String {
    let host = if options.hide { "(**hidden**)" } else { host };
    let mut text = format!(
        "{RULE}\nClient connecting to {host}, {} port {}",
        protocol_name(socket.transport),
        socket.peer.port()
    );
    let is_enhanced = options.enhanced && options.host.is_some();
    if is_enhanced {
        let flows = options.parallel.unwrap_or(1);
        let _ = write!(text, " with pid {pid} ({flows} flows)");
    }
    text.push('\n');
    if options.connect_only {
        let _ = writeln!(text, "TCP three-way-handshake (3WHS) only\n{RULE}");
        return text;
    }
    if is_enhanced {
        text.push_str(&enhanced_settings(options, socket));
    }
    text.push_str(&match socket.transport {
        Transport::Tcp => tcp_settings(options),
        Transport::Udp => udp_settings(socket),
    });
    let line = buffer_line(options, socket.transport, socket.buffer_bytes);
    let _ = writeln!(text, "{line}\n{RULE}");
    text
}

fn enhanced_settings(options: &Options, socket: &ConnectingSocket) -> String {
    let mut text = String::new();
    if let Some(bind) = options.bind {
        let _ = writeln!(text, "Binding to local address {bind}");
    }
    if let Some(per_period) = options.bounceback {
        let request = options.bounceback_request.or(options.length).unwrap_or(100);
        let reply = options.bounceback_reply.unwrap_or(request);
        let quick_ack = match options.bounceback_no_quick_ack {
            true => "",
            false => " & tcp_quickack",
        };
        let hold = options.bounceback_hold.as_micros();
        let period = options.bounceback_period.as_secs_f64();
        let size = bytes(f64::from(request), UnitFormat::AdaptiveBytes);
        // Replies of another length are of 2.2.
        let sizes = match request == reply {
            true => format!("size={size}"),
            false => format!("req/reply size = {request} Byte/{reply} Byte"),
        };
        let _ = writeln!(text, "Write buffer size: {size}");
        let _ = writeln!(
            text,
            "Bursting: {size} writes {per_period} times every {period:.2} second(s)"
        );
        let _ = writeln!(
            text,
            "Bounce-back test ({sizes}) (server hold req={hold} usecs{quick_ack})"
        );
    } else if socket.transport == Transport::Tcp {
        let _ = writeln!(text, "Write buffer size: {} Byte", socket.length);
        if options.burst_bytes.is_some() || options.burst_period.is_some() {
            let burst = options.burst_bytes.unwrap_or(socket.length);
            let _ = writeln!(
                text,
                "Bursting: {} every {:.2} second(s)",
                bytes(f64::from(burst), UnitFormat::AdaptiveBytes),
                options
                    .burst_period
                    .map_or(1.0, |period| period.as_secs_f64())
            );
        }
    }
    let nagle = if options.no_delay {
        " and nodelay (Nagle off)"
    } else {
        " (Nagle on)"
    };
    let _ = writeln!(text, "TOS set to {:#x}{nagle}", options.tos.unwrap_or(0));
    text
}

fn tcp_settings(options: &Options) -> String {
    let mut text = String::new();
    if let Some(congestion) = &options.congestion {
        let _ = writeln!(text, "TCP congestion control set to {congestion}");
    }
    if let Some(mss) = options.mss {
        let _ = writeln!(text, "MSS req size {mss} bytes (per TCP_MAXSEG)");
    }
    text
}

/// The length and the inter-packet gap, which is 0 without a rate.
fn udp_settings(socket: &ConnectingSocket) -> String {
    let gap_us = match socket.rate_bps {
        None | Some(0) => 0.0,
        Some(rate) => f64::from(socket.length) * 8e6 / rate as f64,
    };
    format!(
        "Sending {} byte datagrams, IPG target: {gap_us:.2} us (kalman adjust)\n",
        socket.length
    )
}

/// The size of a socket's buffer, beside the one that was asked for.
fn buffer_line(options: &Options, transport: Transport, granted: u32) -> String {
    let name = match transport {
        Transport::Tcp => "TCP window size",
        Transport::Udp => "UDP buffer size",
    };
    let format = match options.format {
        fixed @ (UnitFormat::Bytes(_) | UnitFormat::Bits(_)) => fixed,
        _ => UnitFormat::AdaptiveBytes,
    };
    let note = match options.window {
        Some(window) if window != granted as usize => {
            format!(" (WARNING: requested {})", bytes(window as f64, format))
        }
        Some(_) => String::new(),
        None => " (default)".to_owned(),
    };
    format!("{name}: {}{note}", bytes(f64::from(granted), format))
}
