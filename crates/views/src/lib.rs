//! Events, runs, captures, predictions, labs and studies as people and programs read them: text, tables, comma-separated values, JSON lines,
//! and rows that a terminal rewrites. Where it goes is a [`sink::TextSink`], how wide it is a [`width::LineWidth`].
#![forbid(unsafe_code)]

mod aligned;
pub mod capture;
mod cells;
pub mod check;
pub mod closing;
pub mod column;
pub mod connect;
pub mod csv;
pub mod emphasis;
pub mod findings;
mod fitted_row;
pub mod headline;
mod idle_windows;
pub mod interval_table;
pub mod json_lines;
pub mod kind_view;
pub mod lab;
pub mod list;
pub mod machines;
pub mod metrics;
pub mod next_step;
mod open_metrics;
pub mod path;
pub mod pcap;
pub mod predict;
mod progress;
pub mod quality;
pub mod round_trips;
pub mod run_table;
pub mod search_table;
pub mod served;
pub mod sink;
pub mod stamp;
pub mod study;
mod table;
pub mod text;
pub mod text_form;
pub mod text_view;
pub mod transfers;
pub mod watch;
pub mod width;
mod window_text;
