//! A TCP connection: how it opened, how it ended, where it was captured.

use super::messages::ResponseTimes;
use super::tcp_direction::TcpDirectionAnalysis;
use caudal_core::text::ExternalText;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a capture shows of one TCP connection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpAnalysis {
    /// How it opened.
    pub handshake: TcpHandshake,
    /// How it ended.
    pub ending: TcpEnding,
    /// Where it was captured, seen from its ends.
    pub location: CaptureLocation,
    /// What the client sent.
    pub to_server: TcpDirectionAnalysis,
    /// What the server sent.
    pub to_client: TcpDirectionAnalysis,
    /// Requests and responses taking turns; absent where both ends sent at the same time or only one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub responses: Option<ResponseTimes>,
}

/// The opening of a connection (RFC 9293 section 3.5).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TcpHandshake {
    /// How far it came.
    pub kind: HandshakeKind,
    /// The frame of the first SYN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_frame: Option<u64>,
    /// The frame of the SYN-ACK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_ack_frame: Option<u64>,
    /// The frame of the ACK that completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_frame: Option<u64>,
    /// From the last SYN to the SYN-ACK, µs: the server's share of the round trip, seen from where it was captured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_to_syn_ack_us: Option<f64>,
    /// From the SYN-ACK to the ACK, µs: the client's share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub syn_ack_to_ack_us: Option<f64>,
    /// Both shares together, µs: Wireshark's initial RTT. Absent when the SYN or the SYN-ACK was repeated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rtt_us: Option<f64>,
    /// SYNs sent again.
    pub syn_retransmits: u64,
    /// SYN-ACKs sent again.
    pub syn_ack_retransmits: u64,
    /// `true` when both ends agreed on ECN (RFC 3168 section 6.1.1).
    pub ecn: bool,
    /// The options of the SYN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client: Option<TcpOffer>,
    /// The options of the SYN-ACK.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<TcpOffer>,
}

/// How far a handshake came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HandshakeKind {
    /// SYN, SYN-ACK and ACK.
    Complete,
    /// Both ends sent a SYN of their own.
    Simultaneous,
    /// A SYN that nothing answered.
    NoAnswer,
    /// A SYN whose answer was not captured: the client went on as if there was one.
    AnswerNotCaptured,
    /// A SYN that a RST answered.
    Refused,
    /// A SYN-ACK without the ACK that completes it.
    NotCompleted,
    /// A SYN-ACK whose SYN was not captured.
    SynNotCaptured,
    /// The capture began in the middle of the connection.
    NotCaptured,
}

/// What one end offered in its SYN.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpOffer {
    /// The maximum segment size in bytes (RFC 9293 section 3.7.1).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mss_bytes: Option<u16>,
    /// The shift of the window, 0 to 14 (RFC 7323 section 2).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_scale: Option<u8>,
    /// `true` when selective acknowledgements are permitted (RFC 2018).
    pub sack_permitted: bool,
    /// `true` with the timestamps option (RFC 7323 section 3).
    pub timestamps: bool,
    /// `true` with TCP Fast Open (RFC 7413).
    pub fast_open: bool,
    /// `true` with Multipath TCP (RFC 8684).
    pub multipath: bool,
    /// The window of the SYN in bytes; it is never scaled.
    pub window_bytes: u16,
    /// Bytes of options.
    pub option_bytes: u8,
    /// The differentiated services code point.
    pub dscp: u8,
    /// The time to live, or hop limit.
    pub ttl: u8,
}

/// The end of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TcpEnding {
    /// How it ended.
    pub kind: TcpEndingKind,
    /// The frame of the client's first FIN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_fin_frame: Option<u64>,
    /// The frame of the server's first FIN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_fin_frame: Option<u64>,
    /// The frame of the first RST.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_frame: Option<u64>,
    /// `true` when the client sent the RST, `false` when the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reset_by_client: Option<bool>,
}

/// How a connection ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TcpEndingKind {
    /// Both ends sent a FIN, and both were acknowledged.
    Closed,
    /// Both ends sent a FIN; an acknowledgement was not captured.
    Closing,
    /// One end sent a FIN; the other may still send.
    HalfClosed,
    /// One end sent a FIN, and of the other nothing was captured.
    CannotTell,
    /// A RST after both FINs.
    ResetAfterClose,
    /// A RST.
    Reset,
    /// It was still open when the capture, or the record of it, ended.
    Open,
}

/// Where a connection was captured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CaptureLocation {
    /// The place.
    pub point: CapturePoint,
    /// What it was concluded from, or why it cannot be determined.
    pub reason: ExternalText,
}

/// A place on the way between the ends of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CapturePoint {
    /// On the client's host.
    ClientHost,
    /// On the server's host.
    ServerHost,
    /// Both ends are on the host that captured.
    BothHosts,
    /// On the client's host or close to it.
    NearClient,
    /// On the server's host or close to it.
    NearServer,
    /// Between the two, with a part of the round trip on either side.
    Between,
    /// The capture does not show it.
    CannotTell,
}
