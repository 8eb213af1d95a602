//! Bulk transfers over UDP.

mod datagrams;
mod workload;

pub(crate) use workload::UdpWorkload;
