//! What is going to happen: a plan leaves nothing open, and both sides hold the same one.

pub use crate::cut::Cut;
pub use crate::ticks::Ticks;
use crate::units::{BitRate, ByteCount, format_duration};
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// The smallest datagram that carries our header, in bytes.
pub const SMALLEST_DATAGRAM: u32 = 32;
/// The largest UDP payload that IPv4 carries, in bytes: 65535 − 20 − 8 (RFC 768, RFC 791).
pub const LARGEST_DATAGRAM: u32 = 65_507;
/// The most flows a plan may have, over its directions.
pub const MOST_FLOWS: u32 = 1024;
/// The largest TCP block one send may hand over, in bytes.
pub const LARGEST_BLOCK: u32 = 4 << 20;
/// The largest echo message, in bytes.
pub const LARGEST_MESSAGE: u32 = 16 << 20;
/// The longest test.
pub const LONGEST: Duration = Duration::from_secs(30 * 86_400);
/// The shortest reporting interval.
pub const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);
/// The most intervals one test may report.
pub const MOST_INTERVALS: u64 = 1_000_000;
/// The most message sizes an echo test may go through.
pub const MOST_SIZES: usize = 128;
/// The most messages an echo test may send per size and client.
pub const MOST_MESSAGES: u64 = 100_000_000;

/// The most values an echo test may keep: 64 MB of them, of which the statistics need a few times as much.
pub const MOST_ECHO_VALUES: u64 = 8_000_000;
/// The most bytes the messages of all connections of an echo test may hold at once.
pub const MOST_ECHO_BYTES: u64 = 1 << 30;

/// The transport protocol that carries the payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// The Transmission Control Protocol.
    Tcp,
    /// The User Datagram Protocol.
    Udp,
}

/// Which way a flow's payload travels, seen from the side that asked for the test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// From the client to the server.
    Up,
    /// From the server to the client.
    Down,
}

impl Direction {
    /// `up` or `down`, as JSON and tables write it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// The directions a test measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Directions {
    /// Client to server only.
    Up,
    /// Server to client only.
    Down,
    /// Both at once.
    Both,
}

impl Directions {
    /// The single directions this stands for, up first.
    #[must_use]
    pub const fn each(self) -> &'static [Direction] {
        match self {
            Self::Up => &[Direction::Up],
            Self::Down => &[Direction::Down],
            Self::Both => &[Direction::Up, Direction::Down],
        }
    }
}

/// What ends a test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A length of time, by the receiver's clock.
    #[serde(with = "nanoseconds", rename = "time_ns")]
    Time(Duration),
    /// An amount of payload a direction, shared by its flows.
    Bytes(ByteCount),
}

/// What is left out at the beginning as warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Omit {
    /// Nothing.
    Nothing,
    /// This long.
    #[serde(with = "nanoseconds", rename = "time_ns")]
    Time(Duration),
    /// As much as MSER finds to be warm-up, after the test.
    Auto,
}

/// How fast a flow is asked to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rate {
    /// As fast as it goes.
    Max,
    /// Payload bits per second for each flow.
    Limit(BitRate),
}

/// A throughput test with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TrafficPlan {
    /// The protocol under test.
    pub transport: Transport,
    /// The directions measured.
    pub directions: Directions,
    /// Flows in each direction.
    pub parallel: u32,
    /// What ends the test.
    pub end: End,
    /// The reporting interval.
    #[serde(with = "nanoseconds", rename = "interval_ns")]
    pub interval: Duration,
    /// The warm-up left out of the summary.
    pub omit: Omit,
    /// The rate asked of each flow.
    pub rate: Rate,
    /// Payload bytes of a send (TCP) or of a datagram (UDP).
    pub length: u32,
    /// Socket buffers asked for; `None` leaves them to the kernel (TCP) or to us (UDP).
    pub window: Option<ByteCount>,
    /// The largest segment asked for.
    pub mss: Option<u32>,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// Whether Nagle's algorithm is off.
    pub no_delay: bool,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
    /// Whether TCP flows are opened as Multipath TCP.
    pub mptcp: bool,
    /// Whether the receiver drops payload inside the kernel.
    pub discard: bool,
    /// Whether the sender hands over pages instead of copying.
    pub zero_copy: bool,
    /// Whether the receiver compares every payload byte.
    pub verify: bool,
    /// Whether both ends are one machine, so that the receiver may hold the sender back.
    pub same_machine: bool,
}

