//! A running server on the terminal's whole screen.

use crate::exit::{Exit, Failure};
use crate::output::diagnostic;
use crate::output::sink::print;
use crate::server_status::{LocalServer, ServerStatus, SessionStatus, find_servers};
use caudal_core::units::format_duration;
use caudal_sys::signal::Interrupt;
use caudal_top::{PolledServer, ServerModel, ShownSession, ViewState, show, unusable_terminal};
use std::time::Duration;

/// Shows the server on this port, or the only one.
pub(super) fn show_server(
    port: Option<u16>,
    interrupt: &'static Interrupt,
) -> Result<Exit, Failure> {
    let server = find(port)?;
    if let Some(why) = unusable_terminal() {
        diagnostic(&format!("{why}: the state of the server now"));
        let status = server.status().map_err(|error| gone(&server, &error))?;
        return print(&text(&status));
    }
    let read = move |model: &mut ServerModel| match server.status() {
        Ok(status) => take(&status, model),
        Err(error) => model.failure = Some(gone(&server, &error).message),
    };
    show(
        &mut PolledServer::new(read),
        &mut ViewState::default(),
        interrupt,
    )?;
    Ok(Exit::Done)
}

fn find(port: Option<u16>) -> Result<LocalServer, Failure> {
    let servers = find_servers().map_err(|cause| {
        let message = format!("servers of this user cannot be looked for: {cause}");
        Failure::new(Exit::NotPermitted, message, "see who owns that directory")
    })?;
    let ports: Vec<String> = servers.iter().map(|one| one.port.to_string()).collect();
    let matching: Vec<LocalServer> = servers
        .into_iter()
        .filter(|server| port.is_none_or(|port| server.port == port))
        .collect();
    match (matching.into_iter().next(), port) {
        (Some(server), Some(_)) => Ok(server),
        (Some(server), None) if ports.len() == 1 => Ok(server),
        (Some(_), None) => Err(Failure::usage(
            format!("servers run on the ports {}", ports.join(", ")),
            "name one: caudal top --serve PORT",
        )),
        (None, _) => Err(Failure::new(
            Exit::Peer,
            match port {
                Some(port) => format!("no server of this user runs on port {port} of this machine"),
                None => "no server of this user runs on this machine".to_owned(),
            },
            "start one: caudal serve",
        )),
    }
}

fn gone(server: &LocalServer, cause: &std::io::Error) -> Failure {
    Failure::new(
        Exit::Peer,
        format!(
            "the server on port {} does not answer: {cause}",
            server.port
        ),
        "start it again: caudal serve",
    )
}

/// Takes a reading of the server into the model.
fn take(status: &ServerStatus, model: &mut ServerModel) {
    model.failure = None;
    model.headline = headline(status);
    (model.completed, model.refused) = (status.completed, status.refused);
    for session in &status.sessions {
        model.read(ShownSession {
            name: session.name.clone(),
            peer: peer(session),
            test: session.test.clone(),
            received_bps: [session.received_bps].into(),
            sent_bps: [session.sent_bps].into(),
            elapsed_s: session.elapsed_s,
            is_over: false,
        });
    }
    let names = status.sessions.iter().map(|session| session.name.clone());
    model.keep_running(&names.collect::<Vec<_>>());
}

fn headline(status: &ServerStatus) -> String {
    let up = Duration::try_from_secs_f64(status.up_s.round()).unwrap_or_default();
    format!(
        "caudal serve on {}, up {}",
        status.address,
        format_duration(up)
    )
}

fn peer(session: &SessionStatus) -> String {
    session
        .peer
        .map_or_else(|| "–".to_owned(), |peer| peer.to_string())
}

/// The state of a server as text.
fn text(status: &ServerStatus) -> String {
    let mut text = format!(
        "{}: {} sessions, {} tests completed, {} clients refused\n",
        headline(status),
        status.sessions.len(),
        status.completed,
        status.refused
    );
    for session in &status.sessions {
        text += &format!(
            "{}  {}  {}  {:.1} s  {} received, {} sent\n",
            session.name,
            peer(session),
            session.test,
            session.elapsed_s,
            caudal_views::text::bytes(session.received_bytes),
            caudal_views::text::bytes(session.sent_bytes)
        );
    }
    text
}
