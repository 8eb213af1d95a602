//! The control messages of both directions. Unknown fields are ignored; unknown messages are refused.

use crate::authentication::{Nonce, TokenProof};
use crate::final_report::FinalReport;
use crate::server_instance::{SeenConnection, ServerInstance, hint};
use caudal_core::episode::{ChangedRoute, ClockStep, InterfaceEvent};
pub use caudal_core::host::{Host, Usage};
use caudal_core::plan::Plan;
use caudal_core::sample::Sample;
use caudal_core::text::ExternalText;
use caudal_core::units::{BitRate, ByteCount};
use serde::{Deserialize, Serialize};

/// The feature of a server that carries out tests of latency under load.
pub const QUALITY: &str = "quality";
/// The feature of a server that answers tests of the connection rate.
pub const CONNECT: &str = "connect";
/// The feature of a server that carries out file transfers.
pub const TRANSFER: &str = "transfer";
/// The feature of a server that stores several small files at once.
pub const ARCHIVES: &str = "archives";
/// The feature of a server that sends and receives trains of datagrams.
pub const TRAINS: &str = "trains";
/// The feature of a server that reports which flows reach it, and runs a test with those.
pub const PARTIAL: &str = "partial";
/// The feature of a server that answers probes of the path MTU.
pub const PATH_MTU: &str = "path_mtu";

/// The reason why a server refuses a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The server has its maximum number of clients.
    Full,
    /// The client's address is not among those allowed.
    Denied,
    /// The versions are not compatible.
    Version,
    /// A feature that the client requires is unknown to the server.
    Feature,
    /// The plan exceeds the limits of the server.
    Limit,
    /// The plan is invalid.
    Plan,
    /// A file cannot be read, or not be stored.
    File,
    /// The server's kernel did not grant what the plan needs.
    Host,
    /// No test of the server has the token of a data connection.
    Test,
    /// The peer violated the protocol.
    Protocol,
    /// The client did not authenticate itself, or the server cannot.
    Authentication,
    /// The server is being stopped.
    Stopping,
    /// A reason that is newer than this program.
    #[serde(other)]
    Other,
}

impl Refusal {
    /// Every reason.
    pub const ALL: [Self; 13] = [
        Self::Full,
        Self::Denied,
        Self::Version,
        Self::Feature,
        Self::Limit,
        Self::Plan,
        Self::File,
        Self::Host,
        Self::Test,
        Self::Protocol,
        Self::Authentication,
        Self::Stopping,
        Self::Other,
    ];

    /// Its name in messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Denied => "denied",
            Self::Version => "version",
            Self::Feature => "feature",
            Self::Limit => "limit",
            Self::Plan => "plan",
            Self::File => "file",
            Self::Host => "host",
            Self::Test => "test",
            Self::Protocol => "protocol",
            Self::Authentication => "authentication",
            Self::Stopping => "stopping",
            Self::Other => "other",
        }
    }
}

/// The limits that a server sets on each test, as it publishes them; what is absent has no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PublishedLimits {
    /// The maximum rate of a test in each direction, bit/s of payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rate_bps: Option<BitRate>,
    /// The maximum duration of a test, ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_time_ns: Option<u64>,
    /// The maximum payload of a test in each direction, bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<ByteCount>,
}

/// A message from a client.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToServer {
    /// The first message.
    Hello {
        /// The client.
        host: Box<Host>,
        /// The features that the client requires.
        #[serde(default)]
        required: Vec<ExternalText>,
        /// The client's nonce, when it has a token.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        nonce: Option<Nonce>,
    },
    /// Shows that the client has one of the server's tokens.
    Authenticate {
        /// The evidence.
        proof: TokenProof,
    },
    /// Asks for the server's clock.
    Ping {
        /// The client's clock when it asked, ns.
        t1: i64,
    },
    /// Proposes a test.
    Offer {
        /// The plan.
        #[serde(with = "crate::offered")]
        plan: Plan,
    },
    /// Asks which flows of the test that is being set up have reached the server.
    Flows,
    /// Continues with these flows of the test being set up, which keep their order and are renumbered.
    Reduce {
        /// Their numbers.
        flows: Vec<u32>,
    },
    /// All data connections are attached: starts the test.
    Start,
    /// The client has sent all; with `now` the server's senders are to stop as well.
    Stop {
        /// `true` when the server's senders are to stop at once.
        now: bool,
        /// Datagrams sent on each UDP flow of the client: (flow, datagrams).
        #[serde(default)]
        sent: Vec<(u32, u64)>,
    },
    /// A keepalive.
    Alive,
}

