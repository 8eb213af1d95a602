//! The state that all threads of a server of iperf 2 share.

use super::handshakes::Handshakes;
use super::server_options::{Iperf2Options, OwnMachine};
use caudal_core::units::BitRate;
use caudal_engine::ClientRefusal;
use caudal_engine::admission::{Admission, PlaceLimits, Places};
use caudal_engine::server::{SessionEvent, SessionEventKind, SessionEventSender};
use caudal_flow::{AddressProof, PlannedEnd, StopSignal};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::interface::local_addresses;
use caudal_wire::iperf2::TestAmount;
use caudal_wire::protocol::Protocol;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

/// Maximum length of a block that a client may ask for, bytes.
pub(super) const MAX_BLOCK: u32 = 1 << 20;
/// The default rate of UDP, bit/s.
pub(super) const UDP_RATE: u64 = 1 << 20;
/// The default length of a block, bytes.
pub(super) const TCP_LENGTH: u32 = 128 << 10;

/// The state that all threads of a server of iperf 2 share.
pub(super) struct Iperf2State {
    pub(super) options: Iperf2Options,
    pub(super) admission: Admission,
    pub(super) stop: StopSignal,
    pub(super) handshakes: Handshakes,
    /// Connections that have not sent their header.
    pub(super) pending: Arc<Places>,
    events: SessionEventSender,
}

impl Iperf2State {
    pub(super) fn new(
        options: Iperf2Options,
        admission: Admission,
        events: SessionEventSender,
    ) -> io::Result<Self> {
        Ok(Self {
            options,
            admission,
            stop: StopSignal::new()?,
            handshakes: Handshakes::default(),
            pending: Places::new(PlaceLimits::PENDING),
            events,
        })
    }

    /// The number of the next connection.
    pub(super) fn next_number(&self) -> u32 {
        self.options.numbers.next()
    }

    pub(super) fn is_stopping(&self) -> bool {
        self.stop.is_requested()
    }

    pub(super) fn send_event(&self, session: u32, peer: SocketAddr, kind: SessionEventKind) {
        self.events.send(SessionEvent {
            session: u64::from(session),
            protocol: Protocol::Iperf2,
            peer: Some(peer),
            kind,
        });
    }

    /// Reports a client that was refused, or a part of its test that could not be carried out.
    pub(super) fn send_refused(&self, peer: SocketAddr, refusal: ClientRefusal) {
        self.send_event(0, peer, SessionEventKind::Refused(refusal));
    }

    /// The proof of an address that needs no handshake.
    pub(super) fn standing_proof(&self, address: IpAddr) -> Option<AddressProof> {
        let options = &self.options;
        if options
            .trusted
            .iter()
            .any(|network| network.contains(address))
        {
            return Some(AddressProof::TrustedNetwork);
        }
        let is_own =
            || address.is_loopback() || local_addresses().iter().any(|own| own.address == address);
        (options.own_machine == OwnMachine::Validated && is_own())
            .then_some(AddressProof::OwnMachine)
    }

    /// The proof of an address from which a flow begins; a handshake is used up by it.
    pub(super) fn proof(&self, address: IpAddr) -> Option<AddressProof> {
        self.standing_proof(address).or_else(|| {
            self.handshakes
                .take(address, monotonic_ns())
                .then_some(AddressProof::Handshake)
        })
    }

    /// The rate within the limit, bit/s.
    pub(super) fn limited_rate(&self, rate: Option<u64>) -> Option<u64> {
        let max = self.options.limits.max_rate.map(BitRate::bps);
        match (rate, max) {
            (Some(rate), Some(max)) => Some(rate.min(max)),
            (rate, max) => rate.or(max),
        }
    }

    /// The time and the bytes that a client asks for, within the limits.
    pub(super) fn limited_end(&self, amount: TestAmount) -> (Option<Duration>, Option<u64>) {
        let (time, bytes) = match amount {
            TestAmount::Hundredths(time) => {
                (Some(Duration::from_millis(u64::from(time) * 10)), None)
            }
            TestAmount::Bytes(0) => (None, None),
            TestAmount::Bytes(bytes) => (None, Some(u64::from(bytes))),
        };
        let time = match (time, self.options.limits.max_time) {
            (Some(time), Some(max)) => Some(time.min(max)),
            (time, max) => time.or(max),
        };
        (time, bytes)
    }

    /// The end of a client's upload of this amount.
    pub(super) fn planned_end(&self, amount: TestAmount) -> PlannedEnd {
        match (amount, self.options.limits.max_time) {
            (TestAmount::Hundredths(time), Some(max))
                if Duration::from_millis(u64::from(time) * 10) > max =>
            {
                PlannedEnd::Unknown
            }
            _ => PlannedEnd::ByItself,
        }
    }
}
