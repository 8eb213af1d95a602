//! A plan as documents and messages carry it: one flat object.

use super::bulk::BulkPlan;
use super::echo::{EchoPlan, EchoSchedule};
use super::plan::Plan;
use super::quality::{PlannedPhase, ProbePeriods, QualityPlan};
use super::tcp::TcpPlan;
use super::terms::{Direction, Directions, Omit, Pacing, Rate, TestEnd, Transport};
use super::trains::{PlannedTrains, TrainsPlan};
use super::transfer::{TransferContent, TransferPlan, TransferSink, TransferVia};
use super::udp::UdpPlan;
use crate::text::ExternalText;
use crate::units::ByteCount;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use std::time::Duration;

/// The workload of a recorded test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanKind {
    /// A bulk transfer over TCP.
    Tcp,
    /// A bulk transfer over UDP.
    Udp,
    /// Round trips.
    Rtt,
    /// Latency under load.
    Quality,
    /// A file transfer.
    File,
    /// The probing of a path.
    Path,
}

/// A plan as far as it is known. A plan of caudal has every key of its kind; one read from another
/// tool's log has the keys that the log holds.
///
/// A setting that may be left to the kernel (`window`, `mss`, `congestion`, `dscp`) is null where it was, and absent where
/// nothing is known of it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PlanRecord {
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<PlanKind>,
    /// The server's address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peer: Option<ExternalText>,
    /// The transport protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<Transport>,
    /// The directions measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directions: Option<Directions>,
    /// Flows in each direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parallel: Option<u32>,
    /// The condition that ends the test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end: Option<TestEnd>,
    /// The reporting interval, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_ns: Option<u64>,
    /// The warm-up excluded from the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub omit: Option<Omit>,
    /// The rate asked of each flow.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Payload bytes of one send (TCP) or of a datagram (UDP).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub length: Option<u64>,
    /// Socket buffers asked for, bytes; null leaves them to the kernel (TCP) or to caudal (UDP).
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub window: Option<Option<ByteCount>>,
    /// The maximum segment size asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub mss: Option<Option<u32>>,
    /// The congestion control asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub congestion: Option<Option<ExternalText>>,
    /// `true` when Nagle's algorithm is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_delay: Option<bool>,
    /// The DSCP asked for.
    #[serde(
        default,
        deserialize_with = "nullable",
        skip_serializing_if = "Option::is_none"
    )]
    pub dscp: Option<Option<u8>>,
    /// `true` when flows are opened as Multipath TCP.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mptcp: Option<bool>,
    /// `true` when the receiver drops payload inside the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub discard: Option<bool>,
    /// `true` when the sender hands over pages instead of copying.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zero_copy: Option<bool>,
    /// `true` when the receiver compares every payload byte.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verify: Option<bool>,
    /// The way UDP senders with a rate wait for the next departure; absent in a plan of a version that was always precise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pacing: Option<Pacing>,
    /// `true` when both ends are one machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub same_machine: Option<bool>,
    /// Connections of a round-trip test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<u32>,
    /// Message sizes in bytes, in the order they are measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<u32>>,
    /// Messages counted for each size and client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// The times at which messages are sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<EchoSchedule>,
    /// The time allowed for a reply, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_ns: Option<u64>,
    /// The phases of a test of latency under load, in their order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phases: Option<Vec<PlannedPhase>>,
    /// The time between the starts of two flows of a direction, ns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stagger_ns: Option<u64>,
    /// The periods of the probes beside the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probes: Option<ProbePeriods>,
    /// The protocol that carries a file, with its settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub via: Option<TransferVia>,
    /// The content that is transferred.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content: Option<TransferContent>,
    /// Where the receiver puts it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sink: Option<TransferSink>,
    /// Bytes that the receiver had from an earlier transfer: this one begins behind them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_from: Option<ByteCount>,
    /// `true` when a transfer that was broken off is to be continued.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume: Option<bool>,
    /// `true` when an existing file is replaced.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub overwrite: Option<bool>,
    /// The BLAKE3 fingerprint of the server's certificate, hexadecimal (TLS, QUIC).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// The largest TTL of probes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ttl: Option<u8>,
    /// Trains of datagrams, by their direction.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trains: Option<PlannedTrains>,
    /// The seed of a random schedule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
}

