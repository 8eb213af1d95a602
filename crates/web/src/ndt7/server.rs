//! A test of a client of ndt7.

use super::measurement::{DOWNLOAD, Measurement, UPLOAD};
use crate::http::{Body, RequestHead, Status, respond};
use crate::websocket::{
    SentMessageSizes, WebSocketReceiver, WebSocketSender, accept_upgrade, random_payload,
    text_frame,
};
use caudal_core::event::{Agreement, CutShort, EndedTest, Event};
use caudal_core::plan::{
    BulkPlanRecord, Direction, Directions, PlanRecord, PlannedFlow, TestEnd, Ticks, Transport,
};
use caudal_core::sample::{Counters, Role};
use caudal_core::units::ByteCount;
use caudal_engine::ClientRefusal;
use caudal_engine::server::{
    FlowLimits, FlowWatch, SampledFlows, SessionEventKind, SharedPortClient, StopReason,
};
use caudal_flow::socket::{DataSocket, granted_tcp};
use caudal_flow::{
    FlowSet, FlowWork, NewFlow, PlannedEnd, RunError, SessionLimits, StopAction, TestLimit,
};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::tcp;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::Duration;

/// The protocol that its clients offer.
const PROTOCOL: &str = "net.measurementlab.ndt.v7";
/// The duration of a test.
const TEST_TIME: Duration = Duration::from_secs(10);
/// The time after which one that has not ended is ended.
const MAX_TIME: Duration = Duration::from_secs(13);
/// The interval of the measurements.
const INTERVAL: Duration = Duration::from_millis(250);

/// Serves a client that asked for a test in a direction, whose payload is at most `max_bytes`; returns the payload that it carried.
pub(crate) fn serve(
    client: &SharedPortClient<'_>,
    head: &RequestHead,
    stream: TcpStream,
    direction: Direction,
    max_bytes: u64,
) -> u64 {
    let method = head.method;
    let Some(upgrade) = &head.upgrade else {
        let text = "This is for clients of ndt7: ask for a WebSocket.\n";
        respond(&stream, Status::UpgradeRequired, method, Body::Text(text));
        return 0;
    };
    if !upgrade.protocols.iter().any(|one| one == PROTOCOL) {
        let text = "A client of ndt7 offers the protocol net.measurementlab.ndt.v7.\n";
        respond(&stream, Status::BadRequest, method, Body::Text(text));
        return 0;
    }
    if accept_upgrade(&stream, upgrade, Some(PROTOCOL)).is_err() {
        return 0;
    }
    let tool = match &head.user_agent {
        Some(agent) => format!("ndt7, {agent}"),
        None => "ndt7".to_owned(),
    };
    client.send_event(SessionEventKind::Connected { tool: tool.into() });
    client.slot().test_begins();
    let carried = match run(client, stream, direction, max_bytes) {
        Ok(carried) => carried,
        Err(error) => {
            let refusal = ClientRefusal::from(error);
            client.send_event(SessionEventKind::Refused(refusal));
            0
        }
    };
    client.send_event(SessionEventKind::Left);
    carried
}

