//! The data path: a thread for each end of a flow, the loops that send and receive, and the counters they write.
//!
//! Every protocol and workload uses these loops. What differs between protocols is a value
//! ([`TcpClose`], [`UnsentDatagrams`]) or a small trait ([`DatagramFormat`], [`DatagramReader`]). What the loops stand on is here as
//! well: sockets as a plan asks for them (module `socket`), the validation of addresses, the memory of a server's clients, and the
//! errors of a test.
#![forbid(unsafe_code)]

mod address_validation;
mod budget;
mod client_source;
mod connection_reader;
mod counters;
mod credit;
mod datagram_account;
mod datagram_format;
mod datagram_reader;
mod datagram_receiver;
mod datagram_sender;
mod departure_wait;
mod error;
mod file_error;
mod flow_survey;
mod interrupt;
mod memory;
mod opening;
mod out_of_order;
mod pacer;
mod payload;
mod peer_close;
mod read_some;
mod receive_nap;
pub mod rtt;
mod send_refusal;
mod sender_state;
mod session_limits;
mod set;
mod signals;
pub mod socket;
mod socket_memory;
mod stop;
mod target;
mod tcp_receiver;
mod tcp_sender;
mod tcp_sender_watch;
mod tcp_state;
mod test_limit;
mod thread;
mod transit;
mod varying_rate;
mod wake_up_error;
mod wakeup;
mod wakeup_threshold;
mod write_pacer;

pub use address_validation::{AddressProof, AntiAmplificationLimit, UnvalidatedSocket};
pub use budget::ByteBudget;
pub use client_source::ClientSource;
pub use counters::FlowCounters;
pub use credit::{CreditGrant, CreditId};
pub use datagram_account::DatagramAccount;
pub use datagram_format::{DatagramFormat, SenderClock, Stamp};
pub use datagram_reader::{DatagramReader, ReceiveStep, ReceiverView};
pub use datagram_receiver::DatagramReceiver;
pub use datagram_sender::{
    DatagramLimit, DatagramPace, DatagramSender, MAX_BATCH, SendGrouping, UnsentDatagrams,
};
pub use error::{RunError, Unsupported, needed_descriptors, too_many_files};
pub use file_error::TransferFileError;
pub use flow_survey::{FlowSurvey, SurveyedFlow};
pub use interrupt::UserInterrupt;
pub use memory::{MemoryBudget, MemoryExhausted, MemoryReservation};
pub use opening::{UnvalidatedFlow, next_opening_datagram, random_bytes, reply_to_proof};
pub use payload::{Payload, StampBlock};
pub use peer_close::{PeerClose, await_close};
pub use read_some::read_some;
pub use session_limits::SessionLimits;
pub use set::{FlowSet, NewFlow, StopAction, role};
pub use signals::{FlowSignals, StartGate};
pub use stop::{StopSignal, join_finished, join_within};
pub use target::{AddressFamily, LocalBinding, Target};
pub use tcp_receiver::{ReceiveMode, StreamObserver, TcpReceiver, receive_buffer};
pub use tcp_sender::{TcpClose, TcpSender};
pub use tcp_sender_watch::{TcpSenderCourse, TcpSenderWatch};
pub use tcp_state::tcp_state;
pub use test_limit::{LimitReached, PlannedEnd, TestLimit};
pub use thread::{FlowContext, FlowWork, TaskOutcome};
pub use transit::TransitCounters;
pub use wakeup::{Waker, Wakeup};
pub use write_pacer::{BlockPolicy, WritePace, WritePacer, paced_block};
