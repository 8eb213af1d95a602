//! Probes with marks in their IP header, and what hops quote of them.
//!
//! Each kind of probe is a UDP datagram towards a port that nobody listens on, with every TTL; a router that drops it, and the host, quote its header
//! in an ICMP error with the marks that it arrived with.

use caudal_core::path::{MarkTrace, ProbeMarks, QuotedMarks};
use caudal_sys::clock::monotonic_ns;
use caudal_sys::icmp_quote::{MarkedSender, QuoteReceiver, QuotedDatagram};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

/// The destination port of a probe with TTL 0, that of traceroute(8).
const FIRST_PORT: u16 = 33_434;
/// Times that a hop is probed which has not answered: Linux answers six times at once, and then once a second.
const ROUNDS: usize = 3;
/// The time between two probes.
const GAP: Duration = Duration::from_millis(2);
/// The time for answers to the probes of a round.
const PATIENCE: Duration = Duration::from_millis(1100);
/// What probes carry.
const PAYLOAD: &[u8] = b"caudal path --marks";

/// The probes to send.
#[derive(Debug, Clone)]
pub struct MarkProbing {
    /// The host at the end of the path.
    pub host: IpAddr,
    /// The local address; `None` for any.
    pub local: Option<IpAddr>,
    /// The largest TTL.
    pub max_ttl: u8,
    /// The marks to try, each with probes of its own.
    pub marks: Vec<ProbeMarks>,
}

/// One kind of probe while it is sent.
struct Kind {
    sent: ProbeMarks,
    sender: MarkedSender,
    port: u16,
    /// What hops quote, by TTL, with the address and whether it is the host.
    quoted: BTreeMap<u8, QuotedMarks>,
    /// The TTL at which the host answers, once it has.
    host_ttl: Option<u8>,
}

impl Kind {
    /// The TTLs that are still to be answered.
    fn is_wanted(&self, ttl: u8) -> bool {
        !self.quoted.contains_key(&ttl) && self.host_ttl.is_none_or(|last| ttl < last)
    }

    fn take(&mut self, quoted: &QuotedDatagram) {
        let ttl = quoted.destination_port.wrapping_sub(FIRST_PORT);
        let Ok(ttl) = u8::try_from(ttl) else { return };
        if !quoted.is_time_exceeded {
            self.host_ttl = Some(self.host_ttl.map_or(ttl, |known| known.min(ttl)));
        }
        self.quoted.entry(ttl).or_insert(QuotedMarks {
            ttl,
            address: quoted.offender,
            marks: ProbeMarks::from_tos(quoted.tos),
        });
    }

    fn trace(self) -> MarkTrace {
        let last = self.host_ttl.unwrap_or(u8::MAX);
        let hops = self.quoted.into_values();
        MarkTrace::new(self.sent, hops.filter(|hop| hop.ttl <= last).collect())
    }
}

impl MarkProbing {
    /// Sends the probes and collects what is quoted, until every hop has answered or had its time, or `is_over` says so.
    ///
    /// # Errors
    /// `EPERM` without `CAP_NET_RAW`; any error of the sockets.
    pub fn carry_out(&self, mut is_over: impl FnMut() -> bool) -> io::Result<Vec<MarkTrace>> {
        let receiver = QuoteReceiver::open(self.host.is_ipv6())?;
        let mut kinds = self
            .marks
            .iter()
            .map(|marks| {
                let sender = MarkedSender::open(self.local, self.host, marks.tos())?;
                Ok(Kind {
                    sent: *marks,
                    port: sender.port()?,
                    sender,
                    quoted: BTreeMap::new(),
                    host_ttl: None,
                })
            })
            .collect::<io::Result<Vec<Kind>>>()?;
        for _ in 0..ROUNDS {
            if is_over() {
                break;
            }
            for ttl in 1..=self.max_ttl {
                let wanted: Vec<usize> = (0..kinds.len())
                    .filter(|nth| kinds[*nth].is_wanted(ttl))
                    .collect();
                for nth in wanted {
                    let to = SocketAddr::new(self.host, FIRST_PORT + u16::from(ttl));
                    // An error is that of an earlier probe, which its answer tells of too.
                    let _ = kinds[nth].sender.send(to, ttl, PAYLOAD);
                    self.take(&receiver, &mut kinds, GAP)?;
                }
            }
            let until_ns = monotonic_ns() + PATIENCE.as_nanos() as u64;
            let is_complete = |kinds: &[Kind]| {
                let mut kinds = kinds.iter();
                kinds.all(|kind| (1..=self.max_ttl).all(|ttl| !kind.is_wanted(ttl)))
            };
            while monotonic_ns() < until_ns && !is_complete(&kinds) && !is_over() {
                self.take(&receiver, &mut kinds, Duration::from_millis(50))?;
            }
            if is_complete(&kinds) {
                break;
            }
        }
        Ok(kinds.into_iter().map(Kind::trace).collect())
    }

    /// Takes what arrives within `time`.
    fn take(&self, receiver: &QuoteReceiver, kinds: &mut [Kind], time: Duration) -> io::Result<()> {
        let until_ns = monotonic_ns() + time.as_nanos() as u64;
        loop {
            let left_ns = until_ns.saturating_sub(monotonic_ns());
            if left_ns == 0 {
                return Ok(());
            }
            let quoted = match receiver.receive(Duration::from_nanos(left_ns)) {
                Ok(quoted) => quoted,
                Err(cause) if cause.kind() == io::ErrorKind::Interrupted => None,
                Err(cause) => return Err(cause),
            };
            let Some(quoted) = quoted.filter(|one| one.destination == self.host.to_canonical())
            else {
                continue;
            };
            if let Some(kind) = kinds
                .iter_mut()
                .find(|kind| kind.port == quoted.source_port)
            {
                kind.take(&quoted);
            }
        }
    }
}
