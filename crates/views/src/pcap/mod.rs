//! Captures explained, for people: the summary, the flows, one flow in detail, its sequence diagram and graphs, and the two ends of one flow;
//! for programs: comma-separated values and the documents.

mod chosen_flow;
mod csv;
mod direction_table;
mod document;
mod ends_text;
mod figures;
mod flow_table;
mod flow_text;
mod ladder_text;
mod summary_text;
mod tcp_text;

pub use chosen_flow::ChosenFlow;
pub use csv::{CSV_COLUMNS, csv_lines};
pub use document::{ENDS_SCHEMA, EndsDocument, PcapDocument, schemas};
pub use ends_text::ends_lines;
pub use figures::{graph_figure, ladder_figure};
pub use flow_table::{FlowColumns, flow_table};
pub use flow_text::flow_lines;
pub use ladder_text::ladder_lines;
pub use summary_text::summary_lines;
