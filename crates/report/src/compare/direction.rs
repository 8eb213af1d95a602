//! The definition of a compared metric: whether more of it is better, and whether it is decided by default.

use caudal_experiment::{METRICS, Metric};

/// The metrics that the check for a regression decides where none are chosen: results, rather than what explains them.
pub const DECIDED_METRICS: [&str; 6] = ["goodput", "rate", "capacity", "loss", "jitter", "rtt"];

/// The first word of the last part of a full name: `rtt` of `echo.rtt 64 B`.
#[must_use]
pub fn base_name(name: &str) -> &str {
    let last = name.rsplit('.').next().unwrap_or(name);
    last.split(' ').next().unwrap_or(last)
}

/// The definition of the metric of a full name such as `tcp.goodput`.
#[must_use]
pub fn find_metric(name: &str) -> Option<&'static Metric> {
    // The rate that a search finds is the goodput that a path carries without loss.
    let base = match base_name(name) {
        "rate" => "goodput",
        // More of the capacity of a link is better, as of the goodput.
        "capacity" | "capacity_link" => "goodput",
        // What load adds to the round-trip time is a part of it.
        "rtt_added" => "rtt",
        "rtt_hop" => "rtt",
        "loss_hop" => "loss",
        base => base,
    };
    METRICS.iter().find(|metric| metric.name == base)
}

/// `true` for a metric that the check for a regression decides where none are chosen.
#[must_use]
pub fn is_decided(name: &str) -> bool {
    DECIDED_METRICS.contains(&base_name(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_decided_metric_has_a_better_side() {
        for (name, more_is_better) in [
            ("goodput up", true),
            ("tcp.goodput", true),
            ("rate", true),
            ("capacity", true),
            ("loss 64 B", false),
            ("udp.jitter", false),
            ("rtt", false),
            ("rtt download", false),
        ] {
            let metric = find_metric(name).unwrap();
            assert_eq!(metric.more_is_better, Some(more_is_better), "{name}");
            assert!(is_decided(name), "{name}");
        }
        for name in DECIDED_METRICS {
            assert!(find_metric(name).unwrap().more_is_better.is_some());
        }
        assert!(!is_decided("retransmits") && !is_decided("rtt_max"));
        // Routers answer when they have time to.
        for (name, more_is_better) in [
            ("rtt_hop", false),
            ("loss_hop", false),
            ("capacity_link", true),
        ] {
            assert!(!is_decided(name), "{name}");
            let metric = find_metric(name).unwrap();
            assert_eq!(metric.more_is_better, Some(more_is_better), "{name}");
        }
        assert_eq!(find_metric("sent").unwrap().more_is_better, None);
    }
}
