//! The treatment of clients of iperf3 at a server.

use caudal_engine::server::SessionViews;
use caudal_wire::iperf3::{Cookie, Parameters};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A test of a client of iperf3, for the view that shows it.
#[derive(Debug, Clone)]
pub struct Iperf3Session {
    /// The client's end of the control connection.
    pub peer: SocketAddr,
    /// The name of the test.
    pub cookie: Cookie,
    /// The parameters of the test.
    pub parameters: Parameters,
    /// The maximum segment size of the control connection, bytes.
    pub mss: Option<u32>,
}

/// The treatment of clients of iperf3.
#[derive(Debug, Clone)]
pub struct Iperf3Options {
    /// `true` when they are answered.
    pub enabled: bool,
    /// The check of their logins; `None` where none is needed.
    pub login: Option<LoginCheck>,
    /// The views of their tests, which also print for clients that ask for the server's output.
    pub views: Option<SessionViews<Iperf3Session>>,
    /// The interval at which the streams are read; `None` for the end only.
    pub interval: Option<Duration>,
    /// The maximum rate of all streams of a test together, bit/s, averaged over the given time.
    pub rate_limit: Option<(u64, Duration)>,
    /// The time a test in which the server receives may go on without a byte.
    pub receive_timeout: Duration,
    /// The file that the server sends, or writes where it receives.
    pub file: Option<PathBuf>,
}

impl Default for Iperf3Options {
    fn default() -> Self {
        Self {
            enabled: true,
            login: None,
            views: None,
            interval: Some(Duration::from_secs(1)),
            rate_limit: None,
            receive_timeout: Duration::from_secs(120),
            file: None,
        }
    }
}

/// The check of an encrypted login: `true` for one of those that the server answers.
#[derive(Clone)]
pub struct LoginCheck(pub Arc<dyn Fn(&str) -> bool + Send + Sync>);

impl fmt::Debug for LoginCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoginCheck")
    }
}
