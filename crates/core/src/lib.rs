//! Values: units, plans, samples, intervals, events, summaries, warnings, runs. Pure.
#![forbid(unsafe_code)]

pub mod arrivals;
pub mod bottleneck;
pub mod connect;
pub mod date;
pub mod drop_reasons;
pub mod echo;
pub mod episode;
pub mod event;
pub mod finding;
pub mod host;
pub mod host_drops;
pub mod interface;
pub mod interval;
pub mod lab_link;
pub mod loss;
pub mod opening;
pub mod path;
pub mod plan;
pub mod prediction;
pub mod quality;
pub mod quantity;
pub mod readings;
pub mod run;
pub mod sample;
pub mod search;
pub mod sequence;
pub mod summary;
pub mod tcp_proxy;
pub mod tcp_trace;
pub mod text;
pub mod transfer;
pub mod transit;
pub mod units;
pub mod warning;
pub mod window;
