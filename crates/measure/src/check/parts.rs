//! The plan of each test.

use crate::SummaryOptions;
use crate::quality::{PhaseRequest, QualityRequest};
use crate::rtt::RttRequest;
use crate::throughput::{BulkRequest, DatagramLength, Repetitions, ThroughputRequest, UdpRequest};
use caudal_core::check::CheckPart;
use caudal_core::plan::{
    BulkPlan, Directions, EchoPlan, EchoSchedule, Omit, Pacing, Rate, TcpPlan, TestEnd, Transport,
    UdpPlan,
};
use caudal_core::units::BitRate;
use caudal_engine::{EchoLocalOptions, LocalOptions};
use caudal_sys::clock::realtime_ns;
use std::time::Duration;

/// The time between two small messages: few enough not to load anything, and enough for a 99th percentile in 3 s.
const ECHO_PERIOD: Duration = Duration::from_millis(10);
/// The length of a small message, bytes.
const ECHO_BYTES: u32 = 64;
/// The time allowed for its reply.
const ECHO_TIMEOUT: Duration = Duration::from_secs(10);
/// The block handed to one send, bytes.
const BLOCK: u32 = 128 << 10;
/// The payload of a datagram, bytes: that of a call. Small ones are many, and many tell a small loss.
const DATAGRAM: u32 = 200;
/// The interval between readings of the rows, which nobody is shown.
const INTERVAL: Duration = Duration::from_secs(1);
/// The most that UDP is sent at, where the network gives TCP ten times as much.
const MAX_UDP: BitRate = BitRate::from_bps(10_000_000);
/// The least.
const MIN_UDP: BitRate = BitRate::from_bps(100_000);
/// The rate where TCP was not measured.
const USUAL_UDP: BitRate = BitRate::from_bps(1_000_000);

/// The durations of the tests.
#[derive(Debug, Clone, Copy)]
pub(super) struct PartTimes {
    pub(super) echo: Duration,
    pub(super) tcp: Duration,
    pub(super) udp: Duration,
    pub(super) idle: Duration,
    pub(super) load: Duration,
}

impl PartTimes {
    /// About a minute in all, or 15 s, with what passes between the tests.
    pub(super) const fn new(is_quick: bool) -> Self {
        let ms = Duration::from_millis;
        if is_quick {
            Self {
                echo: ms(800),
                tcp: ms(1000),
                udp: ms(600),
                idle: ms(800),
                load: ms(1000),
            }
        } else {
            Self {
                echo: ms(3200),
                tcp: ms(5000),
                udp: ms(3000),
                idle: ms(3000),
                load: ms(4000),
            }
        }
    }

    /// The duration of a test; of the path it is not known.
    pub(super) fn of(self, part: CheckPart) -> Option<Duration> {
        match part {
            CheckPart::Families | CheckPart::Path => None,
            CheckPart::RoundTrips => Some(self.echo),
            CheckPart::UdpDownload | CheckPart::UdpUpload => Some(self.udp),
            CheckPart::UnderLoad => Some(self.idle + 3 * self.load),
            _ => Some(self.tcp),
        }
    }
}

/// Round trips of small messages on a schedule.
pub(super) fn round_trips(time: Duration, confidence: f64) -> RttRequest {
    let count = time.as_nanos() / ECHO_PERIOD.as_nanos();
    RttRequest {
        plan: EchoPlan {
            transport: Transport::Tcp,
            clients: 1,
            sizes: vec![ECHO_BYTES],
            count: count as u64,
            schedule: EchoSchedule::Every {
                period: ECHO_PERIOD,
                poisson: false,
            },
            timeout: ECHO_TIMEOUT,
            no_delay: true,
            congestion: None,
            dscp: None,
            window: None,
        },
        left_out: Vec::new(),
        include_first: false,
        confidence,
        link_rate: None,
        local: LocalOptions {
            echo: EchoLocalOptions {
                seed: realtime_ns(),
                time: Some(time),
                ..EchoLocalOptions::default()
            },
            ..LocalOptions::default()
        },
    }
}

