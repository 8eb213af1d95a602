//! The counters of a server as text: OpenMetrics 1.0.

use crate::open_metrics::{FamilyHeader, beginning};
use caudal_wire::message::Refusal;
use std::fmt::Write;
use std::time::Duration;

/// The media type of the text.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What a server has done for clients of one protocol.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProtocolCounters {
    /// Clients that are connected.
    pub clients: u64,
    /// Tests that run.
    pub running: u64,
    /// Tests that were carried out to their end.
    pub completed: u64,
    /// Tests that ended before.
    pub ended_early: u64,
    /// The time all tests took.
    pub test_time: Duration,
    /// Payload bytes received.
    pub received_bytes: u64,
    /// Payload bytes sent.
    pub sent_bytes: u64,
    /// Datagrams received.
    pub received_datagrams: u64,
    /// Datagrams lost on the way to the server.
    pub lost_datagrams: u64,
    /// Refusals by reason, in the order of [`Refusal::ALL`].
    pub refused: [u64; Refusal::ALL.len()],
}

/// The type of a metric family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MetricType {
    /// A number that only grows.
    Counter,
    /// A number that changes.
    Gauge,
}

/// A family of metrics with a value for each protocol.
struct MetricFamily {
    name: &'static str,
    metric_type: MetricType,
    /// The unit, with which the name ends.
    unit: Option<&'static str>,
    help: &'static str,
    /// The value of each of its samples, with the labels beside the protocol.
    samples: fn(&ProtocolCounters) -> Vec<(&'static str, &'static str, String)>,
}

/// A sample without labels beside the protocol.
fn one(value: &impl ToString) -> Vec<(&'static str, &'static str, String)> {
    vec![("", "", value.to_string())]
}

/// The families in the order in which they are shown.
const FAMILIES: [MetricFamily; 9] = [
    MetricFamily {
        name: "caudal_clients",
        metric_type: MetricType::Gauge,
        unit: None,
        help: "Clients that are connected; of iperf 2, connections.",
        samples: |counters| one(&counters.clients),
    },
    MetricFamily {
        name: "caudal_running_tests",
        metric_type: MetricType::Gauge,
        unit: None,
        help: "Tests that run.",
        samples: |counters| one(&counters.running),
    },
    MetricFamily {
        name: "caudal_tests",
        metric_type: MetricType::Counter,
        unit: None,
        help: "Tests that have ended, by result.",
        samples: |counters| {
            vec![
                ("result", "completed", counters.completed.to_string()),
                ("result", "ended_early", counters.ended_early.to_string()),
            ]
        },
    },
    MetricFamily {
        name: "caudal_test_seconds",
        metric_type: MetricType::Counter,
        unit: Some("seconds"),
        help: "The time that tests took, added when a test ends.",
        samples: |counters| one(&counters.test_time.as_secs_f64()),
    },
    MetricFamily {
        name: "caudal_received_bytes",
        metric_type: MetricType::Counter,
        unit: Some("bytes"),
        help: "Payload received from clients, added when a test ends.",
        samples: |counters| one(&counters.received_bytes),
    },
    MetricFamily {
        name: "caudal_sent_bytes",
        metric_type: MetricType::Counter,
        unit: Some("bytes"),
        help: "Payload sent to clients, added when a test ends.",
        samples: |counters| one(&counters.sent_bytes),
    },
    MetricFamily {
        name: "caudal_received_datagrams",
        metric_type: MetricType::Counter,
        unit: Some("datagrams"),
        help: "UDP datagrams received from clients, added when a test ends.",
        samples: |counters| one(&counters.received_datagrams),
    },
    MetricFamily {
        name: "caudal_lost_datagrams",
        metric_type: MetricType::Counter,
        unit: Some("datagrams"),
        help: "UDP datagrams of clients that were lost, added when a test ends.",
        samples: |counters| one(&counters.lost_datagrams),
    },
    MetricFamily {
        name: "caudal_refusals",
        metric_type: MetricType::Counter,
        unit: None,
        help: "Clients refused and sessions ended by an error, by reason.",
        samples: |counters| {
            let reasons = Refusal::ALL.iter().zip(counters.refused);
            let samples =
                reasons.map(|(reason, count)| ("reason", reason.name(), count.to_string()));
            samples.collect()
        },
    },
];

/// The counters as text, those of each protocol with its name.
#[must_use]
pub fn exposition(counters: &[(&str, ProtocolCounters)]) -> String {
    let mut text = beginning();
    for family in &FAMILIES {
        write_family(&mut text, family, counters);
    }
    text + "# EOF\n"
}

fn write_family(text: &mut String, family: &MetricFamily, counters: &[(&str, ProtocolCounters)]) {
    let name = family.name;
    let (metric_type, suffix) = match family.metric_type {
        MetricType::Counter => ("counter", "_total"),
        MetricType::Gauge => ("gauge", ""),
    };
    let header = FamilyHeader {
        name,
        family_type: metric_type,
        unit: family.unit,
        help: family.help,
    };
    header.write(text);
    for (protocol, counters) in counters {
        for (label, of, value) in (family.samples)(counters) {
            let label = match label {
                "" => String::new(),
                label => format!(",{label}=\"{of}\""),
            };
            let _ = writeln!(
                text,
                "{name}{suffix}{{protocol=\"{protocol}\"{label}}} {value}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn empty() -> String {
        let names = ["caudal", "iperf3", "iperf2", "nttcp"];
        exposition(&names.map(|name| (name, ProtocolCounters::default())))
    }

    #[test]
    fn every_family_has_its_type_its_help_and_a_name_that_ends_with_its_unit() {
        let text = empty();
        for family in &FAMILIES {
            let name = family.name;
            assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
            assert!(text.contains(&format!("# HELP {name} ")), "{name}");
            if let Some(unit) = family.unit {
                assert!(name.ends_with(&format!("_{unit}")), "{name}");
                assert!(text.contains(&format!("# UNIT {name} {unit}\n")), "{name}");
            }
        }
        assert!(text.ends_with("\n# EOF\n"));
        assert_eq!(text.matches("# EOF").count(), 1);
    }

    #[test]
    fn samples_carry_their_labels() {
        let text = empty();
        for line in [
            "caudal_tests_total{protocol=\"caudal\",result=\"completed\"} 0\n",
            "caudal_refusals_total{protocol=\"iperf2\",reason=\"authentication\"} 0\n",
            "caudal_received_bytes_total{protocol=\"nttcp\"} 0\n",
            "caudal_clients{protocol=\"iperf3\"} 0\n",
        ] {
            assert!(text.contains(line), "{line}{text}");
        }
    }
}
