//! The workloads whose runs can be shown.

use super::check::CheckView;
use super::closing::BulkView;
use super::connect::ConnectView;
use super::kind_view::KindView;
use super::path::PathView;
use super::quality::QualityView;
use super::round_trips::RttView;
use super::stamp::StampView;
use super::transfers::FileView;
use caudal_core::plan::PlanKind;

/// How the runs of a kind are shown; those of an unknown one as bulk transfers, which logs of other tools are.
#[must_use]
pub fn kind_view(kind: Option<PlanKind>) -> &'static dyn KindView {
    match kind {
        Some(PlanKind::Tcp | PlanKind::Udp) | None => &BulkView,
        Some(PlanKind::Rtt) => &RttView,
        Some(PlanKind::Check) => &CheckView,
        Some(PlanKind::Connect) => &ConnectView,
        Some(PlanKind::Quality) => &QualityView,
        Some(PlanKind::File) => &FileView,
        Some(PlanKind::Path) => &PathView,
        Some(PlanKind::Stamp) => &StampView,
    }
}