/// Reads a key that is there: null is a value, absence is not.
fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// A record that lacks what a plan needs, or holds what no plan can have.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// A key is missing.
    #[error("the plan has no {0:?}")]
    Missing(&'static str),
    /// A path is probed from one end, without a peer that would carry a part of it out.
    #[error("a path is probed by one end alone")]
    OneEnded,
    /// A number is too large for its key.
    #[error("the plan's {0:?} is out of range")]
    OutOfRange(&'static str),
}

impl From<&Plan> for PlanRecord {
    fn from(plan: &Plan) -> Self {
        match plan {
            Plan::Tcp(plan) => Self {
                kind: Some(PlanKind::Tcp),
                transport: Some(Transport::Tcp),
                mss: Some(plan.mss),
                congestion: Some(plan.congestion.as_deref().map(Into::into)),
                no_delay: Some(plan.no_delay),
                mptcp: Some(plan.mptcp),
                discard: Some(plan.discard),
                zero_copy: Some(plan.zero_copy),
                ..Self::of_bulk(&plan.bulk)
            },
            Plan::Udp(plan) => Self {
                kind: Some(PlanKind::Udp),
                transport: Some(Transport::Udp),
                verify: Some(plan.verify),
                pacing: Some(plan.pacing),
                ..Self::of_bulk(&plan.bulk)
            },
            Plan::Echo(plan) => Self {
                kind: Some(PlanKind::Rtt),
                transport: Some(plan.transport),
                clients: Some(plan.clients),
                sizes: Some(plan.sizes.clone()),
                count: Some(plan.count),
                schedule: Some(plan.schedule),
                timeout_ns: Some(whole_nanoseconds(plan.timeout)),
                no_delay: Some(plan.no_delay),
                congestion: Some(plan.congestion.as_deref().map(Into::into)),
                dscp: Some(plan.dscp),
                window: Some(plan.window),
                ..Self::default()
            },
            Plan::Quality(plan) => Self::of_quality(plan),
            Plan::Transfer(plan) => Self::of_transfer(plan),
            Plan::Trains(plan) => Self {
                kind: Some(PlanKind::Path),
                transport: Some(Transport::Udp),
                dscp: Some(plan.dscp),
                trains: Some(plan.series),
                ..Self::default()
            },
        }
    }
}

impl PlanRecord {
    /// The keys of every bulk transfer: those of one transport alone are there for both, unset.
    fn of_bulk(bulk: &BulkPlan) -> Self {
        Self {
            directions: Some(bulk.directions),
            parallel: Some(bulk.parallel),
            end: Some(bulk.end),
            interval_ns: Some(whole_nanoseconds(bulk.interval)),
            omit: Some(bulk.omit),
            rate: Some(bulk.rate),
            length: Some(u64::from(bulk.length)),
            window: Some(bulk.window),
            mss: Some(None),
            congestion: Some(None),
            no_delay: Some(false),
            dscp: Some(bulk.dscp),
            mptcp: Some(false),
            discard: Some(false),
            zero_copy: Some(false),
            verify: Some(false),
            same_machine: Some(bulk.same_machine),
            ..Self::default()
        }
    }

    fn of_quality(plan: &QualityPlan) -> Self {
        Self {
            kind: Some(PlanKind::Quality),
            transport: Some(Transport::Tcp),
            parallel: Some(plan.parallel),
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            rate: Some(plan.rate),
            congestion: Some(plan.congestion.as_deref().map(Into::into)),
            dscp: Some(plan.dscp),
            same_machine: Some(plan.same_machine),
            timeout_ns: Some(whole_nanoseconds(plan.timeout)),
            phases: Some(vec![plan.phase()]),
            stagger_ns: Some(whole_nanoseconds(plan.stagger)),
            window: Some(None),
            no_delay: Some(false),
            probes: Some(plan.probes),
            ..Self::default()
        }
    }

    fn of_transfer(plan: &TransferPlan) -> Self {
        Self {
            kind: Some(PlanKind::File),
            transport: Some(plan.transport()),
            directions: Some(match plan.direction {
                Direction::Up => Directions::Up,
                Direction::Down => Directions::Down,
            }),
            interval_ns: Some(whole_nanoseconds(plan.interval)),
            rate: Some(plan.rate),
            congestion: Some(plan.congestion.as_deref().map(Into::into)),
            dscp: Some(plan.dscp),
            same_machine: Some(plan.same_machine),
            window: Some(None),
            no_delay: Some(match &plan.via {
                TransferVia::Tcp(tcp) | TransferVia::Tls(tcp) => tcp.no_delay,
                TransferVia::Rbt(_) | TransferVia::Quic => false,
            }),
            via: Some(plan.via.clone()),
            content: Some(plan.content.clone()),
            sink: Some(plan.sink),
            resume_from: Some(plan.resume_from),
            resume: Some(plan.resume),
            overwrite: Some(plan.overwrite),
            certificate: plan.certificate.clone(),
            ..Self::default()
        }
    }

    /// The settings of a bulk transfer.
    fn bulk(&self) -> Result<BulkPlan, RecordError> {
        Ok(BulkPlan {
            directions: known(self.directions, "directions")?,
            parallel: known(self.parallel, "parallel")?,
            end: known(self.end, "end")?,
            interval: Duration::from_nanos(known(self.interval_ns, "interval_ns")?),
            omit: known(self.omit, "omit")?,
            rate: known(self.rate, "rate")?,
            length: u32::try_from(known(self.length, "length")?)
                .map_err(|_| RecordError::OutOfRange("length"))?,
            window: self.window.flatten(),
            dscp: self.dscp.flatten(),
            same_machine: known(self.same_machine, "same_machine")?,
        })
    }

    fn tcp(&self) -> Result<TcpPlan, RecordError> {
        Ok(TcpPlan {
            bulk: self.bulk()?,
            mss: self.mss.flatten(),
            congestion: self.congestion_name(),
            no_delay: known(self.no_delay, "no_delay")?,
            mptcp: known(self.mptcp, "mptcp")?,
            discard: known(self.discard, "discard")?,
            zero_copy: known(self.zero_copy, "zero_copy")?,
        })
    }

    fn udp(&self) -> Result<UdpPlan, RecordError> {
        Ok(UdpPlan {
            bulk: self.bulk()?,
            verify: known(self.verify, "verify")?,
            // The first version of the protocol has no such key, and paces precisely.
            pacing: self.pacing.unwrap_or(Pacing::Precise),
        })
    }

    fn echo(&self) -> Result<EchoPlan, RecordError> {
        Ok(EchoPlan {
            transport: known(self.transport, "transport")?,
            clients: known(self.clients, "clients")?,
            sizes: self.sizes.clone().ok_or(RecordError::Missing("sizes"))?,
            count: known(self.count, "count")?,
            schedule: known(self.schedule, "schedule")?,
            timeout: Duration::from_nanos(known(self.timeout_ns, "timeout_ns")?),
            no_delay: known(self.no_delay, "no_delay")?,
            congestion: self.congestion_name(),
            dscp: self.dscp.flatten(),
            window: self.window.flatten(),
        })
    }

    /// The plan of a single phase: the whole of several phases is not carried out as one plan.
    fn quality(&self) -> Result<QualityPlan, RecordError> {
        let Some([phase]) = self.phases.as_deref() else {
            return Err(RecordError::Missing("phases"));
        };
        Ok(QualityPlan {
            load: phase.load,
            parallel: known(self.parallel, "parallel")?,
            time: Duration::from_nanos(phase.time_ns),
            ramp: Duration::from_nanos(phase.ramp_ns),
            stagger: Duration::from_nanos(known(self.stagger_ns, "stagger_ns")?),
            interval: Duration::from_nanos(known(self.interval_ns, "interval_ns")?),
            probes: known(self.probes, "probes")?,
            timeout: Duration::from_nanos(known(self.timeout_ns, "timeout_ns")?),
            rate: known(self.rate, "rate")?,
            congestion: self.congestion_name(),
            dscp: self.dscp.flatten(),
            same_machine: known(self.same_machine, "same_machine")?,
        })
    }

    fn transfer(&self) -> Result<TransferPlan, RecordError> {
        Ok(TransferPlan {
            via: self.via.clone().ok_or(RecordError::Missing("via"))?,
            direction: match known(self.directions, "directions")? {
                Directions::Up => Direction::Up,
                Directions::Down => Direction::Down,
                Directions::Both => return Err(RecordError::OutOfRange("directions")),
            },
            content: self
                .content
                .clone()
                .ok_or(RecordError::Missing("content"))?,
            sink: known(self.sink, "sink")?,
            resume_from: known(self.resume_from, "resume_from")?,
            resume: known(self.resume, "resume")?,
            overwrite: known(self.overwrite, "overwrite")?,
            rate: known(self.rate, "rate")?,
            congestion: self.congestion_name(),
            dscp: self.dscp.flatten(),
            interval: Duration::from_nanos(known(self.interval_ns, "interval_ns")?),
            same_machine: known(self.same_machine, "same_machine")?,
            certificate: self.certificate.clone(),
        })
    }

    /// The congestion control asked for; the plan checks that the kernel could have it.
    fn congestion_name(&self) -> Option<String> {
        let name = self.congestion.as_ref()?.as_ref()?;
        Some(name.as_received().to_owned())
    }
}

impl TryFrom<&PlanRecord> for Plan {
    type Error = RecordError;

    fn try_from(record: &PlanRecord) -> Result<Self, RecordError> {
        Ok(match known(record.kind, "kind")? {
            PlanKind::Tcp => Self::Tcp(record.tcp()?),
            PlanKind::Udp => Self::Udp(record.udp()?),
            PlanKind::Rtt => Self::Echo(record.echo()?),
            PlanKind::Quality => Self::Quality(record.quality()?),
            PlanKind::File => Self::Transfer(record.transfer()?),
            PlanKind::Path => Self::Trains(TrainsPlan {
                series: record.trains.ok_or(RecordError::OneEnded)?,
                dscp: record.dscp.flatten(),
            }),
        })
    }
}

fn known<T: Copy>(value: Option<T>, key: &'static str) -> Result<T, RecordError> {
    value.ok_or(RecordError::Missing(key))
}

fn whole_nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            });
            let mut record = PlanRecord::from(&plan);
            let text = serde_json::to_string(&record).unwrap();
            assert!(text.contains(&format!(r#""pacing":"{}""#, pacing.name())));
            let again: PlanRecord = serde_json::from_str(&text).unwrap();
            assert_eq!(Plan::try_from(&again), Ok(plan));
            record.pacing = None;
            assert!(matches!(
                Plan::try_from(&record),
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
        let log = PlanRecord {
            kind: Some(PlanKind::Udp),
            ..PlanRecord::default()
        };
        assert_eq!(serde_json::to_string(&log).unwrap(), r#"{"kind":"udp"}"#);
        assert_eq!(
            Plan::try_from(&log),
            Err(RecordError::Missing("directions"))
        );
    }
}
