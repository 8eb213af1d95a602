//! The columns of `caudal pcap --csv`.

/// The unit and meaning of a column; `None` for one without a description.
pub(crate) fn pcap_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "flow" => (
            "",
            "its number, counted from 1 in the order of first frames",
        ),
        "transport" => ("", "`tcp`, `udp`, `icmp` or `other`"),
        "client" => ("", "address and port of the end that opened it"),
        "server" => ("", "those of the other end"),
        "application" => ("", "what it carries, where its bytes tell"),
        "first_frame" => ("", "its first frame, from 1 over all files"),
        "last_frame" => ("", "its last frame"),
        "start_s" => ("s", "its first frame, after the first frame of the capture"),
        "duration_s" => ("s", "between its first and its last frame"),
        "frames" => ("frames", "both directions"),
        "bytes" => ("bytes", "both directions, from the link header on"),
        "to_server_bytes" => ("bytes", "the same from client to server"),
        "to_client_bytes" => ("bytes", "the same from server to client"),
        "to_server_payload_bytes" => (
            "bytes",
            "payload of TCP or UDP from client to server, repetitions included",
        ),
        "to_client_payload_bytes" => ("bytes", "the same from server to client"),
        "to_server_payload_bps" => (
            "bit/s",
            "payload for each second between its first and its last frame with payload, from client to server",
        ),
        "to_client_payload_bps" => ("bit/s", "the same from server to client"),
        "to_server_sent_again" => (
            "segments",
            "TCP: segments of the client that were sent again",
        ),
        "to_client_sent_again" => (
            "segments",
            "TCP: segments of the server that were sent again",
        ),
        "handshake_rtt_us" => (
            "µs",
            "TCP: round-trip time of the handshake, when neither SYN nor SYN-ACK was repeated",
        ),
        "icmp_errors" => ("", "ICMP errors about its packets"),
        _ => return None,
    })
}
