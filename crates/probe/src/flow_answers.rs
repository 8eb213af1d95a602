//! Which of several flows over one path, which differ in their source ports, get answers.

use std::num::NonZeroU32;

/// Minimum unanswered tries, each beside a flow that was answered, for a flow to count as dropped.
const MIN_UNANSWERED_TRIES: usize = 3;

/// The tries of one flow, a place for each round in which all flows are tried at the same time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowTries {
    /// The source port, by which the path distinguishes the flow.
    pub source_port: u16,
    /// Whether it was answered in each round; `None` in rounds in which it was not tried.
    pub answered: Vec<Option<bool>>,
}

impl FlowTries {
    fn answered_in(&self, round: usize) -> Option<bool> {
        self.answered.get(round).copied().flatten()
    }

    fn was_answered(&self) -> bool {
        self.answered.contains(&Some(true))
    }
}

/// What the tries of several flows show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FlowAnswers {
    /// No flow was answered: nobody answers there, or all flows are blocked alike.
    Unanswered,
    /// Some flow was answered.
    Answered {
        /// The source ports of flows that were never answered while others were.
        dropped: Vec<u16>,
        /// The source ports of flows that were never answered, too seldom beside one that was to count as dropped.
        undecided: Vec<u16>,
    },
}

impl FlowAnswers {
    /// Judges the tries of flows over one path.
    ///
    /// A round in which no flow was answered is an outage, and says nothing about how the path treats flows.
    pub fn of(flows: &[FlowTries]) -> Self {
        if !flows.iter().any(FlowTries::was_answered) {
            return Self::Unanswered;
        }
        let rounds = flows
            .iter()
            .map(|flow| flow.answered.len())
            .max()
            .unwrap_or(0);
        let answered_rounds: Vec<usize> = (0..rounds)
            .filter(|&round| {
                flows
                    .iter()
                    .any(|flow| flow.answered_in(round) == Some(true))
            })
            .collect();
        let (mut dropped, mut undecided) = (Vec::new(), Vec::new());
        for flow in flows.iter().filter(|flow| !flow.was_answered()) {
            let unanswered = answered_rounds
                .iter()
                .filter(|&&round| flow.answered_in(round) == Some(false))
                .count();
            let ports = if unanswered >= MIN_UNANSWERED_TRIES {
                &mut dropped
            } else {
                &mut undecided
            };
            ports.push(flow.source_port);
        }
        Self::Answered { dropped, undecided }
    }
}

/// The largest number of equal paths of which `flows` flows take any given one with probability `confidence`.
///
/// A flow misses one of `k` paths with probability `1 − 1/k`, so `m` flows take it where `m ≥ ln(1 − c) / ln(1 − 1/k)`. `None` for a
/// `confidence` outside 0 to 1 (both excluded). It assumes that paths are chosen uniformly and independently by a hash of the 5-tuple.
pub fn paths_met(flows: NonZeroU32, confidence: f64) -> Option<u32> {
    if !(confidence > 0.0 && confidence < 1.0) {
        return None;
    }
    let missed_by_one = (1.0 - confidence).powf(1.0 / f64::from(flows.get()));
    Some((1.0 / (1.0 - missed_by_one)).floor() as u32).map(|paths| paths.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(source_port: u16, answered: &[bool]) -> FlowTries {
        FlowTries {
            source_port,
            answered: answered.iter().copied().map(Some).collect(),
        }
    }

    #[test]
    fn a_flow_that_is_never_answered_while_others_are_is_dropped() {
        let flows = [
            flow(40000, &[true, true, true]),
            flow(40001, &[false, false, false]),
        ];
        assert_eq!(
            FlowAnswers::of(&flows),
            FlowAnswers::Answered {
                dropped: vec![40001],
                undecided: vec![]
            }
        );
    }

    #[test]
    fn a_single_answer_clears_a_flow() {
        let flows = [
            flow(40000, &[true, true, true]),
            flow(40001, &[false, false, true]),
        ];
        assert_eq!(
            FlowAnswers::of(&flows),
            FlowAnswers::Answered {
                dropped: vec![],
                undecided: vec![]
            }
        );
    }

    #[test]
    fn rounds_in_which_nobody_is_answered_do_not_count() {
        let flows = [
            flow(40000, &[true, false, true]),
            flow(40001, &[false, false, false]),
        ];
        assert_eq!(
            FlowAnswers::of(&flows),
            FlowAnswers::Answered {
                dropped: vec![],
                undecided: vec![40001]
            }
        );
    }

    #[test]
    fn rounds_in_which_a_flow_was_not_tried_do_not_count() {
        let mut seldom = flow(40001, &[false, false]);
        seldom.answered.push(None);
        let flows = [flow(40000, &[true, true, true]), seldom];
        assert_eq!(
            FlowAnswers::of(&flows),
            FlowAnswers::Answered {
                dropped: vec![],
                undecided: vec![40001]
            }
        );
    }

    #[test]
    fn without_any_answer_no_flow_is_said_to_be_dropped() {
        assert_eq!(
            FlowAnswers::of(&[flow(40000, &[false; 3]), flow(40001, &[false; 3])]),
            FlowAnswers::Unanswered
        );
        assert_eq!(FlowAnswers::of(&[]), FlowAnswers::Unanswered);
    }

    #[test]
    fn more_flows_meet_more_paths() {
        let paths = [2, 13, 14, 16, 17, 256]
            .map(|flows| paths_met(NonZeroU32::new(flows).unwrap(), 0.95).unwrap());
        assert_eq!(paths, [1, 4, 5, 5, 6, 85]);
        assert_eq!(paths_met(NonZeroU32::MIN, 1.0), None);
    }
}
