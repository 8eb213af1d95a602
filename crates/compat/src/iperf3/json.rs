//! A test of iperf3 as its JSON: the same keys with the same types in the same order, ours beside them.

use super::report::{Account, Extremes, Figures, Group, Report, Row};
use caudal_wire::iperf3::{Protocol, Results};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Value, json};

/// A JSON object whose keys keep their order.
#[derive(Debug, Clone, Default)]
pub struct Object(Vec<(&'static str, Node)>);

/// A value of it.
#[derive(Debug, Clone)]
pub enum Node {
    /// Another object.
    Object(Object),
    /// Objects in a row.
    List(Vec<Object>),
    /// Anything else.
    Value(Value),
}

impl Object {
    /// The same with another key.
    #[must_use]
    pub fn with(mut self, key: &'static str, value: impl Into<Node>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    /// The same with another key, where there is a value.
    #[must_use]
    pub fn with_some(self, key: &'static str, value: Option<impl Into<Node>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// The same with the keys of another.
    #[must_use]
    fn and(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// Text as iperf3 lays it out: a key a line, indented with tabs.
    #[must_use]
    pub fn pretty(&self) -> String {
        let mut text = Vec::new();
        let format = serde_json::ser::PrettyFormatter::with_indent(b"\t");
        let mut serializer = serde_json::Serializer::with_formatter(&mut text, format);
        // Nothing in it that could fail to be written into memory.
        let _ = self.serialize(&mut serializer);
        String::from_utf8_lossy(&text).into_owned()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl Serialize for Node {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Object(object) => object.serialize(serializer),
            Self::List(list) => list.serialize(serializer),
            Self::Value(value) => value.serialize(serializer),
        }
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Self::Object(object)
    }
}

impl From<Vec<Object>> for Node {
    fn from(list: Vec<Object>) -> Self {
        Self::List(list)
    }
}

impl From<Value> for Node {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

macro_rules! from_plain {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Node {
            fn from(value: $kind) -> Self {
                Self::Value(json!(value))
            }
        })*
    };
}
from_plain!(u64, u32, u16, i64, i32, usize, f64, bool, String, &str);

/// What a program says of itself and of when it began.
#[derive(Debug, Clone)]
pub struct Preface {
    /// As `uname -a` has it.
    pub system: String,
    /// When the test began, ns since 1970.
    pub began_ns: u64,
    /// The host as it was named (client).
    pub host: Option<(String, u16)>,
}

/// The `start` of the object, as far as the test got.
#[must_use]
pub fn start(report: &Report, preface: &Preface) -> Object {
    let connected: Vec<Object> = report
        .streams
        .iter()
        .map(|stream| {
            Object::default()
                .with("socket", stream.descriptor)
                .with("local_host", stream.local.ip().to_string())
                .with("local_port", stream.local.port())
                .with("remote_host", stream.remote.ip().to_string())
                .with("remote_port", stream.remote.port())
        })
        .collect();
    let mut start = Object::default()
        .with("connected", connected)
        .with("version", super::SHOWN_VERSION)
        .with("system_info", preface.system.clone());
    let Some(peer) = report.peer else {
        return start;
    };
    let parameters = &report.parameters;
    start = start.with(
        "timestamp",
        Object::default()
            .with("time", super::rfc1123(preface.began_ns))
            .with("timesecs", preface.began_ns / 1_000_000_000)
            .with("timemillisecs", preface.began_ns / 1_000_000),
    );
    start = match (&preface.host, report.is_server) {
        (Some((host, port)), false) => start.with(
            "connecting_to",
            Object::default()
                .with("host", host.clone())
                .with("port", *port),
        ),
        _ => start.with(
            "accepted_connection",
            Object::default()
                .with("host", peer.ip().to_string())
                .with("port", peer.port()),
        ),
    };
    start = start.with_some("cookie", report.cookie.map(|cookie| cookie.text()));
    if parameters.protocol == Protocol::Tcp {
        start = match parameters.mss {
            Some(mss) => start.with("tcp_mss", mss),
            None => start.with("tcp_mss_default", report.mss.unwrap_or(0)),
        };
    }
    start = start
        .with("target_bitrate", parameters.rate_bps)
        .with("fq_rate", parameters.fq_rate_bps.unwrap_or(0));
    let Some(first) = report.streams.first() else {
        return start;
    };
    start
        .with("sock_bufsize", parameters.window.unwrap_or(0))
        .with("sndbuf_actual", first.buffers.0)
        .with("rcvbuf_actual", first.buffers.1)
        .with(
            "test_start",
            Object::default()
                .with("protocol", parameters.protocol.name())
                .with("num_streams", parameters.parallel)
                .with("blksize", parameters.length)
                .with("omit", parameters.omit_s)
                .with("duration", parameters.time_s)
                .with("bytes", parameters.bytes)
                .with("blocks", parameters.blocks)
                .with("reverse", u32::from(parameters.reverse))
                .with("tos", u32::from(parameters.tos.unwrap_or(0)))
                .with("target_bitrate", parameters.rate_bps)
                .with("bidir", u32::from(parameters.bidirectional))
                .with("fqrate", parameters.fq_rate_bps.unwrap_or(0))
                .with(
                    "interval",
                    report
                        .interval
                        .map_or(0.0, |interval| interval.as_secs_f64()),
                )
                .with("gso", u32::from(parameters.gsro))
                .with("gro", u32::from(parameters.gsro)),
        )
}

fn is_udp(report: &Report) -> bool {
    report.parameters.protocol == Protocol::Udp
}

fn span(figures: &Figures) -> Object {
    Object::default()
        .with("start", figures.start_s)
        .with("end", figures.end_s)
        .with("seconds", figures.seconds())
        .with("bytes", figures.bytes)
        .with("bits_per_second", figures.bytes_per_s() * 8.0)
}

fn datagrams(figures: &Figures) -> Object {
    Object::default()
        .with("jitter_ms", figures.jitter_s * 1e3)
        .with("lost_packets", figures.lost)
        .with("packets", figures.packets)
        .with("lost_percent", figures.lost_percent())
}

fn interval_of(report: &Report, group: Group, figures: &Figures) -> Object {
    let mut object = span(figures);
    match (is_udp(report), group) {
        (true, Group::Sending) => object = object.with("packets", figures.packets),
        (true, Group::Receiving) => object = object.and(datagrams(figures)),
        (false, _) => {
            object = object.with_some("retransmits", figures.retransmits);
            if let Some(tcp) = &figures.tcp {
                object = object
                    .with("snd_cwnd", tcp.cwnd_bytes)
                    .with("snd_wnd", tcp.receiver_window_bytes.unwrap_or(0))
                    .with("rtt", tcp.rtt_us)
                    .with("rttvar", tcp.rttvar_us)
                    .with("pmtu", tcp.path_mtu)
                    .with("reorder", tcp.reordering_seen.unwrap_or(0));
            }
        }
    }
    object
}

fn sums_name(report: &Report, group: Group) -> bool {
    // The second direction of a test of both: what the server sends.
    report.parameters.bidirectional && (group == Group::Receiving) != report.is_server
}

/// An element of `intervals`.
#[must_use]
pub fn interval(report: &Report, row: &Row) -> Object {
    let mut streams = Vec::new();
    for (stream, figures) in report.streams.iter().zip(&row.streams) {
        let group = if stream.sends {
            Group::Sending
        } else {
            Group::Receiving
        };
        streams.push(
            Object::default()
                .with("socket", stream.descriptor)
                .and(interval_of(report, group, figures))
                .with("omitted", row.omitted)
                .with("sender", stream.sends),
        );
    }
    let mut object = Object::default().with("streams", streams);
    for group in report.groups() {
        let all: Vec<Figures> = report
            .members(group)
            .iter()
            .filter_map(|nth| row.streams.get(*nth).copied())
            .collect();
        let sum = interval_of(report, group, &Figures::sum(&all))
            .with("omitted", row.omitted)
            .with("sender", group == Group::Sending);
        let name = if sums_name(report, group) {
            "sum_bidir_reverse"
        } else {
            "sum"
        };
        object = object.with(name, sum);
    }
    object
}

fn stream_end(report: &Report, nth: usize) -> Option<Object> {
    let stream = report.streams.get(nth)?;
    let account = report.account(nth);
    let nothing = Figures::default();
    if is_udp(report) {
        let (sent, received) = (account.sent.unwrap_or(nothing), account.received);
        let judged = received.unwrap_or(sent);
        let shown = if stream.sends || account.sent.is_some() {
            sent
        } else {
            judged
        };
        return Some(
            Object::default().with(
                "udp",
                Object::default()
                    .with("socket", stream.descriptor)
                    .and(span(&shown))
                    .and(datagrams(&judged))
                    .with("out_of_order", judged.out_of_order)
                    .with("sender", stream.sends),
            ),
        );
    }
    let sent = account.sent.unwrap_or(nothing);
    let received = account.received.unwrap_or(nothing);
    let mut sender = Object::default()
        .with("socket", stream.descriptor)
        .and(span(&sent))
        .with_some("retransmits", sent.retransmits);
    if let Some(extremes) = report.extremes.get(nth) {
        // Of a stream that is received nothing is known of this: its keys are there, as in iperf3.
        sender = sender.and(of_extremes(extremes));
    }
    let receiver = Object::default()
        .with("socket", stream.descriptor)
        .and(span(&received))
        .with("sender", stream.sends);
    Some(
        Object::default()
            .with("sender", sender.with("sender", stream.sends))
            .with("receiver", receiver),
    )
}

fn of_extremes(extremes: &Extremes) -> Object {
    let (least, most, _, _) = extremes.rtt;
    Object::default()
        .with_some("reorder", extremes.reordering)
        .with("max_snd_cwnd", extremes.cwnd)
        .with("max_snd_wnd", extremes.window)
        .with("max_rtt", most)
        .with("min_rtt", least)
        .with("mean_rtt", extremes.mean_rtt())
}

struct Sums {
    sum: &'static str,
    sent: &'static str,
    received: &'static str,
}

const FIRST: Sums = Sums {
    sum: "sum",
    sent: "sum_sent",
    received: "sum_received",
};
const SECOND: Sums = Sums {
    sum: "sum_bidir_reverse",
    sent: "sum_sent_bidir_reverse",
    received: "sum_received_bidir_reverse",
};

fn sums(report: &Report, group: Group) -> Object {
    let names = if sums_name(report, group) {
        SECOND
    } else {
        FIRST
    };
    let accounts: Vec<Account> = report
        .members(group)
        .iter()
        .map(|nth| report.account(*nth))
        .collect();
    let of = |pick: fn(&Account) -> Option<Figures>| {
        let all: Vec<Figures> = accounts.iter().filter_map(pick).collect();
        Figures::sum(&all)
    };
    let sent = of(|account| account.sent);
    let received = of(|account| account.received);
    let sends = group == Group::Sending;
    if is_udp(report) {
        // What was sent, with the losses its receiver has seen.
        let judged = Figures {
            jitter_s: received.jitter_s,
            lost: received.lost,
            packets: received.packets,
            ..sent
        };
        let clean = Figures {
            jitter_s: 0.0,
            lost: 0,
            ..sent
        };
        return Object::default()
            .with(
                names.sum,
                span(&judged).and(datagrams(&judged)).with("sender", sends),
            )
            .with(
                names.sent,
                span(&clean).and(datagrams(&clean)).with("sender", true),
            )
            .with(
                names.received,
                span(&received)
                    .and(datagrams(&received))
                    .with("sender", false),
            );
    }
    Object::default()
        .with(
            names.sent,
            span(&sent)
                .with_some("retransmits", sent.retransmits)
                .with("sender", sends),
        )
        .with(names.received, span(&received).with("sender", sends))
}

/// The `end` of the object; empty for a test that did not get there.
#[must_use]
pub fn end(report: &Report) -> Object {
    let Some(ending) = report
        .ending
        .as_ref()
        .filter(|_| !report.streams.is_empty())
    else {
        return Object::default();
    };
    let streams: Vec<Object> = (0..report.streams.len())
        .filter_map(|nth| stream_end(report, nth))
        .collect();
    let mut end = Object::default().with("streams", streams);
    for group in report.groups() {
        end = end.and(sums(report, group));
    }
    let nothing = Results::default();
    let theirs = ending.theirs.as_ref().unwrap_or(&nothing);
    let [host, host_user, host_system] = ending.ours.cpu_percent;
    let [remote, remote_user, remote_system] = theirs.cpu_percent;
    end = end.with(
        "cpu_utilization_percent",
        Object::default()
            .with("host_total", host)
            .with("host_user", host_user)
            .with("host_system", host_system)
            .with("remote_total", remote)
            .with("remote_user", remote_user)
            .with("remote_system", remote_system),
    );
    let sends = report.groups().contains(&Group::Sending);
    let (sender, receiver) = if sends {
        (&ending.ours.congestion, &theirs.congestion)
    } else {
        (&theirs.congestion, &ending.ours.congestion)
    };
    end.with_some("sender_tcp_congestion", sender.clone())
        .with_some("receiver_tcp_congestion", receiver.clone())
}

/// The whole object.
#[must_use]
pub fn whole(report: &Report, preface: &Preface, error: Option<&str>) -> Object {
    let intervals: Vec<Object> = report
        .rows
        .iter()
        .map(|row| interval(report, row))
        .collect();
    let theirs = report
        .ending
        .as_ref()
        .and_then(|ending| ending.theirs.as_ref());
    Object::default()
        .with("start", start(report, preface))
        .with("intervals", intervals)
        .with("end", end(report))
        .with_some("title", report.parameters.title.clone())
        .with_some("extra_data", report.parameters.extra_data.clone())
        .with_some(
            "server_output_json",
            theirs.and_then(|theirs| theirs.output_json.clone()),
        )
        .with_some(
            "server_output_text",
            theirs.and_then(|theirs| theirs.output_text.clone()),
        )
        .with_some("error", error)
        .with("x_caudal", ours(report))
}

/// What iperf3 does not tell.
fn ours(report: &Report) -> Object {
    let streams: Vec<Object> = (0..report.streams.len())
        .map(|nth| {
            let account = report.account(nth);
            let own = report.own(nth);
            Object::default()
                .with("socket", report.streams[nth].descriptor)
                .with("id", report.streams[nth].id)
                .with_some("sent_bytes", account.sent.map(|sent| sent.bytes))
                .with_some(
                    "received_bytes",
                    account.received.map(|received| received.bytes),
                )
                .with_some(
                    "bytes_acked",
                    own.and_then(|own| own.tcp).and_then(|tcp| tcp.bytes_acked),
                )
        })
        .collect();
    Object::default()
        .with("tool", crate::peer::TOOL)
        .with("streams", streams)
}

/// An event of `--json-stream`.
#[must_use]
pub fn event(name: &str, data: impl Into<Node>) -> String {
    let object = Object::default()
        .with("event", name)
        .with("data", data.into());
    serde_json::to_string(&object).unwrap_or_default()
}
