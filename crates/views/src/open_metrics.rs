//! What all metrics of this program begin with, and each family of them: OpenMetrics 1.0.
//!
//! Source: <https://github.com/prometheus/OpenMetrics/blob/v1.0.0/specification/OpenMetrics.md>

use std::fmt::Write;

/// The beginning of a text of metrics: the version of the program.
pub(crate) fn beginning() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!(
        "# TYPE caudal_build info\n# HELP caudal_build The version of the program.\ncaudal_build_info{{version=\"{version}\"}} 1\n"
    )
}

/// A family of metrics, as it is announced before its samples.
pub(crate) struct FamilyHeader<'a> {
    pub(crate) name: &'a str,
    pub(crate) family_type: &'a str,
    pub(crate) unit: Option<&'a str>,
    pub(crate) help: &'a str,
}

impl FamilyHeader<'_> {
    pub(crate) fn write(&self, text: &mut String) {
        let name = self.name;
        let _ = writeln!(text, "# TYPE {name} {}", self.family_type);
        if let Some(unit) = self.unit {
            let _ = writeln!(text, "# UNIT {name} {unit}");
        }
        let _ = writeln!(text, "# HELP {name} {}", self.help);
    }
}
