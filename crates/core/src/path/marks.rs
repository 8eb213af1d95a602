//! What the hops of a path quote of the marks of probes.

use crate::marks::{Dscp, Ecn};
use crate::warning::{Warning, WarningCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::IpAddr;

/// The marks of the IP header of a probe, or as a hop quotes them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProbeMarks {
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// The ECN field.
    pub ecn: Ecn,
}

impl ProbeMarks {
    /// Those of a type-of-service byte, or traffic class.
    #[must_use]
    pub const fn from_tos(tos: u8) -> Self {
        Self {
            dscp: tos >> 2,
            ecn: Ecn::from_tos(tos),
        }
    }

    /// That byte.
    #[must_use]
    pub const fn tos(self) -> u8 {
        self.dscp << 2 | self.ecn.bits()
    }
}

impl fmt::Display for ProbeMarks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.dscp {
            0 => write!(f, "DSCP 0, {}", self.ecn),
            dscp => write!(f, "{}, {}", Dscp::from_tos(dscp << 2), self.ecn),
        }
    }
}

/// The marks of one kind of probe along the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkTrace {
    /// The marks that its probes were sent with.
    pub sent: ProbeMarks,
    /// What each hop quotes that answered, by TTL.
    pub hops: Vec<QuotedMarks>,
    /// Where they change.
    pub changes: Vec<MarkChangeAt>,
}

/// The marks that a hop quotes: those with which probes arrived there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct QuotedMarks {
    /// The TTL.
    pub ttl: u8,
    /// The address that answered.
    pub address: IpAddr,
    /// The marks.
    pub marks: ProbeMarks,
}

/// A change of marks on the path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkChangeAt {
    /// The marks before it.
    pub from: ProbeMarks,
    /// The marks after it.
    pub to: ProbeMarks,
    /// The last hop that they reached unchanged; absent for a change before the first hop that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after_ttl: Option<u8>,
    /// The address of that hop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<IpAddr>,
    /// The first hop that they reached changed.
    pub at_ttl: u8,
    /// Its address.
    pub at: IpAddr,
}

impl MarkTrace {
    /// The trace of probes with these marks by what the hops quote, in the order of their TTL.
    ///
    /// A mark of congestion (CE) of an ECN-capable probe is no change.
    #[must_use]
    pub fn new(sent: ProbeMarks, hops: Vec<QuotedMarks>) -> Self {
        let mut changes = Vec::new();
        let mut last: (ProbeMarks, Option<&QuotedMarks>) = (sent, None);
        for hop in &hops {
            let (before, reached) = last;
            let is_congestion = hop.marks.ecn == Ecn::Ce && before.ecn != Ecn::NotEct;
            let now = ProbeMarks {
                ecn: if is_congestion {
                    before.ecn
                } else {
                    hop.marks.ecn
                },
                ..hop.marks
            };
            if now != before {
                changes.push(MarkChangeAt {
                    from: before,
                    to: now,
                    after_ttl: reached.map(|hop| hop.ttl),
                    after: reached.map(|hop| hop.address),
                    at_ttl: hop.ttl,
                    at: hop.address,
                });
            }
            last = (now, Some(hop));
        }
        Self {
            sent,
            hops,
            changes,
        }
    }

    /// The warnings about changes.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let changes = self.changes.iter();
        let warning = |change: &MarkChangeAt| {
            let code = match change.from.dscp == change.to.dscp {
                true => WarningCode::EcnChanged,
                false => WarningCode::DscpRewritten,
            };
            Warning::new(code, change.to_string())
                .with_remedy("look at what that hop, or a device before the next, does to marks")
        };
        changes.map(warning).collect()
    }
}

impl fmt::Display for MarkChangeAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} becomes {} ", self.from, self.to)?;
        match (self.after_ttl, self.after) {
            (Some(ttl), Some(address)) => write!(
                f,
                "between hop {ttl} ({address}), which it reaches, and hop {} ({})",
                self.at_ttl, self.at
            ),
            _ => write!(
                f,
                "at this host or before hop {} ({})",
                self.at_ttl, self.at
            ),
        }
    }
}

impl fmt::Display for MarkTrace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(last) = self.hops.last() else {
            return write!(
                f,
                "marks: cannot tell what becomes of {}: no hop quotes it",
                self.sent
            );
        };
        if self.changes.is_empty() {
            return write!(
                f,
                "marks: {} reaches hop {} ({}) unchanged",
                self.sent, last.ttl, last.address
            );
        }
        let changes: Vec<String> = self.changes.iter().map(ToString::to_string).collect();
        write!(f, "marks: {}", changes.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(ttl: u8, tos: u8) -> QuotedMarks {
        QuotedMarks {
            ttl,
            address: IpAddr::from([192, 0, 2, ttl]),
            marks: ProbeMarks::from_tos(tos),
        }
    }

    #[test]
    fn the_hop_that_changes_marks_is_between_two_that_quote_them() {
        let sent = ProbeMarks::from_tos(0xba);
        let trace = MarkTrace::new(sent, vec![hop(1, 0xba), hop(2, 0xba), hop(4, 0x02)]);
        assert_eq!(
            trace.to_string(),
            "marks: EF, ECT(0) becomes DSCP 0, ECT(0) between hop 2 (192.0.2.2), which it reaches, and hop 4 (192.0.2.4)"
        );
        assert_eq!(trace.warnings()[0].code, WarningCode::DscpRewritten);
        // Another one behind it: the field is cleared.
        let trace = MarkTrace::new(sent, vec![hop(1, 0x02), hop(2, 0x00)]);
        assert_eq!(trace.changes.len(), 2);
        assert!(trace.to_string().contains("at this host or before hop 1"));
        assert_eq!(trace.warnings()[1].code, WarningCode::EcnChanged);
    }

    #[test]
    fn a_mark_of_congestion_is_no_change_and_silence_is_none_either() {
        let sent = ProbeMarks::from_tos(0x02);
        let trace = MarkTrace::new(sent, vec![hop(1, 0x02), hop(2, 0x03), hop(3, 0x02)]);
        assert_eq!(trace.changes, []);
        assert_eq!(
            trace.to_string(),
            "marks: DSCP 0, ECT(0) reaches hop 3 (192.0.2.3) unchanged"
        );
        assert!(
            MarkTrace::new(sent, Vec::new())
                .to_string()
                .contains("cannot tell")
        );
    }
}
