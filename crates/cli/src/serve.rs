//! `caudal serve`: a server that runs until it is interrupted.

use crate::args::{LocalAddressArg, ServeArgs, missing_zone};
use crate::exit::{Exit, Failure};
use crate::foreign_servers::{ForeignServers, StartedServer};
use crate::metrics::{MetricsAddress, MetricsServer, ServerCounters};
use crate::server_log::ServerLog;
use crate::server_status::StatusSocket;
use crate::stamp::read_stamp_key;
use crate::token_file::read_tokens;
use crate::visitors::VisitorStore;
use caudal_compat::iperf3::login::{AuthorizedUsers, LoginPadding};
use caudal_compat::iperf3::transcripts;
use caudal_core::units::{BitRate, ByteCount, format_duration};
use caudal_engine::server::{
    AuthenticationOptions, ListenAddress, ProtocolAccess, SessionEvent, SharedPortProtocol,
};
use caudal_engine::{
    MemoryBudget, Protocol, RunError, ServedDirectory, Server, ServerOptions, SessionLimits,
    StoreDirectory, TOOL, TransferFileError, TransferLocalOptions,
};
use caudal_foreign::iperf3::{Iperf3Options, Iperf3SharedPort, LoginCheck};
use caudal_foreign::stamp::{ReflectorOptions, StampReflectorServer};
use caudal_store::Recording;
use caudal_sys::process::{open_file_limit, raise_open_file_limit};
use caudal_sys::signal::Interrupt;
use caudal_views::metrics::exposition;
use caudal_web::{VisitorArchive, WebOptions, WebSharedPort};
use caudal_wire::stamp::StampKey;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The lowest limit on the rate of a test: the lowest rate a plan may have.
const MIN_RATE: BitRate = BitRate::from_bps(1000);
/// The lowest limit on the time of a test: the shortest test.
const MIN_TIME: Duration = Duration::from_millis(10);
/// The lowest limit on the payload of a test: that of a datagram.
const MIN_BYTES: ByteCount = ByteCount::new(65_507);
/// The shortest time after which an idle client may be disconnected.
const MIN_IDLE_TIMEOUT: Duration = Duration::from_secs(1);
/// The lowest limit on the memory for clients: the buffers of one test.
const MIN_MEMORY: ByteCount = ByteCount::new(4 << 20);
/// The limit on it unless another is given, on a machine with twice as much, bytes.
const DEFAULT_MEMORY: u64 = 2 << 30;

/// The descriptors with which a server and one client with ten flows get along.
const FEW_DESCRIPTORS: u64 = 64;