/// When the messages of an echo test leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EchoSchedule {
    /// The next message leaves when the reply to the last one is in.
    StopAndWait,
    /// A message leaves every so often, whatever comes back.
    Every {
        /// The mean time between messages.
        #[serde(with = "nanoseconds", rename = "period_ns")]
        period: Duration,
        /// Whether the gaps are exponential (RFC 2330) instead of fixed (RFC 3432).
        poisson: bool,
    },
}

/// A round-trip test with nothing left open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EchoPlan {
    /// The protocol under test.
    pub transport: Transport,
    /// Connections at once.
    pub clients: u32,
    /// Message sizes in bytes, in the order they are measured.
    pub sizes: Vec<u32>,
    /// Messages for each size and client that are counted.
    pub count: u64,
    /// When messages leave.
    pub schedule: EchoSchedule,
    /// How long a reply may take before it counts as lost (UDP) or as a failure (TCP).
    #[serde(with = "nanoseconds", rename = "timeout_ns")]
    pub timeout: Duration,
    /// Whether Nagle's algorithm is off.
    pub no_delay: bool,
    /// The congestion control asked for.
    pub congestion: Option<String>,
    /// The DSCP to send with.
    pub dscp: Option<u8>,
    /// Socket buffers asked for.
    pub window: Option<ByteCount>,
}

/// What both sides agree to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Plan {
    /// Bulk transfer over TCP or UDP.
    Traffic(TrafficPlan),
    /// Messages echoed whole.
    Echo(EchoPlan),
}

/// One socket pair of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PlannedFlow {
    /// Its number, counted from 0 over all directions.
    pub id: u32,
    /// Its direction.
    pub direction: Direction,
}

/// Why a plan cannot be carried out by anybody.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} is {value}; {allowed}")]
pub struct PlanError {
    /// What is out of range, as the flag is called.
    pub what: &'static str,
    /// What was asked for.
    pub value: String,
    /// What would be accepted.
    pub allowed: String,
}

fn within<T: PartialOrd + std::fmt::Display>(
    what: &'static str,
    value: &T,
    low: &T,
    high: &T,
) -> Result<(), PlanError> {
    if value < low || value > high {
        return Err(PlanError {
            what,
            value: value.to_string(),
            allowed: format!("it must lie between {low} and {high}"),
        });
    }
    Ok(())
}

