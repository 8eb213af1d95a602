//! The other tools' protocols that `caudal serve` answers beside its own: what was started, and what they do.

use crate::args::ServeArgs;
use caudal_core::sample::Role;
use caudal_core::units::BitRate;
use caudal_engine::guests::Guests;
use caudal_engine::{iperf2, nttcp};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc::Sender;

/// What a dialect's server tells of its work.
#[derive(Debug, Clone)]
pub struct Spoken {
    /// The other tool.
    pub dialect: &'static str,
    /// The other end.
    pub peer: Option<SocketAddr>,
    /// What happened: `started`, `finished` or `refused`.
    pub event: &'static str,
    /// The same in words.
    pub words: String,
    /// Payload bytes that arrived here and that were sent from here, where it has finished.
    pub moved: Option<(u64, u64)>,
}

/// The servers that run; stopped when dropped.
pub struct Dialects {
    iperf2: Option<iperf2::Server>,
    nttcp: Option<nttcp::Server>,
    /// One line on each: what it listens on, or what is done without.
    pub lines: Vec<(&'static str, Option<u16>, String)>,
}

impl Dialects {
    /// Starts what the flags ask for; what cannot be had is said and done without.
    #[must_use]
    pub fn start(args: &ServeArgs, guests: &Guests, tell: &Sender<Spoken>) -> Self {
        let mut dialects = Self {
            iperf2: None,
            nttcp: None,
            lines: Vec::new(),
        };
        if !args.no_iperf2 {
            match start_iperf2(args, guests, tell) {
                Ok(server) => {
                    let port = server.port();
                    let line = format!("iperf 2 on port {port}, TCP and UDP");
                    dialects.lines.push(("iperf 2", Some(port), line));
                    dialects.iperf2 = Some(server);
                }
                Err(error) => dialects.without(
                    "iperf 2",
                    &error,
                    "--iperf2-port, or leave it out with --no-iperf2",
                ),
            }
        }
        if !args.no_nttcp {
            match start_nttcp(args, guests, tell) {
                Ok(server) => {
                    let port = server.port();
                    let line = format!("nttcp on port {port}, data on the ports above");
                    dialects.lines.push(("nttcp", Some(port), line));
                    dialects.nttcp = Some(server);
                }
                Err(error) => dialects.without(
                    "nttcp",
                    &error,
                    "--nttcp-port, or leave it out with --no-nttcp",
                ),
            }
        }
        dialects
    }

    fn without(&mut self, name: &'static str, error: &caudal_engine::RunError, remedy: &str) {
        let line = format!("without {name}: {error}; choose another port with {remedy}");
        self.lines.push((name, None, line));
    }

    /// Ends running tests.
    pub fn stop(self) {
        if let Some(server) = self.iperf2 {
            server.stop();
        }
        if let Some(server) = self.nttcp {
            server.stop();
        }
    }
}

fn start_iperf2(
    args: &ServeArgs,
    guests: &Guests,
    tell: &Sender<Spoken>,
) -> Result<iperf2::Server, caudal_engine::RunError> {
    let options = iperf2::ServerOptions {
        bind: args.bind,
        port: args.iperf2_port,
        max_rate: args.max_rate.map(BitRate::bps),
        max_time: args.max_time,
        idle: args.idle_timeout,
        connect_back: !args.no_connect_back,
        trust: args.iperf2_trust.clone(),
        groups: args
            .iperf2_group
            .iter()
            .map(|group| (*group, None))
            .collect(),
        ..iperf2::ServerOptions::default()
    };
    let tell = tell.clone();
    iperf2::Server::start(
        options,
        guests.clone(),
        Arc::new(move |event| {
            if let Some(spoken) = of_iperf2(&event) {
                // Nobody listening is nobody's loss.
                let _ = tell.send(spoken);
            }
        }),
    )
}

fn of_iperf2(event: &iperf2::Event) -> Option<Spoken> {
    let what = |udp: bool| if udp { "UDP" } else { "TCP" };
    let spoken = |peer, event, words, moved| {
        Some(Spoken {
            dialect: "iperf 2",
            peer,
            event,
            words,
            moved,
        })
    };
    match event {
        iperf2::Event::Connected(info) => {
            let version = info.version.as_deref().unwrap_or("of unknown version");
            let way = match info.way {
                caudal_wire::iperf2::Way::Up => "upload",
                caudal_wire::iperf2::Way::Reverse => "download",
                caudal_wire::iperf2::Way::FullDuplex | caudal_wire::iperf2::Way::Dual => {
                    "both directions"
                }
                caudal_wire::iperf2::Way::Tradeoff => "both directions in turn",
            };
            let words = format!("client {version}: {} {way}", what(info.udp));
            spoken(Some(info.peer), "started", words, None)
        }
        iperf2::Event::Ended(info, figures) => {
            let sends = info.role == Role::Sender;
            let mut words = format!(
                "{} {}, {} in {:.2} s",
                what(info.udp),
                if sends { "sent" } else { "received" },
                crate::output::text::bytes(figures.bytes),
                figures.end_s
            );
            if let Some(udp) = figures.udp {
                words += &format!(", {} of {} datagrams lost", udp.lost, udp.total);
            }
            let moved = if sends {
                (0, figures.bytes)
            } else {
                (figures.bytes, 0)
            };
            spoken(Some(info.peer), "finished", words, Some(moved))
        }
        iperf2::Event::Trouble { peer, what } => spoken(*peer, "refused", what.clone(), None),
        _ => None,
    }
}

fn start_nttcp(
    args: &ServeArgs,
    guests: &Guests,
    tell: &Sender<Spoken>,
) -> Result<nttcp::Server, caudal_engine::RunError> {
    let options = nttcp::ServerOptions {
        bind: args.bind,
        port: args.nttcp_port,
        max_rate: args.max_rate.map(BitRate::bps),
        max_time: args.max_time,
        idle: args.idle_timeout,
    };
    let tell = tell.clone();
    nttcp::Server::start(
        options,
        guests.clone(),
        Arc::new(move |event: nttcp::Event| {
            let (name, moved) = match event.moved {
                _ if event.refused => ("refused", None),
                Some(moved) => ("finished", Some(moved)),
                None => ("started", None),
            };
            let _ = tell.send(Spoken {
                dialect: "nttcp",
                peer: event.peer,
                event: name,
                words: event.words,
                moved,
            });
        }),
    )
}
