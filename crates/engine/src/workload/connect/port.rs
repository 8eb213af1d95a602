//! The rate at which connections open to a port of any server.

use super::attempt::AttemptSettings;
use super::opening_run::{OpeningRun, conditions};
use super::outcome::ConnectOutcome;
use crate::options::LocalOptions;
use caudal_core::connect::ConnectServer;
use caudal_core::event::{Agreement, CutShort, Event};
use caudal_core::plan::{ConnectPlan, Plan};
use caudal_flow::RunError;
use caudal_flow::Target;
use caudal_flow::UserInterrupt;
use caudal_flow::socket::connect_within;
use caudal_host::UsageMeter;
use caudal_sys::clock::{monotonic_ns, sleep_until};
use caudal_sys::signal::Interrupt;
use caudal_transfer::TlsClient;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Maximum sleep before the attempts are looked at, ns.
const MAX_SLEEP_NS: u64 = 20_000_000;

/// Opens connections to a port of any server, and closes each once it has opened, after a TLS handshake where the plan asks for one.
///
/// One connection more is made before, to the first of the host's addresses at which that succeeds.
///
/// # Errors
/// When no connection can be made, or TLS not be set up.
pub fn connect_to_port(
    plan: &ConnectPlan,
    target: &Target,
    options: &LocalOptions,
    interrupt: Option<&'static Interrupt>,
    events: &mut dyn FnMut(Event),
) -> Result<(SocketAddr, ConnectOutcome), RunError> {
    let interrupt = UserInterrupt(interrupt);
    let tls = plan.tls.then(|| TlsClient::unverified(&target.host));
    let tls = tls.transpose().map_err(|failure| RunError::Local {
        wanted: format!("a TLS handshake with {}", target.host),
        cause: std::io::Error::other(failure.to_string()),
    })?;
    let peer = target.connect_first(|peer| {
        connect_within(peer, &target.binding, None, plan.timeout).map(|_| peer)
    })?;
    wait(plan.period.unwrap_or(Duration::ZERO), interrupt)?;
    options.wait_for_start();
    let agreed = Agreement::new(&Plan::Connect(plan.clone()), peer, &[]);
    events(Event::Agreed(agreed));
    let meter = UsageMeter::start(peer);
    let settings = AttemptSettings {
        peer,
        binding: target.binding.clone(),
        dscp: plan.dscp,
        timeout: plan.timeout,
        tls,
        token: None,
    };
    let mut run = OpeningRun::start(plan, settings, |nth| options.cpu(nth))?;
    events(Event::Started { repeat: None });
    let mut cut_short = None;
    while !run.is_over() {
        let now_ns = monotonic_ns();
        if (interrupt.is_set() || options.quit.load(Relaxed)) && cut_short.is_none() {
            cut_short = Some(CutShort::Interrupted);
            run.stop();
        }
        if interrupt.count() > 1 {
            break;
        }
        let until_ns = run.due_ns().unwrap_or(now_ns).min(now_ns + MAX_SLEEP_NS);
        sleep_until(until_ns);
        run.advance(monotonic_ns(), events);
    }
    let (tally, elapsed, last_failure) = run.finish();
    let (completed, failed) = tally.ended();
    if completed + failed == 0 {
        return Err(RunError::Interrupted);
    }
    let outcome = ConnectOutcome {
        plan: plan.clone(),
        server: ConnectServer::TcpPort,
        changed: Vec::new(),
        tally: Arc::new(tally),
        answered: None,
        elapsed,
        conditions: conditions(plan),
        last_failure,
        episodes: Vec::new(),
        client_usage: meter.read(),
        server_usage: None,
        cut_short,
    };
    Ok((peer, outcome))
}

/// Waits this long, or until the user interrupts.
fn wait(time: Duration, interrupt: UserInterrupt) -> Result<(), RunError> {
    let until_ns = monotonic_ns().saturating_add(time.as_nanos() as u64);
    while monotonic_ns() < until_ns {
        if interrupt.is_set() {
            return Err(RunError::Interrupted);
        }
        sleep_until(until_ns.min(monotonic_ns() + MAX_SLEEP_NS));
    }
    Ok(())
}
