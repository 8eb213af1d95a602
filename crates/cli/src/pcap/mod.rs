//! `caudal pcap`: captures explained. Summary, flows, sequence diagram, graphs, and two ends of one flow compared.

mod args;
mod choice;
mod command;
mod csv;
mod document;
mod ends;
mod ends_text;
mod figures;
mod flow_table;
mod flow_text;
mod ladder_text;
mod pieces;
mod source;
mod summary_text;
mod tcp_text;
mod way_table;
mod write;

pub use args::PcapArgs;
pub use command::pcap;
pub use csv::CSV_COLUMNS;
pub use document::{ENDS_SCHEMA, schemas};
