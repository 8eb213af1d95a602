//! What a path did to the marks of packets.

use super::arrived::ArrivedMarks;
use super::dscp::Dscp;
use super::ecn::Ecn;
use crate::quantity::Unit;
use crate::warning::{Warning, WarningCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::fmt;

/// The marks with which packets were sent, and those with which they arrived.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MarkReport {
    /// The DSCP that they were sent with, 0 to 63.
    pub sent_dscp: u8,
    /// The ECN field that they were sent with.
    pub sent_ecn: Ecn,
    /// The marks as they arrived.
    #[serde(flatten)]
    pub arrived: ArrivedMarks,
}

/// A change of marks between the ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkChange {
    /// The DSCP was rewritten.
    Dscp {
        /// The one sent.
        sent: u8,
        /// The one that most of these arrived with.
        arrived: u8,
        /// Packets that arrived with another than the one sent.
        packets: u64,
        /// All packets counted.
        of: u64,
    },
    /// The ECN field was changed, other than to CE.
    Ecn {
        /// The one sent.
        sent: Ecn,
        /// The one that they arrived with.
        arrived: Ecn,
        /// Packets that did.
        packets: u64,
        /// All packets counted.
        of: u64,
    },
}

impl MarkReport {
    /// The changes that a path made, other than marking CE.
    #[must_use]
    pub fn changes(&self) -> Vec<MarkChange> {
        let of = self.arrived.packets();
        let others = self.arrived.dscp.iter();
        let others = others.filter(|one| one.dscp != self.sent_dscp && one.packets > 0);
        let most = others.clone().max_by_key(|one| one.packets);
        let packets = others.fold(0, |sum, one| one.packets.saturating_add(sum));
        let dscp = most.map(|most| MarkChange::Dscp {
            sent: self.sent_dscp,
            arrived: most.dscp,
            packets,
            of,
        });
        let is_change = |arrived: &Ecn| match (self.sent_ecn, *arrived) {
            // Only packets of a transport that is not capable are never to be marked.
            (Ecn::Ect0 | Ecn::Ect1, Ecn::Ce) => false,
            (sent, arrived) => sent != arrived,
        };
        let ecn = Ecn::ALL
            .into_iter()
            .filter(is_change)
            .map(|arrived| MarkChange::Ecn {
                sent: self.sent_ecn,
                arrived,
                packets: self.arrived.ecn.of(arrived),
                of,
            });
        let ecn = ecn.filter(|change| matches!(change, MarkChange::Ecn { packets: 1.., .. }));
        dscp.into_iter().chain(ecn).collect()
    }

    /// The share of the packets of an ECN-capable transport that were marked CE on the path; `None` where none could be.
    #[must_use]
    pub fn ce_share(&self) -> Option<f64> {
        let packets = self.arrived.packets();
        let is_capable = matches!(self.sent_ecn, Ecn::Ect0 | Ecn::Ect1);
        (is_capable && packets > 0).then(|| self.arrived.ecn.ce as f64 / packets as f64)
    }

    /// `true` where there is something to say: marks were asked for, or they changed.
    #[must_use]
    pub fn is_notable(&self) -> bool {
        self.sent_dscp != 0 || !self.sent_ecn.is_not_ect() || !self.changes().is_empty()
    }

    /// What is to be said of the marks, in one line: `EF, ECT(0) sent: 100 % arrived as 0 (rewritten on the path); CE 3.1 %`.
    #[must_use]
    pub fn sentence(&self) -> String {
        let sent = match self.sent_ecn {
            Ecn::NotEct => dscp_name(self.sent_dscp),
            ecn => format!("{}, {ecn}", dscp_name(self.sent_dscp)),
        };
        let changes = self.changes();
        let mut said: Vec<String> = changes.iter().map(ToString::to_string).collect();
        if changes.is_empty() {
            said.push("arrived as sent".to_owned());
        }
        if let Some(share) = self.ce_share().filter(|share| *share > 0.0) {
            said.push(format!("CE {} of packets", Unit::Share.show(share)));
        }
        format!("sent {sent}: {}", said.join("; "))
    }

