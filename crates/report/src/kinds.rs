//! The workloads whose runs can be reported.

use crate::bulk::BulkReport;
use crate::connect::ConnectRunReport;
use crate::file::FileRunReport;
use crate::kind_report::KindReport;
use crate::path::PathRunReport;
use crate::quality::QualityRunReport;
use crate::rtt::RttRunReport;
use caudal_core::plan::PlanKind;

/// What is told of the runs of a kind; those of an unknown one are bulk transfers over TCP, which logs of other tools are.
pub(crate) fn kind_report(kind: Option<PlanKind>) -> &'static dyn KindReport {
    match kind {
        Some(PlanKind::Tcp) | None => &BulkReport::Tcp,
        Some(PlanKind::Udp) => &BulkReport::Udp,
        Some(PlanKind::Rtt) => &RttRunReport,
        Some(PlanKind::Connect) => &ConnectRunReport,
        Some(PlanKind::Quality) => &QualityRunReport,
        Some(PlanKind::File) => &FileRunReport,
        Some(PlanKind::Path) => &PathRunReport,
    }
}
