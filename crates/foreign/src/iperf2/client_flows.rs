//! The flows of a client of iperf 2.

use super::bounceback::request_task;
use super::burst_reader::BurstReader;
use super::client_sockets::ClientConnection;
use super::datagram_format::Iperf2Format;
use super::datagram_reader::Iperf2Reader;
use super::datagram_sender::{EndAnnouncement, EndAnswer, FlowOpening, Iperf2DatagramSender};
use super::opening_turns::{OpeningTurn, OpeningTurns};
use super::request::{Iperf2Request, LATE};
use super::tcp::{CLOSE_TIMEOUT, ReadOptions, pattern_payload, tcp_receiver, tcp_sender};
use super::wall_clock::wall_clock;
use caudal_core::plan::{MAX_DATAGRAM, PlannedFlow};
use caudal_core::sample::Role;
use caudal_engine::LocalOptions;
use caudal_flow::socket::{DataSocket, granted_batched_udp, granted_tcp};
use caudal_flow::{
    DatagramFormat, DatagramReceiver, FlowSet, FlowWork, NewFlow, Payload, RunError, StopAction,
    TcpClose,
};
use caudal_wire::iperf2::{HeaderLayout, TestMode, add_permit_key};
use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::Sender;
use std::time::Duration;

/// Maximum length of a file that is sent in datagrams, bytes: it is held in memory.
const MAX_FILE_PAYLOAD: u64 = 256 << 20;
/// The time of a flow that something else ends.
const ENDLESS: Duration = Duration::from_secs(1 << 33);
/// Minimum length of datagrams that carry the test header.
const MIN_WITH_HEADER: u32 = 76;

/// Makes the flows of a client.
pub(super) struct ClientFlows<'a> {
    pub(super) request: &'a Iperf2Request,
    pub(super) options: &'a LocalOptions,
    /// The channel for the answers to the ends of UDP flows.
    pub(super) answers: Sender<EndAnswer>,
}

