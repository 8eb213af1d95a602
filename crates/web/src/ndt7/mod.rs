//! Tests of ndt7: one WebSocket that carries payload in one direction for ten seconds.
//!
//! Source: the specification of ndt7 v0.11.0 (M-Lab, ndt-server, spec/ndt7-protocol.md). Any message may be missing and an end may be
//! abrupt without a failure.

mod measurement;
mod server;

pub(crate) use server::serve;
