//! The settings of iperf3's command line.

use crate::iperf3::login::LoginPadding;
use caudal_engine::AddressFamily;
use caudal_wire::iperf3::Parameters;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The test that a client asks for.
#[derive(Debug, Clone, Default)]
pub struct TestSettings {
    /// The server.
    pub host: String,
    /// The parameters; their length counts only where `length` is given.
    pub parameters: Parameters,
    /// Bytes in a block or datagram.
    pub length: Option<u32>,
    /// The first local port of the data connections.
    pub client_port: Option<u16>,
    /// The time connecting may take.
    pub connect_timeout: Option<Duration>,
    /// The time sent data may stay unacknowledged.
    pub send_timeout: Option<Duration>,
    /// The user of the login.
    pub user_name: Option<String>,
    /// The server's public key.
    pub public_key: Option<PathBuf>,
    /// The padding of the encrypted login.
    pub padding: LoginPadding,
}

/// The service that a server offers.
#[derive(Debug, Clone)]
pub struct ServiceSettings {
    /// `true` to end after one test.
    pub one_off: bool,
    /// `true` to run in the background.
    pub daemon: bool,
    /// The maximum rate of a test, bit/s, and the time over which it is averaged.
    pub rate_limit: Option<(u64, Duration)>,
    /// The time to wait for a client; with `one_off` the server ends then.
    pub idle_timeout: Option<Duration>,
    /// The maximum duration of a test.
    pub max_duration: Option<Duration>,
    /// The server's private key.
    pub private_key: Option<PathBuf>,
    /// The file of the users that are answered.
    pub users: Option<PathBuf>,
    /// The maximum difference of the clocks.
    pub skew: Duration,
    /// The padding of encrypted logins.
    pub padding: LoginPadding,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            one_off: false,
            daemon: false,
            rate_limit: None,
            idle_timeout: None,
            max_duration: None,
            private_key: None,
            users: None,
            skew: Duration::from_secs(10),
            padding: LoginPadding::default(),
        }
    }
}

/// The end of a test that this program is.
#[derive(Debug, Clone)]
pub enum Iperf3End {
    /// The client.
    Client(Box<TestSettings>),
    /// The server.
    Server(ServiceSettings),
}

/// The form of the output.
#[derive(Debug, Clone, Default)]
pub struct OutputSettings {
    /// The unit of rates, as `-f` names it.
    pub format: Option<char>,
    /// `true` when more is shown.
    pub verbose: bool,
    /// `true` for JSON: one object at the end.
    pub json: bool,
    /// `true` for a JSON event a line.
    pub json_stream: bool,
    /// `true` for the object behind the events.
    pub json_full: bool,
    /// The file it is written to instead of standard output.
    pub log_file: Option<PathBuf>,
    /// The prefix of every line: a format for the time of day.
    pub timestamps: Option<String>,
    /// The prefix of every line behind that.
    pub title: Option<String>,
}

/// The settings of a whole command line.
#[derive(Debug, Clone)]
pub struct Iperf3Settings {
    /// The end of the test that this program is.
    pub end: Iperf3End,
    /// The server's port.
    pub port: u16,
    /// The address family.
    pub family: Option<AddressFamily>,
    /// The local address.
    pub bind: Option<IpAddr>,
    /// The interface.
    pub device: Option<String>,
    /// The reporting interval; `None` for the end only.
    pub interval: Option<Duration>,
    /// The processor of this end.
    pub affinity: Option<usize>,
    /// The time a receiver waits for data.
    pub receive_timeout: Duration,
    /// The file for the number of the process.
    pub pid_file: Option<PathBuf>,
    /// The file that is sent, or written where this end receives.
    pub file: Option<PathBuf>,
    /// The form of the output.
    pub output: OutputSettings,
}

impl Default for Iperf3Settings {
    fn default() -> Self {
        Self {
            end: Iperf3End::Server(ServiceSettings::default()),
            port: caudal_engine::PORT,
            family: None,
            bind: None,
            device: None,
            interval: Some(Duration::from_secs(1)),
            affinity: None,
            receive_timeout: Duration::from_secs(120),
            pid_file: None,
            file: None,
            output: OutputSettings::default(),
        }
    }
}
