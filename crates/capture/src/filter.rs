//! Which frames of a capture count.

use crate::dissect::PackedAddress;
use crate::flow::TupleEnd;
use crate::model::CapturedTransport;
use caudal_core::units::parse_duration;
use std::net::IpAddr;
use std::ops::Range;
use std::str::FromStr;
use std::time::Duration;

/// A choice of frames: every condition has to hold; one that is absent holds always.
///
/// Written as `host 10.0.0.1 and port 5201 and proto tcp and time 1s..3s`; commas may stand for `and`. `host` and `port` may be
/// given twice: then both ends have to match.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CaptureFilter {
    /// Addresses, each of which one of the two ends must have.
    pub hosts: Vec<IpAddr>,
    /// Ports, each of which one of the two ends must have.
    pub ports: Vec<u16>,
    /// The transport.
    pub transport: Option<CapturedTransport>,
    /// Time after the first frame of the capture.
    pub time: Option<Range<Duration>>,
}

/// A text that is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{term:?} is no condition: use host ADDRESS, port NUMBER, proto tcp|udp|icmp or time FROM..TO, joined by \"and\""
)]
pub struct UnknownCondition {
    /// The condition that is not understood.
    term: String,
}

impl CaptureFilter {
    /// `true` when every frame counts.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether a frame at this time after the first one counts.
    #[inline]
    pub(crate) fn takes_time(&self, since_start_ns: u64) -> bool {
        let at = Duration::from_nanos(since_start_ns);
        self.time.as_ref().is_none_or(|time| time.contains(&at))
    }

    /// `true` when the ends of a packet matter.
    pub(crate) fn is_about_ends(&self) -> bool {
        !self.hosts.is_empty() || !self.ports.is_empty() || self.transport.is_some()
    }

    /// Whether a packet between these ends counts. A packet without ports has none of those asked for.
    pub(crate) fn takes_ends(
        &self,
        one: TupleEnd,
        other: TupleEnd,
        transport: CapturedTransport,
        has_ports: bool,
    ) -> bool {
        let host = |host: &IpAddr| {
            let host = PackedAddress::from(*host);
            one.address == host || other.address == host
        };
        let port = |port: &u16| one.port == *port || other.port == *port;
        let both_hosts = match self.hosts.as_slice() {
            [first, second] if first != second => {
                let pair = [PackedAddress::from(*first), PackedAddress::from(*second)];
                pair == [one.address, other.address] || pair == [other.address, one.address]
            }
            hosts => hosts.iter().all(host),
        };
        let ports = match self.ports.as_slice() {
            [first, second] => {
                [*first, *second] == [one.port, other.port]
                    || [*second, *first] == [one.port, other.port]
            }
            ports => ports.iter().all(port),
        };
        both_hosts
            && (self.ports.is_empty() || has_ports && ports)
            && self.transport.is_none_or(|wanted| wanted == transport)
    }
}

impl FromStr for CaptureFilter {
    type Err = UnknownCondition;

    fn from_str(text: &str) -> Result<Self, UnknownCondition> {
        let mut filter = Self::default();
        let text = text.replace(',', " and ");
        let words: Vec<&str> = text.split_whitespace().collect();
        let terms = words.split(|word| matches!(*word, "and" | "&&"));
        for term in terms.filter(|term| !term.is_empty()) {
            add(&mut filter, term).ok_or_else(|| UnknownCondition {
                term: term.join(" "),
            })?;
        }
        Ok(filter)
    }
}

/// Adds one condition; `None` when it is none.
fn add(filter: &mut CaptureFilter, term: &[&str]) -> Option<()> {
    let transport = |name: &str| match name {
        "tcp" => Some(CapturedTransport::Tcp),
        "udp" => Some(CapturedTransport::Udp),
        "icmp" => Some(CapturedTransport::Icmp),
        _ => None,
    };
    match *term {
        ["host", host] if filter.hosts.len() < 2 => filter.hosts.push(host.parse().ok()?),
        ["port", port] if filter.ports.len() < 2 => filter.ports.push(port.parse().ok()?),
        ["proto", name] | [name] if filter.transport.is_none() => {
            filter.transport = Some(transport(name)?);
        }
        ["time", range] if filter.time.is_none() => {
            let (from, to) = range.split_once("..")?;
            let bound = |text: &str, otherwise| match text {
                "" => Some(otherwise),
                text => parse_duration(text).ok(),
            };
            let (from, to) = (bound(from, Duration::ZERO)?, bound(to, Duration::MAX)?);
            if from >= to {
                return None;
            }
            filter.time = Some(from..to);
        }
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_as_it_is_written() {
        let filter: CaptureFilter = "host 10.0.0.1 and port 5201, proto tcp and time 1s..3s"
            .parse()
            .unwrap();
        assert_eq!(filter.hosts, ["10.0.0.1".parse::<IpAddr>().unwrap()]);
        assert_eq!(
            (filter.ports.as_slice(), filter.transport),
            (&[5201][..], Some(CapturedTransport::Tcp))
        );
        assert_eq!(
            filter.time,
            Some(Duration::from_secs(1)..Duration::from_secs(3))
        );
        assert!("".parse::<CaptureFilter>().unwrap().is_empty());
        for wrong in [
            "host",
            "port 70000",
            "proto sctp",
            "time 3s..1s",
            "host a and b",
            "time 1s",
        ] {
            assert!(wrong.parse::<CaptureFilter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn two_hosts_are_both_ends() {
        let end = |address: &str, port| TupleEnd {
            address: address.parse::<IpAddr>().unwrap().into(),
            port,
        };
        let filter: CaptureFilter = "host 10.0.0.1 and host 10.0.0.2".parse().unwrap();
        let takes = |one, other| filter.takes_ends(one, other, CapturedTransport::Tcp, true);
        assert!(takes(end("10.0.0.2", 1), end("10.0.0.1", 2)));
        assert!(!takes(end("10.0.0.1", 1), end("10.0.0.3", 2)));
    }
}