/// Runs `caudal serve`.
///
/// # Errors
/// When the port is not available.
pub fn serve(args: &ServeArgs, interrupt: &'static Interrupt) -> Result<Exit, Failure> {
    caudal_sys::memory::spare_address_space();
    check(args)?;
    let stamp_key = args.stamp_key_file.as_deref();
    let stamp_key = stamp_key.map(|path| read_stamp_key(path, "--stamp-key-file"));
    let stamp_key = stamp_key.transpose()?;
    let limits = SessionLimits {
        max_rate: args.max_rate,
        max_time: args.max_time,
        max_bytes: args.max_bytes,
        memory: memory_budget(args),
    };
    let options = server_options(args, &limits)?;
    // Without more descriptors there are fewer places; the server says so when it is out of them.
    let descriptors = raise_open_file_limit().unwrap_or_else(|_| open_file_limit());
    let (sender, events) = channel();
    let server = Server::start(options, sender.clone().into()).map_err(start_failure)?;
    let counters = Arc::default();
    let metrics = args
        .prometheus
        .map(|address| start_metrics(address, args, &counters))
        .transpose()?;
    let mut log = ServerLog::new(args.json_log, args.quiet);
    for local in server.locals() {
        log.listening(*local);
    }
    if args.web && server.access(Protocol::Web) != ProtocolAccess::Closed {
        log.web(server.local());
    }
    let status = match StatusSocket::open(server.local()) {
        Ok(status) => Some(status),
        Err(cause) => {
            log.started(&StartedServer {
                protocol: Protocol::Native,
                port: None,
                message: format!("caudal top --serve cannot show this server: {cause}"),
            });
            None
        }
    };
    if let Some(cause) = server.without_v6() {
        log.started(&StartedServer {
            protocol: Protocol::Native,
            port: None,
            message: format!("IPv6 is not served, only IPv4: {cause}"),
        });
    }
    if let Some(metrics) = &metrics {
        log.metrics(metrics.local());
    }
    if descriptors < FEW_DESCRIPTORS {
        log.few_descriptors(descriptors);
    }
    let others = ForeignServers::start(args, &limits, &server, &sender);
    let reflectors = start_reflectors(args, stamp_key.as_ref())?;
    for reflector in &reflectors {
        log.stamp(
            reflector.local(),
            args.stamp_key_file.is_some(),
            args.stamp_rate,
        );
    }
    drop(sender);
    for closed in closed_protocols(args, &server) {
        log.started(&closed);
    }
    for started in &others.started {
        log.started(started);
    }
    let mut locals = server.locals().iter();
    let is_reachable = !locals.all(|local| local.ip().to_canonical().is_loopback());
    if !requires_authentication(args) && is_reachable {
        log.unauthenticated(&args.allow, args.accept_files.is_some());
    }
    loop {
        // Signals are looked for often enough that ^C feels immediate.
        match events.recv_timeout(Duration::from_millis(50)) {
            Ok(event) => show(&mut log, &counters, status.as_ref(), &event),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        if interrupt.count() > 0 {
            log.stopping();
            server.stop();
            break;
        }
        if server.is_over() {
            break;
        }
    }
    others.stop();
    for reflector in reflectors {
        let local = reflector.local();
        log.reflected(local, &reflector.stop());
    }
    while let Ok(event) = events.try_recv() {
        show(&mut log, &counters, status.as_ref(), &event);
    }
    Ok(Exit::Done)
}

/// Starts the reflectors of STAMP that are asked for, one for each address.
fn start_reflectors(
    args: &ServeArgs,
    key: Option<&StampKey>,
) -> Result<Vec<StampReflectorServer>, Failure> {
    let Some(port) = args.stamp else {
        return Ok(Vec::new());
    };
    let start = |local: Option<&LocalAddressArg>| {
        StampReflectorServer::start(ReflectorOptions {
            bind: local.map(|local| local.address),
            scope_id: local.map_or(0, |local| local.scope_id),
            device: args.device.clone(),
            port,
            allow: args.allow.clone(),
            key: key.cloned(),
            is_stateless: args.stamp_stateless,
            answers_short: args.stamp_short,
            per_source: args.stamp_rate,
        })
        .map_err(|error| {
            let is_forbidden = matches!(error, RunError::Forbidden { .. });
            let mut failure = start_failure(error);
            failure.advice =
                match is_forbidden {
                    true => "run it as root, or choose a port of 1024 and more with --stamp PORT"
                        .to_owned(),
                    false => "stop what listens there, or choose another port with --stamp PORT"
                        .to_owned(),
                };
            failure
        })
    };
    match args.bind.is_empty() {
        true => Ok(vec![start(None)?]),
        false => args.bind.iter().map(|local| start(Some(local))).collect(),
    }
}

/// Shows an event in the log and counts it.
fn show(
    log: &mut ServerLog,
    counters: &Mutex<ServerCounters>,
    status: Option<&StatusSocket>,
    event: &SessionEvent,
) {
    log.event(event);
    if let Some(status) = status {
        status.event(event);
    }
    let mut counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
    counters.event(event);
}

/// Starts to serve metrics.
fn start_metrics(
    address: MetricsAddress,
    args: &ServeArgs,
    counters: &Arc<Mutex<ServerCounters>>,
) -> Result<MetricsServer, Failure> {
    let counters = Arc::clone(counters);
    let text = move || {
        let counters = counters.lock().unwrap_or_else(PoisonError::into_inner);
        exposition(&counters.by_name())
    };
    let names = &args.prometheus_host;
    MetricsServer::start(address, &args.allow, names, Box::new(text)).map_err(|cause| {
        Failure::new(
            Exit::NotPermitted,
            format!("cannot serve metrics on {address}: {cause}"),
            "choose another address or port with --prometheus",
        )
    })
}

/// The settings of the server.
fn server_options(args: &ServeArgs, limits: &SessionLimits) -> Result<ServerOptions, Failure> {
    Ok(ServerOptions {
        bind: args
            .bind
            .iter()
            .map(|local| ListenAddress {
                address: local.address,
                scope_id: local.scope_id,
            })
            .collect(),
        device: args.device.clone(),
        port: args.port,
        one_off: args.one_off,
        max_clients: args.max_clients,
        max_clients_per_source: args.max_clients_per_source,
        limits: limits.clone(),
        allow: args.allow.clone(),
        idle_timeout: args.idle_timeout,
        tool: TOOL.to_owned(),
        shared_port: shared_ports(args)?,
        authentication: authentication_options(args)?,
        transfer: TransferLocalOptions {
            served: open_directory("--files", args.files.as_deref(), ServedDirectory::open)?,
            store: open_directory(
                "--accept-files",
                args.accept_files.as_deref(),
                StoreDirectory::open,
            )?
            .map(|directory| directory.with_quota(args.accept_bytes)),
            ..TransferLocalOptions::default()
        },
    })
}

/// The protocols beside caudal's own on the port.
fn shared_ports(args: &ServeArgs) -> Result<Vec<Arc<dyn SharedPortProtocol>>, Failure> {
    let iperf3 = Iperf3SharedPort::new(iperf3_options(args)?);
    let mut ports: Vec<Arc<dyn SharedPortProtocol>> = vec![Arc::new(iperf3)];
    if args.web {
        ports.push(Arc::new(WebSharedPort::new(web_options(args))));
    }
    Ok(ports)
}

/// The treatment of browsers.
fn web_options(args: &ServeArgs) -> WebOptions {
    let recording = Recording::new(args.web_store.as_deref());
    let archive = VisitorStore::new(recording, args.web_keep);
    WebOptions {
        origins: args.web_origin.clone(),
        starts_per_hour: args.web_starts,
        bytes_per_hour: args.web_bytes,
        archive: archive.map(|archive| Arc::new(archive) as Arc<dyn VisitorArchive>),
        ..WebOptions::default()
    }
}

/// Opens the directory of a flag.
fn open_directory<T>(
    flag: &str,
    path: Option<&Path>,
    open: impl FnOnce(&Path) -> Result<T, TransferFileError>,
) -> Result<Option<T>, Failure> {
    path.map(open).transpose().map_err(|error| {
        Failure::usage(
            error.to_string(),
            format!("give {flag} a directory that this user may use"),
        )
    })
}

/// Checks the flags.
fn check(args: &ServeArgs) -> Result<(), Failure> {
    let mut addresses = args.bind.iter();
    if let Some(local) = addresses.find(|local| local.lacks_zone()) {
        let (message, advice) = missing_zone(&local.to_string());
        return Err(Failure::usage(format!("--bind {message}"), advice));
    }
    let iperf2_flags = [
        ("--iperf2-trust", !args.iperf2_trust.is_empty()),
        ("--iperf2-group", !args.iperf2_group.is_empty()),
    ];
    if let Some((flag, _)) = iperf2_flags.iter().find(|(_, is_given)| *is_given)
        && !args.wants_iperf2()
    {
        return Err(Failure::usage(
            format!("{flag} is given where iperf 2 is not answered"),
            "add --iperf2, or leave it out",
        ));
    }
    if args.stamp.is_some() && args.stamp_key_file.is_none() && requires_authentication(args) {
        return Err(Failure::usage(
            "--stamp would answer without authentication, which other clients need",
            "give --stamp-key-file as well, or leave --stamp out",
        ));
    }
    if args.stamp_short && args.allow.is_empty() {
        return Err(Failure::usage(
            "--stamp-short answers with more bytes than came, and any address may be forged",
            "name the networks of the senders with --allow as well",
        ));
    }
    let time = |time: &Duration| format_duration(*time);
    at_least(
        "--max-clients",
        Some(args.max_clients),
        &1,
        usize::to_string,
    )?;
    let per_source = args.max_clients_per_source;
    at_least("--max-clients-per-source", per_source, &1, usize::to_string)?;
    let idle_timeout = Some(args.idle_timeout);
    at_least("--idle-timeout", idle_timeout, &MIN_IDLE_TIMEOUT, |time| {
        format!("{time:?}")
    })?;
    at_least("--max-rate", args.max_rate, &MIN_RATE, BitRate::to_string)?;
    at_least("--max-time", args.max_time, &MIN_TIME, time)?;
    let size = ByteCount::to_string;
    at_least("--max-bytes", args.max_bytes, &MIN_BYTES, size)?;
    at_least("--max-memory", args.max_memory, &MIN_MEMORY, size)?;
    let share = args.max_memory_per_source;
    at_least("--max-memory-per-source", share, &MIN_MEMORY, size)
}

/// The memory for clients, and for each source of them.
fn memory_budget(args: &ServeArgs) -> MemoryBudget {
    let half = caudal_sys::memory::memory_limit().map_or(DEFAULT_MEMORY, |all| all / 2);
    let default = half.clamp(MIN_MEMORY.get(), DEFAULT_MEMORY);
    let all = args.max_memory.unwrap_or(ByteCount::new(default));
    match args.max_memory_per_source {
        Some(share) => MemoryBudget::with_share(all, share),
        None => MemoryBudget::new(all),
    }
}

/// Checks that the value of a flag is at least `min`.
fn at_least<T: PartialOrd>(
    flag: &str,
    value: Option<T>,
    min: &T,
    show: impl Fn(&T) -> String,
) -> Result<(), Failure> {
    match value.filter(|value| value < min) {
        Some(value) => Err(Failure::usage(
            format!("{flag} is {}", show(&value)),
            format!("it must be at least {}", show(min)),
        )),
        None => Ok(()),
    }
}

/// `true` when clients of any protocol must authenticate themselves.
const fn requires_authentication(args: &ServeArgs) -> bool {
    args.token_file.is_some() || args.rsa_private_key_path.is_some()
}

/// The protocols of the port itself that are not answered because their clients cannot authenticate themselves.
fn closed_protocols(args: &ServeArgs, server: &Server) -> Vec<StartedServer> {
    let wanted = [
        (Protocol::Native, true),
        (Protocol::Iperf3, !args.no_iperf3),
        (Protocol::Web, args.web),
    ];
    wanted
        .into_iter()
        .filter(|(protocol, is_wanted)| {
            *is_wanted && server.access(*protocol) == ProtocolAccess::Closed
        })
        .map(|(protocol, _)| StartedServer::closed(protocol))
        .collect()
}

/// The authentication required of clients, beside the logins of iperf3.
fn authentication_options(args: &ServeArgs) -> Result<AuthenticationOptions, Failure> {
    let exempt = &args.allow_unauthenticated;
    if !exempt.is_empty() && !requires_authentication(args) {
        return Err(Failure::usage(
            "--allow-unauthenticated is given where no client must authenticate itself",
            "leave it out, or give --token-file",
        ));
    }
    for (protocol, is_answered, flag) in [
        (Protocol::Iperf2, args.wants_iperf2(), "--iperf2"),
        (Protocol::Nttcp, args.wants_nttcp(), "--nttcp"),
        (Protocol::Web, args.web, "--web"),
    ] {
        if !is_answered && exempt.contains(&protocol) {
            return Err(Failure::usage(
                format!("--allow-unauthenticated names {protocol}, which is not answered"),
                format!("add {flag}, or leave it out"),
            ));
        }
    }
    for (protocol, is_authenticated, flag) in [
        (Protocol::Native, args.token_file.is_some(), "--token-file"),
        (
            Protocol::Iperf3,
            args.rsa_private_key_path.is_some(),
            "--rsa-private-key-path",
        ),
    ] {
        if is_authenticated && exempt.contains(&protocol) {
            return Err(Failure::usage(
                format!(
                    "--allow-unauthenticated names {protocol}, whose clients {flag} authenticates"
                ),
                "leave one of them out",
            ));
        }
    }
    Ok(AuthenticationOptions {
        tokens: match &args.token_file {
            Some(path) => read_tokens(path)?,
            None => Vec::new(),
        },
        exempt: exempt.clone(),
    })
}

fn start_failure(error: RunError) -> Failure {
    let is_in_use =
        matches!(&error, RunError::Local { cause, .. } if cause.kind() == ErrorKind::AddrInUse);
    let mut failure = Failure::from(error);
    if is_in_use {
        failure.advice = "stop what listens there, or choose another with -p".to_owned();
    }
    failure
}

/// The treatment of clients of iperf3.
fn iperf3_options(args: &ServeArgs) -> Result<Iperf3Options, Failure> {
    let login = match (&args.rsa_private_key_path, &args.authorized_users_path) {
        (Some(key), Some(users)) => {
            let padding = if args.use_pkcs1_padding {
                LoginPadding::Pkcs1
            } else {
                LoginPadding::Oaep
            };
            let users = AuthorizedUsers::open(key, users, args.time_skew_threshold, padding)
                .map_err(|error| Failure::usage(error.to_string(), ""))?;
            Some(LoginCheck(Arc::new(move |token: &str| users.admits(token))))
        }
        _ => None,
    };
    Ok(Iperf3Options {
        enabled: !args.no_iperf3,
        login,
        views: Some(transcripts(None, false, Some(Duration::from_secs(1)))),
        ..Iperf3Options::default()
    })
}
