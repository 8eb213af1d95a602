//! The predictions that the given parameters allow.

use super::parameters::{ContentionPoint, SharingParameters};
use super::{balancing, output, policer, rtt_bias};
use caudal_core::prediction::Prediction;

/// Predicts the share of each flow.
#[must_use]
pub fn predict_sharing(parameters: &SharingParameters) -> Vec<Prediction> {
    let mut all = match parameters.contention_point {
        ContentionPoint::Receiver => output::into_one_output(parameters),
        ContentionPoint::Sender => output::from_one_sender(parameters),
    };
    if parameters.rtts.len() > 1 {
        all.extend(rtt_bias::by_rtt(parameters));
    }
    if let Some(policer) = parameters.policer {
        all.extend(policer::policed(parameters, policer));
    }
    if let Some(paths) = parameters.paths {
        all.extend(balancing::balanced(parameters, paths));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use caudal_analysis::framing::Framing;
    use caudal_core::quantity::Unit;
    use caudal_core::units::BitRate;

    const fn mega(megabits: u64) -> BitRate {
        BitRate::from_bps(megabits * 1_000_000)
    }

    fn parameters() -> SharingParameters {
        SharingParameters {
            rate: mega(10),
            framing: Framing::default(),
            tcp: 0,
            udp: Vec::new(),
            contention_point: ContentionPoint::Receiver,
            rtts: Vec::new(),
            policer: None,
            paths: None,
        }
    }

    fn value(predictions: &[Prediction], name: &str) -> f64 {
        predictions
            .iter()
            .find(|one| one.name == name)
            .unwrap()
            .value
    }

    #[test]
    fn two_flows_that_overload_one_output_lose_the_excess() {
        let all = predict_sharing(&SharingParameters {
            udp: vec![mega(8), mega(8)],
            ..parameters()
        });
        assert_eq!(format!("{:.1}", value(&all, "udp_loss") * 100.0), "40.2");
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "udp_goodput_1")),
            "4.785 Mbit/s"
        );
        let less = predict_sharing(&SharingParameters {
            udp: vec![mega(8), mega(4)],
            ..parameters()
        });
        assert_eq!(format!("{:.1}", value(&less, "udp_loss") * 100.0), "20.2");
        let fits = predict_sharing(&SharingParameters {
            udp: vec![mega(4), mega(4)],
            ..parameters()
        });
        assert_eq!(value(&fits, "udp_loss"), 0.0);
        assert_eq!(fits[1].binding.as_deref(), Some("asked"));
    }

    #[test]
    fn flows_from_one_sender_share_its_queue_equally() {
        let all = predict_sharing(&SharingParameters {
            tcp: 1,
            udp: vec![mega(20)],
            contention_point: ContentionPoint::Sender,
            ..parameters()
        });
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "udp_goodput_1")),
            "4.785 Mbit/s"
        );
        assert_eq!(
            Unit::BitPerSecond.show(value(&all, "tcp_goodput_1")),
            "4.707 Mbit/s"
        );
        let small = predict_sharing(&SharingParameters {
            tcp: 1,
            udp: vec![mega(1)],
            contention_point: ContentionPoint::Sender,
            ..parameters()
        });
        assert_eq!(value(&small, "udp_goodput_1").round(), 1e6);
        assert_eq!(small[0].binding.as_deref(), Some("asked"));
        let two = predict_sharing(&SharingParameters {
            tcp: 2,
            ..parameters()
        });
        assert_eq!(
            Unit::BitPerSecond.show(value(&two, "tcp_goodput_per_flow")),
            "4.707 Mbit/s"
        );
    }
}
