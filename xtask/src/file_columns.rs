//! The columns of `caudal file --csv`, described.

/// The unit and meaning of a column of `caudal file`; `None` for one without a description.
pub fn file_column(name: &str) -> Option<(&'static str, &'static str)> {
    Some(match name {
        "cell" => ("", "the position of its cell, from 0"),
        "block" => ("", "the number of its block, from 1"),
        "protocol" => ("", "`tcp`, `tls`, `rbt` or `quic`"),
        "content" => ("", "the name of the file, or `generated`"),
        "size_bytes" => ("bytes", "the size of the content"),
        "packet_bytes" => ("bytes", "file bytes in each datagram (rbt, quic)"),
        "write_bytes" => ("bytes", "bytes of each write (tcp, tls)"),
        "mss" => ("bytes", "the largest segment asked for (tcp, tls)"),
        "began_s" => ("s", "when it began, since 1970"),
        "bytes" => ("bytes", "file bytes that it moved"),
        "resumed_bytes" => ("bytes", "file bytes that an earlier transfer had left"),
        "time_s" => (
            "s",
            "the result: from the first packet of the handshake to the answer that everything was written, by the sender's clock",
        ),
        "goodput_bps" => ("bit/s", "`bytes` over `time_s`"),
        "handshake_s" => ("s", "the handshake"),
        "transfer_s" => ("s", "from the first file byte that arrived to the last"),
        "write_s" => ("s", "from there until everything was handed to the file"),
        "sync_s" => ("s", "from there until everything was on the disk"),
        "verify_s" => ("s", "from there until the digest was compared"),
        "datagrams" => ("datagrams", "sent with file bytes, repeated ones included"),
        "retransmitted" => ("datagrams, segments", "sent again"),
        "lost" => (
            "datagrams",
            "taken for lost, and not acknowledged after all",
        ),
        "socket_drops" => (
            "datagrams",
            "dropped by the kernel for a full buffer at the receiving socket",
        ),
        "sender_cpu_ns_per_byte" => ("ns", "CPU time of the sender's thread for each file byte"),
        "receiver_cpu_ns_per_byte" => {
            ("ns", "CPU time of the receiver's thread for each file byte")
        }
        "verified" => (
            "0 or 1",
            "1 when the digest is the sender's: else it is no result",
        ),
        "failure" => ("", "why it is no result"),
        _ => return None,
    })
}
