//! The data connections of a test: their settings, their tasks, and how they are shown.

use super::datagrams::Iperf3Format;
use super::reverse_amount::reverse_budget;
use caudal_core::event::DataConnection;
use caudal_core::plan::{DatagramSizes, Pacing, Plan, PlannedFlow};
use caudal_core::sample::{Granted, Role};
use caudal_core::units::BitRate;
use caudal_engine::LocalOptions;
use caudal_flow::socket::{DataSocket, UDP_BUFFER, canonical, granted_batched_udp, granted_tcp};
use caudal_flow::{
    ByteBudget, DatagramLimit, DatagramPace, DatagramReceiver, DatagramSender, FlowSet, FlowWork,
    NewFlow, Payload, ReceiveMode, RunError, SendGrouping, StopAction, TcpClose, TcpReceiver,
    TcpSender, TestLimit, UnsentDatagrams, WritePace, receive_buffer, role,
};
use caudal_sys::tcp::SplicedSource;
use caudal_sys::{buffers, options as socket_options, tcp, udp};
use caudal_wire::datagram::fill_payload;
use caudal_wire::iperf2::fill_pattern;
use caudal_wire::iperf3::{Iperf3ErrorCode, Parameters};
use std::fs::File;
use std::io;
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;

/// The time a send may block before the signals are looked at again.
const SEND_TIMEOUT: Duration = Duration::from_millis(20);
/// The time sent data may stay unacknowledged before the kernel gives the connection up.
const USER_TIMEOUT: Duration = Duration::from_secs(30);

/// An error of the kernel with iperf3's number for it.
pub(super) struct SetUpError {
    pub(super) code: Iperf3ErrorCode,
    pub(super) cause: io::Error,
}

impl From<SetUpError> for RunError {
    fn from(error: SetUpError) -> Self {
        Self::local(error.code.with_errno(0).to_string(), error.cause)
    }
}

/// The error of a call, as iperf3 numbers it.
fn numbered(code: Iperf3ErrorCode) -> impl Fn(io::Error) -> SetUpError {
    move |cause| SetUpError {
        code: code.with_errno(cause.raw_os_error().unwrap_or(0)),
        cause,
    }
}

/// Applies the parameters to an open data socket.
///
/// # Errors
/// When the kernel refuses a setting.
pub(super) fn set_up(
    socket: &DataSocket,
    parameters: &Parameters,
    role: Role,
) -> Result<(), SetUpError> {
    match socket {
        DataSocket::Tcp(stream) => set_up_tcp(stream, parameters, role)?,
        DataSocket::Udp(socket) => set_up_udp(socket, parameters)?,
    }
    if let (Some(bps), Role::Sender) = (parameters.fq_rate_bps, role) {
        tcp::set_pacing_rate(socket, bps / 8).map_err(numbered(Iperf3ErrorCode::SET_PACING))?;
    }
    if let Some(tos) = parameters.tos {
        socket_options::set_tos(socket, tos).map_err(numbered(Iperf3ErrorCode::SET_TOS))?;
    }
    Ok(())
}

fn set_up_tcp(stream: &TcpStream, parameters: &Parameters, role: Role) -> Result<(), SetUpError> {
    if let Some(bytes) = parameters.window {
        set_buffers(stream, bytes as usize, false)?;
    }
    if parameters.no_delay {
        stream
            .set_nodelay(true)
            .map_err(numbered(Iperf3ErrorCode::SET_NO_DELAY))?;
    }
    if let (Some(name), Role::Sender) = (&parameters.congestion, role) {
        match tcp::set_congestion(stream, name.as_received()) {
            // As in iperf3, one that the kernel does not have is no error.
            Err(cause) if cause.raw_os_error() != Some(libc::ENOENT) => {
                return Err(numbered(Iperf3ErrorCode::CONGESTION)(cause));
            }
            _ => {}
        }
    }
    // A kernel without the option waits longer.
    let _ = socket2::SockRef::from(stream).set_tcp_user_timeout(Some(USER_TIMEOUT));
    stream
        .set_nonblocking(false)
        .and_then(|()| stream.set_write_timeout(Some(SEND_TIMEOUT)))
        .map_err(numbered(Iperf3ErrorCode::INIT_STREAM))
}

