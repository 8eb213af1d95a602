//! The line of a connection that was opened.

use super::address::shown_address;
use super::flow::ShownFlow;
use crate::iperf2::options::Options;
use caudal_sys::clock::LocalTime;
use caudal_wire::iperf2::TestMode;
use std::fmt::Write;

/// The line of a flow's connection, opened at `opened_at`; `device` is the interface of its local address.
pub(super) fn connection_line(
    options: &Options,
    flow: &ShownFlow,
    device: Option<&str>,
    opened_at: Option<&LocalTime>,
) -> String {
    let star = if flow.connects_back { '*' } else { ' ' };
    let mut line = match &options.permit_key {
        Some(_) => flow.id(options),
        None if flow.number < 10 => format!("[ {star}{}]", flow.number),
        None => format!("[{star}{}]", flow.number),
    };
    let device = device.map_or_else(String::new, |name| format!("%{name}"));
    let _ = write!(
        line,
        " local {}{device} port {} connected with {} port {}",
        shown_address(options, flow.local),
        flow.local.port(),
        shown_address(options, flow.peer),
        flow.peer.port()
    );
    line.push_str(&mode_notes(options, flow));
    if flow.is_enhanced(options) {
        let _ = write!(line, " (sock={})", flow.descriptor);
        if let Some(version) = &flow.version {
            let _ = write!(line, " (peer {version})");
        }
    }
    if flow.tos != 0 {
        let _ = write!(line, " (tos rx={:#x})", flow.tos);
    }
    // The state of a connection that a client's own listener accepted is not shown.
    let is_accepted_by_client =
        options.host.is_some() && flow.number > options.parallel.unwrap_or(1);
    if let Some(opening) = flow.opening.filter(|_| !is_accepted_by_client) {
        let _ = write!(
            line,
            " (icwnd/mss/irtt={}/{}/{})",
            opening.window_bytes / 1024,
            opening.mss,
            opening.rtt_us
        );
    }
    if flow.is_enhanced(options) || options.connect_only {
        line.push_str(&time_notes(options, flow, opened_at));
    }
    line
}

fn mode_notes(options: &Options, flow: &ShownFlow) -> String {
    let mut notes = String::new();
    match flow.mode {
        TestMode::Reverse => notes.push_str(" (reverse)"),
        TestMode::FullDuplex => notes.push_str(" (full-duplex)"),
        TestMode::Up | TestMode::Dual | TestMode::Tradeoff => {}
    }
    if let Some(test) = flow.bounceback {
        let quick_ack = if test.quick_ack { " w/quickack" } else { "" };
        let (request, reply) = (test.request_bytes, test.reply_bytes);
        let hold = test.hold.as_micros();
        // Replies of another length are of 2.2.
        let _ = match request == reply {
            true => write!(notes, " (bb{quick_ack} len/hold={request}/{hold})"),
            false => write!(
                notes,
                " (bb{quick_ack} req/reply/hold={request}/{reply}/{hold})"
            ),
        };
    }
    if flow.trip_times {
        notes.push_str(" (trip-times)");
    }
    // A client in reverse leaves the end to the server, and does not show it.
    let is_reverse_client = options.host.is_some() && flow.mode == TestMode::Reverse;
    if flow.no_udp_fin && !is_reverse_client {
        notes.push_str(" (no-udp-fin)");
    }
    notes
}

fn time_notes(options: &Options, flow: &ShownFlow, opened_at: Option<&LocalTime>) -> String {
    let mut notes = String::new();
    if let Some(connect_us) = flow.connect_us {
        let _ = write!(notes, " (ct={:.2} ms)", connect_us / 1e3);
    }
    let is_sending_server =
        options.server && matches!(flow.mode, TestMode::Reverse | TestMode::FullDuplex);
    if let Some(at) = opened_at.filter(|_| !is_sending_server) {
        let _ = write!(
            notes,
            " on {:04}-{:02}-{:02} {:02}:{:02}:{:02} ({})",
            at.year, at.month, at.day, at.hour, at.minute, at.second, at.zone
        );
    }
    notes
}
