//! A client's test, whatever it goes over: what it asks for, and the legs that carry it.

use super::leg::{Carry, Leg, LegInfo};
use super::server::House;
use crate::bell::Bell;
use crate::carrier::Link;
use caudal_core::sample::Role;
use caudal_wire::iperf2::{Extended, TestHeader, Way};
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, RawFd};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// A test as its client's first bytes ask for it.
pub(super) struct Visit<'a> {
    pub house: &'a Arc<House>,
    /// What is asked for, where the client says.
    pub header: Option<TestHeader>,
    pub start_ns: u64,
    /// The first leg of the connection, and what its others have in common with it.
    pub info: LegInfo,
}

impl<'a> Visit<'a> {
    pub fn new(
        house: &'a Arc<House>,
        header: Option<TestHeader>,
        start_ns: u64,
        link: &Link,
        local: SocketAddr,
        peer: SocketAddr,
    ) -> Self {
        let (udp, socket): (bool, RawFd) = match link {
            Link::Tcp(stream) => (false, stream.as_raw_fd()),
            Link::Udp(socket) => (true, socket.as_raw_fd()),
        };
        let extended = header.and_then(|header| header.extended);
        let way = header.map_or(Way::Up, |header| header.way);
        let (group, members) = house.group(peer, udp, header.map_or(1, |header| header.threads));
        let info = LegInfo {
            number: house.numbers.fetch_add(1, Ordering::Relaxed) + 1,
            role: if way == Way::Reverse {
                Role::Sender
            } else {
                Role::Receiver
            },
            back: false,
            udp,
            local,
            peer,
            way,
            group,
            members,
            socket,
            version: extended.and_then(|extended| extended.version_text()),
            connecting: None,
            opened: None,
            no_udp_fin: false,
            trip_times: extended.is_some_and(|extended| extended.trip_times),
            tos: house.options.tos.unwrap_or(0),
        };
        Self {
            house,
            header,
            start_ns,
            info,
        }
    }

    /// What only clients since 2.1 say.
    pub fn extended(&self) -> Option<Extended> {
        self.header.and_then(|header| header.extended)
    }

    /// The rate that is asked for, bit/s.
    pub fn asked_rate(&self) -> Option<u64> {
        self.extended()
            .map(|extended| extended.rate)
            .filter(|rate| *rate > 0)
    }

    /// How long and how much, within the limits.
    pub fn end(&self) -> (Option<Duration>, Option<u64>) {
        self.header
            .map_or((self.house.options.max_time, None), |header| {
                self.house.end(header.amount)
            })
    }

    /// The leg on which this end sends.
    pub fn sender(&self) -> LegInfo {
        LegInfo {
            role: Role::Sender,
            back: self.info.way == Way::FullDuplex,
            ..self.info.clone()
        }
    }

    /// Puts a thread on a leg of the connection, of which `base` bytes have moved already.
    pub fn start(
        &self,
        info: LegInfo,
        link: &Arc<Link>,
        base: u64,
        bell: &Bell,
        carry: Carry,
    ) -> Result<Leg, String> {
        bell.ringer()
            .and_then(|ringer| {
                Leg::start(info, Arc::clone(link), base, self.start_ns, ringer, carry)
            })
            .map_err(|cause| cause.to_string())
    }
}