fn set_up_udp(socket: &UdpSocket, parameters: &Parameters) -> Result<(), SetUpError> {
    let bytes = parameters.window.map_or(UDP_BUFFER, |bytes| bytes as usize);
    set_buffers(socket, bytes, parameters.window.is_none())?;
    udp::enable_gro(socket);
    let _ = udp::enable_receive_timestamps(socket);
    if parameters.dont_fragment {
        udp::set_dont_fragment(socket, true).map_err(numbered(Iperf3ErrorCode::DONT_FRAGMENT))?;
    }
    Ok(())
}

fn set_buffers(socket: impl AsFd, bytes: usize, force: bool) -> Result<(), SetUpError> {
    buffers::set_send_buffer(&socket, bytes, force)
        .and_then(|_| buffers::set_receive_buffer(&socket, bytes, force))
        .map(drop)
        .map_err(numbered(Iperf3ErrorCode::SET_BUFFERS))
}

/// A data connection of a test.
pub(super) struct Iperf3Stream {
    pub(super) flow: PlannedFlow,
    pub(super) socket: DataSocket,
}

/// The data connections as events show them, in the order of their flows.
pub(super) fn data_connections(streams: &[Iperf3Stream], is_client: bool) -> Vec<DataConnection> {
    let unspecified = SocketAddr::from(([0, 0, 0, 0], 0));
    let address = |address: io::Result<SocketAddr>| address.map_or(unspecified, canonical);
    streams
        .iter()
        .map(|stream| DataConnection {
            flow: stream.flow,
            number: stream.flow.id + 1,
            role: role(stream.flow.direction, is_client),
            transport: stream.socket.transport(),
            local: address(stream.socket.local_address()),
            peer: address(stream.socket.peer_address()),
            descriptor: stream.socket.descriptor(),
            send_buffer_bytes: buffers::send_buffer(&stream.socket).unwrap_or(0),
            receive_buffer_bytes: buffers::receive_buffer(&stream.socket).unwrap_or(0),
            mss: stream
                .socket
                .tcp()
                .and_then(|stream| tcp::max_segment(stream).ok()),
            initial_window_bytes: None,
            handshake_rtt_us: None,
            connect_us: None,
        })
        .collect()
}

/// The congestion control of the first TCP stream.
pub(super) fn congestion(streams: &[Iperf3Stream]) -> Option<String> {
    streams
        .iter()
        .find_map(|stream| tcp::congestion(stream.socket.tcp()?).ok())
}

/// The tasks of the streams of one end.
pub(super) struct StreamTasks<'a> {
    parameters: &'a Parameters,
    plan: &'a Plan,
    is_client: bool,
    budget: Arc<ByteBudget>,
    block: Arc<Vec<u8>>,
}

impl<'a> StreamTasks<'a> {
    pub(super) fn new(parameters: &'a Parameters, plan: &'a Plan, is_client: bool) -> Self {
        let mut block = vec![0; parameters.length as usize];
        if parameters.repeating_payload {
            fill_pattern(&mut block);
        } else {
            fill_payload(&mut block, 0);
        }
        Self {
            parameters,
            plan,
            is_client,
            budget: if is_client {
                ByteBudget::new(parameters.end_bytes())
            } else {
                reverse_budget(parameters)
            },
            block: Arc::new(block),
        }
    }

    /// The bytes that TCP senders have to send.
    pub(super) fn budget(&self) -> Arc<ByteBudget> {
        Arc::clone(&self.budget)
    }

    /// Starts the threads of all streams, at a server within its limits.
    ///
    /// # Errors
    /// When this machine does not grant what they need.
    pub(super) fn spawn(
        &self,
        streams: Vec<Iperf3Stream>,
        options: &LocalOptions,
        limit: Option<TestLimit>,
    ) -> Result<FlowSet, RunError> {
        let mut set = self.new_set(limit, streams.len())?;
        for stream in streams {
            self.add(&mut set, stream, options)?;
        }
        Ok(set)
    }