/// A message from a server.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ToClient {
    /// Answers a hello with a nonce.
    Challenge {
        /// The server's nonce.
        nonce: Nonce,
    },
    /// Shows that the server has the client's token: every message of both directions after this one carries an authentication
    /// code.
    Authenticated {
        /// The evidence.
        proof: TokenProof,
    },
    /// Answers a hello.
    Welcome {
        /// The server.
        host: Host,
        /// The features of this server beyond those of the protocol version.
        #[serde(default)]
        features: Vec<ExternalText>,
        /// The limits it sets on each test; those of a server of an earlier version are not known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        limits: Option<PublishedLimits>,
        /// The server; one of an earlier version does not say.
        #[serde(
            default,
            deserialize_with = "hint",
            skip_serializing_if = "Option::is_none"
        )]
        instance: Option<ServerInstance>,
        /// This connection as the server sees it.
        #[serde(
            default,
            deserialize_with = "hint",
            skip_serializing_if = "Option::is_none"
        )]
        connection: Option<SeenConnection>,
        /// The token of this session's probes of the path MTU, 32 hexadecimal digits; absent where the server answers none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        probe_token: Option<String>,
    },
    /// Refuses a request, and ends the dialogue.
    Refused {
        /// The kind of reason.
        reason: Refusal,
        /// The reason as text.
        message: ExternalText,
        /// The server, on a connection that is not its control connection.
        #[serde(
            default,
            deserialize_with = "hint",
            skip_serializing_if = "Option::is_none"
        )]
        instance: Option<ServerInstance>,
    },
    /// Answers a ping.
    Pong {
        /// The client's clock, as sent.
        t1: i64,
        /// The server's clock when the ping was received, ns.
        t2: i64,
        /// The server's clock when the pong was sent, ns.
        t3: i64,
    },
    /// Accepts a plan.
    Accepted {
        /// The plan within the server's limits, which both ends now follow.
        #[serde(with = "crate::offered")]
        plan: Plan,
        /// The token of the data connections, 32 hexadecimal digits.
        token: String,
        /// The changes the server made to the plan, as text.
        #[serde(default)]
        changed: Vec<ExternalText>,
    },
    /// Answers the question which flows have reached the server.
    Flows {
        /// Those that are open.
        open: Vec<u32>,
        /// Those of which a datagram has arrived, without a proof that the client receives the answers.
        heard: Vec<u32>,
    },
    /// Every data connection has arrived.
    Ready,
    /// The server has started the clock of the test.
    Started,
    /// Readings of the server's ends of the flows.
    Samples {
        /// The readings.
        samples: Vec<Sample>,
    },
    /// The server's senders have sent all: (flow, datagrams) for each UDP flow.
    Sent {
        /// Datagrams sent on each UDP flow of the server.
        sent: Vec<(u32, u64)>,
    },
    /// The server's part is over.
    Finished {
        /// The report on the workload.
        #[serde(flatten)]
        report: FinalReport,
        /// The resources that the server used.
        usage: Usage,
        /// The reason why the test ended early; absent otherwise.
        #[serde(default)]
        stopped: Option<ExternalText>,
        /// The times of other tests of the server during this one; absent without any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        other_tests: Vec<OtherTest>,
        /// The times in which the server's program stood still during the test; absent without any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        stops: Vec<OwnStop>,
        /// The steps of the server's wall clock during the test; absent without any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        clock_steps: Vec<ClockStep>,
        /// The changes of the server's route to the client during the test; absent without any.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        routes: Vec<ChangedRoute>,
        /// What became of the interface that the server used during the test; absent where nothing did.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        interface: Vec<InterfaceEvent>,
    },
    /// A keepalive.
    Alive,
}

/// The time in which a server ran a test of another session, in s after the start of this one's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OtherTest {
    /// Its beginning; 0 where it began before.
    pub from_s: f64,
    /// Its end, or that of this test.
    pub to_s: f64,
}

/// The time in which a server's program stood still, in s after the start of the test.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct OwnStop {
    /// Its beginning.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// `true` when it waited for a processor, `false` when it was stopped.
    pub starved: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_is_called_as_in_messages() {
        for refusal in Refusal::ALL {
            let written = serde_json::to_string(&refusal).unwrap();
            assert_eq!(written, format!("\"{}\"", refusal.name()));
        }
    }

    #[test]
    fn unknown_fields_are_ignored_and_unknown_messages_refused() {
        let text = r#"{"type":"ping","t1":5,"colour":"red"}"#;
        assert_eq!(
            serde_json::from_str::<ToServer>(text).unwrap(),
            ToServer::Ping { t1: 5 }
        );
        assert!(serde_json::from_str::<ToServer>(r#"{"type":"dance"}"#).is_err());
    }

    #[test]
    fn a_plan_reads_as_the_first_version_of_the_protocol_wrote_it() {
        let text = r#"{"type":"offer","plan":{"kind":"traffic","transport":"udp","directions":"both","parallel":2,
            "end":{"time_ns":1000000000},"interval_ns":100000000,"omit":"nothing","rate":{"limit":1000000},"length":1448,
            "window":null,"mss":null,"congestion":null,"no_delay":false,"dscp":null,"mptcp":false,"discard":false,
            "zero_copy":false,"verify":true,"same_machine":false}}"#;
        let Ok(ToServer::Offer {
            plan: Plan::Udp(plan),
        }) = serde_json::from_str(text)
        else {
            panic!("another message");
        };
        assert!(plan.verify && plan.bulk.parallel == 2 && plan.bulk.length == 1448);
        let written = serde_json::to_value(ToServer::Offer {
            plan: Plan::Udp(plan),
        });
        let mut first: serde_json::Value = serde_json::from_str(text).unwrap();
        // What was added since, and is ignored where it is not known.
        first["plan"]["pacing"] = "precise".into();
        assert_eq!(written.unwrap(), first);
    }

    #[test]
    fn a_hello_without_a_nonce_is_that_of_the_first_version() {
        let text = r#"{"type":"hello","host":{"tool":"caudal"}}"#;
        let hello: ToServer = serde_json::from_str(text).unwrap();
        assert!(matches!(&hello, ToServer::Hello { nonce: None, .. }));
        let written = serde_json::to_value(hello).unwrap();
        assert!(written.get("nonce").is_none());
    }

    #[test]
    fn a_newer_refusal_still_reads() {
        let text = r#"{"type":"refused","reason":"too_tired","message":"later"}"#;
        assert!(matches!(
            serde_json::from_str::<ToClient>(text).unwrap(),
            ToClient::Refused {
                reason: Refusal::Other,
                ..
            }
        ));
    }
}
