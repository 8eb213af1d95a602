//! The sums over the flows of a group.

use super::counts::{DatagramCounts, SpanCounts};
use super::flow::ShownFlow;
use super::header::{ColumnHeader, HeadedText};
use super::line::{read_columns, span_columns, udp_write_columns, write_out_of_order};
use crate::iperf2::options::Options;
use crate::iperf2::units::percent;
use caudal_core::sample::Role;

/// The sum over some flows of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupSum {
    /// Flows that were added.
    pub(super) flows: u32,
    senders: u32,
    receivers: u32,
    /// Their counts; the datagrams are those of senders.
    counts: SpanCounts,
    received: DatagramCounts,
}

impl GroupSum {
    /// Adds a flow.
    pub(super) fn add(&mut self, flow: &ShownFlow, counts: &SpanCounts) {
        let sum = &mut self.counts;
        if self.flows == 0 {
            sum.start_s = counts.start_s;
        }
        self.flows += 1;
        sum.start_s = sum.start_s.min(counts.start_s);
        sum.end_s = sum.end_s.max(counts.end_s);
        sum.bytes += counts.bytes;
        sum.calls += counts.calls;
        sum.errors += counts.errors;
        sum.retransmits += counts.retransmits;
        for (all, one) in sum.reads.iter_mut().zip(counts.reads) {
            *all += one;
        }
        if flow.role == Role::Sender {
            self.senders += 1;
            sum.datagrams += counts.datagrams;
        }
        if let Some(received) = counts.received {
            self.receivers += 1;
            self.received.lost += received.lost;
            self.received.total += received.total;
            self.received.out_of_order += received.out_of_order;
        }
    }

    /// The counts, as those of one flow.
    pub(super) fn counts(&self) -> SpanCounts {
        SpanCounts {
            received: (self.receivers > 0).then_some(self.received),
            ..self.counts
        }
    }

    /// Appends the line of the sum over an interval, or over the whole test.
    pub(super) fn write(&self, text: &mut HeadedText, options: &Options, is_final: bool) {
        let id = if options.sum_only {
            text.head(ColumnHeader::SumOnly);
            format!("[SUM-{}]", self.flows)
        } else {
            "[SUM]".to_owned()
        };
        let columns = span_columns(options, &id, &self.counts);
        let has_received = self.receivers > 0;
        if has_received && self.senders > 0 {
            self.write_both_directions(text, &columns);
        } else if has_received {
            if !options.sum_only && is_final {
                text.forget_header();
                text.head(ColumnHeader::Plain);
            }
            self.write_received(text, &columns);
        } else if options.enhanced {
            text.line(&format!("{columns}  {}", self.enhanced_columns()));
        } else {
            text.line(&columns);
        }
        if is_final && self.counts.datagrams > 0 && options.host.is_some() {
            let received = if has_received { self.received.total } else { 0 };
            let all = self.counts.datagrams + received;
            text.line(&format!("[SUM-{}] Sent {all} datagrams", self.flows));
        }
    }

    fn write_both_directions(&self, text: &mut HeadedText, columns: &str) {
        text.head(ColumnHeader::DuplexSum);
        let arrived = self.received.total - self.received.lost.max(0) as u64;
        let all = self.counts.datagrams + arrived;
        let pps = all as f64 / self.counts.elapsed_s();
        text.line(&format!("{columns} {all:<7} {pps:.0} pps"));
    }

    fn write_received(&self, text: &mut HeadedText, columns: &str) {
        let (lost, total) = (self.received.lost, self.received.total);
        let lost_percent = 100.0 * lost as f64 / total.max(1) as f64;
        text.line(&format!(
            "{columns}   {lost}/{total} ({}%)",
            percent(lost_percent)
        ));
        write_out_of_order(text, "[SUM]", &self.counts, self.received.out_of_order);
    }

    fn enhanced_columns(&self) -> String {
        if self.counts.datagrams > 0 {
            udp_write_columns(&self.counts)
        } else if self.senders > 0 {
            format!(
                "{}/{}{:10}",
                self.counts.calls, self.counts.errors, self.counts.retransmits
            )
        } else {
            read_columns(&self.counts)
        }
    }
}