    /// A set for `planned` streams, without one.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub(super) fn new_set(
        &self,
        limit: Option<TestLimit>,
        planned: usize,
    ) -> Result<FlowSet, RunError> {
        let mut set = FlowSet::limited(StopAction::KeepOpen, limit, planned)?;
        set.reserve(self.block.len() as u64)?;
        Ok(set)
    }

    /// Starts the thread of the next stream.
    ///
    /// # Errors
    /// As [`Self::spawn`].
    pub(super) fn add(
        &self,
        set: &mut FlowSet,
        stream: Iperf3Stream,
        options: &LocalOptions,
    ) -> Result<(), RunError> {
        let role = role(stream.flow.direction, self.is_client);
        let (granted, task) = self.task(&stream, role, options)?;
        set.add(NewFlow {
            flow: stream.flow,
            role,
            socket: Arc::new(stream.socket),
            granted,
            cpu: options.cpu(set.len()),
            task,
        })
    }

    fn task(
        &self,
        stream: &Iperf3Stream,
        role: Role,
        options: &LocalOptions,
    ) -> Result<(Granted, FlowWork), RunError> {
        let parameters = self.parameters;
        let flow = stream.flow.id;
        let task = match (&stream.socket, role) {
            (DataSocket::Tcp(_), Role::Sender) => self.tcp_sender(options)?.into_task(),
            (DataSocket::Tcp(_), Role::Receiver) => self.tcp_receiver(options)?.into_task(),
            (DataSocket::Udp(_), Role::Sender) => self.datagram_sender(flow).into_task(),
            (DataSocket::Udp(_), Role::Receiver) => {
                DatagramReceiver::new(Iperf3Format::from(parameters))
                    .with_sizes(self.datagram_sizes(flow))
                    .into_task()
            }
        };
        let granted = match &stream.socket {
            DataSocket::Tcp(stream) => granted_tcp(stream, parameters.mptcp),
            DataSocket::Udp(socket) => granted_batched_udp(socket, parameters.length),
        };
        Ok((granted, task))
    }

    fn rate(&self) -> Option<BitRate> {
        self.plan.bulk().and_then(|bulk| bulk.rate.limit())
    }

    /// Blocks or datagrams that are sent together, where a rate is kept.
    fn burst(&self) -> u32 {
        self.parameters.burst.unwrap_or(1)
    }

    fn tcp_sender(&self, options: &LocalOptions) -> Result<TcpSender, RunError> {
        let length = self.parameters.length as usize;
        let payload = match &options.tcp.file {
            Some(path) => Payload::open(path, length)
                .map_err(|cause| RunError::local(format!("opening {}", path.display()), cause))?,
            None if self.parameters.zero_copy => Payload::Pages(
                SplicedSource::new(length)
                    .map_err(|cause| RunError::local("preparing pages for zero copy", cause))?,
            ),
            None => Payload::Block(Arc::clone(&self.block)),
        };
        Ok(TcpSender {
            payload,
            length,
            pace: self.rate().map(|rate| WritePace {
                burst: self.burst(),
                ..WritePace::in_whole_blocks(rate)
            }),
            budget: Arc::clone(&self.budget),
            // The client's report counts what was acknowledged, and a block that is not whole is counted, or read at all by
            // the first versions, when the stream ends. A server ends with its client.
            close: if self.is_client {
                TcpClose::HalfCloseCutBlock
            } else {
                TcpClose::KeepOpen
            },
            peer_may_close: false,
            bytes_before: 0,
        })
    }

    fn tcp_receiver(&self, options: &LocalOptions) -> Result<TcpReceiver, RunError> {
        let sink = options.tcp.file.as_ref().map(|path| {
            File::create(path)
                .map_err(|cause| RunError::local(format!("creating {}", path.display()), cause))
        });
        let sink = sink.transpose()?;
        let is_dropped = self.parameters.skip_rx_copy && sink.is_none();
        let receiver = TcpReceiver::new(if is_dropped {
            ReceiveMode::Discard
        } else {
            ReceiveMode::Copy {
                buffer: receive_buffer(self.parameters.length),
                coalesce: self.parameters.window.is_none(),
            }
        });
        Ok(TcpReceiver { sink, ..receiver })
    }

    fn datagram_sender(&self, flow: u32) -> DatagramSender<Iperf3Format> {
        DatagramSender {
            format: Iperf3Format::from(self.parameters),
            length: self.parameters.length,
            sizes: self.datagram_sizes(flow),
            pace: self.rate().map_or(DatagramPace::Max, |rate| {
                let burst = self.burst();
                DatagramPace::Rate { rate, burst }
            }),
            pacing: self.plan.udp().map_or(Pacing::Balanced, |plan| plan.pacing),
            // Only versions with --gsro read batches.
            grouping: if self.parameters.gsro {
                SendGrouping::Batches
            } else {
                SendGrouping::SingleAtMax
            },
            unsent: UnsentDatagrams::Skip,
            limit: DatagramLimit::Unlimited,
        }
    }

    /// The sizes of a flow's datagrams: all are whole.
    fn datagram_sizes(&self, flow: u32) -> DatagramSizes {
        self.plan
            .udp()
            .map_or(DatagramSizes::whole(self.parameters.length, None), |plan| {
                plan.whole_datagrams(flow)
            })
    }
}
