//! The server.

use super::failure::fail;
use super::options::Options;
use super::output::Iperf2Output;
use super::session_events::forwarding_views;
use crate::program::print_error;
use caudal_core::event::ListeningSocket;
use caudal_core::plan::Transport;
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender};
use caudal_engine::{Admission, SessionLimits};
use caudal_foreign::iperf2::{Iperf2Options, Iperf2Server};
use caudal_sys::signal::Interrupt;
use std::net::IpAddr;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Maximum number of clients at once.
const MAX_CLIENTS: usize = 1024;
/// The interval at which the server looks whether it is to end.
const EVENT_WAIT: Duration = Duration::from_millis(20);

/// Serves until the user, the time or the number of clients ends it.
pub(super) fn run(
    options: &Options,
    output: &mut Iperf2Output,
    interrupt: &'static Interrupt,
) -> ExitCode {
    let (event_sender, events) = channel();
    let (refusal_sender, refusals) = channel();
    let admission = Admission::new(Vec::new(), if options.single { 1 } else { MAX_CLIENTS });
    let engine_options = Iperf2Options {
        views: Some(forwarding_views(event_sender)),
        ..engine_options(options)
    };
    let refusal_sender = SessionEventSender::from(refusal_sender);
    let mut servers = Vec::new();
    for port in options.port..=options.last_port.unwrap_or(options.port) {
        let options_of_port = Iperf2Options {
            port,
            ..engine_options.clone()
        };
        match Iperf2Server::start(options_of_port, admission.clone(), refusal_sender.clone()) {
            Ok(server) => servers.push(server),
            Err(error) => return fail(error),
        }
    }
    drop((engine_options, refusal_sender));
    if let Some(server) = servers.first() {
        output.listening(&listening_socket(options, server));
    }
    let time = options.time.filter(|time| !time.is_zero());
    let until = time.map(|time| Instant::now() + time);
    loop {
        print_refusals(&refusals);
        if let Ok(printed) = events.recv_timeout(EVENT_WAIT) {
            output.event(&printed);
        }
        let is_idle = || admission.in_use() == 0;
        let is_time_over = until.is_some_and(|until| Instant::now() >= until && is_idle());
        let has_served_all = options
            .parallel
            .is_some_and(|clients| admission.served() >= clients as usize && is_idle());
        if interrupt.count() > 0 || is_time_over || has_served_all {
            break;
        }
    }
    for server in servers {
        server.stop();
    }
    while let Ok(printed) = events.try_recv() {
        output.event(&printed);
    }
    ExitCode::SUCCESS
}

fn engine_options(options: &Options) -> Iperf2Options {
    let group = options.bind.filter(IpAddr::is_multicast);
    Iperf2Options {
        bind: options.bind,
        v6: options.v6 && !options.v4,
        device: options.device.clone(),
        port: options.port,
        tcp: !options.udp,
        udp: options.udp,
        interval: options.interval,
        length: options.length,
        window: options.window,
        mss: options.mss,
        no_delay: options.no_delay,
        tos: options.tos,
        congestion: options.congestion.clone(),
        limits: SessionLimits {
            max_time: options.time.filter(|time| !time.is_zero()),
            ..SessionLimits::default()
        },
        groups: group
            .map(|group| (group, options.source_host))
            .into_iter()
            .collect(),
        count_reads: options.enhanced && !options.skip_copy,
        is_serial: options.single,
        discard: options.skip_copy,
        permit_key: options.permit_key.clone(),
        histogram_bins: options.histograms.map(|histograms| histograms.bins),
        ..Iperf2Options::default()
    }
}

fn listening_socket(options: &Options, server: &Iperf2Server) -> ListeningSocket {
    let buffers = server.receive_buffers();
    let (transport, receive_buffer_bytes) = if options.udp {
        (Transport::Udp, buffers.udp)
    } else {
        (Transport::Tcp, buffers.tcp)
    };
    ListeningSocket {
        transport,
        port: server.port(),
        receive_buffer_bytes,
    }
}

/// Prints the clients that were refused and the tests that ended in an error.
fn print_refusals(events: &Receiver<SessionEvent>) {
    for event in events.try_iter() {
        if let SessionEventKind::Refused(refusal) = event.kind {
            let peer = event.peer.map(|peer| format!("{peer}: "));
            print_error(
                "iperf",
                format!("{}{}", peer.unwrap_or_default(), refusal.message),
            );
        }
    }
}
