//! One transfer with its arithmetic done.

use caudal_analysis::bottleneck::find_of_transfer;
use caudal_analysis::transfer::TransferEnds;
use caudal_core::bottleneck::LimitedBy;
use caudal_core::event::CutShort;
use caudal_core::host::Usage;
use caudal_core::plan::{Rate, TransferPlan};
use caudal_core::text::ExternalText;
use caudal_core::transfer::{TransferEnd, TransferRecord, TransferSummary};
use caudal_core::units::BitRate;
use caudal_engine::TransferOutcome;
use caudal_sys::clock::{monotonic_ns, realtime_ns};
use std::time::Duration;

/// One transfer with its arithmetic done.
#[derive(Debug, Clone)]
pub(super) struct TransferMeasured {
    /// The transfer as documents carry it.
    pub(super) record: TransferRecord,
    /// What it adds up to.
    pub(super) summary: TransferSummary,
    /// What held it back.
    pub(super) limited_by: Option<LimitedBy>,
    /// The time it began, ns since 1970.
    pub(super) began_ns: u64,
    /// When its dialogue with the server began and ended, ns of the monotonic clock.
    pub(super) span_ns: (u64, u64),
    /// The resources this machine used.
    pub(super) client_usage: Usage,
    /// The resources the server used.
    pub(super) server_usage: Option<Usage>,
    /// The reason why it was ended early.
    pub(super) cut_short: Option<CutShort>,
}

impl TransferMeasured {
    /// What a transfer measured that began at `began_ns` of the wall clock and lasted for `span_ns` of the monotonic one.
    ///
    /// `ceiling` is what TCP carries that fills the link, where the rate of the link is known.
    pub(super) fn new(
        outcome: TransferOutcome,
        began_ns: u64,
        span_ns: (u64, u64),
        ceiling: Option<BitRate>,
    ) -> Self {
        let resumed_bytes = outcome.plan.resume_from.get();
        let (rate, is_servers) = (outcome.plan.rate, outcome.server_set_rate);
        let (client_usage, server_usage) = (outcome.client_usage, outcome.server_usage);
        let cut_short = outcome.cut_short.clone();
        let direction = outcome.plan.direction;
        let mut record = outcome.into_record();
        let ends = TransferEnds::new(direction, &record.client, record.server.as_ref());
        let summary = ends.summary(resumed_bytes, record.failure.as_ref());
        let limited_by = limited_by(rate, ends, &summary, ceiling)
            .map(|found| found.at_rate_of_server(is_servers));
        for end in std::iter::once(&mut record.client).chain(&mut record.server) {
            (end.readings, end.trace) = (None, None);
        }
        Self {
            limited_by,
            summary,
            began_ns,
            span_ns,
            client_usage,
            server_usage,
            cut_short,
            record,
        }
    }

    /// A transfer with this plan that did not begin, for this reason.
    pub(super) fn refused(plan: TransferPlan, reason: &str) -> Self {
        let outcome = TransferOutcome {
            plan,
            changed: Vec::new(),
            server_set_rate: false,
            client: TransferEnd::default(),
            server: None,
            elapsed: Duration::ZERO,
            client_usage: Usage::default(),
            server_usage: None,
            cut_short: None,
            failure: Some(reason.into()),
        };
        let now_ns = monotonic_ns();
        Self::new(outcome, realtime_ns(), (now_ns, now_ns), None)
    }

    /// `true` when it is a result.
    pub(super) fn is_result(&self) -> bool {
        self.summary.time_s().is_some()
    }

    /// The reason why it is none.
    pub(super) fn failure(&self) -> Option<ExternalText> {
        (!self.is_result()).then(|| {
            let known = self.summary.failure.clone();
            known.unwrap_or_else(|| "the digest of what arrived was not compared".into())
        })
    }
}

fn limited_by(
    rate: Rate,
    ends: TransferEnds<'_>,
    summary: &TransferSummary,
    ceiling: Option<BitRate>,
) -> Option<LimitedBy> {
    summary.time_s()?;
    find_of_transfer(rate, ends, summary, ceiling)
}
