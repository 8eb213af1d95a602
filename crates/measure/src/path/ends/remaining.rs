//! The time that a measurement between both ends still takes.

use super::request::EndsRequest;
use caudal_core::path::WINDOW_SHARES;
use std::collections::VecDeque;
use std::time::Duration;

/// What steps take on paths of 10 to 100 Mbit/s, by measurement, s. On slower paths they take longer.
const BASELINE_S: f64 = 4.3;
const NARROW_S: f64 = 15.0;
const ROUGH_S: f64 = 2.5;
const AVAILABLE_S: f64 = 8.0;
const DUPLEX_S: f64 = 20.0;
/// What a run of TCP takes beside its measured part.
const BESIDE_RUN_S: f64 = 1.0;
/// Latency under load: the phases with load, and what it takes beside them.
const LOADED_PHASES: f64 = 3.5;
const BESIDE_LOAD_S: f64 = 4.0;

/// The steps of a measurement with the time that each is expected to take.
#[derive(Debug, Clone)]
pub(super) struct RemainingSteps {
    /// The time of the current step, s, and those to come.
    steps: VecDeque<f64>,
    /// When the current one began, ns; `None` before the first.
    began_ns: Option<u64>,
}

impl RemainingSteps {
    /// The steps that are asked for.
    pub(super) fn of(request: &EndsRequest) -> Self {
        let mut steps = VecDeque::new();
        if request.rough {
            steps.extend([ROUGH_S; 2]);
        } else {
            steps.extend([BASELINE_S, NARROW_S, NARROW_S]);
        }
        if request.available {
            steps.extend([AVAILABLE_S; 2]);
        }
        if request.duplex {
            steps.push_back(DUPLEX_S);
        }
        if let Some(throughput) = &request.throughput {
            let kinds = if throughput.flows > 1 { 2.0 } else { 1.0 };
            let run_s = throughput.run.as_secs_f64();
            let runs = 2.0 * kinds * WINDOW_SHARES.len() as f64;
            steps.push_back(runs * (run_s + BESIDE_RUN_S));
            steps.push_back(LOADED_PHASES * run_s + BESIDE_LOAD_S);
        }
        Self {
            steps,
            began_ns: None,
        }
    }

    /// Begins the next step.
    pub(super) fn begin(&mut self, now_ns: u64) {
        if self.began_ns.replace(now_ns).is_some() {
            self.steps.pop_front();
        }
    }

    /// About the time that is left; `None` where the last step takes longer than expected.
    pub(super) fn left(&self, now_ns: u64) -> Option<Duration> {
        let elapsed_ns = now_ns.saturating_sub(self.began_ns.unwrap_or(now_ns));
        let current_s = self.steps.front()? - elapsed_ns as f64 / 1e9;
        let later_s: f64 = self.steps.iter().skip(1).sum();
        let left_s = current_s.max(0.0) + later_s;
        Duration::try_from_secs_f64(left_s)
            .ok()
            .filter(|left| !left.is_zero())
    }
}

#[cfg(test)]
mod tests {
    use super::super::request::WindowTestRequest;
    use super::*;
    use crate::observation::ObservationRequest;
    use crate::test_peer::{PeerRequest, ServerChoice};
    use caudal_engine::LocalBinding;

    const S: u64 = 1_000_000_000;

    fn request() -> EndsRequest {
        EndsRequest {
            server: PeerRequest {
                server: ServerChoice::Own {
                    family: None,
                    binding: LocalBinding::default(),
                    stores_files: false,
                },
                observation: ObservationRequest::default(),
            },
            is_required: true,
            tells_own_duplex: false,
            rough: false,
            available: false,
            duplex: true,
            throughput: None,
            confidence: 0.95,
            seed: 1,
        }
    }

    #[test]
    fn what_is_left_shrinks_with_time_and_never_below_what_is_to_come() {
        let mut steps = RemainingSteps::of(&request());
        let all = BASELINE_S + 2.0 * NARROW_S + DUPLEX_S;
        let left = |steps: &RemainingSteps, at_s| steps.left(at_s * S).unwrap().as_secs_f64();
        assert!((left(&steps, 5) - all).abs() < 1e-6);
        steps.begin(5 * S);
        assert!((left(&steps, 7) - (all - 2.0)).abs() < 1e-6);
        // The first step takes longer than expected.
        assert!((left(&steps, 60) - (all - BASELINE_S)).abs() < 1e-6);
        steps.begin(60 * S);
        steps.begin(70 * S);
        steps.begin(80 * S);
        assert!((left(&steps, 81) - (DUPLEX_S - 1.0)).abs() < 1e-6);
        assert_eq!(steps.left(200 * S), None);
        steps.begin(201 * S);
        assert_eq!(steps.left(201 * S), None);
    }

    #[test]
    fn runs_of_tcp_count_with_their_time() {
        let without = RemainingSteps::of(&request()).left(0).unwrap();
        let with = RemainingSteps::of(&EndsRequest {
            throughput: Some(WindowTestRequest {
                run: Duration::from_secs(9),
                flows: 4,
                congestion: None,
            }),
            ..request()
        });
        let more = with.left(0).unwrap() - without;
        assert_eq!(more, Duration::from_secs_f64(200.0 + 35.5));
    }
}
