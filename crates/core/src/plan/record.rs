//! A plan as documents and messages carry it: one flat object, whose `kind` tells which keys it has.

use super::bulk::BulkPlanRecord;
use super::connect::ConnectPlanRecord;
use super::echo::RttPlanRecord;
use super::quality::QualityPlanRecord;
use super::stamp::StampPlanRecord;
use super::terms::{Directions, Rate, Transport};
use super::transfer::FilePlanRecord;
use super::workloads::{PlanKind, PlanRecord};
use crate::text::ExternalText;

impl Default for PlanRecord {
    fn default() -> Self {
        Self::Unknown(BulkPlanRecord::default())
    }
}

impl PlanRecord {
    /// The plan of a bulk transfer over this transport, as far as it is known.
    #[must_use]
    pub fn bulk_transfer(transport: Option<Transport>, keys: BulkPlanRecord) -> Self {
        let keys = BulkPlanRecord { transport, ..keys };
        match transport {
            Some(Transport::Tcp) => Self::Tcp(keys),
            Some(Transport::Udp) => Self::Udp(keys),
            None => Self::Unknown(keys),
        }
    }

    /// This plan, carried out with a peer of this address and port.
    #[must_use]
    pub fn with_peer(mut self, address: impl Into<ExternalText>) -> Self {
        self.keys_mut().set_peer(address.into());
        self
    }

    /// The workload; where the record does not name it, that of its transport.
    #[must_use]
    pub fn kind(&self) -> Option<PlanKind> {
        self.named_kind().or_else(|| match self.transport()? {
            Transport::Tcp => Some(PlanKind::Tcp),
            Transport::Udp => Some(PlanKind::Udp),
        })
    }

    /// The server's address and port.
    #[must_use]
    pub fn peer(&self) -> Option<&ExternalText> {
        self.keys().peer()
    }

    /// The transport protocol.
    #[must_use]
    pub fn transport(&self) -> Option<Transport> {
        self.keys().transport()
    }

    /// The directions measured; `None` for a workload without a choice of them.
    #[must_use]
    pub fn directions(&self) -> Option<Directions> {
        self.keys().directions()
    }

