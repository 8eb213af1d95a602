//! Flows: who they are between, and what is kept of them.

mod document;
mod findings;
mod key;
mod recognise;
mod state;
mod table;

pub(crate) use key::{FlowTuple, TupleEnd};
pub(crate) use state::{FlowFrame, FlowKindState, FlowState, FrameMoment};
pub(crate) use table::FlowTable;