/// Carries out a test: the payload.
fn run(
    client: &SharedPortClient<'_>,
    stream: TcpStream,
    direction: Direction,
    max_bytes: u64,
) -> Result<u64, RunError> {
    let limits = limits(client, max_bytes);
    let time = limits.max_time.map_or(TEST_TIME, |max| max.min(TEST_TIME));
    send(client, Event::Agreed(agreement(client, direction, time)));
    let is_download = direction == Direction::Down;
    if is_download {
        // The specification asks for it where the kernel has it.
        let _ = tcp::set_congestion(&stream, "bbr");
    }
    let local = stream.local_addr().ok();
    let notes = stream.try_clone().ok();
    let uuid = format!("caudal-{}", client.number());
    let connection = local.map(|local| (client.peer(), local, uuid.clone()));
    let socket = Arc::new(DataSocket::Tcp(stream));
    let limit = TestLimit::new(&limits, PlannedEnd::ByItself);
    let mut set = FlowSet::limited(StopAction::HalfClose, Some(limit), 1)?;
    let task = if is_download {
        sender(&limits, time, connection.clone())?
    } else {
        WebSocketReceiver { time: MAX_TIME }.into_task()
    };
    let role = if is_download {
        Role::Sender
    } else {
        Role::Receiver
    };
    set.add(NewFlow {
        flow: PlannedFlow { id: 0, direction },
        role,
        granted: socket
            .tcp()
            .map(|stream| granted_tcp(stream, false))
            .unwrap_or_default(),
        socket: Arc::clone(&socket),
        cpu: None,
        task,
    })?;
    set.start();
    let began_ns = monotonic_ns();
    let watch = FlowLimits {
        ticks: Some(Ticks::new(INTERVAL, Duration::ZERO, Some(MAX_TIME))),
        sampled: SampledFlows::Running,
        total_time: Some(MAX_TIME),
        idle_timeout: Some(TEST_TIME),
        stop: vec![client.stop_fd()],
        quit: Some(client.slot().activity().given_up()),
        activity: Some(client.slot().activity()),
        ..FlowLimits::none()
    };
    let mut is_first = true;
    let (ends, reason) = FlowWatch::new(watch, &set).run(&mut set, &mut |event| {
        let (Event::Sampled(sample), Some(stream), false) = (&event, &notes, is_download) else {
            return;
        };
        let bytes = bytes_of(&sample.counters);
        let first = connection.as_ref().filter(|_| is_first);
        is_first = false;
        let text = Measurement {
            test: UPLOAD,
            elapsed_us: (monotonic_ns() - began_ns) / 1000,
            bytes,
            tcp: tcp::tcp_info(stream).ok().as_ref(),
            connection: first.map(|(client, server, uuid)| (*client, *server, uuid.as_str())),
        }
        .message();
        // One that does not fit at once would hold up what watches the test.
        let _ = tcp::send_some(stream, &text_frame(&text));
    });
    let bytes = ends.iter().map(|end| bytes_of(&end.counters)).sum();
    let (received_bytes, sent_bytes) = match role {
        Role::Sender => (0, bytes),
        Role::Receiver => (bytes, 0),
    };
    let cut_short = reason
        .filter(|reason| *reason != StopReason::TimeOver)
        .map(|reason| CutShort::ByServer(reason.to_string().into()));
    let elapsed_s = (monotonic_ns() - began_ns) as f64 / 1e9;
    send(
        client,
        Event::Ended(EndedTest {
            received_bytes,
            sent_bytes,
            elapsed_s,
            cut_short,
            ..EndedTest::default()
        }),
    );
    Ok(bytes)
}

/// The limits of the server, with what its source may still carry.
fn limits(client: &SharedPortClient<'_>, max_bytes: u64) -> SessionLimits {
    let limits = client.limits().of_client(client.peer().ip());
    let most = limits
        .max_bytes
        .map_or(max_bytes, |max| max.get().min(max_bytes));
    SessionLimits {
        max_bytes: Some(ByteCount::new(most)),
        ..limits
    }
}

/// Both addresses of a connection, and its name.
type Connection = (std::net::SocketAddr, std::net::SocketAddr, String);

/// The sender of a download, which says between its messages what it has counted.
fn sender(
    limits: &SessionLimits,
    time: Duration,
    mut connection: Option<Connection>,
) -> Result<FlowWork, RunError> {
    let payload =
        random_payload().map_err(|cause| RunError::local("making random payload", cause))?;
    let began_ns = monotonic_ns();
    let mut next_ns = began_ns;
    let notes = move |stream: &TcpStream, bytes| {
        let now_ns = monotonic_ns();
        if now_ns < next_ns {
            return None;
        }
        next_ns = now_ns + INTERVAL.as_nanos() as u64;
        let (first, tcp) = (connection.take(), tcp::tcp_info(stream).ok());
        let measurement = Measurement {
            test: DOWNLOAD,
            elapsed_us: (now_ns - began_ns) / 1000,
            bytes,
            tcp: tcp.as_ref(),
            connection: first
                .as_ref()
                .map(|(client, server, uuid)| (*client, *server, uuid.as_str())),
        };
        Some(measurement.message())
    };
    Ok(WebSocketSender {
        payload,
        sizes: SentMessageSizes::NDT7,
        time,
        max_rate: limits.max_rate,
        drops_rest: false,
        notes: Some(Box::new(notes)),
    }
    .into_task())
}

const fn bytes_of(counters: &Counters) -> u64 {
    match counters {
        Counters::Sender(sent) => sent.bytes,
        Counters::Receiver(received) => received.bytes,
    }
}

fn agreement(client: &SharedPortClient<'_>, direction: Direction, time: Duration) -> Agreement {
    let keys = BulkPlanRecord {
        peer: Some(client.peer().to_string().into()),
        directions: Some(match direction {
            Direction::Up => Directions::Up,
            Direction::Down => Directions::Down,
        }),
        parallel: Some(1),
        end: Some(TestEnd::Time(time)),
        ..BulkPlanRecord::default()
    };
    Agreement {
        repeat: None,
        plan: PlanRecord::bulk_transfer(Some(Transport::Tcp), keys),
        changed: Vec::new(),
    }
}

fn send(client: &SharedPortClient<'_>, event: Event) {
    client.send_event(SessionEventKind::Event(Box::new(event)));
}
