//! A test of iperf3 as its JSON: the same keys with the same types in the same order, those of caudal behind them.

use super::about::{SHOWN_VERSION, rfc1123, system_info};
use super::figures::{StreamFigures, TcpExtremes};
use super::json_object::{JsonNode, JsonObject};
use super::report::{IntervalFigures, StreamAccount, StreamGroup, TestReport};
use super::transferred_file::TransferredFile;
use caudal_core::event::{DataConnection, EndReport, Event, PeerOutput};
use caudal_core::sample::Role;
use caudal_engine::TOOL;
use caudal_foreign::iperf3::Iperf3Session;
use caudal_sys::clock::realtime_ns;
use caudal_wire::iperf3::{TransportProtocol, stream_id};
use serde_json::Value;

/// The description of the program and of the time its test began.
#[derive(Debug, Clone)]
pub struct TestHeading {
    /// The machine, as `uname -a` has it.
    pub system: String,
    /// The time the test began, ns since 1970.
    pub began_ns: u64,
    /// The host as it was named, and its port (client).
    pub host: Option<(String, u16)>,
}

impl TestHeading {
    /// The heading of a test that begins now.
    #[must_use]
    pub fn new(host: Option<(String, u16)>) -> Self {
        Self {
            system: system_info(),
            began_ns: realtime_ns(),
            host,
        }
    }
}

/// The `start` of the object, as far as the test got.
#[must_use]
pub fn start(report: &TestReport, heading: &TestHeading) -> JsonObject {
    let connected: Vec<JsonObject> = report.streams.iter().map(connected).collect();
    let start = JsonObject::default()
        .with("connected", connected)
        .with("version", SHOWN_VERSION)
        .with("system_info", heading.system.clone());
    let Some(session) = &report.session else {
        return start;
    };
    let buffers = report.streams.first().map(|first| buffers(report, first));
    let buffers = |is_here: bool| buffers.clone().filter(|_| is_here).unwrap_or_default();
    // A server knows the rate, and of TCP the buffers, before it shows the client.
    let (is_server, is_udp) = (report.is_server, report.is_udp());
    let rate = |is_here: bool| {
        let rate = is_here.then_some(report.parameters.rate_bps);
        JsonObject::default().with_some("target_bitrate", rate)
    };
    let start = start
        .and(rate(is_server))
        .and(buffers(is_server && !is_udp))
        .and(agreed(report, session, heading))
        .and(rate(!is_server))
        .with("fq_rate", report.parameters.fq_rate_bps.unwrap_or(0))
        .and(buffers(!is_server || is_udp));
    match report.streams.first() {
        Some(_) => start.with("test_start", test_start(report)),
        None => start,
    }
}

/// The buffers of the streams.
fn buffers(report: &TestReport, first: &DataConnection) -> JsonObject {
    JsonObject::default()
        .with("sock_bufsize", report.parameters.window.unwrap_or(0))
        .with("sndbuf_actual", first.send_buffer_bytes)
        .with("rcvbuf_actual", first.receive_buffer_bytes)
}

fn connected(stream: &DataConnection) -> JsonObject {
    JsonObject::default()
        .with("socket", stream.descriptor)
        .with("local_host", stream.local.ip().to_string())
        .with("local_port", stream.local.port())
        .with("remote_host", stream.peer.ip().to_string())
        .with("remote_port", stream.peer.port())
}

/// The part of `start` that is known once both ends have agreed on the test.
fn agreed(report: &TestReport, session: &Iperf3Session, heading: &TestHeading) -> JsonObject {
    let parameters = &report.parameters;
    let mut start = JsonObject::default().with(
        "timestamp",
        JsonObject::default()
            .with("time", rfc1123(heading.began_ns))
            .with("timesecs", heading.began_ns / 1_000_000_000)
            .with("timemillisecs", heading.began_ns / 1_000_000),
    );
    start = match (&heading.host, report.is_server) {
        (Some((host, port)), false) => start.with(
            "connecting_to",
            JsonObject::default()
                .with("host", host.clone())
                .with("port", *port),
        ),
        _ => start.with(
            "accepted_connection",
            JsonObject::default()
                .with("host", session.peer.ip().to_string())
                .with("port", session.peer.port()),
        ),
    };
    start = start.with("cookie", session.cookie.text());
    if parameters.protocol == TransportProtocol::Tcp {
        start = match parameters.mss {
            Some(mss) => start.with("tcp_mss", mss),
            None => start.with("tcp_mss_default", session.mss.unwrap_or(0)),
        };
    }
    start
}