impl TrafficPlan {
    /// The flows of this plan: all of the first direction, then all of the second.
    pub fn flows(&self) -> impl Iterator<Item = PlannedFlow> + '_ {
        self.directions
            .each()
            .iter()
            .flat_map(move |direction| (0..self.parallel).map(move |_| *direction))
            .zip(0..)
            .map(|(direction, id)| PlannedFlow { id, direction })
    }

    /// How a UDP flow of this plan is cut into datagrams: the flows of a direction share its bytes
    /// evenly, and the first takes the odd ones.
    #[must_use]
    pub fn cut(&self, flow: u32) -> Cut {
        let share = match self.end {
            End::Time(_) => None,
            End::Bytes(bytes) => {
                let flows = u64::from(self.parallel.max(1));
                let odd = if u64::from(flow) % flows == 0 {
                    bytes.get() % flows
                } else {
                    0
                };
                Some(bytes.get() / flows + odd)
            }
        };
        Cut::new(self.length, share)
    }

    /// The same for dialects in which every datagram has the full length: the flows of a direction share
    /// as many datagrams as the bytes take.
    #[must_use]
    pub fn whole_cut(&self, flow: u32) -> Cut {
        let share = match self.end {
            End::Time(_) => None,
            End::Bytes(bytes) => {
                let datagrams = bytes.get().div_ceil(u64::from(self.length.max(1)));
                let flows = u64::from(self.parallel.max(1));
                let takes_odd = u64::from(flow) % flows < datagrams % flows;
                Some(datagrams / flows + u64::from(takes_odd))
            }
        };
        Cut::whole(self.length, share)
    }

    /// How long the measured part is to run, without the warm-up; `None` when it ends by bytes.
    #[must_use]
    pub const fn duration(&self) -> Option<Duration> {
        match self.end {
            End::Time(time) => Some(time),
            End::Bytes(_) => None,
        }
    }

    /// When the flows are read.
    #[must_use]
    pub fn ticks(&self) -> Ticks {
        let omit = match self.omit {
            Omit::Time(omitted) => omitted,
            Omit::Nothing | Omit::Auto => Duration::ZERO,
        };
        Ticks::new(self.interval, omit, self.duration().map(|time| omit + time))
    }

    /// Holds every number against its range.
    ///
    /// # Errors
    /// Names the first number that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        let ways = self.directions.each().len() as u32;
        within("--parallel", &self.parallel, &1, &(MOST_FLOWS / ways))?;
        match self.transport {
            Transport::Tcp => within("--length", &self.length, &1, &LARGEST_BLOCK)?,
            Transport::Udp => {
                within(
                    "--length",
                    &self.length,
                    &SMALLEST_DATAGRAM,
                    &LARGEST_DATAGRAM,
                )?;
            }
        }
        if self.interval < SHORTEST_INTERVAL || self.interval > LONGEST {
            return Err(PlanError {
                what: "--interval",
                value: format_duration(self.interval),
                allowed: format!(
                    "it must lie between {} and {} days",
                    format_duration(SHORTEST_INTERVAL),
                    LONGEST.as_secs() / 86_400
                ),
            });
        }
        if let End::Time(time) = self.end {
            within("--time", &time.as_secs_f64(), &0.01, &LONGEST.as_secs_f64())?;
            let omitted = match self.omit {
                Omit::Time(omitted) => omitted,
                Omit::Nothing | Omit::Auto => Duration::ZERO,
            };
            let most_s = LONGEST.as_secs_f64();
            within("--omit", &omitted.as_secs_f64(), &0.0, &most_s)?;
            let whole = time + omitted;
            let intervals = whole.as_nanos() / self.interval.as_nanos().max(1);
            if intervals > u128::from(MOST_INTERVALS) {
                return Err(PlanError {
                    what: "--interval",
                    value: format_duration(self.interval),
                    allowed: format!("a test may report {MOST_INTERVALS} intervals at most"),
                });
            }
        }
        if self.end == End::Bytes(ByteCount::new(0)) {
            return Err(PlanError {
                what: "--bytes",
                value: "0".to_owned(),
                allowed: "it must be at least 1".to_owned(),
            });
        }
        if let (Transport::Udp, End::Bytes(bytes)) = (self.transport, self.end) {
            let least = u64::from(SMALLEST_DATAGRAM) * u64::from(self.parallel);
            within("--bytes", &bytes.get(), &least, &u64::MAX)?;
        }
        if let Rate::Limit(rate) = self.rate {
            within("--rate", &rate.bps(), &1_000, &10_000_000_000_000)?;
        }
        if let Some(mss) = self.mss {
            within("--mss", &mss, &88, &65_495)?;
        }
        check_common(self.dscp, self.window, self.congestion.as_deref())
    }
}

