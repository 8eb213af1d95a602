//! The client.

use super::command_line::NttcpCommandLine;
use super::failure::fail;
use super::printer::NttcpPrinter;
use crate::recording::{ClientEnd, ClientRecording};
use caudal_core::event::{Agreement, Event, View};
use caudal_core::plan::{BulkPlanRecord, Directions, PlanRecord, TestEnd, Transport};
use caudal_core::units::ByteCount;
use caudal_engine::LocalBinding;
use caudal_foreign::nttcp::{NttcpClient, request_of_peer};
use caudal_sys::signal::Interrupt;
use std::net::{SocketAddr, ToSocketAddrs};
use std::process::ExitCode;

/// Carries out the transfer of a command line, which `command` repeats.
pub(super) fn run(
    line: &NttcpCommandLine,
    command: String,
    interrupt: &'static Interrupt,
) -> ExitCode {
    let request = &line.local;
    let host = line.host.as_deref().unwrap_or_default();
    let peer = match resolve(host, request.port) {
        Ok(peer) => peer,
        Err(error) => return fail(error),
    };
    let mut printer = NttcpPrinter::new(request, std::io::stdout());
    printer.begin(peer);
    let mut recording = ClientRecording::start("nttcp", command);
    recording.event(&Event::Agreed(Agreement {
        repeat: None,
        plan: plan_record(line, peer),
        changed: Vec::new(),
    }));
    let client = NttcpClient::new(peer, LocalBinding::default(), Some(interrupt));
    let outcome = client.run(request, &line.remote, &mut |event| {
        printer.event(&event);
        recording.event(&event);
    });
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return fail(error),
    };
    let error = "the other side gave no figures";
    let has_rows = !outcome.remote.is_empty();
    let exit = if has_rows {
        ExitCode::SUCCESS
    } else {
        fail(error)
    };
    let end = if interrupt.count() > 0 {
        ClientEnd::Interrupted
    } else if has_rows {
        ClientEnd::Complete
    } else {
        ClientEnd::Failed(error)
    };
    recording.finish(Some(peer.ip().to_canonical()), end);
    exit
}

/// The server's address, IPv4 before IPv6.
fn resolve(host: &str, port: u16) -> Result<SocketAddr, String> {
    (host, port)
        .to_socket_addrs()
        .map_err(|cause| format!("cannot find the host {host}: {cause}"))?
        .min_by_key(SocketAddr::is_ipv6)
        .ok_or_else(|| format!("{host} has no address"))
}

/// The plan of a command line: its length and bytes are those of the end that sends.
fn plan_record(line: &NttcpCommandLine, peer: SocketAddr) -> PlanRecord {
    let local = &line.local;
    let remote = request_of_peer(local, &line.remote);
    let sender = if local.transmit { local } else { &remote };
    let transport = if local.udp {
        Transport::Udp
    } else {
        Transport::Tcp
    };
    let keys = BulkPlanRecord {
        peer: Some(peer.to_string().into()),
        directions: Some(if local.transmit {
            Directions::Up
        } else {
            Directions::Down
        }),
        parallel: Some(1),
        end: Some(TestEnd::Bytes(ByteCount::new(sender.bytes()))),
        length: Some(u64::from(sender.length)),
        ..BulkPlanRecord::default()
    };
    PlanRecord::bulk_transfer(Some(transport), keys)
}
