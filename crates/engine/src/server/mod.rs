//! The server: many clients at once on one port, each isolated from the others.

mod acceptor;
mod answer_budget;
mod authentication;
mod flow_watch;
mod greeting;
mod mtu_probes;
mod options;
mod pending;
mod server;
mod session;
mod session_control;
mod session_event;
mod session_watch;
mod shared_port;
mod state;
mod stop_watch;
mod test_registry;
mod test_sockets;
mod test_times;

pub use authentication::{AuthenticationOptions, ProtocolAccess};
pub use flow_watch::{FlowLimits, FlowWatch, SampledFlows, StopReason};
pub use options::{ListenAddress, ServerOptions};
pub use server::Server;
pub use session_event::{
    SessionEvent, SessionEventKind, SessionEventSender, SessionView, SessionViews,
};
pub use shared_port::{
    MAX_FIRST_BYTES, Recognition, SharedPortClient, SharedPortDelivery, SharedPortProtocol,
};
