//! The workloads whose runs can be reported.

use crate::bulk::BulkReport;
use crate::check::CheckRunReport;
use crate::connect::ConnectRunReport;
use crate::file::FileRunReport;
use crate::kind_report::KindReport;
use crate::path::PathRunReport;
use crate::quality::QualityRunReport;
use crate::rtt::RttRunReport;
use crate::stamp::StampRunReport;
use caudal_core::plan::PlanKind;

/// The report of the runs of a kind; of an unknown one, that of bulk transfers over TCP, as in logs of other tools.
pub(crate) fn kind_report(kind: Option<PlanKind>) -> &'static dyn KindReport {
    match kind {
        Some(PlanKind::Tcp) | None => &BulkReport::Tcp,
        Some(PlanKind::Udp) => &BulkReport::Udp,
        Some(PlanKind::Rtt) => &RttRunReport,
        Some(PlanKind::Check) => &CheckRunReport,
        Some(PlanKind::Connect) => &ConnectRunReport,
        Some(PlanKind::Quality) => &QualityRunReport,
        Some(PlanKind::File) => &FileRunReport,
        Some(PlanKind::Path) => &PathRunReport,
        Some(PlanKind::Stamp) => &StampRunReport,
    }
}
