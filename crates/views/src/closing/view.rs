//! How bulk transfers are shown.

use super::closing_lines::{ClosingLine, closing_lines, result_lines};
use super::csv::{BulkRow, row_lines};
use crate::capture::capture_lines;
use crate::column;
use crate::interval_table::{Detail, RowForm};
use crate::kind_view::{KindView, LiveView};
use crate::sink::TextSink;
use crate::table::IntervalTable;
use crate::text::{self, fold};
use crate::text_form::TextForm;
use crate::width::LineWidth;
use caudal_core::event::Event;
use caudal_core::interval::IntervalRow;
use caudal_core::plan::Plan;
use caudal_core::run::{FlowReport, Run};

/// Maximum number of a recorded run's flows that are shown; JSON has them all.
const MAX_FLOWS: usize = 100;

/// How bulk transfers are shown.
#[derive(Debug)]
pub struct BulkView;

impl KindView for BulkView {
    fn closing(&self, run: &Run, form: TextForm) -> Vec<ClosingLine> {
        closing_lines(run, form)
    }

    /// The result, the flows, the warnings and the capture.
    fn recorded(&self, run: &Run, width: LineWidth) -> Vec<ClosingLine> {
        let form = TextForm {
            quiet: false,
            detail: Detail::Every,
            size_columns: false,
            width,
        };
        let mut lines = result_lines(run, form);
        let others = flow_lines(run.flows(), width)
            .into_iter()
            .chain(text::warnings(run, width))
            .chain(capture_lines(run, form));
        lines.extend(others.map(ClosingLine::Text));
        lines
    }

    fn live(
        &self,
        first: &Event,
        sink: &dyn TextSink,
        form: TextForm,
    ) -> Option<Box<dyn LiveView>> {
        let Event::Agreed(agreement) = first else {
            return None;
        };
        let plan = Plan::try_from(&agreement.plan).ok()?;
        let form = RowForm {
            detail: form.detail,
            width: form.width,
        };
        Some(Box::new(IntervalTable::new(sink, &plan, form)))
    }

    fn csv_header(&self) -> Option<String> {
        Some(column::header(&BulkRow::COLUMNS))
    }

    fn csv_rows(&self, event: &Event) -> Vec<String> {
        match event {
            Event::Interval { repeat, flows } => {
                let row = IntervalRow {
                    flows: flows.clone(),
                };
                row_lines(&row, *repeat)
            }
            _ => Vec::new(),
        }
    }
}

impl LiveView for IntervalTable {
    fn event(&mut self, sink: &mut dyn TextSink, event: &Event) {
        if let Event::Interval { flows, .. } = event {
            let flows = flows.clone();
            self.row(sink, &IntervalRow { flows });
        }
    }

    fn end(&mut self, sink: &mut dyn TextSink) {
        self.end(sink);
    }
}

/// The flows of a run, where there are several.
fn flow_lines(flows: &[FlowReport], width: LineWidth) -> Vec<String> {
    if flows.len() < 2 {
        return Vec::new();
    }
    let mut lines = vec![format!("{} flows:", flows.len())];
    let shown = flows.iter().take(MAX_FLOWS);
    lines.extend(shown.map(|flow| fold(&flow_line(flow), 4, width)));
    if flows.len() > MAX_FLOWS {
        lines.push(format!("  and {} more (--json)", flows.len() - MAX_FLOWS));
    }
    lines
}

fn flow_line(flow: &FlowReport) -> String {
    let mut parts = vec![flow.flow.direction.name().to_owned()];
    if let Some(receiver) = &flow.receiver {
        let bytes = receiver.bytes.map(text::bytes);
        parts.extend(bytes.map(|bytes| format!("{bytes} received")));
        parts.extend(receiver.goodput_bps.map(text::bits));
        parts.extend(receiver.lost.map(|lost| format!("{lost} lost")));
    }
    let tcp = flow.sender.as_ref().and_then(|sender| sender.tcp);
    let retransmits = tcp.and_then(|tcp| tcp.retransmits);
    parts.extend(retransmits.map(|count| format!("{count} retransmitted")));
    let connected = flow.connect_us.map(text::time_us);
    parts.extend(connected.map(|time| format!("connected in {time}")));
    parts.extend(flow.failure.as_ref().map(ToString::to_string));
    format!("  {}: {}", flow.flow.id, parts.join(", "))
}
