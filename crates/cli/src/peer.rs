//! The other end of a test: the host that was named, or a server of our own on loopback.

use crate::args::TargetArgs;
use crate::exit::Failure;
use crate::iperf3::far::Iperf3Far;
use caudal_core::event::Event;
use caudal_core::framing::IpVersion;
use caudal_core::host::Host;
use caudal_core::interval::ServerAccount;
use caudal_core::plan::Plan;
use caudal_engine::{
    Client, Family, Manner, Origin, RunError, Server, ServerOptions, Target, TrafficRun, iperf2,
};
use caudal_sys::signal::Interrupt;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// What a program is called when it speaks to another.
pub const TOOL: &str = concat!("caudal ", env!("CARGO_PKG_VERSION"));

/// How often a server that may be iperf3's is tried, every 200 ms.
const LISTENS_ANEW: u32 = 5;
/// How long a server that is said to be iperf3's may take for its first word.
const ANSWERING: Duration = Duration::from_secs(10);
/// How long one that may be may take.
const SHOWING: Duration = Duration::from_secs(2);

/// A language another program's server speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Language {
    /// iperf 2's, on port 5001 unless another is given
    Iperf2,
    /// iperf3's
    Iperf3,
}

/// The far side, in the language it speaks.
enum Far {
    Native(Box<Client>),
    Iperf2(Box<iperf2::Guise>),
    Iperf3(Box<Iperf3Far>),
}

/// A connection to the server of a command, which may be one of our own.
pub struct Peer {
    far: Far,
    /// The server we started because none was named.
    pub own: Option<Server>,
}

impl Peer {
    /// Connects to the host named, or to a server started on loopback for the occasion.
    ///
    /// # Errors
    /// When nobody answers, or the address makes no sense.
    pub fn connect(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Failure> {
        Self::connect_native(args, interrupt).map_err(|trouble| trouble.failure)
    }

    /// The same, in the language named; where none is, in iperf3's too when the far side turns out to
    /// speak that.
    ///
    /// # Errors
    /// When nobody answers, or somebody in another language.
    pub fn connect_in(
        args: &TargetArgs,
        language: Option<Language>,
        interrupt: &'static Interrupt,
    ) -> Result<Self, Failure> {
        let in_iperf3 = |within| {
            let target = args.target();
            Iperf3Far::connect(target, within, interrupt).map(|far| Self {
                far: Far::Iperf3(Box::new(far)),
                own: None,
            })
        };
        if let Some(language) = language {
            if args.host.is_none() {
                return Err(Failure::usage(
                    "--as is given without a HOST",
                    "name the host on which that server runs",
                ));
            }
            return match language {
                Language::Iperf2 => Self::connect_iperf2(args, interrupt),
                Language::Iperf3 => in_iperf3(ANSWERING).map_err(Failure::from),
            };
        }
        match Self::connect_native(args, interrupt) {
            Ok(peer) => Ok(peer),
            Err(trouble) if trouble.foreign => {
                // A server of iperf3 listens anew after what it took for a client.
                for _ in 0..LISTENS_ANEW {
                    match in_iperf3(SHOWING) {
                        Ok(peer) => return Ok(peer),
                        Err(RunError::Connect { .. } | RunError::Lost { .. }) => {}
                        Err(_) => break,
                    }
                    if interrupt.count() > 0 {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(200));
                }
                Err(trouble.failure)
            }
            Err(trouble) => Err(trouble.failure),
        }
    }

    fn connect_iperf2(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Failure> {
        let mut target = args.target();
        if target.port == caudal_engine::PORT {
            target.port = caudal_wire::iperf2::PORT;
        }
        let guise = iperf2::Guise::new(&target, TOOL, Some(interrupt))?;
        Ok(Self {
            far: Far::Iperf2(Box::new(guise)),
            own: None,
        })
    }

    fn connect_native(args: &TargetArgs, interrupt: &'static Interrupt) -> Result<Self, Trouble> {
        let wanted = args.target();
        let (host, port, own) = match &args.host {
            Some(_) => (wanted.host, args.port, None),
            None => {
                let loopback: IpAddr = if args.ipv6 || args.bind.is_some_and(|from| from.is_ipv6())
                {
                    std::net::Ipv6Addr::LOCALHOST.into()
                } else {
                    std::net::Ipv4Addr::LOCALHOST.into()
                };
                let options = ServerOptions {
                    bind: Some(loopback),
                    port: 0,
                    tool: TOOL.to_owned(),
                    idle_timeout: Duration::from_secs(3600),
                    ..ServerOptions::default()
                };
                let own = Server::start(options, None).map_err(Failure::from)?;
                (loopback.to_string(), own.local().port(), Some(own))
            }
        };
        let family = wanted.family;
        let target = Target {
            host,
            port,
            ..wanted
        };
        let client = Client::connect(&target, TOOL, Some(interrupt)).map_err(|error| {
            let foreign = matches!(error, RunError::Foreign { .. }) && args.host.is_some();
            let failure = match (args.bind, &error) {
                // A name with no address of that family: the resolver itself gives no such answer.
                (Some(bind), RunError::Resolve { cause, .. })
                    if family.is_none() && cause.kind() == std::io::ErrorKind::NotFound =>
                {
                    args.another_family(bind)
                }
                _ => error.into(),
            };
            Trouble { failure, foreign }
        })?;
        Ok(Self {
            far: Far::Native(Box::new(client)),
            own,
        })
    }

    /// The connection in our own language.
    ///
    /// # Errors
    /// When the far side speaks another, which knows no such test.
    pub fn native(&mut self) -> Result<&mut Client, RunError> {
        match &mut self.far {
            Far::Native(client) => Ok(client),
            Far::Iperf2(guise) => Err(RunError::Foreign {
                peer: guise.peer(),
                found: "it speaks iperf 2's, which knows no such test".to_owned(),
            }),
            Far::Iperf3(far) => Err(RunError::Foreign {
                peer: far.address(),
                found: "it speaks iperf3's, which knows no such test".to_owned(),
            }),
        }
    }

    /// The account the far side gives of what it receives.
    #[must_use]
    pub const fn server_account(&self) -> ServerAccount {
        match self.far {
            Far::Native(_) => ServerAccount::Full,
            Far::Iperf2(_) => ServerAccount::Totals { reordered: true },
            Far::Iperf3(_) => ServerAccount::Totals { reordered: false },
        }
    }

    /// Its address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        match &self.far {
            Far::Native(client) => client.peer(),
            Far::Iperf2(guise) => guise.peer(),
            Far::Iperf3(far) => far.address(),
        }
    }