impl ClientFlows<'_> {
    /// Asks for the test on every connection, and makes the flows.
    pub(super) fn start(&self, connections: &[ClientConnection]) -> Result<FlowSet, RunError> {
        let mut set = FlowSet::new(StopAction::HalfClose)?;
        let turns: Arc<OpeningTurns> = Arc::default();
        let is_in_turns = self.request.has_opening_turns();
        for (connection, before) in connections.iter().zip(0..) {
            let turn = is_in_turns.then(|| OpeningTurn {
                turns: Arc::clone(&turns),
                before,
            });
            let mut header_bytes = 0;
            if let Some(stream) = connection.socket.tcp() {
                header_bytes = self.send_header(stream)?;
            }
            if let Some(flow) = connection.up {
                let task = self.sender(flow, &connection.socket, header_bytes, turn.clone())?;
                self.add(&mut set, connection, flow, Role::Sender, task)?;
            }
            if let Some(flow) = connection.down {
                let task = self.receiver(flow, &connection.socket, turn);
                self.add(&mut set, connection, flow, Role::Receiver, task)?;
            }
        }
        set.start();
        Ok(set)
    }

    fn add(
        &self,
        set: &mut FlowSet,
        connection: &ClientConnection,
        flow: PlannedFlow,
        role: Role,
        task: FlowWork,
    ) -> Result<(), RunError> {
        let cpu = self.options.cpu(set.len());
        set.add(NewFlow {
            flow,
            role,
            granted: match &*connection.socket {
                DataSocket::Tcp(stream) => granted_tcp(stream, false),
                DataSocket::Udp(socket) => granted_batched_udp(socket, self.request.block_length()),
            },
            socket: Arc::clone(&connection.socket),
            cpu,
            task,
        })
    }

    /// Sends the test header over a TCP connection: its length.
    fn send_header(&self, mut stream: &TcpStream) -> Result<u64, RunError> {
        let header = self.request.header();
        let mut header = header.map_or_else(Vec::new, |header| header.encode_tcp(wall_clock()));
        if let Some(key) = &self.request.permit_key {
            add_permit_key(&mut header, key);
        }
        stream.write_all(&header).map_err(|cause| RunError::Lost {
            doing: "asking for a test",
            cause,
        })?;
        Ok(header.len() as u64)
    }

    fn sender(
        &self,
        flow: PlannedFlow,
        socket: &DataSocket,
        header_bytes: u64,
        turn: Option<OpeningTurn>,
    ) -> Result<FlowWork, RunError> {
        let request = self.request;
        if let DataSocket::Udp(_) = socket {
            return self.datagram_sender(flow, turn);
        }
        // A burst is sent whole, and a later one follows at once where its time has come.
        let (length, rate) = match request.burst {
            Some(burst) => (burst.bytes as usize, Some(burst.rate())),
            None => (request.block_length() as usize, request.rate),
        };
        let payload = match &request.payload {
            Some(path) => Payload::open(path, length).map_err(|cause| opening(path, cause))?,
            None => pattern_payload(length, request.trip_times),
        };
        let close = TcpClose::AwaitClose(if request.receives() {
            None
        } else {
            Some(CLOSE_TIMEOUT)
        });
        let bytes = request
            .bytes
            .map(|bytes| bytes.saturating_sub(header_bytes));
        let mut sender = tcp_sender(payload, length, rate, bytes, close);
        sender.bytes_before = header_bytes;
        // A server closes after its client, and not before.
        sender.peer_may_close = false;
        Ok(sender.into_task())
    }

    fn receiver(
        &self,
        flow: PlannedFlow,
        socket: &DataSocket,
        turn: Option<OpeningTurn>,
    ) -> FlowWork {
        let request = self.request;
        let histograms = request.histograms.as_ref();
        let histogram = histograms.and_then(|histograms| histograms.of(flow.id));
        if let DataSocket::Udp(_) = socket {
            let mut reader = self.datagram_reader(turn);
            reader.histogram = histogram;
            return DatagramReceiver::new(reader).into_task();
        }
        if let Some(test) = request.bounceback {
            return request_task(test, request.time);
        }
        let options = ReadOptions {
            count_reads: request.count_reads || request.trip_times && !request.discard,
            discard: request.discard,
        };
        let mut receiver = tcp_receiver(request.block_length() as usize, options);
        if request.trip_times {
            receiver.observer = Some(Box::new(BurstReader::before_header(histogram)));
        }
        receiver.into_task()
    }

    fn datagram_length(&self) -> u32 {
        self.request.block_length().clamp(16, MAX_DATAGRAM)
    }

    /// The datagrams of the test; one that is too short for the test header carries none.
    fn format(&self) -> Iperf2Format {
        let header = self
            .request
            .header()
            .filter(|_| self.datagram_length() >= MIN_WITH_HEADER)
            .map_or_else(Vec::new, |header| header.encode_udp(wall_clock()));
        Iperf2Format::new(HeaderLayout::Sixteen, 1, header)
    }

    fn datagram_sender(
        &self,
        flow: PlannedFlow,
        turn: Option<OpeningTurn>,
    ) -> Result<FlowWork, RunError> {
        let request = self.request;
        let mut format = self.format();
        format.payload = request.payload.as_deref().map(read_payload).transpose()?;
        // The end of a file is the end of its test.
        let length = self.datagram_length() as usize;
        let room = format.payload_room(length).max(1);
        let datagrams = format
            .payload
            .as_ref()
            .map(|payload| payload.len().div_ceil(room));
        let file_bytes = datagrams.map(|datagrams| (datagrams * length) as u64);
        let bytes = match (request.bytes, file_bytes) {
            (Some(bytes), Some(file_bytes)) => Some(bytes.min(file_bytes)),
            (bytes, file_bytes) => bytes.or(file_bytes),
        };
        let is_one_way = matches!(
            request.mode,
            TestMode::Up | TestMode::Dual | TestMode::Tradeoff
        );
        // Only versions since 2.1 know the other modes and settings.
        let opening = if is_one_way && !request.no_udp_fin && !request.trip_times {
            FlowOpening::NumberZero
        } else {
            FlowOpening::FirstDatagram
        };
        let is_reported = is_one_way && !request.peer.ip().is_multicast() && !request.no_udp_fin;
        let announcement = if is_reported {
            EndAnnouncement::UntilReported(self.answers.clone())
        } else {
            EndAnnouncement::Once
        };
        let sender = Iperf2DatagramSender::new(
            flow.id,
            format,
            self.datagram_length(),
            request.rate,
            bytes,
            announcement,
        )
        .with_opening(opening)
        .with_turn(turn)
        .with_time_of_its_own(self.own_time())
        .with_pacing(request.pacing)
        .with_pace(request.pace());
        Ok(sender.into_task())
    }

    /// The time of a flow that opens in its turn and is not answered: an amount ends those without.
    fn own_time(&self) -> Option<Duration> {
        let request = self.request;
        let time = match request.bytes {
            Some(_) => None,
            None => request.time,
        };
        (!request.receives()).then(|| time.unwrap_or(ENDLESS))
    }

    fn datagram_reader(&self, turn: Option<OpeningTurn>) -> Iperf2Reader {
        let request = self.request;
        let mut reader = Iperf2Reader::new(HeaderLayout::Sixteen, true, 1);
        reader.turn = turn;
        if request.mode == TestMode::Reverse {
            let format = self.format();
            let mut datagram = vec![0; self.datagram_length() as usize];
            format.fill(&mut datagram);
            format.write_number(&mut datagram, format.first);
            reader.request = Some(datagram);
        }
        let time = request.time.filter(|_| request.bytes.is_none());
        reader.max_ns = time.map(|time| (time + LATE / 4).as_nanos() as u64);
        reader
    }
}

fn opening(path: &Path, cause: std::io::Error) -> RunError {
    RunError::local(format!("opening {}", path.display()), cause)
}

/// A file that is sent in datagrams, up to the longest that is; `-` is standard input.
fn read_payload(path: &Path) -> Result<Vec<u8>, RunError> {
    let mut bytes = Vec::new();
    let read = if path.as_os_str() == "-" {
        std::io::stdin()
            .lock()
            .take(MAX_FILE_PAYLOAD)
            .read_to_end(&mut bytes)
    } else {
        let file = File::open(path).map_err(|cause| opening(path, cause))?;
        file.take(MAX_FILE_PAYLOAD).read_to_end(&mut bytes)
    };
    read.map_err(|cause| RunError::local("reading the payload", cause))?;
    Ok(bytes)
}
