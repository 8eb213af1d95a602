//! `caudal path`: the hops to a host, and the capacity of each link.

mod args;
mod command;
mod link_local;
mod quit_key;
mod request;
mod target;

pub use args::NetworkPathArgs;
pub use command::path;
pub use request::path_without_capacities;
