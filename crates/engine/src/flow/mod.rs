//! The data path: a thread for each end of a flow, the loops that send and receive, and the counters they write.
//!
//! Every protocol and workload uses these loops. What differs between protocols is a value
//! ([`TcpClose`], [`UnsentDatagrams`]) or a small trait ([`DatagramFormat`], [`DatagramReader`]).

mod budget;
mod connection_reader;
mod counters;
mod credit;
mod datagram_account;
mod datagram_format;
mod datagram_reader;
mod datagram_receiver;
mod datagram_sender;
mod departure_wait;
mod gate;
mod pacer;
mod payload;
mod set;
mod signals;
mod stream_observer;
mod tcp_receiver;
mod tcp_sender;
mod tcp_state;
mod test_limit;
mod thread;
mod transit;
mod varying_rate;
mod wake_up_error;
mod wakeup_threshold;
mod write_pacer;

pub(crate) use budget::ByteBudget;
pub(crate) use counters::FlowCounters;
pub(crate) use credit::{CreditGrant, CreditId};
pub(crate) use datagram_account::DatagramAccount;
pub(crate) use datagram_format::{DatagramFormat, SenderClock, Stamp};
pub(crate) use datagram_reader::{DatagramReader, ReceiveStep, ReceiverView};
pub(crate) use datagram_receiver::DatagramReceiver;
pub(crate) use datagram_sender::{
    DatagramLimit, DatagramPace, DatagramSender, MAX_BATCH, SendGrouping, UnsentDatagrams,
};
pub(crate) use payload::{Payload, StampBlock};
pub(crate) use set::{FlowSet, NewFlow, StopAction, role};
pub(crate) use signals::FlowSignals;
pub(crate) use stream_observer::StreamObserver;
pub(crate) use tcp_receiver::{ReceiveMode, TcpReceiver, receive_buffer};
pub(crate) use tcp_sender::{TcpClose, TcpSender, await_close};
pub use test_limit::LimitReached;

pub(crate) use tcp_state::tcp_state;
pub(crate) use test_limit::{PlannedEnd, TestLimit};
pub(crate) use thread::{FlowContext, FlowWork, TaskOutcome};
pub(crate) use write_pacer::{BlockPolicy, WritePace, WritePacer, paced_block};
