//! The families of metrics of watched paths.

use super::path_metrics::{PathMetrics, SkipReason};

/// The type of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FamilyType {
    Counter,
    Gauge,
    Histogram,
}

impl FamilyType {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

/// A value with a label beside those of the path; the label's name is empty where there is none.
pub(super) type LabelledValue = (&'static str, &'static str, f64);

/// A family of metrics.
pub(super) struct PathFamily {
    /// Its name, which ends with its unit.
    pub(super) name: &'static str,
    pub(super) family_type: FamilyType,
    pub(super) unit: Option<&'static str>,
    pub(super) help: &'static str,
    /// Its values for a path; none where they are not known. Those of a histogram are written apart.
    pub(super) values: fn(&PathMetrics) -> Vec<LabelledValue>,
}

fn known(value: Option<f64>) -> Vec<LabelledValue> {
    value.map(|value| ("", "", value)).into_iter().collect()
}

fn directions(up: Option<f64>, down: Option<f64>) -> Vec<LabelledValue> {
    [("up", up), ("down", down)]
        .into_iter()
        .filter_map(|(direction, value)| Some(("direction", direction, value?)))
        .collect()
}

/// The families in the order in which they are shown.
pub(super) const FAMILIES: [PathFamily; 13] = [
    PathFamily {
        name: "caudal_path_up",
        family_type: FamilyType::Gauge,
        unit: None,
        help: "1 when the last test succeeded, 0 when it failed.",
        values: |path| known(path.is_up.map(|is_up| f64::from(u8::from(is_up)))),
    },
    PathFamily {
        name: "caudal_path_last_test_timestamp_seconds",
        family_type: FamilyType::Gauge,
        unit: Some("seconds"),
        help: "The beginning of the last test, since 1970.",
        values: |path| known(path.last_test_s),
    },
    PathFamily {
        name: "caudal_path_goodput_bytes_per_second",
        family_type: FamilyType::Gauge,
        unit: Some("bytes_per_second"),
        help: "Payload that arrived per second in the last test.",
        values: |path| {
            directions(
                path.up_bps.map(|bps| bps / 8.0),
                path.down_bps.map(|bps| bps / 8.0),
            )
        },
    },
    PathFamily {
        name: "caudal_path_loss_ratio",
        family_type: FamilyType::Gauge,
        unit: Some("ratio"),
        help: "The share of datagrams or messages that the last test lost.",
        values: |path| known(path.loss),
    },
    PathFamily {
        name: "caudal_path_added_delay_seconds",
        family_type: FamilyType::Gauge,
        unit: Some("seconds"),
        help: "The delay that load added in the last test of it.",
        values: |path| known(path.added_delay_s),
    },
    PathFamily {
        name: "caudal_path_connections_per_second",
        family_type: FamilyType::Gauge,
        unit: None,
        help: "Connections completed per second in the last test of them.",
        values: |path| known(path.connections_per_s),
    },
    PathFamily {
        name: "caudal_path_alert",
        family_type: FamilyType::Gauge,
        unit: None,
        help: "1 while the latest tests are worse than those before, by the rule of caudal report compare.",
        values: |path| known(Some(f64::from(u8::from(path.has_alert)))),
    },
    PathFamily {
        name: "caudal_path_rtt_seconds",
        family_type: FamilyType::Histogram,
        unit: Some("seconds"),
        help: "Round-trip times of messages of all tests.",
        values: |_| Vec::new(),
    },
    PathFamily {
        name: "caudal_path_probes",
        family_type: FamilyType::Counter,
        unit: None,
        help: "Messages sent by tests of round-trip time.",
        values: |path| known(Some(path.probes as f64)),
    },
    PathFamily {
        name: "caudal_path_probes_lost",
        family_type: FamilyType::Counter,
        unit: None,
        help: "Of these, messages without a reply in time.",
        values: |path| known(Some(path.probes_lost as f64)),
    },
    PathFamily {
        name: "caudal_path_payload_bytes",
        family_type: FamilyType::Counter,
        unit: Some("bytes"),
        help: "Payload that tests carried.",
        values: |path| known(Some(path.payload_bytes as f64)),
    },
    PathFamily {
        name: "caudal_path_test_seconds",
        family_type: FamilyType::Counter,
        unit: Some("seconds"),
        help: "The time that tests took.",
        values: |path| known(Some(path.test_s)),
    },
    PathFamily {
        name: "caudal_path_tests",
        family_type: FamilyType::Counter,
        unit: None,
        help: "Tests that were due, by what became of them.",
        values: |path| {
            let mut values = vec![
                ("result", "completed", path.completed as f64),
                ("result", "failed", path.failed as f64),
            ];
            let skipped = SkipReason::ALL.iter().zip(path.skipped);
            values.extend(skipped.map(|(reason, count)| ("result", reason.name(), count as f64)));
            values
        },
    },
];