    /// What this machine says of itself.
    #[must_use]
    pub fn here(&self) -> &Host {
        match &self.far {
            Far::Native(client) => &client.here,
            Far::Iperf2(guise) => &guise.here,
            Far::Iperf3(far) => &far.here,
        }
    }

    /// What the far side says of itself; little, in other languages.
    #[must_use]
    pub fn there(&self) -> &Host {
        match &self.far {
            Far::Native(client) => &client.server,
            Far::Iperf2(guise) => &guise.server,
            Far::Iperf3(far) => &far.there,
        }
    }

    /// How long connecting took, µs.
    #[must_use]
    pub fn connect_us(&self) -> f64 {
        let took = match &self.far {
            Far::Native(client) => client.connecting,
            Far::Iperf2(guise) => guise.connecting,
            Far::Iperf3(far) => far.connecting,
        };
        took.as_secs_f64() * 1e6
    }

    /// The smallest round-trip time of the idle control connection, µs.
    #[must_use]
    pub fn idle_rtt_us(&self) -> Option<f64> {
        match &self.far {
            Far::Native(client) => client.clock.min_rtt_ns().map(|ns| ns as f64 / 1e3),
            // Its connections are the test: none of them idles.
            Far::Iperf2(_) => None,
            Far::Iperf3(far) => far.idle_rtt_us,
        }
    }

    /// The path MTU the kernel knows towards it, bytes.
    #[must_use]
    pub fn path_mtu(&self) -> Option<u32> {
        match &self.far {
            Far::Native(client) => client.path_mtu(),
            Far::Iperf2(guise) => guise.path_mtu(),
            Far::Iperf3(far) => far.path_mtu,
        }
    }

    /// Whether both ends are one machine and know it of each other.
    #[must_use]
    pub fn is_same_machine(&self) -> bool {
        match &self.far {
            Far::Native(client) => client.is_same_machine(),
            Far::Iperf2(_) | Far::Iperf3(_) => false,
        }
    }

    /// Carries a throughput plan out.
    ///
    /// # Errors
    /// When nothing could be measured.
    pub fn run(
        &mut self,
        plan: &Plan,
        manner: &Manner,
        on_event: &mut dyn FnMut(Event),
    ) -> Result<TrafficRun, RunError> {
        match &mut self.far {
            Far::Native(client) => client.run(plan, manner, on_event),
            // Their dialogues leave no room between opening and starting: the moment is that of the opening.
            Far::Iperf2(guise) => {
                sleep_to(manner);
                guise.run(plan, manner, on_event)
            }
            Far::Iperf3(far) => {
                sleep_to(manner);
                far.run(plan, manner, on_event)
            }
        }
    }

    /// The peer in words.
    #[must_use]
    pub fn describe(&self) -> String {
        if self.own.is_some() {
            "this machine over loopback".to_owned()
        } else {
            format!("{} ({})", self.address(), self.there().name)
        }
    }

    /// Whether traffic to it stays on a loopback interface.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        self.here().interface.as_deref() == Some("lo")
    }

    /// The IP version between both.
    #[must_use]
    pub fn ip(&self) -> IpVersion {
        if self.address().is_ipv4() {
            IpVersion::V4
        } else {
            IpVersion::V6
        }
    }
}

/// Waits until the moment at which traffic is to begin, some seconds at most.
fn sleep_to(manner: &Manner) {
    if let Some(at) = manner.at_ns {
        let left = at.saturating_sub(caudal_sys::clock::realtime_ns());
        caudal_sys::clock::sleep_until(caudal_sys::clock::monotonic_ns() + left);
    }
}

/// Why connecting failed, and whether somebody else may be there.
struct Trouble {
    failure: Failure,
    foreign: bool,
}

impl From<Failure> for Trouble {
    fn from(failure: Failure) -> Self {
        Self {
            failure,
            foreign: false,
        }
    }
}

impl TargetArgs {
    /// Where the server is, and where to leave from.
    #[must_use]
    pub fn target(&self) -> Target {
        Target {
            host: self.host.clone().unwrap_or_default(),
            port: self.port,
            family: match (self.ipv4, self.ipv6) {
                (true, _) => Some(Family::V4),
                (_, true) => Some(Family::V6),
                _ => None,
            },
            origin: Origin {
                address: self.bind,
                device: self.device.clone(),
                port: None,
            },
        }
    }
}
