//! The metrics of watched paths as text: OpenMetrics 1.0.

use super::family::{FAMILIES, FamilyType, PathFamily};
use super::path_metrics::PathMetrics;
use crate::open_metrics::{FamilyHeader, beginning};
use std::fmt::Write;

/// The metrics of these paths as text.
#[must_use]
pub fn path_exposition(paths: &[PathMetrics]) -> String {
    let mut text = beginning();
    for family in &FAMILIES {
        write_family(&mut text, family, paths);
    }
    text + "# EOF\n"
}

/// A family of metrics as it is described.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DescribedMetric {
    /// Its name, without the suffix of its samples.
    pub name: &'static str,
    /// Its type.
    pub family_type: &'static str,
    /// Its meaning.
    pub help: &'static str,
}

/// Every family of metrics.
pub fn described_metrics() -> impl Iterator<Item = DescribedMetric> {
    FAMILIES.iter().map(|family| DescribedMetric {
        name: family.name,
        family_type: family.family_type.name(),
        help: family.help,
    })
}

/// The names of all samples, as queries name them.
#[must_use]
pub fn metric_names() -> Vec<String> {
    FAMILIES
        .iter()
        .flat_map(|family| {
            let suffixes: &[&str] = match family.family_type {
                FamilyType::Counter => &["_total"],
                FamilyType::Gauge => &[""],
                FamilyType::Histogram => &["_bucket", "_sum", "_count"],
            };
            suffixes
                .iter()
                .map(|suffix| format!("{}{suffix}", family.name))
        })
        .collect()
}

fn write_family(text: &mut String, family: &PathFamily, paths: &[PathMetrics]) {
    let (name, family_type) = (family.name, family.family_type);
    let header = FamilyHeader {
        name,
        family_type: family_type.name(),
        unit: family.unit,
        help: family.help,
    };
    header.write(text);
    let suffix = match family_type {
        FamilyType::Counter => "_total",
        FamilyType::Gauge | FamilyType::Histogram => "",
    };
    for path in paths {
        let labels = labels(path);
        for (label, of, value) in (family.values)(path) {
            let own = match label {
                "" => String::new(),
                label => format!(",{label}=\"{of}\""),
            };
            let _ = writeln!(text, "{name}{suffix}{{{labels}{own}}} {value}");
        }
        if family_type == FamilyType::Histogram && path.rtt.count() > 0 {
            for (bound, count) in path.rtt.cumulative() {
                let _ = writeln!(text, "{name}_bucket{{{labels},le=\"{bound}\"}} {count}");
            }
            let _ = writeln!(text, "{name}_sum{{{labels}}} {}", path.rtt.sum_s());
            let _ = writeln!(text, "{name}_count{{{labels}}} {}", path.rtt.count());
        }
    }
}

/// The labels of a path. Names come from a file or a command line: their quotes, backslashes and line feeds are escaped.
fn labels(path: &PathMetrics) -> String {
    let escaped = |text: &str| {
        text.replace('\\', "\\\\")
            .replace('"', "\\\"")
            .replace('\n', "\\n")
    };
    format!(
        "source=\"{}\",target=\"{}\",protocol=\"{}\"",
        escaped(&path.source),
        escaped(&path.target),
        escaped(&path.protocol)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::watch::SkipReason;

    fn path() -> PathMetrics {
        PathMetrics {
            is_up: Some(true),
            up_bps: Some(8e6),
            completed: 1,
            ..PathMetrics::new("here", "far", "tcp")
        }
    }

    #[test]
    fn a_path_that_failed_is_down_and_has_no_value() {
        let mut failed = path();
        failed.fail(5.0);
        failed.skip(SkipReason::Budget);
        let text = path_exposition(&[failed]);
        let labels = "source=\"here\",target=\"far\",protocol=\"tcp\"";
        assert!(text.contains(&format!("caudal_path_up{{{labels}}} 0\n")));
        assert!(!text.contains("goodput_bytes_per_second{"), "{text}");
        for (result, count) in [
            ("completed", 1),
            ("failed", 1),
            ("budget", 1),
            ("quiet_hours", 0),
        ] {
            let line = format!("caudal_path_tests_total{{{labels},result=\"{result}\"}} {count}\n");
            assert!(text.contains(&line), "{line}{text}");
        }
    }

    #[test]
    fn rates_are_bytes_and_directions_are_labels() {
        let text = path_exposition(&[path()]);
        assert!(
            text.contains("protocol=\"tcp\",direction=\"up\"} 1000000\n"),
            "{text}"
        );
        assert!(!text.contains("direction=\"down\""));
        assert!(text.ends_with("\n# EOF\n"));
    }

    #[test]
    fn a_path_without_a_test_has_no_state() {
        let text = path_exposition(&[PathMetrics::new("here", "far", "rtt")]);
        assert!(!text.contains("caudal_path_up{"));
        assert!(!text.contains("caudal_path_rtt_seconds_count"));
    }

    #[test]
    fn names_are_escaped() {
        let text = path_exposition(&[PathMetrics::new("a\"b", "c\\d\ne", "tcp")]);
        assert!(
            text.contains("source=\"a\\\"b\",target=\"c\\\\d\\ne\""),
            "{text}"
        );
    }

    /// The names of metrics of this program in a text.
    fn named(text: &str) -> Vec<&str> {
        let is_name = |c: char| c.is_ascii_lowercase() || c == '_';
        text.split(|c| !is_name(c))
            .filter(|word| word.starts_with("caudal_path_"))
            .collect()
    }

    #[test]
    fn the_dashboard_and_the_alert_rules_name_what_is_exported() {
        let dashboard = include_str!("../../../../packaging/grafana/dashboard.json");
        let alerts = include_str!("../../../../packaging/grafana/alerts.yml");
        let exported = metric_names();
        for (what, text) in [("dashboard", dashboard), ("alert rules", alerts)] {
            let names = named(text);
            assert!(names.len() >= 5, "{what}: {names:?}");
            for name in names {
                assert!(exported.iter().any(|known| known == name), "{what}: {name}");
            }
        }
        // Each metric that a path has is on the dashboard.
        for name in exported
            .iter()
            .filter(|name| !name.ends_with("_sum") && !name.ends_with("_count"))
        {
            assert!(named(dashboard).contains(&name.as_str()), "{name}");
        }
        let document: serde_json::Value = serde_json::from_str(dashboard).unwrap();
        assert_eq!(document["uid"], "caudal-paths");
    }

    #[test]
    fn every_family_has_its_type_its_help_and_a_name_that_ends_with_its_unit() {
        let text = path_exposition(&[]);
        for family in &FAMILIES {
            let name = family.name;
            assert!(text.contains(&format!("# TYPE {name} ")), "{name}");
            assert!(text.contains(&format!("# HELP {name} ")), "{name}");
            if let Some(unit) = family.unit {
                assert!(name.ends_with(&format!("_{unit}")), "{name}");
            }
        }
    }
}
