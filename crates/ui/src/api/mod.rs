//! What pages may ask for, under `/api/`: JSON in and out, bounded, ids instead of paths.

mod captures;
mod error;
mod events;
mod files;
mod jobs;
mod lab_host;
mod labs;
mod login;
mod program;
mod router;
mod runs;
mod studies;
mod tests_to_start;

pub(crate) use router::router;
