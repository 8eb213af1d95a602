//! What an experiment unfolds into: cases, and the order of their trials.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use caudal_core::random::SplitMix64;
use caudal_core::units::{BitRate, ByteCount};
use caudal_stats::{StopDecision, StopRule};

use super::file::{ExperimentFile, KindFile, PlaceFile};
use super::scalar::Scalar;
use super::unfold::describes;

/// The most cases an experiment may unfold into, solo baselines included.
pub const MOST_CASES: usize = 10_000;

/// The fewest trials of a case, unless the file says otherwise.
pub(super) const FEWEST: u64 = 3;
/// The fewest where trials are repeated until a metric is known well enough: with less, stopping on a lucky few makes the
/// interval hold the truth less often than it says.
pub(super) const FEWEST_UNTIL_KNOWN: u64 = 10;
/// The most trials where an error is asked for, unless the file says otherwise.
pub(super) const MOST: u64 = 30;

/// An experiment with its matrix unfolded and everything checked that needs no network.
#[derive(Debug, Clone, PartialEq)]
pub struct Campaign {
    /// As written, with the overrides of `--set` and `--quick` in place.
    pub experiment: ExperimentFile,
    /// Whether the quick variant.
    pub quick: bool,
    /// Where chance begins.
    pub seed: u64,
    /// Every case, the measured ones in the order of the file, then the solo baselines.
    pub cases: Vec<Case>,
    /// When a case has been repeated enough; `relative_error` is infinite where none is asked for.
    pub rule: StopRule,
    /// How often a trial is done again in which the emulator stood still.
    pub retries: u64,
}

/// Whether a case has been repeated enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeated {
    /// Another trial is due.
    NotEnough,
    /// Often enough, and every metric is known as well as was asked for.
    Reached,
    /// As often as is allowed, and some metric is not known as well as was asked for.
    GaveUp,
}

impl Campaign {
    /// The cases of a round, every one once, in an order that the seed decides: round 1, 2, ….
    ///
    /// The same for the same seed and number of cases, for ever. Each order is equally likely: Fisher and Yates's shuffle over
    /// SplitMix64 (Steele, Lea, Flood 2014), draws that would favour small numbers rejected.
    #[must_use]
    pub fn block(&self, round: u64) -> Vec<usize> {
        // A round's numbers shall not be those of the next one, moved by one.
        let seed = SplitMix64::new(self.seed).next_u64();
        let mut rng = SplitMix64::new(seed.wrapping_add(round.wrapping_mul(0xD1B5_4A32_D192_ED03)));
        let mut order: Vec<usize> = (0..self.cases.len()).collect();
        for last in (1..order.len()).rev() {
            let other = rng.below(last as u64 + 1) as usize;
            order.swap(last, other);
        }
        order
    }

    /// Whether a case has been repeated enough, given each metric's value in each trial that counts.
    ///
    /// As [`repeated`](Self::repeated), with as many trials as the metric has values that was told most often.
    #[must_use]
    pub fn enough(&self, case: &Case, values: &BTreeMap<String, Vec<f64>>) -> bool {
        let trials = values.values().map(Vec::len).max().unwrap_or(0) as u64;
        self.repeated(case, trials, values) != Repeated::NotEnough
    }

    /// Whether a case has been repeated enough, after `trials` that count.
    ///
    /// At least `min` times. Where an error is asked for, until the interval of every metric of `repeat.of` is narrow enough with and
    /// without the last trial, or `max` times. A metric that no trial could tell holds nothing up.
    #[must_use]
    pub fn repeated(
        &self,
        case: &Case,
        trials: u64,
        values: &BTreeMap<String, Vec<f64>>,
    ) -> Repeated {
        if trials < self.rule.min {
            return Repeated::NotEnough;
        }
        let known = !self.rule.relative_error.is_finite()
            || self.metrics_to_know(case).iter().all(|metric| {
                values.get(metric).is_none_or(|values| {
                    let judged = self.rule.decide(values);
                    values.is_empty() || matches!(judged, StopDecision::Reached { .. })
                })
            });
        if known {
            Repeated::Reached
        } else if trials >= self.rule.max {
            Repeated::GaveUp
        } else {
            Repeated::NotEnough
        }
    }

