//! The sums over the flows of a group.

use super::counts::{DatagramCounts, SpanCounts};
use super::flow::ShownFlow;
use super::header::{ColumnHeader, HeadedText};
use super::line::{read_columns, span_columns, udp_write_columns, write_out_of_order};
use crate::iperf2::options::Options;
use crate::iperf2::units::percent;
use caudal_core::sample::Role;

/// The sum over some flows of a group.
#[derive(Debug, Clone, Copy, Default)]
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

    /// Adds the sum over the interval that follows.
    pub(super) fn extend(&mut self, later: &Self) {
        let sum = &mut self.counts;
        sum.end_s = later.counts.end_s;
        sum.bytes += later.counts.bytes;
        sum.calls += later.counts.calls;
        sum.errors += later.counts.errors;
        sum.retransmits += later.counts.retransmits;
        sum.datagrams += later.counts.datagrams;
        for (all, one) in sum.reads.iter_mut().zip(later.counts.reads) {
            *all += one;
        }
        self.received.lost += later.received.lost;
        self.received.total += later.received.total;
        self.received.out_of_order += later.received.out_of_order;
    }

    /// The sum over the time from the end of `earlier`, which began with this one, to the end of this one.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let (all, before) = (&self.counts, &earlier.counts);
        let mut reads = all.reads;
        for (all, before) in reads.iter_mut().zip(before.reads) {
            *all = all.saturating_sub(before);
        }
        let (received, received_before) = (self.received, earlier.received);
        Self {
            counts: SpanCounts {
                start_s: before.end_s,
                bytes: all.bytes.saturating_sub(before.bytes),
                calls: all.calls.saturating_sub(before.calls),
                errors: all.errors.saturating_sub(before.errors),
                retransmits: all.retransmits.saturating_sub(before.retransmits),
                datagrams: all.datagrams.saturating_sub(before.datagrams),
                reads,
                ..*all
            },
            received: DatagramCounts {
                lost: received.lost - received_before.lost,
                total: received.total.saturating_sub(received_before.total),
                out_of_order: received
                    .out_of_order
                    .saturating_sub(received_before.out_of_order),
                ..received
            },
            ..*self
        }
    }

    /// Appends the line of the two directions of a connection.
    pub(super) fn write_connection(
        &self,
        text: &mut HeadedText,
        options: &Options,
        flow: &ShownFlow,
    ) {
        let id = format!("[FD{}]", flow.number);
        let columns = span_columns(options, &id, &self.counts);
        if flow.is_udp() {
            return self.write_both_directions(text, &columns);
        }
        text.head(ColumnHeader::Plain);
        text.line(&columns);
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
            if !options.sum_only {
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
        text.line(&format!("{columns} {all}{pps:8.0} pps"));
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
