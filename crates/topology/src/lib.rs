//! Test networks as values: hosts, routers, switches and hubs, the links between them, addresses and routes.
//!
//! A [`TopologyFile`] is what a user wrote; [`Topology::resolve`] fills in every default and refuses what cannot be built.
#![forbid(unsafe_code)]

mod description;
mod driver;
mod error;
mod file;
mod file_error;
mod hosts_file;
mod impairments;
mod link;
mod link_override;
mod node;
mod path;
mod preset;
mod resolve;
mod routes;
mod scalar;
mod topology;

pub use error::{Location, PathStep, TopologyError};
pub use file::*;
pub use file_error::{FileError, parse_file};
pub use impairments::{
    BucketSetup, BurstLossSetup, DelayDistribution, Discipline, FrameOrder, Impairments,
    JitterSetup, QueueLimit, QueueSetup, RateSetup, ReorderSetup,
};
pub use link::{Duplex, Endpoint, Link, LinkEnd, Readiness, StationDuplex};
pub use link_override::{LinkOverrideError, parse_value};
pub use node::{HostSetup, Node, NodeRole, PauseThresholds, SwitchSetup};
pub use path::Hop;
pub use preset::{PRESETS, Preset, PresetError, PresetParameter};
pub use routes::{NextHop, SegmentRoute};
pub use scalar::{ByteValue, FractionValue, RateValue, TimeValue};
pub use topology::{Segment, Topology};

/// The JSON Schema of topology files.
#[must_use]
pub fn schema() -> schemars::Schema {
    schemars::schema_for!(TopologyFile)
}
