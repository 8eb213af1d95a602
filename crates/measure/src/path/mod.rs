//! The hops to a host, the capacity of each link, and what both ends find together.

mod ends;
mod flows;
mod idle_peer;
mod names;
mod observer;
mod request;

pub use ends::{EndsRequest, WindowTestRequest};
pub use flows::FlowsRequest;
pub use request::PathRequest;
