//! The process of a lab that stays up.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use caudal_sys::clock;
use caudal_sys::namespace::{self, NetworkNamespace};
use caudal_sys::poll::poll_readable;
use caudal_sys::process;
use caudal_sys::signal::Interrupt;
use caudal_topology::{Topology, TopologyFile};
use serde::{Deserialize, Serialize};

use crate::control::{ControlReply, ControlRequest};
use crate::error::LabError;
use crate::host::namespace_error;
use crate::lab::{Lab, LabIdentity};
use crate::record::LabRecord;
use crate::registry::Registry;

/// Maximum length of the first line of input, bytes.
const MAX_START_BYTES: u64 = 64 << 20;
/// Maximum length of a request, bytes.
const MAX_REQUEST_BYTES: u64 = 64 << 10;
/// Maximum wait for the request of a client.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(2);

/// The first line of input of the process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StartRequest {
    /// The topology to build.
    pub topology: TopologyFile,
    /// The name of the lab, which is reserved.
    pub name: String,
    /// `true` when the lab ends with the input of the process.
    pub attached: bool,
}

/// The only line of output of the process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum StartReply {
    /// The lab is up.
    Up {
        /// Its warnings.
        warnings: Vec<String>,
    },
    /// The lab could not be built, and nothing of it is left.
    Failed {
        /// The reason and a remedy.
        reason: String,
        /// `true` when the request is wrong, rather than this machine.
        is_usage: bool,
    },
}

/// Builds the lab that the first line of input describes and serves its control socket until it ends: the whole life of a
/// process with one thread.
///
/// The result of building is written to the output. The lab ends on [`ControlRequest::Down`], on SIGINT and SIGTERM, and,
/// when it is attached, at the end of the input; while it is being built, it always ends with the input.
///
/// # Errors
/// When input or output fail. A failure to build the lab is written to the output.
pub fn run() -> io::Result<()> {
    // Signals of the terminal are for the program that runs in the lab.
    let _ = process::new_session();
    let mut line = String::new();
    let mut input = BufReader::new(io::stdin().lock());
    input.by_ref().take(MAX_START_BYTES).read_line(&mut line)?;
    let request: StartRequest = serde_json::from_str(&line)?;
    let error = match Registry::open() {
        Ok(registry) => match start_and_serve(&registry, &request) {
            Ok(()) => return Ok(()),
            Err(error) => {
                registry.remove_files(&request.name);
                error
            }
        },
        Err(error) => error,
    };
    reply(&StartReply::Failed {
        reason: error.to_string(),
        is_usage: error.is_usage(),
    })
}

fn reply(reply: &StartReply) -> io::Result<()> {
    let text = serde_json::to_string(reply)?;
    let mut output = io::stdout().lock();
    writeln!(output, "{text}")?;
    output.flush()
}

fn start_and_serve(registry: &Registry, request: &StartRequest) -> Result<(), LabError> {
    let mut daemon = LabDaemon::start(registry, request)?;
    let warnings = daemon.lab.report()?.warnings;
    let served = reply(&StartReply::Up { warnings }).and_then(|()| {
        // A process that waits for the end of the output must not wait for the end of the lab.
        process::discard_stdout()?;
        daemon.serve()
    });
    drop(daemon);
    registry.remove_files(&request.name);
    served.map_err(LabError::kernel("serve the lab"))
}

/// A lab with its control socket.
struct LabDaemon {
    lab: Lab,
    listener: UnixListener,
    interrupt: &'static Interrupt,
    /// Set when the lab ends with the input of the process.
    attached: bool,
}

impl LabDaemon {
    fn start(registry: &Registry, request: &StartRequest) -> Result<Self, LabError> {
        let topology = Topology::resolve(&request.topology)
            .map_err(|error| LabError::invalid(error.problem, error.remedy))?;
        ensure_namespaces()?;
        let interrupt = Interrupt::install().map_err(LabError::kernel("handle signals"))?;
        let name = &request.name;
        let id = format!("{}-{:x}", std::process::id(), clock::realtime_ns());
        registry.write(&LabRecord::new(name, &id))?;
        let directory = registry.directory_of(name);
        let identity = LabIdentity {
            name,
            id: &id,
            directory: &directory,
        };
        let lab = Lab::build(&topology, &identity)?;
        let path = directory.join("control");
        let listener = UnixListener::bind(&path).map_err(|cause| LabError::File {
            operation: "listen at",
            path,
            cause,
        })?;
        registry.write(&LabRecord::from_lab(name, &id, &lab))?;
        Ok(Self {
            lab,
            listener,
            interrupt,
            attached: request.attached,
        })
    }

    /// Serves requests until the lab is to end.
    fn serve(&mut self) -> io::Result<()> {
        let stdin = io::stdin();
        loop {
            let mut watched = vec![self.listener.as_fd(), self.interrupt.fd()];
            if self.attached {
                watched.push(stdin.as_fd());
            }
            let ready = poll_readable(&watched, None)?;
            if self.interrupt.count() > 0 {
                return Ok(());
            }
            // Nothing more is written to the input, so only its end makes it readable.
            if self.attached && ready[2] {
                return Ok(());
            }
            if ready[0] {
                let (stream, _) = self.listener.accept()?;
                // A client that sends nonsense or disconnects affects nobody else.
                if let Ok(AfterRequest::End) = self.serve_client(&stream) {
                    return Ok(());
                }
            }
        }
    }

    /// Serves one request.
    fn serve_client(&mut self, mut stream: &UnixStream) -> io::Result<AfterRequest> {
        stream.set_read_timeout(Some(REQUEST_TIMEOUT))?;
        stream.set_write_timeout(Some(REQUEST_TIMEOUT))?;
        let mut line = String::new();
        BufReader::new(stream.take(MAX_REQUEST_BYTES)).read_line(&mut line)?;
        let request: ControlRequest = serde_json::from_str(&line)?;
        let reply = self
            .execute(&request)
            .unwrap_or_else(|error| ControlReply::Refused {
                reason: error.to_string(),
                is_usage: error.is_usage(),
            });
        let text = serde_json::to_string(&reply)?;
        stream.write_all(format!("{text}\n").as_bytes())?;
        Ok(match request {
            ControlRequest::Down => AfterRequest::End,
            ControlRequest::Report | ControlRequest::Mark | ControlRequest::Set(_) => {
                AfterRequest::Continue
            }
        })
    }

    fn execute(&mut self, request: &ControlRequest) -> Result<ControlReply, LabError> {
        match request {
            ControlRequest::Report => {
                let report = self.lab.report()?;
                return Ok(ControlReply::Report(Box::new(report)));
            }
            ControlRequest::Mark => self.lab.mark(),
            ControlRequest::Set(change) => self.lab.set(change)?,
            ControlRequest::Down => {}
        }
        Ok(ControlReply::Done)
    }
}

/// The continuation after a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AfterRequest {
    Continue,
    End,
}

/// Makes sure that network namespaces can be created, if necessary in a new user namespace.
fn ensure_namespaces() -> Result<(), LabError> {
    match NetworkNamespace::create() {
        Ok(_) => return Ok(()),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
        Err(error) => return Err(namespace_error(error)),
    }
    let entered = namespace::enter_new_user_namespace();
    if entered.is_ok() && NetworkNamespace::create().is_ok() {
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
        what: "this user may create neither network namespaces nor user namespaces".to_owned(),
        remedy: remedy.to_owned(),
    })
}