    /// The warnings about changes, about packets `whose` direction is named.
    #[must_use]
    pub fn warnings(&self, whose: &str) -> Vec<Warning> {
        let warning = |change: MarkChange| {
            let code = match change {
                MarkChange::Dscp { .. } => WarningCode::DscpRewritten,
                MarkChange::Ecn { .. } => WarningCode::EcnChanged,
            };
            let sent = match change {
                MarkChange::Dscp { sent, .. } => dscp_name(sent),
                MarkChange::Ecn { sent, .. } => sent.to_string(),
            };
            Warning::new(code, format!("{whose}: of packets sent {sent}, {change}"))
        };
        self.changes().into_iter().map(warning).collect()
    }
}

impl fmt::Display for MarkChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (packets, of, arrived) = match self {
            Self::Dscp {
                packets,
                of,
                arrived,
                ..
            } => (*packets, *of, dscp_name(*arrived)),
            Self::Ecn {
                packets,
                of,
                arrived,
                ..
            } => (*packets, *of, arrived.to_string()),
        };
        let share = match packets == of {
            true => "100 %".to_owned(),
            false => Unit::Share.show(packets as f64 / of.max(1) as f64),
        };
        let how = match self {
            Self::Ecn {
                arrived: Ecn::NotEct,
                ..
            } => "cleared",
            Self::Dscp { .. } => "rewritten",
            Self::Ecn { .. } => "changed",
        };
        write!(f, "{share} arrived as {arrived} ({how} on the path)")
    }
}

/// The name of a code point; 0 is the default.
fn dscp_name(dscp: u8) -> String {
    match dscp {
        0 => "DSCP 0".to_owned(),
        other => Dscp::from_tos(other << 2).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::arrived::{DscpCount, EcnCounts};
    use super::*;

    fn report(sent_dscp: u8, sent_ecn: Ecn, dscp: &[(u8, u64)], ecn: [u64; 4]) -> MarkReport {
        let dscp = dscp
            .iter()
            .map(|&(dscp, packets)| DscpCount { dscp, packets });
        let [not_ect, ect1, ect0, ce] = ecn;
        MarkReport {
            sent_dscp,
            sent_ecn,
            arrived: ArrivedMarks {
                dscp: dscp.collect(),
                ecn: EcnCounts {
                    not_ect,
                    ect0,
                    ect1,
                    ce,
                },
            },
        }
    }

    #[test]
    fn what_a_path_did_is_said_in_a_line() {
        let table = [
            (
                report(46, Ecn::NotEct, &[(0, 100)], [100, 0, 0, 0]),
                "sent EF: 100 % arrived as DSCP 0 (rewritten on the path)",
            ),
            (
                report(46, Ecn::NotEct, &[(46, 100)], [100, 0, 0, 0]),
                "sent EF: arrived as sent",
            ),
            (
                report(0, Ecn::Ect0, &[(0, 1000)], [0, 0, 969, 31]),
                "sent DSCP 0, ECT(0): arrived as sent; CE 3.100 % of packets",
            ),
            (
                report(0, Ecn::Ect0, &[(0, 1000)], [1000, 0, 0, 0]),
                "sent DSCP 0, ECT(0): 100 % arrived as Not-ECT (cleared on the path)",
            ),
            (
                report(0, Ecn::Ect1, &[(0, 1000)], [0, 500, 500, 0]),
                "sent DSCP 0, ECT(1): 50 % arrived as ECT(0) (changed on the path)",
            ),
        ];
        for (report, sentence) in table {
            assert_eq!(report.sentence(), sentence);
        }
    }

    #[test]
    fn congestion_marks_are_no_change_but_of_what_was_not_capable() {
        let marked = report(0, Ecn::Ect0, &[(0, 10)], [0, 0, 9, 1]);
        assert!(marked.changes().is_empty() && marked.warnings("upload").is_empty());
        assert_eq!(marked.ce_share(), Some(0.1));
        let wrong = report(0, Ecn::NotEct, &[(0, 10)], [9, 0, 0, 1]);
        let warnings = wrong.warnings("upload");
        assert_eq!(warnings.len(), 1);
        assert_eq!(warnings[0].code, WarningCode::EcnChanged);
        let plain = report(0, Ecn::NotEct, &[(0, 10)], [10, 0, 0, 0]);
        assert!(!plain.is_notable() && wrong.is_notable());
    }
}
