//! `caudal serve`: the far side, until it is told to stop.

use crate::args::ServeArgs;
use crate::dialects::{Dialects, Spoken};
use crate::exit::{Exit, Failure, on_one_line};
use crate::iperf3::login::Book;
use crate::iperf3::transcripts;
use crate::output::document::rfc3339;
use crate::output::text;
use crate::peer::TOOL;
use caudal_core::plan::{Directions, Plan, PlanRecord, TestEnd};
use caudal_core::units::{BitRate, format_duration};
use caudal_engine::iperf3::{Gatekeeper, Iperf3Options};
use caudal_engine::{Server, ServerEvent, ServerOptions};
use caudal_sys::clock::realtime_ns;
use caudal_sys::signal::Interrupt;
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// The lowest limit on the rate of a test: the lowest rate a plan may have.
const LEAST_RATE: BitRate = BitRate::from_bps(1000);
/// The lowest limit on the time of a test: the shortest test.
const LEAST_TIME: Duration = Duration::from_millis(10);

/// Runs `caudal serve`.
///
/// # Errors
/// When the port cannot be had.
pub fn serve(args: &ServeArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    if args.max_clients == 0 {
        return Err(Failure::usage(
            "--max-clients is 0",
            "it must be at least 1",
        ));
    }
    if args.idle_timeout < Duration::from_secs(1) {
        return Err(Failure::usage(
            format!("--idle-timeout is {:?}", args.idle_timeout),
            "it must be at least 1s",
        ));
    }
    if let Some(rate) = args.max_rate.filter(|rate| *rate < LEAST_RATE) {
        return Err(Failure::usage(
            format!("--max-rate is {rate}"),
            format!("it must be at least {LEAST_RATE}"),
        ));
    }
    if let Some(time) = args.max_time.filter(|time| *time < LEAST_TIME) {
        return Err(Failure::usage(
            format!("--max-time is {}", format_duration(time)),
            format!("it must be at least {}", format_duration(LEAST_TIME)),
        ));
    }
    let options = ServerOptions {
        bind: args.bind,
        port: args.port,
        one_off: args.one_off,
        max_clients: args.max_clients,
        max_rate: args.max_rate.map(BitRate::bps),
        max_time: args.max_time,
        allow: args.allow.clone(),
        idle_timeout: args.idle_timeout,
        tool: TOOL.to_owned(),
        iperf3: iperf3_options(args)?,
    };
    let (sender, events) = channel();
    let server = Server::start(options, Some(sender)).map_err(|error| {
        let in_use = error.to_string().contains("in use");
        let mut failure = Failure::from(error);
        if in_use {
            failure.advice = "stop what listens there, or choose another with -p".to_owned();
        }
        failure
    })?;
    let log = Log {
        json: args.json_log,
        quiet: args.quiet,
    };
    let local = server.local();
    log.write(
        &format!("listening on {local}, TCP and UDP, {TOOL}, protocol {}", caudal_wire::preamble::PROTOCOL),
        || json!({"event": "listening", "address": local.ip().to_string(), "port": local.port(),
                  "version": env!("CARGO_PKG_VERSION"), "protocol": caudal_wire::preamble::PROTOCOL}),
    );
    let (sender, spoken) = channel();
    let dialects = Dialects::start(args, &server.guests(), &sender);
    for (dialect, port, line) in &dialects.lines {
        let event = if port.is_some() {
            "listening"
        } else {
            "without"
        };
        log.write(
            line,
            || json!({"event": event, "dialect": dialect, "port": port, "what": line}),
        );
    }
    loop {
        // Signals are looked for often enough that ^C feels immediate.
        match events.recv_timeout(Duration::from_millis(50)) {
            Ok(event) => log.event(&event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        while let Ok(spoken) = spoken.try_recv() {
            log.spoken(&spoken);
        }
        if interrupt.count() > 0 {
            log.write(
                "stopping: running tests are ended and reported",
                || json!({"event": "stopping"}),
            );
            server.stop();
            break;
        }
        if server.is_over() {
            break;
        }
    }
    dialects.stop();
    while let Ok(event) = events.try_recv() {
        log.event(&event);
    }
    while let Ok(spoken) = spoken.try_recv() {
        log.spoken(&spoken);
    }
    Ok(Exit::Done)
}

/// How clients of iperf3 are to be treated.
fn iperf3_options(args: &ServeArgs) -> Result<Iperf3Options, Failure> {
    let gatekeeper = match (&args.rsa_private_key_path, &args.authorized_users_path) {
        (Some(key), Some(users)) => {
            let book = Book::open(key, users, args.time_skew_threshold, args.use_pkcs1_padding)
                .map_err(|error| Failure::usage(error.to_string(), ""))?;
            Some(Gatekeeper(Arc::new(move |token: &str| book.admits(token))))
        }
        _ => None,
    };
    Ok(Iperf3Options {
        enabled: !args.no_iperf3,
        gatekeeper,
        scribes: Some(transcripts(None, false, Some(Duration::from_secs(1)))),
        ..Iperf3Options::default()
    })
}

struct Log {
    json: bool,
    quiet: bool,
}

impl Log {
    fn write(&self, line: &str, value: impl FnOnce() -> Value) {
        if self.quiet {
            return;
        }
        let text = if self.json {
            let mut value = value();
            if let Value::Object(map) = &mut value {
                map.insert("time".to_owned(), json!(rfc3339(realtime_ns())));
            }
            value.to_string()
        } else {
            on_one_line(line)
        };
        // A log nobody reads any more must not stop a server that others use.
        let _ = writeln!(std::io::stdout().lock(), "{text}");
    }

    fn spoken(&self, spoken: &Spoken) {
        let peer = spoken.peer.map(|peer| peer.to_string());
        let place = peer
            .as_ref()
            .map_or_else(String::new, |peer| format!("{peer}: "));
        let turned = if spoken.event == "refused" {
            "turned away: "
        } else {
            ""
        };
        self.write(
            &format!("{}: {place}{turned}{}", spoken.dialect, spoken.words),
            || {
                json!({"event": spoken.event, "dialect": spoken.dialect, "peer": peer, "what": spoken.words,
                       "received_bytes": spoken.moved.map(|(received, _)| received),
                       "sent_bytes": spoken.moved.map(|(_, sent)| sent)})
            },
        );
    }

    fn event(&self, event: &ServerEvent) {
        match event {
            ServerEvent::Connected { client, peer, tool } => self.write(
                &format!("client {client}: {peer} ({tool})"),
                || json!({"event": "connected", "client": client, "peer": peer.to_string(), "tool": tool}),
            ),
            ServerEvent::Started { client, plan } => self.write(
                &format!("client {client}: {}", describe(plan)),
                || json!({"event": "started", "client": client, "plan": PlanRecord::from(&**plan)}),
            ),
            ServerEvent::Finished { client, received, sent, took, stopped } => {
                let why = stopped.as_ref().map_or_else(String::new, |why| format!("; ended early: {why}"));
                self.write(
                    &format!(
                        "client {client}: done in {:.2} s, {} received, {} sent{why}",
                        took.as_secs_f64(),
                        text::bytes(*received),
                        text::bytes(*sent)
                    ),
                    || json!({"event": "finished", "client": client, "received_bytes": received,
                              "sent_bytes": sent, "took_s": took.as_secs_f64(), "stopped": stopped}),
                );
            }
            ServerEvent::Refused { peer, why } => self.write(
                &format!("{peer}: turned away: {why}"),
                || json!({"event": "refused", "peer": peer.to_string(), "why": why}),
            ),
            ServerEvent::Iperf3 { .. } => {}
            ServerEvent::Left { client } => {
                self.write(&format!("client {client}: left"), || json!({"event": "left", "client": client}));
            }
        }
    }
}

fn describe(plan: &Plan) -> String {
    let transport = plan.transport();
    if let Plan::Echo(plan) = plan {
        let sizes = plan.sizes.len();
        return format!(
            "echo over {transport}, {} connection(s), {sizes} size(s)",
            plan.clients
        );
    }
    let Some(bulk) = plan.bulk() else {
        return transport.to_string();
    };
    let directions = match bulk.directions {
        Directions::Up => "upload",
        Directions::Down => "download",
        Directions::Both => "both directions",
    };
    let end = match bulk.end {
        TestEnd::Time(time) => format_duration(time),
        TestEnd::Bytes(bytes) => bytes.to_string(),
    };
    format!("{transport} {directions}, {} flow(s), {end}", bulk.parallel)
}