impl EchoPlan {
    /// Holds every number against its range.
    ///
    /// # Errors
    /// Names the first number that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        within("--clients", &self.clients, &1, &MOST_FLOWS)?;
        within("--count", &self.count, &1, &MOST_MESSAGES)?;
        within("the number of --sizes", &self.sizes.len(), &1, &MOST_SIZES)?;
        let largest = match self.transport {
            Transport::Tcp => LARGEST_MESSAGE,
            Transport::Udp => LARGEST_DATAGRAM,
        };
        for size in &self.sizes {
            within("--sizes", size, &1, &largest)?;
        }
        within("--timeout", &self.timeout.as_secs_f64(), &0.001, &600.0)?;
        if let EchoSchedule::Every { period, .. } = self.schedule {
            within("--every", &period.as_secs_f64(), &0.000_01, &3600.0)?;
            if self.transport == Transport::Udp {
                self.check_numbering(period)?;
            }
        }
        self.check_memory()?;
        check_common(self.dscp, self.window, self.congestion.as_deref())
    }
}

impl EchoPlan {
    /// Whether messages leave on a schedule, whatever comes back.
    #[must_use]
    pub const fn is_scheduled(&self) -> bool {
        matches!(self.schedule, EchoSchedule::Every { .. })
    }

    /// Values kept of each message: its round trip; on a schedule also when it was to leave, how late
    /// it was, and one time for each direction.
    #[must_use]
    pub const fn values_per_message(&self) -> u64 {
        match self.schedule {
            EchoSchedule::StopAndWait => 1,
            EchoSchedule::Every { .. } => 6,
        }
    }

    /// Holds what both ends have to keep in memory against what they may.
    fn check_memory(&self) -> Result<(), PlanError> {
        let kept = u64::from(self.clients) * self.sizes.len() as u64 * self.values_per_message();
        let most = (MOST_ECHO_VALUES / kept).saturating_sub(1);
        if self.count > most {
            return Err(PlanError {
                what: "--count",
                value: self.count.to_string(),
                allowed: format!(
                    "of {} sizes from {} clients at most {most} each fit in memory: \
                     reduce --count, --clients or --sizes",
                    self.sizes.len(),
                    self.clients
                ),
            });
        }
        let largest = self.sizes.iter().max().copied().unwrap_or(0);
        let most = MOST_ECHO_BYTES / u64::from(self.clients);
        if u64::from(largest) > most {
            return Err(PlanError {
                what: "--sizes",
                value: largest.to_string(),
                allowed: format!(
                    "messages of {} clients may have {most} bytes each",
                    self.clients
                ),
            });
        }
        Ok(())
    }

    /// Whether the numbers a small datagram has room for last as long as a reply may take.
    fn check_numbering(&self, period: Duration) -> Result<(), PlanError> {
        let smallest = self.sizes.iter().min().copied().unwrap_or(1);
        let numbers = 1_u128.checked_shl(8 * smallest).unwrap_or(u128::MAX);
        let under_way = self.timeout.as_nanos() / period.as_nanos().max(1);
        if under_way >= numbers {
            return Err(PlanError {
                what: "--sizes",
                value: smallest.to_string(),
                allowed: format!(
                    "messages that small carry {numbers} numbers, and {under_way} replies may be due at \
                     once: leave small sizes out, or reduce --timeout"
                ),
            });
        }
        Ok(())
    }
}