    /// The metrics that have to be known well in a case: those of `repeat.of` that it has, or else the goodput of every flow and the
    /// round-trip time of echo flows.
    #[must_use]
    pub fn metrics_to_know(&self, case: &Case) -> Vec<String> {
        let of = &self.experiment.repeat.of;
        if of.is_empty() {
            let usual = case.flows.iter().map(|flow| match flow.kind {
                KindFile::Tcp | KindFile::Udp => format!("{}.goodput", flow.name),
                KindFile::Rtt | KindFile::RttUdp => format!("{}.rtt", flow.name),
            });
            return usual.collect();
        }
        let has = |metric: &&String| {
            let flow = metric.split('.').next().unwrap_or_default();
            let other = matches!(flow, "total" | "links");
            other || case.flows.iter().any(|known| known.name == flow)
        };
        of.iter().filter(has).cloned().collect()
    }

    /// The cases that a text names: by key or name, or by words `parameter=value`, alone or behind the name.
    #[must_use]
    pub fn cases_named(&self, text: &str) -> Vec<usize> {
        let exact = self.cases.iter().position(|case| case.key == text);
        if let Some(exact) = exact {
            return vec![exact];
        }
        let named = |case: &Case| {
            case.alone.is_none()
                && describes(text, &case.key, case.name.as_deref(), &case.parameters)
        };
        (0..self.cases.len())
            .filter(|index| named(&self.cases[*index]))
            .collect()
    }

    /// The case with this key.
    #[must_use]
    pub fn case(&self, key: &str) -> Option<&Case> {
        self.cases.iter().find(|case| case.key == key)
    }
}

/// One point of the matrix, or the solo baseline of one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Case {
    /// Names it, unique and the same whenever the same file is unfolded: `B2`, `udp_load=80% congestion=bbr`, `B2 transport=tcp`,
    /// and for a baseline `alone: tcp (congestion=bbr)`.
    pub key: String,
    /// The name and title of a named case.
    pub name: Option<String>,
    /// In a line.
    pub title: Option<String>,
    /// The value of every parameter, in the order of the file.
    pub parameters: Vec<(String, Scalar)>,
    /// The network, with the parameters in place.
    pub place: PlaceFile,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// How long is measured.
    pub measure: Duration,
    /// What is left out before.
    pub warm_up: Duration,
    /// How often counters are read.
    pub interval: Duration,
    /// The flow that is alone, for a solo baseline.
    pub alone: Option<String>,
    /// The keys of the cases in which each of its flows is alone.
    pub baselines: BTreeMap<String, String>,
    /// Whether interfaces are captured.
    pub capture: bool,
}

/// A flow of a case, with the parameters in place.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: KindFile,
    /// The host that sends or asks.
    pub from: String,
    /// The host that receives or answers.
    pub to: String,
    /// Connections at once.
    pub count: u32,
    /// How fast each sends.
    pub rate: RateSpec,
    /// Bytes in a datagram or a block.
    pub length: Option<u32>,
    /// Sizes of echo messages, as `caudal rtt --sizes` takes them.
    pub sizes: Option<String>,
    /// The congestion control.
    pub congestion: Option<String>,
    /// Socket buffers.
    pub window: Option<ByteCount>,
    /// The largest segment.
    pub mss: Option<u32>,
    /// The DSCP.
    pub dscp: Option<u8>,
    /// When it starts after the trial's start.
    pub start: Duration,
    /// When it stops after the trial's start; `None` with the trial.
    pub stop: Option<Duration>,
    /// The payload after which it stops instead.
    pub bytes: Option<ByteCount>,
    /// Echo messages of each size.
    pub messages: Option<u64>,
    /// The schedule of echo messages.
    pub every: Option<Duration>,
    /// Whether it only measures latency beside the load.
    pub probe: bool,
}

/// How fast a flow sends.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RateSpec {
    /// As fast as it goes.
    Max,
    /// This much payload per second.
    Payload(BitRate),
    /// This part of the payload a link can carry; above 1 more than it can.
    Part {
        /// The part.
        of_one: f64,
        /// The link; `None` for the narrowest on the path.
        link: Option<String>,
    },
}

/// One trial that is to be carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turn {
    /// The index of its case.
    pub case: usize,
    /// Its repetition, from 1.
    pub repeat: u64,
}