    /// The rate asked of each flow; `None` for a workload without one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.keys().rate()
    }

    /// The plan of a bulk transfer; `None` for any other workload.
    #[must_use]
    pub const fn bulk(&self) -> Option<&BulkPlanRecord> {
        match self {
            Self::Tcp(plan) | Self::Udp(plan) | Self::Unknown(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a round-trip test; `None` for any other workload.
    #[must_use]
    pub const fn rtt(&self) -> Option<&RttPlanRecord> {
        match self {
            Self::Rtt(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a test of the connection rate; `None` for any other workload.
    #[must_use]
    pub const fn connect(&self) -> Option<&ConnectPlanRecord> {
        match self {
            Self::Connect(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a test of latency under load; `None` for any other workload.
    #[must_use]
    pub const fn quality(&self) -> Option<&QualityPlanRecord> {
        match self {
            Self::Quality(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a test with STAMP; `None` for any other workload.
    #[must_use]
    pub const fn stamp(&self) -> Option<&StampPlanRecord> {
        match self {
            Self::Stamp(plan) => Some(plan),
            _ => None,
        }
    }

    /// The plan of a file transfer; `None` for any other workload.
    #[must_use]
    pub const fn file(&self) -> Option<&FilePlanRecord> {
        match self {
            Self::File(plan) => Some(plan),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{
        BulkPlan, Direction, Omit, Pacing, Plan, RecordError, TcpPlan, TestEnd, TransferContent,
        TransferPlan, TransferSink, TransferVia, UdpPlan,
    };
    use super::*;
    use crate::units::ByteCount;
    use std::time::Duration;

    fn tcp() -> Plan {
        Plan::Tcp(TcpPlan {
            bulk: BulkPlan {
                directions: Directions::Both,
                parallel: 2,
                end: TestEnd::Time(Duration::from_secs(10)),
                interval: Duration::from_secs(1),
                omit: Omit::Time(Duration::from_millis(1500)),
                rate: Rate::Max,
                length: 128 << 10,
                window: None,
                dscp: Some(10),
                same_machine: true,
            },
            mss: None,
            congestion: Some("cubic".to_owned()),
            no_delay: true,
            mptcp: false,
            discard: false,
            zero_copy: true,
            ask_ecn: None,
        })
    }

    #[test]
    fn a_plan_survives_the_trip_through_json() {
        let text = serde_json::to_string(&PlanRecord::from(&tcp())).unwrap();
        let record: PlanRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(Plan::try_from(&record), Ok(tcp()));
    }

    #[test]
    fn the_pacing_of_a_udp_plan_survives_the_trip_and_is_precise_where_it_is_absent() {
        let Plan::Tcp(tcp) = tcp() else {
            panic!("another plan");
        };
        for pacing in [Pacing::Precise, Pacing::Balanced] {
            let plan = Plan::Udp(UdpPlan {
                bulk: tcp.bulk.clone(),
                verify: false,
                pacing,
                ecn: crate::marks::Ecn::Ect1,
            });
            let record = PlanRecord::from(&plan);
            let text = serde_json::to_string(&record).unwrap();
            assert!(text.contains(&format!(r#""pacing":"{}""#, pacing.name())));
            let again: PlanRecord = serde_json::from_str(&text).unwrap();
            assert_eq!(Plan::try_from(&again), Ok(plan));
            let first_version = PlanRecord::Udp(BulkPlanRecord {
                pacing: None,
                ..record.bulk().unwrap().clone()
            });
            assert!(matches!(
                Plan::try_from(&first_version),
                Ok(Plan::Udp(UdpPlan {
                    pacing: Pacing::Precise,
                    ..
                }))
            ));
        }
    }

    #[test]
    fn a_file_transfer_survives_the_trip_through_json() {
        let plan = Plan::Transfer(TransferPlan {
            via: TransferVia::Quic,
            direction: Direction::Down,
            content: TransferContent::Generated {
                bytes: ByteCount::new(1_000_000),
                seed: 7,
                from_file: true,
            },
            sink: TransferSink::SyncedFile,
            resume_from: ByteCount::new(0),
            resume: false,
            overwrite: true,
            preserve: false,
            sparse: false,
            rate: Rate::Max,
            congestion: None,
            dscp: None,
            interval: Duration::from_millis(100),
            same_machine: true,
            certificate: Some("ab".repeat(32)),
        });
        let text = serde_json::to_string(&PlanRecord::from(&plan)).unwrap();
        assert!(text.contains(r#""kind":"file""#), "{text}");
        let record: PlanRecord = serde_json::from_str(&text).unwrap();
        assert_eq!(Plan::try_from(&record), Ok(plan));
    }

    #[test]
    fn a_setting_left_to_the_kernel_is_null_and_one_not_known_is_absent() {
        let own = serde_json::to_value(PlanRecord::from(&tcp())).unwrap();
        assert!(own["mss"].is_null() && own.get("mss").is_some());
        let log = PlanRecord::Udp(BulkPlanRecord::default());
        assert_eq!(serde_json::to_string(&log).unwrap(), r#"{"kind":"udp"}"#);
        assert_eq!(
            Plan::try_from(&log),
            Err(RecordError::Missing("directions"))
        );
    }

    #[test]
    fn a_record_without_a_kind_is_of_the_kind_of_its_transport_and_is_written_as_it_was() {
        let text = r#"{"peer":"a:1","transport":"udp","parallel":2}"#;
        let record: PlanRecord = serde_json::from_str(text).unwrap();
        assert_eq!(record.kind(), Some(PlanKind::Udp));
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        assert_eq!(Plan::try_from(&record), Err(RecordError::Missing("kind")));
        let nothing: PlanRecord = serde_json::from_str("{}").unwrap();
        assert_eq!((nothing.kind(), nothing), (None, PlanRecord::default()));
    }

    #[test]
    fn a_kind_is_called_as_in_documents() {
        for kind in PlanKind::ALL {
            let written = serde_json::to_string(&kind).unwrap();
            assert_eq!(written, format!("\"{}\"", kind.name()));
        }
    }

    #[test]
    fn a_record_of_a_kind_that_is_not_known_or_with_a_wrong_key_is_an_error() {
        for text in [
            r#"{"kind":"dance"}"#,
            r#"{"kind":"quality","phases":7}"#,
            r#"{"kind":"rtt","clients":"many"}"#,
        ] {
            assert!(serde_json::from_str::<PlanRecord>(text).is_err(), "{text}");
        }
    }
}
