//! The measurements that a server sends beside the payload.

use caudal_sys::tcp::TcpInfo;
use serde_json::{Value, json};
use std::net::SocketAddr;

/// The names of the directions.
pub(super) const DOWNLOAD: &str = "download";
pub(super) const UPLOAD: &str = "upload";

/// What the server has counted so far, and what its kernel says of the connection.
#[derive(Debug, Clone, Copy)]
pub(super) struct Measurement<'a> {
    /// `download` or `upload`.
    pub(super) test: &'static str,
    /// The time since the beginning, µs.
    pub(super) elapsed_us: u64,
    /// Payload sent or received, bytes.
    pub(super) bytes: u64,
    /// The state of the connection.
    pub(super) tcp: Option<&'a TcpInfo>,
    /// Both addresses of the connection, the client's first, and its name: in the first of a test.
    pub(super) connection: Option<(SocketAddr, SocketAddr, &'a str)>,
}

impl Measurement<'_> {
    /// The measurement as a message.
    pub(super) fn message(&self) -> String {
        let mut all = json!({
            "Test": self.test,
            "Origin": "server",
            "AppInfo": {"ElapsedTime": self.elapsed_us, "NumBytes": self.bytes},
        });
        if let (Some(tcp), Value::Object(keys)) = (self.tcp, &mut all) {
            let info = json!({
                "BusyTime": tcp.busy_time_us,
                "BytesAcked": tcp.bytes_acked,
                "BytesReceived": tcp.bytes_received,
                "BytesSent": tcp.bytes_sent,
                "BytesRetrans": tcp.bytes_retrans,
                "ElapsedTime": self.elapsed_us,
                "MinRTT": tcp.min_rtt_us,
                "RTT": tcp.rtt_us,
                "RTTVar": tcp.rttvar_us,
                "RWndLimited": tcp.rwnd_limited_us,
                "SndBufLimited": tcp.sndbuf_limited_us,
            });
            keys.insert("TCPInfo".to_owned(), info);
        }
        if let (Some((client, server, uuid)), Value::Object(keys)) = (self.connection, &mut all) {
            let info =
                json!({"Client": client.to_string(), "Server": server.to_string(), "UUID": uuid});
            keys.insert("ConnectionInfo".to_owned(), info);
        }
        all.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_measurement_has_the_keys_of_the_specification() {
        let client: SocketAddr = "192.0.2.1:4000".parse().unwrap();
        let text = Measurement {
            test: UPLOAD,
            elapsed_us: 250_000,
            bytes: 1000,
            tcp: None,
            connection: Some((client, client, "x")),
        }
        .message();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["AppInfo"]["NumBytes"], 1000);
        assert_eq!(value["ConnectionInfo"]["Client"], "192.0.2.1:4000");
        assert_eq!(value["TCPInfo"], Value::Null);
    }
}