fn check_common(
    dscp: Option<u8>,
    window: Option<ByteCount>,
    congestion: Option<&str>,
) -> Result<(), PlanError> {
    if let Some(dscp) = dscp {
        within("--dscp", &dscp, &0, &63)?;
    }
    if let Some(window) = window {
        within("--window", &window.get(), &1, &(1 << 30))?;
    }
    if let Some(name) = congestion
        && (name.is_empty()
            || name.len() > 15
            || !name
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-'))
    {
        return Err(PlanError {
            what: "--congestion",
            value: format!("{:?}", name.chars().take(32).collect::<String>()),
            allowed: "it must be a name of at most 15 letters, such as cubic".to_owned(),
        });
    }
    Ok(())
}

impl Plan {
    /// Holds every number against its range.
    ///
    /// # Errors
    /// Names the first number that is out of range, and the range.
    pub fn check(&self) -> Result<(), PlanError> {
        match self {
            Self::Traffic(plan) => plan.check(),
            Self::Echo(plan) => plan.check(),
        }
    }

    /// The protocol under test.
    #[must_use]
    pub const fn transport(&self) -> Transport {
        match self {
            Self::Traffic(plan) => plan.transport,
            Self::Echo(plan) => plan.transport,
        }
    }

    /// Data sockets both sides open for this plan.
    #[must_use]
    pub const fn sockets(&self) -> u32 {
        match self {
            Self::Traffic(plan) => {
                plan.parallel
                    * if matches!(plan.directions, Directions::Both) {
                        2
                    } else {
                        1
                    }
            }
            Self::Echo(plan) => plan.clients,
        }
    }
}

/// Durations as integer nanoseconds.
pub mod nanoseconds {
    use serde::{Deserialize, Deserializer, Serializer};
    use std::time::Duration;

    /// Writes whole nanoseconds, saturating after 584 years.
    ///
    /// # Errors
    /// What the serializer answers.
    pub fn serialize<S: Serializer>(value: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(u64::try_from(value.as_nanos()).unwrap_or(u64::MAX))
    }

    /// Reads whole nanoseconds.
    ///
    /// # Errors
    /// What the deserializer answers.
    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_nanos)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> TrafficPlan {
        TrafficPlan {
            transport: Transport::Tcp,
            directions: Directions::Both,
            parallel: 2,
            end: End::Time(Duration::from_secs(10)),
            interval: Duration::from_secs(1),
            omit: Omit::Nothing,
            rate: Rate::Max,
            length: 128 << 10,
            window: None,
            mss: None,
            congestion: None,
            no_delay: false,
            dscp: None,
            mptcp: false,
            discard: false,
            zero_copy: false,
            verify: false,
            same_machine: true,
        }
    }

    #[test]
    fn flows_are_numbered_over_both_directions() {
        let flows: Vec<_> = plan().flows().map(|f| (f.id, f.direction.name())).collect();
        assert_eq!(flows, [(0, "up"), (1, "up"), (2, "down"), (3, "down")]);
        assert_eq!(Plan::Traffic(plan()).sockets(), 4);
    }

    #[test]
    fn a_plan_survives_the_trip_through_json() {
        let plan = Plan::Traffic(TrafficPlan {
            omit: Omit::Time(Duration::from_millis(1500)),
            ..plan()
        });
        let text = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&text).unwrap(), plan);
    }

    fn echo() -> EchoPlan {
        EchoPlan {
            transport: Transport::Udp,
            clients: 2,
            sizes: (0..=15).map(|power| 1 << power).collect(),
            count: 1000,
            schedule: EchoSchedule::StopAndWait,
            timeout: Duration::from_secs(1),
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        }
    }

    #[test]
    fn an_echo_test_that_would_not_fit_in_memory_is_refused_with_what_would() {
        assert!(echo().check().is_ok());
        let error = EchoPlan {
            count: 1_000_000,
            clients: 4,
            ..echo()
        }
        .check()
        .unwrap_err();
        assert_eq!(error.what, "--count");
        assert!(error.allowed.contains("at most 124999"), "{error}");
        assert!(
            EchoPlan {
                count: 124_999,
                clients: 4,
                ..echo()
            }
            .check()
            .is_ok()
        );
        let tcp = EchoPlan {
            transport: Transport::Tcp,
            ..echo()
        };
        let big = EchoPlan {
            sizes: vec![16 << 20],
            clients: 65,
            ..tcp
        };
        assert_eq!(big.check().unwrap_err().what, "--sizes");
        assert!(EchoPlan { clients: 64, ..big }.check().is_ok());
    }

    #[test]
    fn a_schedule_too_dense_to_tell_small_datagrams_apart_is_refused() {
        let every = |ms| EchoSchedule::Every {
            period: Duration::from_millis(ms),
            poisson: false,
        };
        let dense = EchoPlan {
            schedule: every(1),
            ..echo()
        };
        assert_eq!(dense.check().unwrap_err().what, "--sizes");
        assert!(
            EchoPlan {
                schedule: every(10),
                ..dense.clone()
            }
            .check()
            .is_ok()
        );
        assert!(
            EchoPlan {
                sizes: vec![2, 64],
                ..dense
            }
            .check()
            .is_ok()
        );
    }

    #[test]
    fn echo_numbers_out_of_range_are_named_with_their_range() {
        let bad: [(EchoPlan, &str); 6] = [
            (
                EchoPlan {
                    clients: 0,
                    ..echo()
                },
                "--clients",
            ),
            (EchoPlan { count: 0, ..echo() }, "--count"),
            (
                EchoPlan {
                    sizes: Vec::new(),
                    ..echo()
                },
                "the number of --sizes",
            ),
            (
                EchoPlan {
                    sizes: vec![0],
                    ..echo()
                },
                "--sizes",
            ),
            (
                EchoPlan {
                    sizes: vec![65_508],
                    ..echo()
                },
                "--sizes",
            ),
            (
                EchoPlan {
                    timeout: Duration::ZERO,
                    ..echo()
                },
                "--timeout",
            ),
        ];
        for (plan, what) in bad {
            assert_eq!(plan.check().unwrap_err().what, what);
        }
    }

    #[test]
    fn numbers_out_of_range_are_named_with_their_range() {
        let bad: [(TrafficPlan, &str); 9] = [
            (
                TrafficPlan {
                    parallel: 0,
                    ..plan()
                },
                "--parallel",
            ),
            (
                TrafficPlan {
                    parallel: 1025,
                    ..plan()
                },
                "--parallel",
            ),
            (
                TrafficPlan {
                    length: 0,
                    ..plan()
                },
                "--length",
            ),
            (
                TrafficPlan {
                    transport: Transport::Udp,
                    length: 31,
                    ..plan()
                },
                "--length",
            ),
            (
                TrafficPlan {
                    transport: Transport::Udp,
                    length: 65_508,
                    ..plan()
                },
                "--length",
            ),
            (
                TrafficPlan {
                    end: End::Bytes(ByteCount::new(0)),
                    ..plan()
                },
                "--bytes",
            ),
            (
                TrafficPlan {
                    interval: Duration::from_nanos(1),
                    ..plan()
                },
                "--interval",
            ),
            (
                TrafficPlan {
                    dscp: Some(64),
                    ..plan()
                },
                "--dscp",
            ),
            (
                TrafficPlan {
                    congestion: Some("a b".into()),
                    ..plan()
                },
                "--congestion",
            ),
        ];
        for (plan, what) in bad {
            assert_eq!(plan.check().unwrap_err().what, what);
        }
        assert!(plan().check().is_ok());
    }

    #[test]
    fn an_interval_too_short_is_told_the_shortest() {
        let error = TrafficPlan {
            interval: Duration::ZERO,
            ..plan()
        }
        .check()
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "--interval is 0s; it must lie between 10ms and 30 days"
        );
    }

    #[test]
    fn the_flows_of_a_direction_share_its_bytes_to_the_last_one() {
        let mut plan = plan();
        plan.parallel = 3;
        plan.length = 1448;
        plan.end = End::Bytes(ByteCount::new(100_000));
        let carried = |flow| {
            let cut = plan.cut(flow);
            (0..cut.datagrams().unwrap())
                .map(|nth| u64::from(cut.length_of(nth)))
                .sum::<u64>()
        };
        assert_eq!((0..3).map(carried).sum::<u64>(), 100_000);
    }
}
