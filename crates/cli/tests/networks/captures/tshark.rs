//! What tshark says of a capture, frame by frame.

use std::path::Path;
use std::process::Command;

/// The fields that are asked for, in the order in which `TsharkFrame::read` takes them.
const FIELDS: [&str; 30] = [
    "frame.number",
    "frame.time_epoch",
    "frame.len",
    "ip.src",
    "ip.dst",
    "ip.id",
    "tcp.srcport",
    "tcp.dstport",
    "udp.srcport",
    "udp.dstport",
    "udp.length",
    "udp.checksum",
    "tcp.len",
    "tcp.seq",
    "tcp.ack",
    "tcp.checksum",
    "tcp.flags",
    "tcp.analysis.initial_rtt",
    "tcp.analysis.ack_rtt",
    "tcp.options.sack_le",
    "tcp.options.sack_re",
    "tcp.analysis.retransmission",
    "tcp.analysis.fast_retransmission",
    "tcp.analysis.spurious_retransmission",
    "tcp.analysis.out_of_order",
    "tcp.analysis.duplicate_ack",
    "tcp.analysis.zero_window",
    "tcp.analysis.zero_window_probe",
    "tcp.analysis.lost_segment",
    "tcp.analysis.keep_alive",
];

/// What tshark found notable about a frame.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TsharkNotes {
    pub retransmission: bool,
    pub fast: bool,
    pub spurious: bool,
    pub out_of_order: bool,
    pub duplicate_ack: bool,
    pub zero_window: bool,
    pub zero_window_probe: bool,
    pub lost_segment: bool,
    pub keep_alive: bool,
}

/// One frame as tshark reads it. Sequence numbers are relative.
#[derive(Debug, Clone)]
pub struct TsharkFrame {
    pub number: u64,
    pub at_ns: u64,
    pub bytes: u64,
    /// `tcp` or `udp`; absent for anything else.
    pub transport: Option<&'static str>,
    pub source: String,
    pub destination: String,
    pub ip_id: String,
    pub checksum: String,
    pub payload: i64,
    pub seq: i64,
    pub ack: i64,
    pub flags: u16,
    pub initial_rtt_ns: Option<u64>,
    pub ack_rtt_ns: Option<u64>,
    pub sack: Vec<(i64, i64)>,
    pub notes: TsharkNotes,
}

impl TsharkFrame {
    /// Bytes in sequence numbers: payload, SYN and FIN.
    pub fn length(&self) -> i64 {
        self.payload + i64::from(self.flags & 1) + i64::from(self.flags >> 1 & 1)
    }

    pub fn is_reset(&self) -> bool {
        self.flags & 4 != 0
    }

    pub fn has_ack(&self) -> bool {
        self.flags & 16 != 0
    }

    fn read(line: &str) -> Self {
        let fields: Vec<&str> = line.split('\t').collect();
        assert_eq!(fields.len(), FIELDS.len(), "{line:?}");
        let text = |name: &str| fields[FIELDS.iter().position(|field| *field == name).unwrap()];
        let number = |name: &str| text(name).parse::<i64>().unwrap_or(0);
        let set = |name: &str| !text(&format!("tcp.analysis.{name}")).is_empty();
        let time = |name: &str| (!text(name).is_empty()).then(|| nanoseconds(text(name)));
        let list = |name: &str| -> Vec<i64> {
            let values = text(name).split(',').filter(|value| !value.is_empty());
            values.map(|value| value.parse().unwrap()).collect()
        };
        let transport = ["tcp", "udp"]
            .into_iter()
            .find(|name| !text(&format!("{name}.srcport")).is_empty());
        let end = |address: &str, port: &str| match transport {
            Some(name) => format!("{}:{}", text(address), text(&format!("{name}.{port}"))),
            None => String::new(),
        };
        let flags = text("tcp.flags").trim_start_matches("0x");
        Self {
            number: text("frame.number").parse().unwrap(),
            at_ns: nanoseconds(text("frame.time_epoch")),
            bytes: text("frame.len").parse().unwrap(),
            transport,
            source: end("ip.src", "srcport"),
            destination: end("ip.dst", "dstport"),
            ip_id: text("ip.id").to_owned(),
            checksum: format!("{}{}", text("tcp.checksum"), text("udp.checksum")),
            payload: match transport {
                Some("udp") => number("udp.length") - 8,
                _ => number("tcp.len"),
            },
            seq: number("tcp.seq"),
            ack: number("tcp.ack"),
            flags: u16::from_str_radix(flags, 16).unwrap_or(0),
            initial_rtt_ns: time("tcp.analysis.initial_rtt"),
            ack_rtt_ns: time("tcp.analysis.ack_rtt"),
            sack: list("tcp.options.sack_le")
                .into_iter()
                .zip(list("tcp.options.sack_re"))
                .collect(),
            notes: TsharkNotes {
                retransmission: set("retransmission"),
                fast: set("fast_retransmission"),
                spurious: set("spurious_retransmission"),
                out_of_order: set("out_of_order"),
                duplicate_ack: set("duplicate_ack"),
                zero_window: set("zero_window"),
                zero_window_probe: set("zero_window_probe"),
                lost_segment: set("lost_segment"),
                keep_alive: set("keep_alive"),
            },
        }
    }
}

/// Seconds with up to nine decimals, as ns.
fn nanoseconds(text: &str) -> u64 {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let part: u64 = format!("{part:0<9}")[..9].parse().unwrap();
    whole.parse::<u64>().unwrap() * 1_000_000_000 + part
}

/// All frames of a capture.
pub fn frames(file: &Path) -> Vec<TsharkFrame> {
    let mut command = Command::new("tshark");
    // No preferences of whoever runs this.
    command.env("HOME", file.parent().unwrap());
    command.env_remove("XDG_CONFIG_HOME");
    command.args(["-n", "-T", "fields", "-r"]).arg(file);
    command.args(FIELDS.iter().flat_map(|field| ["-e", field]));
    let ended = crate::support::run(&mut command, crate::support::SOON);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout.lines().map(TsharkFrame::read).collect()
}