fn bulk(directions: Directions, parallel: u32, time: Duration, rate: Rate) -> BulkPlan {
    BulkPlan {
        directions,
        parallel,
        end: TestEnd::Time(time),
        interval: INTERVAL,
        omit: Omit::Nothing,
        rate,
        length: BLOCK,
        window: None,
        dscp: None,
        same_machine: false,
    }
}

fn throughput(bulk: BulkRequest, confidence: f64) -> ThroughputRequest {
    ThroughputRequest {
        bulk,
        repetitions: Repetitions::Count(1),
        is_endless: false,
        summary: SummaryOptions {
            link_rate: None,
            confidence,
        },
        local: LocalOptions::default(),
    }
}

/// Bulk TCP; `rate` limits all flows together.
pub(super) fn tcp(
    directions: Directions,
    parallel: u32,
    time: Duration,
    rate: Option<BitRate>,
    confidence: f64,
) -> ThroughputRequest {
    let each =
        |rate: BitRate| BitRate::from_bps((rate.bps() / u64::from(parallel.max(1))).max(1000));
    let rate = rate.map_or(Rate::Max, |rate| Rate::Limit(each(rate)));
    let plan = TcpPlan {
        bulk: bulk(directions, parallel, time, rate),
        mss: None,
        congestion: None,
        no_delay: false,
        mptcp: false,
        discard: false,
        zero_copy: false,
        ask_ecn: None,
    };
    throughput(BulkRequest::Tcp(plan), confidence)
}

/// UDP at a tenth of what TCP got, and no more than is modest.
pub(super) fn udp(
    directions: Directions,
    time: Duration,
    tcp_bps: Option<f64>,
    confidence: f64,
) -> ThroughputRequest {
    let rate = tcp_bps.map_or(USUAL_UDP, |bps| BitRate::from_bps((bps / 10.0) as u64));
    let plan = UdpPlan {
        bulk: BulkPlan {
            length: DATAGRAM,
            ..bulk(
                directions,
                1,
                time,
                Rate::Limit(rate.clamp(MIN_UDP, MAX_UDP)),
            )
        },
        verify: false,
        pacing: Pacing::Balanced,
        ecn: caudal_core::marks::Ecn::NotEct,
    };
    let request = UdpRequest {
        plan,
        length: DatagramLength::OfPlan,
    };
    throughput(BulkRequest::Udp(request), confidence)
}

/// Latency under load.
pub(super) fn under_load(times: PartTimes, confidence: f64) -> QualityRequest {
    QualityRequest {
        phases: PhaseRequest {
            idle: times.idle,
            time: times.load,
            omit: None,
            parallel: 4,
            congestion: None,
            dscp: None,
        },
        confidence,
        via: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::Plan;

    #[test]
    fn every_plan_is_within_its_limits() {
        for is_quick in [false, true] {
            let times = PartTimes::new(is_quick);
            let echo = round_trips(times.echo, 0.95);
            assert_eq!(Plan::Echo(echo.plan).check(), Ok(()));
            let tcp = tcp(
                Directions::Down,
                8,
                times.tcp,
                Some(BitRate::from_bps(1)),
                0.95,
            );
            assert_eq!(tcp.bulk.plan().check(), Ok(()));
            for bps in [None, Some(0.0), Some(1e12), Some(f64::NAN)] {
                let udp = udp(Directions::Up, times.udp, bps, 0.95);
                assert_eq!(udp.bulk.plan().check(), Ok(()), "{bps:?}");
            }
            assert_eq!(under_load(times, 0.95).phases.check(), Ok(()));
        }
    }

    #[test]
    fn a_check_takes_about_a_minute_and_a_quick_one_fifteen_seconds() {
        let all = [
            CheckPart::RoundTrips,
            CheckPart::Download,
            CheckPart::Upload,
            CheckPart::DownloadSeveral,
            CheckPart::UploadSeveral,
            CheckPart::UdpDownload,
            CheckPart::UdpUpload,
            CheckPart::UnderLoad,
        ];
        let total = |is_quick| {
            let times = PartTimes::new(is_quick);
            all.iter()
                .filter_map(|part| times.of(*part))
                .sum::<Duration>()
        };
        assert_eq!(total(false), Duration::from_millis(44_200));
        assert_eq!(total(true), Duration::from_millis(9_800));
    }
}
