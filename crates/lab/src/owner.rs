//! The process that keeps a lab.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use caudal_sys::namespace::{self, NetworkNamespace};
use caudal_sys::signal::{self, Interrupt, poll_readable};
use caudal_topology::{Topology, TopologyFile};
use serde::{Deserialize, Serialize};

use crate::control::{Reply, Request};
use crate::error::LabError;
use crate::host::no_namespace;
use crate::lab::Lab;
use crate::registry::Registry;

/// The longest question.
const LONGEST: u64 = 64 << 10;
/// For how long somebody may take to ask it.
const PATIENCE: Duration = Duration::from_secs(2);

/// What the process is told in its first line of input.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// What to build.
    pub topology: TopologyFile,
    /// What it is called; the name is taken.
    pub name: String,
    /// Whether it ends when its input does.
    pub attached: bool,
}

/// What the process says in its only line of output.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Outcome {
    /// The lab is up.
    Up {
        /// What is to be known about it.
        warnings: Vec<String>,
    },
    /// It is not, and nothing is left.
    Failed {
        /// Why, and what to do about it.
        reason: String,
        /// Whether what was asked for is wrong, and not this machine.
        is_usage: bool,
    },
}

/// Keeps the lab it is told of on its input until it is told to end: the whole life of a process with one thread.
///
/// Says on its output how that began. It ends on [`Request::Down`], on SIGINT and SIGTERM, and, when it is attached, when
/// its input ends; before it says that the lab is up, it always ends with its input.
///
/// # Errors
/// When input or output fail; what keeps the lab from coming up is said on the output.
pub fn run() -> io::Result<()> {
    // What the terminal signals is for the program that runs in the lab.
    let _ = signal::leave_terminal();
    let mut line = String::new();
    let mut input = BufReader::new(io::stdin().lock());
    input.by_ref().take(64 << 20).read_line(&mut line)?;
    let order: Order = serde_json::from_str(&line)?;
    let registry = Registry::open();
    let outcome = match registry {
        Ok(registry) => match keep(&registry, &order) {
            Ok(()) => return Ok(()),
            Err(error) => {
                registry.forget(&order.name);
                error
            }
        },
        Err(error) => error,
    };
    say(&Outcome::Failed {
        reason: outcome.to_string(),
        is_usage: outcome.is_usage(),
    })
}

fn say(outcome: &Outcome) -> io::Result<()> {
    let text = serde_json::to_string(outcome)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}

fn keep(registry: &Registry, order: &Order) -> Result<(), LabError> {
    let topology = Topology::resolve(&order.topology)
        .map_err(|error| LabError::unknown(error.problem, error.remedy))?;
    become_able()?;
    let failed = LabError::kernel("keep a lab");
    let interrupt = match Interrupt::install() {
        Ok(interrupt) => interrupt,
        Err(cause) => return Err(failed(cause)),
    };
    let id = format!(
        "{}-{:x}",
        std::process::id(),
        caudal_sys::clock::realtime_ns()
    );
    registry.write(&order.name, &id, None)?;
    let place = registry.place(&order.name);
    let mut lab = Lab::build(&topology, &order.name, &id, &place)?;
    let path = place.join("control");
    let listener = UnixListener::bind(&path).map_err(|cause| LabError::File {
        doing: "listen at",
        path,
        cause,
    })?;
    registry.write(&order.name, &id, Some(&lab))?;
    let warnings = lab.report()?.warnings;
    let kept = say(&Outcome::Up { warnings }).and_then(|()| {
        // Whoever waits for the end of the output does not wait for the end of the lab.
        caudal_sys::signal::close_output()?;
        serve(&listener, order.attached, interrupt, &mut lab)
    });
    drop(lab);
    registry.forget(&order.name);
    kept.map_err(LabError::kernel("keep a lab"))
}

/// Makes sure that namespaces can be made, in a user namespace where that is how.
fn become_able() -> Result<(), LabError> {
    match NetworkNamespace::create() {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(no_namespace(error)),
    }
    let refused = namespace::become_root_of_user_namespace().err();
    if refused.is_none() && NetworkNamespace::create().is_ok() {
        return Ok(());
    }
    let parameter = |name: &str| std::fs::read_to_string(format!("/proc/sys/{name}"));
    let is = |name: &str, value: &str| parameter(name).is_ok_and(|text| text.trim() == value);
    let remedy = if is("kernel/unprivileged_userns_clone", "0") {
        "run as root, or set kernel.unprivileged_userns_clone=1"
    } else if is("kernel/apparmor_restrict_unprivileged_userns", "1") {
        "run as root, or set kernel.apparmor_restrict_unprivileged_userns=0"
    } else if is("user/max_user_namespaces", "0") {
        "run as root, or set user.max_user_namespaces"
    } else {
        "run as root"
    };
    Err(LabError::NotPermitted {
        what: "this user may make neither network namespaces nor user namespaces".to_owned(),
        remedy: remedy.to_owned(),
    })
}

/// Answers until there is a reason to end.
fn serve(
    listener: &UnixListener,
    attached: bool,
    interrupt: &Interrupt,
    lab: &mut Lab,
) -> io::Result<()> {
    let stdin = io::stdin();
    loop {
        let mut watched = vec![listener.as_fd(), interrupt.fd()];
        if attached {
            watched.push(stdin.as_fd());
        }
        let ready = poll_readable(&watched, None)?;
        if interrupt.count() > 0 {
            return Ok(());
        }
        // Nothing more is said on the input, so what is heard there is its end.
        if attached && ready[2] {
            return Ok(());
        }
        if ready[0] {
            let (stream, _) = listener.accept()?;
            // Somebody who asks nonsense or leaves costs himself only.
            if converse(&stream, lab).unwrap_or(false) {
                return Ok(());
            }
        }
    }
}

/// Answers one question; whether it was the last.
fn converse(stream: &UnixStream, lab: &mut Lab) -> io::Result<bool> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream.take(LONGEST)).read_line(&mut line)?;
    let refused = |error: &LabError| Reply::Refused {
        reason: error.to_string(),
        is_usage: error.is_usage(),
    };
    let done = |answer: Result<(), LabError>| match answer {
        Ok(()) => Reply::Done,
        Err(error) => refused(&error),
    };
    let request: Request = serde_json::from_str(&line)?;
    let reply = match &request {
        Request::Report => match lab.report() {
            Ok(report) => Reply::Report(Box::new(report)),
            Err(error) => refused(&error),
        },
        Request::Mark => {
            lab.mark();
            Reply::Done
        }
        Request::Set(change) => done(lab.set(change)),
        Request::Down => Reply::Done,
    };
    let text = serde_json::to_string(&reply)?;
    let mut stream = stream;
    stream.write_all(format!("{text}\n").as_bytes())?;
    Ok(request == Request::Down)
}