/// The part of `start` that is known once the streams are open.
fn test_start(report: &TestReport) -> JsonObject {
    let parameters = &report.parameters;
    let interval_s = report
        .interval
        .map_or(0.0, |interval| interval.as_secs_f64());
    JsonObject::default()
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
        .with("interval", interval_s)
        .with("gso", u32::from(parameters.gsro))
        .with("gro", u32::from(parameters.gsro))
}

fn span(figures: &StreamFigures) -> JsonObject {
    JsonObject::default()
        .with("start", figures.start_s)
        .with("end", figures.end_s)
        .with("seconds", figures.seconds())
        .with("bytes", figures.bytes)
        .with("bits_per_second", figures.bytes_per_s() * 8.0)
}

fn datagrams(figures: &StreamFigures) -> JsonObject {
    JsonObject::default()
        .with("jitter_ms", figures.jitter_s * 1e3)
        .with("lost_packets", figures.lost)
        .with("packets", figures.packets)
        .with("lost_percent", figures.lost_percent())
}

fn interval_of(report: &TestReport, group: StreamGroup, figures: &StreamFigures) -> JsonObject {
    let mut object = span(figures);
    match (report.is_udp(), group) {
        (true, StreamGroup::Sending) => object = object.with("packets", figures.packets),
        (true, StreamGroup::Receiving) => object = object.and(datagrams(figures)),
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

/// `true` for what the server sends in a test of both directions.
fn is_second_direction(report: &TestReport, group: StreamGroup) -> bool {
    report.parameters.bidirectional && (group == StreamGroup::Receiving) != report.is_server
}

/// An element of `intervals`.
#[must_use]
pub fn interval(report: &TestReport, interval: &IntervalFigures) -> JsonObject {
    let mut streams = Vec::new();
    for (stream, figures) in report.streams.iter().zip(&interval.streams) {
        let group = StreamGroup::from(stream.role);
        streams.push(
            JsonObject::default()
                .with("socket", stream.descriptor)
                .and(interval_of(report, group, figures))
                .with("omitted", interval.omitted)
                .with("sender", stream.role == Role::Sender),
        );
    }
    let mut object = JsonObject::default().with("streams", streams);
    for group in report.groups() {
        let all: Vec<StreamFigures> = report
            .members(group)
            .iter()
            .filter_map(|nth| interval.streams.get(*nth).copied())
            .collect();
        let sum = interval_of(report, group, &StreamFigures::sum(&all))
            .with("omitted", interval.omitted)
            .with("sender", group == StreamGroup::Sending);
        let name = if is_second_direction(report, group) {
            "sum_bidir_reverse"
        } else {
            "sum"
        };
        object = object.with(name, sum);
    }
    object
}

fn stream_end(report: &TestReport, nth: usize) -> Option<JsonObject> {
    let stream = report.streams.get(nth)?;
    let account = report.account(nth);
    let nothing = StreamFigures::default();
    if report.is_udp() {
        let (sent, received) = (account.sent.unwrap_or(nothing), account.received);
        let judged = received.unwrap_or(sent);
        let shown = if stream.role == Role::Sender || account.sent.is_some() {
            sent
        } else {
            judged
        };
        return Some(
            JsonObject::default().with(
                "udp",
                JsonObject::default()
                    .with("socket", stream.descriptor)
                    .and(span(&shown))
                    .and(datagrams(&judged))
                    .with("out_of_order", judged.out_of_order)
                    .with("sender", stream.role == Role::Sender),
            ),
        );
    }
    let sent = account.sent.unwrap_or(nothing);
    let received = account.received.unwrap_or(nothing);
    let mut sender = JsonObject::default()
        .with("socket", stream.descriptor)
        .and(span(&sent))
        .with_some("retransmits", sent.retransmits);
    if let Some(extremes) = report.extremes.get(nth) {
        // Nothing of this is known of a stream that is received: a client has its keys all the same, as in iperf3.
        sender = match (report.is_server, stream.role) {
            (_, Role::Sender) => sender.and(of_extremes(extremes)),
            (false, Role::Receiver) => {
                let mut unknown = *extremes;
                unknown.reordering = Some(0);
                sender.and(of_extremes(&unknown))
            }
            (true, Role::Receiver) => sender,
        };
    }
    let receiver = JsonObject::default()
        .with("socket", stream.descriptor)
        .and(span(&received))
        .with("sender", stream.role == Role::Sender);
    Some(
        JsonObject::default()
            .with("sender", sender.with("sender", stream.role == Role::Sender))
            .with_some(
                "diskfile",
                report
                    .file()
                    .map(|file| disk_file(file, sent.bytes, received.bytes)),
            )
            .with("receiver", receiver),
    )
}

fn disk_file(file: &TransferredFile, sent: u64, received: u64) -> JsonObject {
    JsonObject::default()
        .with("sent", sent)
        .with("received", received)
        .with("size", file.size)
        .with("percent_sent", file.percent(sent))
        .with("percent_received", file.percent(received))
        .with("filename", file.path.display().to_string())
}

fn of_extremes(extremes: &TcpExtremes) -> JsonObject {
    JsonObject::default()
        .with_some("reorder", extremes.reordering)
        .with("max_snd_cwnd", extremes.max_cwnd_bytes)
        .with("max_snd_wnd", extremes.max_window_bytes)
        .with("max_rtt", extremes.max_rtt_us)
        .with("min_rtt", extremes.min_rtt_us)
        .with("mean_rtt", extremes.mean_rtt_us().unwrap_or(0))
}

/// The keys of a direction's sums.
struct SumKeys {
    sum: &'static str,
    sent: &'static str,
    received: &'static str,
}

const FIRST: SumKeys = SumKeys {
    sum: "sum",
    sent: "sum_sent",
    received: "sum_received",
};
const SECOND: SumKeys = SumKeys {
    sum: "sum_bidir_reverse",
    sent: "sum_sent_bidir_reverse",
    received: "sum_received_bidir_reverse",
};

fn sums(report: &TestReport, group: StreamGroup) -> JsonObject {
    let names = if is_second_direction(report, group) {
        SECOND
    } else {
        FIRST
    };
    let accounts: Vec<StreamAccount> = report
        .members(group)
        .iter()
        .map(|nth| report.account(*nth))
        .collect();
    let sum = |pick: fn(&StreamAccount) -> Option<StreamFigures>| {
        let all: Vec<StreamFigures> = accounts.iter().filter_map(pick).collect();
        StreamFigures::sum(&all)
    };
    let sent = sum(|account| account.sent);
    let received = sum(|account| account.received);
    let sends = group == StreamGroup::Sending;
    if report.is_udp() {
        // What was sent, with the losses its receiver has seen.
        let judged = StreamFigures {
            jitter_s: received.jitter_s,
            lost: received.lost,
            packets: received.packets,
            ..sent
        };
        let clean = StreamFigures {
            jitter_s: 0.0,
            lost: 0,
            ..sent
        };
        return JsonObject::default()
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
    JsonObject::default()
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
pub fn end(report: &TestReport) -> JsonObject {
    let Some(closing) = report
        .closing
        .as_ref()
        .filter(|_| !report.streams.is_empty())
    else {
        return JsonObject::default();
    };
    let streams: Vec<JsonObject> = (0..report.streams.len())
        .filter_map(|nth| stream_end(report, nth))
        .collect();
    let mut end = JsonObject::default().with("streams", streams);
    for group in report.groups() {
        end = end.and(sums(report, group));
    }
    let [local, peer] = [closing.local.as_ref(), closing.peer.as_ref()];
    let cpu = |report: Option<&EndReport>| report.and_then(|report| report.cpu).unwrap_or_default();
    let (host, remote) = (cpu(local), cpu(peer));
    end = end.with(
        "cpu_utilization_percent",
        JsonObject::default()
            .with("host_total", host.total)
            .with("host_user", host.user)
            .with("host_system", host.system)
            .with("remote_total", remote.total)
            .with("remote_user", remote.user)
            .with("remote_system", remote.system),
    );
    let sends = report.groups().contains(&StreamGroup::Sending);
    let (sender, receiver) = if sends { (local, peer) } else { (peer, local) };
    let congestion = |report: Option<&EndReport>| report?.congestion.clone();
    end.with_some("sender_tcp_congestion", congestion(sender))
        .with_some("receiver_tcp_congestion", congestion(receiver))
}

/// The whole object.
#[must_use]
pub fn whole(report: &TestReport, heading: &TestHeading, error: Option<&str>) -> JsonObject {
    let intervals: Vec<JsonObject> = report
        .intervals
        .iter()
        .map(|figures| interval(report, figures))
        .collect();
    let object = JsonObject::default()
        .with("start", start(report, heading))
        .with("intervals", intervals)
        .with("end", end(report))
        .with_some("title", report.parameters.title.clone())
        .with_some("extra_data", report.parameters.extra_data.clone());
    let output = report
        .peer_report()
        .and_then(|report| report.output.as_ref());
    let object = match output.map(server_output) {
        Some((key, value)) => object.with(key, value),
        None => object,
    };
    object
        .with_some("error", error)
        .with("x_caudal", own_keys(report))
}

/// The output that a server has sent, with its key.
fn server_output(output: &PeerOutput) -> (&'static str, Value) {
    match output {
        PeerOutput::Json(json) => (
            "server_output_json",
            // The engine has read it as JSON before.
            serde_json::from_str(json.as_received()).unwrap_or_default(),
        ),
        PeerOutput::Text(text) => ("server_output_text", text.as_received().into()),
    }
}

/// The keys that iperf3 does not have.
fn own_keys(report: &TestReport) -> JsonObject {
    let streams: Vec<JsonObject> = (0..report.streams.len())
        .map(|nth| {
            let account = report.account(nth);
            let own = report.own(nth);
            JsonObject::default()
                .with("socket", report.streams[nth].descriptor)
                .with("id", stream_id(report.streams[nth].flow.id))
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
    JsonObject::default()
        .with("tool", TOOL)
        .with("streams", streams)
}

/// An event of `--json-stream`.
#[must_use]
pub fn event(name: &str, data: impl Into<JsonNode>) -> String {
    let object = JsonObject::default()
        .with("event", name)
        .with("data", data.into());
    serde_json::to_string(&object).unwrap_or_default()
}

/// The event of `--json-stream` that carries the output a server has sent.
#[must_use]
pub fn server_output_event(output: &PeerOutput) -> String {
    let (key, value) = server_output(output);
    event(key, value)
}

/// The events of `--json-stream` that show an event, behind which the intervals from `shown` on are new.
#[must_use]
pub fn stream_events(
    report: &TestReport,
    heading: &TestHeading,
    shown: usize,
    taken: &Event,
) -> Vec<String> {
    let is_start = matches!(taken, Event::Opened(_)) && report.is_open();
    let start = is_start.then(|| event("start", start(report, heading)));
    let intervals = report.intervals[shown..]
        .iter()
        .map(|figures| event("interval", interval(report, figures)));
    start.into_iter().chain(intervals).collect()
}

/// JSON text, indented for people; nothing where it is no JSON.
#[must_use]
pub fn pretty(json: &str) -> String {
    serde_json::from_str::<Value>(json)
        .and_then(|value| serde_json::to_string_pretty(&value))
        .unwrap_or_default()
}
