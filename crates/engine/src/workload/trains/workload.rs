//! Trains of datagrams as a workload.

use super::client::TrainsClientHalf;
use super::server::TrainsServerHalf;
use super::threads::TrainsEnd;
use crate::options::LocalOptions;
use crate::workload::limits::ServerLimits;
use crate::workload::workload::{ClientHalf, ClientLink, OpenFlow, ServerHalf, Workload};
use caudal_core::plan::{
    Direction, Plan, PlannedFlow, TrainSeries, TrainsPlan, Transport, train_burst,
};
use caudal_core::units::{BitRate, ByteCount};
use caudal_flow::socket::{DataSocket, SocketSettings};
use caudal_flow::{RunError, SessionLimits};
use caudal_wire::datagram::tag;
use caudal_wire::preamble::TestToken;
use std::sync::Arc;

/// Trains of datagrams.
pub(crate) struct TrainsWorkload {
    plan: TrainsPlan,
}

impl TrainsWorkload {
    pub(crate) const fn new(plan: TrainsPlan) -> Self {
        Self { plan }
    }

    fn end(&self, flows: Vec<OpenFlow>, token: TestToken) -> Result<TrainsEnd, RunError> {
        let open = flows
            .into_iter()
            .next()
            .ok_or_else(RunError::wrong_socket)?;
        if !matches!(open.socket, DataSocket::Udp(_)) {
            return Err(RunError::wrong_socket());
        }
        Ok(TrainsEnd {
            plan: self.plan,
            socket: Arc::new(open.socket),
            flow: open.flow.id,
            tag: tag(token),
            sends: Direction::Up,
            limit: None,
            cpu: None,
        })
    }
}

impl Workload for TrainsWorkload {
    fn plan(&self) -> Plan {
        Plan::Trains(self.plan)
    }

    fn limit(&mut self, _limits: &ServerLimits) -> Vec<String> {
        Vec::new()
    }

    fn accept(&mut self, limits: &ServerLimits) -> Result<Vec<String>, RunError> {
        // Slower or shorter trains would measure something else: the client knows the limits from the greeting.
        let session = &limits.session;
        let duration = self.plan.duration();
        if let Some(max) = session.max_time.filter(|max| duration > *max) {
            return Err(RunError::BeyondLimit(format!(
                "trains over {:.1} s are longer than the {} s that the server allows",
                duration.as_secs_f64(),
                max.as_secs_f64()
            )));
        }
        let each = [self.plan.series.up, self.plan.series.down];
        for series in each.iter().flatten() {
            within_limits(series, session)?;
        }
        Ok(Vec::new())
    }

    fn socket_settings(&self, _flow: &PlannedFlow) -> SocketSettings {
        SocketSettings {
            dscp: self.plan.dscp,
            // Datagrams that the kernel joins have one time of arrival.
            is_bulk: false,
            ..SocketSettings::new(Transport::Udp)
        }
    }

    fn client_half(
        &self,
        flows: Vec<OpenFlow>,
        link: &ClientLink<'_>,
        options: &LocalOptions,
    ) -> Result<Box<dyn ClientHalf>, RunError> {
        let end = TrainsEnd {
            cpu: options.cpu(0),
            ..self.end(flows, link.token)?
        };
        Ok(Box::new(TrainsClientHalf::new(end, link.trailing_ns)))
    }

    fn server_half(
        &self,
        flows: Vec<OpenFlow>,
        token: TestToken,
        limits: &ServerLimits,
    ) -> Result<Box<dyn ServerHalf>, RunError> {
        let end = TrainsEnd {
            sends: Direction::Down,
            ..self.end(flows, token)?
        };
        Ok(Box::new(TrainsServerHalf::new(end, limits)?))
    }
}

/// Checks the trains of a direction against the limits of a server.
fn within_limits(series: &TrainSeries, limits: &SessionLimits) -> Result<(), RunError> {
    if let Some(max) = limits.max_bytes.filter(|max| series.payload() > *max) {
        return Err(RunError::BeyondLimit(format!(
            "{} are more than the {max} that the server allows",
            series.payload()
        )));
    }
    let Some(max) = limits.max_rate else {
        return Ok(());
    };
    let too_fast = |rate: BitRate| {
        RunError::BeyondLimit(format!(
            "trains of {rate} are faster than the {max} that the server allows"
        ))
    };
    let burst = train_burst(max);
    let train = ByteCount::new(u64::from(series.datagrams) * u64::from(series.length));
    match series.train_rate() {
        Some(rate) if rate > max && train > burst => return Err(too_fast(rate)),
        None if train > burst => {
            return Err(RunError::BeyondLimit(format!(
                "trains of {train} back to back are longer than the {burst} that the server allows"
            )));
        }
        _ => {}
    }
    match series.mean_rate() {
        Some(rate) if rate > max => Err(too_fast(rate)),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_core::plan::TrainSpacing;

    fn series(spacing: TrainSpacing, datagrams: u32, period_ms: u64) -> TrainSeries {
        TrainSeries {
            trains: 10,
            datagrams,
            length: 1000,
            spacing,
            period_ns: period_ms * 1_000_000,
            timed: true,
        }
    }

    fn limits(bps: u64) -> SessionLimits {
        SessionLimits {
            max_rate: Some(BitRate::from_bps(bps)),
            ..SessionLimits::unlimited()
        }
    }

    #[test]
    fn a_server_s_rate_holds_for_trains_and_for_their_mean() {
        let every = |gap_us: u64| TrainSpacing::Constant {
            gap_ns: gap_us * 1000,
        };
        // 10 Mbit/s over 200 ms, and 2 Mbit/s on average.
        let slow = series(every(800), 250, 1000);
        assert!(within_limits(&slow, &limits(10_000_000)).is_ok());
        let error = within_limits(&slow, &limits(9_000_000)).unwrap_err();
        assert!(error.to_string().contains("faster than"), "{error}");
        // A pair is as fast as the line, and 8 Mbit/s on average.
        let pairs = series(TrainSpacing::BackToBack, 2, 2);
        assert!(within_limits(&pairs, &limits(8_000_000)).is_ok());
        assert!(within_limits(&pairs, &limits(7_900_000)).is_err());
        // 100 kB back to back.
        let train = series(TrainSpacing::BackToBack, 100, 1000);
        assert!(within_limits(&train, &limits(8_000_000)).is_ok());
        assert!(within_limits(&train, &limits(1_000_000)).is_err());
        assert!(within_limits(&train, &SessionLimits::unlimited()).is_ok());
    }

    #[test]
    fn a_server_s_amount_holds_for_all_trains_together() {
        let pairs = series(TrainSpacing::BackToBack, 2, 20);
        let limits = |bytes| SessionLimits {
            max_bytes: Some(ByteCount::new(bytes)),
            ..SessionLimits::unlimited()
        };
        assert!(within_limits(&pairs, &limits(20_000)).is_ok());
        assert!(within_limits(&pairs, &limits(19_999)).is_err());
    }
}
